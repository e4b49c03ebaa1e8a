/*
 * options/describe.h - what is made from option tables for people and tools: help, reference documents, JSON Schema, samples,
 * words for completion. `flowd help`, scripts that write docs/reference, REST and the console all come here.
 *
 * Everything is written in the order of the tables, so the same tables give the same bytes. Failures to write are seen by the
 * caller (ferror). Threads: [main].
 */
#ifndef OPTIONS_DESCRIBE_H
#define OPTIONS_DESCRIBE_H

#include <stdio.h>

#include "base/arena.h"
#include "flow/option.h"

/* What has options: a component, or a part of the host ("job", "application"). */
typedef struct describe_subject {
	const char *kind; /* "system", "serde", ..., "host" */
	const char *id;
	const char *doc;                    /* first sentence is the summary */
	const flow_option_set *const *sets; /* NULL-terminated; NULL: it has none */
	const char *const *served;          /* flow_component.served, or NULL */
} describe_subject;

/* `flowd help ID`: the doc and a line for each option; with `option` ("input.path", "window.tumbling") everything about that one.
 * Returns 0 if there is no such option (nothing was written). */
int describe_help(FILE *to, const describe_subject *subject, const char *option);
/* Length of the first sentence, with its full stop. NULL: 0. */
size_t describe_summary(const char *doc);
/* Dotted paths of all options and members, for "did you mean": fills up to `capacity`, returns how many. Texts live in `a`. */
size_t describe_paths(arena *a, const describe_subject *subject, const char **paths, size_t capacity);

/* A section of a reference document: heading of `level`, doc, a table for each scope. */
void describe_markdown(FILE *to, const describe_subject *subject, unsigned level);
/* A JSON Schema (2020-12) of one scope: an object with "type", "properties", "required". No line end behind it. */
void describe_schema(FILE *to, const flow_option_set *set);
/* A configuration in libconfig syntax: what is required with its example, all else as comments that show its default or example. */
void describe_sample(FILE *to, const flow_option_set *set, unsigned indent);
/* A line for each option, fields behind tabs: path, type, default, choices behind commas, summary. For completion and scripts. */
void describe_words(FILE *to, const describe_subject *subject);

/* "string", "list of integer", ... into `buffer`; returns it. */
const char *describe_type(const flow_option *option, char *buffer, size_t size);

#endif
