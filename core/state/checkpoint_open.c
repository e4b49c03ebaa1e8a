/*
 * Opening the checkpoint store (state/checkpoint_store.h) and reading its records, from one file or from the store component.
 */
#include "state/checkpoint_store.h"

#include <errno.h>
#include <string.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/io.h"
#include "state/checkpoint_file.h"

#define FILE_LIMIT ((uint64_t)4 << 30)

flow_status
checkpoint_out_of_memory(flow_error *error)
{
	return error_set(error, FLOW_E_MEMORY, "checkpoint: out of memory");
}

void
checkpoint_slot_clear(struct slot *slot)
{
	arena_destroy(slot->memory);
	*slot = (struct slot){ 0 };
}

flow_status
checkpoint_slot_set(struct slot *slot, flow_slice bytes, flow_error *error)
{
	struct slot fresh = { 0 };
	if (bytes.size != 0) {
		fresh.memory = arena_create();
		char *copy = fresh.memory == NULL ? NULL : arena_copy(fresh.memory, bytes.data, bytes.size);
		if (copy == NULL) {
			checkpoint_slot_clear(&fresh);
			return checkpoint_out_of_memory(error);
		}
		const checkpoint *record = NULL;
		fresh.bytes = flow_slice_make(copy, bytes.size);
		flow_status status = checkpoint_decode(fresh.bytes, fresh.memory, &record, error);
		if (status != FLOW_OK) {
			checkpoint_slot_clear(&fresh);
			return status;
		}
		fresh.record = (checkpoint *)(uintptr_t)record;
	}
	checkpoint_slot_clear(slot);
	*slot = fresh;
	return FLOW_OK;
}

/* ---- One file ---- */

/* Both slots from the file; none of them if there is no file. */
static flow_status
read_file(checkpoint_store *s, flow_error *error)
{
	const char *path = s->directory.checkpoint_path;
	int there = io_calls()->exists(path);
	if (there < 0)
		return error_set(error, status_of_errno(errno), "%s: %s", path, strerror(errno));
	flow_slice file, applied = { NULL, 0 }, pending = { NULL, 0 };
	arena *memory = arena_create();
	if (memory == NULL)
		return checkpoint_out_of_memory(error);
	flow_status status = FLOW_OK;
	if (there > 0) {
		status = io_read_file(path, FILE_LIMIT, memory, &file, error);
		if (status == FLOW_OK)
			status = checkpoint_file_split(path, file, &applied, &pending, error);
	}
	if (status == FLOW_OK)
		status = checkpoint_slot_set(&s->applied, applied, error);
	if (status == FLOW_OK)
		status = checkpoint_slot_set(&s->pending, pending, error);
	/* After a failed write the file may not have reached the disk: writing it again makes what was read true. */
	if (status == FLOW_OK && there > 0 && s->unsure)
		status = checkpoint_file_write(path, applied, pending, error);
	arena_destroy(memory);
	return status;
}

/* ---- The store component ---- */

flow_status
checkpoint_open_store(checkpoint_store *s, flow_error *error)
{
	flow_store_info info = { .struct_size = FLOW_SIZEOF(flow_store_info),
							 .space_count = SPACE_COUNT,
							 .directory = flow_slice_of(s->directory.store_path),
							 .create = 1,
							 .cache_bytes = s->request.cache_bytes };
	flow_store *opened = NULL;
	flow_status status = s->ops->open(s->request.host, s->request.store_options, &info, &opened, error);
	if (status != FLOW_OK)
		return status;
	s->backend = (state_backend){ s->ops, opened };
	return FLOW_OK;
}

void
checkpoint_close_store(checkpoint_store *s)
{
	if (s->backend.ops != NULL)
		s->backend.ops->close(s->backend.store);
	s->backend = (state_backend){ 0 };
}

flow_store_write
checkpoint_make_write(uint32_t kind, uint32_t space, flow_slice key, flow_slice value)
{
	return (flow_store_write){ .kind = kind, .space = space, .key = key, .value = value };
}

