/*
 * config/scan.h - what stands between a file as people write it and libconfig 1.5, which wraps integers in silence, stops at
 * the first duplicate name, knows neither the chain of an include loop nor UTF-8, and guesses at odd floats.
 *
 * The scan reads the file and what it includes, and writes one text for libconfig in which each name and number is replaced by its
 * index ("n17", "42", "43.0"). So libconfig sees no number that it could wrap and no name twice; the reader looks up what was
 * really written, and where. Comments are gone, lines are kept: the n-th line of the text has its place in `lines`.
 *
 * Ownership: texts live in the arena; tables and the text in the scan, until scan_release. Threads: [main].
 */
#ifndef CONFIG_SCAN_H
#define CONFIG_SCAN_H

#include "base/arena.h"
#include "options/problem.h"

#define SCAN_NAME 1
#define SCAN_INT 2
#define SCAN_FLOAT 3

#define SCAN_MAX_SIZE ((size_t)16 * 1024 * 1024) /* all files of a configuration together */
#define SCAN_MAX_INCLUDES 1000
#define SCAN_MAX_DEPTH 64    /* brackets within brackets */
#define SCAN_MAX_NAMES 10000 /* in one group */

typedef struct scan_place {
	const char *file;
	unsigned line;
} scan_place;

typedef struct scan_token {
	const char *text; /* as written */
	const char *file;
	unsigned line;
	unsigned kind; /* SCAN_* */
} scan_token;

typedef struct scan_bracket {
	scan_place place;
	size_t names;
	char open;
} scan_bracket;

typedef struct scan {
	arena *arena;
	problems *list;
	const char *folder; /* of the first file, without a slash at the end; "" where it names none */
	char *text;
	size_t size;
	size_t capacity;
	scan_place *lines;
	size_t line_count;
	size_t line_capacity;
	scan_token *tokens;
	size_t token_count;
	size_t token_capacity;
	size_t read; /* bytes of all files so far */
	size_t includes;
	size_t top_names; /* outside of all brackets */
	scan_bracket open[SCAN_MAX_DEPTH];
	size_t depth;
	unsigned before; /* the significant token before: a bracket or separator, SCAN_NAME, or 'v' for a value */
	int strict;      /* no comments and no includes: the value of a --set */
	int missing;     /* a file could not be read or included: reported; the others are looked at all the same */
	int failed;      /* a problem was reported behind which nothing can be read */
} scan;

void scan_begin(scan *s, arena *a, problems *list);
void scan_release(scan *s);
/* Both return 0 after problems that leave nothing to parse. */
int scan_file(scan *s, const char *file);
int scan_text(scan *s, const char *file, const char *text, size_t size);
/* The place of a line of the text (from 1). */
scan_place scan_line(const scan *s, unsigned line);

/* config/scan_include.c */
typedef struct scan_inclusion scan_inclusion;
/* Reads and scans the file that `named` means in the file of `from`, at its current line. */
void scan_include(scan *s, scan_inclusion *from, const char *named);
/* The line in which a chain of files stands, for messages. */
void scan_set_line(scan_inclusion *from, unsigned line);

/* config/scan.c, for scan_include.c: one file's bytes; and what can be said only at the end. */
void scan_source(scan *s, scan_inclusion *inclusion, const char *file, const char *text, size_t size);
int scan_finish(scan *s);

#endif
