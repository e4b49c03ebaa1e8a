/*
 * support/plugin_fixture.h - what tests of plugins need: a registry over build/plugins, components opened with "name=value"
 * options, serdes fed with any size of window.
 *
 *     fixture *f = fixture_create();
 *     fixture_serde serde;
 *     fixture_serde_open(f, "csv", (const char *const[]){ "header=true", "types.id=int64", NULL }, &serde);
 *     fixture_rows *rows = fixture_decode(&serde, "id,name\n1,a\n", 12, 3);   // windows grow by 3 bytes
 *     assert_string_equal(fixture_rows_text(rows), "{\"id\":1,\"name\":\"a\"}\n");
 *
 * Everything that a fixture gives belongs to it and ends with fixture_destroy, in the right order. Whatever must not fail
 * fails the test; the fixture_try_ forms give the failure back. Threads: the test's.
 */
#ifndef SUPPORT_PLUGIN_FIXTURE_H
#define SUPPORT_PLUGIN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/batch.h"
#include "base/error.h"
#include "flow/flow.h"
#include "plugin/registry.h"

typedef struct fixture {
	registry *registry;
	arena *arena; /* for the test's own things too */
	batch_pool *pool;
	flow_error error; /* of the last fixture_try_ call */
} fixture;

fixture *fixture_create(void);
void fixture_destroy(fixture *f);
/* Runs release(owner) in fixture_destroy, last added first. */
void fixture_on_destroy(fixture *f, void (*release)(void *owner), void *owner);

const flow_component *fixture_component(fixture *f, uint32_t kind, const char *id);
/* Options of one scope ("" is the component itself); nested names by dots ("window.tumbling=1h"). NULL-terminated, or NULL. */
const flow_options *fixture_options(fixture *f, const flow_component *component, const char *scope,
									const char *const *assignments);
/* NULL: the text of the first problem is in f->error. */
const flow_options *fixture_try_options(fixture *f, const flow_component *component, const char *scope,
										const char *const *assignments);
/* Short form ("record(id:int64,name:string?)"), or Avro schema JSON if it starts with '{', '[' or '"'. Released with the fixture. */
const flow_schema *fixture_schema(fixture *f, const char *text);
/* Rows from JSON lines (support/batch_text.h). */
flow_batch *fixture_batch(fixture *f, const flow_schema *schema, const char *lines);
/* A new folder under /tmp, removed with the fixture. */
const char *fixture_folder(fixture *f);

/* --- serdes --- */

typedef struct fixture_serde {
	fixture *fixture;
	const flow_serde_ops *ops;
	uint32_t flags;
	flow_serde *serde;
} fixture_serde;

void fixture_serde_open(fixture *f, const char *id, const char *const *assignments, fixture_serde *serde);
flow_status fixture_try_serde_open(fixture *f, const char *id, const char *const *assignments, fixture_serde *serde);
/* For the first bytes of a stream (NULL: no sample). Released with the fixture. */
const flow_schema *fixture_decoded_schema(fixture_serde *serde, const char *sample, uint64_t size);

typedef struct fixture_rejection {
	flow_status status;
	int64_t ordinal;
	uint64_t line;
	const char *reason;
	const char *field;
	const char *raw;
	uint64_t raw_size;
} fixture_rejection;

typedef struct fixture_rows {
	fixture *fixture;
	flow_status status; /* how the last decode call ended; the text is in f->error */
	const flow_schema *schema;
	flow_batch **batches;
	size_t batch_count;
	uint64_t row_count;
	fixture_rejection *rejections;
	size_t rejection_count;
	uint64_t consumed; /* bytes of the stream */
} fixture_rows;

/* How to decode; zero = the default. */
typedef struct fixture_decoding {
	uint64_t window_bytes;  /* a window grows by so many bytes at a time; 0: all at once */
	uint32_t batch_rows;    /* 0: FLOW_BATCH_ROWS */
	const uint32_t *fields; /* projection; NULL: all */
	uint64_t field_count;
	const flow_schema *known_schema; /* from fixture_decoded_schema, of another sample; NULL: from these bytes */
	uint32_t restore_each; /* save, close, open and restore the decoder behind every window */
} fixture_decoding;

/* A whole byte stream. The memory behind each window is exactly what the ABI promises, so that ASan sees every byte too many. */
fixture_rows *fixture_decode(fixture_serde *serde, const char *bytes, uint64_t size, uint64_t window_bytes);
fixture_rows *fixture_decode_with(fixture_serde *serde, const char *bytes, uint64_t size, const fixture_decoding *how);
/* Records, each one run of bytes (data NULL: a record without value). */
fixture_rows *fixture_decode_records(fixture_serde *serde, const flow_slice *records, uint32_t count);
/* All rows as JSON lines. */
const char *fixture_rows_text(fixture_rows *rows);

typedef struct fixture_bytes {
	const char *data; /* NUL-terminated behind size */
	uint64_t size;
	uint64_t *ends;        /* records: end of each selected row; NULL for byte streams */
	flow_status *statuses; /* one a selected row */
} fixture_bytes;

/* A byte stream with begin and end (if `flags` has FLOW_SERDE_STREAM and `records` is 0), or one run of bytes a record. */
fixture_bytes *fixture_encode(fixture_serde *serde, const flow_batch *batch, int records);

#endif
