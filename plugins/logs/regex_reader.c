/* Lines matched against the pattern: what its named groups took becomes the cells of a record. */
#include "flow_sdk/plugin.h"
#include "regex.h"

/* --- readers, one for each decoder ---------------------------------------------------------------------------------------- */

struct logs_reader {
	const logs_serde *serde;
	const regex_pattern *pattern;
	const uint8_t *wanted;
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
};

static void
regex_reader_close(logs_reader *r)
{
	if (r == NULL)
		return;
	pcre2_match_data_free(r->data);
	pcre2_match_context_free(r->context);
	pcre2_jit_stack_free(r->stack);
	r->serde->host->release(r);
}

static flow_status
regex_reader_open(const logs_serde *s, const uint8_t *wanted, logs_reader **reader)
{
	const regex_pattern *p = (const regex_pattern *)s->own;
	struct logs_reader *r = (struct logs_reader *)flow_new(s->host, sizeof(*r));
	if (r == NULL)
		return FLOW_E_MEMORY;
	r->serde = s;
	r->pattern = p;
	r->wanted = wanted;
	r->data = pcre2_match_data_create_from_pattern(p->code, p->memory);
	r->context = pcre2_match_context_create(p->memory);
	r->stack = pcre2_jit_stack_create(32u << 10, REGEX_JIT_STACK, p->memory);
	if (r->data == NULL || r->context == NULL) {
		regex_reader_close(r);
		return FLOW_E_MEMORY;
	}
	pcre2_set_match_limit(r->context, p->match_limit);
	if (r->stack != NULL) /* NULL too where there is no compiler: then the interpreter matches */
		pcre2_jit_stack_assign(r->context, NULL, r->stack);
	*reader = r;
	return FLOW_OK;
}

/* --- a line ------------------------------------------------------------------------------------------------------------- */

/* What the field's groups matched; data NULL: none of them did. */
static flow_slice
matched_text(const regex_field *field, const PCRE2_SIZE *offsets, const char *text)
{
	for (uint32_t i = 0; i < field->group_count; i++) {
		uint64_t group = i == 0 ? field->first_group : regex_group_of(field->entries[i]);
		PCRE2_SIZE from = offsets[2 * group], to = offsets[2 * group + 1];
		if (from != PCRE2_UNSET && from <= to)
			return flow_slice_make(text + from, to - from);
	}
	return flow_slice_make(NULL, 0);
}

static flow_status
take_field(const logs_reader *r, uint32_t index, flow_slice text, flow_builder *builder, flow_value *cell,
		   logs_fault *fault)
{
	const regex_field *field = &r->pattern->fields[index];
	*cell = flow_null();
	if (r->wanted != NULL && !r->wanted[index])
		return FLOW_OK;
	if (text.data == NULL)
		return flow_schema_nullable(field->schema)
				   ? FLOW_OK
				   : logs_refuse(fault, FLOW_E_DECODE, field->name, "a field that is needed is not in the line");
	if (field->time_format.data == NULL)
		return logs_take_cell(r->serde->host, field->schema, field->name, text, builder, cell, fault);
	flow_status status = logs_parse_time(field->schema, field->time_format, text, cell);
	if (status == FLOW_OK)
		return status;
	return logs_refuse(
		fault, status, field->name, "'%.*s' %s '%.*s'", (int)(text.size > 64 ? 64 : text.size), text.data,
		status == FLOW_E_RANGE ? "does not fit exactly into its type, read as" : "is no time of the form",
		(int)field->time_format.size, field->time_format.data);
}

/* A line that does not match: what the option says. */
static flow_status
take_unmatched(const logs_reader *r, flow_slice text, flow_value *cells, logs_fault *fault)
{
	const regex_pattern *p = r->pattern;
	if (p->unmatched == REGEX_UNMATCHED_ERROR)
		return logs_refuse(fault, FLOW_E_DECODE, flow_slice_make("", 0), "the line does not match the pattern");
	for (uint32_t i = 0; i < r->serde->schema->field_count; i++)
		cells[i] = flow_null();
	if (p->unmatched == REGEX_UNMATCHED_RAW)
		cells[p->field_count] = flow_string(text.data, (uint32_t)text.size);
	return FLOW_OK;
}

static flow_status
refuse_match(int result, logs_fault *fault)
{
	switch (result) {
	case PCRE2_ERROR_NOMEMORY:
		return FLOW_E_MEMORY;
	case PCRE2_ERROR_MATCHLIMIT:
	case PCRE2_ERROR_DEPTHLIMIT:
	case PCRE2_ERROR_HEAPLIMIT:
	case PCRE2_ERROR_JIT_STACKLIMIT:
		return logs_refuse(fault, FLOW_E_LIMIT, flow_slice_make("", 0),
						   "finding out whether the line matches takes too many steps (option match_limit)");
	default: {
		char text[128] = "";
		pcre2_get_error_message(result, (PCRE2_UCHAR *)text, sizeof(text));
		return logs_refuse(fault, FLOW_E_DECODE, flow_slice_make("", 0), "matching failed: %s", text);
	}
	}
}

static flow_status
regex_take(logs_reader *r, flow_slice text, flow_builder *builder, flow_value *value, logs_fault *fault)
{
	const regex_pattern *p = r->pattern;
	const char *subject = text.size == 0 ? "" : text.data;
	flow_value *cells = flow_builder_cells(builder, r->serde->schema->field_count);
	if (cells == NULL)
		return FLOW_E_MEMORY;
	*value = flow_record(cells, r->serde->schema->field_count);
	int result = pcre2_match(p->code, (PCRE2_SPTR)subject, text.size, 0, PCRE2_NO_UTF_CHECK, r->data, r->context);
	if (result == PCRE2_ERROR_NOMATCH)
		return take_unmatched(r, flow_slice_make(subject, text.size), cells, fault);
	if (result < 0)
		return refuse_match(result, fault);
	const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(r->data);
	for (uint32_t i = 0; i < p->field_count; i++) {
		flow_status status = take_field(r, i, matched_text(&p->fields[i], offsets, subject), builder, &cells[i], fault);
		if (status != FLOW_OK)
			return status;
	}
	if (p->unmatched == REGEX_UNMATCHED_RAW)
		cells[p->field_count] = flow_null();
	return FLOW_OK;
}

const logs_form regex_form = {
	.name = "regex",
	.reader_open = regex_reader_open,
	.reader_close = regex_reader_close,
	.take = regex_take,
	.close = regex_close,
};
