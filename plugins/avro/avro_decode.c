/*
 * Decoding: runs a plan's operations over bytes and fills cells.
 *
 * Numbers are read without looking at the end first, which the padding allows; what was read beyond it is found right after.
 */
#include <stdio.h>

#include "avro_decode.h"
#include "avro_ops.h"
#include "avro_skip_plain.h"
#include "flow_sdk/text.h"

/* --- failures --------------------------------------------------------------------------------------------------------- */

flow_status
avro_decode_fail(avro_decoding *d, flow_status status, const char *at, const char *reason)
{
	d->input.status = status;
	d->input.reason = reason;
	d->fault_offset = (uint64_t)(at - d->input.start);
	return status;
}

void
avro_decode_path(avro_decoding *d, const char *text, uint64_t size)
{
	int point = d->path_size != 0 && d->path[0] != '[' && d->path[0] != '{';
	if (size + (uint64_t)point + d->path_size >= sizeof(d->path))
		return;
	memmove(d->path + size + (uint64_t)point, d->path, d->path_size);
	memcpy(d->path, text, size);
	if (point)
		d->path[size] = '.';
	d->path_size += (uint32_t)size + (uint32_t)point;
}

/* Why the varint at `at` was refused. */
static flow_status
bad_number(avro_decoding *d, const char *at, const char *behind)
{
	return avro_decode_fail(d, FLOW_E_DECODE, at,
							behind == NULL ? "a number of more than 64 bits" : "the data ends within a number");
}

static flow_status
unknown_symbol(avro_decoding *d, const avro_op *op, uint64_t index)
{
	flow_slice symbol = op->as.symbols->written[index];
	snprintf(d->reason, sizeof(d->reason), "the symbol '%.*s' is none of the reader's enum, which has no default",
			 (int)(symbol.size > 100 ? 100 : symbol.size), symbol.data);
	return avro_decode_fail(d, FLOW_E_DECODE, d->input.at, d->reason);
}

static flow_status
bad_text(avro_decoding *d, const char *text, uint64_t size)
{
	return avro_decode_fail(d, FLOW_E_DECODE, text + flow_utf8_check(text, size), "a string that is not valid UTF-8");
}

/* --- records ------------------------------------------------------------------------------------------------------------- */

static flow_status
decode_record(avro_decoding *d, const avro_op *op, flow_value *value)
{
	const avro_program *program = op->as.program;
	if (d->depth == d->depth_limit) {
		snprintf(d->reason, sizeof(d->reason), "nested deeper than depth_limit (%u)", d->depth_limit);
		return avro_decode_fail(d, FLOW_E_LIMIT, d->input.at, d->reason);
	}
	if (program->skip->least == 0 && ++d->empty_items > AVRO_EMPTY_ITEMS)
		return avro_decode_fail(d, FLOW_E_LIMIT, d->input.at, "more than 65536 items without bytes in one record");
	flow_value *cells = flow_builder_cells(d->builder, program->cell_count);
	if (cells == NULL)
		return avro_decode_fail(d, FLOW_E_MEMORY, d->input.at, "out of memory");
	if (program->sparse)
		memset(cells, 0, (uint64_t)program->cell_count * sizeof(*cells));
	d->depth++;
	flow_status status = avro_decode_program(d, program->ops, cells);
	d->depth--;
	*value = op->cell;
	value->as.record = cells;
	value->size = program->cell_count;
	return status;
}

static flow_status
decode_union(avro_decoding *d, const avro_op *op, flow_value *value)
{
	uint64_t raw;
	const char *at = avro_read_varint(d->input.at, &raw);
	if (at == NULL || at > d->input.end)
		return bad_number(d, d->input.at, at);
	if ((raw & 1) != 0 || raw >> 1 >= op->size)
		return avro_decode_fail(d, FLOW_E_DECODE, d->input.at, "a branch that the union does not have");
	d->input.at = at;
	return avro_decode_program(d, op->as.branches[raw >> 1]->ops, value);
}

