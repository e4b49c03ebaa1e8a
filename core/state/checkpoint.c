/*
 * The checkpoint store (state/checkpoint.h): records in one file or in the store component, and the rules of their
 * order.
 *
 * Both ways hold the same: the applied record, perhaps a pending one, and whether the applied one's handles are
 * committed. They differ in how a change of these reaches the disk: as one new file, or as one synced batch of the
 * store.
 */
#include "state/checkpoint.h"

#include <errno.h>
#include <string.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/io.h"
#include "base/memory.h"
#include "state/checkpoint_file.h"
#include "state/checkpoint_segments.h"
#include "state/directory.h"

#define SPACE_STATE 0
#define SPACE_RECORDS 1
#define SPACE_SEGMENTS 2
#define SPACE_COUNT 3

#define FILE_LIMIT ((uint64_t)4 << 30)
#define COMMITTED_SIZE 13 /* epoch, finished, CRC32C */

/* One record: its bytes and what they say. */
struct slot {
	arena *memory;
	checkpoint *record; /* NULL: none */
	flow_slice bytes;
};

struct checkpoint_store {
	state_directory directory;
	checkpoint_store_request request;
	const flow_store_ops *ops; /* NULL: one file */
	state_backend backend;
	struct slot applied;
	struct slot pending;
	struct segments segments; /* of the store */
	int unsure;               /* a write failed: what is on disk is unknown until it is read again */
};

static flow_status
out_of_memory(flow_error *error)
{
	return error_set(error, FLOW_E_MEMORY, "checkpoint: out of memory");
}

static void
slot_clear(struct slot *slot)
{
	arena_destroy(slot->memory);
	*slot = (struct slot){ 0 };
}

/* Decodes a copy of `bytes` (empty: no record) into the slot, which is as it was after a failure. */
static flow_status
slot_set(struct slot *slot, flow_slice bytes, flow_error *error)
{
	struct slot fresh = { 0 };
	if (bytes.size != 0) {
		fresh.memory = arena_create();
		char *copy = fresh.memory == NULL ? NULL : arena_copy(fresh.memory, bytes.data, bytes.size);
		if (copy == NULL) {
			slot_clear(&fresh);
			return out_of_memory(error);
		}
		const checkpoint *record = NULL;
		fresh.bytes = flow_slice_make(copy, bytes.size);
		flow_status status = checkpoint_decode(fresh.bytes, fresh.memory, &record, error);
		if (status != FLOW_OK) {
			slot_clear(&fresh);
			return status;
		}
		fresh.record = (checkpoint *)(uintptr_t)record;
	}
	slot_clear(slot);
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
		return out_of_memory(error);
	flow_status status = FLOW_OK;
	if (there > 0) {
		status = io_read_file(path, FILE_LIMIT, memory, &file, error);
		if (status == FLOW_OK)
			status = checkpoint_file_split(path, file, &applied, &pending, error);
	}
	if (status == FLOW_OK)
		status = slot_set(&s->applied, applied, error);
	if (status == FLOW_OK)
		status = slot_set(&s->pending, pending, error);
	/* After a failed write the file may not have reached the disk: writing it again makes what was read true. */
	if (status == FLOW_OK && there > 0 && s->unsure)
		status = checkpoint_file_write(path, applied, pending, error);
	arena_destroy(memory);
	return status;
}

/* ---- The store component ---- */

static flow_status
open_store(checkpoint_store *s, flow_error *error)
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

static void
close_store(checkpoint_store *s)
{
	if (s->backend.ops != NULL)
		s->backend.ops->close(s->backend.store);
	s->backend = (state_backend){ 0 };
}

static flow_store_write
make_write(uint32_t kind, uint32_t space, flow_slice key, flow_slice value)
{
	return (flow_store_write){ .kind = kind, .space = space, .key = key, .value = value };
}

static flow_store_write
put_record(const char *name, flow_slice bytes)
{
	return make_write(FLOW_STORE_PUT, SPACE_RECORDS, flow_slice_of(name), bytes);
}

static flow_store_write
delete_record(const char *name)
{
	return make_write(FLOW_STORE_DELETE, SPACE_RECORDS, flow_slice_of(name), flow_slice_make(NULL, 0));
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
		status = slot_set(&s->applied, values[0], error);
	if (status == FLOW_OK)
		status = slot_set(&s->pending, values[1], error);
	if (status == FLOW_OK)
		status = read_committed(s, values[2], error);
	return status == FLOW_OK ? segments_read(&s->segments, &s->backend, SPACE_SEGMENTS, error) : status;
}

