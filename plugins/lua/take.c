/*
 * Lua values into cells of a declared schema: exactly, or not at all (lua_function.h). Tables are read raw, so that nothing of the
 * script runs in here.
 */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/number.h"
#include "flow_sdk/text.h"
#include "lua_function.h"

#define DESCRIPTION_SIZE 80
#define MESSAGE_PART 48 /* of a text that a message quotes */

/* --- failures ---------------------------------------------------------------------------------------------------- */

static const char *
describe(lua_State *lua, int index, char *buffer)
{
	switch (lua_type(lua, index)) {
	case LUA_TNUMBER:
		if (lua_isinteger(lua, index))
			snprintf(buffer, DESCRIPTION_SIZE, "the integer %lld", (long long)lua_tointeger(lua, index));
		else
			snprintf(buffer, DESCRIPTION_SIZE, "the number %.17g", lua_tonumber(lua, index));
		break;
	case LUA_TSTRING: {
		size_t size;
		const char *text = lua_tolstring(lua, index, &size);
		int readable = size <= MESSAGE_PART && flow_utf8_check(text, size) == size && memchr(text, '\0', size) == NULL;
		if (readable)
			snprintf(buffer, DESCRIPTION_SIZE, "the string \"%s\"", text);
		else
			snprintf(buffer, DESCRIPTION_SIZE, "a string of %zu bytes", size);
		break;
	}
	case LUA_TNIL:
		snprintf(buffer, DESCRIPTION_SIZE, "nil");
		break;
	case LUA_TBOOLEAN:
		snprintf(buffer, DESCRIPTION_SIZE, "%s", lua_toboolean(lua, index) ? "true" : "false");
		break;
	default:
		snprintf(buffer, DESCRIPTION_SIZE, "a %s",
				 convert_is_null(lua, index) ? "null" : lua_typename(lua, lua_type(lua, index)));
		break;
	}
	return buffer;
}

static int
misfit(struct conversion *c, const flow_schema *schema, int index, const struct place *place, flow_status status)
{
	char found[DESCRIPTION_SIZE], type[64];
	flow_type_text(c->host, schema, type, sizeof(type));
	const char *hint = "";
	if (schema->kind == FLOW_KIND_DECIMAL && lua_type(c->lua, index) == LUA_TNUMBER)
		hint = "; give decimals as text, with their digits";
	else if (schema->kind == FLOW_KIND_STRING && lua_type(c->lua, index) == LUA_TSTRING)
		hint = ": it is not UTF-8";
	return convert_fail(c, place, status, "%s is no %s%s", describe(c->lua, index, found), type, hint);
}

static int
no_memory(struct conversion *c)
{
	return convert_fail(c, NULL, FLOW_E_MEMORY, "out of memory");
}

/* Memory for results, within what one record may give: tables that hold each other many times have no other bound. */
static void *
result_memory(struct conversion *c, uint64_t size)
{
	if (size > c->left) {
		convert_fail(c, NULL, FLOW_E_LIMIT,
					 "the records that come of one record are larger than the option memory allows");
		return NULL;
	}
	c->left -= size;
	void *memory = flow_builder_alloc(c->memory, size == 0 ? 1 : size);
	if (memory == NULL)
		no_memory(c);
	return memory;
}

/* --- numbers ----------------------------------------------------------------------------------------------------- */

/* FLOW_E_TYPE: no number, or one with a fraction. */
static flow_status
take_integer(const struct conversion *c, int index, int64_t least, int64_t most, int64_t *number)
{
	int exact = 0;
	lua_Integer integer = lua_type(c->lua, index) == LUA_TNUMBER ? lua_tointegerx(c->lua, index, &exact) : 0;
	*number = integer;
	if (!exact)
		return FLOW_E_TYPE;
	return integer < least || integer > most ? FLOW_E_RANGE : FLOW_OK;
}