/* What is not a plain number or text. */
static flow_status
decode_other(avro_decoding *d, const avro_op *op, flow_value *value)
{
	flow_slice bytes;
	switch (op->code) {
	case AVRO_OP_SCALED:
		return avro_decode_scaled(d, op, value);
	case AVRO_OP_DECIMAL: {
		flow_status status = avro_decode_run(d, &bytes);
		return status == FLOW_OK ? avro_decode_decimal(d, op, bytes, value) : status;
	}
	case AVRO_OP_FIXED_DECIMAL:
		if (op->size > (uint64_t)(d->input.end - d->input.at))
			return avro_decode_fail(d, FLOW_E_DECODE, d->input.at, "the data ends within a fixed");
		bytes = flow_slice_make(d->input.at, op->size);
		d->input.at += op->size;
		return avro_decode_decimal(d, op, bytes, value);
	case AVRO_OP_BIG_DECIMAL:
		return avro_decode_big_decimal(d, op, value);
	case AVRO_OP_UINT64:
		return avro_decode_uint64(d, op, value);
	case AVRO_OP_UUID_TEXT:
		return avro_decode_uuid(d, op, value);
	case AVRO_OP_RECORD:
		return decode_record(d, op, value);
	case AVRO_OP_LIST:
		return avro_decode_list(d, op, value);
	case AVRO_OP_MAP:
		return avro_decode_map(d, op, value);
	case AVRO_OP_UNION:
		return decode_union(d, op, value);
	default:
		return avro_decode_fail(d, FLOW_E_TYPE, d->input.at, op->as.reason);
	}
}

/* --- the operations --------------------------------------------------------------------------------------------------------- */

#define READ_VARINT(raw)                                                                                               \
	const char *behind = avro_read_varint(at, &(raw));                                                                 \
	if (__builtin_expect(behind == NULL || behind > end, 0)) {                                                         \
		status = bad_number(d, at, behind);                                                                            \
		break;                                                                                                         \
	}

#define READ_NUMBER(raw)                                                                                               \
	const char *behind = avro_read_number(at, &(raw));                                                                 \
	if (__builtin_expect(behind == NULL || behind > end, 0)) {                                                         \
		status = bad_number(d, at, behind);                                                                            \
		break;                                                                                                         \
	}

#define READ_INT(number)                                                                                               \
	READ_NUMBER(raw)                                                                                                   \
	if (__builtin_expect(raw > UINT32_MAX || behind - at > 5, 0)) {                                                    \
		status = avro_decode_fail(d, FLOW_E_DECODE, at, "an int of more than 32 bits");                                \
		break;                                                                                                         \
	}                                                                                                                  \
	int64_t number = avro_unzigzag(raw);

#define NEED(bytes, what)                                                                                              \
	if (__builtin_expect((uint64_t)(end - at) < (bytes), 0)) {                                                         \
		status = avro_decode_fail(d, FLOW_E_DECODE, at, "the data ends within a " what);                               \
		break;                                                                                                         \
	}

