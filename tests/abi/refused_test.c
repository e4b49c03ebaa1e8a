/* Which files the registry refuses to load, and what it says about them. */
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

#include "base/error.h"
#include "base/log.h"
#include "flow/flow.h"
#include "flow_sdk/manifest.h"
#include "plugin/host_services.h"
#include "plugin/metrics.h"
#include "plugin/registry.h"

#define FIXTURES BUILD_FOLDER "/tests/abi/plugins"
#define FORGED BUILD_FOLDER "/tests/abi/forged" /* with the manifest of another one */

struct world {
	registry *registry;
	flow_error error;
	char folder[64];
};

static int
set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	assert_non_null(world);
	log_configure(FLOW_LOG_ERROR, LOG_FORMAT_LOGFMT, 2);
	unsetenv("FLOWD_PLUGIN_PATH");
	strcpy(world->folder, "/tmp/flowd-abi-XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	world->registry = registry_create(NULL, &world->error);
	assert_non_null(world->registry);
	*state = world;
	return 0;
}

static int
tear_down(void **state)
{
	struct world *world = *state;
	char command[128];
	registry_destroy(world->registry);
	error_clear(&world->error);
	snprintf(command, sizeof(command), "rm -rf %s", world->folder);
	assert_int_equal(system(command), 0);
	free(world);
	return 0;
}

static void
assert_refused(struct world *world, const char *file, const char *reason)
{
	const plugin_entry *entry = NULL;
	flow_status status = registry_load_file(world->registry, file, &entry, &world->error);
	if (status != FLOW_E_PLUGIN)
		fail_msg("%s: status %d: %s", file, status, error_message(&world->error));
	const char *slash = strrchr(file, '/');
	if (strstr(error_message(&world->error), reason) == NULL || strstr(error_message(&world->error), slash) == NULL)
		fail_msg("\"%s\" names not both file and \"%s\"", error_message(&world->error), reason);
	assert_non_null(entry);
	assert_non_null(entry->refused);
	assert_null(entry->loaded);
}

static char *
read_file(const char *path, size_t *size)
{
	FILE *from = fopen(path, "rb");
	assert_non_null(from);
	assert_int_equal(fseek(from, 0, SEEK_END), 0);
	*size = (size_t)ftell(from);
	rewind(from);
	char *bytes = malloc(*size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size, from), *size);
	fclose(from);
	return bytes;
}

static const char *
write_file(struct world *world, const char *name, const char *bytes, size_t size)
{
	static char path[160];
	snprintf(path, sizeof(path), "%s/%s", world->folder, name);
	unlink(path);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	assert_true(to >= 0);
	assert_int_equal(write(to, bytes, size), size);
	close(to);
	return path;
}

static const char *
copy_of_good(struct world *world, const char *name)
{
	size_t size;
	char *bytes = read_file(FIXTURES "/good.so", &size);
	const char *path = write_file(world, name, bytes, size);
	free(bytes);
	return path;
}

static void
given_a_proper_plugin_when_loaded_then_it_is_there(void **state)
{
	struct world *world = *state;
	const plugin_entry *entry;
	const flow_component *component;
	if (registry_load_file(world->registry, FIXTURES "/good.so", &entry, &world->error) != FLOW_OK)
		fail_msg("%s", error_message(&world->error));
	assert_string_equal(entry->id, "good");
	assert_string_equal(entry->version, "1.2.3");
	assert_int_equal(entry->abi, FLOW_ABI);
	assert_int_equal(entry->component_count, 1);
	assert_string_equal(entry->components[0].summary, "A function that does nothing");
	assert_int_equal(registry_component(world->registry, FLOW_FUNCTION, "nothing", &component, &world->error), FLOW_OK);
	assert_string_equal(component->id, "nothing");
	/* A second time gives the same one. */
	const plugin_entry *again;
	assert_int_equal(registry_load_file(world->registry, FIXTURES "/../plugins/good.so", &again, &world->error),
					 FLOW_OK);
	assert_ptr_equal(again, entry);
}

static void
given_a_file_that_is_not_there_when_loaded_then_it_is_not_found(void **state)
{
	struct world *world = *state;
	const plugin_entry *entry;
	assert_int_equal(registry_load_file(world->registry, "/nowhere/x.so", &entry, &world->error), FLOW_E_NOT_FOUND);
	assert_non_null(strstr(error_message(&world->error), "/nowhere/x.so"));
}

