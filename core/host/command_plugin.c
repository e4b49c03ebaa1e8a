/* `flowd plugin list|show|check`. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "host/commands.h"
#include "host/session.h"
#include "plugin/plugin_check.h"

static void
print_entry(const plugin_entry *entry)
{
	printf("%-12s %-8s %s\n", entry->id, entry->version, entry->file);
	for (size_t i = 0; i < entry->component_count; i++)
		printf("  %-12s %-14s %s\n", component_kind_name(entry->components[i].kind), entry->components[i].id,
			   entry->components[i].summary);
	if (entry->refused != NULL)
		printf("  refused: %s\n", entry->refused);
}

static json_t *
entry_json(const plugin_entry *entry)
{
	json_t *components = json_array();
	for (size_t i = 0; i < entry->component_count; i++)
		json_array_append_new(components,
							  json_pack("{s:s, s:s, s:s}", "kind", component_kind_name(entry->components[i].kind), "id",
										entry->components[i].id, "summary", entry->components[i].summary));
	return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:o}", "id", entry->id, "version", entry->version, "license",
					 entry->license == NULL ? "" : entry->license, "file", entry->file, "refused", entry->refused,
					 "components", components);
}

static int
print_json(json_t *json)
{
	if (json == NULL)
		return EXIT_RUN_FAILED;
	json_dumpf(json, stdout, JSON_INDENT(2));
	printf("\n");
	json_decref(json);
	return EXIT_DONE;
}

static int
run_list(arguments *given)
{
	session s;
	int exit_code = session_open(&s, given);
	json_t *list = arguments_value(given, "json") != NULL ? json_array() : NULL;
	for (size_t i = 0; exit_code == EXIT_DONE && i < registry_count(s.registry); i++) {
		if (list != NULL)
			json_array_append_new(list, entry_json(registry_entry(s.registry, i)));
		else
			print_entry(registry_entry(s.registry, i));
	}
	if (exit_code == EXIT_DONE && list != NULL)
		exit_code = print_json(list);
	session_close(&s);
	return exit_code;
}

static int
unknown_plugin(const session *s, const char *id)
{
	fprintf(stderr, "flowd plugin show: there is no plugin %s; there are:", id);
	for (size_t i = 0; i < registry_count(s->registry); i++)
		fprintf(stderr, " %s", registry_entry(s->registry, i)->id);
	fprintf(stderr, "\n");
	return EXIT_USAGE;
}

/* The manifest is the answer for machines: it holds everything, options included. */
static int
show(const session *s, arguments *given)
{
	const char *id = arguments_operand(given, 0);
	const plugin_entry *entry = registry_find_plugin(s->registry, id);
	if (entry == NULL)
		return unknown_plugin(s, id);
	if (arguments_value(given, "json") != NULL) {
		printf("%s\n", entry->manifest);
		return EXIT_DONE;
	}
	print_entry(entry);
	printf("license %s, ABI %u.%u\nOptions: flowd help COMPONENT\n",
		   entry->license == NULL ? "unknown" : entry->license, entry->abi >> 16, entry->abi & 0xffff);
	return EXIT_DONE;
}

static int
run_show(arguments *given)
{
	session s;
	int exit_code = session_open(&s, given);
	if (exit_code == EXIT_DONE)
		exit_code = show(&s, given);
	session_close(&s);
	return exit_code;
}

static int
run_check(arguments *given)
{
	session s;
	int exit_code = session_open(&s, given);
	if (exit_code == EXIT_DONE) {
		const char *file = arguments_operand(given, 0);
		int json = arguments_value(given, "json") != NULL;
		const plugin_entry *entry = plugin_check(s.arena, file, s.problems);
		problems_sort(s.problems);
		if (json || s.problems->count != 0)
			problems_print(s.problems, json ? stdout : stderr, json);
		if (entry == NULL || s.problems->errors != 0)
			exit_code = EXIT_PLUGIN;
		else if (!json)
			printf("%s: good\n", file);
	}
	session_close(&s);
	return exit_code;
}

const command plugin_list_command = {
	.name = "plugin list",
	.operands = "",
	.summary = "List the plugins that can be used, with their components.",
	.run = run_list,
};

const command plugin_show_command = {
	.name = "plugin show",
	.operands = "NAME",
	.least = 1,
	.most = 1,
	.summary = "Show a plugin; with --json its whole manifest.",
	.run = run_show,
};

const command plugin_check_command = {
	.name = "plugin check",
	.operands = "FILE.so",
	.least = 1,
	.most = 1,
	.summary = "Say whether a plugin keeps the ABI's rules.",
	.run = run_check,
};
