/* Trials that every serde has to stand. */
#include "support/serde_trials.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* --- random rows ------------------------------------------------------------------------------------------------------- */

struct making {
	flow_builder *builder;
	uint64_t state;
	uint32_t depth;
};

static uint64_t
next(struct making *m)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 7;
	m->state ^= m->state << 17;
	return m->state * 0x2545F4914F6CDD1Dull;
}

#define PICK(m, array) ((array)[next(m) % FLOW_COUNT(array)])

static uint64_t
any_integer(struct making *m)
{
	static const uint64_t extremes[] = { 0,         1,           31,         32,         127,       128,
										 255,       256,         32767,      32768,      65535,     65536,
										 INT32_MAX, 0x80000000u, UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63 };
	uint64_t number = PICK(m, extremes);
	switch (next(m) % 4) {
	case 0:
		return number;
	case 1:
		return ~number;
	case 2:
		return 0 - number;
	default:
		return next(m) >> (next(m) % 64);
	}
}

static double
any_float(struct making *m)
{
	static const double extremes[] = {
		0.0,      -0.0,      1.5,         0.1,       -1e300, 5e-324, 1.7976931348623157e308, 9007199254740993.0,
		INFINITY, -INFINITY, (double)NAN, 16777217.0
	};
	return next(m) % 2 == 0 ? PICK(m, extremes) : (double)(int64_t)next(m) / 1024.0;
}

static uint32_t
any_size(struct making *m)
{
	static const uint32_t sizes[] = { 0, 1, 2, 7, 15, 16, 31, 32, 127, 128, 255, 256, 300 };
	return next(m) % 200 == 0 ? 65536 : PICK(m, sizes);
}

static flow_value
any_text(struct making *m, uint8_t type, uint32_t size)
{
	static const char letters[] = "aZ0 =\"\\\n\t,;:'{}[]-_";
	char *text = flow_builder_alloc(m->builder, size == 0 ? 1 : size);
	assert_non_null(text);
	for (uint32_t i = 0; i < size; i++)
		text[i] = type == FLOW_STRING ? letters[next(m) % (sizeof(letters) - 1)] : (char)next(m);
	for (uint32_t i = 0; type == FLOW_STRING && size > 4 && i + 4 < size; i += 29)
		memcpy(text + i, "\xF0\x9F\x98\x80", 4);
	return flow_text(type, text, size);
}

static flow_value
any_decimal(struct making *m, const flow_schema *schema)
{
	flow_decimal *decimal = flow_builder_alloc(m->builder, sizeof(*decimal));
	uint32_t most = schema->precision == 0 ? 40 : (uint32_t)schema->precision;
	char *digits = flow_builder_alloc(m->builder, most);
	uint32_t count = (uint32_t)(next(m) % most) + 1;
	for (uint32_t i = 0; i < count; i++)
		digits[i] = (char)('0' + next(m) % 10);
	if (digits[0] == '0')
		digits[0] = '1';
	int zero = next(m) % 8 == 0;
	if (zero)
		digits[0] = '0';
	*decimal = (flow_decimal){ .digits = digits, .count = zero ? 1 : count, .negative = !zero && next(m) % 2 };
	decimal->scale = schema->precision == 0 ? (int32_t)(next(m) % 20) : schema->scale;
	flow_value value = flow_cell(FLOW_DECIMAL, 0);
	value.as.decimal = decimal;
	return value;
}

static flow_value any_value(struct making *m, const flow_schema *schema);

static flow_value
any_list(struct making *m, const flow_schema *schema)
{
	static const uint32_t counts[] = { 0, 1, 2, 15, 16, 40 };
	uint32_t count = m->depth > 2 ? 1 : PICK(m, counts);
	flow_list *list = flow_builder_alloc(m->builder, sizeof(*list));
	flow_value *items = flow_builder_cells(m->builder, count + 1);
	for (uint32_t i = 0; i < count; i++)
		items[i] = any_value(m, schema->element);
	*list = (flow_list){ items, count };
	flow_value value = flow_cell(FLOW_LIST, 0);
	value.as.list = list;
	return value;
}

