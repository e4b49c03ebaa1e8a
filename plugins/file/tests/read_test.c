/* The file system's inputs: plain and compressed, patterns, damage, positions. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/system_fixture.h"

struct files {
	fixture *f;
	fixture_system system;
	const char *folder;
};

static int
set_up(void **state)
{
	fixture *f = fixture_create();
	struct files *t = arena_allocate_zeroed(f->arena, sizeof(*t));
	assert_non_null(t);
	t->f = f;
	t->folder = fixture_folder(f);
	fixture_system_open(f, "file", NULL, &t->system);
	*state = t;
	return 0;
}

static int
tear_down(void **state)
{
	fixture_destroy(((struct files *)*state)->f);
	return 0;
}

static const char *
path_of(struct files *t, const char *name)
{
	return arena_format(t->f->arena, "%s/%s", t->folder, name);
}

static void
put_bytes(const char *path, const char *bytes, size_t size)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static char *
get_bytes(struct files *t, const char *path, size_t *size)
{
	static char buffer[1 << 16];
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	*size = fread(buffer, 1, sizeof(buffer), file);
	assert_int_equal(fclose(file), 0);
	char *copy = arena_copy(t->f->arena, buffer, *size);
	assert_non_null(copy);
	return copy;
}

/* Runs a shell command in the folder. */
static void
shell(struct files *t, const char *command)
{
	assert_int_equal(system(arena_format(t->f->arena, "cd %s && %s", t->folder, command)), 0);
}

static fixture_stream
input(struct files *t, const char *path, const char *more)
{
	const char **assignments = arena_allocate_zeroed(t->f->arena, 3 * sizeof(char *));
	assert_non_null(assignments);
	assignments[0] = arena_format(t->f->arena, "path=%s", path);
	assignments[1] = more;
	return fixture_input(&t->system, "in", assignments);
}

static const char *
text(struct files *t, const char *name, const char *more)
{
	fixture_stream in = input(t, path_of(t, name), more);
	return fixture_source_text(fixture_source_open(&in), 0);
}

/* How reading a file to its end goes: FLOW_OK, or the failure. */
static flow_status
outcome(struct files *t, const char *name, const char **content)
{
	fixture_stream in = input(t, path_of(t, name), NULL);
	fixture_source *source = fixture_source_open(&in);
	const flow_batch *batch;
	uint32_t partition;
	flow_status status;
	*content = "";
	while ((status = fixture_source_read(source, &batch, &partition)) == FLOW_OK)
		*content = arena_format(t->f->arena, "%s%.*s", *content, (int)batch->value[0].size, batch->value[0].as.text);
	return status == FLOW_END ? FLOW_OK : status;
}

#define CONTENT "first line\nsecond line\nthird line, which is the last one\n"

static void
file_is_read_in_pieces_of_any_size(void **state)
{
	struct files *t = *state;
	put_bytes(path_of(t, "a"), CONTENT, strlen(CONTENT));
	for (size_t chunk = 1; chunk <= strlen(CONTENT) + 1; chunk++)
		assert_string_equal(text(t, "a", arena_format(t->f->arena, "chunk=%zuB", chunk)), CONTENT);
	fixture_stream in = input(t, path_of(t, "a"), "chunk=20B");
	fixture_source *source = fixture_source_open(&in);
	assert_int_equal(source->info.blocking, 0);
	const flow_batch *batch;
	uint32_t partition;
	int64_t offset = 0;
	while (fixture_source_read(source, &batch, &partition) == FLOW_OK) {
		assert_int_equal(batch->flags & (FLOW_BATCH_RAW | FLOW_BATCH_STREAM), FLOW_BATCH_RAW | FLOW_BATCH_STREAM);
		assert_int_equal(batch->ordinal[0], offset);
		offset += batch->value[0].size;
	}
	assert_int_equal(offset, strlen(CONTENT));
}

