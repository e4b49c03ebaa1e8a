/*
 * What a record costs in the avro serde, beside avro-c doing the same in the same run.
 *
 *     avro_bench [seconds [name]]      about so long for each measurement (default 1), of those with that in their name
 *
 * Each pair runs interleaved; the median of the ratios is printed with the smallest and the largest. CPU time of the process.
 * Six fields: long, string, double, int, long, [null, string].
 */
#include <avro.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "flow_sdk/number.h"
#include "bench/six_fields.h"
#include "support/plugin_fixture.h"

#define FILE_PARTS 16 /* times the records in a file */
#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const char six_fields[] = "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"},{"
								 "\"name\":\"name\",\"type\":\"string\"},"
								 "{\"name\":\"price\",\"type\":\"double\"},{\"name\":\"count\",\"type\":\"int\"},{"
								 "\"name\":\"time\",\"type\":\"long\"},"
								 "{\"name\":\"note\",\"type\":[\"null\",\"string\"]}]}";

/* --- the data -------------------------------------------------------------------------------------------------------- */

struct bench {
	fixture *f;
	struct record *records;
	fixture_serde serde; /* datums and files of six fields */
	flow_batch **batches;
	uint32_t batch_count;
	flow_buffer *out;
	uint64_t *ends;
	flow_batch **raw;
	avro_schema_t schema;
	avro_value_iface_t *type;
	char *memory; /* avro-c's datums, one behind another */
	uint64_t memory_size;
	uint64_t *offsets;
	char path[64];
	fixture_serde reader;
	flow_slice file; /* what is read with and without projection */
	const uint32_t *fields;
	uint32_t field_count;
	uint64_t sum; /* so that nothing is left out */
};

/* --- ours ------------------------------------------------------------------------------------------------------------ */

static void
encode_batches(struct bench *b, fixture_serde *serde, int records)
{
	static flow_status statuses[FLOW_BATCH_ROWS];
	flow_encoder *encoder = NULL;
	serde->ops->encoder_open(serde->serde, b->batches[0]->schema, &encoder, NULL);
	for (uint32_t i = 0; i < b->batch_count; i++) {
		buffer_reset(b->out);
		serde->ops->encode(encoder, b->batches[i], 0, b->out, records ? b->ends : NULL, statuses, NULL);
		b->sum += b->out->size;
	}
	serde->ops->encoder_close(encoder);
}

static void
our_encode(void *context)
{
	struct bench *b = context;
	encode_batches(b, &b->serde, 1);
}

static void
make_raw(struct bench *b)
{
	b->raw = calloc(b->batch_count, sizeof(*b->raw));
	for (uint32_t i = 0, at = 0; i < b->batch_count; i++) {
		flow_builder *builder = builder_create(b->f->pool, FLOW_BATCH_ROWS, 64u << 20);
		builder->flags = FLOW_BATCH_RAW;
		for (uint32_t k = 0; k < b->batches[i]->row_count; k++, at++)
			flow_builder_add(builder,
							 flow_bytes(b->memory + b->offsets[at], (uint32_t)(b->offsets[at + 1] - b->offsets[at])));
		batch_head head = { 0 };
		b->raw[i] = builder_finish(builder, &head);
		builder_destroy(builder);
	}
}

static void
our_decode(void *context)
{
	struct bench *b = context;
	static uint32_t rows[FLOW_BATCH_ROWS];
	flow_decoder_request request = { .struct_size = FLOW_SIZEOF(request) };
	flow_decoder *decoder = NULL;
	flow_builder *builder = builder_create(b->f->pool, 0, 0);
	b->serde.ops->decoder_open(b->serde.serde, &request, &decoder, NULL);
	batch_head head = { .schema = b->batches[0]->schema };
	for (uint32_t i = 0; i < b->batch_count; i++) {
		for (uint32_t first = 0, next = 0; first < b->raw[i]->selected_count; first = next) {
			b->serde.ops->decode_rows(decoder, b->raw[i], first, &next, builder, rows, NULL);
			flow_batch *batch = builder_finish(builder, &head);
			b->sum += (uint64_t)flow_batch_field(batch, 0, 0)->as.int64;
			batch_release(batch);
		}
	}
	b->serde.ops->decoder_close(decoder);
	builder_destroy(builder);
}

