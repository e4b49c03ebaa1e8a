/* Records into messages, which libprotobuf writes. */
#include <math.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/number.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"
#include "protobuf_serde.h"

#define TEXT_MAX (FLOW_DECIMAL_MAX_DIGITS + 64) /* of a value without a type */
#define LENGTH_MAX 10

struct flow_encoder {
	const proto_serde *serde;
	const flow_schema *schema;
	proto_plan *plan;
	proto_message *message;
	const char *reason; /* why the last record was refused */
	flow_slice field;
	char text[TEXT_MAX];
};

flow_status
proto_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error)
{
	const proto_serde *s = (const proto_serde *)serde;
	proto_plan *plan = proto_plan_create(s, schema, error);
	if (plan == NULL)
		return error != NULL && s->host->errors->status(error) < 0 ? s->host->errors->status(error) : FLOW_E_TYPE;
	proto_plan_release(s->host, plan);
	return FLOW_OK;
}

flow_status
proto_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error)
{
	const proto_serde *s = (const proto_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	struct flow_encoder *e = (struct flow_encoder *)flow_new(s->host, sizeof(*e));
	if (e == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	e->serde = s;
	e->schema = schemas->retain(schema);
	flow_status status = proto_check_encodable(serde, schema, error);
	if (status == FLOW_OK) {
		e->plan = proto_plan_create(s, schema, error);
		e->message = proto_message_new(s->set, s->type);
		if (e->plan == NULL || e->message == NULL)
			status = flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	}
	if (status != FLOW_OK) {
		proto_encoder_close(e);
		return status;
	}
	*encoder = e;
	return FLOW_OK;
}

void
proto_encoder_close(flow_encoder *e)
{
	const flow_host *host = e->serde->host;
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	proto_plan_release(host, e->plan);
	proto_message_free(e->message);
	schemas->release(e->schema);
	host->release(e);
}

/* --- single values ------------------------------------------------------------------------------------------------------- */

static flow_status
refuse(flow_encoder *e, flow_status status, const proto_slot *slot, const char *reason)
{
	e->reason = reason;
	e->field = proto_slice(slot->field.name);
	return status;
}

static flow_status
is_put(flow_encoder *e, const proto_slot *slot, int result)
{
	if (result == PROTO_OK)
		return FLOW_OK;
	return result == PROTO_NO_MEMORY ? FLOW_E_MEMORY : refuse(e, FLOW_E_ENCODE, slot, "libprotobuf does not take it");
}

static flow_status
to_integer(flow_encoder *e, const proto_slot *slot, const proto_field *to, const flow_value *cell, proto_value *value)
{
	int is_signed = to->kind == PROTO_INT32 || to->kind == PROTO_INT64;
	uint64_t number = cell->as.uint64;
	int negative = cell->type == FLOW_INT64 && cell->as.int64 < 0;
	uint64_t most = to->kind == PROTO_INT32    ? INT32_MAX
					: to->kind == PROTO_INT64  ? INT64_MAX
					: to->kind == PROTO_UINT32 ? UINT32_MAX
											   : UINT64_MAX;
	if (cell->type != FLOW_INT64 && cell->type != FLOW_UINT64)
		return refuse(e, FLOW_E_ENCODE, slot, "a value of another type than its schema says");
	if (negative ? !is_signed || (to->kind == PROTO_INT32 && cell->as.int64 < INT32_MIN) : number > most)
		return refuse(e, FLOW_E_RANGE, slot, "a number that does not fit");
	value->uint64 = number; /* the same bits for int64 */
	return FLOW_OK;
}

static flow_status
to_enum(flow_encoder *e, const proto_slot *slot, const flow_value *cell, proto_value *value)
{
	if (cell->type == FLOW_STRING)
		return proto_number_of(slot, flow_value_slice(cell), &value->int64)
				   ? FLOW_OK
				   : refuse(e, FLOW_E_RANGE, slot, "a text that is no symbol of the enum");
	if (cell->type == FLOW_INT64 && cell->as.int64 == (int32_t)cell->as.int64 &&
		(slot->value.open || proto_symbol_of(slot, cell->as.int64) >= 0)) {
		value->int64 = cell->as.int64;
		return FLOW_OK;
	}
	return refuse(e, FLOW_E_RANGE, slot, "a number that is none of an enum");
}

static flow_status
to_float(flow_encoder *e, const proto_slot *slot, const flow_value *cell, proto_value *value)
{
	double number = cell->as.float64;
	if (cell->type != FLOW_FLOAT64)
		return refuse(e, FLOW_E_ENCODE, slot, "a value of another type than its schema says");
	if (slot->value.kind == PROTO_FLOAT && !isnan(number) && (double)(float)number != number)
		return refuse(e, FLOW_E_RANGE, slot, "a number that a float of 32 bits does not hold exactly");
	value->number = number;
	return FLOW_OK;
}

static flow_status
to_text(flow_encoder *e, const proto_slot *slot, const flow_value *cell, proto_value *value)
{
	uint8_t type = slot->value.kind == PROTO_STRING ? FLOW_STRING : FLOW_BYTES;
	value->text = (proto_text){ cell->as.text, cell->size };
	if (cell->type == type && (type == FLOW_BYTES || flow_utf8_check(cell->as.text, cell->size) == cell->size))
		return FLOW_OK;
	if (cell->type == type)
		return refuse(e, FLOW_E_ENCODE, slot, "a text that is not UTF-8");
	if (cell->type == FLOW_DECIMAL && cell->as.decimal->special != 0)
		return refuse(e, FLOW_E_ENCODE, slot, "a decimal that is no number has no digits to write");
	uint64_t bound = flow_cell_text_bound(cell);
	if (type != FLOW_STRING || bound == 0 || bound > sizeof(e->text))
		return refuse(e, FLOW_E_ENCODE, slot, "a value that has no text");
	value->text = (proto_text){ e->text, flow_print_cell(cell, e->text) };
	return FLOW_OK;
}

static flow_status put_fields(flow_encoder *e, const proto_plan *plan, const flow_value *record,
							  proto_message *message);

static flow_status
put_timestamp(flow_encoder *e, const proto_slot *slot, const flow_value *cell, proto_message *message)
{
	static const int64_t parts[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000 };
	if (cell->type != FLOW_TIMESTAMP)
		return refuse(e, FLOW_E_ENCODE, slot, "a value of another type than its schema says");
	int64_t rest = cell->as.int64 % parts[cell->unit];
	proto_value seconds = { .int64 = cell->as.int64 / parts[cell->unit] - (rest < 0) };
	proto_value nanoseconds = { .int64 =
									(rest < 0 ? rest + parts[cell->unit] : rest) * (parts[9] / parts[cell->unit]) };
	flow_status status = is_put(e, slot, proto_put(message, &slot->node->seconds, &seconds));
	return status == FLOW_OK ? is_put(e, slot, proto_put(message, &slot->node->nanoseconds, &nanoseconds)) : status;
}

/* The cell as field `to` of a message: a field, an item of a repeated one, or the value of an entry. */
static flow_status
put_value(flow_encoder *e, const proto_put_field *put, const proto_field *to, const flow_value *cell,
		  proto_message *message)
{
	const proto_slot *slot = put->slot;
	proto_value value = { 0 };
	flow_status status = FLOW_OK;
	switch (to->kind) {
	case PROTO_BOOL:
		value.int64 = cell->as.int64 != 0;
		break;
	case PROTO_FLOAT:
	case PROTO_DOUBLE:
		status = to_float(e, slot, cell, &value);
		break;
	case PROTO_STRING:
	case PROTO_BYTES:
		status = to_text(e, slot, cell, &value);
		break;
	case PROTO_ENUM:
		status = to_enum(e, slot, cell, &value);
		break;
	case PROTO_MESSAGE:
		break;
	default:
		status = to_integer(e, slot, to, cell, &value);
		break;
	}
	if (status == FLOW_OK)
		status = is_put(e, slot, proto_put(message, to, &value));
	if (status != FLOW_OK || to->kind != PROTO_MESSAGE)
		return status;
	return slot->node->is_timestamp ? put_timestamp(e, slot, cell, value.message)
									: put_fields(e, put->plan, cell, value.message);
}

/* --- repeated fields and maps -------------------------------------------------------------------------------------------- */

/* Is the value one of those that protobuf has no type for, to be written as null? */
static int
is_left_out(const flow_encoder *e, const proto_put_field *put)
{
	return e->serde->format.without_type == PROTO_WITHOUT_TYPE_NULL && put->slot->value.kind != PROTO_MESSAGE &&
		   (put->schema->kind == FLOW_KIND_DECIMAL || put->schema->kind == FLOW_KIND_DATE ||
			put->schema->kind == FLOW_KIND_TIME || put->schema->kind == FLOW_KIND_UUID ||
			put->schema->kind == FLOW_KIND_TIMESTAMP);
}

static flow_status
put_list(flow_encoder *e, const proto_put_field *put, const flow_list *list, proto_message *message)
{
	for (uint64_t i = 0; i < list->count; i++) {
		if (list->items[i].type == FLOW_NULL || is_left_out(e, put))
			return refuse(e, FLOW_E_ENCODE, put->slot, "null in a repeated field, which protobuf cannot say");
		flow_status status = put_value(e, put, &put->slot->field, &list->items[i], message);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

static flow_status
put_key(flow_encoder *e, const proto_slot *slot, const flow_value *key, proto_message *entry)
{
	proto_value value = { 0 };
	flow_slice text = flow_value_slice(key);
	flow_status status = FLOW_OK;
	flow_value number = flow_int64(0);
	if (slot->key.kind == PROTO_STRING) {
		value.text = (proto_text){ text.data, text.size };
		if (flow_utf8_check(text.data, text.size) != text.size)
			status = refuse(e, FLOW_E_ENCODE, slot, "a key that is not UTF-8");
	} else if (slot->key.kind == PROTO_BOOL) {
		value.int64 = flow_slice_is(text, "true");
		if (!value.int64 && !flow_slice_is(text, "false"))
			status = refuse(e, FLOW_E_RANGE, slot, "a key that is neither true nor false");
	} else {
		if (flow_parse_int64(text, &number.as.int64) != FLOW_OK) {
			number.type = FLOW_UINT64;
			if (flow_parse_uint64(text, &number.as.uint64) != FLOW_OK)
				return refuse(e, FLOW_E_RANGE, slot, "a key that is no integer");
		}
		status = to_integer(e, slot, &slot->key, &number, &value);
	}
	return status == FLOW_OK ? is_put(e, slot, proto_put(entry, &slot->key, &value)) : status;
}

static flow_status
put_map(flow_encoder *e, const proto_put_field *put, const flow_map *map, proto_message *message)
{
	const proto_slot *slot = put->slot;
	for (uint64_t i = 0; i < map->count; i++) {
		proto_value entry = { 0 };
		if (map->entries[i].value.type == FLOW_NULL || is_left_out(e, put))
			return refuse(e, FLOW_E_ENCODE, slot, "null in a map, which protobuf cannot say");
		flow_status status = is_put(e, slot, proto_put(message, &slot->field, &entry));
		if (status == FLOW_OK)
			status = put_key(e, slot, &map->entries[i].key, entry.message);
		if (status == FLOW_OK)
			status = put_value(e, put, &slot->value, &map->entries[i].value, entry.message);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

/* --- messages -------------------------------------------------------------------------------------------------------------- */

static flow_status
put_null(flow_encoder *e, const proto_slot *slot)
{
	if (slot->field.required)
		return refuse(e, FLOW_E_ENCODE, slot, "null in a field that is required");
	if (slot->field.presence || e->serde->format.null_is_default)
		return FLOW_OK;
	return refuse(e, FLOW_E_ENCODE, slot,
				  "null in a field that is never absent; declare it optional, or set nulls to \"default\"");
}

static flow_status
put_field(flow_encoder *e, const proto_put_field *put, const flow_value *cell, proto_message *message)
{
	const proto_slot *slot = put->slot;
	if (cell->type == FLOW_NULL || (!slot->field.repeated && is_left_out(e, put)))
		return put_null(e, slot);
	if (slot->field.map)
		return cell->type == FLOW_MAP ? put_map(e, put, cell->as.map, message)
									  : refuse(e, FLOW_E_ENCODE, slot, "a value of another type than its schema says");
	if (slot->field.repeated)
		return cell->type == FLOW_LIST ? put_list(e, put, cell->as.list, message)
									   : refuse(e, FLOW_E_ENCODE, slot, "a value of another type than its schema says");
	return put_value(e, put, &slot->field, cell, message);
}

/* At most one field of each oneof has a value. */
static flow_status
check_oneofs(flow_encoder *e, const proto_plan *plan, const flow_value *record)
{
	for (uint32_t i = 0; i < plan->field_count; i++) {
		int32_t oneof = plan->fields[i].slot->field.oneof;
		if (oneof < 0 || record->as.record[plan->fields[i].index].type == FLOW_NULL)
			continue;
		for (uint32_t k = 0; k < i; k++)
			if (plan->fields[k].slot->field.oneof == oneof &&
				record->as.record[plan->fields[k].index].type != FLOW_NULL)
				return refuse(e, FLOW_E_ENCODE, plan->fields[i].slot, "a second field of a oneof that has a value");
	}
	return FLOW_OK;
}

static flow_status
put_fields(flow_encoder *e, const proto_plan *plan, const flow_value *record, proto_message *message)
{
	if (record->type != FLOW_RECORD || record->size != plan->field_count) {
		e->reason = "a value of another type than its schema says";
		e->field = flow_slice_make("", 0);
		return FLOW_E_ENCODE;
	}
	flow_status status = check_oneofs(e, plan, record);
	for (uint32_t i = 0; i < plan->field_count && status == FLOW_OK; i++)
		status = put_field(e, &plan->fields[i], &record->as.record[plan->fields[i].index], message);
	return status;
}

static char *
put_length(uint64_t length, char *to)
{
	for (; length >= 0x80; length >>= 7)
		*to++ = (char)(length | 0x80);
	*to++ = (char)length;
	return to;
}

static flow_status
put_message(flow_encoder *e, const flow_value *record, flow_buffer *buffer, int stream)
{
	if (proto_clear(e->message) != PROTO_OK)
		return FLOW_E_MEMORY;
	flow_status status = put_fields(e, e->plan, record, e->message);
	if (status != FLOW_OK)
		return status;
	uint64_t size = 0;
	int result = proto_size(e->message, &size);
	char *to = result == PROTO_OK ? flow_buffer_reserve(buffer, size + LENGTH_MAX) : NULL;
	if (result == PROTO_NO_MEMORY || (result == PROTO_OK && to == NULL))
		return FLOW_E_MEMORY;
	e->reason = "a message of more than 2 GiB";
	e->field = flow_slice_make("", 0);
	if (result != PROTO_OK)
		return FLOW_E_LIMIT;
	if (stream)
		to = put_length(size, to);
	if (proto_write(e->message, to, size) != PROTO_OK)
		return FLOW_E_MEMORY;
	buffer->size = (uint64_t)(to - buffer->data) + size;
	return FLOW_OK;
}

flow_status
proto_encode(flow_encoder *e, const flow_batch *batch, int use_key, flow_buffer *buffer, uint64_t *ends,
			 flow_status *statuses, flow_error *error)
{
	const flow_value *column = use_key ? batch->key : batch->value;
	for (FLOW_ROWS(batch, i)) {
		uint64_t before = buffer->size;
		flow_status status = put_message(e, &column[flow_row(batch, i)], buffer, ends == NULL);
		if (status == FLOW_E_MEMORY)
			return flow_fail(e->serde->host, error, status, "protobuf: out of memory for the output");
		if (status != FLOW_OK) {
			buffer->size = before;
			statuses[i] = flow_fail(e->serde->host, error, status, "protobuf: %.*s%s%s", (int)e->field.size,
									e->field.data, e->field.size == 0 ? "" : ": ", e->reason);
		}
		if (ends != NULL)
			ends[i] = buffer->size;
	}
	return FLOW_OK;
}
