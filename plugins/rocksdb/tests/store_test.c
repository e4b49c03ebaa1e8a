/* The store component over a real folder: order, atomic batches, snapshots, iterators, copies, and what its failures
 * say. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/plugin_fixture.h"

struct test {
	fixture *fixture;
	const flow_store_ops *ops;
	const flow_options *options;
	const char *folder;
	flow_store *store;
	flow_builder *memory;
	flow_error error;
};

static flow_status
try_open(struct test *t, const char *folder, uint32_t create, uint32_t read_only, flow_store **store)
{
	flow_store_info info = { .struct_size = FLOW_SIZEOF(flow_store_info),
							 .space_count = 3,
							 .directory = flow_slice_of(folder),
							 .create = create,
							 .read_only = read_only };
	error_clear(&t->error);
	return t->ops->open(&host_services, t->options, &info, store, &t->error);
}

static void
reopen(struct test *t)
{
	if (t->store != NULL)
		t->ops->close(t->store);
	t->store = NULL;
	if (try_open(t, t->folder, 1, 0, &t->store) != FLOW_OK)
		fail_msg("%s", error_message(&t->error));
}

static int
set_up(void **state)
{
	struct test *t = calloc(1, sizeof(*t));
	t->fixture = fixture_create();
	const flow_component *component = fixture_component(t->fixture, FLOW_STORE, "rocksdb");
	t->ops = component->ops;
	t->options = fixture_options(t->fixture, component, "", (const char *const[]){ "write_buffer=1MiB", NULL });
	t->folder = arena_format(t->fixture->arena, "%s/job/store", fixture_folder(t->fixture));
	t->memory = builder_create(t->fixture->pool, 0, 0);
	reopen(t);
	*state = t;
	return 0;
}

static int
tear_down(void **state)
{
	struct test *t = *state;
	if (t->store != NULL)
		t->ops->close(t->store);
	builder_destroy(t->memory);
	error_clear(&t->error);
	fixture_destroy(t->fixture);
	free(t);
	return 0;
}

static flow_store_write
put(uint32_t space, const char *key, const char *value)
{
	return (flow_store_write){ FLOW_STORE_PUT, space, flow_slice_of(key), flow_slice_of(value) };
}

static flow_store_write
delete_range(uint32_t space, const char *from, const char *to)
{
	return (flow_store_write){ FLOW_STORE_DELETE_RANGE, space, flow_slice_of(from), flow_slice_of(to) };
}

static void
write_all(struct test *t, const flow_store_write *writes, uint64_t count)
{
	if (t->ops->write(t->store, writes, count, 1, &t->error) != FLOW_OK)
		fail_msg("%s", error_message(&t->error));
}

/* "value", "" for an empty one, "-" for none. */
static const char *
get(struct test *t, flow_store_snapshot *snapshot, uint32_t space, const char *key)
{
	flow_slice name = flow_slice_of(key), value;
	assert_int_equal(t->ops->get_many(t->store, snapshot, space, &name, 1, t->memory, &value, &t->error), FLOW_OK);
	return value.data == NULL ? "-" : arena_copy(t->fixture->arena, value.data, value.size);
}

/* The keys of a range as "a b c". */
static const char *
keys(struct test *t, flow_store_snapshot *snapshot, uint32_t space, const char *from, const char *to, int backward)
{
	flow_store_iterator *iterator;
	flow_slice names[2], values[2];
	uint64_t count;
	char *text = arena_copy_text(t->fixture->arena, "");
	assert_int_equal(t->ops->iterate(t->store, snapshot, space, flow_slice_of(from), flow_slice_of(to), backward,
									 &iterator, &t->error),
					 FLOW_OK);
	flow_status status;
	while ((status = t->ops->next_many(iterator, 2, names, values, &count, &t->error)) == FLOW_OK)
		for (uint64_t i = 0; i < count; i++)
			text = arena_format(t->fixture->arena, "%s%s%.*s", text, text[0] == '\0' ? "" : " ", (int)names[i].size,
								names[i].data);
	assert_int_equal(status, FLOW_END);
	assert_int_equal(count, 0);
	t->ops->iterator_close(iterator);
	return text;
}