static void
read_file(void *context)
{
	struct bench *b = context;
	flow_decoder_request request = { .struct_size = FLOW_SIZEOF(request),
									 .fields = b->fields,
									 .field_count = b->field_count };
	flow_decoder *decoder = NULL;
	flow_builder *builder = builder_create(b->f->pool, 0, 0);
	b->reader.ops->decoder_open(b->reader.serde, &request, &decoder, NULL);
	batch_head head = { .schema = b->batches[0]->schema };
	for (uint64_t at = 0; at < b->file.size;) {
		uint64_t left = b->file.size - at, size = left < 1u << 20 ? left : 1u << 20;
		flow_window window = {
			.struct_size = FLOW_SIZEOF(window), .data = b->file.data + at, .size = size, .offset = (int64_t)at
		};
		window.final = left == size;
		if (b->reader.ops->decode(decoder, &window, builder, &b->f->error) != FLOW_OK)
			fail_msg("%s", error_message(&b->f->error));
		at += window.consumed;
		flow_batch *batch = builder_finish(builder, &head);
		b->sum += batch->row_count;
		batch_release(batch);
	}
	b->reader.ops->decoder_close(decoder);
	builder_destroy(builder);
}

static void
read_two(void *context)
{
	struct bench *b = context;
	static const uint32_t two[] = { 0, 3 };
	b->fields = two;
	b->field_count = 2;
	read_file(b);
	b->fields = NULL;
}

/* Files: the same, and to the disk as avro-c does it. */
static void
our_file(void *context)
{
	struct bench *b = context;
	FILE *file = fopen(b->path, "wb");
	static flow_status statuses[FLOW_BATCH_ROWS];
	flow_encoder *encoder = NULL;
	b->serde.ops->encoder_open(b->serde.serde, b->batches[0]->schema, &encoder, NULL);
	buffer_reset(b->out);
	b->serde.ops->begin(encoder, b->out, NULL);
	for (uint32_t i = 0; i < b->batch_count * FILE_PARTS; i++) {
		b->serde.ops->encode(encoder, b->batches[i % b->batch_count], 0, b->out, NULL, statuses, NULL);
		fwrite(b->out->data, 1, b->out->size, file);
		buffer_reset(b->out);
	}
	b->serde.ops->encoder_close(encoder);
	fclose(file);
}

/* --- avro-c ------------------------------------------------------------------------------------------------------------ */

static void
set_value(avro_value_t *value, const struct record *r)
{
	avro_value_t field, branch;
	avro_value_get_by_index(value, 0, &field, NULL);
	avro_value_set_long(&field, r->id);
	avro_value_get_by_index(value, 1, &field, NULL);
	avro_value_set_string_len(&field, (char *)(uintptr_t)r->name, strlen(r->name) + 1);
	avro_value_get_by_index(value, 2, &field, NULL);
	avro_value_set_double(&field, r->price);
	avro_value_get_by_index(value, 3, &field, NULL);
	avro_value_set_int(&field, r->count);
	avro_value_get_by_index(value, 4, &field, NULL);
	avro_value_set_long(&field, r->time);
	avro_value_get_by_index(value, 5, &field, NULL);
	avro_value_set_branch(&field, r->has_note, &branch);
	if (r->has_note)
		avro_value_set_string_len(&branch, (char *)(uintptr_t)r->note, strlen(r->note) + 1);
	else
		avro_value_set_null(&branch);
}

static void
their_encode(void *context)
{
	struct bench *b = context;
	avro_value_t value;
	avro_generic_value_new(b->type, &value);
	avro_writer_t writer = avro_writer_memory(b->memory, (int64_t)b->memory_size);
	for (uint32_t i = 0; i < RECORDS; i++) {
		set_value(&value, &b->records[i]);
		b->offsets[i] = (uint64_t)avro_writer_tell(writer);
		if (avro_value_write(writer, &value) != 0)
			fail_msg("avro-c: %s", avro_strerror());
	}
	b->offsets[RECORDS] = (uint64_t)avro_writer_tell(writer);
	avro_writer_free(writer);
	avro_value_decref(&value);
}

