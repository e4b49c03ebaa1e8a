/* `flowd state ls|reset`: what a state directory holds, and discarding it. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/error.h"
#include "host/commands.h"
#include "host/session.h"
#include "plugin/component_options.h"
#include "state/checkpoint.h"

#define STATE_FOLDER "state"

static int
is_folder(const char *path)
{
	struct stat about;
	return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Opens a state directory for looking at it. A store/ in it is opened with the component that wrote it. */
static flow_status
open_state(session *s, const char *directory, checkpoint_store **store, flow_error *error)
{
	checkpoint_store_request request = { .directory = directory, .host = &host_services };
	const char *inner = arena_format(s->arena, "%s/store", directory);
	if (inner != NULL && is_folder(inner)) {
		flow_status status = registry_component(s->registry, FLOW_STORE, "rocksdb", &request.store, error);
		if (status != FLOW_OK)
			return status;
		request.store_options = component_options(s->arena, request.store, "", "state", NULL, s->problems);
	}
	return checkpoint_store_open(&request, store, error);
}

static json_t *
checkpoint_json(const checkpoint *record)
{
	json_t *positions = json_array();
	for (uint64_t i = 0; i < record->position_count; i++)
		json_array_append_new(positions, json_pack("{s:s%, s:s%, s:b}", "input", record->positions[i].input.data,
												   (size_t)record->positions[i].input.size, "partition",
												   record->positions[i].partition.data,
												   (size_t)record->positions[i].partition.size, "ended",
												   record->positions[i].ended));
	json_t *names = json_array();
	for (uint64_t i = 0; i < record->identity_count; i++)
		json_array_append_new(names,
							  json_pack("{s:s%, s:s%}", "kind", record->identities[i].kind.data,
										(size_t)record->identities[i].kind.size, "name",
										record->identities[i].name.data, (size_t)record->identities[i].name.size));
	return json_pack("{s:I, s:b, s:b, s:b, s:o, s:o}", "epoch", (json_int_t)record->epoch, "final", record->final,
					 "finished", record->finished, "committed", record->committed, "positions", positions, "identities",
					 names);
}

static void
print_checkpoint(const char *directory, const checkpoint *record)
{
	if (record == NULL) {
		printf("%s: no checkpoint yet\n", directory);
		return;
	}
	printf("%s: epoch %llu, %s\n", directory, (unsigned long long)record->epoch,
		   record->finished ? "finished"
		   : record->final  ? "ended, to be committed"
							: "interrupted");
	for (uint64_t i = 0; i < record->identity_count; i++)
		printf("  %.*s %.*s\n", (int)record->identities[i].kind.size, record->identities[i].kind.data,
			   (int)record->identities[i].name.size, record->identities[i].name.data);
	for (uint64_t i = 0; i < record->position_count; i++)
		printf("  position %.*s %.*s%s\n", (int)record->positions[i].input.size, record->positions[i].input.data,
			   (int)record->positions[i].partition.size, record->positions[i].partition.data,
			   record->positions[i].ended ? " (ended)" : "");
}

/* "state directory DIRECTORY: process 12 is using it; end that one ...": listing it needs no remedy. */
static void
print_owner(const char *directory, const char *refusal)
{
	const char *owner = strstr(refusal, directory);
	owner = owner == NULL ? refusal : owner;
	printf("%.*s\n", (int)strcspn(owner, ";"), owner);
}

