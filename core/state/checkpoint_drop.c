/*
 * Dropping state from the checkpoint store (state/checkpoint.h): that of one operator, or all of it.
 */
#include "base/error.h"
#include "state/checkpoint_store.h"

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
		return checkpoint_out_of_memory(error);
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
		return checkpoint_out_of_memory(error);
	flow_buffer *buffer = checkpoint_encode_stamped(s, &without, error);
	if (buffer == NULL)
		return FLOW_E_MEMORY;
	char from[4], to[4];
	uint64_t end = (uint64_t)dropped->state_id + dropped->id_count;
	put_state_id(from, dropped->state_id);
	put_state_id(to, end);
	flow_slice bytes = flow_slice_make(buffer->data, buffer->size);
	const flow_store_write writes[] = {
		checkpoint_make_write(FLOW_STORE_DELETE_RANGE, SPACE_STATE, flow_slice_make(from, 4),
							  flow_slice_make(to, end > UINT32_MAX ? 0 : 4)),
		checkpoint_put_record("applied", bytes),
	};
	flow_status status = checkpoint_persist(s, bytes, flow_slice_make(NULL, 0), writes, FLOW_COUNT(writes), error);
	if (status == FLOW_OK)
		status = checkpoint_adopt(s, &s->applied, bytes, error);
	buffer_destroy(buffer);
	return status;
}

flow_status
checkpoint_drop_state(checkpoint_store *s, const char *name, flow_error *error)
{
	flow_status status = checkpoint_check_sure(s, error);
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
		return checkpoint_out_of_memory(error);
	status = found == NULL ? fail_unknown_name(s, name, memory, error) : drop_identity(s, found, memory, error);
	arena_destroy(memory);
	return status;
}

flow_status
checkpoint_reset(checkpoint_store *s, flow_error *error)
{
	checkpoint_close_store(s);
	checkpoint_slot_clear(&s->applied);
	checkpoint_slot_clear(&s->pending);
	segments_clear(&s->segments);
	s->unsure = 1; /* until all of it is done */
	flow_status status = state_directory_clear(&s->directory, error);
	if (status == FLOW_OK)
		status = state_directory_new_run(&s->directory, error);
	if (status == FLOW_OK)
		status = state_directory_save(&s->directory, s->ops == NULL ? "none" : s->request.store->id, error);
	if (status == FLOW_OK && s->ops != NULL)
		status = checkpoint_open_store(s, error);
	if (status == FLOW_OK)
		s->unsure = 0;
	return status;
}