flow_status
avro_decode_program(avro_decoding *d, const avro_op *op, flow_value *cells)
{
	const char *at = d->input.at;
	const char *const end = d->input.end;
	flow_status status = FLOW_OK;
	uint64_t raw;
	for (; op->code != AVRO_OP_END; op++) {
		flow_value *cell = &cells[op->slot];
		switch (op->code) {
		case AVRO_OP_NULL:
			*cell = flow_null();
			continue;
		case AVRO_OP_BOOLEAN:
			NEED(1u, "boolean")
			if ((uint8_t)*at > 1) {
				status = avro_decode_fail(d, FLOW_E_DECODE, at, "a boolean that is neither 0 nor 1");
				break;
			}
			*cell = op->cell;
			cell->as.int64 = (uint8_t)*at++;
			continue;
		case AVRO_OP_INT: {
			READ_INT(number)
			*cell = op->cell;
			cell->as.int64 = number;
			at = behind;
			continue;
		}
		case AVRO_OP_LONG: {
			READ_NUMBER(raw)
			*cell = op->cell;
			cell->as.int64 = avro_unzigzag(raw);
			at = behind;
			continue;
		}
		case AVRO_OP_INT_AS_DOUBLE:
		case AVRO_OP_INT_AS_FLOAT: {
			READ_INT(number)
			*cell = op->cell;
			cell->as.float64 = op->code == AVRO_OP_INT_AS_FLOAT ? (double)(float)number : (double)number;
			at = behind;
			continue;
		}
		case AVRO_OP_LONG_AS_DOUBLE:
		case AVRO_OP_LONG_AS_FLOAT: {
			READ_VARINT(raw)
			int64_t number = avro_unzigzag(raw);
			*cell = op->cell;
			cell->as.float64 = op->code == AVRO_OP_LONG_AS_FLOAT ? (double)(float)number : (double)number;
			at = behind;
			continue;
		}
		case AVRO_OP_FLOAT: {
			NEED(4u, "float")
			float number;
			memcpy(&number, at, 4);
			*cell = op->cell;
			cell->as.float64 = (double)number;
			at += 4;
			continue;
		}
		case AVRO_OP_DOUBLE:
			NEED(8u, "double")
			*cell = op->cell;
			memcpy(&cell->as.float64, at, 8);
			at += 8;
			continue;
		case AVRO_OP_STRING:
		case AVRO_OP_BYTES: {
			READ_VARINT(raw)
			uint64_t size = raw >> 1;
			if (__builtin_expect((raw & 1) != 0 || size > (uint64_t)(end - behind) || size > UINT32_MAX, 0)) {
				status = avro_decode_fail(d, FLOW_E_DECODE, at,
										  (raw & 1) != 0 ? "a negative length" : "a length beyond the end of the data");
				break;
			}
			if (op->code == AVRO_OP_STRING && !avro_is_ascii(behind, size) && flow_utf8_check(behind, size) != size) {
				status = bad_text(d, behind, size);
				break;
			}
			*cell = op->cell;
			cell->as.text = behind;
			cell->size = (uint32_t)size;
			at = behind + size;
			continue;
		}
		case AVRO_OP_FIXED:
		case AVRO_OP_UUID_FIXED:
			NEED(op->size, "fixed")
			*cell = op->cell;
			cell->as.text = at;
			cell->size = op->size;
			at += op->size;
			continue;
		case AVRO_OP_ENUM: {
			READ_VARINT(raw)
			if ((raw & 1) != 0 || raw >> 1 >= op->size) {
				status = avro_decode_fail(d, FLOW_E_DECODE, at, "an index that the enum does not have");
				break;
			}
			const flow_value *symbol = &op->as.symbols->cells[raw >> 1];
			if (symbol->type == FLOW_NULL) {
				d->input.at = at;
				status = unknown_symbol(d, op, raw >> 1);
				break;
			}
			*cell = *symbol;
			cell->branch = op->cell.branch;
			at = behind;
			continue;
		}
		case AVRO_OP_NULLABLE: {
			READ_VARINT(raw)
			if (__builtin_expect(raw != 0 && raw != 2, 0)) {
				status = avro_decode_fail(d, FLOW_E_DECODE, at, "a branch that the union does not have");
				break;
			}
			at = behind;
			if (raw >> 1 != op->null_index)
				continue; /* the value's operation comes next */
			*cell = flow_null();
			op++;
			continue;
		}
		case AVRO_OP_SKIP:
			if (__builtin_expect(op->as.skip->plain, 1)) {
				const char *behind = avro_skip_all(op->as.skip, at, end);
				if (__builtin_expect(behind != NULL, 1)) {
					at = behind;
					continue;
				}
			}
			d->input.at = at;
			status = avro_skip_value(&d->input, op->as.skip);
			at = d->input.at;
			if (__builtin_expect(status == FLOW_OK, 1))
				continue;
			avro_decode_fail(d, status, at, d->input.reason);
			break;
		case AVRO_OP_CONSTANT:
			*cell = *op->as.value;
			continue;
		default:
			d->input.at = at;
			status = decode_other(d, op, cell);
			at = d->input.at;
		}
		if (__builtin_expect(status != FLOW_OK, 0)) {
			if (op->name != NULL)
				avro_decode_path(d, op->name->data, op->name->size);
			return status;
		}
	}
	d->input.at = at;
	return FLOW_OK;
}

flow_status
avro_decode_value(avro_decoding *d, const avro_plan *plan, flow_value *value)
{
	d->depth = 0;
	d->empty_items = 0;
	d->path_size = 0;
	const avro_op *first = plan->program.ops;
	if (first->code != AVRO_OP_RECORD)
		return avro_decode_program(d, first, value);
	return decode_record(d, first, value);
}