static void
given_objects_that_are_no_plugins_when_loaded_then_they_are_refused(void **state)
{
	struct world *world = *state;
	assert_refused(world, FIXTURES "/foreign.so", "no section .flowd.manifest");
	assert_refused(world, FORGED "/foreign_with_manifest.so", "does not export flow_plugin_v0");
	assert_refused(world, write_file(world, "empty.so", "", 0), "not an ELF file");
	assert_refused(world,
				   write_file(world, "text.so", "Once upon a time there was a file that was no object at all.\n", 61),
				   "not an ELF file");
	mkfifo("/tmp/flowd-abi-fifo.so", 0644);
	assert_refused(world, "/tmp/flowd-abi-fifo.so", "not a regular file");
	unlink("/tmp/flowd-abi-fifo.so");
}

static void
given_another_abi_when_loaded_then_both_versions_are_named(void **state)
{
	struct world *world = *state;
	char host[32];
	assert_refused(world, FIXTURES "/other_minor.so", "built for ABI 0.99");
	snprintf(host, sizeof(host), "this flowd has ABI %d.%d", FLOW_ABI_MAJOR, FLOW_ABI_MINOR);
	assert_refused(world, FIXTURES "/other_minor.so", host);
	assert_refused(world, FIXTURES "/other_minor.so", "plugin other_minor 1.2.3");
	assert_refused(world, FIXTURES "/other_major.so", "built for ABI 7.0");
	/* The manifest claims the host's ABI, the tables another one. */
	assert_refused(world, FORGED "/disguised.so", "built for ABI 0.99");
}

static void
given_wrong_tables_when_loaded_then_the_fault_is_named(void **state)
{
	struct world *world = *state;
	assert_refused(world, FIXTURES "/twice.so", "function nothing is there twice");
	assert_refused(world, FIXTURES "/no_ops.so", "function nothing: its table of functions is NULL");
	assert_refused(world, FIXTURES "/no_process.so", "function process is missing");
	assert_refused(world, FIXTURES "/bad_id.so", "a component without proper kind, id or flags");
	assert_refused(world, FIXTURES "/small_root.so", "struct_size");
	assert_refused(world, FORGED "/other_tables.so", "its manifest is not that of its tables");
}

static void
given_an_init_that_fails_when_loaded_then_its_reason_is_named(void **state)
{
	struct world *world = *state;
	const flow_component *component;
	assert_refused(world, FIXTURES "/init_fails.so", "its init failed: the licence server is asleep");
	/* Its component is known from the manifest, and refused with the same reason. */
	assert_int_equal(registry_component(world->registry, FLOW_FUNCTION, "nothing", &component, &world->error),
					 FLOW_E_PLUGIN);
	assert_non_null(strstr(error_message(&world->error), "the licence server is asleep"));
}

static void
given_files_that_others_may_write_when_loaded_then_they_are_refused(void **state)
{
	struct world *world = *state;
	const char *path = copy_of_good(world, "group.so");
	assert_int_equal(chmod(path, 0775), 0);
	assert_refused(world, path, "may be written by its group; run: chmod go-w");
	path = copy_of_good(world, "world.so");
	assert_int_equal(chmod(path, 0757), 0);
	assert_refused(world, path, "may be written by everybody");
	path = copy_of_good(world, "folder.so");
	assert_int_equal(chmod(world->folder, 0777), 0);
	assert_refused(world, path, "the folder");
	assert_int_equal(chmod(world->folder, 0755), 0);
}

static void
given_a_file_of_another_user_when_loaded_then_it_is_refused(void **state)
{
	struct world *world = *state;
	if (geteuid() != 0)
		skip(); /* only root can give files away */
	const char *path = copy_of_good(world, "given.so");
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_refused(world, path, "belongs to user 12345");
}

/* Nothing of a damaged file may crash the reader; what does not hit the manifest or the tables may well load. */
static void
given_truncated_objects_when_listed_then_they_are_refused(void **state)
{
	struct world *world = *state;
	size_t size;
	char *bytes = read_file(FIXTURES "/good.so", &size);
	for (size_t cut = 0; cut < size; cut += cut < 256 ? 13 : 997) {
		char name[32];
		snprintf(name, sizeof(name), "cut-%zu.so", cut);
		assert_refused(world, write_file(world, name, bytes, cut), "");
	}
	free(bytes);
}

static void
given_garbage_in_the_headers_when_listed_then_nothing_is_read_beyond_the_file(void **state)
{
	struct world *world = *state;
	size_t size;
	char *bytes = read_file(FIXTURES "/good.so", &size);
	uint64_t seed = 42;
	for (int round = 0; round < 400; round++) {
		char *broken = malloc(size);
		assert_non_null(broken);
		memcpy(broken, bytes, size);
		for (int i = 0; i < 8; i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			size_t range = round % 2 == 0 ? 64 : 64 * 40; /* ELF header, or the section table at the end */
			size_t at = (size_t)(seed >> 33) % range;
			broken[round % 2 == 0 ? at : size - range + at] = (char)(seed >> 25);
		}
		/* Only listed: nobody promises that dlopen survives this, and owner and rights are what keeps it away. */
		char name[32];
		snprintf(name, sizeof(name), "garbage.so");
		write_file(world, name, broken, size);
		const char *const folders[] = { world->folder, NULL };
		registry *r = registry_create(folders, &world->error);
		assert_non_null(r);
		assert_true(registry_count(r) >= 1);
		registry_destroy(r);
		free(broken);
	}
	free(bytes);
}

