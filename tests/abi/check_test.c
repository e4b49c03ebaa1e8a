/* What `flowd plugin check` finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "flow/flow.h"
#include "plugin/components_service.h"
#include "plugin/host_services.h"
#include "plugin/plugin_check.h"

#define FIXTURES BUILD_FOLDER "/tests/abi/plugins"
#define FORGED BUILD_FOLDER "/tests/abi/forged"

struct checked {
	arena *arena;
	problems *list;
	const plugin_entry *entry;
};

static struct checked
check(const char *file)
{
	struct checked c = { .arena = arena_create() };
	assert_non_null(c.arena);
	c.list = problems_create(c.arena);
	assert_non_null(c.list);
	c.entry = plugin_check(c.arena, file, c.list);
	assert_non_null(c.entry);
	return c;
}

static void
assert_found(const struct checked *c, const char *path, const char *message)
{
	for (size_t i = 0; i < c->list->count; i++)
		if (strstr(c->list->items[i]->message, message) != NULL && strcmp(c->list->items[i]->path, path) == 0)
			return;
	problems_print(c->list, stderr, 0);
	fail_msg("no problem at %s with \"%s\"", path, message);
}

static void
given_a_proper_plugin_when_checked_then_nothing_is_found(void **state)
{
	(void)state;
	struct checked c = check(FIXTURES "/good.so");
	assert_int_equal(c.list->count, 0);
	assert_string_equal(c.entry->id, "good");
	assert_non_null(c.entry->loaded);
	arena_destroy(c.arena);
}

static void
given_wrong_tables_when_checked_then_all_faults_are_named(void **state)
{
	(void)state;
	struct checked c = check(FIXTURES "/no_ops.so");
	assert_found(&c, "function nothing", "table of functions is NULL");
	assert_null(c.entry->loaded);
	arena_destroy(c.arena);
	c = check(FIXTURES "/no_process.so");
	assert_found(&c, "function nothing", "function process is missing");
	arena_destroy(c.arena);
	c = check(FIXTURES "/init_fails.so");
	assert_found(&c, "init", "it failed: the licence server is asleep");
	arena_destroy(c.arena);
}

static void
given_other_files_when_checked_then_they_are_not_run(void **state)
{
	(void)state;
	struct checked c = check("/nowhere/x.so");
	assert_found(&c, "file", "/nowhere/x.so");
	arena_destroy(c.arena);
	c = check(FIXTURES "/foreign.so");
	assert_found(&c, "manifest", "no section .flowd.manifest");
	assert_int_equal(c.list->errors, 1);
	arena_destroy(c.arena);
}

static void
given_surplus_exports_when_checked_then_they_are_warned_of(void **state)
{
	(void)state;
	struct checked c = check(FORGED "/foreign_with_manifest.so");
	assert_found(&c, "exports", "foreign_number is exported");
	assert_found(&c, "loading", "does not export flow_plugin_v0");
	assert_int_equal(c.list->errors, 1);
	assert_int_equal(c.list->count, 2);
	arena_destroy(c.arena);
}

static void
given_a_component_of_another_plugin_when_opened_then_what_is_wrong_is_named(void **state)
{
	(void)state;
	static const char *const folders[] = { FIXTURES, NULL };
	flow_error error = { 0 };
	const void *ops;
	void *instance;
	registry *r = registry_create(folders, &error);
	assert_non_null(r);
	const flow_components *components = host_services.get_service(FLOW_SERVICE_COMPONENTS);
	assert_non_null(components);
	assert_int_equal(components->open(FLOW_STORE, "gizmo", NULL, NULL, &ops, &instance, &error), FLOW_E_NOT_FOUND);
	assert_non_null(strstr(error_message(&error), "no plugin has the store gizmo"));
	assert_int_equal(components->open(FLOW_FUNCTION, "nothing", NULL, NULL, &ops, &instance, &error),
					 FLOW_E_UNSUPPORTED);
	const char *const wrong[] = { "colour=blue", NULL };
	assert_int_equal(components->open(FLOW_FUNCTION, "nothing", wrong, NULL, &ops, &instance, &error), FLOW_E_CONFIG);
	assert_non_null(strstr(error_message(&error), "colour"));
	registry_destroy(r);
	assert_int_equal(components->open(FLOW_STORE, "gizmo", NULL, NULL, &ops, &instance, &error), FLOW_E_NOT_FOUND);
	error_clear(&error);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_a_proper_plugin_when_checked_then_nothing_is_found),
		cmocka_unit_test(given_wrong_tables_when_checked_then_all_faults_are_named),
		cmocka_unit_test(given_other_files_when_checked_then_they_are_not_run),
		cmocka_unit_test(given_surplus_exports_when_checked_then_they_are_warned_of),
		cmocka_unit_test(given_a_component_of_another_plugin_when_opened_then_what_is_wrong_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