flow_store_write
checkpoint_put_record(const char *name, flow_slice bytes)
{
	return checkpoint_make_write(FLOW_STORE_PUT, SPACE_RECORDS, flow_slice_of(name), bytes);
}

flow_store_write
checkpoint_delete_record(const char *name)
{
	return checkpoint_make_write(FLOW_STORE_DELETE, SPACE_RECORDS, flow_slice_of(name), flow_slice_make(NULL, 0));
}

static flow_status
read_committed(checkpoint_store *s, flow_slice bytes, flow_error *error)
{
	if (bytes.data == NULL || s->applied.record == NULL)
		return FLOW_OK;
	if (bytes.size != COMMITTED_SIZE || checksum_crc32c(0, bytes.data, 9) != checkpoint_get_number(bytes.data + 9, 4))
		return error_set(error, FLOW_E_CORRUPT,
						 "%s: the note of what was committed is damaged; restore it, or discard the state with --fresh",
						 s->directory.store_path);
	if (checkpoint_get_number(bytes.data, 8) == s->applied.record->epoch) {
		s->applied.record->committed = 1;
		s->applied.record->finished |= bytes.data[8] != 0;
	}
	return FLOW_OK;
}

static flow_status
read_records(checkpoint_store *s, flow_builder *memory, flow_error *error)
{
	flow_slice keys[] = { flow_slice_of("applied"), flow_slice_of("pending"), flow_slice_of("committed") };
	flow_slice values[FLOW_COUNT(keys)] = { { NULL, 0 } };
	flow_status status =
		s->ops->get_many(s->backend.store, NULL, SPACE_RECORDS, keys, FLOW_COUNT(keys), memory, values, error);
	if (status == FLOW_OK)
		status = checkpoint_slot_set(&s->applied, values[0], error);
	if (status == FLOW_OK)
		status = checkpoint_slot_set(&s->pending, values[1], error);
	if (status == FLOW_OK)
		status = read_committed(s, values[2], error);
	return status == FLOW_OK ? segments_read(&s->segments, &s->backend, SPACE_SEGMENTS, error) : status;
}

static flow_status
read_store(checkpoint_store *s, flow_error *error)
{
	batch_pool *pool = batch_pool_create(0);
	flow_builder *memory = pool == NULL ? NULL : builder_create(pool, 1, 0);
	flow_status status = memory == NULL ? checkpoint_out_of_memory(error) : read_records(s, memory, error);
	builder_destroy(memory);
	batch_pool_destroy(pool);
	return status;
}

/* ---- Opening ---- */

static flow_status
check_run(const checkpoint_store *s, const struct slot *slot, flow_error *error)
{
	if (slot->record == NULL || memcmp(slot->record->run_id, s->directory.run_id, RUN_ID_SIZE) == 0)
		return FLOW_OK;
	return error_set(
		error, FLOW_E_CORRUPT,
		"state directory %s: its checkpoint is not of the run that FORMAT names; parts of two directories were mixed",
		s->directory.path);
}

static flow_status
read_all(checkpoint_store *s, flow_error *error)
{
	flow_status status = s->ops == NULL ? read_file(s, error) : read_store(s, error);
	if (status == FLOW_OK)
		status = check_run(s, &s->applied, error);
	if (status == FLOW_OK)
		status = check_run(s, &s->pending, error);
	return status;
}

/* The job has got keyed state: its records move from the file into the store. A crash on the way repeats the move. */
static flow_status
move_into_store(checkpoint_store *s, flow_error *error)
{
	flow_status status = read_file(s, error);
	if (status != FLOW_OK)
		return status;
	flow_store_write writes[2];
	uint64_t count = 0;
	if (s->applied.record != NULL)
		writes[count++] = checkpoint_put_record("applied", s->applied.bytes);
	if (s->pending.record != NULL)
		writes[count++] = checkpoint_put_record("pending", s->pending.bytes);
	if (count != 0)
		status = s->ops->write(s->backend.store, writes, count, 1, error);
	if (status == FLOW_OK)
		status = state_directory_save(&s->directory, s->request.store->id, error);
	return status == FLOW_OK ? io_remove_tree(s->directory.checkpoint_path, error) : status;
}

