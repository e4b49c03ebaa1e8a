/* Cells into Lua values, and what both directions share (lua_function.h). */
#include <stdio.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/number.h"
#include "flow_sdk/text.h"
#include "lua_function.h"

/* --- failures ---------------------------------------------------------------------------------------------------- */

/* Writes "a.b[2]" behind what is there. */
static void
print_place(char *buffer, size_t size, const struct place *place)
{
	if (place->outer != NULL)
		print_place(buffer, size, place->outer);
	size_t used = strlen(buffer);
	if (place->name.data != NULL)
		snprintf(buffer + used, size - used, "%s%.*s", place->outer == NULL ? "" : ".",
				 (int)(place->name.size < 64 ? place->name.size : 64), place->name.data);
	else
		snprintf(buffer + used, size - used, "[%llu]", (unsigned long long)place->index);
}

int
convert_fail(struct conversion *c, const struct place *place, flow_status status, const char *format, ...)
{
	char text[SANDBOX_REASON_SIZE / 2];
	char where[SANDBOX_REASON_SIZE / 2 - 16] = "";
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (place != NULL)
		print_place(where, sizeof(where), place);
	snprintf(c->reason, sizeof(c->reason), "%s%s%s%s", place == NULL ? "" : "field ", where, place == NULL ? "" : ": ",
			 text);
	sandbox_keep_reason(c->reason, c->reason, strlen(c->reason)); /* names of keys can be anything */
	c->status = status;
	return 0;
}

static void
raise(struct conversion *c)
{
	lua_pushstring(c->lua, c->reason);
	lua_error(c->lua);
}

void
convert_push_null(lua_State *lua)
{
	lua_pushlightuserdata(lua, NULL);
}

int
convert_is_null(lua_State *lua, int index)
{
	return lua_isnoneornil(lua, index) || (lua_islightuserdata(lua, index) && lua_touserdata(lua, index) == NULL);
}

/* --- cells -> Lua ------------------------------------------------------------------------------------------------ */

static void
push_uint64(struct conversion *c, uint64_t number, const struct place *place)
{
	if (number > INT64_MAX) {
		convert_fail(c, place, FLOW_E_RANGE, "%llu is larger than Lua's largest integer; make it a string before",
					 (unsigned long long)number);
		raise(c);
	}
	lua_pushinteger(c->lua, (lua_Integer)number);
}

static void
push_decimal(struct conversion *c, const flow_decimal *decimal)
{
	luaL_Buffer buffer;
	char *text = luaL_buffinitsize(c->lua, &buffer, (size_t)decimal->count + 64);
	luaL_pushresultsize(&buffer, flow_print_decimal(decimal, text));
}

static void
push_list(struct conversion *c, const flow_schema *element, const flow_list *list, const struct place *outer)
{
	lua_createtable(c->lua, list->count > INT32_MAX ? 0 : (int)list->count, 0);
	for (uint64_t i = 0; i < list->count; i++) {
		struct place place = { outer, { NULL, 0 }, i + 1, outer->depth + 1 };
		if (flow_is_null(list->items[i]))
			convert_push_null(c->lua);
		else
			convert_push(c, element, &list->items[i], &place);
		lua_rawseti(c->lua, -2, (lua_Integer)i + 1);
	}
}

static void
push_map(struct conversion *c, const flow_schema *element, const flow_map *map, const struct place *outer)
{
	lua_createtable(c->lua, 0, map->count > INT32_MAX ? 0 : (int)map->count);
	for (uint64_t i = 0; i < map->count; i++) {
		const flow_map_entry *entry = &map->entries[i];
		struct place place = { outer, flow_value_slice(&entry->key), 0, outer->depth + 1 };
		lua_pushlstring(c->lua, entry->key.as.text, entry->key.size);
		if (flow_is_null(entry->value))
			convert_push_null(c->lua);
		else
			convert_push(c, element, &entry->value, &place);
		lua_rawset(c->lua, -3);
	}
}