static void
compressed_files_are_known_by_their_suffix(void **state)
{
	struct files *t = *state;
	put_bytes(path_of(t, "a"), CONTENT, strlen(CONTENT));
	shell(t, "gzip -k a && zstd -q a && cp a.gz g && cp a.zst z");
	for (size_t chunk = 1; chunk < 70; chunk += 7) {
		const char *option = arena_format(t->f->arena, "chunk=%zuB", chunk);
		assert_string_equal(text(t, "a.gz", option), CONTENT);
		assert_string_equal(text(t, "a.zst", option), CONTENT);
	}
	assert_string_equal(text(t, "g", "compression=gzip"), CONTENT);
	assert_string_equal(text(t, "z", "compression=zstd"), CONTENT);
	size_t size;
	const char *raw = get_bytes(t, path_of(t, "a.gz"), &size);
	fixture_stream in = input(t, path_of(t, "a.gz"), "compression=none");
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(fixture_source_read(fixture_source_open(&in), &batch, &partition), FLOW_OK);
	assert_int_equal(batch->value[0].size, size);
	assert_memory_equal(batch->value[0].as.text, raw, size);
}

static void
several_members_and_frames_are_one_stream(void **state)
{
	struct files *t = *state;
	shell(t, "for w in one two three; do printf \"$w \" | gzip; done > m.gz");
	shell(t, "for w in one two three; do printf \"$w \" | zstd -q; printf '' | zstd -q; done > m.zst");
	assert_string_equal(text(t, "m.gz", NULL), "one two three ");
	assert_string_equal(text(t, "m.gz", "chunk=1B"), "one two three ");
	assert_string_equal(text(t, "m.zst", NULL), "one two three ");
	assert_string_equal(text(t, "m.zst", "chunk=1B"), "one two three ");
}

static void
empty_files_end_at_once(void **state)
{
	struct files *t = *state;
	shell(t, ": > e && printf '' | gzip > e.gz && printf '' | zstd -q > e.zst");
	assert_string_equal(text(t, "e", NULL), "");
	assert_string_equal(text(t, "e.gz", NULL), "");
	assert_string_equal(text(t, "e.zst", NULL), "");
}

static void
pattern_gives_a_partition_for_each_file_in_order(void **state)
{
	struct files *t = *state;
	shell(t, "printf 2 > p2 && printf 1 > p1 && printf 3 > p3 && mkdir p4 && printf x > q && printf y > 'p[1]'");
	fixture_stream in = input(t, path_of(t, "p?"), NULL);
	assert_int_equal(fixture_describe(&in).partition_count, 3);
	assert_int_equal(fixture_describe(&in).bounded, 1);
	fixture_source *source = fixture_source_open(&in);
	assert_int_equal(source->partition_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const char *name = arena_format(t->f->arena, "%s/p%u", t->folder, i + 1);
		assert_true(flow_slice_is(source->partitions[i]->id, name));
		fixture_stream again = input(t, path_of(t, "p?"), NULL);
		assert_string_equal(fixture_source_text(fixture_source_open(&again), i),
							arena_format(t->f->arena, "%u", i + 1));
	}
	assert_string_equal(text(t, "p[1]", NULL), "y"); /* a name, though it looks like a pattern */
}

static void
path_named_twice_is_read_once(void **state)
{
	struct files *t = *state;
	shell(t, "printf 1 > p1 && printf 2 > p2");
	const char *options[] = { arena_format(t->f->arena, "path=[\"%s\", \"%s\"]", path_of(t, "p2"), path_of(t, "p*")),
							  NULL };
	fixture_stream in = fixture_input(&t->system, "in", options);
	fixture_source *source = fixture_source_open(&in);
	assert_int_equal(source->partition_count, 2);
	assert_true(flow_slice_is(source->partitions[0]->id, path_of(t, "p2")));
}

static void
assert_refused(struct files *t, const char *name, flow_status status, const char *part)
{
	fixture_stream in = input(t, path_of(t, name), NULL);
	flow_stream_description description;
	assert_int_equal(fixture_try_describe(&in, &description), status);
	if (strstr(error_message(&t->f->error), part) == NULL)
		fail_msg("%s", error_message(&t->f->error));
	in.offline = 1; /* `flowd check` looks at local files too */
	assert_int_equal(fixture_try_describe(&in, &description), status);
	assert_int_equal(description.partition_count, FLOW_PARTITIONS_UNKNOWN);
}

static void
what_is_no_file_is_refused_with_its_name(void **state)
{
	struct files *t = *state;
	shell(t, "mkdir d dd");
	assert_refused(t, "missing", FLOW_E_NOT_FOUND, "missing: cannot open: No such file or directory; check the path");
	assert_refused(t, "no*", FLOW_E_NOT_FOUND, "no*: no file matches; check the pattern");
	assert_refused(t, "d", FLOW_E_ARGUMENT, "d: is a folder; name its files: ");
	assert_refused(t, "d*", FLOW_E_NOT_FOUND, "d*: only folders match; name their files: ");
}

