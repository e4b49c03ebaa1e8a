/* Files of tests/cases (support/case_files.h). */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "support/case_files.h"

flow_slice
case_file(fixture *f, const char *path)
{
	char *name = arena_format(f->arena, "%s/tests/cases/%s", SOURCE_FOLDER, path);
	assert_non_null(name);
	FILE *file = fopen(name, "rb");
	if (file == NULL)
		fail_msg("%s: not there", name);
	fseek(file, 0, SEEK_END);
	long size = ftell(file);
	rewind(file);
	char *data = arena_allocate_zeroed(f->arena, (size_t)size + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)size, file), size);
	fclose(file);
	return flow_slice_make(data, (uint64_t)size);
}

const char *
case_json(fixture *f, const char *path, int whole)
{
	flow_slice text = case_file(f, path);
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	fixture_rows *rows =
		whole ? fixture_decode_records(&json, &text, 1) : fixture_decode(&json, text.data, text.size, 0);
	assert_int_equal(rows->rejection_count, 0);
	return fixture_rows_text(rows);
}

/* Does the rejection say what the entry says? */
static void
check_rejection(const fixture_rejection *got, const json_t *wanted)
{
	json_t *line = json_object_get(wanted, "line");
	json_t *offset = json_object_get(wanted, "byte_offset");
	json_t *raw = json_object_get(wanted, "raw");
	json_t *field = json_object_get(wanted, "field");
	json_t *pointer = json_object_get(wanted, "pointer");
	json_t *expected = json_object_get(wanted, "fields_expected");
	if (line != NULL)
		assert_int_equal(got->line, json_integer_value(line));
	if (offset != NULL)
		assert_int_equal(got->ordinal, json_integer_value(offset));
	if (raw != NULL)
		assert_string_equal(got->raw, json_string_value(raw));
	if (field != NULL)
		assert_string_equal(got->field, json_string_value(field));
	if (pointer != NULL)
		assert_string_equal(got->field, json_string_value(pointer));
	if (expected != NULL) {
		char text[64];
		snprintf(text, sizeof(text), "expected %lld fields, found %lld", (long long)json_integer_value(expected),
				 (long long)json_integer_value(json_object_get(wanted, "fields_found")));
		assert_string_equal(got->reason, text);
	}
}

void
case_check_rejections(fixture_rows *rows, const char *path)
{
	flow_slice text = case_file(rows->fixture, path);
	json_t *wanted = json_loadb(text.data, text.size, 0, NULL);
	assert_true(json_is_array(wanted));
	assert_int_equal(rows->rejection_count, json_array_size(wanted));
	for (size_t i = 0; i < rows->rejection_count; i++)
		check_rejection(&rows->rejections[i], json_array_get(wanted, i));
	json_decref(wanted);
}
