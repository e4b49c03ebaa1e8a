/* `flowd check`, `flowd plan`, `flowd explain`: what a configuration means, without running it. */
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "host/commands.h"
#include "host/session.h"
#include "options/setting.h"
#include "transfer/transfer_check.h"

#define FILES_MOST 16

static const command_option option_set = { "set", "KEY=VALUE", "Override a key; may be given several times.", NULL };
static const command_option option_dot = { "dot", NULL, "Print the graph for Graphviz.", NULL };
static const command_option option_mermaid = { "mermaid", NULL, "Print the graph for Mermaid.", NULL };
static const command_option option_connect = {
	"connect", NULL, "Ask the systems too: what streams need must be there, a topic or a folder.", NULL
};
static const command_option *const check_options[] = { &option_set, &option_connect, NULL };
static const command_option *const explain_options[] = { &option_set, NULL };
static const command_option *const plan_options[] = { &option_set, &option_dot, &option_mermaid, NULL };

static void
plan_application(session *s, uint32_t flags)
{
	if (!session_has_links_only(s))
		session_plan(s, flags);
}

static int
run_check(arguments *given)
{
	session s;
	int exit_code = session_open(&s, given);
	if (exit_code == EXIT_DONE) {
		if (session_load(&s, given, FILES_MOST) == EXIT_DONE ||
			(s.config != NULL && config_root(s.config, "application") != NULL))
			plan_application(&s, arguments_value(given, "connect") != NULL ? PLAN_CONNECTED : PLAN_OFFLINE);
		if (s.config != NULL)
			problems_warn(s.problems, transfers_report_idle(s.config));
		exit_code = session_report(&s, given);
		if (exit_code == EXIT_DONE && arguments_value(given, "json") == NULL)
			printf("%s: good\n", arguments_operand(given, 0));
	}
	session_close(&s);
	return exit_code;
}

static int
run_plan(arguments *given)
{
	session s;
	int exit_code = session_open(&s, given);
	if (exit_code == EXIT_DONE) {
		if (session_load(&s, given, FILES_MOST) == EXIT_DONE)
			session_plan(&s, 0);
		exit_code = session_report(&s, given);
	}
	if (exit_code == EXIT_DONE && s.plan != NULL) {
		if (arguments_value(given, "json") != NULL)
			plan_print_json(s.plan, stdout);
		else if (arguments_value(given, "dot") != NULL)
			plan_print_dot(s.plan, stdout);
		else if (arguments_value(given, "mermaid") != NULL)
			plan_print_mermaid(s.plan, stdout);
		else
			plan_print_text(s.plan, stdout);
	}
	session_close(&s);
	return exit_code;
}

static const char *
layer_name(uint8_t layer)
{
	static const char *const names[] = { "",           "option default", "system default", "configuration file",
										 "descriptor", "planner",        "jobs",           "--set" };
	return layer < sizeof(names) / sizeof(names[0]) ? names[layer] : "";
}

/* What a thing overrode, without the defaults of something that is written by its name alone. */
static const setting *
overridden(const setting *s)
{
	const setting *lower = s->overrode;
	while (lower != NULL && lower->layer == LAYER_DEFAULT && lower->kind == SETTING_GROUP)
		lower = lower->overrode;
	return lower;
}

static json_t *
voice_json(arena *a, const setting *s)
{
	return json_pack("{s:s, s:s, s:s}", "value", setting_print(a, s), "layer", layer_name(s->layer), "origin",
					 s->origin == NULL ? "" : s->origin);
}

static json_t *
explanation_json(arena *a, const setting *found)
{
	json_t *json = voice_json(a, found);
	json_t *overrode = json_array();
	for (const setting *lower = overridden(found); lower != NULL; lower = overridden(lower))
		json_array_append_new(overrode, voice_json(a, lower));
	json_object_set_new(json, "overrode", overrode);
	if (found->kind != SETTING_GROUP || found->secret)
		return json;
	json_t *keys = json_object();
	for (size_t i = 0; i < found->child_count; i++)
		json_object_set_new(keys, found->children[i]->name, explanation_json(a, found->children[i]));
	json_object_set_new(json, "keys", keys);
	return json;
}

