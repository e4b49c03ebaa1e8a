/* Reading Avro: container files and datums, resolution, damage, limits; the cases of tests/cases/avro that need no process. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/case_files.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const uint64_t window_sizes[] = { 1, 7, 64, 300, 0 };

static char *
copy_of(fixture *f, const char *text, size_t size)
{
	return arena_copy(f->arena, text, size);
}

static flow_slice
from_hex(fixture *f, const char *hex)
{
	size_t size = strlen(hex) / 2;
	char *bytes = arena_allocate_zeroed(f->arena, size + 1);
	for (size_t i = 0; i < size; i++) {
		unsigned byte;
		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		bytes[i] = (char)byte;
	}
	return flow_slice_make(bytes, size);
}

static const char *
to_hex(fixture *f, const char *data, uint64_t size)
{
	char *text = arena_allocate_zeroed(f->arena, size * 2 + 1);
	for (uint64_t i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", (unsigned char)data[i]);
	return text;
}

/* The option schema=... as an assignment takes it. */
static const char *
schema_option(fixture *f, const char *name, const char *schema)
{
	char *text = arena_allocate_zeroed(f->arena, strlen(schema) * 2 + 64);
	char *to = text + sprintf(text, "%s=\"", name);
	for (const char *c = schema; *c != '\0'; c++) {
		if (*c == '\n' || *c == '\r')
			continue;
		if (*c == '"' || *c == '\\')
			*to++ = '\\';
		*to++ = *c;
	}
	strcpy(to, "\"");
	return text;
}

static void
open_with_schema(fixture *f, const char *schema, fixture_serde *serde)
{
	fixture_serde_open(f, "avro", OPTIONS(schema_option(f, "schema", schema)), serde);
}

static const char *
schema_text(fixture *f, const json_t *schema)
{
	char *text = json_dumps(schema, JSON_ENCODE_ANY);
	const char *copy = copy_of(f, text, strlen(text));
	free(text);
	return copy;
}

static json_t *
load_json(fixture *f, const char *path)
{
	flow_slice text = case_file(f, path);
	json_error_t error;
	json_t *json = json_loadb(text.data, text.size, JSON_DECODE_ANY, &error);
	if (json == NULL)
		fail_msg("%s: %s", path, error.text);
	return json;
}

static const char *
string_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

/* The same rows and the same end in windows of every size, also with a new decoder behind each one. */
static fixture_rows *
decode_all_ways(fixture_serde *serde, flow_slice bytes)
{
	fixture_rows *whole = fixture_decode(serde, bytes.data, bytes.size, 0);
	const char *error =
		copy_of(serde->fixture, error_message(&serde->fixture->error), strlen(error_message(&serde->fixture->error)));
	for (size_t i = 0; i < 2 * FLOW_COUNT(window_sizes); i++) {
		fixture_decoding how = { .window_bytes = window_sizes[i / 2],
								 .restore_each = i % 2,
								 .batch_rows = i % 2 ? 3 : 0 };
		fixture_rows *rows = fixture_decode_with(serde, bytes.data, bytes.size, &how);
		assert_int_equal(rows->status, whole->status);
		assert_string_equal(fixture_rows_text(rows), fixture_rows_text(whole));
		assert_int_equal(rows->rejection_count, whole->rejection_count);
		if (whole->status < 0)
			assert_string_equal(error_message(&serde->fixture->error), error);
	}
	return whole;
}