static flow_value
any_map(struct making *m, const flow_schema *schema)
{
	static const uint32_t counts[] = { 0, 1, 2, 15, 16, 40 };
	uint32_t count = m->depth > 2 ? 1 : PICK(m, counts);
	flow_map *map = flow_builder_alloc(m->builder, sizeof(*map));
	flow_map_entry *entries = flow_builder_alloc(m->builder, (count + 1) * sizeof(*entries));
	for (uint32_t i = 0; i < count; i++) {
		char name[24];
		int size = snprintf(name, sizeof(name), "%s%u", i % 3 == 0 ? "\xC3\xA9" : "k", i);
		entries[i].key = flow_string(flow_builder_copy(m->builder, name, (uint64_t)size), (uint32_t)size);
		entries[i].value = any_value(m, schema->element);
	}
	*map = (flow_map){ entries, count };
	flow_value value = flow_cell(FLOW_MAP, 0);
	value.as.map = map;
	return value;
}

static flow_value
any_record(struct making *m, const flow_schema *schema)
{
	flow_value *cells = flow_builder_cells(m->builder, schema->field_count + 1);
	for (uint32_t i = 0; i < schema->field_count; i++)
		cells[i] = any_value(m, schema->fields[i]->schema);
	return flow_record(cells, schema->field_count);
}

static flow_value
any_scalar(struct making *m, const flow_schema *schema)
{
	switch (schema->kind) {
	case FLOW_KIND_BOOL:
		return flow_bool((int)(next(m) % 2));
	case FLOW_KIND_INT32:
		return flow_int64((int32_t)any_integer(m));
	case FLOW_KIND_INT64:
		return flow_int64((int64_t)any_integer(m));
	case FLOW_KIND_UINT64:
		return flow_uint64(any_integer(m));
	case FLOW_KIND_FLOAT32:
		return flow_float64((double)(float)any_float(m));
	case FLOW_KIND_FLOAT64:
		return flow_float64(any_float(m));
	case FLOW_KIND_DECIMAL:
		return any_decimal(m, schema);
	case FLOW_KIND_STRING:
		return any_text(m, FLOW_STRING, any_size(m));
	case FLOW_KIND_BYTES:
		return any_text(m, FLOW_BYTES, any_size(m));
	case FLOW_KIND_FIXED:
		return any_text(m, FLOW_BYTES, schema->fixed_size);
	case FLOW_KIND_UUID:
		return any_text(m, FLOW_UUID, 16);
	case FLOW_KIND_ENUM: {
		flow_slice symbol = schema->symbols[next(m) % schema->symbol_count];
		return flow_string(symbol.data, (uint32_t)symbol.size);
	}
	case FLOW_KIND_DATE:
		return flow_cell(FLOW_DATE, (int64_t)(next(m) % 2000000) - 700000);
	default:
		return flow_null();
	}
}

static flow_value
any_value(struct making *m, const flow_schema *schema)
{
	if (flow_schema_nullable(schema) && next(m) % 4 == 0)
		return flow_null();
	flow_value value;
	m->depth++;
	switch (schema->kind) {
	case FLOW_KIND_LIST:
		value = any_list(m, schema);
		break;
	case FLOW_KIND_MAP:
		value = any_map(m, schema);
		break;
	case FLOW_KIND_RECORD:
		value = any_record(m, schema);
		break;
	case FLOW_KIND_UNION: {
		uint32_t branch = (uint32_t)(next(m) % schema->branch_count);
		value = any_value(m, schema->branches[branch]);
		value.branch = (uint8_t)branch;
		break;
	}
	case FLOW_KIND_TIME:
		value = flow_cell(FLOW_TIME, (int64_t)(next(m) % 86400) * (int64_t)pow(10, schema->unit));
		value.unit = schema->unit;
		break;
	case FLOW_KIND_TIMESTAMP:
		value = flow_timestamp((int64_t)any_integer(m), schema->unit,
							   (schema->flags & FLOW_SCHEMA_ZONED) != 0 ? FLOW_ZONED : 0);
		if (value.flags == 0) /* those are written as texts, with years of four digits */
			value.as.int64 = value.as.int64 % (4000000000 * (int64_t)pow(10, schema->unit));
		break;
	default:
		value = any_scalar(m, schema);
		break;
	}
	m->depth--;
	return value;
}

static void
release_batch(void *batch)
{
	batch_release(batch);
}

