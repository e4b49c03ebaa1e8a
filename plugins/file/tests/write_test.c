/* The file system's outputs: one growing temporary, handles, recovery, the rename, what fails. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

static fixture_stream
output(struct files *t, const char *path, const char *more)
{
	const char **assignments = arena_allocate_zeroed(t->f->arena, 3 * sizeof(char *));
	assert_non_null(assignments);
	assignments[0] = arena_format(t->f->arena, "path=%s", path);
	assignments[1] = more;
	return fixture_output(&t->system, "out", assignments);
}

/* The file's content, decompressed by the system's own reader; NULL: there is none. */
static const char *
content(struct files *t, const char *path, const char *compression)
{
	if (access(path, F_OK) != 0)
		return NULL;
	const char *options[] = { arena_format(t->f->arena, "path=%s", path), compression, NULL };
	fixture_stream in = fixture_input(&t->system, "in", options);
	return fixture_source_text(fixture_source_open(&in), 0);
}

static void
put_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void
assert_message(struct files *t, const char *part)
{
	if (strstr(error_message(&t->f->error), part) == NULL)
		fail_msg("%s", error_message(&t->f->error));
}

static void
target_changes_once_at_the_end(void **state)
{
	struct files *t = *state;
	const char *target = path_of(t, "out"), *temporary = path_of(t, ".out.job.part");
	put_text(target, "before");
	fixture_stream out = output(t, target, NULL);
	flow_stream_description description = fixture_describe(&out);
	assert_int_equal(description.delivery, FLOW_DELIVERY_RESUMABLE);
	assert_int_equal(description.max_writers, 1);
	fixture_committer *committer = fixture_committer_open(&out);
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	fixture_write(writer, "one ");
	const flow_handle *first = fixture_prepare(writer, 1, 0);
	assert_int_equal(fixture_try_commit(committer, first, 0), FLOW_OK);
	assert_string_equal(content(t, target, NULL), "before");
	fixture_write(writer, "two");
	const flow_handle *last = fixture_prepare(writer, 2, 1);
	assert_string_equal(content(t, target, NULL), "before");
	assert_string_equal(content(t, temporary, NULL), "one two");
	fixture_writer_close(writer);
	assert_int_equal(fixture_try_commit(committer, last, 1), FLOW_OK);
	assert_string_equal(content(t, target, NULL), "one two");
	assert_null(content(t, temporary, NULL));
	assert_int_equal(fixture_try_commit(committer, last, 1), FLOW_OK); /* after a crash behind the rename */
	assert_string_equal(content(t, target, NULL), "one two");
}

static void
what_is_there_is_not_replaced_where_that_is_not_wanted(void **state)
{
	struct files *t = *state;
	const char *target = path_of(t, "out");
	put_text(target, "before");
	fixture_stream out = output(t, target, "overwrite=false");
	assert_null(fixture_try_writer_open(&out, 0, NULL));
	assert_int_equal(t->f->error.status, FLOW_E_EXISTS);
	assert_message(t, "is there already");
	/* One that comes while the job runs. */
	assert_int_equal(unlink(target), 0);
	fixture_committer *committer = fixture_committer_open(&out);
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	fixture_write(writer, "mine");
	const flow_handle *last = fixture_prepare(writer, 1, 1);
	fixture_writer_close(writer);
	put_text(target, "theirs");
	assert_int_equal(fixture_try_commit(committer, last, 1), FLOW_E_EXISTS);
	assert_string_equal(content(t, target, NULL), "theirs");
	assert_int_equal(unlink(target), 0);
	assert_int_equal(fixture_try_commit(committer, last, 1), FLOW_OK);
	assert_string_equal(content(t, target, NULL), "mine");
	assert_int_equal(fixture_try_commit(committer, last, 1), FLOW_OK); /* after a crash behind the rename */
}

/* Each kind of file: what was written behind the checkpoint is gone, what came before stays. */
static void
recovery_goes_on_from_the_handle(void **state)
{
	struct files *t = *state;
	static const char *const names[] = { "plain", "g.gz", "z.zst" };
	static const char *const kinds[] = { "compression=none", "compression=gzip", "compression=zstd" };
	for (size_t k = 0; k < 3; k++) {
		const char *target = path_of(t, names[k]);
		fixture_stream out = output(t, target, NULL);
		fixture_committer *committer = fixture_committer_open(&out);
		fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
		fixture_write(writer, "one ");
		const flow_handle *handle = fixture_prepare(writer, 1, 0);
		fixture_write(writer, "lost ");
		fixture_prepare(writer, 2, 0);
		fixture_write(writer, "lost too ");
		fixture_writer_close(writer);
		assert_int_equal(fixture_try_abort(committer, handle), FLOW_OK);
		writer = fixture_writer_open(&out, 0, handle);
		fixture_write(writer, "two");
		const flow_handle *last = fixture_prepare(writer, 2, 1);
		fixture_write(writer, " behind the last handle");
		fixture_writer_close(writer);
		assert_int_equal(fixture_try_commit(committer, last, 1), FLOW_OK);
		assert_string_equal(content(t, target, kinds[k]), "one two");
	}
}

