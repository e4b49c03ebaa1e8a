/*
 * options/setting.h - a tree of settings as somebody wrote them, each with its place and layer.
 *
 * Settings live in the arena of their configuration and are immutable once it is loaded. Threads: [any] for reading.
 */
#ifndef OPTIONS_SETTING_H
#define OPTIONS_SETTING_H

#include <stddef.h>
#include <stdint.h>

/* Layers, lowest first (design: the higher one wins). */
#define LAYER_DEFAULT 1    /* option tables */
#define LAYER_SYSTEM 2     /* defaults that a system sets for its streams */
#define LAYER_FILE 3       /* configuration files, in order */
#define LAYER_DESCRIPTOR 4 /* application plugin, or the file's `application` group */
#define LAYER_PLANNER 5
#define LAYER_JOB 6     /* jobs.<job-id>.* */
#define LAYER_COMMAND 7 /* --set */

#define SETTING_GROUP 1
#define SETTING_LIST 2  /* ( ... ) */
#define SETTING_ARRAY 3 /* [ ... ] */
#define SETTING_STRING 4
#define SETTING_INT 5
#define SETTING_FLOAT 6
#define SETTING_BOOL 7

typedef struct setting setting;

struct setting {
	uint8_t kind;
	uint8_t layer;
	uint8_t secret;   /* from { env = ...; } or { file = ...; }, or named in a sensitive option: never printed */
	uint8_t resolved; /* the text came from { env } or { file } */
	uint8_t bad;      /* a problem was reported already (integer overflow): do not report again */
	unsigned line;
	const char *file;   /* NULL: not from a file */
	const char *origin; /* for people: "conf/late-flights.conf:12", "--set", "planner", "default", "app.c:31" */
	const char *name;   /* NULL for items of lists */
	const char *path;   /* where the user wrote it: "application.inputs.flights.path", "application.flow[0].where" */
	const char *text;   /* strings: NUL-terminated, `size` bytes; ints and floats: as written */
	size_t size;
	int64_t integer; /* int, bool */
	double number;   /* float, int */
	setting **children;
	size_t child_count;
	setting *overrode; /* the same key in the next lower layer that has it, or NULL */
};

setting *setting_child(const setting *group, const char *name); /* NULL: none; NULL group is allowed */
/* "string", "integer", "float", "boolean", "group", "list", "array": the words of messages. */
const char *setting_kind_name(const setting *s);

#endif
