/*
 * options/resolve.h - what the parts of options_resolve share. Private to this room.
 *
 * Functions that give a value return NULL when they have reported a problem (or are out of memory: `failed`).
 */
#ifndef OPTIONS_RESOLVE_H
#define OPTIONS_RESOLVE_H

#include "options/options.h"

typedef struct resolver {
	arena *arena;
	problems *list;
	const char *base_folder;
	const options_names *names;
	int failed; /* out of memory */
} resolver;

/* NULL sets `failed`. */
void *resolve_check(resolver *r, void *memory);
problem *resolve_report(resolver *r, const setting *s, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "expected boolean, found string" */
void resolve_report_type(resolver *r, const flow_option *o, uint32_t type, const setting *s);
/* The text of a setting for messages: masked where it is secret. */
const char *resolve_shown(const setting *s);

/* options/resolve_scalar.c. `number` and `integer` of a bound or value in an option's notation; 0: not such a text. */
int resolve_number(uint32_t type, const char *text, int64_t *integer, double *number);
flow_option_value *resolve_scalar(resolver *r, const flow_option *o, uint32_t type, setting *s);

/* options/resolve_collection.c: a value of any type, lists and maps included. */
flow_option_value *resolve_value(resolver *r, const flow_option *o, uint32_t type, setting *s);
flow_option_value *resolve_new_value(resolver *r, uint32_t type, const setting *s);
/* The group that is meant: also one that was taken for a reference to the environment or a file. NULL: no group. */
const setting *resolve_as_group(const setting *s);

/* options/options.c: the members of a group. */
typedef struct member_list {
	const flow_option **options;
	size_t count;
} member_list;

const flow_option_entry *const *resolve_members(resolver *r, const member_list *members, const setting *group,
												const setting *place, const char *const *ignore, uint64_t *count);
member_list resolve_member_list(resolver *r, const flow_option *const *members);

/* options/option_text.c: a setting from text in the notation of flow_option.default_text, as if it stood in a file. */
setting *option_setting_of_text(arena *a, const flow_option *o, uint32_t type, const char *text, const setting *like);
/* "boolean", "duration with a unit such as \"5s\"": what a value of this type looks like, for messages. */
const char *option_expected(arena *a, const flow_option *o, uint32_t type);
/* Whether a condition names options right; then each of its terms. */
typedef struct condition_term {
	const char *name;
	size_t name_size;
	const char *values; /* behind '=', NULL: none */
	int absent;         /* "!name" */
} condition_term;
int option_condition(const char *condition, condition_term *term);
/* Whether `text` is one of "x|y". */
int option_condition_has(const char *values, const char *text, size_t size);

#endif
