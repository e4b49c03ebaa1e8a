/*
 * support/system_fixture.h - systems in tests: opened, read and written without a runtime.
 *
 *     fixture_system system;
 *     fixture_system_open(f, "file", NULL, &system);
 *     fixture_stream in = fixture_input(&system, "in", (const char *const[]){ "path=/tmp/x", NULL });
 *     fixture_source *source = fixture_source_open(&in);          // all partitions, from the start
 *     assert_string_equal(fixture_source_text(source, 0), "...");
 *
 * Everything belongs to the fixture. Requests and options are poisoned once a call that got them has returned, as the ABI allows.
 */
#ifndef SUPPORT_SYSTEM_FIXTURE_H
#define SUPPORT_SYSTEM_FIXTURE_H

#include "support/plugin_fixture.h"

typedef struct fixture_system {
	fixture *fixture;
	const flow_component *component;
	const flow_system_ops *ops;
	flow_system *system;
} fixture_system;

void fixture_system_open(fixture *f, const char *id, const char *const *assignments, fixture_system *system);

/* A stream as the configuration has it. Set physical_name, bounded, job and so on before it is used. */
typedef struct fixture_stream {
	fixture_system *system;
	uint32_t direction;
	const char *name; /* id and physical name */
	const char *const *assignments;
	uint32_t bounded;
	uint32_t offline;
	uint32_t sample; /* sources are opened to look at the first bytes */
	const char *job; /* NULL: "job" */
	const char *instance;
} fixture_stream;

fixture_stream fixture_input(fixture_system *system, const char *name, const char *const *assignments);
fixture_stream fixture_output(fixture_system *system, const char *name, const char *const *assignments);
/* Schemas in it are released with the fixture. */
flow_status fixture_try_describe(const fixture_stream *stream, flow_stream_description *description);
flow_stream_description fixture_describe(const fixture_stream *stream);
/* Makes the stream, with so many partitions; 0: as the system likes. */
flow_status fixture_try_create(const fixture_stream *stream, int32_t partitions);

/* --- sources --- */

typedef struct fixture_source {
	fixture_system *system;
	flow_source *source;
	flow_source_info info;
	flow_waker waker;
	uint32_t wakes; /* so often was it woken */
	const flow_partition *const *partitions;
	uint64_t partition_count;
	flow_stream_description description;
	uint32_t batch_rows; /* of a read; 0: FLOW_BATCH_ROWS */
	uint64_t batch_bytes;
} fixture_source;

/* Opens, looks at the partitions, assigns none. `start` 0: the oldest. */
fixture_source *fixture_try_source_open(const fixture_stream *stream, uint32_t start);
/* Opens and assigns all partitions from the start. */
fixture_source *fixture_source_open(const fixture_stream *stream);
flow_status fixture_try_assign(fixture_source *source, uint32_t partition, flow_slice position);
/* One read: the batch belongs to the fixture, NULL unless FLOW_OK. *partition is set for FLOW_OK and FLOW_END. */
flow_status fixture_source_read(fixture_source *source, const flow_batch **batch, uint32_t *partition);
/* Reads until all has ended or there is nothing now; everything of one partition, byte streams as their bytes, records as JSON
 * lines with keys, timestamps and ordinals. Failures fail the test. */
const char *fixture_source_text(fixture_source *source, uint32_t partition);
/* The position behind `ordinal`; lives in the fixture. */
flow_slice fixture_position(fixture_source *source, uint32_t partition, int64_t ordinal);
void fixture_source_close(fixture_source *source);

/* --- sinks --- */

typedef struct fixture_writer {
	fixture_system *system;
	flow_writer *writer;
	flow_waker waker;
	uint32_t wakes;
	uint32_t task;
} fixture_writer;

fixture_writer *fixture_writer_open(const fixture_stream *stream, uint32_t task, const flow_handle *recovered);
/* NULL: the error is in f->error. */
fixture_writer *fixture_try_writer_open(const fixture_stream *stream, uint32_t task, const flow_handle *recovered);
/* Writes one row of bytes. */
void fixture_write(fixture_writer *writer, const char *text);
flow_status fixture_try_write(fixture_writer *writer, const flow_batch *batch, uint32_t *accepted);
const flow_handle *fixture_prepare(fixture_writer *writer, uint64_t epoch, int last);
void fixture_writer_close(fixture_writer *writer);

typedef struct fixture_committer {
	fixture_system *system;
	flow_committer *committer;
} fixture_committer;

fixture_committer *fixture_committer_open(const fixture_stream *stream);
flow_status fixture_try_commit(fixture_committer *committer, const flow_handle *handle, int last);
/* `keep` NULL: nothing. */
flow_status fixture_try_abort(fixture_committer *committer, const flow_handle *keep);
/* Raw rows, one a text; NULL in the list is a record without value; ends with `count`. */
const flow_batch *fixture_raw(fixture *f, const char *const *texts, uint32_t count);

#endif