static void
file_that_goes_before_its_turn_is_named(void **state)
{
	struct files *t = *state;
	const char *content;
	put_bytes(path_of(t, "a"), "x", 1);
	fixture_stream in = input(t, path_of(t, "a"), NULL);
	fixture_source *source = fixture_source_open(&in);
	assert_int_equal(unlink(path_of(t, "a")), 0);
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_E_NOT_FOUND);
	assert_non_null(strstr(error_message(&t->f->error), "/a: cannot open: No such file"));
	put_bytes(path_of(t, "a"), "x", 1);
	assert_int_equal(outcome(t, "a", &content), FLOW_OK);
}

static void
cut_compressed_file_is_an_error_wherever_it_is_cut(void **state)
{
	struct files *t = *state;
	static const char *const names[] = { "a.gz", "a.zst" };
	put_bytes(path_of(t, "a"), CONTENT, strlen(CONTENT));
	shell(t, "gzip -k a && zstd -q a");
	for (size_t k = 0; k < 2; k++) {
		size_t size;
		const char *content, *bytes = get_bytes(t, path_of(t, names[k]), &size);
		const char *cut = arena_format(t->f->arena, "cut-%s", names[k]);
		for (size_t end = 0; end < size; end++) {
			put_bytes(path_of(t, cut), bytes, end);
			assert_int_equal(outcome(t, cut, &content), FLOW_E_CORRUPT);
			const char *message =
				arena_format(t->f->arena, "%s: is cut off: it ends inside compressed data at byte %zu of", cut, end);
			if (strstr(error_message(&t->f->error), message) == NULL)
				fail_msg("%s", error_message(&t->f->error));
		}
	}
}

/* A damaged byte is noticed, or does not matter (a time stamp in the head). */
static void
damaged_compressed_file_never_gives_other_content(void **state)
{
	struct files *t = *state;
	static const char *const names[] = { "a.gz", "a.zst" };
	put_bytes(path_of(t, "a"), CONTENT, strlen(CONTENT));
	shell(t, "gzip -k a && zstd -q a");
	for (size_t k = 0; k < 2; k++) {
		size_t size, noticed = 0;
		char *bytes = get_bytes(t, path_of(t, names[k]), &size);
		const char *content, *bad = arena_format(t->f->arena, "bad-%s", names[k]);
		for (size_t i = 0; i < size * 8; i++) {
			bytes[i / 8] ^= (char)(1 << i % 8);
			put_bytes(path_of(t, bad), bytes, size);
			bytes[i / 8] ^= (char)(1 << i % 8);
			flow_status status = outcome(t, bad, &content);
			noticed += status == FLOW_E_CORRUPT;
			if (status == FLOW_OK)
				assert_string_equal(content, CONTENT);
			else
				assert_non_null(strstr(error_message(&t->f->error), bad));
		}
		assert_true(noticed > size * 6);
	}
}

static void
what_stands_behind_a_member_is_not_passed_over(void **state)
{
	struct files *t = *state;
	const char *content;
	shell(t, "printf one | gzip > g.gz && printf garbage >> g.gz");
	assert_int_equal(outcome(t, "g.gz", &content), FLOW_E_CORRUPT);
	assert_string_equal(content, "one");
	put_bytes(path_of(t, "p.gz"), CONTENT, strlen(CONTENT));
	assert_int_equal(outcome(t, "p.gz", &content), FLOW_E_CORRUPT);
	assert_non_null(strstr(error_message(&t->f->error), "incorrect header check at byte"));
}

static void
reading_goes_on_at_any_offset(void **state)
{
	struct files *t = *state;
	static const char *const names[] = { "a", "a.gz", "a.zst" };
	put_bytes(path_of(t, "a"), CONTENT, strlen(CONTENT));
	shell(t, "gzip -k a && zstd -q a");
	for (size_t k = 0; k < 3; k++) {
		fixture_stream in = input(t, path_of(t, names[k]), "chunk=7B");
		fixture_source *first = fixture_source_open(&in);
		for (size_t offset = 0; offset <= strlen(CONTENT); offset++) {
			fixture_source *second = fixture_try_source_open(&in, 0);
			assert_non_null(second);
			assert_int_equal(fixture_try_assign(second, 0, fixture_position(first, 0, (int64_t)offset)), FLOW_OK);
			assert_string_equal(fixture_source_text(second, 0), &CONTENT[offset]);
			fixture_source_close(second);
		}
	}
}

