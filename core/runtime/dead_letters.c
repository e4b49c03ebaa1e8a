/* Dead letters: rejected records as rows for the output that takes them, with reason, place and raw bytes. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "options/utf8.h"
#include "runtime/exchange.h"
#include "runtime/record_errors.h"
#include "runtime/run.h"

struct dead_letter_outbox {
	task *task;
	outbox *box;
	const plan_operator *op;
	flow_builder *builder;
	flow_buffer *text;     /* a record encoded again */
	flow_encoder *encoder; /* of the output's serde, for the schema that it was opened with */
	const flow_schema *schema;
};

flow_status
dead_letters_open(task *t, outbox *box)
{
	dead_letter_outbox *d = memory_allocate_zeroed(sizeof(*d));
	if (d == NULL)
		return FLOW_E_MEMORY;
	runtime *run = t->topology->run;
	t->dead_letters = d;
	d->task = t;
	d->box = box;
	d->op = &run->plan->operators[run->plan->dead_letters];
	return FLOW_OK;
}

static const plan_serde *
serde_of(const dead_letter_outbox *d)
{
	return &d->task->topology->run->plan->streams[d->op->stream].value;
}

static void
close_encoder(dead_letter_outbox *d)
{
	if (d->encoder != NULL)
		serde_of(d)->ops->encoder_close(d->encoder);
	d->encoder = NULL;
	d->schema = NULL;
}

void
dead_letters_close(task *t)
{
	dead_letter_outbox *d = t->dead_letters;
	if (d == NULL)
		return;
	close_encoder(d);
	builder_destroy(d->builder);
	buffer_destroy(d->text);
	memory_release(d);
	t->dead_letters = NULL;
}

/* --- texts ---------------------------------------------------------------------------------------------------------- */

static flow_status
text_cell(flow_builder *builder, flow_slice text, flow_value *cell)
{
	const char *copy = flow_builder_copy(builder, text.data, text.size);
	if (copy == NULL)
		return FLOW_E_MEMORY;
	*cell = flow_string(copy, (uint32_t)text.size);
	return FLOW_OK;
}

/* Of a text that may name a file, whose name may be any bytes. */
static flow_status
name_cell(flow_builder *builder, flow_slice text, flow_value *cell)
{
	if (utf8_valid_prefix(text.data, text.size) == text.size)
		return text_cell(builder, text, cell);
	char *copy = flow_builder_alloc(builder, UTF8_ESCAPED(text.size));
	if (copy == NULL)
		return FLOW_E_MEMORY;
	*cell = flow_string(copy, (uint32_t)utf8_escape(text.data, text.size, copy));
	return FLOW_OK;
}

static flow_status
base64_cell(flow_builder *builder, flow_slice bytes, flow_value *cell)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint64_t size = (bytes.size + 2) / 3 * 4;
	char *text = flow_builder_alloc(builder, size + 1);
	if (text == NULL)
		return FLOW_E_MEMORY;
	char *at = text;
	for (uint64_t i = 0; i < bytes.size; i += 3) {
		uint32_t word = 0;
		for (uint64_t k = 0; k < 3; k++)
			word = word << 8 | (i + k < bytes.size ? (unsigned char)bytes.data[i + k] : 0);
		for (int k = 3; k >= 0; k--)
			*at++ = digits[word >> (6 * k) & 63];
	}
	for (uint64_t missing = (3 - bytes.size % 3) % 3; missing > 0; missing--)
		text[size - missing] = '=';
	*cell = flow_string(text, (uint32_t)size);
	return FLOW_OK;
}

/* One column of one row in the output's notation, without its line end; empty if it cannot be had. */
static flow_slice
encode_again(dead_letter_outbox *d, const flow_batch *batch, uint32_t row, int use_key)
{
	flow_slice none = { NULL, 0 };
	const flow_schema *schema = use_key ? batch->key_schema : batch->schema;
	const plan_serde *serde = serde_of(d);
	if (serde->ops == NULL || schema == NULL || !FLOW_CAN(serde->ops, encoder_open))
		return none;
	if (d->text == NULL && (d->text = buffer_create()) == NULL)
		return none;
	if (d->schema != schema) {
		close_encoder(d);
		if (serde->ops->encoder_open(serde->instance, schema, &d->encoder, NULL) != FLOW_OK)
			return none;
		d->schema = schema;
	}
	flow_batch one = *batch;
	one.selection = &row;
	one.selected_count = 1;
	flow_status encoded = FLOW_OK;
	buffer_reset(d->text);
	if (serde->ops->encode(d->encoder, &one, use_key, d->text, NULL, &encoded, NULL) != FLOW_OK || encoded < 0)
		return none;
	uint64_t size = d->text->size;
	while (size != 0 && (d->text->data[size - 1] == '\n' || d->text->data[size - 1] == '\r'))
		size--;
	return flow_slice_make(d->text->data, size);
}