static void
given_a_garbage_manifest_when_loaded_then_it_is_refused(void **state)
{
	struct world *world = *state;
	assert_refused(world, FIXTURES "/no_json.so", "its manifest is damaged");
	assert_refused(world, FIXTURES "/empty_manifest.so", "its manifest is damaged");
}

static void
given_two_plugins_of_one_id_when_listed_then_the_first_wins(void **state)
{
	struct world *world = *state;
	const flow_component *component;
	copy_of_good(world, "a-copy.so");
	const char *const folders[] = { FIXTURES, world->folder, NULL };
	registry *r = registry_create(folders, &world->error);
	assert_non_null(r);
	const plugin_entry *good = registry_find_plugin(r, "good");
	assert_non_null(strstr(good->file, "/plugins/good.so"));
	assert_null(good->refused);
	int shadowed = 0;
	for (size_t i = 0; i < registry_count(r); i++)
		if (strstr(registry_entry(r, i)->file, "a-copy.so") != NULL)
			shadowed = strstr(registry_entry(r, i)->refused, "good.so") != NULL;
	assert_true(shadowed);
	assert_int_equal(registry_component(r, FLOW_FUNCTION, "nothin", &component, &world->error), FLOW_E_NOT_FOUND);
	assert_non_null(strstr(error_message(&world->error), "did you mean nothing"));
	registry_destroy(r);
}

static void
given_a_plugin_folder_that_is_not_there_when_created_then_it_is_an_error(void **state)
{
	struct world *world = *state;
	const char *const folders[] = { "/nowhere/plugins", NULL };
	assert_null(registry_create(folders, &world->error));
	assert_non_null(strstr(error_message(&world->error), "/nowhere/plugins"));
	setenv("FLOWD_PLUGIN_PATH", "/nowhere/else", 1);
	assert_null(registry_create(NULL, &world->error));
	assert_non_null(strstr(error_message(&world->error), "FLOWD_PLUGIN_PATH"));
	setenv("FLOWD_PLUGIN_PATH", ":" FIXTURES ":", 1);
	registry *r = registry_create(NULL, &world->error);
	assert_non_null(r);
	assert_non_null(registry_find_plugin(r, "good"));
	registry_destroy(r);
	unsetenv("FLOWD_PLUGIN_PATH");
}

static void
count_fixture(void *context, const metric_view *view)
{
	if (strcmp(view->name, "fixture_inits_total") == 0 && strcmp(view->labels, "plugin=good") == 0)
		*(int64_t *)context = view->value;
}

static void
given_a_metric_of_init_when_visited_then_it_names_its_plugin(void **state)
{
	struct world *world = *state;
	const plugin_entry *entry;
	int64_t value = 0;
	assert_int_equal(registry_load_file(world->registry, FIXTURES "/good.so", &entry, &world->error), FLOW_OK);
	metrics_visit(count_fixture, &value);
	assert_true(value >= 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_a_proper_plugin_when_loaded_then_it_is_there),
		TEST(given_a_file_that_is_not_there_when_loaded_then_it_is_not_found),
		TEST(given_objects_that_are_no_plugins_when_loaded_then_they_are_refused),
		TEST(given_another_abi_when_loaded_then_both_versions_are_named),
		TEST(given_wrong_tables_when_loaded_then_the_fault_is_named),
		TEST(given_an_init_that_fails_when_loaded_then_its_reason_is_named),
		TEST(given_files_that_others_may_write_when_loaded_then_they_are_refused),
		TEST(given_a_file_of_another_user_when_loaded_then_it_is_refused),
		TEST(given_truncated_objects_when_listed_then_they_are_refused),
		TEST(given_garbage_in_the_headers_when_listed_then_nothing_is_read_beyond_the_file),
		TEST(given_a_garbage_manifest_when_loaded_then_it_is_refused),
		TEST(given_two_plugins_of_one_id_when_listed_then_the_first_wins),
		TEST(given_a_plugin_folder_that_is_not_there_when_created_then_it_is_an_error),
		TEST(given_a_metric_of_init_when_visited_then_it_names_its_plugin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
