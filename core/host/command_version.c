/* `flowd version`. */
#include <dlfcn.h>
#include <jansson.h>
#include <libconfig.h>

#include "flow/abi.h"
#include "host/commands.h"
#include "host/session.h"

#ifndef FLOWD_VERSION
#define FLOWD_VERSION "0.1.0"
#endif

/* jemalloc is linked into the executable only; asking for its symbol tells whether it is. */
static const char *
allocator_name(void)
{
	return dlsym(RTLD_DEFAULT, "mallctl") != NULL ? "jemalloc" : "libc";
}

static void
print_text(const session *s)
{
	printf("flowd %s, ABI %u.%u, allocator %s\n", FLOWD_VERSION, FLOW_ABI_MAJOR, FLOW_ABI_MINOR, allocator_name());
	printf("libraries: libconfig %d.%d, jansson %s\n", LIBCONFIG_VER_MAJOR, LIBCONFIG_VER_MINOR, JANSSON_VERSION);
	printf("plugins:");
	for (size_t i = 0; i < registry_count(s->registry); i++)
		printf(" %s %s%s", registry_entry(s->registry, i)->id, registry_entry(s->registry, i)->version,
			   registry_entry(s->registry, i)->refused == NULL ? "" : " (refused)");
	printf("\n");
}

static void
print_json(const session *s)
{
	json_t *plugins = json_array();
	for (size_t i = 0; i < registry_count(s->registry); i++) {
		const plugin_entry *entry = registry_entry(s->registry, i);
		json_array_append_new(plugins, json_pack("{s:s, s:s, s:s, s:b}", "id", entry->id, "version", entry->version,
												 "file", entry->file, "refused", entry->refused != NULL));
	}
	json_t *json = json_pack("{s:s, s:{s:i, s:i}, s:s, s:{s:s, s:s}, s:o}", "version", FLOWD_VERSION, "abi", "major",
							 FLOW_ABI_MAJOR, "minor", FLOW_ABI_MINOR, "allocator", allocator_name(), "libraries",
							 "libconfig", FLOW_TEXT_OF(LIBCONFIG_VER_MAJOR) "." FLOW_TEXT_OF(LIBCONFIG_VER_MINOR),
							 "jansson", JANSSON_VERSION, "plugins", plugins);
	json_dumpf(json, stdout, JSON_INDENT(2));
	printf("\n");
	json_decref(json);
}

static int
run_version(arguments *given)
{
	session s;
	int exit_code = session_open(&s, given);
	if (exit_code == EXIT_DONE) {
		if (arguments_value(given, "json") != NULL)
			print_json(&s);
		else
			print_text(&s);
	}
	session_close(&s);
	return exit_code;
}

const command version_command = {
	.name = "version",
	.operands = "",
	.summary = "Show versions of flowd, its ABI, allocator, libraries and plugins.",
	.run = run_version,
};
