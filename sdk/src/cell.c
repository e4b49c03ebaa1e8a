/* Cells from and to plain text (flow_sdk/cell.h). */
#include <float.h>
#include <math.h>
#include <strings.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/number.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"
#include "flow_sdk/time.h"

static flow_status
parse_bool(flow_slice text, flow_value *value)
{
	if (text.size == 4 && strncasecmp(text.data, "true", 4) == 0)
		*value = flow_bool(1);
	else if (text.size == 5 && strncasecmp(text.data, "false", 5) == 0)
		*value = flow_bool(0);
	else
		return FLOW_E_DECODE;
	return FLOW_OK;
}

static flow_status
parse_integer(const flow_schema *schema, flow_slice text, flow_value *value)
{
	if (text.size > 1 && text.data[0] == '+' && text.data[1] != '-')
		text = flow_slice_make(text.data + 1, text.size - 1);
	if (schema->kind == FLOW_KIND_UINT64) {
		uint64_t number;
		flow_status status = flow_parse_uint64(text, &number);
		*value = flow_uint64(number);
		return status;
	}
	int64_t number;
	flow_status status = flow_parse_int64(text, &number);
	if (status == FLOW_OK && schema->kind == FLOW_KIND_INT32 && (number < INT32_MIN || number > INT32_MAX))
		return FLOW_E_RANGE;
	*value = flow_int64(number);
	return status;
}

static flow_status
parse_float(const flow_schema *schema, flow_slice text, flow_value *value)
{
	double number;
	flow_status status = flow_parse_float64(text, 1, &number);
	if (status == FLOW_OK && schema->kind == FLOW_KIND_FLOAT32) {
		if (isfinite(number) && fabs(number) > (double)FLT_MAX)
			return FLOW_E_RANGE;
		number = (double)(float)number;
	}
	*value = flow_float64(number);
	return status;
}

static flow_status
parse_enum(const flow_schema *schema, flow_slice text, flow_value *value)
{
	for (uint32_t i = 0; i < schema->symbol_count; i++) {
		if (flow_slice_equal(schema->symbols[i], text)) {
			*value = flow_string(text.data, (uint32_t)text.size);
			return FLOW_OK;
		}
	}
	return FLOW_E_DECODE;
}

