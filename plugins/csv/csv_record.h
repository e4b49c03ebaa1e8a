/*
 * The record that is being read, for csv_reader.c and csv_reject.c.
 */
#ifndef CSV_RECORD_H
#define CSV_RECORD_H

#include "csv_decoder.h"

struct scan {
	const char *data;
	uint32_t size;
	uint32_t indexed;     /* bytes */
	const uint32_t *next; /* positions not used yet: next .. last */
	const uint32_t *last;
	uint64_t high; /* bytes beyond ASCII in what was indexed since the record began */
	uint64_t chunk_high;
};

/* The record under way. */
struct record {
	uint32_t start;
	uint32_t end; /* bytes that may be looked at */
	int over;     /* .. because the record would be too long */
	int final;    /* nothing follows behind `end` */
	uint32_t at;  /* behind the last field: at its delimiter or line feed, or `end` */
	uint32_t fields;
	uint64_t feeds;      /* line feeds inside of quotes */
	uint64_t open_feeds; /* .. before the quote that is not closed */
	flow_value *cells;
	flow_builder *builder;
	/* the first fault */
	flow_status fault;
	int broken; /* .. is of the record's form, not of a value */
	uint32_t fault_column;
	const char *fault_text; /* NULL: the value does not fit its type */
	flow_slice value;
};

/* Results of cutting. */
#define WHOLE 0
#define INCOMPLETE 1 /* more bytes are needed */
#define UNCLOSED 2   /* a quote is open at the end, or where the record became too long */
#define TOO_LONG 3

static inline int
csv_wrong_count(const struct flow_decoder *d, const struct record *r)
{
	return r->fields < d->state.column_count   ? !d->format->fill_short
		   : r->fields > d->state.column_count ? !d->format->cut_long
											   : 0;
}

/* csv_reject.c: what the host answers. */
/* A record with a wrong number of fields, or one that does not fit its column. */
flow_status csv_reject_fields(struct flow_decoder *d, struct scan *s, const struct record *r,
							  const flow_window *window);
/* A record that was cut off: the end of the stream inside of quotes, or over the limit. */
flow_status csv_reject_broken(struct flow_decoder *d, struct scan *s, struct record *r, const flow_window *window,
							  int result);

#endif
