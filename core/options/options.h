/*
 * options/options.h - from option tables and settings to resolved values; and everything else that is made from the one table:
 * help, reference documents, JSON Schema, samples, completion (options/describe.h).
 *
 * All problems of a group are collected, none stops the walk: unknown key (with the nearest name), wrong type ("expected boolean,
 * found string"), bounds, unknown choice, missing required option, an option whose condition does not hold, a reference to
 * something that is not there, units.
 */
#ifndef OPTIONS_OPTIONS_H
#define OPTIONS_OPTIONS_H

#include "base/arena.h"
#include "flow/option.h"
#include "options/problem.h"
#include "options/setting.h"

/* The names that are configured of what `kind` says ("system", "stream", "table", "serde", ...): fills up to `capacity` of them and
 * returns how many there are, or OPTIONS_NAMES_UNKNOWN where references of this kind are not checked. It is asked twice: first
 * with capacity 0. */
#define OPTIONS_NAMES_UNKNOWN SIZE_MAX

typedef struct options_names {
	size_t (*names)(void *context, const char *kind, const char **candidates, size_t capacity);
	void *context;
} options_names;

typedef struct options_request {
	const flow_option_set *const *sets; /* NULL-terminated: the tables that apply together (core's and component's) */
	const setting *group;               /* NULL: nothing was set */
	const char *path;                   /* path of the group, for messages about missing options */
	const char *file;                   /* where the thing starts, likewise */
	unsigned line;
	const char *name;           /* of what is configured */
	const char *const *ignore;  /* names in the group that somebody else takes care of; NULL-terminated, or NULL */
	const char *base_folder;    /* relative paths start here (NULL: as they are) */
	const options_names *names; /* NULL: references are not checked */
} options_request;

/* Resolves; the result lives in `a`. With problems the result holds what was right (for further checks); NULL: out of memory.
 * Values of SECRET options are marked secret in their settings, down the chain of what they overrode. Settings of LAYER_DEFAULT
 * are for people only: the defaults that count are those of the tables. An absent group stays absent, unless its default is "{}". */
const flow_options *options_resolve(arena *a, const options_request *request, problems *list);

/* The defaults of the tables as a group of settings of LAYER_DEFAULT, for config_put, so that `flowd explain` shows what was
 * overridden. Options in groups have defaults where `given` (the thing's settings, or NULL) has that group. NULL: out of memory. */
setting *options_default_settings(arena *a, const flow_option_set *const *sets, const setting *given);

/* Options of one set by name, NULL: none. */
const flow_option *options_find(const flow_option_set *set, const char *name);
/* The set of a scope, NULL: none. */
const flow_option_set *options_set_of_scope(const flow_option_set *const *sets, const char *scope);

/* Checks a table itself (names, duplicates, defaults that parse, bounds, conditions that name options): for tests, `flowd plugin
 * check` and the registry. */
void options_check_table(const flow_option_set *set, const char *component, problems *list);

#endif