static flow_status
take_float(const struct conversion *c, int narrow, int index, flow_value *value)
{
	if (lua_type(c->lua, index) != LUA_TNUMBER)
		return FLOW_E_TYPE;
	double number = lua_tonumber(c->lua, index);
	if (lua_isinteger(c->lua, index) && (number >= 0x1p63 || (lua_Integer)number != lua_tointeger(c->lua, index)))
		return FLOW_E_RANGE; /* an integer that no float equals */
	if (narrow && isfinite(number) && fabs(number) > (double)FLT_MAX)
		return FLOW_E_RANGE;
	*value = flow_float64(narrow ? (double)(float)number : number);
	return FLOW_OK;
}

static flow_status
take_decimal(struct conversion *c, const flow_schema *schema, int index, flow_value *value)
{
	char digits[FLOW_NUMBER_TEXT_MAX];
	flow_slice text = { digits, 0 };
	if (lua_type(c->lua, index) == LUA_TSTRING) {
		size_t size;
		text.data = lua_tolstring(c->lua, index, &size);
		text.size = size;
	} else if (lua_isinteger(c->lua, index)) {
		text.size = flow_print_int64(lua_tointeger(c->lua, index), digits);
	} else {
		return FLOW_E_TYPE;
	}
	flow_status status = flow_parse_decimal(text, c->memory, value);
	return status == FLOW_OK ? flow_fit_decimal(schema, c->memory, value) : status;
}

static flow_status
take_time(const struct conversion *c, const flow_schema *schema, int index, flow_value *value)
{
	int64_t least = INT64_MIN, most = INT64_MAX, number;
	if (schema->kind == FLOW_KIND_TIME) {
		least = 0;
		most = 86400;
		for (uint8_t i = 0; i < schema->unit; i++)
			most *= 10;
		most--;
	} else if (schema->kind == FLOW_KIND_DATE) {
		least = INT32_MIN;
		most = INT32_MAX;
	}
	flow_status status = take_integer(c, index, least, most, &number);
	if (schema->kind == FLOW_KIND_TIMESTAMP) {
		*value = flow_timestamp(number, schema->unit, (schema->flags & FLOW_SCHEMA_ZONED) != 0 ? FLOW_ZONED : 0);
		return status;
	}
	*value = flow_cell(schema->kind == FLOW_KIND_DATE ? FLOW_DATE : FLOW_TIME, number);
	value->unit = schema->kind == FLOW_KIND_TIME ? schema->unit : 0;
	return status;
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

static int
is_symbol(const flow_schema *schema, flow_slice text)
{
	for (uint32_t i = 0; i < schema->symbol_count; i++)
		if (flow_slice_equal(schema->symbols[i], text))
			return 1;
	return 0;
}

/* The cell for a text that fits; it points at the interpreter's memory still. FLOW_E_TYPE: it does not fit. */
static flow_status
check_text(const flow_schema *schema, flow_slice text, flow_value *value)
{
	int fits = text.size <= UINT32_MAX;
	uint8_t type = FLOW_BYTES;
	switch (schema->kind) {
	case FLOW_KIND_STRING:
		fits = fits && flow_utf8_check(text.data, text.size) == text.size;
		type = FLOW_STRING;
		break;
	case FLOW_KIND_ENUM:
		fits = is_symbol(schema, text);
		type = FLOW_STRING;
		break;
	case FLOW_KIND_FIXED:
		fits = text.size == schema->fixed_size;
		break;
	default:
		break;
	}
	*value = flow_text(type, text.data, (uint32_t)text.size);
	return fits ? FLOW_OK : FLOW_E_TYPE;
}

static flow_status
take_text(struct conversion *c, const flow_schema *schema, int index, flow_value *value)
{
	size_t size;
	char uuid[16];
	if (lua_type(c->lua, index) != LUA_TSTRING)
		return FLOW_E_TYPE;
	const char *text = lua_tolstring(c->lua, index, &size);
	flow_status status;
	if (schema->kind == FLOW_KIND_UUID) {
		status = flow_parse_uuid(flow_slice_make(text, size), uuid);
		*value = flow_text(FLOW_UUID, uuid, sizeof(uuid));
	} else {
		status = check_text(schema, flow_slice_make(text, size), value);
	}
	char *copy = status == FLOW_OK ? result_memory(c, value->size) : NULL;
	if (copy == NULL)
		return status == FLOW_OK ? c->status : FLOW_E_TYPE;
	memcpy(copy, value->as.text, value->size);
	value->as.text = copy;
	return FLOW_OK;
}

/* --- tables ------------------------------------------------------------------------------------------------------ */

static uint64_t
count_keys(lua_State *lua, int index)
{
	uint64_t count = 0;
	for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1))
		count++;
	return count;
}