static void
empty_output_is_a_whole_file_of_its_kind(void **state)
{
	struct files *t = *state;
	static const char *const names[] = { "plain", "g.gz", "z.zst" };
	for (size_t k = 0; k < 3; k++) {
		fixture_stream out = output(t, path_of(t, names[k]), NULL);
		fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
		assert_int_equal(fixture_try_commit(fixture_committer_open(&out), fixture_prepare(writer, 1, 1), 1), FLOW_OK);
		assert_string_equal(content(t, path_of(t, names[k]), NULL), "");
	}
	assert_int_equal(system(arena_format(t->f->arena, "gzip -t %s/g.gz && zstd -qt %s/z.zst", t->folder, t->folder)),
					 0);
}

static void
members_and_frames_are_read_by_the_usual_tools(void **state)
{
	struct files *t = *state;
	static const char *const names[] = { "g.gz", "z.zst" };
	for (size_t k = 0; k < 2; k++) {
		fixture_stream out = output(t, path_of(t, names[k]), "level=9");
		fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
		for (uint64_t epoch = 1; epoch < 4; epoch++) {
			fixture_write(writer, "some words ");
			fixture_prepare(writer, epoch, 0);
			fixture_prepare(writer, epoch, 0); /* nothing since */
		}
		assert_int_equal(fixture_try_commit(fixture_committer_open(&out), fixture_prepare(writer, 4, 1), 1), FLOW_OK);
	}
	assert_int_equal(system(arena_format(t->f->arena,
										 "test \"$(gzip -dc %s/g.gz)\" = 'some words some words some words ' && "
										 "test \"$(zstd -qdc %s/z.zst)\" = 'some words some words some words '",
										 t->folder, t->folder)),
					 0);
}

static void
lost_temporary_is_told_not_replaced(void **state)
{
	struct files *t = *state;
	fixture_stream out = output(t, path_of(t, "out"), NULL);
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	fixture_write(writer, "one");
	const flow_handle *handle = fixture_prepare(writer, 1, 1);
	fixture_writer_close(writer);
	put_text(path_of(t, ".out.job.part"), "on");
	assert_null(fixture_try_writer_open(&out, 0, handle));
	assert_message(t, "has 2 bytes, but the checkpoint knows of 3; it was changed by somebody else");
	assert_int_equal(fixture_try_commit(fixture_committer_open(&out), handle, 1), FLOW_E_CORRUPT);
	assert_int_equal(unlink(path_of(t, ".out.job.part")), 0);
	assert_null(fixture_try_writer_open(&out, 0, handle));
	assert_message(t, "the temporary with the job's output is gone");
	put_text(path_of(t, "out"), "somebody else's");
	assert_int_equal(fixture_try_commit(fixture_committer_open(&out), handle, 1), FLOW_E_NOT_FOUND);
	assert_message(t, "Start anew with --fresh");
	flow_handle strange = { FLOW_SIZEOF(flow_handle), 0, flow_slice_of("?") };
	assert_int_equal(fixture_try_commit(fixture_committer_open(&out), &strange, 1), FLOW_E_CORRUPT);
}

static void
folders_are_made_only_when_told(void **state)
{
	struct files *t = *state;
	const char *target = path_of(t, "a/b/out");
	flow_stream_description description;
	fixture_stream out = output(t, target, NULL);
	assert_int_equal(fixture_try_describe(&out, &description), FLOW_E_NOT_FOUND);
	assert_message(t, "a/b is not there; make it, or set make_folders = true for this output");
	assert_int_equal(description.delivery, FLOW_DELIVERY_RESUMABLE);
	assert_null(fixture_try_writer_open(&out, 0, NULL));
	assert_message(t, "a/b is not there; make it, or set make_folders = true for this output");
	out = output(t, path_of(t, "{task}/out"), NULL); /* not known before it runs */
	assert_int_equal(fixture_try_describe(&out, &description), FLOW_OK);
	out = output(t, target, "make_folders=true");
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	fixture_write(writer, "x");
	assert_int_equal(fixture_try_commit(fixture_committer_open(&out), fixture_prepare(writer, 1, 1), 1), FLOW_OK);
	assert_string_equal(content(t, target, NULL), "x");
}

