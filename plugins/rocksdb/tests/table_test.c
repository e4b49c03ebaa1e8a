/* The RocksDB table: what every local table does, and that its rows outlive it. */
#include "support/table_behaviour.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/key.h"
#include "base/schema.h"

static int
set_up(void **state)
{
	*state = table_case_open("rocksdb");
	return 0;
}

static int
tear_down(void **state)
{
	table_case_close(*state);
	return 0;
}

#define BODY(name)                                                                                                     \
	static void name##_here(void **state)                                                                              \
	{                                                                                                                  \
		name(*state);                                                                                                  \
	}

BODY(table_puts_gets_and_deletes)
BODY(table_answers_each_row_of_a_call)
BODY(table_keeps_every_type)
BODY(table_updates_with_and_without_defaults)
BODY(table_applies_updates_of_one_key_in_order)
BODY(table_refuses_updates_that_do_not_fit)
BODY(table_serves_threads)

static void
given_rows_when_opened_again_then_they_and_their_schema_are_there(void **state)
{
	table_case *c = *state;
	table_case_put(c, 1, "{\"id\":1,\"name\":\"one\",\"views\":10}");
	table_case_reopen(c);
	assert_string_equal(table_case_get(c, 1), "{\"id\":1,\"name\":\"one\",\"views\":10}");
	c->ops->close(c->table);
	flow_table_info info = { .struct_size = FLOW_SIZEOF(flow_table_info),
							 .name = flow_slice_of("visits"),
							 .directory = flow_slice_of(c->folder) };
	const flow_options *options = fixture_options(c->fixture, c->component, "", NULL);
	assert_int_equal(c->ops->open(&host_services, options, &info, &c->table, &c->error), FLOW_OK);
	assert_true(schema_equal(info.schema, c->schema));
	assert_true(schema_equal(info.key_schema, c->key_schema));
	schema_release(info.schema);
	schema_release(info.key_schema);
}

static void
given_rows_of_one_schema_when_another_is_set_then_it_is_refused_unless_the_table_is_empty(void **state)
{
	table_case *c = *state;
	const flow_schema *other = fixture_schema(c->fixture, "record(id:int64,visits:float64)");
	table_case_put(c, 1, "{\"id\":1,\"name\":\"one\",\"views\":10}");
	assert_int_equal(c->ops->set_schema(c->table, other, c->key_schema, &c->error), FLOW_E_CONFLICT);
	assert_non_null(strstr(error_message(&c->error), "visits:float64"));
	assert_non_null(strstr(error_message(&c->error), "views:int64"));
	assert_non_null(strstr(error_message(&c->error), c->folder));
	table_case_put(c, 1, "null");
	assert_int_equal(c->ops->set_schema(c->table, other, c->key_schema, &c->error), FLOW_OK);
}

/* What the other process does: puts a row, says so, and waits for its end. It is started anew, not forked off: threads
 * of RocksDB do not survive a fork. */
static int
put_and_wait(char *folder)
{
	table_case *c = table_case_open("rocksdb");
	char *own = arena_copy_text(c->fixture->arena, c->folder);
	c->ops->close(c->table);
	*strstr(own, "/tables/") = '\0';
	assert_int_equal(io_remove_tree(own, &c->error), FLOW_OK); /* it ends without cleaning up */
	c->folder = folder;
	table_case_open_bare(c);
	table_case_put(c, 1, "{\"id\":1,\"name\":\"one\",\"views\":10}");
	if (write(STDOUT_FILENO, "x", 1) == 1)
		pause();
	return 1;
}

static void
given_a_process_that_puts_when_it_is_killed_then_what_it_put_is_there(void **state)
{
	table_case *c = *state;
	char byte;
	int ready[2];
	c->ops->close(c->table);
	c->table = NULL;
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(ready[1], STDOUT_FILENO);
		execl("/proc/self/exe", "table_test", c->folder, NULL);
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	table_case_open_bare(c);
	assert_string_equal(table_case_get(c, 1), "{\"id\":1,\"name\":\"one\",\"views\":10}");
	close(ready[0]);
}

static void
given_a_row_that_is_damaged_when_read_then_its_status_says_so_and_others_come(void **state)
{
	table_case *c = *state;
	table_case_put(c, 1, "{\"id\":1,\"name\":\"one\",\"views\":10}");
	c->ops->close(c->table);
	c->table = NULL;
	const flow_component *component = fixture_component(c->fixture, FLOW_STORE, "rocksdb");
	const flow_store_ops *store_ops = component->ops;
	flow_store_info info = { .struct_size = FLOW_SIZEOF(flow_store_info),
							 .space_count = 2,
							 .directory = flow_slice_of(c->folder) };
	flow_store *store;
	assert_int_equal(
		store_ops->open(&host_services, fixture_options(c->fixture, component, "", NULL), &info, &store, &c->error),
		FLOW_OK);
	flow_value two = flow_int64(2);
	flow_buffer *key = buffer_create();
	assert_int_equal(key_encode(&two, key), FLOW_OK);
	flow_store_write damage = { FLOW_STORE_PUT, 0, flow_slice_make(key->data, key->size),
								flow_slice_make("\x01\x0e\x7f", 3) };
	assert_int_equal(store_ops->write(store, &damage, 1, 1, &c->error), FLOW_OK);
	store_ops->close(store);
	table_case_open_bare(c);
	flow_slice keys[1] = { flow_slice_make(key->data, key->size) };
	flow_value row;
	flow_status status;
	assert_int_equal(c->ops->get_many(c->table, keys, NULL, 1, c->memory, &row, &status, &c->error), FLOW_OK);
	assert_int_equal(status, FLOW_E_CORRUPT);
	assert_string_equal(table_case_get(c, 1), "{\"id\":1,\"name\":\"one\",\"views\":10}");
	buffer_destroy(key);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(int argument_count, char **arguments)
{
	if (argument_count > 1)
		return put_and_wait(arguments[1]);
	const struct CMUnitTest tests[] = {
		TEST(table_puts_gets_and_deletes_here),
		TEST(table_answers_each_row_of_a_call_here),
		TEST(table_keeps_every_type_here),
		TEST(table_updates_with_and_without_defaults_here),
		TEST(table_applies_updates_of_one_key_in_order_here),
		TEST(table_refuses_updates_that_do_not_fit_here),
		TEST(table_serves_threads_here),
		TEST(given_rows_when_opened_again_then_they_and_their_schema_are_there),
		TEST(given_rows_of_one_schema_when_another_is_set_then_it_is_refused_unless_the_table_is_empty),
		TEST(given_a_process_that_puts_when_it_is_killed_then_what_it_put_is_there),
		TEST(given_a_row_that_is_damaged_when_read_then_its_status_says_so_and_others_come),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