static void
push_record(struct conversion *c, const flow_schema *schema, const flow_value *cells, const struct place *outer)
{
	lua_createtable(c->lua, 0, (int)schema->field_count);
	for (uint32_t i = 0; i < schema->field_count; i++) {
		const flow_field *field = schema->fields[i];
		if (flow_is_null(cells[i]))
			continue;
		struct place place = { outer, field->name, 0, outer == NULL ? 0 : outer->depth + 1 };
		lua_pushlstring(c->lua, field->name.data, field->name.size);
		convert_push(c, field->schema, &cells[i], &place);
		lua_rawset(c->lua, -3);
	}
}

/* A value whose type nobody declared: only what comes back as the same type. */
static void
push_untyped(struct conversion *c, const flow_schema *any, const flow_value *value, const struct place *place)
{
	switch (value->type) {
	case FLOW_STRING:
		lua_pushlstring(c->lua, value->as.text, value->size);
		return;
	case FLOW_LIST:
		push_list(c, any, value->as.list, place);
		return;
	case FLOW_MAP:
		push_map(c, any, value->as.map, place);
		return;
	default:
		convert_fail(
			c, place, FLOW_E_UNSUPPORTED,
			"a value of this type (%s) needs a declared type before a script can have it; declare the field's type",
			value->type == FLOW_DECIMAL ? "a number with digits behind the point" : "not of JSON");
		raise(c);
	}
}

static void
push_text(struct conversion *c, const flow_value *value)
{
	char text[FLOW_UUID_TEXT];
	if (value->type != FLOW_UUID) {
		lua_pushlstring(c->lua, value->as.text, value->size);
		return;
	}
	flow_print_uuid(value->as.text, text);
	lua_pushlstring(c->lua, text, sizeof(text));
}

static void
push_nested(struct conversion *c, const flow_schema *schema, const flow_value *value, const struct place *place)
{
	if (place != NULL && place->depth >= CONVERT_DEPTH) {
		convert_fail(c, place, FLOW_E_LIMIT, "is nested deeper than %d", CONVERT_DEPTH);
		raise(c);
	}
	luaL_checkstack(c->lua, 8, "the record is nested too deeply");
	if (value->type == FLOW_RECORD)
		push_record(c, schema, value->as.record, place);
	else if (schema->kind == FLOW_KIND_ANY)
		push_untyped(c, schema, value, place);
	else if (value->type == FLOW_LIST)
		push_list(c, schema->element, value->as.list, place);
	else
		push_map(c, schema->element, value->as.map, place);
}

void
convert_push(struct conversion *c, const flow_schema *schema, const flow_value *value, const struct place *place)
{
	if (schema->kind == FLOW_KIND_UNION && value->type != FLOW_NULL)
		schema = schema->branches[value->branch];
	switch (value->type) {
	case FLOW_NULL:
		lua_pushnil(c->lua);
		return;
	case FLOW_BOOL:
		lua_pushboolean(c->lua, value->as.int64 != 0);
		return;
	case FLOW_UINT64:
		push_uint64(c, value->as.uint64, place);
		return;
	case FLOW_INT64:
		lua_pushinteger(c->lua, value->as.int64);
		return;
	case FLOW_FLOAT64:
		lua_pushnumber(c->lua, value->as.float64);
		return;
	case FLOW_LIST:
	case FLOW_MAP:
	case FLOW_RECORD:
		push_nested(c, schema, value, place);
		return;
	default:
		break;
	}
	if (schema->kind == FLOW_KIND_ANY)
		push_untyped(c, schema, value, place);
	else if (value->type == FLOW_DECIMAL)
		push_decimal(c, value->as.decimal);
	else if (value->type == FLOW_DATE || value->type == FLOW_TIME || value->type == FLOW_TIMESTAMP)
		lua_pushinteger(c->lua, value->as.int64);
	else
		push_text(c, value);
}
