/*
 * generate.h - the system `generate`: records made from a seed, for trials, tests and measurements.
 *
 * fields.c  what a field's description means, and its value for the n-th record
 * source.c  the source: partition p of P has the records p, p + P, p + 2P ...
 *
 * Record n is the same whatever the partitions, batches and restarts: every value is a function of (seed, n, field).
 */
#ifndef GENERATE_GENERATE_H
#define GENERATE_GENERATE_H

#include "flow/flow.h"
#include "flow_sdk/plugin.h"

#define FIELD_SEQUENCE 1
#define FIELD_INT 2
#define FIELD_FLOAT 3
#define FIELD_BOOL 4
#define FIELD_CHOICE 5
#define FIELD_KEY 6
#define FIELD_STRING 7
#define FIELD_TIMESTAMP 8

struct field {
	char *name;
	uint32_t kind;
	int64_t least;     /* int */
	uint64_t range;    /* int: most - least + 1 (0: all); key: number of keys; string: bytes; choice: number of texts */
	double low, width; /* float */
	char *choice_text; /* what the choices point into */
	char **choices;
	uint32_t *choice_sizes;
};

struct fields {
	const flow_host *host;
	struct field *items;
	uint32_t count;
	uint64_t seed;
	int64_t start; /* of timestamps, microseconds */
	int64_t step;
};

/* From the options of an input. */
flow_status fields_read(const flow_host *host, const flow_options *options, struct fields *fields, flow_error *error);
void fields_free(struct fields *fields);
/* The record type; the caller owns it. */
const flow_schema *fields_schema(const struct fields *fields, flow_error *error);
/* The event time of record `number`; 0: it is out of range. */
int fields_event_time(const struct fields *fields, uint64_t number, int64_t *time);
/* The cells of record `number`; texts in the builder's memory. 0: out of memory. */
int fields_fill(const struct fields *fields, uint64_t number, int64_t time, flow_builder *builder, flow_value *cells);

flow_status source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info,
						flow_source **source, flow_error *error);
flow_status source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count,
							  flow_error *error);
flow_status source_assign(flow_source *source, uint32_t partition, flow_slice position, flow_error *error);
flow_status source_revoke(flow_source *source, uint32_t partition, flow_error *error);
void source_pause(flow_source *source, uint32_t partition, int paused);
flow_status source_read(flow_source *source, flow_builder *builder, flow_error *error);
flow_status source_position(flow_source *source, uint32_t partition, int64_t ordinal, void *bytes, uint64_t capacity,
							uint64_t *size, flow_error *error);
void source_remaining(flow_source *source, int64_t *records, int64_t *bytes);
void source_close(flow_source *source);

struct flow_system {
	const flow_host *host;
};

#endif
