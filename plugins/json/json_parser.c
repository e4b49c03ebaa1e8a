/*
 * The parser: one pass over the text, straight into cells, with a stack of its own (json.h promises what `text` must look like).
 * What a projection leaves out is checked like everything else, only no cells are made.
 */
#include <stdio.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"
#include "json_parser.h"
#include "json_text.h"

#define FEW_KEYS 16 /* up to here each new key is compared with the others */

/* Marks in flow_value.type while a record is read. */
#define MISSING 255
#define SEEN 254 /* there, but nobody wants it */

json_parser *
json_parser_create(const flow_host *host, const json_format *format)
{
	json_parser *p = (json_parser *)flow_new(host, sizeof(*p));
	if (p == NULL)
		return NULL;
	p->host = host;
	p->format = format;
	p->frames = (struct frame *)flow_new(host, format->depth_limit * sizeof(struct frame));
	if (p->frames == NULL) {
		json_parser_destroy(p);
		return NULL;
	}
	return p;
}

void
json_parser_destroy(json_parser *p)
{
	if (p == NULL)
		return;
	const flow_host *host = p->host;
	host->release(p->frames);
	host->release(p->values);
	host->release(p->entries);
	host->release(p);
}

/* --- scalars --------------------------------------------------------------------------------------------------------- */

/* A string with escapes: `at` is behind its quote, `stop` at its first backslash. */
static const char *
parse_escaped(json_parser *p, const char *at, const char *stop, int *high, int keep, flow_slice *text)
{
	while (*stop == '\\') {
		if (stop + 1 >= p->end) {
			stop = p->end;
			break;
		}
		stop = json_scan_string(stop + 2, high);
	}
	if (*stop != '"' || stop >= p->end)
		return stop;
	uint64_t size = (uint64_t)(stop - at);
	char *to = NULL;
	if (keep && (to = (char *)flow_builder_alloc(p->memory, size + 8)) == NULL)
		return json_fault_memory(p);
	const char *bad = at;
	int64_t written = json_unescape(at, size, to, &bad);
	if (written < 0)
		return json_fault_at(p, bad, FLOW_E_DECODE, "an escape that JSON does not have, or half of a surrogate pair");
	*text = flow_slice_make(to, (uint64_t)written);
	return stop;
}

/* The string whose quote is at `at`; behind its closing quote, or NULL. Without `keep` the text may be left out. */
static inline const char *
parse_string(json_parser *p, const char *at, int keep, flow_slice *text)
{
	int high = 0;
	const char *start = ++at;
	const char *stop = json_scan_string(at, &high);
	*text = flow_slice_make(start, (uint64_t)(stop - start));
	if (__builtin_expect(*stop == '\\', 0)) {
		stop = parse_escaped(p, start, stop, &high, keep, text);
		if (stop == NULL)
			return NULL;
	}
	if (__builtin_expect(*stop != '"' || stop >= p->end, 0)) {
		if (stop >= p->end)
			return json_fault_at(p, p->end, FLOW_E_DECODE, "the text ends inside of a string");
		return json_fault_at(p, stop, FLOW_E_DECODE, "a control character in a string must be escaped");
	}
	if (__builtin_expect(high, 0)) {
		uint64_t size = (uint64_t)(stop - start);
		uint64_t good = flow_utf8_check(start, size);
		if (good != size)
			return json_fault_at(p, start + good, FLOW_E_DECODE, "bytes that are not UTF-8");
	}
	return stop + 1;
}

static const char *
parse_string_value(json_parser *p, const json_node *node, const char *at, flow_value *value)
{
	flow_slice text;
	const char *behind = parse_string(p, at, node != NULL, &text);
	if (behind == NULL || node == NULL)
		return behind;
	if (__builtin_expect(node->kind == FLOW_KIND_STRING || node->kind == FLOW_KIND_ANY, 1)) {
		*value = flow_string(text.data, (uint32_t)text.size);
		return behind;
	}
	flow_status status = json_take_string(node, text, p->memory, value);
	return status == FLOW_OK ? behind : json_fault_type(p, at, node, status, "the string", text);
}

