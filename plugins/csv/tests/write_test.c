/* Writing CSV, and that every reader takes back what was written. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "support/batch_text.h"
#include "support/case_files.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
check_written(const char *const *options, const char *schema, const char *rows, const char *expected)
{
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", options, &csv);
	flow_batch *batch = fixture_batch(f, fixture_schema(f, schema), rows);
	fixture_bytes *bytes = fixture_encode(&csv, batch, 0);
	for (uint32_t i = 0; i < batch->row_count; i++)
		assert_int_equal(bytes->statuses[i], FLOW_OK);
	assert_string_equal(bytes->data, expected);
	fixture_destroy(f);
}

static void
fields_are_quoted_where_a_reader_needs_it(void **state)
{
	(void)state;
	check_written(NULL, "record(a:string,b:int64)",
				  "{\"a\":\"plain text\",\"b\":-5}\n{\"a\":\"x,y\",\"b\":1}\n{\"a\":\"say \\\"hi\\\"\",\"b\":2}\n"
				  "{\"a\":\"l\\nm\",\"b\":3}\n{\"a\":\"\\r\",\"b\":4}\n{\"a\":\"\",\"b\":5}\n",
				  "a,b\nplain text,-5\n\"x,y\",1\n\"say \"\"hi\"\"\",2\n\"l\nm\",3\n\"\r\",4\n,5\n");
	check_written(OPTIONS("delimiter=\";\"", "quote=\"'\""), "record(a:string,b:string)",
				  "{\"a\":\"x;y\",\"b\":\"it's, ok\"}\n", "a;b\n'x;y';'it''s, ok'\n");
}

static void
null_and_texts_that_look_like_it_stay_apart(void **state)
{
	(void)state;
	check_written(OPTIONS("null_token=NA"), "record(a:string?,b:int64?)",
				  "{\"a\":null,\"b\":null}\n{\"a\":\"NA\",\"b\":1}\n{\"a\":\"\",\"b\":2}\n",
				  "a,b\nNA,NA\n\"NA\",1\n,2\n");
	check_written(OPTIONS("null_token=\"\""), "record(a:string?)", "{\"a\":null}\n{\"a\":\"\"}\n", "a\n\n\"\"\n");
	check_written(OPTIONS("null_token=\"-1\""), "record(a:int64?)", "{\"a\":null}\n{\"a\":-1}\n{\"a\":1}\n",
				  "a\n-1\n\"-1\"\n1\n");
	check_written(OPTIONS("null_token=\"2013-01-02\""), "record(a:date?,b:int64)",
				  "{\"a\":null,\"b\":1}\n{\"a\":\"2013-01-02\",\"b\":2}\n{\"a\":\"2013-01-03\",\"b\":3}\n",
				  "a,b\n2013-01-02,1\n\"2013-01-02\",2\n2013-01-03,3\n");
	check_written(OPTIONS("delimiter=\":\""), "record(a:timestamp,b:date)",
				  "{\"a\":\"2013-01-01T10:00:00Z\",\"b\":\"2013-01-02\"}\n",
				  "a:b\n\"2013-01-01T10:00:00Z\":2013-01-02\n");
	check_written(OPTIONS("header=false"), "record(a:string)", "{\"a\":\"\"}\n", "\"\"\n");
	check_written(NULL, "record(a:string,b:string)", "{\"a\":\"\\ufeffx\",\"b\":\"\\ufeffy\"}\n",
				  "a,b\n\"\xEF\xBB\xBFx\",\xEF\xBB\xBFy\n");
	check_written(OPTIONS("comment=\"#\""), "record(a:string,b:string)", "{\"a\":\"#x\",\"b\":\"#y\"}\n",
				  "a,b\n\"#x\",#y\n");
}

static void
escapes_are_escaped(void **state)
{
	(void)state;
	check_written(OPTIONS("escape=\"\\\\\""), "record(a:string)", "{\"a\":\"b\\\\c\"}\n{\"a\":\"d\\\"e\"}\n",
				  "a\n\"b\\\\c\"\n\"d\\\"e\"\n");
}

static void
numbers_and_times_are_written_as_they_are_read(void **state)
{
	(void)state;
	const char *fields[] = { "fields.u=uint64",    "fields.f=float64", "fields.d=decimal", "fields.b=bool",
							 "fields.t=timestamp", "fields.y=date",    "fields.i=uuid",    NULL };
	const char *text = "u,f,d,b,t,y,i\n18446744073709551615,0.1,-1.50,true,2013-01-01T10:00:00Z,2013-01-02,"
					   "123e4567-e89b-12d3-a456-426614174000\n";
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", fields, &csv);
	fixture_rows *rows = fixture_decode(&csv, text, strlen(text), 0);
	assert_int_equal(rows->row_count, 1);
	assert_string_equal(fixture_encode(&csv, rows->batches[0], 0)->data, text);
	fixture_destroy(f);
}

static void
what_was_written_is_read_again(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	static const char *const options[][8] = {
		{ "null_token=\"\\\\N\"", "fields.id=int64", "fields.a=string?", "fields.b=string?", NULL },
		{ "null_token=\"\"", "fields.id=int64", "fields.a=string?", "fields.b=string?", NULL },
		{ "null_token=\"\"", "escape=\"\\\\\"", "fields.id=int64", NULL },
	};
	flow_slice input = case_file(f, "csv/01-null-is-not-empty/input.csv");
	for (size_t i = 0; i < FLOW_COUNT(options); i++) {
		fixture_serde csv;
		fixture_serde_open(f, "csv", options[i], &csv);
		fixture_rows *first = fixture_decode(&csv, input.data, input.size, 0);
		assert_int_equal(first->row_count, 9);
		fixture_bytes *bytes = fixture_encode(&csv, first->batches[0], 0);
		fixture_rows *second = fixture_decode(&csv, bytes->data, bytes->size, 5);
		assert_string_equal(fixture_rows_text(second), fixture_rows_text(first));
		assert_int_equal(second->rejection_count, 0);
	}
	fixture_destroy(f);
}

static void
the_case_of_quotes_and_delimiters_comes_out_as_its_rows(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", OPTIONS("delimiter=\";\""), &csv);
	flow_slice input = case_file(f, "csv/02-quotes-and-delimiters/input.csv");
	flow_slice expected = case_file(f, "csv/02-quotes-and-delimiters/expected.csv");
	fixture_rows *rows = fixture_decode(&csv, input.data, input.size, 0);
	fixture_bytes *bytes = fixture_encode(&csv, rows->batches[0], 0);
	assert_string_equal(bytes->data, expected.data);
	fixture_destroy(f);
}

static void
check_unwritable(const char *const *options, const char *schema, const char *message)
{
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", options, &csv);
	assert_int_equal(csv.ops->check_encodable(csv.serde, fixture_schema(f, schema), &f->error), FLOW_E_TYPE);
	if (strstr(error_message(&f->error), message) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", error_message(&f->error), message);
	fixture_destroy(f);
}

static void
types_without_a_column_are_refused_before_the_run(void **state)
{
	(void)state;
	check_unwritable(NULL, "record(a:list<int64>)", "\"a\"");
	check_unwritable(NULL, "record(a:int64,b:string?)", "null_token");
	check_unwritable(NULL, "int64", "records");
}

/* Any text in any field, under any options, comes back. */
static void
random_texts_come_back(void **state)
{
	(void)state;
	static const char alphabet[] = ",;\"'\n\r\\#aN\xC3\xA9 \t-";
	static const char *const options[][6] = {
		{ "fields.a=bytes", "fields.b=bytes", NULL },
		{ "fields.a=bytes?", "fields.b=bytes?", "null_token=[\"N\", \"\"]", "comment=\"#\"", NULL },
		{ "fields.a=bytes?", "fields.b=bytes?", "null_token=\"\\\\N\"", "escape=\"\\\\\"", "delimiter=\";\"", NULL },
		{ "fields.a=bytes", "fields.b=bytes", "header=false", "quote=\"'\"", NULL },
	};
	uint64_t seed = 42;
	for (size_t o = 0; o < FLOW_COUNT(options); o++) {
		fixture *f = fixture_create();
		fixture_serde csv;
		fixture_serde_open(f, "csv", options[o], &csv);
		int nullable = strstr(options[o][0], "?") != NULL;
		flow_builder *builder = builder_create(f->pool, 0, 0);
		for (int row = 0; row < 1000; row++) {
			flow_value *cells = flow_builder_cells(builder, 2);
			for (int i = 0; i < 2; i++) {
				char text[12];
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				uint64_t size = seed >> 60 > 11 ? 0 : seed >> 60;
				for (uint64_t k = 0; k < size; k++) {
					seed = seed * 6364136223846793005u + 1442695040888963407u;
					text[k] = alphabet[(seed >> 33) % (sizeof(alphabet) - 1)];
				}
				cells[i] = flow_bytes(flow_builder_copy(builder, text, size), (uint32_t)size);
				if (nullable && (seed >> 50 & 7) == 0)
					cells[i] = flow_null();
			}
			flow_builder_add(builder, flow_record(cells, 2));
		}
		batch_head head = { .schema =
								fixture_schema(f, nullable ? "record(a:bytes?,b:bytes?)" : "record(a:bytes,b:bytes)") };
		flow_batch *batch = builder_finish(builder, &head);
		fixture_bytes *bytes = fixture_encode(&csv, batch, 0);
		fixture_rows *rows = fixture_decode(&csv, bytes->data, bytes->size, o == 0 ? 0 : 11);
		char *expected = batch_print(batch);
		assert_string_equal(fixture_rows_text(rows), expected);
		assert_int_equal(rows->rejection_count, 0);
		free(expected);
		batch_release(batch);
		builder_destroy(builder);
		fixture_destroy(f);
	}
}

