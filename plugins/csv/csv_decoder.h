/*
 * The decoder: what csv_decoder.c (opening, state, headers) and csv_reader.c (records) share.
 */
#ifndef CSV_DECODER_H
#define CSV_DECODER_H

#include "csv.h"

#define CSV_INDEX_BYTES 4096u

/* What to do with a column's text. */
#define SKIP 0
#define AS_STRING 1
#define AS_INTEGER 2
#define AS_FLOAT 3
#define AS_OTHER 4

struct column {
	const flow_schema *schema;
	uint32_t field;
	uint8_t action;
	uint8_t nullable;
	uint8_t small; /* int32 */
};

/* What goes into checkpoints; the map of columns follows unless it is the usual one. */
struct state {
	uint32_t version;
	uint8_t header_done;
	uint8_t ended;
	uint8_t discarding;
	uint8_t mapped;
	uint64_t line;
};

struct flow_decoder {
	const csv_serde *serde;
	const csv_format *format;
	const flow_schema *schema;
	csv_indexer index;
	struct state state;
	struct column *columns; /* of the file, in its order */
	uint32_t column_count;
	int sparse;      /* some fields are not read */
	uint8_t *wanted; /* by field */
	char *place;
	uint64_t place_size;
	char *saved;
	uint32_t positions[CSV_INDEX_BYTES + 64];
};

/* Reads the header at the start of the window, as far as it is there: d->state.header_done tells. Sets window->consumed. */
flow_status csv_read_header(struct flow_decoder *d, flow_window *window, flow_error *error);

#endif