flow_batch *
trial_rows(fixture *f, const flow_schema *schema, uint32_t count, uint64_t seed)
{
	flow_builder *builder = builder_create(f->pool, count, 256u << 20);
	assert_non_null(builder);
	struct making m = { .builder = builder, .state = seed * 2 + 88172645463325252u };
	for (uint32_t i = 0; i < count; i++)
		flow_builder_add(builder, any_value(&m, schema));
	batch_head head = { .schema = schema, .input = UINT32_MAX };
	flow_batch *batch = builder_finish(builder, &head);
	assert_non_null(batch);
	builder_destroy(builder);
	fixture_on_destroy(f, release_batch, batch);
	return batch;
}

const char *
trial_assignment(fixture *f, const char *name, const char *text)
{
	char *assignment = arena_allocate_zeroed(f->arena, strlen(name) + strlen(text) * 2 + 4);
	assert_non_null(assignment);
	char *to = assignment + sprintf(assignment, "%s=\"", name);
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			*to++ = '\\';
		*to++ = *c;
	}
	*to = '"';
	return assignment;
}

/* --- equality ------------------------------------------------------------------------------------------------------------ */

static int
texts_equal(const flow_value *a, const flow_value *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->as.text, b->as.text, a->size) == 0);
}

static int
lists_equal(const flow_list *a, const flow_list *b)
{
	for (uint64_t i = 0; a->count == b->count && i < a->count; i++)
		if (!trial_values_equal(&a->items[i], &b->items[i]))
			return 0;
	return a->count == b->count;
}

static int
maps_equal(const flow_map *a, const flow_map *b)
{
	for (uint64_t i = 0; a->count == b->count && i < a->count; i++)
		if (!texts_equal(&a->entries[i].key, &b->entries[i].key) ||
			!trial_values_equal(&a->entries[i].value, &b->entries[i].value))
			return 0;
	return a->count == b->count;
}

int
trial_values_equal(const flow_value *a, const flow_value *b)
{
	if (a->type != b->type || a->unit != b->unit || a->flags != b->flags || a->branch != b->branch)
		return 0;
	switch (a->type) {
	case FLOW_NULL:
		return 1;
	case FLOW_FLOAT64:
		return memcmp(&a->as.float64, &b->as.float64, sizeof(double)) == 0;
	case FLOW_STRING:
	case FLOW_BYTES:
	case FLOW_UUID:
		return texts_equal(a, b);
	case FLOW_DECIMAL:
		return a->as.decimal->scale == b->as.decimal->scale && a->as.decimal->negative == b->as.decimal->negative &&
			   a->as.decimal->special == b->as.decimal->special && a->as.decimal->count == b->as.decimal->count &&
			   memcmp(a->as.decimal->digits, b->as.decimal->digits, a->as.decimal->count) == 0;
	case FLOW_LIST:
		return lists_equal(a->as.list, b->as.list);
	case FLOW_MAP:
		return maps_equal(a->as.map, b->as.map);
	case FLOW_RECORD:
		for (uint32_t i = 0; a->size == b->size && i < a->size; i++)
			if (!trial_values_equal(&a->as.record[i], &b->as.record[i]))
				return 0;
		return a->size == b->size;
	default:
		return a->as.int64 == b->as.int64;
	}
}

/* --- round trips --------------------------------------------------------------------------------------------------------- */

static void
check_same(const flow_batch *batch, const fixture_rows *rows)
{
	for (size_t i = 0; i < rows->rejection_count; i++)
		fail_msg("rejected: %s", rows->rejections[i].reason);
	assert_int_equal(rows->row_count, batch->row_count);
	uint32_t at = 0;
	for (size_t i = 0; i < rows->batch_count; i++)
		for (uint32_t row = 0; row < rows->batches[i]->row_count; row++, at++)
			if (!trial_values_equal(&batch->value[at], &rows->batches[i]->value[row]))
				fail_msg("row %u came back as something else", at);
}

static void
check_records(fixture_serde *serde, const flow_batch *batch)
{
	fixture *f = serde->fixture;
	uint32_t count = batch->row_count;
	fixture_bytes *bytes = fixture_encode(serde, batch, 1);
	flow_slice *records = arena_allocate(f->arena, count * sizeof(*records));
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(bytes->statuses[i], FLOW_OK);
		uint64_t from = i == 0 ? 0 : bytes->ends[i - 1];
		records[i] = flow_slice_make(bytes->data + from, bytes->ends[i] - from);
	}
	check_same(batch, fixture_decode_records(serde, records, count));
}

