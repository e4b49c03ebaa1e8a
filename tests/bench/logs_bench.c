/*
 * What a line costs in the serdes of logs, beside a bare loop doing the least of it.
 *
 *     logs_bench [seconds [name]]      about so long for each measurement (default 1), of those with that in their name
 *
 * Lines of a web server's log, about 190 bytes. Beside regex: the same pattern, compiled by PCRE2, matched line by line and nothing
 * else. Beside logfmt: a search for the line ends, the blanks and the '=' of each pair.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "bench/six_fields.h"
#include "support/serde_trials.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* By hand, for these lines. */
static const char hand[] =
	"(?<clientip>\\S+) (?<ident>\\S+) (?<auth>\\S+) \\[(?<timestamp>[^\\]]+)\\] \"(?:(?<verb>\\w+) "
	"(?<request>\\S+)(?: HTTP/(?<httpversion>[0-9.]+))?)\" (?:(?<response>\\d+)|-) (?:(?<bytes>\\d+)|-) "
	"(?<referrer>\"[^\"]*\") (?<agent>\"[^\"]*\")";

struct bench {
	fixture *f;
	char *text;
	uint64_t size;
	fixture_serde serde;
	const flow_schema *schema;
	pcre2_code *code;
	pcre2_match_data *data;
	uint64_t sum; /* so that nothing is left out */
};

static void
read_lines(void *context)
{
	struct bench *b = context;
	flow_decoder_request request = { .struct_size = FLOW_SIZEOF(request) };
	flow_decoder *decoder = NULL;
	flow_builder *builder = builder_create(b->f->pool, 0, 0);
	b->serde.ops->decoder_open(b->serde.serde, &request, &decoder, NULL);
	batch_head head = { .schema = b->schema };
	for (uint64_t at = 0; at < b->size;) {
		flow_window window = { .struct_size = FLOW_SIZEOF(window),
							   .final = 1,
							   .data = b->text + at,
							   .size = b->size - at,
							   .offset = (int64_t)at };
		if (b->serde.ops->decode(decoder, &window, builder, &b->f->error) != FLOW_OK)
			fail_msg("%s", error_message(&b->f->error));
		at += window.consumed;
		flow_batch *batch = builder_finish(builder, &head);
		b->sum += batch->row_count;
		batch_release(batch);
	}
	b->serde.ops->decoder_close(decoder);
	builder_destroy(builder);
}

static void
match_lines(void *context)
{
	struct bench *b = context;
	const char *end = b->text + b->size;
	for (const char *line = b->text, *feed; line < end; line = feed + 1) {
		feed = memchr(line, '\n', (size_t)(end - line));
		b->sum += (uint64_t)pcre2_match(b->code, (PCRE2_SPTR)line, (PCRE2_SIZE)(feed - line), 0, PCRE2_NO_UTF_CHECK,
										b->data, NULL);
	}
}

static void
scan_pairs(void *context)
{
	struct bench *b = context;
	const char *end = b->text + b->size;
	for (const char *line = b->text, *feed; line < end; line = feed + 1) {
		feed = memchr(line, '\n', (size_t)(end - line));
		for (const char *c = line; c < feed; c++)
			b->sum += *c == '=' || *c == ' ';
	}
}

static void
make_lines(struct bench *b, int as_pairs)
{
	struct record *records = six_records();
	b->text = malloc(RECORDS * 256);
	assert_non_null(b->text);
	b->size = 0;
	for (uint32_t i = 0; i < RECORDS; i++) {
		const struct record *r = &records[i];
		const char *form = as_pairs
							   ? "level=info ip=203.0.113.%d user=%s msg=\"GET /orders/%lld HTTP/1.1\" status=200 "
								 "bytes=%d note=\"%s\"\n"
							   : "203.0.113.%d - %s [10/Oct/2000:13:55:36 -0700] \"GET /orders/%lld HTTP/1.1\" 200 %d "
								 "\"http://www.example.org/%s\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n";
		b->size +=
			(uint64_t)sprintf(b->text + b->size, form, r->count, r->name, (long long)r->id, r->count * 77, r->note);
	}
	free(records);
}

static void
compile(struct bench *b)
{
	char pattern[512];
	snprintf(pattern, sizeof(pattern), "\\A(?:%s)\\z", hand);
	int code;
	PCRE2_SIZE offset;
	b->code = pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern), PCRE2_UTF, &code, &offset, NULL);
	assert_non_null(b->code);
	pcre2_jit_compile(b->code, PCRE2_JIT_COMPLETE);
	b->data = pcre2_match_data_create_from_pattern(b->code, NULL);
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	pairs_only = argc > 2 ? argv[2] : "";
	struct bench b = { .f = fixture_create() };
	compile(&b);
	make_lines(&b, 0);
	fixture_serde_open(b.f, "regex", OPTIONS(trial_assignment(b.f, "pattern", hand), "fields.bytes=int64?"), &b.serde);
	b.schema = fixture_decoded_schema(&b.serde, NULL, 0);
	pairs_measure("regex, 11 groups", &b, read_lines, match_lines, RECORDS, seconds, 0.5);
	fixture_serde_open(b.f, "regex", OPTIONS("pattern=\"%{COMBINEDAPACHELOG}\"", "fields.bytes=int64?"), &b.serde);
	b.schema = fixture_decoded_schema(&b.serde, NULL, 0);
	pairs_measure("regex, COMBINEDAPACHELOG", &b, read_lines, match_lines, RECORDS, seconds, 0);
	make_lines(&b, 1);
	fixture_serde_open(b.f, "logfmt",
					   OPTIONS("fields.level=string", "fields.status=int64", "fields.msg=string", "fields.bytes=int64"),
					   &b.serde);
	b.schema = fixture_decoded_schema(&b.serde, NULL, 0);
	pairs_measure("logfmt, 4 of 7 keys", &b, read_lines, scan_pairs, RECORDS, seconds, 0);
	fixture_serde_open(b.f, "logfmt", NULL, &b.serde);
	b.schema = fixture_decoded_schema(&b.serde, NULL, 0);
	pairs_measure("logfmt, a map", &b, read_lines, scan_pairs, RECORDS, seconds, 0);
	return b.sum == 0;
}
