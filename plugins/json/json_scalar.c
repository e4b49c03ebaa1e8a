/* Numbers, strings and truth values of JSON into cells of a declared type: exactly, or not at all. */
#include <float.h>
#include <math.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/number.h"
#include "flow_sdk/text.h"
#include "json.h"

static flow_slice
number_text(const json_number *number)
{
	return flow_slice_make(number->text, number->size);
}

static flow_status
take_decimal(const json_number *number, flow_builder *memory, flow_value *value)
{
	return flow_parse_decimal(number_text(number), memory, value);
}

/* 1.0 and 1e2 are integers too; a decimal tells. */
static flow_status
integer_text(const json_number *number, flow_builder *memory, char *buffer, flow_slice *text)
{
	*text = number_text(number);
	if (number->is_integer)
		return FLOW_OK;
	flow_value value;
	flow_status status = take_decimal(number, memory, &value);
	if (status != FLOW_OK)
		return status;
	const flow_decimal *decimal = value.as.decimal;
	if (decimal->count == 1 && decimal->digits[0] == '0') {
		*text = flow_slice_of("0");
		return FLOW_OK;
	}
	int64_t count = (int64_t)decimal->count - decimal->scale;
	if (count < 1 || count > 20)
		return FLOW_E_RANGE;
	char *to = buffer;
	if (decimal->negative)
		*to++ = '-';
	for (int64_t i = 0; i < count || i < decimal->count; i++) {
		char digit = i < decimal->count ? decimal->digits[i] : '0';
		if (i < count)
			*to++ = digit;
		else if (digit != '0')
			return FLOW_E_RANGE; /* a fraction */
	}
	*text = flow_slice_make(buffer, (uint64_t)(to - buffer));
	return FLOW_OK;
}

static flow_status
take_int64(const json_node *node, const json_number *number, flow_builder *memory, flow_value *value)
{
	int64_t result;
	if (number->exact) {
		result = number->negative ? -(int64_t)number->magnitude : (int64_t)number->magnitude;
	} else {
		char buffer[32];
		flow_slice text;
		flow_status status = integer_text(number, memory, buffer, &text);
		if (status == FLOW_OK)
			status = flow_parse_int64(text, &result);
		if (status != FLOW_OK)
			return status;
	}
	if ((node->kind == FLOW_KIND_INT32 || node->kind == FLOW_KIND_DATE) && (result < INT32_MIN || result > INT32_MAX))
		return FLOW_E_RANGE;
	*value = flow_int64(result);
	return FLOW_OK;
}

static flow_status
take_uint64(const json_number *number, flow_builder *memory, flow_value *value)
{
	char buffer[32];
	flow_slice text;
	uint64_t result;
	flow_status status = integer_text(number, memory, buffer, &text);
	if (status == FLOW_OK && text.data[0] == '-') {
		if (text.size != 2 || text.data[1] != '0')
			return FLOW_E_RANGE;
		text = flow_slice_of("0");
	}
	if (status == FLOW_OK)
		status = flow_parse_uint64(text, &result);
	if (status == FLOW_OK)
		*value = flow_uint64(result);
	return status;
}

static flow_status
take_float(const json_node *node, const json_number *number, flow_value *value)
{
	double result;
	flow_status status = flow_parse_float64(number_text(number), 0, &result);
	if (status != FLOW_OK)
		return status;
	if (node->kind == FLOW_KIND_FLOAT32) {
		if (fabs(result) > (double)FLT_MAX)
			return FLOW_E_RANGE;
		result = (double)(float)result;
	}
	*value = flow_float64(result);
	return FLOW_OK;
}

/* Untyped: integers are int64, then uint64, everything else is a decimal, which keeps its digits. */
static flow_status
take_any(const json_number *number, flow_builder *memory, flow_value *value)
{
	int minus_zero = number->negative && number->is_integer && number->size == 2 && number->text[1] == '0';
	if (number->exact && !minus_zero) {
		*value = flow_int64(number->negative ? -(int64_t)number->magnitude : (int64_t)number->magnitude);
		return FLOW_OK;
	}
	if (number->is_integer && !minus_zero) {
		int64_t narrow;
		uint64_t wide;
		if (flow_parse_int64(number_text(number), &narrow) == FLOW_OK) {
			*value = flow_int64(narrow);
			return FLOW_OK;
		}
		if (!number->negative && flow_parse_uint64(number_text(number), &wide) == FLOW_OK) {
			*value = flow_uint64(wide);
			return FLOW_OK;
		}
	}
	return take_decimal(number, memory, value);
}

/* The first branch that takes it. */
#define TRY_BRANCHES(call)                                                                                             \
	do {                                                                                                               \
		flow_status status = FLOW_E_TYPE;                                                                              \
		for (uint32_t i = 0; i < node->branch_count; i++) {                                                            \
			const json_node *branch = node->branches[i];                                                               \
			flow_status tried = call;                                                                                  \
			if (tried == FLOW_OK) {                                                                                    \
				value->branch = (uint8_t)i;                                                                            \
				return FLOW_OK;                                                                                        \
			}                                                                                                          \
			if (status == FLOW_E_TYPE)                                                                                 \
				status = tried;                                                                                        \
		}                                                                                                              \
		return status;                                                                                                 \
	} while (0)

