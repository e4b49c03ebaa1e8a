/* Encoding: runs a plan's operations over cells and appends bytes. */
#include <math.h>

#include "avro_encode.h"
#include "avro_wire.h"

int
avro_output_grow(avro_output *output, uint64_t more)
{
	flow_buffer *buffer = output->buffer;
	uint64_t used = (uint64_t)(output->at - buffer->data), before = buffer->size;
	buffer->size = used;
	char *at = flow_buffer_reserve(buffer, more);
	buffer->size = before;
	if (at == NULL)
		return 0;
	output->at = at;
	output->limit = buffer->data + buffer->capacity;
	return 1;
}

#define ROOM(bytes)                                                                                                    \
	if (__builtin_expect((uint64_t)(limit - at) < (uint64_t)(bytes), 0)) {                                             \
		output->at = at;                                                                                               \
		if (!avro_output_grow(output, (bytes)))                                                                        \
			return FLOW_E_MEMORY;                                                                                      \
		at = output->at;                                                                                               \
		limit = output->limit;                                                                                         \
	}

#define NEED_TYPE                                                                                                      \
	if (__builtin_expect(cell->type != op->type, 0))                                                                   \
		return FLOW_E_TYPE;

/* A whole number, or a double, as a double without loss. */
static flow_status
take_double(const flow_value *cell, double *number)
{
	if (cell->type == FLOW_FLOAT64) {
		*number = cell->as.float64;
		return FLOW_OK;
	}
	if (cell->type != FLOW_INT64)
		return FLOW_E_TYPE;
	*number = (double)cell->as.int64;
	int exact = *number < 9223372036854775808.0 && (int64_t)*number == cell->as.int64;
	return exact ? FLOW_OK : FLOW_E_RANGE;
}

static flow_status
put_items(avro_output *output, const avro_encode_op *op, const flow_value *value)
{
	int is_map = op->code == AVRO_ENCODE_MAP;
	uint64_t count = is_map ? value->as.map->count : value->as.list->count;
	for (uint64_t i = 0; i < count; i++) {
		char *at = output->at, *limit = output->limit;
		const flow_value *key = is_map ? &value->as.map->entries[i].key : NULL;
		uint64_t size = is_map ? key->size : 0;
		ROOM(size + 2 * (uint64_t)AVRO_VARINT_MAX)
		if (i == 0)
			at = avro_write_long(at, (int64_t)count);
		if (is_map) {
			at = avro_write_long(at, (int64_t)size);
			if (size != 0)
				memcpy(at, key->as.text, size);
			at += size;
		}
		output->at = at;
		const flow_value *item = is_map ? &value->as.map->entries[i].value : &value->as.list->items[i];
		flow_status status = avro_encode_run(output, op->as.program, item);
		if (status != FLOW_OK)
			return status;
	}
	char *at = output->at, *limit = output->limit;
	ROOM(1)
	*at++ = 0;
	output->at = at;
	return FLOW_OK;
}

static flow_status
put_nested(avro_output *output, const avro_encode_op *op, const flow_value *value)
{
	if (value->type != op->type || (op->code == AVRO_ENCODE_RECORD && value->size < op->size))
		return FLOW_E_TYPE;
	if (output->depth == output->depth_limit)
		return FLOW_E_LIMIT;
	output->depth++;
	flow_status status = op->code == AVRO_ENCODE_RECORD ? avro_encode_run(output, op->as.program, value->as.record)
														: put_items(output, op, value);
	output->depth--;
	return status;
}

static flow_status
put_union(avro_output *output, const avro_encode_op *op, const flow_value *value)
{
	char *at = output->at, *limit = output->limit;
	if (value->type == FLOW_NULL) {
		if (op->null_index == UINT32_MAX)
			return FLOW_E_TYPE;
		ROOM(AVRO_VARINT_MAX)
		output->at = avro_write_long(at, (int64_t)op->null_index);
		return FLOW_OK;
	}
	uint32_t branch = op->branch ? value->branch : 0;
	if (branch >= op->size)
		return FLOW_E_TYPE;
	return avro_encode_run(output, op->as.branches[branch], value);
}

