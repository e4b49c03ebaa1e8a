/*
 * What a row costs in the csv and json serdes, beside bare loops that do the same work by hand.
 *
 *     serde_bench [seconds [csv|json|json-avro]]      about so long for each measurement (default 1)
 *
 * With SERDE_BENCH_RATIOS in the environment the ratios of all pairs are printed too. Each pair runs interleaved; the median of the ratios is printed with the smallest and the largest. CPU time of the process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/serde_loops.h"
#include "support/plugin_fixture.h"

#define PAIRS 9
#define CSV_ROWS 100000u
#define JSON_ROWS 100000u
#define WINDOW (1u << 20)

static double
cpu_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- the pipelines --------------------------------------------------------------------------------------------------- */

struct pipeline {
	fixture *f;
	fixture_serde reader;
	fixture_serde writer;
	const flow_schema *schema;
	const flow_schema *written; /* with `keep` */
	flow_slice text;
	const uint32_t *fields;
	uint32_t field_count;
	uint32_t kept[8]; /* fields that are written, of those that pass `keep`; none: all */
	uint32_t kept_count;
	uint32_t filter_field;
	int64_t filter_above;
	int write;
	int reads_only;        /* the loop counts rows, not bytes */
	flow_batch **prepared; /* batches that the writer writes beside the loop; NULL: none */
	uint32_t prepared_count;
	flow_buffer *out;
	uint64_t rows;
	uint64_t bytes;
};

/* The rows that pass, with the fields that are kept. */
static flow_batch *
filter(struct pipeline *p, const flow_batch *batch, flow_builder *builder)
{
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		if (flow_batch_field(batch, row, p->filter_field)->as.int64 <= p->filter_above)
			continue;
		flow_value *cells = flow_builder_cells(builder, p->kept_count);
		for (uint32_t k = 0; k < p->kept_count; k++)
			cells[k] = *flow_batch_field(batch, row, p->kept[k]);
		flow_builder_add(builder, flow_record(cells, p->kept_count));
	}
	builder->ops->keep(builder, batch);
	batch_head head = { .schema = p->written };
	return builder_finish(builder, &head);
}

static void
write_batch(struct pipeline *p, flow_encoder *encoder, const flow_batch *batch)
{
	static flow_status statuses[FLOW_BATCH_ROWS];
	buffer_reset(p->out);
	p->writer.ops->encode(encoder, batch, 0, p->out, NULL, statuses, NULL);
	p->bytes += p->out->size;
}

/* What the reader made, through the writer alone. */
static void
write_prepared(struct pipeline *p)
{
	flow_encoder *encoder = NULL;
	p->writer.ops->encoder_open(p->writer.serde, p->schema, &encoder, NULL);
	for (uint32_t i = 0; i < p->prepared_count; i++)
		write_batch(p, encoder, p->prepared[i]);
	p->writer.ops->encoder_close(encoder);
}

/* The text from begin to end, through reader and writer. */
static void
run_pipeline(struct pipeline *p)
{
	flow_decoder_request request = { .struct_size = FLOW_SIZEOF(request),
									 .fields = p->fields,
									 .field_count = p->field_count };
	flow_decoder *decoder = NULL;
	flow_encoder *encoder = NULL;
	flow_builder *builder = builder_create(p->f->pool, 0, 0);
	flow_builder *second = builder_create(p->f->pool, 0, 0);
	p->reader.ops->decoder_open(p->reader.serde, &request, &decoder, NULL);
	p->writer.ops->encoder_open(p->writer.serde, p->kept_count != 0 ? p->written : p->schema, &encoder, NULL);
	batch_head head = { .schema = p->schema };
	p->rows = 0;
	p->bytes = 0;
	for (uint64_t at = 0; at < p->text.size;) {
		uint64_t left = p->text.size - at;
		flow_window window = { .struct_size = FLOW_SIZEOF(window), .data = p->text.data + at, .offset = (int64_t)at };
		window.size = left < WINDOW ? left : WINDOW;
		window.final = left <= WINDOW;
		if (p->reader.ops->decode(decoder, &window, builder, NULL) != FLOW_OK)
			fail_msg("decoding failed");
		at += window.consumed;
		p->rows += builder->row_count;
		flow_batch *batch = builder_finish(builder, &head);
		if (p->kept_count != 0) {
			flow_batch *passed = filter(p, batch, second);
			write_batch(p, encoder, passed);
			batch_release(passed);
		} else if (p->write) {
			write_batch(p, encoder, batch);
		}
		batch_release(batch);
	}
	p->reader.ops->decoder_close(decoder);
	p->writer.ops->encoder_close(encoder);
	builder_destroy(builder);
	builder_destroy(second);
}

/* --- measuring ------------------------------------------------------------------------------------------------------- */