void
trial_round_trip(fixture_serde *serde, const flow_schema *schema, uint32_t count, uint64_t seed)
{
	static const uint64_t windows[] = { 0, 1000, 70001 };
	fixture *f = serde->fixture;
	flow_batch *batch = trial_rows(f, schema, count, seed);
	if ((serde->flags & FLOW_SERDE_RECORD) != 0)
		check_records(serde, batch);
	if ((serde->flags & FLOW_SERDE_STREAM) == 0)
		return;
	fixture_bytes *bytes = fixture_encode(serde, batch, 0);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(bytes->statuses[i], FLOW_OK);
	for (size_t i = 0; i < FLOW_COUNT(windows); i++) {
		fixture_decoding how = { .window_bytes = windows[i], .restore_each = i == 2 };
		check_same(batch, fixture_decode_with(serde, bytes->data, bytes->size, &how));
	}
}

/* --- damage ---------------------------------------------------------------------------------------------------------------- */

static void
read_damaged(fixture_serde *serde, const char *bytes, uint64_t size, int as_record)
{
	if (as_record) {
		char *exact = malloc(size == 0 ? 1 : size);
		assert_non_null(exact);
		memcpy(exact, bytes, size);
		flow_slice record = flow_slice_make(exact, size);
		fixture_rows *rows = fixture_decode_records(serde, &record, 1);
		assert_int_equal(rows->status, FLOW_OK);
		assert_int_equal(rows->row_count + rows->rejection_count, 1);
		free(exact);
		return;
	}
	fixture_decode(serde, bytes, size, 0); /* fails the test where bytes are left over */
	fixture_decode(serde, bytes, size, 5);
}

void
trial_damage(fixture_serde *serde, const char *bytes, uint64_t size, int as_record)
{
	for (uint64_t cut = 0; cut <= size; cut++)
		read_damaged(serde, bytes, cut, as_record);
	char *copy = malloc(size + 1);
	assert_non_null(copy);
	for (uint64_t bit = 0; bit < 8 * size; bit++) {
		memcpy(copy, bytes, size);
		copy[bit / 8] = (char)((uint8_t)copy[bit / 8] ^ (1u << bit % 8));
		read_damaged(serde, copy, size, as_record);
	}
	free(copy);
}

/* --- memory ---------------------------------------------------------------------------------------------------------------- */

struct trial {
	fixture *f;
	const flow_serde_ops *ops;
	const flow_options *options;
	const flow_batch *batch; /* NULL: what is read stands in `text` */
	const char *text;
	uint32_t row_count;
	const flow_batch *raw; /* records: what was written, as raw rows */
	flow_serde *serde;
	flow_buffer *buffer;
	flow_builder *builder;
	int as_records;
};

static flow_status
write_rows(struct trial *t)
{
	flow_encoder *encoder = NULL;
	flow_status rows[16] = { 0 };
	uint64_t ends[16];
	assert_true(t->batch->row_count <= FLOW_COUNT(rows));
	flow_status status = t->ops->encoder_open(t->serde, t->batch->schema, &encoder, &t->f->error);
	if (status != FLOW_OK)
		return status;
	if (!t->as_records && FLOW_CAN(t->ops, begin))
		status = t->ops->begin(encoder, t->buffer, &t->f->error);
	if (status == FLOW_OK)
		status = t->ops->encode(encoder, t->batch, 0, t->buffer, t->as_records ? ends : NULL, rows, &t->f->error);
	if (status == FLOW_OK && !t->as_records && FLOW_CAN(t->ops, end))
		status = t->ops->end(encoder, t->buffer, &t->f->error);
	t->ops->encoder_close(encoder);
	return status == FLOW_OK ? rows[0] : status;
}