/* The same JSON lines, keys in any order. */
static void
check_lines(const char *got, const char *expected)
{
	while (*got != '\0' || *expected != '\0') {
		size_t size = strcspn(got, "\n"), expected_size = strcspn(expected, "\n");
		json_t *a = json_loadb(got, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL),
			   *b = json_loadb(expected, expected_size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		if (a == NULL || b == NULL || !json_equal(a, b))
			fail_msg("%.*s\nis not\n%.*s", (int)size, got, (int)expected_size, expected);
		json_decref(a);
		json_decref(b);
		got += size + (got[size] == '\n');
		expected += expected_size + (expected[expected_size] == '\n');
	}
}

/* --- the cases --- */

static void
decimals_in_bytes_are_numbers_and_come_back_as_the_same_bytes(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	json_t *vectors = load_json(f, "avro/01-decimal-bytes/vectors.json");
	fixture_serde avro;
	open_with_schema(f, case_file(f, "avro/01-decimal-bytes/schema.avsc").data, &avro);
	size_t i;
	json_t *vector;
	json_array_foreach(vectors, i, vector)
	{
		flow_slice datum = from_hex(f, string_of(vector, "datum_hex"));
		fixture_rows *rows = fixture_decode_records(&avro, &datum, 1);
		assert_int_equal(rows->rejection_count, 0);
		const char *expected = arena_format(f->arena, "{\"amount\":%s}\n", string_of(vector, "amount"));
		assert_string_equal(fixture_rows_text(rows), expected);
		fixture_bytes *back = fixture_encode(&avro, rows->batches[0], 1);
		/* The case says "fewest bytes", and gives ff80 for -128, of which the second byte alone is the same number. */
		int redundant = strcmp(string_of(vector, "datum_hex"), "04ff80") == 0;
		assert_string_equal(to_hex(f, back->data, back->size), redundant ? "0280" : string_of(vector, "datum_hex"));
	}
	json_decref(vectors);
	fixture_destroy(f);
}

static void
containers_of_the_cases_read_as_their_json_says(void **state)
{
	(void)state;
	static const struct {
		const char *file, *reader, *expected;
	} files[] = {
		{ "avro/05-resolution-with-defaults/written.avro", "avro/05-resolution-with-defaults/reader.avsc",
		  "avro/05-resolution-with-defaults/expected.jsonl" },
		{ "avro/06-aliases-and-enum-default/written.avro", "avro/06-aliases-and-enum-default/reader.avsc",
		  "avro/06-aliases-and-enum-default/expected.jsonl" },
		{ "avro/07-truncated-container/whole.avro", NULL, "avro/07-truncated-container/expected.jsonl" },
		{ "avro/10-recursive-schema/list.avro", NULL, "avro/10-recursive-schema/expected.list.jsonl" },
		{ "avro/10-recursive-schema/tree.avro", NULL, "avro/10-recursive-schema/expected.tree.jsonl" },
	};
	for (size_t i = 0; i < FLOW_COUNT(files); i++) {
		fixture *f = fixture_create();
		fixture_serde avro;
		if (files[i].reader == NULL)
			fixture_serde_open(f, "avro", NULL, &avro);
		else
			open_with_schema(f, case_file(f, files[i].reader).data, &avro);
		fixture_rows *rows = decode_all_ways(&avro, case_file(f, files[i].file));
		if (rows->status != FLOW_OK)
			fail_msg("%s", error_message(&f->error));
		assert_int_equal(rows->rejection_count, 0);
		const char *expected = case_json(f, files[i].expected, 0);
		check_lines(fixture_rows_text(rows), expected);
		fixture_destroy(f);
	}
}

static void
resolved_records_are_written_as_the_readers_schema_says(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde avro;
	open_with_schema(f, case_file(f, "avro/05-resolution-with-defaults/reader.avsc").data, &avro);
	fixture_rows *rows = decode_all_ways(&avro, case_file(f, "avro/05-resolution-with-defaults/written.avro"));
	assert_int_equal(rows->row_count, 2);
	fixture_bytes *bytes = fixture_encode(&avro, rows->batches[0], 1);
	const char *hex = to_hex(f, bytes->data, bytes->size);
	char *expected = copy_of(f, case_file(f, "avro/05-resolution-with-defaults/expected.hex").data, 332);
	char *to = expected;
	for (const char *from = expected; *from != '\0'; from++)
		if (*from != '\n')
			*to++ = *from;
	*to = '\0';
	assert_string_equal(hex, expected);
	fixture_destroy(f);
}

static void
unknown_symbols_without_default_are_record_errors_with_field_and_symbol(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde avro;
	open_with_schema(f, case_file(f, "avro/06-aliases-and-enum-default/reader-without-default.avsc").data, &avro);
	fixture_rows *rows = decode_all_ways(&avro, case_file(f, "avro/06-aliases-and-enum-default/written.avro"));
	assert_string_equal(fixture_rows_text(rows),
						case_json(f, "avro/06-aliases-and-enum-default/expected.without-default.jsonl", 0));
	assert_int_equal(rows->rejection_count, 2);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(rows->rejections[i].field, "rank");
		assert_non_null(strstr(rows->rejections[i].reason, i == 0 ? "'TOP'" : "'MID'"));
	}
	fixture_destroy(f);
}