static const char *
parse_number_value(json_parser *p, const json_node *node, const char *at, flow_value *value)
{
	json_number number;
	const char *bad = at;
	const char *behind = json_scan_number(at, &number, &bad);
	if (behind == NULL)
		return json_fault_syntax(p, bad, "a digit");
	if (node == NULL)
		return behind;
	if (__builtin_expect(node->kind == FLOW_KIND_INT64 && number.exact, 1)) {
		*value = flow_int64(number.negative ? -(int64_t)number.magnitude : (int64_t)number.magnitude);
		return behind;
	}
	flow_status status = json_take_number(node, &number, p->memory, value);
	if (status != FLOW_OK)
		return json_fault_type(p, at, node, status, "the number", flow_slice_make(number.text, number.size));
	return behind;
}

/* Null where the type does not allow it: the field's default, if that is wanted and there is one. */
static int
null_as_default(const json_parser *p, flow_value *value)
{
	if (!p->format->null_is_default || p->depth == 0)
		return 0;
	const struct frame *f = &p->frames[p->depth - 1];
	const flow_value *found = f->kind == RECORD && f->field >= 0 ? f->node->fields[f->field].default_value : NULL;
	if (found != NULL)
		*value = *found;
	return found != NULL;
}

static const char *
parse_word(json_parser *p, const json_node *node, const char *at, flow_value *value)
{
	flow_status status = FLOW_OK;
	uint64_t size = 4;
	if (memcmp(at, "null", 4) == 0) {
		*value = flow_null();
		if (node != NULL && !node->nullable && !null_as_default(p, value))
			status = FLOW_E_TYPE;
	} else if (memcmp(at, "true", 4) == 0) {
		status = node == NULL ? FLOW_OK : json_take_bool(node, 1, value);
	} else if (memcmp(at, "false", 5) == 0) {
		size = 5;
		status = node == NULL ? FLOW_OK : json_take_bool(node, 0, value);
	} else {
		return json_fault_syntax(p, at, "a value");
	}
	if (at + size > p->end)
		return json_fault_syntax(p, p->end, "a value");
	return status == FLOW_OK ? at + size : json_fault_type(p, at, node, status, "the value", flow_slice_make(at, size));
}

/* In place of a union's object: null, if it may be. */
static const char *
parse_bare(json_parser *p, const json_node *node, const char *at, flow_value *value)
{
	if (*at == 'n' && node->nullable)
		return parse_word(p, node, at, value);
	snprintf(p->reason, sizeof(p->reason), "%s{\"%.*s\": ...} is expected (encoding = \"avro\")",
			 node->nullable ? "null or " : "",
			 (int)(node->branch_names[0].size > 100 ? 100 : node->branch_names[0].size), node->branch_names[0].data);
	return json_fault_at(p, at, FLOW_E_TYPE, p->reason);
}

static inline const char *
parse_scalar(json_parser *p, const json_node *node, const char *at, flow_value *value)
{
	if (*at == '"')
		return parse_string_value(p, node, at, value);
	if (*at == '-' || json_is_digit(*at))
		return parse_number_value(p, node, at, value);
	return parse_word(p, node, at, value);
}

/* --- lists and objects ----------------------------------------------------------------------------------------------- */

static int
grow(json_parser *p, void **array, uint64_t *capacity, uint64_t size)
{
	uint64_t more = *capacity == 0 ? 64 : *capacity * 2;
	void *grown = p->host->reallocate(*array, more * size);
	if (grown == NULL) {
		json_fault_memory(p);
		return 0;
	}
	*array = grown;
	*capacity = more;
	return 1;
}

static int
push_entry(json_parser *p, flow_slice key)
{
	if (p->entry_count == p->entry_capacity) {
		void *array = p->entries;
		if (!grow(p, &array, &p->entry_capacity, sizeof(flow_map_entry)))
			return 0;
		p->entries = (flow_map_entry *)array;
	}
	flow_map_entry *entry = &p->entries[p->entry_count++];
	entry->key = flow_string(key.data, (uint32_t)key.size);
	entry->value = flow_null();
	return 1;
}