static void
write_abc(struct test *t)
{
	const flow_store_write writes[] = { put(0, "b", "2"), put(0, "a", "1"), put(0, "c", ""), put(1, "b", "other") };
	write_all(t, writes, FLOW_COUNT(writes));
}

static void
given_a_batch_over_spaces_when_opened_again_then_all_of_it_is_there(void **state)
{
	struct test *t = *state;
	write_abc(t);
	reopen(t);
	assert_string_equal(get(t, NULL, 0, "a"), "1");
	assert_string_equal(get(t, NULL, 0, "c"), "");
	assert_string_equal(get(t, NULL, 1, "b"), "other");
	assert_string_equal(get(t, NULL, 1, "a"), "-");
	assert_string_equal(keys(t, NULL, 0, "", "", 0), "a b c");
}

static void
given_keys_when_iterated_then_bounds_and_direction_are_kept(void **state)
{
	struct test *t = *state;
	write_abc(t);
	assert_string_equal(keys(t, NULL, 0, "b", "", 0), "b c");
	assert_string_equal(keys(t, NULL, 0, "", "c", 0), "a b");
	assert_string_equal(keys(t, NULL, 0, "", "", 1), "c b a");
	assert_string_equal(keys(t, NULL, 0, "a", "c", 1), "b a");
	assert_string_equal(keys(t, NULL, 0, "x", "", 0), "");
	assert_string_equal(keys(t, NULL, 2, "", "", 0), "");
}

static void
given_a_snapshot_when_written_over_then_it_shows_the_old_state(void **state)
{
	struct test *t = *state;
	flow_store_snapshot *snapshot;
	write_abc(t);
	assert_int_equal(t->ops->snapshot_open(t->store, &snapshot, &t->error), FLOW_OK);
	const flow_store_write writes[] = { put(0, "a", "new"), put(0, "d", "4"), delete_range(0, "b", "c") };
	write_all(t, writes, FLOW_COUNT(writes));
	assert_string_equal(get(t, snapshot, 0, "a"), "1");
	assert_string_equal(get(t, snapshot, 0, "b"), "2");
	assert_string_equal(keys(t, snapshot, 0, "", "", 0), "a b c");
	assert_string_equal(get(t, NULL, 0, "a"), "new");
	assert_string_equal(keys(t, NULL, 0, "", "", 0), "a c d");
	t->ops->snapshot_close(t->store, snapshot);
}

static void
given_a_range_to_the_end_when_deleted_then_earlier_puts_of_the_batch_go_and_later_ones_stay(void **state)
{
	struct test *t = *state;
	write_abc(t);
	const flow_store_write writes[] = { put(0, "z", "26"), put(1, "zz", "1"), delete_range(0, "b", ""),
										put(0, "y", "25") };
	write_all(t, writes, FLOW_COUNT(writes));
	assert_string_equal(keys(t, NULL, 0, "", "", 0), "a y");
	assert_string_equal(keys(t, NULL, 1, "", "", 0), "b zz");
	const flow_store_write all[] = { delete_range(0, "", ""), delete_range(2, "", "") };
	write_all(t, all, FLOW_COUNT(all));
	assert_string_equal(keys(t, NULL, 0, "", "", 0), "");
}

static void
given_a_wrong_space_when_written_then_nothing_of_the_batch_is_there(void **state)
{
	struct test *t = *state;
	const flow_store_write writes[] = { put(0, "a", "1"), put(7, "b", "2") };
	assert_int_equal(t->ops->write(t->store, writes, 2, 1, &t->error), FLOW_E_ARGUMENT);
	assert_non_null(strstr(error_message(&t->error), t->folder));
	assert_string_equal(keys(t, NULL, 0, "", "", 0), "");
}