static void
files_that_are_cut_give_their_whole_blocks_and_an_error_with_the_offset(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	json_t *cuts = load_json(f, "avro/07-truncated-container/cuts.json");
	size_t i;
	json_t *cut;
	json_array_foreach(cuts, i, cut)
	{
		fixture_serde avro;
		open_with_schema(f,
						 "{\"type\":\"record\",\"name\":\"Line\",\"aliases\":[\"R\"],\"fields\":[{\"name\":\"n\","
						 "\"type\":\"int\"},{\"name\":\"text\",\"type\":\"string\"}]}",
						 &avro);
		const char *path = arena_format(f->arena, "avro/07-truncated-container/%s", string_of(cut, "file"));
		fixture_rows *rows = decode_all_ways(&avro, case_file(f, path));
		if (rows->row_count != (uint64_t)json_integer_value(json_object_get(cut, "records")))
			fail_msg("%s: %llu rows: %s", path, (unsigned long long)rows->row_count, error_message(&f->error));
		int bad = strcmp(string_of(cut, "outcome"), "error") == 0;
		assert_int_equal(rows->status < 0, bad);
		if (!bad)
			continue;
		const char *place =
			arena_format(f->arena, "offset %lld", json_integer_value(json_object_get(cut, "error_at_byte")));
		if (strstr(error_message(&f->error), place) == NULL || strstr(error_message(&f->error), "test") == NULL)
			fail_msg("%s: '%s' does not say '%s'", path, error_message(&f->error), place);
	}
	json_decref(cuts);
	fixture_destroy(f);
}

/* The field n of the rows must be those of `numbers`; those of `optional` may be there too. */
static void
check_numbers(const fixture_rows *rows, const json_t *numbers, const json_t *optional)
{
	size_t next = 0, extra = 0;
	for (size_t b = 0; b < rows->batch_count; b++) {
		for (FLOW_ROWS(rows->batches[b], i)) {
			int64_t n = flow_batch_field(rows->batches[b], i, 0)->as.int64;
			if (next < json_array_size(numbers) && json_integer_value(json_array_get(numbers, next)) == n)
				next++;
			else if (extra < json_array_size(optional) && json_integer_value(json_array_get(optional, extra)) == n)
				extra++;
			else
				fail_msg("%lld is not expected here", (long long)n);
		}
	}
	assert_int_equal(next, json_array_size(numbers));
}

static void
damaged_blocks_are_errors_at_their_offset_or_are_passed_over_and_reported(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	json_t *outcomes = load_json(f, "avro/08-wrong-sync-marker/outcomes.json");
	size_t i;
	json_t *outcome;
	json_array_foreach(outcomes, i, outcome)
	{
		flow_slice file =
			case_file(f, arena_format(f->arena, "avro/08-wrong-sync-marker/%s", string_of(outcome, "file")));
		const json_t *optional = json_object_get(outcome, "optional_n");
		const char *place =
			arena_format(f->arena, "offset %lld", json_integer_value(json_object_get(outcome, "bad_block_offset")));
		fixture_serde strict, skipping;
		fixture_serde_open(f, "avro", NULL, &strict);
		fixture_rows *rows = decode_all_ways(&strict, file);
		assert_true(rows->status < 0);
		assert_non_null(strstr(error_message(&f->error), place));
		check_numbers(rows, json_object_get(outcome, "default_n"), optional);
		fixture_serde_open(f, "avro", OPTIONS("skip_bad_blocks=true"), &skipping);
		rows = fixture_decode(&skipping, file.data, file.size, 0);
		assert_int_equal(rows->status, FLOW_OK);
		check_numbers(rows, json_object_get(outcome, "skip_n"), optional);
		assert_int_equal(rows->rejection_count, 1);
		assert_non_null(strstr(rows->rejections[0].reason, place));
		assert_non_null(strstr(rows->rejections[0].reason, "bytes were passed over"));
	}
	json_decref(outcomes);
	fixture_destroy(f);
}