/* The record as it came, or, from an operator, as it can be written again. */
static flow_slice
raw_of(dead_letter_outbox *d, const record_error *what)
{
	if (what->raw.size != 0 || what->batch == NULL)
		return what->raw;
	const flow_value *value = &what->batch->value[what->row];
	if ((what->batch->flags & FLOW_BATCH_RAW) != 0 && (value->type == FLOW_BYTES || value->type == FLOW_STRING))
		return flow_value_slice(value);
	return encode_again(d, what->batch, what->row, 0);
}

/* --- rows ----------------------------------------------------------------------------------------------------------- */

static flow_status
fill_raw(dead_letter_outbox *d, const record_error *what, flow_value *cells)
{
	flow_slice raw = raw_of(d, what);
	cells[DEAD_LETTER_RAW_BASE64] = flow_bool(0);
	if (raw.data == NULL)
		return FLOW_OK;
	if (utf8_valid_prefix(raw.data, raw.size) == raw.size)
		return text_cell(d->builder, raw, &cells[DEAD_LETTER_RAW]);
	cells[DEAD_LETTER_RAW_BASE64] = flow_bool(1);
	return base64_cell(d->builder, raw, &cells[DEAD_LETTER_RAW]);
}

static flow_status
fill_key(dead_letter_outbox *d, const record_error *what, flow_value *cells)
{
	if (what->key.data != NULL)
		return name_cell(d->builder, what->key, &cells[DEAD_LETTER_KEY]);
	if (what->batch == NULL || what->batch->key == NULL || flow_is_null(what->batch->key[what->row]))
		return FLOW_OK;
	flow_slice key = encode_again(d, what->batch, what->row, 1);
	return key.size == 0 ? FLOW_OK : text_cell(d->builder, key, &cells[DEAD_LETTER_KEY]);
}

static flow_status
fill_texts(dead_letter_outbox *d, const node *n, const record_error *what, flow_value *cells)
{
	const plan *p = d->task->topology->run->plan;
	flow_slice reason = what->reason.size != 0 ? what->reason : flow_slice_of(status_text(what->status));
	flow_status status = text_cell(d->builder, flow_slice_of(p->job), &cells[DEAD_LETTER_JOB]);
	if (status == FLOW_OK)
		status = text_cell(d->builder, flow_slice_of(n->op->name), &cells[DEAD_LETTER_OPERATOR]);
	if (status == FLOW_OK && what->input < p->stream_count)
		status = text_cell(d->builder, flow_slice_of(p->streams[what->input].id), &cells[DEAD_LETTER_STREAM]);
	if (status == FLOW_OK && what->place.size != 0)
		status = name_cell(d->builder, what->place, &cells[DEAD_LETTER_PLACE]);
	if (status == FLOW_OK && what->field.size != 0)
		status = name_cell(d->builder, what->field, &cells[DEAD_LETTER_FIELD]);
	if (status == FLOW_OK)
		status = text_cell(d->builder, flow_slice_of(status_name(what->status)), &cells[DEAD_LETTER_STATUS]);
	return status == FLOW_OK ? name_cell(d->builder, reason, &cells[DEAD_LETTER_REASON]) : status;
}

/* What is a header too, where records have headers: who looks at a topic sees the reason without decoding. No partition: the place
 * names it. */