static void
given_large_values_when_iterated_then_a_run_ends_behind_a_mebibyte(void **state)
{
	struct test *t = *state;
	char *large = calloc(1, 700001);
	memset(large, 'x', 700000);
	const flow_store_write writes[] = { put(0, "a", large), put(0, "b", large), put(0, "c", large) };
	write_all(t, writes, 3);
	flow_store_iterator *iterator;
	flow_slice names[8], values[8];
	uint64_t count;
	assert_int_equal(t->ops->iterate(t->store, NULL, 0, flow_slice_of(""), flow_slice_of(""), 0, &iterator, &t->error),
					 FLOW_OK);
	assert_int_equal(t->ops->next_many(iterator, 8, names, values, &count, &t->error), FLOW_OK);
	assert_int_equal(count, 2);
	assert_int_equal(values[1].size, 700000);
	assert_memory_equal(values[1].data, large, 700000);
	assert_int_equal(t->ops->next_many(iterator, 8, names, values, &count, &t->error), FLOW_OK);
	assert_int_equal(count, 1);
	assert_int_equal(t->ops->next_many(iterator, 8, names, values, &count, &t->error), FLOW_END);
	t->ops->iterator_close(iterator);
	free(large);
}

static void
given_a_copy_when_the_store_changes_then_the_copy_does_not(void **state)
{
	struct test *t = *state;
	const char *copy = arena_format(t->fixture->arena, "%s.copy", t->folder);
	write_abc(t);
	assert_int_equal(t->ops->checkpoint(t->store, flow_slice_of(copy), &t->error), FLOW_OK);
	const flow_store_write more = put(0, "d", "4");
	write_all(t, &more, 1);
	assert_int_not_equal(t->ops->checkpoint(t->store, flow_slice_of(copy), &t->error), FLOW_OK); /* it is there */
	t->ops->close(t->store);
	assert_int_equal(try_open(t, copy, 0, 1, &t->store), FLOW_OK);
	assert_string_equal(keys(t, NULL, 0, "", "", 0), "a b c");
	assert_int_equal(t->ops->write(t->store, &more, 1, 1, &t->error), FLOW_E_DENIED);
}

static void
given_no_database_when_opened_without_create_then_it_is_not_found(void **state)
{
	struct test *t = *state;
	flow_store *store = NULL;
	const char *elsewhere = arena_format(t->fixture->arena, "%s.none", t->folder);
	assert_int_equal(try_open(t, elsewhere, 0, 0, &store), FLOW_E_NOT_FOUND);
	assert_non_null(strstr(error_message(&t->error), elsewhere));
	assert_int_equal(access(elsewhere, F_OK), -1);
}

static void
given_an_open_store_when_opened_again_then_the_lock_is_named(void **state)
{
	struct test *t = *state;
	flow_store *store = NULL;
	assert_int_equal(try_open(t, t->folder, 1, 0, &store), FLOW_E_LOCKED);
	assert_non_null(strstr(error_message(&t->error), t->folder));
	assert_non_null(strstr(error_message(&t->error), "this process has it open already"));
}

/* The first file in the folder that ends so. */
static const char *
find_file(struct test *t, const char *suffix)
{
	DIR *folder = opendir(t->folder);
	const char *found = NULL;
	for (const struct dirent *entry; found == NULL && (entry = readdir(folder)) != NULL;) {
		size_t size = strlen(entry->d_name), tail = strlen(suffix);
		if (size > tail && strcmp(entry->d_name + size - tail, suffix) == 0)
			found = arena_format(t->fixture->arena, "%s/%s", t->folder, entry->d_name);
	}
	closedir(folder);
	assert_non_null(found);
	return found;
}

static void
flip_byte(const char *path, long offset)
{
	unsigned char byte;
	int file = open(path, O_RDWR);
	assert_true(file >= 0);
	assert_int_equal(pread(file, &byte, 1, offset), 1);
	byte ^= 0x40;
	assert_int_equal(pwrite(file, &byte, 1, offset), 1);
	close(file);
}