/* "option default", or with where it stands: "descriptor, app.c:31". */
static void
print_voice(const setting *s)
{
	int told = s->origin == NULL || (s->layer == LAYER_DEFAULT && strcmp(s->origin, "default") == 0);
	printf(" from %s%s%s\n", layer_name(s->layer), told ? "" : ", ", told ? "" : s->origin);
}

/* Each key of a group by itself. */
static void
print_explanation(arena *a, const char *key, const setting *found)
{
	if (found->kind == SETTING_GROUP && !found->secret && found->child_count != 0) {
		for (size_t i = 0; i < found->child_count; i++) {
			const char *name = found->children[i]->name, *quote = strchr(name, '.') == NULL ? "" : "\"";
			print_explanation(a, arena_format(a, "%s.%s%s%s", key, quote, name, quote), found->children[i]);
		}
		return;
	}
	printf("%s = %s\n ", key, setting_print(a, found));
	print_voice(found);
	for (const setting *lower = overridden(found); lower != NULL; lower = overridden(lower)) {
		printf("  overrode %s", setting_print(a, lower));
		print_voice(lower);
	}
}

static int
explain(session *s, arguments *given)
{
	const char *key = arguments_operand(given, arguments_count(given) - 1);
	const setting *found = config_explain(s->config, key);
	if (found == NULL) {
		fprintf(stderr,
				"flowd explain: nothing sets %s\nKeys begin with systems, streams (inputs and outputs), tables, "
				"operators or job; "
				"flowd plan lists those that are set, flowd help the defaults of all others\n",
				key);
		return EXIT_CONFIGURATION;
	}
	if (arguments_value(given, "json") == NULL) {
		print_explanation(s->arena, key, found);
		return EXIT_DONE;
	}
	json_t *json = explanation_json(s->arena, found);
	json_dumpf(json, stdout, JSON_INDENT(2));
	printf("\n");
	json_decref(json);
	return EXIT_DONE;
}

static int
run_explain(arguments *given)
{
	session s;
	int exit_code = session_open(&s, given);
	if (exit_code == EXIT_DONE) {
		/* The planner's part is wanted too, but a key can be explained although something else is wrong. */
		if (session_load(&s, given, arguments_count(given) - 1) == EXIT_DONE)
			plan_application(&s, PLAN_OFFLINE);
		exit_code = s.config == NULL ? EXIT_RUN_FAILED : explain(&s, given);
		if (exit_code != EXIT_DONE && s.problems->errors != 0)
			session_report(&s, given);
	}
	session_close(&s);
	return exit_code;
}

const command check_command = {
	.name = "check",
	.operands = "FILE...",
	.least = 1,
	.most = FILES_MOST,
	.summary = "Say everything that is wrong with a configuration file.",
	.doc = "Looks at nothing outside of this process but local files, unless --connect is given. Each line: file:line: "
		   "path: what is wrong, did you mean ...\n"
		   "One of the files may be an application plugin (NAME.so); the others configure it.",
	.options = check_options,
	.run = run_check,
};

const command plan_command = {
	.name = "plan",
	.operands = "FILE...",
	.least = 1,
	.most = FILES_MOST,
	.summary = "Show what would run: streams, stages, operators with their types, delivery.",
	.doc = "One of the files may be an application plugin (NAME.so); the others configure it.",
	.options = plan_options,
	.run = run_plan,
};

const command explain_command = {
	.name = "explain",
	.operands = "FILE... KEY",
	.least = 2,
	.most = FILES_MOST + 1,
	.summary = "Show a key's value, where it is from, and what it overrode.",
	.doc = "A key is what the plan calls it: systems.NAME.*, streams.ID.*, tables.NAME.*, operators.NAME.*, job.*\n"
		   "Every layer that has it is told, its default too; of a group (streams.ID) each of its keys.",
	.options = explain_options,
	.run = run_explain,
};