static flow_status
read_store(checkpoint_store *s, flow_error *error)
{
	batch_pool *pool = batch_pool_create(0);
	flow_builder *memory = pool == NULL ? NULL : builder_create(pool, 1, 0);
	flow_status status = memory == NULL ? out_of_memory(error) : read_records(s, memory, error);
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
		writes[count++] = put_record("applied", s->applied.bytes);
	if (s->pending.record != NULL)
		writes[count++] = put_record("pending", s->pending.bytes);
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
		status = open_store(s, error);
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
		return out_of_memory(error);
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
	close_store(s);
	slot_clear(&s->applied);
	slot_clear(&s->pending);
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
		close_store(s);
		flow_status status = state_directory_save(&s->directory, s->directory.store, error);
		if (status == FLOW_OK && s->ops != NULL)
			status = open_store(s, error);
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

/* ---- Changes ---- */

static flow_status
check_sure(const checkpoint_store *s, flow_error *error)
{
	if (!s->unsure)
		return FLOW_OK;
	return error_set(error, FLOW_E_CONFLICT,
					 "state directory %s: a write failed before; the checkpoint must be loaded anew",
					 s->directory.path);
}

/* One atomic, synced change of the disk: new bytes of both records (empty: none), with the store's other writes. */
static flow_status
persist(checkpoint_store *s, flow_slice applied, flow_slice pending, const flow_store_write *writes, uint64_t count,
		flow_error *error)
{
	flow_status status = s->ops == NULL ? checkpoint_file_write(s->directory.checkpoint_path, applied, pending, error)
										: s->ops->write(s->backend.store, writes, count, 1, error);
	if (status != FLOW_OK)
		s->unsure = 1;
	return status;
}

/* Takes over what persist() wrote. Memory that fails here only means reading it back. */
static flow_status
adopt(checkpoint_store *s, struct slot *slot, flow_slice bytes, flow_error *error)
{
	flow_status status = slot_set(slot, bytes, error);
	if (status != FLOW_OK)
		s->unsure = 1;
	return status;
}

static flow_status
check_order(const checkpoint_store *s, const checkpoint *record, flow_error *error)
{
	const checkpoint *applied = s->applied.record;
	flow_status status = check_sure(s, error);
	if (status != FLOW_OK)
		return status;
	unsigned long long epoch = (unsigned long long)record->epoch;
	if (s->pending.record != NULL)
		return error_set(error, FLOW_E_CONFLICT,
						 "checkpoint %llu: %llu is pending, it must be applied or dropped first", epoch,
						 (unsigned long long)s->pending.record->epoch);
	if (applied == NULL)
		return FLOW_OK;
	if (record->epoch <= applied->epoch)
		return error_set(error, FLOW_E_CONFLICT, "checkpoint %llu: %llu is already written", epoch,
						 (unsigned long long)applied->epoch);
	if (applied->handle_count != 0 && !applied->committed)
		return error_set(error, FLOW_E_CONFLICT, "checkpoint %llu: the handles of %llu are not recorded as committed",
						 epoch, (unsigned long long)applied->epoch);
	return FLOW_OK;
}

/* A change of the store that is being put together. */
struct change {
	arena *memory;
	struct store_writes writes;
	fold fold;      /* what the writes of a fold point to */
	uint64_t folds; /* the epoch up to which it folds segments; 0: it does not */
};

static flow_status
change_begin(struct change *change, flow_error *error)
{
	*change = (struct change){ .memory = arena_create() };
	return change->memory == NULL ? out_of_memory(error) : FLOW_OK;
}

static void
change_end(struct change *change)
{
	memory_release(change->writes.items);
	fold_clear(&change->fold);
	arena_destroy(change->memory);
}

static flow_status
change_add(struct change *change, flow_store_write write, flow_error *error)
{
	return store_writes_add(&change->writes, &write) == FLOW_OK ? FLOW_OK : out_of_memory(error);
}

static flow_status
settle_error(flow_status status, flow_error *error)
{
	return status < 0 && error_message(error)[0] == '\0'
			   ? error_set(error, status, "checkpoint: %s", status_text(status))
			   : status;
}

/* Folds the applied segments, and what is in change->fold already. */
static flow_status
add_fold(checkpoint_store *s, struct change *change, flow_error *error)
{
	change->folds = s->applied.record == NULL ? 0 : s->applied.record->epoch;
	return settle_error(segments_fold(&s->segments, &s->backend, SPACE_SEGMENTS, SPACE_STATE, change->folds,
									  &change->fold, &change->writes, change->memory, error),
						error);
}

/* State that changed: segments, or with those that are there into the state proper. Takes the deltas over. */
static flow_status
add_deltas(checkpoint_store *s, struct change *change, uint64_t epoch, state_delta *const *deltas, uint64_t count,
		   int pending, int *folded, flow_error *error)
{
	uint64_t applied = s->applied.record == NULL ? 0 : s->applied.record->epoch;
	int due = segments_are_due(&s->segments, applied);
	flow_status status = FLOW_OK;
	*folded = due && !pending;
	for (uint64_t i = 0; i < count && *folded && status == FLOW_OK; i++)
		if (deltas[i] != NULL)
			status = fold_take(&change->fold, state_delta_segment(deltas[i]), 0);
	if (!*folded)
		status = segments_add(&s->segments, SPACE_SEGMENTS, epoch, deltas, count, &change->writes, change->memory);
	status = settle_error(status, error);
	return status == FLOW_OK && due ? add_fold(s, change, error) : status;
}

static flow_status
check_deltas(const checkpoint_store *s, state_delta *const *deltas, uint64_t count, flow_error *error)
{
	for (uint64_t i = 0; i < count && s->ops == NULL; i++)
		if (deltas[i] != NULL && state_delta_count(deltas[i]) != 0)
			return error_set(error, FLOW_E_INTERNAL, "checkpoint: keyed state, but the job has no store");
	return FLOW_OK;
}

static void
end_deltas(state_delta *const *deltas, uint64_t count, void (*end)(state_delta *delta))
{
	for (uint64_t i = 0; i < count; i++)
		if (deltas[i] != NULL)
			end(deltas[i]);
}

static flow_status
write_record(checkpoint_store *s, uint64_t epoch, flow_slice bytes, state_delta *const *deltas, uint64_t count,
			 int pending, flow_error *error)
{
	struct change change;
	int folded = 0;
	flow_status status = change_begin(&change, error);
	if (status != FLOW_OK) {
		end_deltas(deltas, count, state_delta_release);
		return status;
	}
	if (s->ops != NULL)
		status = add_deltas(s, &change, epoch, deltas, count, pending, &folded, error);
	if (status == FLOW_OK)
		status = change_add(&change, put_record(pending ? "pending" : "applied", bytes), error);
	if (status == FLOW_OK)
		status = persist(s, pending ? s->applied.bytes : bytes, pending ? bytes : flow_slice_make(NULL, 0),
						 change.writes.items, change.writes.count, error);
	if (status != FLOW_OK)
		segments_forget(&s->segments, epoch);
	else if (s->segments.count != 0)
		segments_written(&s->segments);
	if (status == FLOW_OK && change.folds != 0)
		segments_folded(&s->segments, change.folds, &change.fold);
	if (folded || s->ops == NULL)
		end_deltas(deltas, count, status == FLOW_OK ? state_delta_settle : state_delta_release);
	change_end(&change);
	return status;
}

/* The record's bytes; the caller destroys the buffer. NULL: failed. */
static flow_buffer *
encode(const checkpoint_store *s, const checkpoint *record, flow_error *error)
{
	checkpoint stamped = *record;
	memcpy(stamped.run_id, s->directory.run_id, RUN_ID_SIZE);
	flow_buffer *buffer = buffer_create();
	if (buffer == NULL || checkpoint_encode(&stamped, buffer) != FLOW_OK) {
		buffer_destroy(buffer);
		out_of_memory(error);
		return NULL;
	}
	return buffer;
}

flow_status
checkpoint_write(checkpoint_store *s, const checkpoint *record, state_delta *const *deltas, uint64_t delta_count,
				 int pending, flow_error *error)
{
	flow_status status = check_order(s, record, error);
	if (status == FLOW_OK)
		status = check_deltas(s, deltas, delta_count, error);
	flow_buffer *buffer = status == FLOW_OK ? encode(s, record, error) : NULL;
	if (buffer == NULL) {
		end_deltas(deltas, delta_count, state_delta_release);
		return status != FLOW_OK ? status : FLOW_E_MEMORY;
	}
	flow_slice bytes = flow_slice_make(buffer->data, buffer->size);
	status = write_record(s, record->epoch, bytes, deltas, delta_count, pending, error);
	if (status == FLOW_OK)
		status = adopt(s, pending ? &s->pending : &s->applied, bytes, error);
	buffer_destroy(buffer);
	return status;
}

/* The pending epoch's segments are there: only the records change. */
flow_status
checkpoint_apply(checkpoint_store *s, flow_error *error)
{
	flow_status status = check_sure(s, error);
	if (status != FLOW_OK)
		return status;
	if (s->pending.record == NULL)
		return error_set(error, FLOW_E_NOT_FOUND, "checkpoint: there is no pending one to apply");
	const flow_store_write writes[] = { put_record("applied", s->pending.bytes), delete_record("pending") };
	status = persist(s, s->pending.bytes, flow_slice_make(NULL, 0), writes, FLOW_COUNT(writes), error);
	if (status != FLOW_OK)
		return status;
	slot_clear(&s->applied);
	s->applied = s->pending;
	s->pending = (struct slot){ 0 };
	return FLOW_OK;
}

flow_status
checkpoint_drop(checkpoint_store *s, flow_error *error)
{
	flow_status status = check_sure(s, error);
	if (status != FLOW_OK || s->pending.record == NULL)
		return status;
	uint64_t epoch = s->pending.record->epoch;
	struct change change;
	status = change_begin(&change, error);
	if (status == FLOW_OK)
		status =
			settle_error(segments_delete(&s->segments, SPACE_SEGMENTS, epoch, &change.writes, change.memory), error);
	if (status == FLOW_OK)
		status = change_add(&change, delete_record("pending"), error);
	if (status == FLOW_OK)
		status =
			persist(s, s->applied.bytes, flow_slice_make(NULL, 0), change.writes.items, change.writes.count, error);
	change_end(&change);
	if (status == FLOW_OK) {
		segments_forget(&s->segments, epoch);
		slot_clear(&s->pending);
	}
	return status;
}

flow_status
checkpoint_fold(checkpoint_store *s, flow_error *error)
{
	flow_status status = check_sure(s, error);
	if (status != FLOW_OK || s->applied.record == NULL || s->segments.count == 0)
		return status;
	struct change change;
	status = change_begin(&change, error);
	if (status == FLOW_OK)
		status = add_fold(s, &change, error);
	if (status == FLOW_OK && change.writes.count != 0)
		status = persist(s, s->applied.bytes, s->pending.bytes, change.writes.items, change.writes.count, error);
	if (status == FLOW_OK)
		segments_folded(&s->segments, change.folds, &change.fold);
	change_end(&change);
	return status;
}

/* The file is small and is written anew; the store gets a short note beside its record. */
static flow_status
note_committed(checkpoint_store *s, const checkpoint *record, flow_error *error)
{
	if (s->ops != NULL) {
		char note[COMMITTED_SIZE];
		checkpoint_put_number(note, record->epoch, 8);
		note[8] = (char)record->finished;
		checkpoint_put_number(note + 9, checksum_crc32c(0, note, 9), 4);
		flow_store_write write = put_record("committed", flow_slice_make(note, sizeof(note)));
		flow_status status = persist(s, flow_slice_make(NULL, 0), flow_slice_make(NULL, 0), &write, 1, error);
		if (status == FLOW_OK) {
			s->applied.record->committed = record->committed;
			s->applied.record->finished = record->finished;
		}
		return status;
	}
	flow_buffer *buffer = encode(s, record, error);
	if (buffer == NULL)
		return FLOW_E_MEMORY;
	flow_slice bytes = flow_slice_make(buffer->data, buffer->size);
	flow_status status = persist(s, bytes, s->pending.bytes, NULL, 0, error);
	if (status == FLOW_OK)
		status = adopt(s, &s->applied, bytes, error);
	buffer_destroy(buffer);
	return status;
}

flow_status
checkpoint_mark_committed(checkpoint_store *s, uint64_t epoch, int finished, flow_error *error)
{
	flow_status status = check_sure(s, error);
	if (status != FLOW_OK)
		return status;
	if (s->applied.record == NULL || s->applied.record->epoch != epoch)
		return error_set(error, FLOW_E_CONFLICT,
						 "checkpoint %llu: it is not the applied one, it cannot be marked as committed",
						 (unsigned long long)epoch);
	checkpoint record = *s->applied.record;
	record.committed = 1;
	record.finished |= finished != 0;
	return note_committed(s, &record, error);
}

/* ---- Dropping ---- */

static flow_status
fail_unknown_name(const checkpoint_store *s, const char *name, arena *memory, flow_error *error)
{
	const checkpoint *record = s->applied.record;
	char *names = arena_copy_text(memory, "");
	for (uint64_t i = 0; record != NULL && names != NULL && i < record->identity_count; i++) {
		const checkpoint_identity *identity = &record->identities[i];
		if (flow_slice_is(identity->kind, "state"))
			names = arena_format(memory, "%s%s'%.*s'", names, names[0] == '\0' ? "" : ", ", (int)identity->name.size,
								 identity->name.data);
	}
	if (names == NULL)
		return out_of_memory(error);
	return error_set(error, FLOW_E_NOT_FOUND, "state directory %s: no operator '%s' has state in it; %s%s",
					 s->directory.path, name, names[0] == '\0' ? "there is none" : "there is ", names);
}

/* The applied record without the operator: its identity and its watermarks. */
static flow_status
make_without(const checkpoint *record, const checkpoint_identity *dropped, arena *memory, checkpoint *without)
{
	checkpoint_identity *identities = arena_allocate(memory, record->identity_count * sizeof(*identities) + 1);
	checkpoint_watermark *watermarks = arena_allocate(memory, record->watermark_count * sizeof(*watermarks) + 1);
	if (identities == NULL || watermarks == NULL)
		return FLOW_E_MEMORY;
	*without = *record;
	without->identities = identities;
	without->identity_count = 0;
	without->watermarks = watermarks;
	without->watermark_count = 0;
	for (uint64_t i = 0; i < record->identity_count; i++)
		if (&record->identities[i] != dropped)
			identities[without->identity_count++] = record->identities[i];
	for (uint64_t i = 0; i < record->watermark_count; i++)
		if (!flow_slice_equal(record->watermarks[i].operator_name, dropped->name))
			watermarks[without->watermark_count++] = record->watermarks[i];
	return FLOW_OK;
}

static void
put_state_id(char *to, uint64_t id)
{
	for (int i = 0; i < 4; i++)
		to[i] = (char)(id >> (8 * (3 - i)));
}

static flow_status
drop_identity(checkpoint_store *s, const checkpoint_identity *dropped, arena *memory, flow_error *error)
{
	checkpoint without;
	if (make_without(s->applied.record, dropped, memory, &without) != FLOW_OK)
		return out_of_memory(error);
	flow_buffer *buffer = encode(s, &without, error);
	if (buffer == NULL)
		return FLOW_E_MEMORY;
	char from[4], to[4];
	uint64_t end = (uint64_t)dropped->state_id + dropped->id_count;
	put_state_id(from, dropped->state_id);
	put_state_id(to, end);
	flow_slice bytes = flow_slice_make(buffer->data, buffer->size);
	const flow_store_write writes[] = {
		make_write(FLOW_STORE_DELETE_RANGE, SPACE_STATE, flow_slice_make(from, 4),
				   flow_slice_make(to, end > UINT32_MAX ? 0 : 4)),
		put_record("applied", bytes),
	};
	flow_status status = persist(s, bytes, flow_slice_make(NULL, 0), writes, FLOW_COUNT(writes), error);
	if (status == FLOW_OK)
		status = adopt(s, &s->applied, bytes, error);
	buffer_destroy(buffer);
	return status;
}

flow_status
checkpoint_drop_state(checkpoint_store *s, const char *name, flow_error *error)
{
	flow_status status = check_sure(s, error);
	if (status != FLOW_OK)
		return status;
	if (s->pending.record != NULL)
		return error_set(error, FLOW_E_CONFLICT, "state directory %s: a checkpoint is pending; run the job once before",
						 s->directory.path);
	status = checkpoint_fold(s, error); /* segments have the state of all operators */
	if (status != FLOW_OK)
		return status;
	const checkpoint *record = s->applied.record;
	const checkpoint_identity *found = NULL;
	for (uint64_t i = 0; record != NULL && i < record->identity_count && found == NULL; i++)
		if (flow_slice_is(record->identities[i].kind, "state") && flow_slice_is(record->identities[i].name, name))
			found = &record->identities[i];
	arena *memory = arena_create();
	if (memory == NULL)
		return out_of_memory(error);
	status = found == NULL ? fail_unknown_name(s, name, memory, error) : drop_identity(s, found, memory, error);
	arena_destroy(memory);
	return status;
}

flow_status
checkpoint_reset(checkpoint_store *s, flow_error *error)
{
	close_store(s);
	slot_clear(&s->applied);
	slot_clear(&s->pending);
	segments_clear(&s->segments);
	s->unsure = 1; /* until all of it is done */
	flow_status status = state_directory_clear(&s->directory, error);
	if (status == FLOW_OK)
		status = state_directory_new_run(&s->directory, error);
	if (status == FLOW_OK)
		status = state_directory_save(&s->directory, s->ops == NULL ? "none" : s->request.store->id, error);
	if (status == FLOW_OK && s->ops != NULL)
		status = open_store(s, error);
	if (status == FLOW_OK)
		s->unsure = 0;
	return status;
}
