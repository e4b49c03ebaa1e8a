/* key=value pairs of a line: into declared fields, or into a map of texts. */
#include <stdio.h>

#include "flow_sdk/plugin.h"
#include "logs.h"

#define NOT_THERE 255 /* type of a cell whose field has not come yet */

struct logs_reader {
	const logs_serde *serde;
	const logfmt_options *options;
	const uint8_t *wanted;
	flow_map_entry *entries; /* of the line at hand: all pairs, or those that are not declared */
	uint64_t entry_capacity;
};

/* A pair as it stands in the line. */
struct pair {
	flow_slice key;
	flow_slice value; /* without quotes; escapes are undone */
	int has_value;    /* there is a '=' with something behind it */
};

static flow_status
logfmt_reader_open(const logs_serde *s, const uint8_t *wanted, logs_reader **reader)
{
	struct logs_reader *r = (struct logs_reader *)flow_new(s->host, sizeof(*r));
	if (r == NULL)
		return FLOW_E_MEMORY;
	r->serde = s;
	r->options = (const logfmt_options *)s->own;
	r->wanted = wanted;
	*reader = r;
	return FLOW_OK;
}

static void
logfmt_reader_close(logs_reader *r)
{
	if (r == NULL)
		return;
	const flow_host *host = r->serde->host;
	host->release(r->entries);
	host->release(r);
}

static void
logfmt_close(logs_serde *s)
{
	logfmt_options *options = (logfmt_options *)s->own;
	if (options != NULL)
		flow_field_index_release(s->host, options->index);
	s->host->release(options);
}

/* --- pairs ------------------------------------------------------------------------------------------------------------- */

static int
is_space(char c)
{
	return c == ' ' || c == '\t';
}

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The number in four hexadecimal digits, or -1. */
static int32_t
read_code(const char *text, const char *end)
{
	int32_t code = 0;
	if (end - text < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_value(text[i]);
		if (digit < 0)
			return -1;
		code = code * 16 + digit;
	}
	return code;
}

static char *
put_utf8(uint32_t code, char *to)
{
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xC0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3F));
	} else if (code < 0x10000) {
		*to++ = (char)(0xE0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3F));
		*to++ = (char)(0x80 | (code & 0x3F));
	} else {
		*to++ = (char)(0xF0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3F));
		*to++ = (char)(0x80 | (code >> 6 & 0x3F));
		*to++ = (char)(0x80 | (code & 0x3F));
	}
	return to;
}