static int
take_list(struct conversion *c, const flow_schema *element, int index, const struct place *outer, flow_value *value)
{
	uint64_t count = lua_rawlen(c->lua, index);
	if (count_keys(c->lua, index) != count)
		return convert_fail(
			c, outer, FLOW_E_TYPE,
			"a list needs the keys 1 to %llu and no others; where an item is null, put null and not nil",
			(unsigned long long)count);
	flow_list *list = result_memory(c, sizeof(*list));
	flow_value *items = list == NULL ? NULL : result_memory(c, count * sizeof(*items));
	if (items == NULL)
		return 0;
	for (uint64_t i = 0; i < count; i++) {
		struct place place = { outer, { NULL, 0 }, i + 1, outer->depth + 1 };
		lua_rawgeti(c->lua, index, (lua_Integer)i + 1);
		int taken = convert_take(c, element, lua_gettop(c->lua), &place, &items[i]);
		lua_pop(c->lua, 1);
		if (!taken)
			return 0;
	}
	*list = (flow_list){ items, count };
	*value = flow_cell(FLOW_LIST, 0);
	value->as.list = list;
	return 1;
}

static int
compare_entries(const void *a, const void *b)
{
	flow_slice left = flow_value_slice(&((const flow_map_entry *)a)->key);
	flow_slice right = flow_value_slice(&((const flow_map_entry *)b)->key);
	int order = memcmp(left.data, right.data, left.size < right.size ? left.size : right.size);
	return order != 0 ? order : (left.size > right.size) - (left.size < right.size);
}

/* The entry whose key and value are on top of the stack. */
static int
take_entry(struct conversion *c, const flow_schema *element, const struct place *outer, flow_map_entry *entry)
{
	static const flow_schema text = { .struct_size = FLOW_SIZEOF(flow_schema), .kind = FLOW_KIND_STRING };
	int top = lua_gettop(c->lua);
	flow_status status = take_text(c, &text, top - 1, &entry->key);
	if (status == FLOW_E_TYPE && c->status == FLOW_OK)
		return convert_fail(c, outer, FLOW_E_TYPE, "the keys of a map must be strings of UTF-8, but one is %s",
							lua_type(c->lua, top - 1) == LUA_TSTRING ? "not UTF-8" : luaL_typename(c->lua, top - 1));
	struct place place = { outer, flow_value_slice(&entry->key), 0, outer->depth + 1 };
	return status == FLOW_OK && convert_take(c, element, top, &place, &entry->value);
}

/* Entries in the order of their keys: Lua's own order differs from run to run. */
static int
take_map(struct conversion *c, const flow_schema *element, int index, const struct place *outer, flow_value *value)
{
	uint64_t count = count_keys(c->lua, index), i = 0;
	flow_map *map = result_memory(c, sizeof(*map));
	flow_map_entry *entries = map == NULL ? NULL : result_memory(c, count * sizeof(*entries));
	if (entries == NULL)
		return 0;
	for (lua_pushnil(c->lua); lua_next(c->lua, index) != 0; lua_pop(c->lua, 1))
		if (!take_entry(c, element, outer, &entries[i++]))
			return 0;
	qsort(entries, count, sizeof(*entries), compare_entries);
	*map = (flow_map){ entries, count };
	*value = flow_cell(FLOW_MAP, 0);
	value->as.map = map;
	return 1;
}

