#include "host/session.h"

#include <string.h>

#include "base/error.h"
#include "expr/expression.h"
#include "plugin/host_services.h"
#include "transfer/transfer_check.h"

static int
no_memory(void)
{
	fprintf(stderr, "flowd: out of memory\n");
	return EXIT_RUN_FAILED;
}

int
session_open(session *s, arguments *given)
{
	memset(s, 0, sizeof(*s));
	host_services_add(FLOW_SERVICE_EXPRESSIONS, &expressions_service);
	s->arena = arena_create();
	s->problems = s->arena == NULL ? NULL : problems_create(s->arena);
	const char *const *folders = arguments_values(given, "plugin-dir");
	if (s->problems == NULL || folders == NULL)
		return no_memory();
	flow_error error = { 0 };
	s->registry = registry_create(folders, &error);
	if (s->registry != NULL)
		return EXIT_DONE;
	fprintf(stderr, "flowd: %s\n", error_message(&error));
	error_clear(&error);
	return EXIT_PLUGIN;
}

static int
is_plugin(const char *file)
{
	size_t length = strlen(file);
	return length > 3 && strcmp(file + length - 3, ".so") == 0;
}

static int
load_operand(session *s, const char *file)
{
	if (!is_plugin(file))
		return config_load(s->config, file);
	if (s->application == NULL) {
		s->application = file;
		return 1;
	}
	problem *p = problems_add(s->problems, NULL, 0, "application", "there are two applications: %s and %s",
							  s->application, file);
	if (p != NULL)
		p->place = file;
	return 0;
}

int
session_load(session *s, arguments *given, size_t most)
{
	s->config = config_create(s->arena, s->problems);
	const char *const *assignments = arguments_values(given, "set");
	if (s->config == NULL || assignments == NULL)
		return no_memory();
	int good = 1;
	for (size_t i = 0; i < most && i < arguments_count(given); i++)
		good &= load_operand(s, arguments_operand(given, i));
	for (size_t i = 0; assignments[i] != NULL; i++)
		good &= config_set_command(s->config, assignments[i]);
	good &= transfers_check(s->config);
	return good ? EXIT_DONE : EXIT_CONFIGURATION;
}

int
session_has_links_only(const session *s)
{
	return s->application == NULL && config_root(s->config, "application") == NULL &&
		   (config_root(s->config, "links") != NULL || config_root(s->config, "transfers") != NULL);
}

int
session_plan(session *s, uint32_t flags)
{
	s->graph = s->application != NULL ? graph_from_plugin(s->config, s->registry, s->application)
									  : graph_from_config(s->config, s->registry);
	if (s->graph == NULL) {
		if (s->problems->errors == 0)
			problems_add(s->problems, config_file_count(s->config) == 0 ? NULL : config_file(s->config, 0), 0,
						 "application", "there is no application in the configuration");
		return EXIT_CONFIGURATION;
	}
	s->plan = plan_create(s->config, s->registry, s->graph, flags);
	return s->plan == NULL || s->problems->errors != 0 ? EXIT_CONFIGURATION : EXIT_DONE;
}

int
session_report(session *s, arguments *given)
{
	int checks = strcmp(arguments_command(given)->name, "check") == 0;
	/* Warnings alone do not stand in front of what the command prints as JSON. */
	int json = arguments_value(given, "json") != NULL && (checks || s->problems->errors != 0);
	problems_sort(s->problems);
	if (s->problems->count != 0 || (json && checks))
		problems_print(s->problems, json ? stdout : stderr, json);
	if (s->problems->errors == 0)
		return EXIT_DONE;
	if (s->problems->plugins_refused != 0)
		return EXIT_PLUGIN;
	return s->problems->bad_data == s->problems->errors ? EXIT_RUN_FAILED : EXIT_CONFIGURATION;
}

void
session_close(session *s)
{
	plan_destroy(s->plan);
	registry_destroy(s->registry);
	arena_destroy(s->arena);
	memset(s, 0, sizeof(*s));
}