static void
lengths_that_the_data_cannot_hold_are_refused_at_once(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	json_t *datums = load_json(f, "avro/09-huge-lengths/datums.json");
	size_t i;
	json_t *datum;
	json_array_foreach(datums, i, datum)
	{
		fixture_serde avro;
		open_with_schema(f, schema_text(f, json_object_get(datum, "schema")), &avro);
		flow_slice bytes = from_hex(f, string_of(datum, "hex"));
		fixture_rows *rows = fixture_decode_records(&avro, &bytes, 1);
		if (rows->rejection_count != 1)
			fail_msg("%s: was read", string_of(datum, "name"));
	}
	json_decref(datums);
	static const char *const files[] = { "count-2-40", "size-2-40", "size-negative", "count-negative",
										 "empty-records-2-40" };
	for (i = 0; i < FLOW_COUNT(files); i++) {
		fixture_serde avro;
		fixture_serde_open(f, "avro", NULL, &avro);
		fixture_rows *rows =
			decode_all_ways(&avro, case_file(f, arena_format(f->arena, "avro/09-huge-lengths/%s.avro", files[i])));
		assert_true(rows->status < 0);
		assert_non_null(strstr(error_message(&f->error), "block at offset"));
	}
	fixture_destroy(f);
}

/* A list of `depth` records within each other, between two good ones. */
static flow_slice
deep_file(fixture *f, uint64_t depth)
{
	static const char head[] = "Obj\x01\x04\x16"
							   "avro.schema";
	static const char schema[] =
		"{\"type\":\"record\",\"name\":\"Node\",\"fields\":[{\"name\":\"value\",\"type\":\"long\"},"
		"{\"name\":\"next\",\"type\":[\"null\",\"Node\"],\"default\":null}]}";
	char *bytes = arena_allocate_zeroed(f->arena, depth * 2 + 1024);
	char *at = bytes;
	memcpy(at, head, sizeof(head) - 1);
	at += sizeof(head) - 1;
	*at++ = (char)((sizeof(schema) - 1) * 2 | 0x80);
	*at++ = (char)((sizeof(schema) - 1) * 2 >> 7);
	memcpy(at, schema, sizeof(schema) - 1);
	at += sizeof(schema) - 1;
	memcpy(at,
		   "\x14"
		   "avro.codec"
		   "\x08"
		   "null"
		   "\0",
		   17);
	at += 17;
	memcpy(at, "0123456789abcdef", 16);
	at += 16;
	*at++ = 6;
	for (uint64_t size = (depth * 2 + 6) * 2;; size >>= 7) {
		*at++ = (char)(size >= 0x80 ? size | 0x80 : size);
		if (size < 0x80)
			break;
	}
	memcpy(at, "\x02\0", 2);
	at += 2;
	memset(at, 2, depth * 2 + 1);
	at += depth * 2 + 1;
	memcpy(at,
		   "\0\x02\0"
		   "0123456789abcdef",
		   19);
	return flow_slice_make(bytes, (uint64_t)(at + 19 - bytes));
}

static void
depth_is_bounded_and_the_neighbours_of_a_deep_record_are_delivered(void **state)
{
	(void)state;
	static const uint64_t depths[] = { 100, 10000, 1000000 };
	for (size_t i = 0; i < FLOW_COUNT(depths); i++) {
		fixture *f = fixture_create();
		fixture_serde avro;
		fixture_serde_open(f, "avro", NULL, &avro);
		flow_slice bytes = deep_file(f, depths[i]);
		fixture_rows *rows = fixture_decode(&avro, bytes.data, bytes.size, 0);
		if (rows->status != FLOW_OK)
			fail_msg("%s", error_message(&f->error));
		assert_int_equal(rows->row_count, i == 0 ? 3 : 2);
		assert_int_equal(rows->rejection_count, i == 0 ? 0 : 1);
		if (i != 0)
			assert_non_null(strstr(rows->rejections[0].reason, "depth_limit (256)"));
		fixture_destroy(f);
	}
}