static void
their_decode(void *context)
{
	struct bench *b = context;
	avro_value_t value, field, branch;
	avro_generic_value_new(b->type, &value);
	avro_reader_t reader = avro_reader_memory(b->memory, (int64_t)b->offsets[RECORDS]);
	for (uint32_t i = 0; i < RECORDS; i++) {
		if (avro_value_read(reader, &value) != 0)
			fail_msg("avro-c: %s", avro_strerror());
		int64_t number;
		int32_t count;
		double price;
		const char *text;
		size_t size;
		avro_value_get_by_index(&value, 0, &field, NULL);
		avro_value_get_long(&field, &number);
		b->sum += (uint64_t)number;
		avro_value_get_by_index(&value, 1, &field, NULL);
		avro_value_get_string(&field, &text, &size);
		avro_value_get_by_index(&value, 2, &field, NULL);
		avro_value_get_double(&field, &price);
		avro_value_get_by_index(&value, 3, &field, NULL);
		avro_value_get_int(&field, &count);
		avro_value_get_by_index(&value, 4, &field, NULL);
		avro_value_get_long(&field, &number);
		avro_value_get_by_index(&value, 5, &field, NULL);
		avro_value_get_current_branch(&field, &branch);
	}
	avro_reader_free(reader);
	avro_value_decref(&value);
}

static const char *their_codec;

static void
their_file(void *context)
{
	struct bench *b = context;
	avro_value_t value;
	avro_file_writer_t writer;
	unlink(b->path);
	if (avro_file_writer_create_with_codec(b->path, b->schema, &writer, their_codec, 64 * 1024) != 0)
		fail_msg("avro-c: %s", avro_strerror());
	avro_generic_value_new(b->type, &value);
	for (uint32_t i = 0; i < RECORDS * FILE_PARTS; i++) {
		set_value(&value, &b->records[i % RECORDS]);
		avro_file_writer_append_value(writer, &value);
	}
	avro_file_writer_close(writer);
	avro_value_decref(&value);
}

/* --- measuring ------------------------------------------------------------------------------------------------------- */

/* Before anything is measured: both write the same bytes, and avro-c reads our file. */
static void
check_agreement(struct bench *b)
{
	static flow_status statuses[FLOW_BATCH_ROWS];
	flow_encoder *encoder = NULL;
	b->serde.ops->encoder_open(b->serde.serde, b->batches[0]->schema, &encoder, NULL);
	uint64_t at = 0;
	for (uint32_t i = 0; i < b->batch_count; i++) {
		buffer_reset(b->out);
		b->serde.ops->encode(encoder, b->batches[i], 0, b->out, b->ends, statuses, NULL);
		assert_memory_equal(b->out->data, b->memory + at, b->out->size);
		at += b->out->size;
	}
	assert_int_equal(at, b->offsets[RECORDS]);
	b->serde.ops->encoder_close(encoder);
	our_file(b);
	avro_file_reader_t reader;
	avro_value_t value, field;
	if (avro_file_reader(b->path, &reader) != 0)
		fail_msg("avro-c: %s", avro_strerror());
	avro_generic_value_new(b->type, &value);
	for (uint32_t i = 0; i < RECORDS * FILE_PARTS; i++) {
		int64_t time = 0;
		if (avro_file_reader_read_value(reader, &value) != 0)
			fail_msg("avro-c: %s", avro_strerror());
		avro_value_get_by_index(&value, 4, &field, NULL);
		avro_value_get_long(&field, &time);
		assert_int_equal(time, b->records[i % RECORDS].time);
	}
	avro_file_reader_close(reader);
	avro_value_decref(&value);
}