static flow_status
read_rows(struct trial *t)
{
	flow_decoder_request request = { .struct_size = FLOW_SIZEOF(request) };
	flow_decoder *decoder = NULL;
	flow_status status = t->ops->decoder_open(t->serde, &request, &decoder, &t->f->error);
	if (status != FLOW_OK)
		return status;
	char *memory = NULL;
	if (t->as_records) {
		uint32_t end = 0, source_rows[16];
		status = t->ops->decode_rows(decoder, t->raw, 0, &end, t->builder, source_rows, &t->f->error);
	} else {
		memory = malloc(t->buffer->size + 64);
		memcpy(memory, t->buffer->data, t->buffer->size);
		flow_window window = {
			.struct_size = FLOW_SIZEOF(window), .final = 1, .data = memory, .size = t->buffer->size
		};
		status = t->ops->decode(decoder, &window, t->builder, &t->f->error);
		flow_slice state;
		if (status == FLOW_OK && FLOW_CAN(t->ops, save))
			status = t->ops->save(decoder, &state, &t->f->error);
	}
	if (status == FLOW_OK)
		assert_int_equal(t->builder->row_count, t->row_count);
	builder_clear(t->builder);
	t->ops->decoder_close(decoder);
	free(memory);
	return status;
}

static flow_status
whole_way(struct trial *t)
{
	const flow_schema *schema = NULL;
	flow_status status = t->ops->open(&host_services, t->options, 3, &t->serde, &t->f->error);
	if (status != FLOW_OK)
		return status;
	status = t->batch != NULL ? write_rows(t) : flow_buffer_append(t->buffer, t->text, strlen(t->text));
	if (status == FLOW_OK)
		status =
			t->ops->decoded_schema(t->serde, flow_slice_make(t->buffer->data, t->buffer->size), &schema, &t->f->error);
	if (status == FLOW_OK) {
		status = read_rows(t);
		const flow_schemas *schemas = host_services.get_service(FLOW_SERVICE_SCHEMAS);
		schemas->release(schema);
	}
	t->ops->close(t->serde);
	return status;
}

/* What the serde writes for the rows, as raw rows. */
static flow_batch *
written_rows(fixture *f, const char *id, const char *const *options, const flow_batch *batch)
{
	fixture_serde serde;
	fixture_serde_open(f, id, options, &serde);
	fixture_bytes *bytes = fixture_encode(&serde, batch, 1);
	flow_builder *builder = builder_create(f->pool, 0, 0);
	builder->flags = FLOW_BATCH_RAW;
	for (uint32_t i = 0; i < batch->row_count; i++) {
		uint64_t from = i == 0 ? 0 : bytes->ends[i - 1];
		flow_builder_add(builder, flow_bytes(bytes->data + from, (uint32_t)(bytes->ends[i] - from)));
	}
	batch_head head = { .input = UINT32_MAX };
	flow_batch *raw = builder_finish(builder, &head);
	builder_destroy(builder);
	fixture_on_destroy(f, release_batch, raw);
	return raw;
}

static void
try_each_allocation(struct trial *t)
{
	flow_status status = FLOW_E_MEMORY;
	uint64_t n = 0;
	while (status != FLOW_OK) {
		t->buffer = buffer_create();
		t->builder = builder_create(t->f->pool, 0, 0);
		memory_fail_at(++n, 1);
		status = whole_way(t);
		memory_fail_at(0, 0);
		builder_destroy(t->builder);
		buffer_destroy(t->buffer);
		assert_true(status <= FLOW_OK);
		assert_true(n < 10000);
	}
	assert_true(n > 5);
	fixture_destroy(t->f);
}

static struct trial
start(const char *id, const char *const *options)
{
	struct trial t = { .f = fixture_create() };
	const flow_component *component = fixture_component(t.f, FLOW_SERDE, id);
	t.ops = component->ops;
	t.options = fixture_options(t.f, component, "", options);
	return t;
}

void
trial_memory(const char *id, const char *const *options, const char *schema, const char *rows, int as_records)
{
	struct trial t = start(id, options);
	t.as_records = as_records;
	t.batch = fixture_batch(t.f, fixture_schema(t.f, schema), rows);
	t.row_count = t.batch->row_count;
	if (as_records)
		t.raw = written_rows(t.f, id, options, t.batch);
	try_each_allocation(&t);
}

void
trial_reading_memory(const char *id, const char *const *options, const char *text, uint32_t rows)
{
	struct trial t = start(id, options);
	t.text = text;
	t.row_count = rows;
	try_each_allocation(&t);
}
