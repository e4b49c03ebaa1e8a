/* Decimals, unsigned numbers, uuids and times of another unit, from bytes. */
#include <stdio.h>

#include "avro_decode.h"
#include "flow_sdk/number.h"
#include "flow_sdk/text.h"

flow_status
avro_decode_run(avro_decoding *d, flow_slice *bytes)
{
	uint64_t raw;
	const char *at = d->input.at, *behind = avro_read_varint(at, &raw);
	if (behind == NULL || behind > d->input.end)
		return avro_decode_fail(d, FLOW_E_DECODE, at, "the data ends within a length, or it has more than 64 bits");
	if ((raw & 1) != 0)
		return avro_decode_fail(d, FLOW_E_DECODE, at, "a negative length");
	if (raw >> 1 > (uint64_t)(d->input.end - behind) || raw >> 1 > UINT32_MAX)
		return avro_decode_fail(d, FLOW_E_DECODE, at, "a length beyond the end of the data");
	*bytes = flow_slice_make(behind, raw >> 1);
	d->input.at = behind + bytes->size;
	return FLOW_OK;
}

static flow_status
take_decimal(avro_decoding *d, const avro_op *op, flow_slice bytes, int32_t scale, flow_value *value)
{
	flow_status status = flow_decimal_from_bytes(bytes, scale, d->builder, value);
	if (status == FLOW_E_MEMORY)
		return avro_decode_fail(d, status, bytes.data, "out of memory");
	if (status != FLOW_OK)
		return avro_decode_fail(d, status, bytes.data, "a decimal of more than 4096 digits");
	value->branch = op->cell.branch;
	return FLOW_OK;
}

flow_status
avro_decode_decimal(avro_decoding *d, const avro_op *op, flow_slice bytes, flow_value *value)
{
	flow_status status = take_decimal(d, op, bytes, op->number, value);
	if (status != FLOW_OK || value->as.decimal->count <= (uint64_t)op->cell.as.int64)
		return status;
	snprintf(d->reason, sizeof(d->reason), "a decimal of %u digits, where the schema says %lld",
			 value->as.decimal->count, (long long)op->cell.as.int64);
	return avro_decode_fail(d, FLOW_E_RANGE, bytes.data, d->reason);
}

flow_status
avro_decode_big_decimal(avro_decoding *d, const avro_op *op, flow_value *value)
{
	flow_slice whole, digits;
	flow_status status = avro_decode_run(d, &whole);
	if (status != FLOW_OK)
		return status;
	const char *behind = d->input.at, *end = d->input.end;
	uint64_t raw = 0;
	d->input.at = whole.data;
	d->input.end = behind;
	status = avro_decode_run(d, &digits);
	const char *at = status == FLOW_OK ? avro_read_varint(d->input.at, &raw) : NULL;
	d->input.at = behind;
	d->input.end = end;
	if (status != FLOW_OK)
		return status;
	int64_t scale = avro_unzigzag(raw);
	if (at != behind || scale > FLOW_DECIMAL_MAX_EXPONENT || scale < -FLOW_DECIMAL_MAX_EXPONENT)
		return avro_decode_fail(d, FLOW_E_DECODE, whole.data, "a big-decimal whose scale is not right");
	return take_decimal(d, op, digits, (int32_t)scale, value);
}

flow_status
avro_decode_uint64(avro_decoding *d, const avro_op *op, flow_value *value)
{
	flow_slice bytes;
	flow_status status = avro_decode_run(d, &bytes);
	if (status != FLOW_OK)
		return status;
	uint64_t number = 0, i = 0;
	int negative = bytes.size != 0 && (uint8_t)bytes.data[0] >= 0x80;
	while (i < bytes.size && bytes.data[i] == 0)
		i++;
	if (negative || bytes.size - i > 8)
		return avro_decode_fail(d, FLOW_E_RANGE, bytes.data, "a number outside of 0 to 2^64 - 1");
	for (; i < bytes.size; i++)
		number = number << 8 | (uint8_t)bytes.data[i];
	*value = op->cell;
	value->as.uint64 = number;
	return FLOW_OK;
}

flow_status
avro_decode_uuid(avro_decoding *d, const avro_op *op, flow_value *value)
{
	flow_slice text;
	flow_status status = avro_decode_run(d, &text);
	if (status != FLOW_OK)
		return status;
	char *bytes = (char *)flow_builder_alloc(d->builder, 16);
	if (bytes == NULL)
		return avro_decode_fail(d, FLOW_E_MEMORY, text.data, "out of memory");
	if (flow_parse_uuid(text, bytes) != FLOW_OK)
		return avro_decode_fail(d, FLOW_E_DECODE, text.data, "a text that is no uuid");
	*value = op->cell;
	value->as.text = bytes;
	value->size = 16;
	return FLOW_OK;
}

flow_status
avro_decode_scaled(avro_decoding *d, const avro_op *op, flow_value *value)
{
	uint64_t raw;
	const char *at = d->input.at, *behind = avro_read_varint(at, &raw);
	if (behind == NULL || behind > d->input.end)
		return avro_decode_fail(d, FLOW_E_DECODE, at, "the data ends within a number, or it has more than 64 bits");
	if (op->size != 0 && (raw > UINT32_MAX || behind - at > 5))
		return avro_decode_fail(d, FLOW_E_DECODE, at, "an int of more than 32 bits");
	*value = op->cell;
	if (__builtin_mul_overflow(avro_unzigzag(raw), (int64_t)op->number, &value->as.int64))
		return avro_decode_fail(d, FLOW_E_RANGE, at, "a time that the finer unit cannot hold");
	d->input.at = behind;
	return FLOW_OK;
}