static int
unknown_field(struct conversion *c, const flow_schema *schema, int index, const struct place *outer)
{
	for (lua_pushnil(c->lua); lua_next(c->lua, index) != 0; lua_pop(c->lua, 1)) {
		if (lua_type(c->lua, -2) != LUA_TSTRING)
			return convert_fail(c, outer, FLOW_E_TYPE, "a record has names as keys, but one key is a %s",
								luaL_typename(c->lua, -2));
		size_t size;
		const char *name = lua_tolstring(c->lua, -2, &size);
		struct place place = { outer, { name, size }, 0, 0 };
		if (flow_schema_find(schema, place.name) < 0)
			return convert_fail(c, &place, FLOW_E_TYPE,
								"is not declared; add it to the option fields, or set it to nil");
	}
	return convert_fail(c, outer, FLOW_E_TYPE, "has keys that are no fields");
}

static int
take_record(struct conversion *c, const flow_schema *schema, int index, const struct place *outer, flow_value *value)
{
	uint64_t found = 0;
	flow_value *cells = result_memory(c, (uint64_t)schema->field_count * sizeof(*cells));
	if (cells == NULL)
		return 0;
	for (uint32_t i = 0; i < schema->field_count; i++) {
		const flow_field *field = schema->fields[i];
		struct place place = { outer, field->name, 0, outer == NULL ? 0 : outer->depth + 1 };
		lua_pushlstring(c->lua, field->name.data, field->name.size);
		found += lua_rawget(c->lua, index) != LUA_TNIL;
		int taken = convert_take(c, field->schema, lua_gettop(c->lua), &place, &cells[i]);
		lua_pop(c->lua, 1);
		if (!taken)
			return 0;
	}
	if (count_keys(c->lua, index) != found)
		return unknown_field(c, schema, index, outer);
	*value = flow_record(cells, schema->field_count);
	return 1;
}

static int
take_table(struct conversion *c, const flow_schema *schema, int index, const struct place *place, flow_value *value)
{
	if (lua_type(c->lua, index) != LUA_TTABLE)
		return misfit(c, schema, index, place, FLOW_E_TYPE);
	if (place != NULL && place->depth >= CONVERT_DEPTH)
		return convert_fail(c, place, FLOW_E_LIMIT, "is nested deeper than %d, or holds itself", CONVERT_DEPTH);
	luaL_checkstack(c->lua, 8, "the record is nested too deeply");
	switch (schema->kind) {
	case FLOW_KIND_LIST:
		return take_list(c, schema->element, index, place, value);
	case FLOW_KIND_MAP:
		return take_map(c, schema->element, index, place, value);
	case FLOW_KIND_RECORD:
		return take_record(c, schema, index, place, value);
	default: /* any */
		return lua_rawlen(c->lua, index) != 0 ? take_list(c, schema, index, place, value)
											  : take_map(c, schema, index, place, value);
	}
}

/* --- any value --------------------------------------------------------------------------------------------------- */

/* The kind that a Lua value has by itself: 0 for tables and what no cell holds. */
static uint8_t
natural_kind(lua_State *lua, int index)
{
	size_t size;
	switch (lua_type(lua, index)) {
	case LUA_TBOOLEAN:
		return FLOW_KIND_BOOL;
	case LUA_TNUMBER:
		return lua_isinteger(lua, index) ? FLOW_KIND_INT64 : FLOW_KIND_FLOAT64;
	case LUA_TSTRING: {
		const char *text = lua_tolstring(lua, index, &size);
		return flow_utf8_check(text, size) == size ? FLOW_KIND_STRING : FLOW_KIND_BYTES;
	}
	default:
		return 0;
	}
}

static int
take_any(struct conversion *c, const flow_schema *any, int index, const struct place *place, flow_value *value)
{
	flow_schema natural = { .struct_size = FLOW_SIZEOF(flow_schema), .kind = natural_kind(c->lua, index) };
	return natural.kind != 0 ? convert_take(c, &natural, index, place, value) : take_table(c, any, index, place, value);
}