/* The branch of a union that takes this kind of container, or the node itself; NULL: none does. */
static const json_node *
container_node(const json_node *node, int object, uint8_t *branch)
{
	*branch = 0;
	for (uint32_t i = 0; node->kind == FLOW_KIND_UNION && i < node->branch_count; i++) {
		uint8_t unused;
		const json_node *found = container_node(node->branches[i], object, &unused);
		*branch = (uint8_t)i;
		if (found != NULL)
			return found;
	}
	if (node->kind == FLOW_KIND_ANY)
		return node;
	if (object)
		return node->kind == FLOW_KIND_RECORD || node->kind == FLOW_KIND_MAP ? node : NULL;
	return node->kind == FLOW_KIND_LIST ? node : NULL;
}

static int
open_record(json_parser *p, struct frame *f)
{
	uint32_t count = f->node->field_count;
	f->kind = RECORD;
	f->sparse = p->depth == 1 && p->wanted != NULL;
	f->left = f->node->key_count;
	f->next_field = 0;
	f->cells = flow_builder_cells(p->memory, count);
	if (f->cells == NULL) {
		json_fault_memory(p);
		return 0;
	}
	for (uint32_t i = 0; i < count; i++)
		f->cells[i].type = MISSING;
	return 1;
}

/* Behind the bracket at `at`, with a new frame; or NULL. */
static const char *
open_container(json_parser *p, const json_node *node, const char *at)
{
	int object = *at == '{';
	uint8_t branch = 0;
	int wrap = node != NULL && node->wrapped;
	flow_value none;
	if (wrap && !object)
		return parse_bare(p, node, at, &none);
	const json_node *found = node == NULL || wrap ? node : container_node(node, object, &branch);
	if (node != NULL && found == NULL)
		return json_fault_type(p, at, node, FLOW_E_TYPE, object ? "an object" : "a list", flow_slice_make(NULL, 0));
	if (p->depth == p->format->depth_limit) {
		snprintf(p->reason, sizeof(p->reason), "nested deeper than depth_limit (%u) allows", p->format->depth_limit);
		return json_fault_at(p, at, FLOW_E_LIMIT, p->reason);
	}
	struct frame *f = &p->frames[p->depth++];
	f->node = found;
	f->branch = branch;
	f->key = NULL;
	f->items = 0;
	f->value_node = found == NULL ? NULL : found->element;
	f->kind = wrap ? WRAP : object ? MAP : LIST;
	f->base = object ? p->entry_count : p->value_count;
	if (object && !wrap && found != NULL && found->kind == FLOW_KIND_RECORD && !open_record(p, f))
		return NULL;
	return at + 1;
}

static const char *
same_key(json_parser *p, const char *at)
{
	return json_fault_at(p, at, FLOW_E_DECODE, "the same key twice in one object");
}

/* A member of a map, or one of a record that is not declared. */
static int
take_key(json_parser *p, struct frame *f, flow_slice key, const char *at)
{
	uint64_t count = p->entry_count - f->base;
	for (uint64_t i = f->base; count <= FEW_KEYS && i < p->entry_count; i++) {
		const flow_value *other = &p->entries[i].key;
		if (other->size == key.size && memcmp(other->as.text, key.data, key.size) == 0) {
			if (!p->format->last_duplicate) {
				same_key(p, at);
				return 0;
			}
			f->slot = i;
			return 1;
		}
	}
	f->slot = p->entry_count;
	return push_entry(p, key);
}

static int
take_field(json_parser *p, struct frame *f, int32_t field, const char *at)
{
	flow_value *cell = &f->cells[field];
	int wanted = !f->sparse || p->wanted[field];
	f->field = field;
	f->next_field = (uint32_t)field + 1;
	f->value_node = wanted ? f->node->fields[field].node : NULL;
	if (cell->type == MISSING)
		f->left--;
	else if (!p->format->last_duplicate)
		return same_key(p, at) != NULL;
	cell->type = SEEN;
	return 1;
}

