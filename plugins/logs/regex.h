/*
 * The regex serde: what its parts share.
 *
 * Ownership: all of it belongs to the serde, and is read only once it is open; each decoder matches with memory of its own.
 */
#ifndef REGEX_H
#define REGEX_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "logs.h"

#define REGEX_TEXT_MAX (256u << 10) /* of a pattern with everything that it refers to */
#define REGEX_NAME_MAX 32           /* of a group, as PCRE2 has it */
#define REGEX_JIT_STACK (1u << 20)

#define REGEX_UNMATCHED_ERROR 0
#define REGEX_UNMATCHED_NULL 1
#define REGEX_UNMATCHED_RAW 2

/* --- regex_names.c: the patterns that logs are usually told with ----------------------------------------------------------------- */

/* NULL: there is none of that name. */
const char *regex_known_pattern(flow_slice name);

/* --- regex_pattern.c: %{NAME}, %{NAME:field}, %{NAME:field:type} ------------------------------------------------------------ */

typedef struct regex_type {
	flow_slice field;
	flow_slice type; /* as it stands in the pattern */
} regex_type;

typedef struct regex_text {
	const flow_host *host;
	const flow_option_value *own; /* option `patterns`, or NULL */
	char *text;                   /* the pattern as PCRE2 takes it */
	uint64_t size;
	uint64_t capacity;
	regex_type *types;
	uint32_t type_count;
} regex_text;

/* Adds the pattern with everything that it refers to. The error says what is wrong. */
flow_status regex_expand(regex_text *to, flow_slice pattern, flow_error *error);
flow_status regex_append(regex_text *to, const char *text, uint64_t size, flow_error *error);
void regex_text_release(regex_text *text);

/* --- logs_time.c: times in other forms than RFC 3339 ------------------------------------------------------------------------------ */

/* Does the format say what a value of this type needs? The error names what is missing. */
flow_status logs_check_time_format(const flow_host *host, const flow_schema *schema, flow_slice field,
								   flow_slice format, flow_error *error);
flow_status logs_parse_time(const flow_schema *schema, flow_slice format, flow_slice text, flow_value *value);

/* --- regex_open.c ------------------------------------------------------------------------------------------------------------ */

typedef struct regex_field {
	flow_slice name; /* points into the compiled pattern */
	const flow_schema *schema;
	flow_slice time_format; /* data NULL: none */
	uint32_t first_group;
	uint32_t group_count;        /* groups of this name ... */
	const PCRE2_UCHAR **entries; /* ... as they stand in the pattern's table: two bytes of number before the name */
} regex_field;

typedef struct regex_pattern {
	const flow_host *host;
	pcre2_general_context *memory;
	pcre2_code *code;
	regex_field *fields; /* in the order of their first groups */
	uint32_t field_count;
	const PCRE2_UCHAR **entries;
	char *formats; /* the time formats of all fields */
	int unmatched;
	uint32_t match_limit;
} regex_pattern;

void regex_close(logs_serde *s);

static inline uint32_t
regex_group_of(const PCRE2_UCHAR *entry)
{
	return (uint32_t)entry[0] << 8 | entry[1];
}

#endif
