/*
 * Changes of the checkpoint store (state/checkpoint.h), and the rules of their order.
 */
#include <string.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/error.h"
#include "state/checkpoint_file.h"
#include "state/checkpoint_store.h"

flow_status
checkpoint_check_sure(const checkpoint_store *s, flow_error *error)
{
	if (!s->unsure)
		return FLOW_OK;
	return error_set(error, FLOW_E_CONFLICT,
					 "state directory %s: a write failed before; the checkpoint must be loaded anew",
					 s->directory.path);
}

flow_status
checkpoint_persist(checkpoint_store *s, flow_slice applied, flow_slice pending, const flow_store_write *writes,
				   uint64_t count, flow_error *error)
{
	flow_status status = s->ops == NULL ? checkpoint_file_write(s->directory.checkpoint_path, applied, pending, error)
										: s->ops->write(s->backend.store, writes, count, 1, error);
	if (status != FLOW_OK)
		s->unsure = 1;
	return status;
}

flow_status
checkpoint_adopt(checkpoint_store *s, struct slot *slot, flow_slice bytes, flow_error *error)
{
	flow_status status = checkpoint_slot_set(slot, bytes, error);
	if (status != FLOW_OK)
		s->unsure = 1;
	return status;
}

static flow_status
check_order(const checkpoint_store *s, const checkpoint *record, flow_error *error)
{
	const checkpoint *applied = s->applied.record;
	flow_status status = checkpoint_check_sure(s, error);
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
	return change->memory == NULL ? checkpoint_out_of_memory(error) : FLOW_OK;
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
	return store_writes_add(&change->writes, &write) == FLOW_OK ? FLOW_OK : checkpoint_out_of_memory(error);
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
		status = change_add(&change, checkpoint_put_record(pending ? "pending" : "applied", bytes), error);
	if (status == FLOW_OK)
		status = checkpoint_persist(s, pending ? s->applied.bytes : bytes, pending ? bytes : flow_slice_make(NULL, 0),
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

flow_buffer *
checkpoint_encode_stamped(const checkpoint_store *s, const checkpoint *record, flow_error *error)
{
	checkpoint stamped = *record;
	memcpy(stamped.run_id, s->directory.run_id, RUN_ID_SIZE);
	if (stamped.time == 0)
		stamped.time = clock_now();
	flow_buffer *buffer = buffer_create();
	if (buffer == NULL || checkpoint_encode(&stamped, buffer) != FLOW_OK) {
		buffer_destroy(buffer);
		checkpoint_out_of_memory(error);
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
	flow_buffer *buffer = status == FLOW_OK ? checkpoint_encode_stamped(s, record, error) : NULL;
	if (buffer == NULL) {
		end_deltas(deltas, delta_count, state_delta_release);
		return status != FLOW_OK ? status : FLOW_E_MEMORY;
	}
	flow_slice bytes = flow_slice_make(buffer->data, buffer->size);
	status = write_record(s, record->epoch, bytes, deltas, delta_count, pending, error);
	if (status == FLOW_OK)
		status = checkpoint_adopt(s, pending ? &s->pending : &s->applied, bytes, error);
	buffer_destroy(buffer);
	return status;
}

/* The pending epoch's segments are there: only the records change. */
flow_status
checkpoint_apply(checkpoint_store *s, flow_error *error)
{
	flow_status status = checkpoint_check_sure(s, error);
	if (status != FLOW_OK)
		return status;
	if (s->pending.record == NULL)
		return error_set(error, FLOW_E_NOT_FOUND, "checkpoint: there is no pending one to apply");
	const flow_store_write writes[] = { checkpoint_put_record("applied", s->pending.bytes),
										checkpoint_delete_record("pending") };
	status = checkpoint_persist(s, s->pending.bytes, flow_slice_make(NULL, 0), writes, FLOW_COUNT(writes), error);
	if (status != FLOW_OK)
		return status;
	checkpoint_slot_clear(&s->applied);
	s->applied = s->pending;
	s->pending = (struct slot){ 0 };
	return FLOW_OK;
}

flow_status
checkpoint_drop(checkpoint_store *s, flow_error *error)
{
	flow_status status = checkpoint_check_sure(s, error);
	if (status != FLOW_OK || s->pending.record == NULL)
		return status;
	uint64_t epoch = s->pending.record->epoch;
	struct change change;
	status = change_begin(&change, error);
	if (status == FLOW_OK)
		status =
			settle_error(segments_delete(&s->segments, SPACE_SEGMENTS, epoch, &change.writes, change.memory), error);
	if (status == FLOW_OK)
		status = change_add(&change, checkpoint_delete_record("pending"), error);
	if (status == FLOW_OK)
		status = checkpoint_persist(s, s->applied.bytes, flow_slice_make(NULL, 0), change.writes.items,
									change.writes.count, error);
	change_end(&change);
	if (status == FLOW_OK) {
		segments_forget(&s->segments, epoch);
		checkpoint_slot_clear(&s->pending);
	}
	return status;
}

flow_status
checkpoint_fold(checkpoint_store *s, flow_error *error)
{
	flow_status status = checkpoint_check_sure(s, error);
	if (status != FLOW_OK || s->applied.record == NULL || s->segments.count == 0)
		return status;
	struct change change;
	status = change_begin(&change, error);
	if (status == FLOW_OK)
		status = add_fold(s, &change, error);
	if (status == FLOW_OK && change.writes.count != 0)
		status =
			checkpoint_persist(s, s->applied.bytes, s->pending.bytes, change.writes.items, change.writes.count, error);
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
		flow_store_write write = checkpoint_put_record("committed", flow_slice_make(note, sizeof(note)));
		flow_status status =
			checkpoint_persist(s, flow_slice_make(NULL, 0), flow_slice_make(NULL, 0), &write, 1, error);
		if (status == FLOW_OK) {
			s->applied.record->committed = record->committed;
			s->applied.record->finished = record->finished;
		}
		return status;
	}
	flow_buffer *buffer = checkpoint_encode_stamped(s, record, error);
	if (buffer == NULL)
		return FLOW_E_MEMORY;
	flow_slice bytes = flow_slice_make(buffer->data, buffer->size);
	flow_status status = checkpoint_persist(s, bytes, s->pending.bytes, NULL, 0, error);
	if (status == FLOW_OK)
		status = checkpoint_adopt(s, &s->applied, bytes, error);
	buffer_destroy(buffer);
	return status;
}

flow_status
checkpoint_mark_committed(checkpoint_store *s, uint64_t epoch, int finished, flow_error *error)
{
	flow_status status = checkpoint_check_sure(s, error);
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