/* The one key of a union's object. */
static int
take_branch(json_parser *p, struct frame *f, flow_slice key, const char *at)
{
	if (f->items++ != 0)
		return json_fault_at(p, at, FLOW_E_DECODE, "a second key where a union has one, its branch") != NULL;
	for (uint32_t i = 0; i < f->node->branch_count; i++) {
		if (!flow_slice_equal(f->node->branch_names[i], key))
			continue;
		f->branch = f->node->kind == FLOW_KIND_UNION ? (uint8_t)i : 0;
		f->value_node = f->node->branches[i];
		return 1;
	}
	snprintf(p->reason, sizeof(p->reason), "the union has no branch \"%.*s\"", (int)(key.size > 100 ? 100 : key.size),
			 key.data);
	return json_fault_at(p, at, FLOW_E_TYPE, p->reason) != NULL;
}

/* Do the document's keys that are not declared go into a field that is read? */
static int
keeps_extra(const json_parser *p, const struct frame *f)
{
	return p->depth == 1 && f->node->extra_field != JSON_NO_FIELD && (!f->sparse || p->wanted[f->node->extra_field]);
}

static int
take_member(json_parser *p, struct frame *f, flow_slice key, const char *at)
{
	f->key = key.data;
	f->key_size = (uint32_t)key.size;
	if (f->kind == WRAP)
		return take_branch(p, f, key, at);
	if (f->kind == MAP)
		return take_key(p, f, key, at);
	int32_t field = json_node_find(f->node, key.data, (uint32_t)key.size);
	if (field >= 0)
		return take_field(p, f, field, at);
	f->field = -1;
	f->value_node = keeps_extra(p, f) ? f->node->fields[f->node->extra_field].node->element : NULL;
	if (p->format->extra == JSON_EXTRA_ERROR) {
		json_fault_at(p, at, FLOW_E_DECODE, "a key that is not declared (extra = \"ignore\" passes over it)");
		return 0;
	}
	return take_key(p, f, key, at);
}

/* The key at `at` and its colon; behind them, or NULL. */
static inline const char *
parse_key(json_parser *p, struct frame *f, const char *at)
{
	const char *behind = NULL;
	if (f->kind == RECORD && f->next_field < f->node->key_count) {
		const json_field *likely = &f->node->fields[f->next_field];
		if (p->end - at > (int64_t)likely->size + 2 && *at == '"' && at[likely->size + 1] == '"' &&
			memcmp(at + 1, likely->name, likely->size) == 0) {
			f->key = at + 1;
			f->key_size = likely->size;
			if (!take_field(p, f, (int32_t)f->next_field, at))
				return NULL;
			behind = at + likely->size + 2;
		}
	}
	if (behind == NULL) {
		flow_slice key;
		if (*at != '"')
			return json_fault_syntax(p, at, "a key in quotes");
		behind = parse_string(p, at, 1, &key);
		if (behind == NULL || !take_member(p, f, key, at))
			return NULL;
	}
	behind = json_skip_blanks(behind, p->end);
	if (*behind != ':' || behind >= p->end)
		return json_fault_syntax(p, behind, "a colon");
	return behind + 1;
}

static int
store(json_parser *p, struct frame *f, const flow_value *value)
{
	if (f->kind == RECORD) {
		if (f->value_node == NULL)
			return 1;
		if (__builtin_expect(f->field >= 0, 1))
			f->cells[f->field] = *value;
		else
			p->entries[f->slot].value = *value;
		return 1;
	}
	if (f->kind == WRAP) {
		f->wrapped = *value;
		return 1;
	}
	if (f->kind == MAP) {
		if (f->node != NULL)
			p->entries[f->slot].value = *value;
		return 1;
	}
	if (f->node == NULL)
		return 1;
	if (p->value_count == p->value_capacity) {
		void *array = p->values;
		if (!grow(p, &array, &p->value_capacity, sizeof(flow_value)))
			return 0;
		p->values = (flow_value *)array;
	}
	p->values[p->value_count++] = *value;
	return 1;
}

