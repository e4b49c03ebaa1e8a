/* References to patterns by name, written out. */
#include "flow_sdk/plugin.h"
#include "regex.h"

#define DEPTH_MAX 24 /* patterns within patterns: deeper ones refer to themselves */

void
regex_text_release(regex_text *text)
{
	text->host->release(text->text);
	text->host->release(text->types);
}

flow_status
regex_append(regex_text *to, const char *text, uint64_t size, flow_error *error)
{
	if (to->size + size > REGEX_TEXT_MAX)
		return flow_fail(to->host, error, FLOW_E_LIMIT,
						 "regex: the pattern with all that it refers to is longer than %u KiB", REGEX_TEXT_MAX >> 10);
	if (to->size + size > to->capacity) {
		uint64_t capacity = 2 * (to->size + size);
		char *grown = (char *)to->host->reallocate(to->text, capacity);
		if (grown == NULL)
			return flow_fail(to->host, error, FLOW_E_MEMORY, "out of memory");
		to->text = grown;
		to->capacity = capacity;
	}
	if (size != 0)
		memcpy(to->text + to->size, text, size);
	to->size += size;
	return FLOW_OK;
}

static int
is_name(flow_slice text)
{
	for (uint64_t i = 0; i < text.size; i++) {
		char c = text.data[i];
		int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
		if (!letter && (i == 0 || c < '0' || c > '9'))
			return 0;
	}
	return text.size != 0 && text.size <= REGEX_NAME_MAX;
}

static flow_status
keep_type(regex_text *to, flow_slice field, flow_slice type, flow_error *error)
{
	regex_type *grown = (regex_type *)to->host->reallocate(to->types, (to->type_count + 1) * sizeof(*grown));
	if (grown == NULL)
		return flow_fail(to->host, error, FLOW_E_MEMORY, "out of memory");
	to->types = grown;
	to->types[to->type_count++] = (regex_type){ field, type };
	return FLOW_OK;
}

/* Splits at the first colon: the part before it, and *rest behind it (data NULL: there is none). */
static flow_slice
split(flow_slice text, flow_slice *rest)
{
	const char *colon = text.size == 0 ? NULL : (const char *)memchr(text.data, ':', text.size);
	*rest = flow_slice_make(NULL, 0);
	if (colon == NULL)
		return text;
	*rest = flow_slice_make(colon + 1, text.size - (uint64_t)(colon - text.data) - 1);
	return flow_slice_make(text.data, (uint64_t)(colon - text.data));
}

static flow_status expand(regex_text *to, flow_slice pattern, uint32_t depth, flow_error *error);

/* What stands between %{ and }. */
static flow_status
expand_reference(regex_text *to, flow_slice reference, uint32_t depth, flow_error *error)
{
	flow_slice field, type;
	flow_slice name = split(reference, &field);
	field = split(field, &type);
	const flow_option_value *own =
		to->own == NULL ? NULL : flow_entries_find(to->own->entries, to->own->entry_count, name);
	const char *known = own == NULL ? regex_known_pattern(name) : NULL;
	if (own == NULL && known == NULL)
		return flow_fail(to->host, error, FLOW_E_CONFIG,
						 "regex: there is no pattern '%.*s'; option patterns can define it", (int)name.size, name.data);
	if (depth >= DEPTH_MAX)
		return flow_fail(to->host, error, FLOW_E_CONFIG, "regex: the pattern '%.*s' refers to itself", (int)name.size,
						 name.data);
	if (field.data != NULL && !is_name(field))
		return flow_fail(to->host, error, FLOW_E_CONFIG,
						 "regex: '%.*s' is no name of a field: letters, digits and '_' (at most %d)", (int)field.size,
						 field.data, REGEX_NAME_MAX);
	flow_status status = FLOW_OK;
	if (type.data != NULL)
		status = keep_type(to, field, type, error);
	if (status == FLOW_OK)
		status = field.data == NULL ? regex_append(to, "(?:", 3, error) : regex_append(to, "(?<", 3, error);
	if (status == FLOW_OK && field.data != NULL)
		status = regex_append(to, field.data, field.size, error);
	if (status == FLOW_OK && field.data != NULL)
		status = regex_append(to, ">", 1, error);
	if (status == FLOW_OK)
		status = expand(to, own != NULL ? own->text : flow_slice_of(known), depth + 1, error);
	return status == FLOW_OK ? regex_append(to, ")", 1, error) : status;
}

static flow_status
expand(regex_text *to, flow_slice pattern, uint32_t depth, flow_error *error)
{
	flow_status status = FLOW_OK;
	for (uint64_t at = 0; at < pattern.size && status == FLOW_OK;) {
		const char *c = pattern.data + at;
		uint64_t left = pattern.size - at;
		const char *close = left > 2 && c[0] == '%' && c[1] == '{' ? (const char *)memchr(c, '}', left) : NULL;
		if (close != NULL && ((c[2] >= 'A' && c[2] <= 'Z') || (c[2] >= 'a' && c[2] <= 'z') || c[2] == '_')) {
			status = expand_reference(to, flow_slice_make(c + 2, (uint64_t)(close - c) - 2), depth, error);
			at += (uint64_t)(close - c) + 1;
			continue;
		}
		uint64_t size = c[0] == '\\' && left > 1 ? 2 : 1; /* \% is no reference */
		status = regex_append(to, c, size, error);
		at += size;
	}
	return status;
}

flow_status
regex_expand(regex_text *to, flow_slice pattern, flow_error *error)
{
	return expand(to, pattern, 0, error);
}
