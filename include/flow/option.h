/*
 * flow/option.h - options: declared once in a table, from which validation, defaults, help, reference documents,
 * JSON Schema and completion are made; and the resolved values that a component gets when it is opened.
 *
 * Tables are `static const`. Values are plain data, borrowed for the duration of the call that hands them over:
 * read them in open, keep what is needed.
 */
#ifndef FLOW_OPTION_H
#define FLOW_OPTION_H

#include "flow/abi.h"
#include "flow/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* flow_option.type */
#define FLOW_OPTION_STRING 1
#define FLOW_OPTION_PATH 2 /* relative paths: to the configuration file's folder */
#define FLOW_OPTION_INT 3
#define FLOW_OPTION_FLOAT 4
#define FLOW_OPTION_BOOL 5
#define FLOW_OPTION_SIZE 6     /* "64KiB"; value.integer in bytes */
#define FLOW_OPTION_DURATION 7 /* "5s"; value.integer in microseconds */
#define FLOW_OPTION_ENUM 8     /* one of `choices` */
#define FLOW_OPTION_LIST 9     /* items of type `element` */
#define FLOW_OPTION_MAP 10     /* free names, values of type `element` */
#define FLOW_OPTION_SECRET 11  /* a string that is masked everywhere */
#define FLOW_OPTION_REFERENCE 12 /* the name of something configured: `refers_to` = "system", "stream", "table", "link", "serde" */
#define FLOW_OPTION_DATETIME 13  /* RFC 3339; value.integer in microseconds UTC */
#define FLOW_OPTION_GROUP 14     /* named members of their own: `members` */
#define FLOW_OPTION_EXPRESSION 15 /* an expression of flowd's language; value.text */
#define FLOW_OPTION_TYPE 16       /* a type in short form, "decimal(12,2)?"; value.text */
#define FLOW_OPTION_ANY 17        /* as element: whatever scalar stands there */

/* flow_option.flags */
#define FLOW_OPTION_REQUIRED 1u
#define FLOW_OPTION_RELOADABLE 2u /* may change without a restart */
#define FLOW_OPTION_PRIMARY 4u    /* function: the option that `{ <function> = value; }` sets */
#define FLOW_OPTION_BY_CONNECTOR 8u /* not editable by users */
#define FLOW_OPTION_OR_ONE 16u    /* a list option that also takes one bare item */
/* Which options of a system's tables the parts of an address scheme://HOST/PATH go to, on a command line. */
#define FLOW_OPTION_ADDRESS_HOST 32u /* HOST, with its port; in the scope of the system or of its streams */
#define FLOW_OPTION_ADDRESS_PATH 64u /* PATH without its first slash; a path without a scheme as it is */

typedef struct flow_option flow_option;

typedef struct flow_option_value {
	uint32_t struct_size;
	uint32_t type;        /* FLOW_OPTION_*; of an element of kind ANY: the type that was found */
	int64_t integer;      /* int, bool, size, duration, datetime */
	double number;        /* float */
	flow_slice text;      /* string, path, enum, secret, reference, expression, type; NUL-terminated */
	const struct flow_option_entry *const *entries; /* list, map, group */
	uint64_t entry_count;
	flow_slice place;     /* "late-flights.conf:12", "--set", "default"; for messages */
} flow_option_value;

typedef struct flow_option_entry {
	uint32_t struct_size;
	uint32_t reserved;
	flow_slice name; /* empty for items of a list */
	const flow_option_value *value;
} flow_option_entry;

struct flow_option {
	uint32_t struct_size;
	uint32_t type;
	uint32_t flags;
	uint32_t element; /* list, map: type of the items */
	const char *name;
	const char *doc;          /* one or more sentences */
	const char *example;      /* as it would stand in a file, or NULL */
	/* As it would stand in a file without quotes ("64KiB", "true"; a list: "a, b"; a group or map: "{}"), or NULL: absent. */
	const char *default_text;
	const char *minimum;      /* int, float, size, duration: bounds in the same notation, or NULL */
	const char *maximum;
	const char *const *choices; /* enum: NULL-terminated; a choice's doc may follow a tab: "zstd\tZstandard frames" */
	const char *refers_to;
	/* Shown, valid, required and defaulted only then; NULL: always. "other=value", "other=one|another" (of an enum, string, bool or
	 * integer, its default included), "other" (it has a value) or "!other" (it has none); `other` stands in the same table. */
	const char *condition;
	const char *since;          /* version, or NULL */
	const flow_option *const *members; /* group, or list/map of groups: NULL-terminated */
	/* [main] Further check of one value, or NULL. Called after type and bounds were checked. */
	flow_status (*validate)(const flow_option_value *value, const flow_error_ops *errors, flow_error *error);
};

/* The options of one scope of a component, NULL-terminated. */
typedef struct flow_option_set {
	uint32_t struct_size;
	uint32_t reserved;
	/* Which part of the configuration they belong to. "" is the component itself; a system also has "input" and
	 * "output" (its streams), a connector "link", "from" and "to". */
	const char *scope;
	const char *doc;
	const flow_option *const *options;
} flow_option_set;

/* The resolved options of one scope: defaults filled in, everything validated. Only those that have a value. */
typedef struct flow_options {
	uint32_t struct_size;
	uint32_t reserved;
	const flow_option_entry *const *entries;
	uint64_t entry_count;
	flow_slice name;  /* what is configured: the name of the system, stream, operator ... */
	flow_slice place; /* where it starts in the configuration */
} flow_options;

static inline const flow_option_value *
flow_entries_find(const flow_option_entry *const *entries, uint64_t count, flow_slice name)
{
	for (uint64_t i = 0; i < count; i++)
		if (flow_slice_equal(entries[i]->name, name))
			return entries[i]->value;
	return NULL;
}

/* The value of `path` ("window.tumbling" goes into groups), or NULL: absent. */
static inline const flow_option_value *
flow_option_get(const flow_options *options, const char *path)
{
	const flow_option_entry *const *entries = options->entries;
	uint64_t count = options->entry_count;
	for (;;) {
		const char *dot = strchr(path, '.');
		flow_slice name = flow_slice_make(path, dot == NULL ? strlen(path) : (uint64_t)(dot - path));
		const flow_option_value *value = flow_entries_find(entries, count, name);
		if (value == NULL || dot == NULL)
			return value;
		entries = value->entries;
		count = value->entry_count;
		path = dot + 1;
	}
}

static inline int64_t
flow_option_int(const flow_options *options, const char *path, int64_t absent)
{
	const flow_option_value *value = flow_option_get(options, path);
	return value == NULL ? absent : value->integer;
}

static inline int
flow_option_bool(const flow_options *options, const char *path, int absent)
{
	return flow_option_int(options, path, absent) != 0;
}

static inline double
flow_option_float(const flow_options *options, const char *path, double absent)
{
	const flow_option_value *value = flow_option_get(options, path);
	return value == NULL ? absent : value->number;
}

/* The text (NUL-terminated behind `size`), or an empty slice with data NULL: absent. */
static inline flow_slice
flow_option_text(const flow_options *options, const char *path)
{
	const flow_option_value *value = flow_option_get(options, path);
	return value == NULL ? flow_slice_make(NULL, 0) : value->text;
}

#ifdef __cplusplus
}
#endif
#endif
