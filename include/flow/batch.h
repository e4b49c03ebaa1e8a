/*
 * flow/batch.h - many records at once: the only thing that moves on the data path.
 *
 * A flow_batch holds records of one partition under one schema as a struct of arrays. It is immutable once handed on;
 * passing it on is retain, not copy. It keeps alive everything that its cells point at.
 *
 * A batch is made either with a flow_builder (new rows; the fast calls below are inline, only the refill of a memory
 * chunk crosses the boundary) or with flow_output.forward (the rows of an input batch with some columns replaced or
 * some rows left out; flow/function.h).
 *
 * Threads: a batch may be read by any thread; a builder belongs to the task that got it, for the duration of the call.
 */
#ifndef FLOW_BATCH_H
#define FLOW_BATCH_H

#include "flow/abi.h"
#include "flow/error.h"
#include "flow/schema.h"
#include "flow/value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* flow_batch.flags */
/* Raw: values (and keys) are bytes as they came; a serde decodes them. A cell of type FLOW_NULL is a record without value
 * (a tombstone), which differs from one of 0 bytes; the host passes it by the serde. */
#define FLOW_BATCH_RAW 1u
#define FLOW_BATCH_STREAM 2u /* raw, and the rows are consecutive pieces of one byte stream, not records */

#define FLOW_BATCH_ROWS 1024u          /* a builder is full at this many rows ... */
#define FLOW_BATCH_BYTES (256u * 1024) /* ... or this many bytes, whichever comes first; one record always fits */

#define FLOW_NO_TIMESTAMP INT64_MIN /* in the timestamp column: this row has no event time */

typedef struct flow_header {
	flow_slice name;
	flow_value value; /* bytes or null */
} flow_header;

typedef struct flow_headers {
	const flow_header *items;
	uint64_t count;
} flow_headers;

typedef struct flow_batch flow_batch;

struct flow_batch {
	uint32_t struct_size;
	uint32_t flags;
	uint32_t row_count;      /* rows in each column */
	uint32_t selected_count; /* rows to visit; = row_count when selection is NULL */
	const uint32_t *selection; /* ascending row numbers, or NULL: all rows */
	const flow_schema *schema;     /* of the values; raw: kind bytes */
	const flow_schema *key_schema; /* NULL: there are no keys */
	/* Columns, row_count cells each. NULL: the batch has none (value is never NULL). */
	const flow_value *value;
	const flow_value *key;
	const int64_t *timestamp;     /* event time, microseconds UTC, or FLOW_NO_TIMESTAMP */
	const flow_headers *headers;
	const int64_t *ordinal;       /* order within the partition, strictly growing; NULL: not from a partition */
	const uint64_t *key_hash;     /* filled by the host where records are keyed */
	const flow_slice *key_bytes;  /* canonical key bytes, likewise; for state and tables, never for systems */
	const uint32_t *target;       /* sinks: partition to write to, chosen by the host; NULL: the system chooses */
	/* Origin. */
	uint32_t input;     /* index of the application's input; UINT32_MAX: none */
	uint32_t partition; /* index within the source */
	flow_slice place;   /* for people: "data/flights.csv", "orders[3]"; may be empty */
	void *host;         /* the host's own; do not touch */
};

/* Visits the selected rows: for (FLOW_ROWS(batch, i)) { uint32_t row = flow_row(batch, i); ... } */
#define FLOW_ROWS(batch, i) uint32_t i = 0; i < (batch)->selected_count; i++

static inline uint32_t
flow_row(const flow_batch *batch, uint32_t i)
{
	return batch->selection == NULL ? i : batch->selection[i];
}

/* Field `field` of row `row`; the batch's schema must be a record and the row's value not null. */
static inline const flow_value *
flow_batch_field(const flow_batch *batch, uint32_t row, uint32_t field)
{
	return &batch->value[row].as.record[field];
}

/* A record that a decoder or function cannot take. All texts are copied by the host. */
typedef struct flow_rejection {
	uint32_t struct_size;
	flow_status status;
	flow_slice reason; /* one sentence: what is wrong with it */
	flow_slice field;  /* name or JSON pointer of the field at fault; may be empty */
	flow_slice raw;    /* the record's bytes as they came; may be empty */
	int64_t ordinal;
	uint64_t line;     /* 1-based line in a text file; 0: none */
} flow_rejection;

typedef struct flow_builder flow_builder;