static int
close_list(json_parser *p, const struct frame *f, flow_value *value)
{
	uint64_t count = p->value_count - f->base;
	if (f->node == NULL)
		return 1;
	flow_list *list = (flow_list *)flow_builder_alloc(p->memory, sizeof(*list) + count * sizeof(flow_value));
	if (list == NULL)
		return json_fault_memory(p) != NULL;
	flow_value *items = (flow_value *)(list + 1);
	if (count != 0)
		memcpy(items, p->values + f->base, count * sizeof(flow_value));
	list->items = items;
	list->count = count;
	p->value_count = f->base;
	*value = flow_cell(FLOW_LIST, 0);
	value->as.list = list;
	return 1;
}

/* Keys of a large object are compared when it ends. */
static int
check_keys(json_parser *p, struct frame *f, const char *at)
{
	uint64_t count = p->entry_count - f->base;
	if (count <= FEW_KEYS)
		return 1;
	int64_t same = json_same_keys(p->host, p->entries + f->base, &count, p->format->last_duplicate);
	if (same == -2)
		return json_fault_memory(p) != NULL;
	if (same >= 0) {
		f->key = p->entries[f->base + (uint64_t)same].key.as.text;
		f->key_size = p->entries[f->base + (uint64_t)same].key.size;
		int inside = f->key >= p->text && f->key < p->end;
		return same_key(p, inside ? f->key - 1 : at) != NULL;
	}
	p->entry_count = f->base + count;
	return 1;
}

/* The entries since the frame began, as a map. */
static int
make_map(json_parser *p, const struct frame *f, flow_value *value)
{
	uint64_t count = p->entry_count - f->base;
	flow_map *map = (flow_map *)flow_builder_alloc(p->memory, sizeof(*map) + count * sizeof(flow_map_entry));
	if (map == NULL)
		return json_fault_memory(p) != NULL;
	flow_map_entry *entries = (flow_map_entry *)(map + 1);
	if (count != 0)
		memcpy(entries, p->entries + f->base, count * sizeof(flow_map_entry));
	map->entries = entries;
	map->count = count;
	*value = flow_cell(FLOW_MAP, 0);
	value->as.map = map;
	return 1;
}

static int
close_map(json_parser *p, struct frame *f, const char *at, flow_value *value)
{
	if (!check_keys(p, f, at) || (f->node != NULL && !make_map(p, f, value)))
		return 0;
	p->entry_count = f->base;
	return 1;
}

/* Fields that the text does not have. */
static int
fill_fields(json_parser *p, struct frame *f, const char *at)
{
	int policy = p->format->missing;
	for (uint32_t i = 0; i < f->node->key_count; i++) {
		flow_value *cell = &f->cells[i];
		const json_field *field = &f->node->fields[i];
		if (cell->type != MISSING && cell->type != SEEN)
			continue;
		if (cell->type == MISSING && field->default_value != NULL && policy == JSON_MISSING_DEFAULT) {
			*cell = *field->default_value;
		} else {
			int wanted = !f->sparse || p->wanted[i];
			int nullable = field->node->nullable;
			if (cell->type == MISSING && (policy == JSON_MISSING_ERROR || !nullable) && wanted) {
				f->key = field->name;
				f->key_size = field->size;
				json_fault_at(p, at, FLOW_E_DECODE,
							  policy == JSON_MISSING_ERROR ? "the field is missing"
														   : "the field is missing, and its type does not allow null");
				if (p->depth == 1)
					p->fault->pointer = flow_slice_make(field->name, field->size);
				return 0;
			}
			*cell = flow_null();
		}
	}
	return 1;
}