/* Ten fields, as tables of orders have them, of which two are read. */
static void
make_wide_file(struct bench *b)
{
	fixture *f = b->f;
	const flow_schema *schema =
		fixture_schema(f, "record(id:int64,name:string,time:timestamp,price:float64,amount:decimal(12,2),"
						  "count:int32?,note:string?,tags:list<string>,city:string,rate:float64)");
	flow_builder *builder = builder_create(f->pool, RECORDS, 1u << 30);
	for (uint32_t i = 0; i < RECORDS; i++) {
		const struct record *r = &b->records[i];
		flow_value *cells = flow_builder_cells(builder, 10);
		flow_value name = flow_string(r->name, (uint32_t)strlen(r->name));
		cells[0] = flow_int64(r->id);
		cells[1] = cells[8] = name;
		cells[2] = flow_timestamp(r->time * 1000, FLOW_MICROSECONDS, FLOW_ZONED);
		cells[3] = cells[9] = flow_float64(r->price);
		flow_parse_decimal(flow_slice_make(r->amount, strlen(r->amount)), builder, &cells[4]);
		cells[5] = r->has_note ? flow_int64(r->count) : flow_null();
		cells[6] = r->has_note ? name : flow_null();
		flow_list *tags = flow_builder_alloc(builder, sizeof(*tags));
		flow_value *items = flow_builder_cells(builder, 2);
		items[0] = flow_string("new", 3);
		items[1] = flow_string("paid", 4);
		*tags = (flow_list){ items, 2 };
		cells[7] = flow_cell(FLOW_LIST, 0);
		cells[7].as.list = tags;
		flow_builder_add(builder, flow_record(cells, 10));
	}
	batch_head head = { .schema = schema };
	flow_batch *batch = builder_finish(builder, &head);
	builder_destroy(builder);
	fixture_serde_open(f, "avro", NULL, &b->reader);
	fixture_bytes *bytes = fixture_encode(&b->reader, batch, 0);
	b->file = flow_slice_make(bytes->data, bytes->size);
	fixture_decoded_schema(&b->reader, bytes->data, bytes->size);
	batch_release(batch);
}

static void
measure_file(struct bench *b, const char *codec, double seconds)
{
	char name[40], option[40];
	snprintf(name, sizeof(name), "write a file, %s", codec);
	snprintf(option, sizeof(option), "codec=%s", codec);
	fixture_serde_open(b->f, "avro", OPTIONS(option), &b->serde);
	their_codec = codec;
	pairs_measure(name, b, our_file, their_file, RECORDS * FILE_PARTS, seconds, 2);
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	pairs_only = argc > 2 ? argv[2] : "";
	struct bench b = { .f = fixture_create(), .path = "/tmp/flowd-avro-bench.XXXXXX" };
	close(mkstemp(b.path));
	b.records = six_records();
	char assignment[1024], *to = assignment;
	to += sprintf(to, "schema=\"");
	for (const char *c = six_fields; *c != '\0'; c++) {
		if (*c == '"')
			*to++ = '\\';
		*to++ = *c;
	}
	strcpy(to, "\"");
	fixture_serde_open(b.f, "avro", OPTIONS(assignment), &b.serde);
	b.batches = six_batches(b.f, b.records, fixture_decoded_schema(&b.serde, NULL, 0), &b.batch_count);
	b.out = buffer_create();
	b.ends = calloc(FLOW_BATCH_ROWS, sizeof(*b.ends));
	b.memory_size = (uint64_t)RECORDS * 128;
	b.memory = calloc(1, b.memory_size);
	b.offsets = calloc(RECORDS + 1, sizeof(*b.offsets));
	avro_schema_from_json_length(six_fields, sizeof(six_fields) - 1, &b.schema);
	b.type = avro_generic_class_from_schema(b.schema);
	their_encode(&b);
	make_raw(&b);
	check_agreement(&b);
	pairs_measure("encode six fields", &b, our_encode, their_encode, RECORDS, seconds, 5);
	pairs_measure("decode six fields", &b, our_decode, their_decode, RECORDS, seconds, 5);
	make_wide_file(&b);
	pairs_measure("read two of ten, and all", &b, read_two, read_file, RECORDS, seconds, 1.5);
	measure_file(&b, "null", seconds);
	measure_file(&b, "snappy", seconds);
	measure_file(&b, "deflate", seconds);
	unlink(b.path);
	return b.sum == 0;
}