typedef struct flow_builder_ops {
	uint32_t struct_size;
	uint32_t reserved;
	/* [task] Makes room for `size` bytes at builder->next (which may move to another chunk). */
	flow_status (*refill)(flow_builder *builder, uint64_t size);
	/* [task] Adds the columns FLOW_COLUMN_* that are not there yet; rows so far get null, 0 or FLOW_NO_TIMESTAMP;
	 * every further row must be filled by the caller. Columns that are there do not move until the batch is finished. */
	flow_status (*add_columns)(flow_builder *builder, uint32_t columns);
	/* [task] Keeps `batch` alive as long as the batch under construction: its memory may be pointed at. */
	flow_status (*keep)(flow_builder *builder, const flow_batch *batch);
	/* [task] Takes over `bytes` of foreign memory (they count for the budget and for builder_full): `release(owner)` is
	 * called once, by any thread, when the batch dies (or now, if the call fails); it must not block. It may be called
	 * several times for one batch. All batches of a source are dead before source_close. */
	flow_status (*adopt)(flow_builder *builder, void (*release)(void *owner), void *owner, uint64_t bytes);
	/* [task] Reports a record that does not go into the batch. What follows (fail, skip, dead letter) is policy:
	 * on FLOW_OK go on with the next record; on failure return that status. */
	flow_status (*reject)(flow_builder *builder, const flow_rejection *rejection);
} flow_builder_ops;

#define FLOW_COLUMN_KEY 1u
#define FLOW_COLUMN_TIMESTAMP 2u
#define FLOW_COLUMN_HEADERS 4u
#define FLOW_COLUMN_ORDINAL 8u

/* A batch under construction. Read the members; write through the functions below (and the columns of rows added). */
struct flow_builder {
	uint32_t struct_size;
	uint32_t flags; /* FLOW_BATCH_RAW, FLOW_BATCH_STREAM: may be set before the first row */
	uint32_t row_count;
	uint32_t row_capacity;
	flow_value *value;
	flow_value *key;        /* NULL unless the column is there */
	int64_t *timestamp;     /* likewise */
	flow_headers *headers;  /* likewise */
	int64_t *ordinal;       /* likewise */
	char *next;             /* free memory of the current chunk: next .. end */
	char *end;
	char *soft_end;         /* next beyond this: the batch is large enough */
	uint32_t partition;     /* a source sets it before it returns */
	uint32_t reserved;
	const flow_builder_ops *ops;
	void *host;
};

/* True when the batch is large enough: stop adding rows and return. */
static inline int
flow_builder_full(const flow_builder *builder)
{
	return builder->row_count >= builder->row_capacity || builder->next >= builder->soft_end;
}

/* Memory that lives as long as the batch, 8-byte aligned. NULL: out of memory (or over the budget). */
static inline void *
flow_builder_alloc(flow_builder *builder, uint64_t size)
{
	size = (size + 7) & ~(uint64_t)7;
	if ((uint64_t)(builder->end - builder->next) < size && builder->ops->refill(builder, size) != FLOW_OK)
		return NULL;
	void *memory = builder->next;
	builder->next += size;
	return memory;
}

/* Copies bytes into the batch; NULL: out of memory. */
static inline const char *
flow_builder_copy(flow_builder *builder, const void *data, uint64_t size)
{
	char *memory = (char *)flow_builder_alloc(builder, size == 0 ? 1 : size);
	if (memory != NULL && size != 0)
		memcpy(memory, data, size);
	return memory;
}

/* `count` cells for the fields of a record, to be filled by the caller. */
static inline flow_value *
flow_builder_cells(flow_builder *builder, uint32_t count)
{
	return (flow_value *)flow_builder_alloc(builder, (uint64_t)count * sizeof(flow_value));
}

/* Adds a row; the builder must have room (row_count < row_capacity). Returns the row's number, for other columns. */
static inline uint32_t
flow_builder_add(flow_builder *builder, flow_value value)
{
	uint32_t row = builder->row_count++;
	builder->value[row] = value;
	return row;
}

/* Service FLOW_SERVICE_BATCHES (flow/host.h). */
typedef struct flow_batches {
	uint32_t struct_size;
	uint32_t reserved;
	const flow_batch *(*retain)(const flow_batch *batch); /* [any] returns its argument */
	void (*release)(const flow_batch *batch);             /* [any] NULL is allowed */
} flow_batches;

/* Bytes that an encoder writes. Owned by the host; grow it with flow_buffer_reserve only. */
typedef struct flow_buffer {
	uint32_t struct_size;
	uint32_t reserved;
	char *data;
	uint64_t size;
	uint64_t capacity;
	/* [task] Makes capacity - size at least `more`. */
	flow_status (*grow)(struct flow_buffer *buffer, uint64_t more);
	void *host;
} flow_buffer;

/* Room for `more` bytes at the end; returns where to write, NULL: out of memory. Then add to `size` what was used. */
static inline char *
flow_buffer_reserve(flow_buffer *buffer, uint64_t more)
{
	if ((buffer->data == NULL || buffer->capacity - buffer->size < more) && buffer->grow(buffer, more) != FLOW_OK)
		return NULL;
	return buffer->data + buffer->size;
}

static inline flow_status
flow_buffer_append(flow_buffer *buffer, const void *data, uint64_t size)
{
	char *to = flow_buffer_reserve(buffer, size);
	if (to == NULL)
		return FLOW_E_MEMORY;
	if (size != 0)
		memcpy(to, data, size);
	buffer->size += size;
	return FLOW_OK;
}

#ifdef __cplusplus
}
#endif
#endif