static void
folder_is_no_target(void **state)
{
	struct files *t = *state;
	fixture_stream out = output(t, t->folder, NULL);
	assert_null(fixture_try_writer_open(&out, 0, NULL));
	assert_message(t, "is a folder; name a file in it");
}

static void
tasks_write_files_of_their_own(void **state)
{
	struct files *t = *state;
	fixture_stream out = output(t, path_of(t, "part-{task}.txt"), NULL);
	assert_int_equal(fixture_describe(&out).max_writers, 0);
	fixture_committer *committer = fixture_committer_open(&out);
	for (uint32_t task = 0; task < 3; task++) {
		fixture_writer *writer = fixture_writer_open(&out, task, NULL);
		fixture_write(writer, arena_format(t->f->arena, "task %u", task));
		assert_int_equal(fixture_try_commit(committer, fixture_prepare(writer, 1, 1), 1), FLOW_OK);
	}
	assert_string_equal(content(t, path_of(t, "part-0.txt"), NULL), "task 0");
	assert_string_equal(content(t, path_of(t, "part-2.txt"), NULL), "task 2");
}

static void
abort_drops_what_is_not_kept_and_only_of_this_job(void **state)
{
	struct files *t = *state;
	const char *path = path_of(t, "[x]-{task}");
	fixture_stream out = output(t, path, NULL), other = output(t, path, NULL);
	other.job = "other/job";
	other.instance = "two";
	fixture_writer *writer = fixture_writer_open(&out, 1, NULL), *dropped = fixture_writer_open(&out, 0, NULL);
	fixture_writer_open(&other, 0, NULL);
	fixture_write(writer, "kept");
	const flow_handle *handle = fixture_prepare(writer, 1, 0);
	fixture_writer_close(writer);
	fixture_writer_close(dropped);
	put_text(path_of(t, ".x-0.job.part"), "matches [x] only as a pattern");
	assert_int_equal(fixture_try_abort(fixture_committer_open(&out), handle), FLOW_OK);
	assert_null(content(t, path_of(t, ".[x]-0.job.part"), NULL));
	assert_string_equal(content(t, path_of(t, ".[x]-1.job.part"), NULL), "kept");
	assert_string_equal(content(t, path_of(t, ".[x]-0.other_job-two.part"), NULL), "");
	assert_non_null(content(t, path_of(t, ".x-0.job.part"), NULL));
	assert_int_equal(fixture_try_abort(fixture_committer_open(&out), NULL), FLOW_OK);
	assert_null(content(t, path_of(t, ".[x]-1.job.part"), NULL));
}

static void
what_is_being_written_is_neither_dropped_nor_written_by_another(void **state)
{
	struct files *t = *state;
	fixture_stream out = output(t, path_of(t, "out"), NULL);
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	fixture_write(writer, "mine");
	assert_int_equal(fixture_try_abort(fixture_committer_open(&out), NULL), FLOW_E_LOCKED);
	assert_message(t, "another run of the job, or another output of it, is writing it");
	assert_null(fixture_try_writer_open(&out, 0, NULL));
	assert_int_equal(t->f->error.status, FLOW_E_LOCKED);
	assert_int_equal(fixture_try_commit(fixture_committer_open(&out), fixture_prepare(writer, 1, 1), 1), FLOW_OK);
	assert_string_equal(content(t, path_of(t, "out"), NULL), "mine");
}

static void
stream_without_room_fails_for_good(void **state)
{
	struct files *t = *state;
	fixture_stream out = output(t, "/dev/full", NULL);
	assert_int_equal(fixture_describe(&out).delivery, FLOW_DELIVERY_AT_LEAST_ONCE);
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	const char *text = "x";
	uint32_t accepted;
	assert_int_equal(fixture_try_write(writer, fixture_raw(t->f, &text, 1), &accepted), FLOW_E_IO);
	assert_int_equal(accepted, 0);
	assert_message(t, "/dev/full: cannot write: No space left on device");
	assert_int_equal(fixture_try_write(writer, fixture_raw(t->f, &text, 1), &accepted), FLOW_E_IO);
	assert_int_equal(access("/dev/.full.job.part", F_OK), -1);
}