static const struct {
	uint32_t field;
	const char *name;
} header_fields[] = {
	{ DEAD_LETTER_REASON, "flowd.reason" },   { DEAD_LETTER_STATUS, "flowd.status" },
	{ DEAD_LETTER_JOB, "flowd.job" },         { DEAD_LETTER_OPERATOR, "flowd.operator" },
	{ DEAD_LETTER_STREAM, "flowd.stream" },   { DEAD_LETTER_PLACE, "flowd.place" },
	{ DEAD_LETTER_ORDINAL, "flowd.ordinal" }, { DEAD_LETTER_LINE, "flowd.line" },
	{ DEAD_LETTER_FIELD, "flowd.field" },
};
#define HEADERS (sizeof(header_fields) / sizeof(header_fields[0]))

/* Those of the fields that are not null. */
static flow_status
headers_of(flow_builder *builder, const flow_value *cells, flow_headers *headers)
{
	char digits[32];
	flow_header *items = flow_builder_alloc(builder, HEADERS * sizeof(*items));
	if (items == NULL)
		return FLOW_E_MEMORY;
	*headers = (flow_headers){ items, 0 };
	for (size_t i = 0; i < HEADERS; i++) {
		const flow_value *cell = &cells[header_fields[i].field];
		if (flow_is_null(*cell))
			continue;
		flow_header *to = &items[headers->count++];
		to->name = flow_slice_of(header_fields[i].name);
		to->value = *cell;
		if (cell->type == FLOW_STRING)
			continue;
		snprintf(digits, sizeof(digits), "%lld", (long long)cell->as.int64);
		flow_status status = text_cell(builder, flow_slice_of(digits), &to->value);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

/* The cells of a new letter; NULL: out of memory. */
static flow_value *
begin_row(dead_letter_outbox *d)
{
	runtime *run = d->task->topology->run;
	if (d->builder == NULL)
		d->builder = builder_create(run->pool, run->batch_rows, run->batch_bytes);
	if (d->builder == NULL)
		return NULL;
	if (d->builder->row_capacity == 0)
		builder_clear(d->builder);
	int has_headers = !run->plan->streams[d->op->stream].byte_stream;
	if (has_headers && d->builder->ops->add_columns(d->builder, FLOW_COLUMN_HEADERS) != FLOW_OK)
		return NULL;
	return flow_builder_alloc(d->builder, DEAD_LETTER_FIELDS * sizeof(flow_value));
}

flow_status
dead_letters_add(node *n, const record_error *what)
{
	dead_letter_outbox *d = n->task->dead_letters;
	flow_value *cells = begin_row(d);
	if (cells == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < DEAD_LETTER_FIELDS; i++)
		cells[i] = flow_null();
	cells[DEAD_LETTER_TIME] = flow_timestamp(clock_now(), FLOW_MICROSECONDS, FLOW_ZONED);
	if (what->partition >= 0)
		cells[DEAD_LETTER_PARTITION] = flow_int64(what->partition);
	if (what->has_ordinal)
		cells[DEAD_LETTER_ORDINAL] = flow_int64(what->ordinal);
	if (what->line != 0)
		cells[DEAD_LETTER_LINE] = flow_int64((int64_t)what->line);
	flow_status status = fill_texts(d, n, what, cells);
	if (status == FLOW_OK)
		status = fill_raw(d, what, cells);
	if (status == FLOW_OK)
		status = fill_key(d, what, cells);
	flow_headers headers = { NULL, 0 };
	if (status == FLOW_OK && d->builder->headers != NULL)
		status = headers_of(d->builder, cells, &headers);
	if (status != FLOW_OK)
		return status;
	uint32_t row = flow_builder_add(d->builder, flow_record(cells, DEAD_LETTER_FIELDS));
	if (d->builder->headers != NULL)
		d->builder->headers[row] = headers;
	return flow_builder_full(d->builder) ? dead_letters_flush(n->task) : FLOW_OK;
}

flow_status
dead_letters_flush(task *t)
{
	dead_letter_outbox *d = t->dead_letters;
	if (d == NULL || d->builder == NULL || d->builder->row_count == 0)
		return FLOW_OK;
	batch_head head = { .schema = d->op->schema[0], .input = UINT32_MAX, .partition = UINT32_MAX };
	flow_batch *batch = builder_finish(d->builder, &head);
	if (batch == NULL)
		return FLOW_E_MEMORY;
	flow_status status = outbox_send(d->box, batch);
	batch_release(batch);
	return status;
}