static flow_status
check_store(const checkpoint_store *s, flow_error *error)
{
	const char *before = s->directory.store;
	if (s->directory.is_new || strcmp(before, "none") == 0)
		return FLOW_OK;
	if (s->request.store == NULL)
		return error_set(
			error, FLOW_E_CONFLICT,
			"state directory %s: it holds keyed state in a '%s' store, but no operator of the job keeps state any "
			"more; discard it with --fresh",
			s->directory.path, before);
	if (strcmp(before, s->request.store->id) != 0)
		return error_set(
			error, FLOW_E_CONFLICT,
			"state directory %s: its store is '%s', the job now asks for '%s'; discard the state with --fresh",
			s->directory.path, before, s->request.store->id);
	return FLOW_OK;
}

/* FORMAT goes first: a folder with state but without it is refused. */
static flow_status
settle_format(checkpoint_store *s, flow_error *error)
{
	flow_status status = state_directory_sweep(&s->directory, error);
	if (status == FLOW_OK && s->request.fresh) {
		status = state_directory_clear(&s->directory, error);
		s->directory.is_new = 1;
	}
	if (status != FLOW_OK || !s->directory.is_new)
		return status;
	status = state_directory_new_run(&s->directory, error);
	return status == FLOW_OK
			   ? state_directory_save(&s->directory, s->ops == NULL ? "none" : s->request.store->id, error)
			   : status;
}

static flow_status
open_all(checkpoint_store *s, flow_error *error)
{
	const flow_component *component = s->request.store;
	if (component != NULL && (component->flags & FLOW_STORE_ATOMIC_BATCH) == 0)
		return error_set(error, FLOW_E_CONFIG, "store '%s' cannot hold state: its batches are not atomic",
						 component->id);
	s->ops = component == NULL ? NULL : component->ops;
	flow_status status = s->request.fresh ? FLOW_OK : check_store(s, error);
	if (status == FLOW_OK)
		status = settle_format(s, error);
	if (status == FLOW_OK && s->ops != NULL) {
		status = checkpoint_open_store(s, error);
		if (status == FLOW_OK && strcmp(s->directory.store, "none") == 0)
			status = move_into_store(s, error);
	}
	return status == FLOW_OK ? read_all(s, error) : status;
}

flow_status
checkpoint_store_open(const checkpoint_store_request *request, checkpoint_store **store, flow_error *error)
{
	checkpoint_store *s = memory_allocate_zeroed(sizeof(*s));
	if (s == NULL)
		return checkpoint_out_of_memory(error);
	s->request = *request;
	flow_status status =
		state_directory_open(&s->directory, request->directory, request->job, (int)request->fresh, error);
	if (status == FLOW_OK)
		status = open_all(s, error);
	if (status != FLOW_OK) {
		checkpoint_store_close(s);
		return status;
	}
	*store = s;
	return FLOW_OK;
}

void
checkpoint_store_close(checkpoint_store *s)
{
	if (s == NULL)
		return;
	checkpoint_close_store(s);
	checkpoint_slot_clear(&s->applied);
	checkpoint_slot_clear(&s->pending);
	segments_clear(&s->segments);
	state_directory_close(&s->directory);
	memory_release(s);
}

const state_backend *
checkpoint_store_backend(const checkpoint_store *s)
{
	return &s->backend;
}

const uint8_t *
checkpoint_store_run_id(const checkpoint_store *s)
{
	return s->directory.run_id;
}

flow_status
checkpoint_load(checkpoint_store *s, const checkpoint **applied, const checkpoint **pending, flow_error *error)
{
	if (s->unsure) {
		checkpoint_close_store(s);
		flow_status status = state_directory_save(&s->directory, s->directory.store, error);
		if (status == FLOW_OK && s->ops != NULL)
			status = checkpoint_open_store(s, error);
		if (status == FLOW_OK)
			status = read_all(s, error);
		if (status != FLOW_OK)
			return status;
		s->unsure = 0;
	}
	*applied = s->applied.record;
	*pending = s->pending.record;
	return FLOW_OK;
}