static void
position_behind_what_was_read_survives_the_end(void **state)
{
	struct files *t = *state;
	put_bytes(path_of(t, "a"), CONTENT, strlen(CONTENT));
	fixture_stream in = input(t, path_of(t, "a"), "chunk=7B");
	fixture_source *first = fixture_source_open(&in), *second = fixture_try_source_open(&in, 0);
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(fixture_source_read(first, &batch, &partition), FLOW_OK);
	assert_int_equal(fixture_try_assign(second, 0, fixture_position(first, 0, INT64_MAX)), FLOW_OK);
	assert_string_equal(fixture_source_text(second, 0), &CONTENT[7]);
	fixture_source *third = fixture_try_source_open(&in, 0);
	assert_int_equal(fixture_try_assign(third, 0, fixture_position(second, 0, INT64_MAX)), FLOW_OK);
	assert_string_equal(fixture_source_text(third, 0), "");
}

static void
position_in_a_file_that_shrank_is_lost(void **state)
{
	struct files *t = *state;
	static const char *const names[] = { "a", "a.gz", "a.zst" };
	put_bytes(path_of(t, "a"), CONTENT, strlen(CONTENT));
	shell(t, "gzip -k a && zstd -q a");
	for (size_t k = 0; k < 3; k++) {
		fixture_stream in = input(t, path_of(t, names[k]), NULL);
		fixture_source *source = fixture_source_open(&in);
		assert_int_equal(fixture_try_assign(source, 0, fixture_position(source, 0, (int64_t)strlen(CONTENT) + 1)),
						 FLOW_OK);
		const flow_batch *batch;
		uint32_t partition;
		assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_E_POSITION_LOST);
		assert_non_null(strstr(error_message(&t->f->error), "Start anew with --fresh"));
	}
	fixture_stream in = input(t, path_of(t, "a"), NULL);
	fixture_source *source = fixture_source_open(&in);
	assert_int_equal(fixture_try_assign(source, 0, flow_slice_make("123", 3)), FLOW_E_CORRUPT);
}

static void
newest_start_reads_nothing_and_knows_where_it_is(void **state)
{
	struct files *t = *state;
	static const char *const names[] = { "a", "a.gz" };
	put_bytes(path_of(t, "a"), CONTENT, strlen(CONTENT));
	shell(t, "gzip -k a");
	for (size_t k = 0; k < 2; k++) {
		fixture_stream in = input(t, path_of(t, names[k]), NULL);
		fixture_source *source = fixture_try_source_open(&in, FLOW_START_NEWEST);
		assert_int_equal(fixture_try_assign(source, 0, flow_slice_make(NULL, 0)), FLOW_OK);
		assert_string_equal(fixture_source_text(source, 0), "");
		flow_slice position = fixture_position(source, 0, -1);
		assert_int_equal((unsigned char)position.data[7], strlen(CONTENT));
	}
}

static void
remaining_bytes_fall_to_zero(void **state)
{
	struct files *t = *state;
	put_bytes(path_of(t, "a"), CONTENT, strlen(CONTENT));
	fixture_stream in = input(t, path_of(t, "a"), "chunk=7B");
	fixture_source *source = fixture_source_open(&in);
	int64_t records, bytes;
	t->system.ops->source_remaining(source->source, &records, &bytes);
	assert_int_equal(records, -1);
	assert_int_equal(bytes, strlen(CONTENT));
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_OK);
	t->system.ops->source_remaining(source->source, &records, &bytes);
	assert_int_equal(bytes, strlen(CONTENT) - 7);
	assert_int_equal(t->system.ops->source_revoke(source->source, 0, &t->f->error), FLOW_OK);
	t->system.ops->source_remaining(source->source, &records, &bytes);
	assert_int_equal(bytes, 0);
	assert_string_equal(fixture_source_text(source, 0), ""); /* revoked */
	assert_int_equal(fixture_try_assign(source, 0, fixture_position(source, 0, INT64_MAX)), FLOW_OK);
	assert_string_equal(fixture_source_text(source, 0), &CONTENT[7]);
}