typedef uint64_t (*bare_loop)(const char *text, uint64_t size, char *out);

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static void
measure(const char *name, struct pipeline *p, bare_loop loop, double seconds)
{
	char *out = malloc(p->text.size * 8);
	double ours[PAIRS];
	double ratios[PAIRS];
	double bare = 0;
	run_pipeline(p);
	double start = cpu_now();
	run_pipeline(p);
	int rounds = (int)(seconds / PAIRS / (cpu_now() - start)) + 1;
	for (int pair = 0; pair < PAIRS; pair++) {
		start = cpu_now();
		for (int i = 0; i < rounds; i++)
			run_pipeline(p);
		ours[pair] = (cpu_now() - start) * 1e9 / ((double)rounds * (double)p->rows);
		if (loop == NULL)
			continue;
		start = cpu_now();
		uint64_t result = 0;
		for (int i = 0; i < rounds; i++) {
			result = loop(p->text.data, p->text.size, out);
			if (p->prepared != NULL)
				write_prepared(p);
		}
		double loop_ns = (cpu_now() - start) * 1e9 / ((double)rounds * (double)p->rows);
		uint64_t expected = p->reads_only ? p->rows : p->bytes;
		if (expected != 0 && result != expected)
			fail_msg("%s: the loop says %llu, the serdes %llu", name, (unsigned long long)result,
					 (unsigned long long)expected);
		ratios[pair] = ours[pair] / loop_ns;
		bare += loop_ns / PAIRS;
	}
	qsort(ours, PAIRS, sizeof(double), by_value);
	printf("%-34s %7.1f ns a row of %.1f bytes", name, ours[PAIRS / 2], (double)p->text.size / (double)p->rows);
	if (loop != NULL) {
		qsort(ratios, PAIRS, sizeof(double), by_value);
		printf("; loop %7.1f; ratio %.2f (%.2f to %.2f)", bare, ratios[PAIRS / 2], ratios[0], ratios[PAIRS - 1]);
	}
	printf("\n");
	for (int pair = 0; loop != NULL && getenv("SERDE_BENCH_RATIOS") != NULL && pair < PAIRS; pair++)
		printf("%s%.4f%s", pair == 0 ? "ratios: " : " ", ratios[pair], pair + 1 < PAIRS ? "" : "\n");
	free(out);
}

/* --- what is read ---------------------------------------------------------------------------------------------------- */

static flow_slice
csv_text(void)
{
	static const char *const carriers[] = { "UA", "AA", "B6", "DL", "EV", "MQ", "US", "9E" };
	static const char *const airports[] = { "EWR", "JFK", "LGA", "IAH", "MIA", "ATL", "ORD", "FLL" };
	char *text = malloc((uint64_t)CSV_ROWS * 128 + 1024);
	char *at =
		text +
		sprintf(text,
				"year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,"
				"tailnum,origin,dest,air_time,distance,hour,minute,time_hour\n");
	uint64_t seed = 1;
	for (unsigned i = 0; i < CSV_ROWS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		unsigned r = (unsigned)(seed >> 33);
		unsigned hour = 5 + i / 60 % 18;
		int delay = (int)(r % 64) - 12;
		char late[16];
		sprintf(late, "%d", delay);
		at += sprintf(at, "2013,%u,%u,%u,%u,%s,%u,%u,%d,%s,%u,N%u,%s,%s,%u,%u,%u,%u,2013-01-%02uT%02u:00:00Z\n",
					  1 + r % 12, 1 + r % 28, hour * 100 + r % 60, hour * 100 + r % 50, r % 50 == 0 ? "NA" : late,
					  hour * 100 + 200 + r % 60, hour * 100 + 200 + r % 50, delay - 3, carriers[r % 8], r % 6000,
					  10000 + r % 80000, airports[r % 3], airports[r >> 3 & 7], 40 + r % 400, 200 + r % 2400, hour,
					  r % 60, 1 + i / 1080 % 31, hour);
	}
	return flow_slice_make(text, (uint64_t)(at - text));
}

static flow_slice
json_text(void)
{
	char *text = malloc((uint64_t)JSON_ROWS * 400 + 1024);
	char *at = text;
	uint64_t seed = 7;
	for (unsigned i = 0; i < JSON_ROWS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		unsigned r = (unsigned)(seed >> 33);
		at += sprintf(at,
					  "{\"id\":%u,\"time\":\"2024-03-%02uT%02u:%02u:%02uZ\",\"user\":\"user-%06u@example.org\","
					  "\"status\":%u,\"path\":"
					  "\"/articles/%u/comments/%u?page=%u&order=newest\",\"agent\":\"Mozilla/5.0 (X11; Linux x86_64) "
					  "AppleWebKit/537.36 "
					  "(KHTML, like Gecko) Chrome/122.0.0.0 Safari/537.36\",\"bytes\":%u}\n",
					  1000000 + i, 1 + r % 28, r % 24, r % 60, r % 60, r % 1000000, 200 + r % 4 * 100, r % 100000,
					  r % 1000, r % 50, r % 100000);
	}
	return flow_slice_make(text, (uint64_t)(at - text));
}