/* \uXXXX, perhaps a pair of surrogates; *at stands behind the u. */
static char *
undo_code(const char **at, const char *end, char *to)
{
	int32_t code = read_code(*at, end);
	if (code < 0 || (code >= 0xDC00 && code < 0xE000))
		return NULL;
	*at += 4;
	if (code < 0xD800 || code >= 0xE000)
		return put_utf8((uint32_t)code, to);
	if (end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
		return NULL;
	int32_t low = read_code(*at + 2, end);
	if (low < 0xDC00 || low >= 0xE000)
		return NULL;
	*at += 6;
	return put_utf8(0x10000u + ((uint32_t)(code - 0xD800) << 10) + (uint32_t)(low - 0xDC00), to);
}

/* The text between quotes with its escapes undone. NULL data: an escape that is none; FLOW_E_MEMORY by *status. */
static flow_slice
undo_escapes(const char *at, const char *end, flow_builder *memory, flow_status *status)
{
	static const char letters[] = "\"\\/nrtbf", meanings[] = "\"\\/\n\r\t\b\f";
	char *text = (char *)flow_builder_alloc(memory, (uint64_t)(end - at));
	char *to = text;
	*status = text == NULL ? FLOW_E_MEMORY : FLOW_OK;
	while (to != NULL && at < end) {
		if (*at != '\\') {
			*to++ = *at++;
			continue;
		}
		const char *letter = at + 1 < end ? (const char *)memchr(letters, at[1], sizeof(letters) - 1) : NULL;
		int is_code = at + 1 < end && at[1] == 'u';
		at += 2;
		if (letter != NULL)
			*to++ = meanings[letter - letters];
		else
			to = is_code ? undo_code(&at, end, to) : NULL;
	}
	return to == NULL ? flow_slice_make(NULL, 0) : flow_slice_make(text, (uint64_t)(to - text));
}

/* The quoted value at *at; moves behind it. */
static flow_status
read_quoted(const char **at, const char *end, flow_builder *memory, struct pair *pair, logs_fault *fault)
{
	const char *start = *at + 1, *c = start;
	int escapes = 0;
	while (c < end && *c != '"') {
		escapes |= *c == '\\';
		c += *c == '\\' && c + 1 < end ? 2 : 1;
	}
	if (c >= end)
		return logs_refuse(fault, FLOW_E_DECODE, pair->key, "a quote that does not end");
	*at = c + 1;
	if (*at < end && !is_space(**at))
		return logs_refuse(fault, FLOW_E_DECODE, pair->key, "text behind a quoted value");
	pair->value = flow_slice_make(start, (uint64_t)(c - start));
	if (!escapes)
		return FLOW_OK;
	flow_status status;
	pair->value = undo_escapes(start, c, memory, &status);
	if (status == FLOW_OK && pair->value.data == NULL)
		return logs_refuse(fault, FLOW_E_DECODE, pair->key, "an escape that does not exist");
	return status;
}

/* The pair at *at, which is no blank; moves behind it. */
static flow_status
read_pair(const char **at, const char *end, flow_builder *memory, struct pair *pair, logs_fault *fault)
{
	const char *start = *at, *c = start;
	while (c < end && (uint8_t)*c > ' ' && *c != '=' && *c != '"' && *c != 0x7F)
		c++;
	*pair = (struct pair){ .key = flow_slice_make(start, (uint64_t)(c - start)), .value = flow_slice_make(c, 0) };
	*at = c;
	if (c == start || (c < end && *c != '=' && !is_space(*c)))
		return logs_refuse(fault, FLOW_E_DECODE, pair->key, "%s at byte %llu", "no key and '='",
						   (unsigned long long)(c - start));
	if (c == end || *c != '=')
		return FLOW_OK;
	start = ++c;
	*at = c;
	pair->value = flow_slice_make(c, 0);
	if (c < end && *c == '"') {
		pair->has_value = 1;
		return read_quoted(at, end, memory, pair, fault);
	}
	while (c < end && (uint8_t)*c > ' ' && *c != '"' && *c != 0x7F)
		c++;
	*at = c;
	if (c < end && !is_space(*c))
		return logs_refuse(fault, FLOW_E_DECODE, pair->key,
						   "a value with a quote or control character that is not quoted");
	pair->value = flow_slice_make(start, (uint64_t)(c - start));
	pair->has_value = c != start;
	return FLOW_OK;
}

static const char *
skip_spaces(const char *at, const char *end)
{
	while (at < end && is_space(*at))
		at++;
	return at;
}

/* --- without declared fields ---------------------------------------------------------------------------------------------- */

static int
make_room(struct logs_reader *r, uint64_t count)
{
	if (count < r->entry_capacity)
		return 1;
	uint64_t capacity = r->entry_capacity == 0 ? 32 : 2 * r->entry_capacity;
	flow_map_entry *grown = (flow_map_entry *)r->serde->host->reallocate(r->entries, capacity * sizeof(*grown));
	if (grown == NULL)
		return 0;
	r->entries = grown;
	r->entry_capacity = capacity;
	return 1;
}

static flow_status
settle_same_keys(struct logs_reader *r, uint64_t *count, flow_builder *builder, logs_fault *fault)
{
	if (r->options->last_duplicate) {
		int64_t kept = flow_keep_last_keys(r->entries, *count, builder);
		*count = kept < 0 ? 0 : (uint64_t)kept;
		return kept < 0 ? FLOW_E_MEMORY : FLOW_OK;
	}
	int64_t same = flow_same_key(r->entries, *count, builder);
	if (same == FLOW_NO_SAME_KEY)
		return FLOW_OK;
	if (same < 0)
		return FLOW_E_MEMORY;
	return logs_refuse(fault, FLOW_E_DECODE, flow_value_slice(&r->entries[same].key), "the same key twice");
}

static flow_status
take_map(struct logs_reader *r, flow_slice text, flow_builder *builder, flow_value *value, logs_fault *fault)
{
	const char *end = text.data + text.size;
	uint64_t count = 0;
	flow_status status = FLOW_OK;
	for (const char *at = skip_spaces(text.data, end); status == FLOW_OK && at < end; at = skip_spaces(at, end)) {
		struct pair pair;
		status = read_pair(&at, end, builder, &pair, fault);
		if (status == FLOW_OK && !make_room(r, count))
			status = FLOW_E_MEMORY;
		if (status != FLOW_OK)
			break;
		r->entries[count].key = flow_string(pair.key.data, (uint32_t)pair.key.size);
		r->entries[count++].value =
			pair.has_value ? flow_string(pair.value.data, (uint32_t)pair.value.size) : flow_null();
	}
	if (status == FLOW_OK)
		status = settle_same_keys(r, &count, builder, fault);
	if (status != FLOW_OK)
		return status;
	flow_map *map = (flow_map *)flow_builder_alloc(builder, sizeof(*map));
	const char *entries = flow_builder_copy(builder, r->entries, count * sizeof(*r->entries));
	if (map == NULL || entries == NULL)
		return FLOW_E_MEMORY;
	*map = (flow_map){ (const flow_map_entry *)(const void *)entries, count };
	*value = flow_cell(FLOW_MAP, 0);
	value->as.map = map;
	return FLOW_OK;
}

/* --- declared fields ------------------------------------------------------------------------------------------------------ */

static flow_status
take_field(struct logs_reader *r, uint32_t index, const struct pair *pair, flow_builder *builder, flow_value *cells,
		   logs_fault *fault)
{
	const flow_field *field = r->serde->schema->fields[index];
	flow_value *cell = &cells[index];
	if (cell->type != NOT_THERE && !r->options->last_duplicate)
		return logs_refuse(fault, FLOW_E_DECODE, field->name, "the same key twice");
	int is_flag = field->schema->kind == FLOW_KIND_BOOL && pair->value.data == pair->key.data + pair->key.size;
	int unwanted = r->wanted != NULL && !r->wanted[index];
	if (!unwanted && (pair->has_value || (!is_flag && !flow_schema_nullable(field->schema))))
		return logs_take_cell(r->serde->host, field->schema, field->name, pair->value, builder, cell, fault);
	*cell = unwanted || !is_flag ? flow_null() : flow_bool(1);
	return FLOW_OK;
}

static flow_status
fill_missing(const struct logs_reader *r, flow_value *cells, logs_fault *fault)
{
	const flow_schema *schema = r->serde->schema;
	for (uint32_t i = 0; i < schema->field_count; i++) {
		if (cells[i].type != NOT_THERE)
			continue;
		if (!flow_schema_nullable(schema->fields[i]->schema))
			return logs_refuse(fault, FLOW_E_DECODE, schema->fields[i]->name, "a field that is needed is not there");
		cells[i] = flow_null();
	}
	return FLOW_OK;
}

static flow_status
take_record(struct logs_reader *r, flow_slice text, flow_builder *builder, flow_value *value, logs_fault *fault)
{
	const flow_schema *schema = r->serde->schema;
	const char *end = text.data + text.size;
	flow_value *cells = flow_builder_cells(builder, schema->field_count + 1);
	uint64_t extras = 0;
	if (cells == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < schema->field_count; i++)
		cells[i].type = NOT_THERE;
	uint32_t next = 0;
	flow_status status = FLOW_OK;
	for (const char *at = skip_spaces(text.data, end); status == FLOW_OK && at < end; at = skip_spaces(at, end)) {
		struct pair pair;
		status = read_pair(&at, end, builder, &pair, fault);
		if (status != FLOW_OK)
			break;
		int32_t index = next < schema->field_count && flow_slice_equal(schema->fields[next]->name, pair.key)
							? (int32_t)next
							: flow_field_index_find(r->options->index, pair.key);
		if (index >= 0) {
			next = (uint32_t)index + 1;
			status = take_field(r, (uint32_t)index, &pair, builder, cells, fault);
		} else if (r->options->extra_is_error) {
			status = logs_refuse(fault, FLOW_E_DECODE, pair.key,
								 "a field that is not declared (extra = \"ignore\" passes over it)");
		} else if (!make_room(r, extras)) {
			status = FLOW_E_MEMORY;
		} else {
			r->entries[extras++].key = flow_string(pair.key.data, (uint32_t)pair.key.size);
		}
	}
	if (status == FLOW_OK && !r->options->last_duplicate)
		status = settle_same_keys(r, &extras, builder, fault);
	if (status == FLOW_OK)
		status = fill_missing(r, cells, fault);
	*value = flow_record(cells, schema->field_count);
	return status;
}

static flow_status
logfmt_take(logs_reader *r, flow_slice text, flow_builder *builder, flow_value *value, logs_fault *fault)
{
	return r->options->index == NULL ? take_map(r, text, builder, value, fault)
									 : take_record(r, text, builder, value, fault);
}

const logs_form logfmt_form = {
	.name = "logfmt",
	.skips_blank = 1,
	.reader_open = logfmt_reader_open,
	.reader_close = logfmt_reader_close,
	.take = logfmt_take,
	.close = logfmt_close,
};