/* Avro's JSON encoding: days, or the units of the type. */
static flow_status
take_avro_time(const json_node *node, const json_number *number, flow_builder *memory, flow_value *value)
{
	flow_value integer;
	if (!node->avro)
		return FLOW_E_TYPE;
	flow_status status = take_int64(node, number, memory, &integer);
	if (status != FLOW_OK)
		return status;
	if (node->kind == FLOW_KIND_TIMESTAMP) {
		*value = flow_timestamp(integer.as.int64, node->schema->unit,
								(node->schema->flags & FLOW_SCHEMA_ZONED) != 0 ? FLOW_ZONED : 0);
		return FLOW_OK;
	}
	*value = flow_cell(node->kind == FLOW_KIND_DATE ? FLOW_DATE : FLOW_TIME, integer.as.int64);
	value->unit = node->kind == FLOW_KIND_DATE ? 0 : node->schema->unit;
	return FLOW_OK;
}

flow_status
json_take_number(const json_node *node, const json_number *number, flow_builder *memory, flow_value *value)
{
	switch (node->kind) {
	case FLOW_KIND_ANY:
		return take_any(number, memory, value);
	case FLOW_KIND_INT32:
	case FLOW_KIND_INT64:
		return take_int64(node, number, memory, value);
	case FLOW_KIND_UINT64:
		return node->avro ? FLOW_E_TYPE : take_uint64(number, memory, value);
	case FLOW_KIND_DATE:
	case FLOW_KIND_TIME:
	case FLOW_KIND_TIMESTAMP:
		return take_avro_time(node, number, memory, value);
	case FLOW_KIND_FLOAT32:
	case FLOW_KIND_FLOAT64:
		return take_float(node, number, value);
	case FLOW_KIND_DECIMAL: {
		if (node->avro)
			return FLOW_E_TYPE;
		flow_status status = take_decimal(number, memory, value);
		return status == FLOW_OK ? flow_fit_decimal(node->schema, memory, value) : status;
	}
	case FLOW_KIND_UNION:
		TRY_BRANCHES(json_take_number(branch, number, memory, value));
	default:
		return FLOW_E_TYPE;
	}
}

/* A float that JSON has no number for. */
static flow_status
take_special(flow_slice text, flow_value *value)
{
	if (flow_slice_is(text, "NaN"))
		*value = flow_float64(NAN);
	else if (flow_slice_is(text, "Infinity"))
		*value = flow_float64(INFINITY);
	else if (flow_slice_is(text, "-Infinity"))
		*value = flow_float64(-INFINITY);
	else
		return FLOW_E_TYPE;
	return FLOW_OK;
}

static flow_status
take_bytes(const json_node *node, flow_slice text, flow_builder *memory, flow_value *value)
{
	char *bytes = (char *)flow_builder_alloc(memory, text.size / 4 * 3 + 1);
	uint64_t size = 0;
	if (bytes == NULL)
		return FLOW_E_MEMORY;
	if (flow_parse_base64(text, bytes, &size) != FLOW_OK)
		return FLOW_E_DECODE;
	if (node->kind == FLOW_KIND_FIXED && size != node->schema->fixed_size)
		return FLOW_E_RANGE;
	*value = flow_bytes(bytes, (uint32_t)size);
	return FLOW_OK;
}

flow_status
json_take_string(const json_node *node, flow_slice text, flow_builder *memory, flow_value *value)
{
	if (node->avro) {
		flow_status status = json_avro_string(node, text, memory, value);
		if (status != FLOW_AGAIN)
			return status;
	}
	switch (node->kind) {
	case FLOW_KIND_ANY:
	case FLOW_KIND_STRING: /* the parser has checked the UTF-8 */
		*value = flow_string(text.data, (uint32_t)text.size);
		return FLOW_OK;
	case FLOW_KIND_BYTES:
	case FLOW_KIND_FIXED:
		return take_bytes(node, text, memory, value);
	case FLOW_KIND_FLOAT32:
	case FLOW_KIND_FLOAT64:
		return take_special(text, value);
	case FLOW_KIND_ENUM:
	case FLOW_KIND_DATE:
	case FLOW_KIND_TIME:
	case FLOW_KIND_TIMESTAMP:
	case FLOW_KIND_UUID:
	case FLOW_KIND_DECIMAL: /* as decimals = "string" writes them */
		return flow_parse_cell(node->schema, text, memory, value);
	case FLOW_KIND_UNION:
		TRY_BRANCHES(json_take_string(branch, text, memory, value));
	default:
		return FLOW_E_TYPE;
	}
}

flow_status
json_take_bool(const json_node *node, int truth, flow_value *value)
{
	if (node->kind == FLOW_KIND_BOOL || node->kind == FLOW_KIND_ANY) {
		*value = flow_bool(truth);
		return FLOW_OK;
	}
	if (node->kind == FLOW_KIND_UNION)
		TRY_BRANCHES(json_take_bool(branch, truth, value));
	return FLOW_E_TYPE;
}