static flow_status
parse_uuid(flow_slice text, flow_builder *memory, flow_value *value)
{
	char bytes[16];
	flow_status status = flow_parse_uuid(text, bytes);
	if (status != FLOW_OK)
		return status;
	const char *copy = flow_builder_copy(memory, bytes, sizeof(bytes));
	*value = flow_text(FLOW_UUID, copy, sizeof(bytes));
	return copy == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

static flow_status
parse_decimal(const flow_schema *schema, flow_slice text, flow_builder *memory, flow_value *value)
{
	flow_status status = flow_parse_decimal(text, memory, value);
	return status == FLOW_OK ? flow_fit_decimal(schema, memory, value) : status;
}

flow_status
flow_parse_cell(const flow_schema *schema, flow_slice text, flow_builder *memory, flow_value *value)
{
	if (text.size > UINT32_MAX)
		return FLOW_E_RANGE;
	switch (schema->kind) {
	case FLOW_KIND_BOOL:
		return parse_bool(text, value);
	case FLOW_KIND_INT32:
	case FLOW_KIND_INT64:
	case FLOW_KIND_UINT64:
		return parse_integer(schema, text, value);
	case FLOW_KIND_FLOAT32:
	case FLOW_KIND_FLOAT64:
		return parse_float(schema, text, value);
	case FLOW_KIND_DECIMAL:
		return parse_decimal(schema, text, memory, value);
	case FLOW_KIND_ANY:
	case FLOW_KIND_STRING:
		*value = flow_string(text.data, (uint32_t)text.size);
		return flow_utf8_check(text.data, text.size) == text.size ? FLOW_OK : FLOW_E_DECODE;
	case FLOW_KIND_BYTES:
		*value = flow_bytes(text.data, (uint32_t)text.size);
		return FLOW_OK;
	case FLOW_KIND_FIXED:
		*value = flow_bytes(text.data, (uint32_t)text.size);
		return text.size == schema->fixed_size ? FLOW_OK : FLOW_E_RANGE;
	case FLOW_KIND_ENUM:
		return parse_enum(schema, text, value);
	case FLOW_KIND_DATE:
		return flow_parse_date(text, value);
	case FLOW_KIND_TIME:
		return flow_parse_time(text, schema->unit, value);
	case FLOW_KIND_TIMESTAMP:
		return flow_parse_timestamp(text, schema->unit, (schema->flags & FLOW_SCHEMA_ZONED) != 0, value);
	case FLOW_KIND_UUID:
		return parse_uuid(text, memory, value);
	default:
		return FLOW_E_UNSUPPORTED;
	}
}

uint64_t
flow_cell_text_bound(const flow_value *value)
{
	switch (value->type) {
	case FLOW_BOOL:
		return 5;
	case FLOW_INT64:
	case FLOW_UINT64:
	case FLOW_FLOAT64:
		return FLOW_NUMBER_TEXT_MAX;
	case FLOW_DECIMAL:
		return (uint64_t)value->as.decimal->count + 64;
	case FLOW_STRING:
	case FLOW_BYTES:
		return (uint64_t)value->size + 1; /* never 0 */
	case FLOW_DATE:
	case FLOW_TIME:
	case FLOW_TIMESTAMP:
		return FLOW_TIME_TEXT_MAX;
	case FLOW_UUID:
		return FLOW_UUID_TEXT;
	default:
		return 0;
	}
}

static uint64_t
put(char *buffer, const char *text, uint64_t size)
{
	if (size != 0)
		memcpy(buffer, text, size);
	return size;
}

uint64_t
flow_print_cell(const flow_value *value, char *buffer)
{
	switch (value->type) {
	case FLOW_BOOL:
		return value->as.int64 != 0 ? put(buffer, "true", 4) : put(buffer, "false", 5);
	case FLOW_INT64:
		return flow_print_int64(value->as.int64, buffer);
	case FLOW_UINT64:
		return flow_print_uint64(value->as.uint64, buffer);
	case FLOW_FLOAT64:
		return flow_print_float64(value->as.float64, buffer);
	case FLOW_DECIMAL:
		return flow_print_decimal(value->as.decimal, buffer);
	case FLOW_STRING:
	case FLOW_BYTES:
		return put(buffer, value->as.text, value->size);
	case FLOW_DATE:
	case FLOW_TIME:
	case FLOW_TIMESTAMP:
		return flow_print_time(value, buffer);
	case FLOW_UUID:
		flow_print_uuid(value->as.text, buffer);
		return FLOW_UUID_TEXT;
	default:
		return 0;
	}
}

/* A copy of `decimal` with `zeros` zeros behind its digits (zeros < 0: that many taken away, which must be zeros). */
static flow_status
shift_decimal(const flow_decimal *decimal, int64_t zeros, flow_builder *memory, flow_value *value)
{
	int64_t count = (int64_t)decimal->count + zeros;
	flow_decimal *shifted = (flow_decimal *)flow_builder_alloc(memory, sizeof(*shifted));
	char *digits = (char *)flow_builder_alloc(memory, count > 0 ? (uint64_t)count : 1);
	if (shifted == NULL || digits == NULL)
		return FLOW_E_MEMORY;
	uint64_t kept = zeros < 0 ? (uint64_t)count : decimal->count;
	memcpy(digits, decimal->digits, kept);
	if (zeros > 0)
		memset(digits + kept, '0', (uint64_t)zeros);
	*shifted = *decimal;
	shifted->digits = digits;
	shifted->count = (uint32_t)count;
	shifted->scale = (int32_t)(decimal->scale + zeros);
	value->as.decimal = shifted;
	return FLOW_OK;
}

static int
ends_in_zeros(const flow_decimal *decimal, int64_t zeros)
{
	if (zeros >= decimal->count)
		return 0;
	for (int64_t i = 0; i < zeros; i++)
		if (decimal->digits[decimal->count - 1 - i] != '0')
			return 0;
	return 1;
}

flow_status
flow_fit_decimal(const flow_schema *schema, flow_builder *memory, flow_value *value)
{
	const flow_decimal *decimal = value->as.decimal;
	if (schema->precision == 0)
		return FLOW_OK;
	if (decimal->special != 0)
		return FLOW_E_RANGE;
	int64_t zeros = (int64_t)schema->scale - decimal->scale;
	int zero = decimal->count == 1 && decimal->digits[0] == '0';
	if (zeros != 0 && zero) {
		flow_status status = shift_decimal(decimal, 0, memory, value);
		if (status == FLOW_OK)
			((flow_decimal *)value->as.decimal)->scale = schema->scale;
		return status;
	}
	int64_t count = (int64_t)decimal->count + zeros;
	if (!zero && count > schema->precision)
		return FLOW_E_RANGE;
	if (zeros == 0)
		return FLOW_OK;
	if (zeros < 0 && !ends_in_zeros(decimal, -zeros))
		return FLOW_E_RANGE;
	return shift_decimal(decimal, zeros, memory, value);
}