static const char *const csv_options[] = {
	"null_token=NA",
	"fields.year=int64",
	"fields.month=int64",
	"fields.day=int64",
	"fields.dep_time=int64?",
	"fields.sched_dep_time=int64",
	"fields.dep_delay=int64?",
	"fields.arr_time=int64?",
	"fields.sched_arr_time=int64",
	"fields.arr_delay=int64?",
	"fields.flight=int64",
	"fields.carrier=string",
	"fields.origin=string",
	"fields.dest=string",
	"fields.air_time=int64?",
	"fields.distance=int64",
	"fields.hour=int64",
	"fields.minute=int64",
	"fields.time_hour=timestamp",
	NULL,
};
static const char *const json_options[] = { "fields.id=int64",    "fields.time=string",
											"fields.user=string", "fields.status=int64",
											"fields.path=string", "fields.agent=string",
											"fields.bytes=int64", NULL };

static void
measure_csv(fixture *f, double seconds)
{
	struct pipeline p = { .f = f, .text = csv_text(), .write = 1, .out = buffer_create() };
	fixture_serde_open(f, "csv", csv_options, &p.reader);
	fixture_serde_open(f, "json", NULL, &p.writer);
	p.schema = fixture_decoded_schema(&p.reader, p.text.data, 4096);
	measure("csv, 19 typed columns -> json", &p, loop_csv_to_json, seconds);
	p.write = 0;
	p.reads_only = 1;
	measure("csv, 19 typed columns", &p, loop_csv_read, seconds);
	static const uint32_t three[] = { 5, 9, 18 };
	p.fields = three;
	p.field_count = 3;
	measure("csv, 3 of 19 columns", &p, NULL, seconds);
	free((void *)(uintptr_t)p.text.data);
	buffer_destroy(p.out);
}

/* Beside simdjson's full parse and the same encoder over batches that are there already. */
static void
measure_json_to_avro(fixture *f, double seconds)
{
	struct pipeline p = { .f = f, .text = json_text(), .write = 1, .reads_only = 1, .out = buffer_create() };
	fixture_serde_open(f, "json", json_options, &p.reader);
	fixture_serde_open(f, "avro", NULL, &p.writer);
	p.schema = fixture_decoded_schema(&p.reader, NULL, 0);
	fixture_rows *rows = fixture_decode(&p.reader, p.text.data, p.text.size, 0);
	p.prepared = rows->batches;
	p.prepared_count = (uint32_t)rows->batch_count;
	measure("json, 7 fields -> avro container", &p, loop_json_parse, seconds);
	free((void *)(uintptr_t)p.text.data);
	buffer_destroy(p.out);
}

static void
measure_json(fixture *f, double seconds)
{
	struct pipeline p = { .f = f,
						  .text = json_text(),
						  .write = 1,
						  .out = buffer_create(),
						  .filter_field = 3,
						  .filter_above = 200,
						  .kept = { 0, 1, 2, 3 } };
	fixture_serde_open(f, "json", json_options, &p.reader);
	fixture_serde_open(f, "json", NULL, &p.writer);
	p.schema = fixture_decoded_schema(&p.reader, NULL, 0);
	p.written = fixture_schema(f, "record(id:int64,time:string,user:string,status:int64)");
	static const uint32_t four[] = { 0, 1, 2, 3 };
	p.fields = four;
	p.field_count = 4;
	p.kept_count = 4;
	measure("json -> filter, 4 of 7 -> json", &p, loop_json_filter, seconds);
	p.kept_count = 0;
	p.fields = NULL;
	measure("json, 7 declared fields -> json", &p, NULL, seconds);
	fixture_serde_open(f, "json", NULL, &p.reader);
	p.schema = fixture_decoded_schema(&p.reader, NULL, 0);
	measure("json, untyped -> json", &p, NULL, seconds);
	p.write = 0;
	measure("json, untyped", &p, NULL, seconds);
	free((void *)(uintptr_t)p.text.data);
	buffer_destroy(p.out);
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	fixture *f = fixture_create();
	if (argc < 3 || strcmp(argv[2], "csv") == 0)
		measure_csv(f, seconds);
	if (argc < 3 || strcmp(argv[2], "json") == 0)
		measure_json(f, seconds);
	if (argc < 3 || strcmp(argv[2], "json-avro") == 0)
		measure_json_to_avro(f, seconds);
	fixture_destroy(f);
	return 0;
}