static void
given_damage_in_the_log_before_its_end_when_opened_then_it_is_an_error_and_not_a_loss(void **state)
{
	struct test *t = *state;
	for (int i = 0; i < 20; i++) {
		const flow_store_write one = put(0, arena_format(t->fixture->arena, "key%02d", i), "0123456789");
		write_all(t, &one, 1);
	}
	t->ops->close(t->store);
	t->store = NULL;
	flip_byte(find_file(t, ".log"), 200);
	flow_store *store = NULL;
	assert_int_equal(try_open(t, t->folder, 1, 0, &store), FLOW_E_CORRUPT);
	assert_non_null(strstr(error_message(&t->error), t->folder));
}

static void
given_a_torn_end_of_the_log_when_opened_then_the_synced_writes_are_there(void **state)
{
	struct test *t = *state;
	write_abc(t);
	t->ops->close(t->store);
	t->store = NULL;
	const char *log = find_file(t, ".log");
	int file = open(log, O_WRONLY | O_APPEND);
	assert_int_equal(write(file, "\x12\x34\x56\x78\x40\x00\x01half a record", 20), 20);
	close(file);
	reopen(t);
	assert_string_equal(keys(t, NULL, 0, "", "", 0), "a b c");
}

static void
given_a_damaged_block_when_checked_then_file_and_offset_are_named(void **state)
{
	struct test *t = *state;
	write_abc(t);
	assert_int_equal(t->ops->compact(t->store, &t->error), FLOW_OK);
	assert_int_equal(t->ops->check(t->store, &t->error), FLOW_OK);
	assert_true(t->ops->size(t->store) > 0);
	flip_byte(find_file(t, ".sst"), 3);
	reopen(t);
	assert_int_equal(t->ops->check(t->store, &t->error), FLOW_E_CORRUPT);
	assert_non_null(strstr(error_message(&t->error), ".sst"));
	assert_non_null(strstr(error_message(&t->error), "offset"));
}

static void
given_a_folder_that_cannot_be_made_when_opened_then_it_is_named(void **state)
{
	struct test *t = *state;
	flow_store *store = NULL;
	assert_int_not_equal(try_open(t, "/proc/nothing/here", 1, 0, &store), FLOW_OK);
	assert_non_null(strstr(error_message(&t->error), "/proc/nothing"));
	assert_int_equal(try_open(t, "", 1, 0, &store), FLOW_E_ARGUMENT);
}

static void
given_more_spaces_before_when_opened_with_fewer_then_all_are_kept(void **state)
{
	struct test *t = *state;
	const flow_store_write one = put(2, "x", "1");
	write_all(t, &one, 1);
	t->ops->close(t->store);
	flow_store_info info = { .struct_size = FLOW_SIZEOF(flow_store_info),
							 .space_count = 1,
							 .directory = flow_slice_of(t->folder) };
	assert_int_equal(t->ops->open(&host_services, t->options, &info, &t->store, &t->error), FLOW_OK);
	assert_string_equal(get(t, NULL, 2, "x"), "1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_a_batch_over_spaces_when_opened_again_then_all_of_it_is_there),
		TEST(given_keys_when_iterated_then_bounds_and_direction_are_kept),
		TEST(given_a_snapshot_when_written_over_then_it_shows_the_old_state),
		TEST(given_a_range_to_the_end_when_deleted_then_earlier_puts_of_the_batch_go_and_later_ones_stay),
		TEST(given_a_wrong_space_when_written_then_nothing_of_the_batch_is_there),
		TEST(given_large_values_when_iterated_then_a_run_ends_behind_a_mebibyte),
		TEST(given_a_copy_when_the_store_changes_then_the_copy_does_not),
		TEST(given_no_database_when_opened_without_create_then_it_is_not_found),
		TEST(given_an_open_store_when_opened_again_then_the_lock_is_named),
		TEST(given_damage_in_the_log_before_its_end_when_opened_then_it_is_an_error_and_not_a_loss),
		TEST(given_a_torn_end_of_the_log_when_opened_then_the_synced_writes_are_there),
		TEST(given_a_damaged_block_when_checked_then_file_and_offset_are_named),
		TEST(given_a_folder_that_cannot_be_made_when_opened_then_it_is_named),
		TEST(given_more_spaces_before_when_opened_with_fewer_then_all_are_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