/* Adds to `list`, or prints where it is NULL. */
static int
show_one(session *s, const char *directory, json_t *list)
{
	checkpoint_store *store = NULL;
	flow_error error = { 0 };
	const checkpoint *applied = NULL, *pending = NULL;
	flow_status status = open_state(s, directory, &store, &error);
	if (status == FLOW_OK)
		status = checkpoint_load(store, &applied, &pending, &error);
	int running = status == FLOW_E_LOCKED;
	if (running)
		status = FLOW_OK;
	if (status != FLOW_OK)
		fprintf(stderr, "flowd state ls: %s\n", error_message(&error));
	else if (list != NULL)
		json_array_append_new(list, json_pack("{s:s, s:b, s:o, s:b}", "directory", directory, "running", running,
											  "checkpoint", applied == NULL ? json_null() : checkpoint_json(applied),
											  "pending", pending != NULL));
	else if (running)
		print_owner(directory, error_message(&error));
	else
		print_checkpoint(directory, applied);
	if (store != NULL)
		checkpoint_store_close(store);
	error_clear(&error);
	return status == FLOW_OK ? EXIT_DONE : EXIT_RUN_FAILED;
}

static int
show_all(session *s, json_t *list)
{
	DIR *folder = opendir(STATE_FOLDER);
	int exit_code = EXIT_DONE;
	if (folder == NULL && list == NULL)
		printf("there is no folder %s here\n", STATE_FOLDER);
	for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
		if (entry->d_name[0] == '.')
			continue;
		const char *path = arena_format(s->arena, "%s/%s", STATE_FOLDER, entry->d_name);
		if (path != NULL && is_folder(path) && show_one(s, path, list) != EXIT_DONE)
			exit_code = EXIT_RUN_FAILED;
	}
	if (folder != NULL)
		closedir(folder);
	return exit_code;
}

static int
run_ls(arguments *given)
{
	session s;
	int exit_code = session_open(&s, given);
	const char *directory = arguments_value(given, "state-dir");
	json_t *list = arguments_value(given, "json") != NULL ? json_array() : NULL;
	if (exit_code == EXIT_DONE)
		exit_code = directory == NULL ? show_all(&s, list) : show_one(&s, directory, list);
	if (list != NULL) {
		json_dumpf(list, stdout, JSON_INDENT(2));
		printf("\n");
		json_decref(list);
	}
	session_close(&s);
	return exit_code;
}

static int
reset(session *s, const char *directory)
{
	checkpoint_store *store = NULL;
	flow_error error = { 0 };
	if (!is_folder(directory)) {
		fprintf(stderr, "flowd state reset: there is no state directory %s\n", directory);
		return EXIT_USAGE;
	}
	flow_status status = open_state(s, directory, &store, &error);
	if (status == FLOW_OK)
		status = checkpoint_reset(store, &error);
	if (status == FLOW_OK)
		printf("%s: reset\n", directory);
	else
		fprintf(stderr, "flowd state reset: %s\n", error_message(&error));
	if (store != NULL)
		checkpoint_store_close(store);
	error_clear(&error);
	return status == FLOW_OK ? EXIT_DONE : EXIT_RUN_FAILED;
}

static int
run_reset(arguments *given)
{
	session s;
	int exit_code = session_open(&s, given);
	const char *job = arguments_operand(given, 0), *directory = arguments_value(given, "state-dir");
	if (exit_code == EXIT_DONE && job == NULL && directory == NULL) {
		fprintf(stderr, "flowd state reset: needs a JOB, or --state-dir FOLDER\n");
		exit_code = EXIT_USAGE;
	}
	if (exit_code == EXIT_DONE)
		exit_code = reset(&s, directory != NULL ? directory : arena_format(s.arena, "%s/%s", STATE_FOLDER, job));
	session_close(&s);
	return exit_code;
}

static const command_option option_state_dir = { "state-dir", "FOLDER", "The state directory (default: state/JOB).",
												 NULL };
static const command_option *const state_options[] = { &option_state_dir, NULL };

const command state_ls_command = {
	.name = "state ls",
	.operands = "",
	.summary = "Show what the state directories here hold.",
	.options = state_options,
	.run = run_ls,
};

const command state_reset_command = {
	.name = "state reset",
	.operands = "[JOB]",
	.most = 1,
	.summary = "Discard a job's state: it starts from the beginning.",
	.options = state_options,
	.run = run_reset,
};