/* What is not a plain number or text. */
static flow_status
put_other(avro_output *output, const avro_encode_op *op, const flow_value *value)
{
	switch (op->code) {
	case AVRO_ENCODE_RECORD:
	case AVRO_ENCODE_LIST:
	case AVRO_ENCODE_MAP:
		return put_nested(output, op, value);
	case AVRO_ENCODE_UNION:
		return put_union(output, op, value);
	default:
		return avro_encode_logical(output, op, value);
	}
}

flow_status
avro_encode_run(avro_output *output, const avro_encode_program *program, const flow_value *cells)
{
	char *at = output->at, *limit = output->limit;
	const uint64_t room = program->room;
	ROOM(room)
	for (const avro_encode_op *op = program->ops; op->code != AVRO_ENCODE_END; op++) {
		const flow_value *cell = &cells[op->slot];
		switch (op->code) {
		case AVRO_ENCODE_NULL:
			NEED_TYPE
			break;
		case AVRO_ENCODE_BOOLEAN:
			NEED_TYPE
			*at++ = cell->as.int64 != 0;
			break;
		case AVRO_ENCODE_INT:
			NEED_TYPE
			if (cell->as.int64 != (int32_t)cell->as.int64)
				return FLOW_E_RANGE;
			at = avro_write_long(at, cell->as.int64);
			break;
		case AVRO_ENCODE_LONG:
			NEED_TYPE
			at = avro_write_long(at, cell->as.int64);
			break;
		case AVRO_ENCODE_FLOAT: {
			double number;
			flow_status status = take_double(cell, &number);
			if (status != FLOW_OK)
				return status;
			float single = (float)number;
			if ((double)single != number && !isnan(number))
				return FLOW_E_RANGE;
			memcpy(at, &single, 4);
			at += 4;
			break;
		}
		case AVRO_ENCODE_DOUBLE: {
			double number;
			flow_status status = take_double(cell, &number);
			if (status != FLOW_OK)
				return status;
			memcpy(at, &number, 8);
			at += 8;
			break;
		}
		case AVRO_ENCODE_TEXT:
			NEED_TYPE
			ROOM(cell->size + room)
			at = avro_write_varint(at, (uint64_t)cell->size << 1);
			avro_copy(at, cell->as.text, cell->size);
			at += cell->size;
			break;
		case AVRO_ENCODE_FIXED:
			NEED_TYPE
			if (cell->size != op->size)
				return FLOW_E_RANGE;
			if (op->size != 0)
				memcpy(at, cell->as.text, op->size);
			at += op->size;
			break;
		case AVRO_ENCODE_ENUM: {
			NEED_TYPE
			int32_t index = avro_symbols_find(op->as.symbols, cell->as.text, cell->size);
			if (index < 0)
				return FLOW_E_RANGE;
			at = avro_write_long(at, index);
			break;
		}
		case AVRO_ENCODE_NULLABLE:
			if (cell->type == FLOW_NULL) {
				*at++ = (char)(op->null_index * 2);
				op++;
			} else {
				*at++ = (char)(op->index * 2);
			}
			break;
		case AVRO_ENCODE_BRANCH:
			at = avro_write_long(at, op->index);
			break;
		case AVRO_ENCODE_CONSTANT:
			if (op->as.bytes->size != 0)
				memcpy(at, op->as.bytes->data, op->as.bytes->size);
			at += op->as.bytes->size;
			break;
		default: {
			output->at = at;
			flow_status status = put_other(output, op, cell);
			if (status != FLOW_OK)
				return status;
			at = output->at;
			limit = output->limit;
			ROOM(room)
		}
		}
	}
	output->at = at;
	return FLOW_OK;
}

flow_status
avro_output_open(avro_output *output, flow_buffer *buffer, uint32_t depth_limit)
{
	*output = (avro_output){ .buffer = buffer, .depth_limit = depth_limit };
	if (flow_buffer_reserve(buffer, 1) == NULL)
		return FLOW_E_MEMORY;
	output->at = buffer->data + buffer->size;
	output->limit = buffer->data + buffer->capacity;
	return FLOW_OK;
}

flow_status
avro_encode_value(avro_output *output, const avro_encode_plan *plan, const flow_value *value)
{
	const avro_encode_op *first = plan->program.ops;
	int is_record = first->code == AVRO_ENCODE_RECORD && value->type == FLOW_RECORD && value->size >= first->size;
	return is_record ? avro_encode_run(output, first->as.program, value->as.record)
					 : avro_encode_run(output, &plan->program, value);
}
