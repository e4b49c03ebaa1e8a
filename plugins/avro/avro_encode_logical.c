/* Decimals, unsigned numbers, uuids and times of another unit, as bytes. */
#include "avro_encode.h"
#include "avro_wire.h"
#include "flow_sdk/number.h"
#include "flow_sdk/text.h"

/* A length and the bytes. */
static flow_status
put_run(avro_output *output, const char *data, uint64_t size)
{
	if ((uint64_t)(output->limit - output->at) < size + AVRO_VARINT_MAX &&
		!avro_output_grow(output, size + AVRO_VARINT_MAX))
		return FLOW_E_MEMORY;
	output->at = avro_write_long(output->at, (int64_t)size);
	memcpy(output->at, data, size);
	output->at += size;
	return FLOW_OK;
}

/* The unscaled number, within the precision. */
static flow_status
unscaled(const avro_encode_op *op, const flow_value *value, char *bytes, uint64_t *size)
{
	const flow_decimal *decimal = value->as.decimal;
	int is_zero = decimal->count == 1 && decimal->digits[0] == '0';
	if (!is_zero && decimal->special == 0 && (int64_t)decimal->count + op->number - decimal->scale > (int64_t)op->size)
		return FLOW_E_RANGE;
	return flow_decimal_to_bytes(decimal, op->number, bytes, size);
}

static flow_status
put_decimal(avro_output *output, const avro_encode_op *op, const flow_value *value)
{
	char bytes[FLOW_DECIMAL_MAX_BYTES];
	uint64_t size;
	flow_status status = unscaled(op, value, bytes, &size);
	return status == FLOW_OK ? put_run(output, bytes, size) : status;
}

static flow_status
put_fixed_decimal(avro_output *output, const avro_encode_op *op, const flow_value *value)
{
	char bytes[FLOW_DECIMAL_MAX_BYTES];
	uint64_t size;
	flow_status status = unscaled(op, value, bytes, &size);
	if (status != FLOW_OK)
		return status;
	if (size > op->index)
		return FLOW_E_RANGE;
	if ((uint64_t)(output->limit - output->at) < op->index && !avro_output_grow(output, op->index))
		return FLOW_E_MEMORY;
	memset(output->at, (uint8_t)bytes[0] >= 0x80 ? 0xFF : 0, op->index - size);
	memcpy(output->at + (op->index - size), bytes, size);
	output->at += op->index;
	return FLOW_OK;
}

static flow_status
put_big_decimal(avro_output *output, const flow_value *value)
{
	char digits[FLOW_DECIMAL_MAX_BYTES], whole[FLOW_DECIMAL_MAX_BYTES + 2 * AVRO_VARINT_MAX];
	uint64_t size;
	flow_status status = flow_decimal_to_bytes(value->as.decimal, value->as.decimal->scale, digits, &size);
	if (status != FLOW_OK)
		return status;
	char *at = avro_write_long(whole, (int64_t)size);
	memcpy(at, digits, size);
	at = avro_write_long(at + size, value->as.decimal->scale);
	return put_run(output, whole, (uint64_t)(at - whole));
}

static flow_status
put_uint64(avro_output *output, const flow_value *value)
{
	char bytes[9] = { 0 };
	uint64_t number = value->as.uint64;
	for (int i = 8; i > 0; i--, number >>= 8)
		bytes[i] = (char)number;
	int first = 0;
	while (first < 8 && bytes[first] == 0 && (uint8_t)bytes[first + 1] < 0x80)
		first++;
	return put_run(output, bytes + first, (uint64_t)(9 - first));
}

/* A time in another unit, without loss. */
static flow_status
put_scaled(avro_output *output, const avro_encode_op *op, const flow_value *value)
{
	int64_t number = value->as.int64;
	if (op->number > 0 && __builtin_mul_overflow(number, (int64_t)op->number, &number))
		return FLOW_E_RANGE;
	if (op->number < 0) {
		if (number % -op->number != 0)
			return FLOW_E_RANGE;
		number /= -op->number;
	}
	if (op->code == AVRO_ENCODE_SCALED_INT && number != (int32_t)number)
		return FLOW_E_RANGE;
	if (output->limit - output->at < AVRO_VARINT_MAX && !avro_output_grow(output, AVRO_VARINT_MAX))
		return FLOW_E_MEMORY;
	output->at = avro_write_long(output->at, number);
	return FLOW_OK;
}

static flow_status
put_unsigned_long(avro_output *output, const flow_value *value)
{
	if (value->as.uint64 > INT64_MAX)
		return FLOW_E_RANGE;
	if (output->limit - output->at < AVRO_VARINT_MAX && !avro_output_grow(output, AVRO_VARINT_MAX))
		return FLOW_E_MEMORY;
	output->at = avro_write_long(output->at, value->as.int64);
	return FLOW_OK;
}

flow_status
avro_encode_logical(avro_output *output, const avro_encode_op *op, const flow_value *value)
{
	if (value->type != op->type)
		return FLOW_E_TYPE;
	char text[FLOW_UUID_TEXT];
	switch (op->code) {
	case AVRO_ENCODE_DECIMAL:
		return put_decimal(output, op, value);
	case AVRO_ENCODE_FIXED_DECIMAL:
		return put_fixed_decimal(output, op, value);
	case AVRO_ENCODE_BIG_DECIMAL:
		return put_big_decimal(output, value);
	case AVRO_ENCODE_UINT64:
		return put_uint64(output, value);
	case AVRO_ENCODE_UNSIGNED_LONG:
		return put_unsigned_long(output, value);
	case AVRO_ENCODE_SCALED_INT:
	case AVRO_ENCODE_SCALED_LONG:
		return put_scaled(output, op, value);
	default:
		flow_print_uuid(value->as.text, text);
		return put_run(output, text, sizeof(text));
	}
}