static void
malformed_datums_are_refused_and_unusual_ones_are_read(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	json_t *bad = load_json(f, "avro/11-malformed-datums/bad.json"),
		   *good = load_json(f, "avro/11-malformed-datums/good.json");
	size_t i;
	json_t *datum;
	json_array_foreach(bad, i, datum)
	{
		fixture_serde avro;
		open_with_schema(f, schema_text(f, json_object_get(datum, "schema")), &avro);
		flow_slice bytes = from_hex(f, string_of(datum, "hex"));
		fixture_rows *rows = fixture_decode_records(&avro, &bytes, 1);
		if (rows->rejection_count != 1)
			fail_msg("%s: was read as %s", string_of(datum, "name"), fixture_rows_text(rows));
		assert_non_null(strstr(rows->rejections[0].reason, "byte "));
	}
	json_array_foreach(good, i, datum)
	{
		fixture_serde avro;
		open_with_schema(f, schema_text(f, json_object_get(datum, "schema")), &avro);
		flow_slice bytes = from_hex(f, string_of(datum, "hex"));
		fixture_rows *rows = fixture_decode_records(&avro, &bytes, 1);
		char *value = json_dumps(json_object_get(datum, "value"), JSON_ENCODE_ANY | JSON_COMPACT);
		assert_int_equal(rows->rejection_count, 0);
		assert_string_equal(fixture_rows_text(rows), arena_format(f->arena, "%s\n", value));
		free(value);
	}
	json_decref(bad);
	json_decref(good);
	fixture_destroy(f);
}

static void
invalid_schemas_are_refused_when_the_serde_is_opened(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	json_t *schemas = load_json(f, "avro/13-schemas-to-refuse/schemas.json");
	size_t i;
	json_t *entry;
	json_array_foreach(schemas, i, entry)
	{
		fixture_serde avro;
		const char *option = schema_option(f, "schema", schema_text(f, json_object_get(entry, "schema")));
		flow_status status = fixture_try_serde_open(f, "avro", OPTIONS(option), &avro);
		if (strcmp(string_of(entry, "verdict"), "refuse") == 0 ? status == FLOW_OK : status != FLOW_OK)
			fail_msg("%s: %s", string_of(entry, "name"), status == FLOW_OK ? "was taken" : error_message(&f->error));
	}
	json_decref(schemas);
	fixture_destroy(f);
}

static void
single_objects_carry_the_fingerprint_of_the_canonical_form(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	json_t *schemas = load_json(f, "avro/14-canonical-form/schemas.json");
	size_t i;
	json_t *entry;
	json_array_foreach(schemas, i, entry)
	{
		const char *schema = schema_text(f, json_object_get(entry, "schema"));
		flow_slice fingerprint = from_hex(f, string_of(entry, "crc64_avro_hex_big_endian"));
		fixture_serde avro;
		fixture_serde_open(f, "avro", OPTIONS(schema_option(f, "schema", schema), "framing=single-object"), &avro);
		char head[64] = "\xC3\x01"; /* and a datum of zeros, which is one of each of these schemas but a few */
		for (int k = 0; k < 8; k++)
			head[2 + k] = fingerprint.data[7 - k];
		flow_slice bytes = flow_slice_make(head, sizeof(head));
		fixture_rows *rows = fixture_decode_records(&avro, &bytes, 1);
		assert_int_equal(rows->rejection_count, 1);
		assert_non_null(strstr(rows->rejections[0].reason, "bytes behind the end of the record"));
		head[2] ^= 1;
		rows = fixture_decode_records(&avro, &bytes, 1);
		assert_non_null(strstr(rows->rejections[0].reason, "fingerprint"));
	}
	json_decref(schemas);
	fixture_destroy(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decimals_in_bytes_are_numbers_and_come_back_as_the_same_bytes),
		cmocka_unit_test(containers_of_the_cases_read_as_their_json_says),
		cmocka_unit_test(resolved_records_are_written_as_the_readers_schema_says),
		cmocka_unit_test(unknown_symbols_without_default_are_record_errors_with_field_and_symbol),
		cmocka_unit_test(files_that_are_cut_give_their_whole_blocks_and_an_error_with_the_offset),
		cmocka_unit_test(damaged_blocks_are_errors_at_their_offset_or_are_passed_over_and_reported),
		cmocka_unit_test(lengths_that_the_data_cannot_hold_are_refused_at_once),
		cmocka_unit_test(depth_is_bounded_and_the_neighbours_of_a_deep_record_are_delivered),
		cmocka_unit_test(malformed_datums_are_refused_and_unusual_ones_are_read),
		cmocka_unit_test(invalid_schemas_are_refused_when_the_serde_is_opened),
		cmocka_unit_test(single_objects_carry_the_fingerprint_of_the_canonical_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
