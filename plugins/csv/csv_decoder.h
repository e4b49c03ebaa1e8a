/*
 * The decoder: what csv_decoder.c (opening, state, headers) and csv_reader.c (records) share.
 */
#ifndef CSV_DECODER_H
#define CSV_DECODER_H

#include "csv.h"
#include "csv_cells.h"

#define CSV_INDEX_BYTES 4096u

/* What to do with a column's text. */
#define SKIP 0
#define AS_STRING 1
#define AS_INTEGER 2
#define AS_FLOAT 3
#define AS_OTHER 4
#define AS_LOCAL_NUMBER 5
#define AS_INSTANT 6
#define AS_INT32 7

struct column {
	const flow_schema *schema; /* NULL: not a field */
	uint32_t field;            /* or CSV_NO_FIELD */
	uint8_t action;
	uint8_t nullable;
};

/* What goes into checkpoints; the map of columns follows unless it is the usual one. */
struct state {
	uint32_t version;
	uint8_t header_done;
	uint8_t ended;
	uint8_t discarding;
	uint8_t mapped;
	uint32_t column_count;
	uint32_t reserved;
	uint64_t line;
};

struct flow_decoder {
	const csv_serde *serde;
	const csv_format *format;
	const flow_schema *schema;
	csv_indexer index;
	struct state state;
	struct column *columns; /* of the file, in its order: state.column_count, and one that is skipped */
	uint32_t field_count;   /* of the schema */
	int sparse;             /* some fields are not read, or are no columns of the file */
	int defaults;           /* .. and some of those have a default */
	uint8_t *wanted;        /* by field */
	uint8_t *seen;          /* by field: it is a column of the file */
	char *place;
	uint64_t place_size;
	char *saved; /* the state as bytes, with room for the map of columns */
	csv_day day; /* of the last timestamp */
	uint32_t positions[CSV_INDEX_BYTES + 64];
};

/* Room for so many columns; all of them are no field yet. FLOW_E_MEMORY. */
flow_status csv_columns_resize(struct flow_decoder *d, uint32_t count);
void csv_column_set(struct flow_decoder *d, uint32_t column, uint32_t field);
/* Looks which fields are no columns, once the columns are known. */
void csv_columns_settle(struct flow_decoder *d);
/* The value of a field that is not in the file. */
static inline const flow_value *
csv_missing_value(const struct flow_decoder *d, uint32_t field)
{
	return d->format->missing == CSV_MISSING_DEFAULT ? d->schema->fields[field]->default_value : NULL;
}

/* Is this, from `at` on, the start of a file whose lines end in carriage returns alone? It is looked at up to max_record + 1 bytes. */
static inline int
csv_is_old_mac(const csv_format *format, const flow_window *window, uint64_t at)
{
	uint64_t left = window->size - at;
	int whole = left > format->max_record;
	if (!whole && !window->final)
		return 0;
	return csv_ends_in_returns(format, flow_slice_make(window->data + at, whole ? format->max_record + 1 : left));
}

/* csv_header.c. Reads the header at the start of the window, as far as it is there: d->state.header_done tells. Sets window->consumed. */
flow_status csv_read_header(struct flow_decoder *d, flow_window *window, flow_error *error);

#endif