static void
pipe_is_waited_for_a_moment_and_then_goes_on(void **state)
{
	struct files *t = *state;
	const char *path = path_of(t, "pipe");
	assert_int_equal(mkfifo(path, 0600), 0);
	fixture_stream in = input(t, path, NULL);
	assert_int_equal(fixture_describe(&in).sample, 1);
	in.offline = 1;
	assert_int_equal(fixture_describe(&in).sample, 0);
	in.offline = 0;
	fixture_source *source = fixture_source_open(&in);
	assert_int_equal(source->info.blocking, 1);
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_AGAIN);
	int writer = open(path, O_WRONLY);
	assert_true(writer >= 0);
	assert_int_equal(write(writer, "abc", 3), 3);
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_OK);
	assert_memory_equal(batch->value[0].as.text, "abc", 3);
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_AGAIN);
	assert_int_equal(write(writer, "d", 1), 1);
	assert_int_equal(close(writer), 0);
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_OK);
	assert_int_equal(batch->ordinal[0], 3);
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_END);
}

/* Also a compressed one, and one that ended while it was looked at. */
static void
pipe_that_was_looked_at_is_read_from_its_start(void **state)
{
	struct files *t = *state;
	static const char *const names[] = { "plain", "packed.gz" };
	for (size_t i = 0; i < 2; i++) {
		const char *path = path_of(t, names[i]), *kept = path_of(t, "content");
		assert_int_equal(mkfifo(path, 0600), 0);
		put_bytes(kept, "a,b\n1,2\n3,4\n", 12);
		shell(t, arena_format(t->f->arena, i == 0 ? "cat content > %s &" : "gzip -c content > %s &", names[i]));
		fixture_stream in = input(t, path, "chunk=5B");
		in.sample = 1;
		fixture_source *looks = fixture_source_open(&in);
		const flow_batch *batch;
		uint32_t partition;
		while (fixture_source_read(looks, &batch, &partition) != FLOW_OK)
			;
		assert_memory_equal(batch->value[0].as.text, "a,b\n1", 5);
		if (i == 1)
			assert_string_equal(fixture_source_text(looks, 0), ",2\n3,4\n");
		fixture_source_close(looks);
		in.sample = 0;
		fixture_source *reads = fixture_source_open(&in);
		char text[16] = "";
		flow_status status;
		while ((status = fixture_source_read(reads, &batch, &partition)) != FLOW_END) {
			assert_true(status == FLOW_OK || status == FLOW_AGAIN);
			if (status == FLOW_OK)
				assert_int_equal(batch->ordinal[0], strlen(text));
			if (status == FLOW_OK)
				strncat(text, batch->value[0].as.text, batch->value[0].size);
		}
		assert_string_equal(text, "a,b\n1,2\n3,4\n");
	}
}

/* Nobody reads it after all: what is held is closed with the system. */
static void
pipe_that_was_looked_at_in_vain_is_closed(void **state)
{
	struct files *t = *state;
	const char *path = path_of(t, "pipe");
	assert_int_equal(mkfifo(path, 0600), 0);
	int writer = open(path, O_RDWR);
	assert_int_equal(write(writer, "abc", 3), 3);
	fixture_stream in = input(t, path, NULL);
	in.sample = 1;
	fixture_source *looks = fixture_source_open(&in);
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(fixture_source_read(looks, &batch, &partition), FLOW_OK);
	fixture_source_close(looks);
	assert_int_equal(close(writer), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(file_is_read_in_pieces_of_any_size, set_up, tear_down),
		cmocka_unit_test_setup_teardown(compressed_files_are_known_by_their_suffix, set_up, tear_down),
		cmocka_unit_test_setup_teardown(several_members_and_frames_are_one_stream, set_up, tear_down),
		cmocka_unit_test_setup_teardown(empty_files_end_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pattern_gives_a_partition_for_each_file_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(path_named_twice_is_read_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_file_is_refused_with_its_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(file_that_goes_before_its_turn_is_named, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cut_compressed_file_is_an_error_wherever_it_is_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damaged_compressed_file_never_gives_other_content, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_stands_behind_a_member_is_not_passed_over, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reading_goes_on_at_any_offset, set_up, tear_down),
		cmocka_unit_test_setup_teardown(position_behind_what_was_read_survives_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(position_in_a_file_that_shrank_is_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(newest_start_reads_nothing_and_knows_where_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(remaining_bytes_fall_to_zero, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pipe_is_waited_for_a_moment_and_then_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pipe_that_was_looked_at_is_read_from_its_start, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pipe_that_was_looked_at_in_vain_is_closed, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