/* Cut off at any byte, or with any bit flipped: rows and rejections, never a failure, and the same for every window. */
static void
damaged_files_never_fail(void **state)
{
	(void)state;
	const char *text = "id,name,t\n1,\"o,n\"\"e\",2013-01-01T10:00:00Z\n2,\xC3\xA9,2013-01-01T11:00:00Z\r\n3,\"a\nb\","
					   "NA\n\n4,,\"2013-01-01\"\n";
	const char *const options[] = { "null_token=NA",       "fields.id=int64?", "fields.name=string?",
									"fields.t=timestamp?", "header=false",     NULL };
	uint64_t size = strlen(text);
	for (uint64_t cut = 1; cut <= size; cut++) {
		fixture *f = fixture_create();
		fixture_serde csv;
		fixture_serde_open(f, "csv", options, &csv);
		fixture_rows *whole = fixture_decode(&csv, text, cut, 0);
		fixture_rows *bytewise = fixture_decode(&csv, text, cut, 1);
		assert_int_equal(whole->status, FLOW_OK);
		assert_string_equal(fixture_rows_text(whole), fixture_rows_text(bytewise));
		assert_int_equal(whole->rejection_count, bytewise->rejection_count);
		fixture_destroy(f);
	}
	for (uint64_t bit = 0; bit < size * 8; bit++) {
		char damaged[256];
		memcpy(damaged, text, size + 1);
		damaged[bit / 8] = (char)(damaged[bit / 8] ^ 1 << bit % 8);
		fixture *f = fixture_create();
		fixture_serde csv;
		fixture_serde_open(f, "csv", options, &csv);
		fixture_rows *whole = fixture_decode(&csv, damaged, size, 0);
		fixture_rows *bytewise = fixture_decode(&csv, damaged, size, 3);
		assert_int_equal(whole->status, FLOW_OK);
		assert_string_equal(fixture_rows_text(whole), fixture_rows_text(bytewise));
		assert_int_equal(whole->rejection_count, bytewise->rejection_count);
		fixture_destroy(f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_quoted_where_a_reader_needs_it),
		cmocka_unit_test(null_and_texts_that_look_like_it_stay_apart),
		cmocka_unit_test(escapes_are_escaped),
		cmocka_unit_test(numbers_and_times_are_written_as_they_are_read),
		cmocka_unit_test(what_was_written_is_read_again),
		cmocka_unit_test(the_case_of_quotes_and_delimiters_comes_out_as_its_rows),
		cmocka_unit_test(types_without_a_column_are_refused_before_the_run),
		cmocka_unit_test(random_texts_come_back),
		cmocka_unit_test(damaged_files_never_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