static void
limit_file_size(rlim_t most)
{
	struct rlimit limit;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = most == RLIM_INFINITY ? limit.rlim_max : most;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A file that has reached its largest size stands in for a full disk: the write is cut, then fails. */
static void
failed_write_is_taken_back_and_can_be_tried_again(void **state)
{
	struct files *t = *state;
	fixture_stream out = output(t, path_of(t, "out"), NULL);
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	const char *const texts[] = { "fits ", "does not fit" };
	const flow_batch *batch = fixture_raw(t->f, texts, 2);
	uint32_t accepted;
	signal(SIGXFSZ, SIG_IGN);
	limit_file_size(10);
	flow_status status = fixture_try_write(writer, batch, &accepted);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(status, FLOW_E_IO);
	assert_int_equal(accepted, 1);
	assert_string_equal(content(t, path_of(t, ".out.job.part"), NULL), "fits ");
	assert_int_equal(t->system.ops->write(writer->writer, batch, accepted, &accepted, NULL, &t->f->error), FLOW_OK);
	assert_int_equal(fixture_try_commit(fixture_committer_open(&out), fixture_prepare(writer, 1, 1), 1), FLOW_OK);
	assert_string_equal(content(t, path_of(t, "out"), NULL), "fits does not fit");
}

static void
failed_write_of_a_compressed_file_is_final(void **state)
{
	struct files *t = *state;
	fixture_stream out = output(t, path_of(t, "out.gz"), NULL);
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	flow_slice handle;
	fixture_write(writer, "words");
	signal(SIGXFSZ, SIG_IGN);
	limit_file_size(5);
	flow_status status = t->system.ops->prepare(writer->writer, 1, 0, &handle, &t->f->error);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(status, FLOW_E_IO);
	assert_true(t->f->error.flags & FLOW_ERROR_FATAL);
	assert_true(t->system.ops->prepare(writer->writer, 1, 0, &handle, &t->f->error) < 0);
}

static void
record_without_value_is_refused_alone(void **state)
{
	struct files *t = *state;
	fixture_stream out = output(t, path_of(t, "out"), NULL);
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	const char *const texts[] = { "a", NULL, "b" };
	flow_status statuses[3] = { 0 };
	uint32_t accepted;
	assert_int_equal(
		t->system.ops->write(writer->writer, fixture_raw(t->f, texts, 3), 0, &accepted, statuses, &t->f->error),
		FLOW_OK);
	assert_int_equal(accepted, 3);
	assert_true(statuses[0] == FLOW_OK && statuses[1] == FLOW_E_TYPE && statuses[2] == FLOW_OK);
	fixture_prepare(writer, 1, 0);
	assert_string_equal(content(t, path_of(t, ".out.job.part"), NULL), "ab");
}

static void
standard_output_gets_the_bytes(void **state)
{
	struct files *t = *state;
	int kept = dup(STDOUT_FILENO), file = open(path_of(t, "stdout"), O_WRONLY | O_CREAT, 0600);
	assert_true(kept >= 0 && file >= 0);
	fixture_stream out = output(t, "-", NULL);
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	fixture_write(writer, "to the world");
	flow_status status = t->system.ops->flush(writer->writer, &t->f->error);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	close(file);
	assert_int_equal(status, FLOW_OK);
	fixture_writer_close(writer);
	assert_true(fcntl(STDOUT_FILENO, F_GETFD) >= 0); /* not ours to close */
	assert_string_equal(content(t, path_of(t, "stdout"), NULL), "to the world");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(target_changes_once_at_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_there_is_not_replaced_where_that_is_not_wanted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(recovery_goes_on_from_the_handle, set_up, tear_down),
		cmocka_unit_test_setup_teardown(empty_output_is_a_whole_file_of_its_kind, set_up, tear_down),
		cmocka_unit_test_setup_teardown(members_and_frames_are_read_by_the_usual_tools, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lost_temporary_is_told_not_replaced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(folders_are_made_only_when_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(folder_is_no_target, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tasks_write_files_of_their_own, set_up, tear_down),
		cmocka_unit_test_setup_teardown(abort_drops_what_is_not_kept_and_only_of_this_job, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_being_written_is_neither_dropped_nor_written_by_another, set_up,
										tear_down),
		cmocka_unit_test_setup_teardown(stream_without_room_fails_for_good, set_up, tear_down),
		cmocka_unit_test_setup_teardown(failed_write_is_taken_back_and_can_be_tried_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(failed_write_of_a_compressed_file_is_final, set_up, tear_down),
		cmocka_unit_test_setup_teardown(record_without_value_is_refused_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(standard_output_gets_the_bytes, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