static int
is_natural(uint8_t kind, uint8_t natural)
{
	if (natural == FLOW_KIND_INT64)
		return kind == FLOW_KIND_INT32 || kind == FLOW_KIND_INT64 || kind == FLOW_KIND_UINT64;
	if (natural == FLOW_KIND_FLOAT64)
		return kind == FLOW_KIND_FLOAT32 || kind == FLOW_KIND_FLOAT64;
	return kind == natural;
}

/* The first branch of the value's own kind that takes it, else the first one that does. */
static int
take_union(struct conversion *c, const flow_schema *schema, int index, const struct place *place, flow_value *value)
{
	uint8_t natural = natural_kind(c->lua, index);
	int top = lua_gettop(c->lua);
	for (int round = natural == 0; round < 2; round++) {
		for (uint32_t i = 0; i < schema->branch_count; i++) {
			if (round == 0 && !is_natural(schema->branches[i]->kind, natural))
				continue;
			if (convert_take(c, schema->branches[i], index, place, value)) {
				value->branch = (uint8_t)i;
				return 1;
			}
			lua_settop(c->lua, top);
			if (c->status == FLOW_E_MEMORY || c->status == FLOW_E_LIMIT)
				return 0;
			c->status = FLOW_OK;
		}
	}
	return misfit(c, schema, index, place, FLOW_E_TYPE);
}

static flow_status
take_scalar(struct conversion *c, const flow_schema *schema, int index, flow_value *value)
{
	int64_t number = 0;
	flow_status status;
	switch (schema->kind) {
	case FLOW_KIND_BOOL:
		*value = flow_bool(lua_toboolean(c->lua, index));
		return lua_type(c->lua, index) == LUA_TBOOLEAN ? FLOW_OK : FLOW_E_TYPE;
	case FLOW_KIND_INT32:
		status = take_integer(c, index, INT32_MIN, INT32_MAX, &number);
		*value = flow_int64(number);
		return status;
	case FLOW_KIND_INT64:
		status = take_integer(c, index, INT64_MIN, INT64_MAX, &number);
		*value = flow_int64(number);
		return status;
	case FLOW_KIND_UINT64:
		status = take_integer(c, index, 0, INT64_MAX, &number);
		*value = flow_uint64((uint64_t)number);
		return status;
	case FLOW_KIND_FLOAT32:
	case FLOW_KIND_FLOAT64:
		return take_float(c, schema->kind == FLOW_KIND_FLOAT32, index, value);
	case FLOW_KIND_DECIMAL:
		return take_decimal(c, schema, index, value);
	case FLOW_KIND_DATE:
	case FLOW_KIND_TIME:
	case FLOW_KIND_TIMESTAMP:
		return take_time(c, schema, index, value);
	default:
		return take_text(c, schema, index, value);
	}
}

static int
take_null(struct conversion *c, const flow_schema *schema, const struct place *place, flow_value *value)
{
	*value = flow_null();
	if (flow_schema_nullable(schema) || schema->kind == FLOW_KIND_NULL || schema->kind == FLOW_KIND_ANY)
		return 1;
	char type[64];
	return convert_fail(c, place, FLOW_E_TYPE, "is null, but a %s that is not nullable",
						flow_type_text(c->host, schema, type, sizeof(type)));
}

int
convert_take(struct conversion *c, const flow_schema *schema, int index, const struct place *place, flow_value *value)
{
	if (convert_is_null(c->lua, index))
		return take_null(c, schema, place, value);
	switch (schema->kind) {
	case FLOW_KIND_ANY:
		return take_any(c, schema, index, place, value);
	case FLOW_KIND_UNION:
		return take_union(c, schema, index, place, value);
	case FLOW_KIND_LIST:
	case FLOW_KIND_MAP:
	case FLOW_KIND_RECORD:
		return take_table(c, schema, index, place, value);
	case FLOW_KIND_NULL:
		return misfit(c, schema, index, place, FLOW_E_TYPE);
	default:
		break;
	}
	flow_status status = take_scalar(c, schema, index, value);
	if (status == FLOW_OK)
		return 1;
	if (status == FLOW_E_MEMORY)
		return no_memory(c);
	return c->status != FLOW_OK ? 0 : misfit(c, schema, index, place, status);
}
