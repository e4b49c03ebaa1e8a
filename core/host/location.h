/*
 * host/location.h - what a word of the command line means as input or output of a job: the system it belongs to, what that system is
 * told, and the format of the records.
 *
 * Nothing here knows a system or format by name, but that paths without a scheme are for the one that serves "file". A plugin says
 * what it serves (flow_component.served), and which of its options take the parts of an address (FLOW_OPTION_ADDRESS_HOST, _PATH). A
 * new scheme or suffix is a line in its tables.
 *
 * Ownership: all lives in the session's arena, but for components, which are the registry's. Threads: [main].
 */
#ifndef HOST_LOCATION_H
#define HOST_LOCATION_H

#include "host/session.h"

typedef struct location {
	const char *command; /* that asks, for messages */
	const char *name;    /* of the stream and of its system: "in", "out", "dead_letters" */
	uint32_t direction;
	const char *place; /* what messages call it: its first word */
	const flow_component *system;
	const flow_component *format; /* the serde; NULL: the system has a form of its own */
	const char
		*format_options; /* "delimiter=\\t": several with tabs between: what the suffix stands for besides; or NULL */
	const char *host;    /* of an address; NULL: it has none */
	const char **paths;
	size_t path_count;
} location;

/* Reads words, which all lie in one system and have one format. `format` is what `format_option` (for messages, "--from-format")
 * says, NULL: found by the suffix. command, name and direction are set before. Returns an EXIT_* code; on another than EXIT_DONE it has
 * said why. */
int location_read(location *l, session *s, const char *const *words, size_t count, const char *format,
				  const char *format_option);

#endif
