/* The helpers over file calls, on a real folder and on a disk that crashes; and the checksum beside its published vectors. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/io.h"
#include "support/fake_disk.h"

struct test {
	arena *memory;
	char *folder;
	flow_error error;
};

static int
set_up(void **state)
{
	struct test *t = calloc(1, sizeof(*t));
	t->memory = arena_create();
	t->folder = arena_copy_text(t->memory, "/tmp/flowd-io-XXXXXX");
	assert_non_null(mkdtemp(t->folder));
	*state = t;
	return 0;
}

static int
tear_down(void **state)
{
	struct test *t = *state;
	assert_int_equal(io_remove_tree(t->folder, &t->error), FLOW_OK);
	assert_int_equal(access(t->folder, F_OK), -1);
	error_clear(&t->error);
	arena_destroy(t->memory);
	free(t);
	return 0;
}

static void
given_a_file_when_replaced_then_it_has_the_new_content_and_nothing_lies_beside_it(void **state)
{
	struct test *t = *state;
	const char *path = arena_format(t->memory, "%s/file", t->folder);
	flow_slice content;
	size_t count;
	assert_int_equal(io_replace_file(path, flow_slice_of("one"), &t->error), FLOW_OK);
	assert_int_equal(io_replace_file(path, flow_slice_of(""), &t->error), FLOW_OK);
	assert_int_equal(io_replace_file(path, flow_slice_of("three"), &t->error), FLOW_OK);
	assert_int_equal(io_read_file(path, 5, t->memory, &content, &t->error), FLOW_OK);
	assert_true(flow_slice_is(content, "three"));
	assert_int_equal(content.data[5], '\0');
	assert_non_null(io_calls()->list(t->folder, t->memory, &count));
	assert_int_equal(count, 1);
}

static void
given_what_cannot_be_read_then_the_message_names_path_and_reason(void **state)
{
	struct test *t = *state;
	const char *path = arena_format(t->memory, "%s/file", t->folder);
	flow_slice content;
	assert_int_equal(io_read_file(path, 5, t->memory, &content, &t->error), FLOW_E_NOT_FOUND);
	assert_non_null(strstr(error_message(&t->error), path));
	assert_non_null(strstr(error_message(&t->error), "No such file"));
	assert_int_equal(io_replace_file(path, flow_slice_of("123456"), &t->error), FLOW_OK);
	assert_int_equal(io_read_file(path, 5, t->memory, &content, &t->error), FLOW_E_LIMIT);
	assert_int_not_equal(io_read_file(t->folder, 1 << 20, t->memory, &content, &t->error), FLOW_OK);
	assert_int_equal(io_replace_file(arena_format(t->memory, "%s/none/file", t->folder), content, &t->error),
					 FLOW_E_NOT_FOUND);
}

static void
given_folders_when_made_and_removed_then_links_are_not_followed(void **state)
{
	struct test *t = *state;
	const char *deep = arena_format(t->memory, "%s/a/b/c", t->folder);
	const char *kept = arena_format(t->memory, "%s/kept", t->folder);
	assert_int_equal(io_make_directories(deep, &t->error), FLOW_OK);
	assert_int_equal(io_make_directories(deep, &t->error), FLOW_OK);
	assert_int_equal(io_make_directories(kept, &t->error), FLOW_OK);
	assert_int_equal(io_replace_file(arena_format(t->memory, "%s/file", kept), flow_slice_of("x"), &t->error), FLOW_OK);
	assert_int_equal(symlink(kept, arena_format(t->memory, "%s/link", deep)), 0);
	assert_int_equal(io_replace_file(arena_format(t->memory, "%s/file", deep), flow_slice_of("x"), &t->error), FLOW_OK);
	assert_int_equal(io_remove_tree(arena_format(t->memory, "%s/a", t->folder), &t->error), FLOW_OK);
	assert_int_equal(access(arena_format(t->memory, "%s/a", t->folder), F_OK), -1);
	assert_int_equal(access(arena_format(t->memory, "%s/file", kept), F_OK), 0);
	assert_int_equal(io_remove_tree(deep, &t->error), FLOW_OK);
	assert_int_not_equal(io_make_directories(arena_format(t->memory, "%s/file/x", kept), &t->error), FLOW_OK);
}

static void
given_a_path_then_its_folder_is_what_stands_before_the_last_name(void **state)
{
	struct test *t = *state;
	assert_string_equal(io_directory_of("a", t->memory), ".");
	assert_string_equal(io_directory_of("a/b", t->memory), "a");
	assert_string_equal(io_directory_of("a/b//", t->memory), "a");
	assert_string_equal(io_directory_of("/a", t->memory), "/");
	assert_string_equal(io_directory_of("/", t->memory), "/");
}

static void
given_a_lock_when_taken_twice_then_the_second_is_refused_until_the_first_is_closed(void **state)
{
	struct test *t = *state;
	const io_ops *io = io_calls();
	const char *path = arena_format(t->memory, "%s/LOCK", t->folder);
	int first = io->open(path, O_RDWR | O_CREAT, 0644), second = io->open(path, O_RDWR, 0);
	assert_int_equal(io->lock(first), 0);
	assert_int_equal(io->lock(second), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	io->close(first);
	assert_int_equal(io->lock(second), 0);
	io->close(second);
}

static void
given_a_crash_at_any_call_when_a_file_is_replaced_then_it_is_the_old_or_the_new_one(void **state)
{
	struct test *t = *state;
	for (int how = KEEP_UNSYNCED; how <= TEAR_UNSYNCED; how++)
		for (uint64_t n = 1; n <= 8; n++) {
			uint64_t size;
			fake_disk_start();
			assert_int_equal(io_replace_file("/disk/file", flow_slice_of("the old one, quite long"), &t->error),
							 FLOW_OK);
			fake_disk_fail(n, 0);
			flow_status status =
				io_replace_file("/disk/file", flow_slice_of("the new one, longer than that"), &t->error);
			fake_disk_crash(how);
			const char *content = fake_disk_content("/disk/file", &size);
			assert_non_null(content);
			int is_new = flow_slice_is(flow_slice_make(content, size), "the new one, longer than that");
			assert_true(is_new || flow_slice_is(flow_slice_make(content, size), "the old one, quite long"));
			assert_true(is_new || status != FLOW_OK);
		}
	fake_disk_stop();
}

static void
given_published_vectors_then_the_checksum_is_crc32c(void **state)
{
	(void)state;
	char zeros[32] = { 0 }, ones[32], rising[32];
	memset(ones, 0xff, sizeof(ones));
	for (int i = 0; i < 32; i++)
		rising[i] = (char)i;
	assert_int_equal(checksum_crc32c(0, "123456789", 9), 0xe3069283u);
	assert_int_equal(checksum_crc32c(0, zeros, 32), 0x8a9136aau); /* RFC 3720, B.4 */
	assert_int_equal(checksum_crc32c(0, ones, 32), 0x62a8ab43u);
	assert_int_equal(checksum_crc32c(0, rising, 32), 0x46dd794eu);
	assert_int_equal(checksum_crc32c(checksum_crc32c(0, "12345", 5), "6789", 4), 0xe3069283u);
	assert_int_equal(checksum_crc32c(0, "", 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_a_file_when_replaced_then_it_has_the_new_content_and_nothing_lies_beside_it),
		TEST(given_what_cannot_be_read_then_the_message_names_path_and_reason),
		TEST(given_folders_when_made_and_removed_then_links_are_not_followed),
		TEST(given_a_path_then_its_folder_is_what_stands_before_the_last_name),
		TEST(given_a_lock_when_taken_twice_then_the_second_is_refused_until_the_first_is_closed),
		TEST(given_a_crash_at_any_call_when_a_file_is_replaced_then_it_is_the_old_or_the_new_one),
		TEST(given_published_vectors_then_the_checksum_is_crc32c),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