static int
close_record(json_parser *p, struct frame *f, const char *at, flow_value *value)
{
	if (p->entry_count != f->base && !check_keys(p, f, at))
		return 0;
	if (__builtin_expect(f->node->extra_field != JSON_NO_FIELD, 0)) {
		flow_value *extra = &f->cells[f->node->extra_field];
		*extra = flow_null();
		if (keeps_extra(p, f) && !make_map(p, f, extra))
			return 0;
	}
	p->entry_count = f->base;
	if ((f->left != 0 || f->sparse) && !fill_fields(p, f, at))
		return 0;
	*value = flow_record(f->cells, f->node->field_count);
	return 1;
}

static int
close_wrap(json_parser *p, const struct frame *f, const char *at, flow_value *value)
{
	if (f->items == 0)
		return json_fault_at(p, at, FLOW_E_DECODE, "an object without a key where a union has one, its branch") != NULL;
	*value = f->wrapped;
	return 1;
}

/* The container of the top frame ends in front of `at`: *value is it. */
static int
close_container(json_parser *p, const char *at, flow_value *value)
{
	struct frame *f = &p->frames[p->depth - 1];
	int done = f->kind == LIST   ? close_list(p, f, value)
			   : f->kind == WRAP ? close_wrap(p, f, at, value)
			   : f->kind == MAP  ? close_map(p, f, at, value)
								 : close_record(p, f, at, value);
	if (!done)
		return 0;
	value->branch = f->branch;
	p->depth--;
	return 1;
}

/* --- the document ---------------------------------------------------------------------------------------------------- */

/* Goes on behind a complete value: stores it, closes what ends, and stands at the next value of *node. NULL: a fault. With depth 0
 * the document is complete. */
static inline const char *
go_on(json_parser *p, const char *at, flow_value *value, const json_node **node)
{
	while (p->depth != 0) {
		struct frame *f = &p->frames[p->depth - 1];
		if (!store(p, f, value))
			return NULL;
		at = json_skip_blanks(at, p->end);
		if (*at == ',' && at < p->end) {
			at = json_skip_blanks(at + 1, p->end);
			if (f->kind != LIST)
				at = parse_key(p, f, at);
			else
				f->items++;
			*node = f->value_node;
			return at;
		}
		if (*at != (f->kind == LIST ? ']' : '}') || at >= p->end)
			return json_fault_syntax(p, at, f->kind == LIST ? "',' or ']'" : "',' or '}'");
		at++;
		if (!close_container(p, at, value))
			return NULL;
	}
	return at;
}

static const char *
parse_document(json_parser *p, const json_node *node, const char *at, flow_value *value)
{
	for (;;) {
		at = json_skip_blanks(at, p->end);
		if (at >= p->end)
			return json_fault_syntax(p, at, "a value");
		if (*at == '{' || *at == '[') {
			int object = *at == '{';
			at = open_container(p, node, at);
			if (at == NULL)
				return NULL;
			struct frame *f = &p->frames[p->depth - 1];
			at = json_skip_blanks(at, p->end);
			if (*at != (object ? '}' : ']') || at >= p->end) {
				if (object)
					at = parse_key(p, f, at);
				if (at == NULL)
					return NULL;
				node = f->value_node;
				continue;
			}
			at++;
			if (!close_container(p, at, value))
				return NULL;
		} else {
			at = __builtin_expect(node != NULL && node->wrapped, 0) ? parse_bare(p, node, at, value)
																	: parse_scalar(p, node, at, value);
			if (at == NULL)
				return NULL;
		}
		at = go_on(p, at, value, &node);
		if (at == NULL || p->depth == 0)
			return at;
	}
}

flow_status
json_parse(json_parser *p, const json_node *node, const uint8_t *wanted, const char *text, uint64_t size,
		   flow_builder *memory, flow_value *value, json_fault *fault)
{
	p->depth = 0;
	p->value_count = 0;
	p->entry_count = 0;
	p->text = text;
	p->end = text + size;
	p->wanted = wanted;
	p->memory = memory;
	p->fault = fault;
	const char *at = parse_document(p, node, text, value);
	if (at != NULL) {
		at = json_skip_blanks(at, p->end);
		if (at == p->end)
			return FLOW_OK;
		json_fault_syntax(p, at, "the end of the document");
	}
	return fault->status;
}
