/* What a checkpoint depends on of the plan that wrote it: inputs, the form of keyed state, and of outputs that are written on. */
#include <stdio.h>

#include "base/arena.h"
#include "base/schema.h"
#include "expr/expression.h"
#include "runtime/control.h"

static uint32_t
state_count(const plan_operator *op)
{
	uint32_t count = 0;
	while (op->function.states != NULL && op->function.states[count] != NULL)
		count++;
	return count;
}

static const flow_schema *
input_key_schema(const plan *p, uint32_t operator_index)
{
	for (uint32_t i = 0; i < p->edge_count; i++)
		if (p->edges[i].to == operator_index && plan_edge_key(p, &p->edges[i]) != NULL)
			return plan_edge_key(p, &p->edges[i]);
	return NULL;
}

/* The key_by that the operator's keys come from; NULL: none. */
static const plan_operator *
key_by_of(const plan *p, uint32_t index)
{
	for (uint32_t i = 0; i < p->edge_count; i++) {
		if (p->edges[i].to != index)
			continue;
		index = p->edges[i].from;
		if (p->operators[index].kind == OPERATOR_KEY_BY)
			return &p->operators[index];
		i = UINT32_MAX; /* goes on in front of it, from the first edge */
	}
	return NULL;
}

/* Appends the expressions of the keys: state of another key is another state, though their types agree. */
static const char *
with_keys(const plan *p, const plan_operator *op, const char *text, arena *memory)
{
	const plan_operator *keys = key_by_of(p, op->index);
	for (uint32_t i = 0; text != NULL && keys != NULL && i < keys->key_count; i++) {
		char key[1024];
		expression_print(keys->keys[i], key, sizeof(key));
		text = arena_format(memory, "%s%s%s", text, i == 0 ? " by " : ", ", key);
	}
	return text;
}

/* "key string by carrier; sums slot 16 sum:i64,count:i64; timers" */
static const char *
layout_of(const plan *p, const plan_operator *op, arena *memory)
{
	char key[512] = "none";
	const flow_schema *schema = input_key_schema(p, op->index);
	if (schema != NULL)
		schema_print(schema, 1, key, sizeof(key));
	const char *text = arena_format(memory, "key %s", key);
	if (schema != NULL)
		text = with_keys(p, op, text, memory);
	for (uint32_t i = 0; text != NULL && i < state_count(op); i++) {
		const flow_state_declaration *s = op->function.states[i];
		text = arena_format(memory, "%s; %s %s %u %s", text, s->name, s->kind == FLOW_STATE_SLOT ? "slot" : "value",
							s->slot_size, s->layout == NULL ? "" : s->layout);
	}
	if (text != NULL && op->function.uses_timers)
		text = arena_format(memory, "%s; timers", text);
	return text;
}

static int
try_frame(const flow_serde_ops *ops, flow_encoder *encoder, flow_buffer *buffer)
{
	flow_error error = { 0 };
	int frame = 0;
	if (FLOW_CAN(ops, begin) && (ops->begin(encoder, buffer, &error) != FLOW_OK || buffer->size != 0))
		frame |= FRAME_BEGIN;
	uint64_t before = buffer->size;
	if (FLOW_CAN(ops, end) && (ops->end(encoder, buffer, &error) != FLOW_OK || buffer->size != before))
		frame |= FRAME_END;
	error_clear(&error);
	return frame;
}

int
recovery_frame(const plan_stream *stream)
{
	const plan_serde *serde = &stream->value;
	const flow_schema *schema = serde->schema != NULL ? serde->schema : stream->schema;
	if (serde->ops == NULL || (!FLOW_CAN(serde->ops, begin) && !FLOW_CAN(serde->ops, end)))
		return 0;
	int frame = FRAME_BEGIN | FRAME_END;
	flow_error error = { 0 };
	flow_encoder *encoder = NULL;
	flow_buffer *buffer = buffer_create();
	if (buffer != NULL && serde->ops->encoder_open(serde->instance, schema, &encoder, &error) == FLOW_OK) {
		frame = try_frame(serde->ops, encoder, buffer);
		serde->ops->encoder_close(encoder);
	}
	buffer_destroy(buffer);
	error_clear(&error);
	return frame;
}

/* What of an output its unfinished part depends on: "csv {schema}" where the serde writes a frame around the records, which fits to one
 * schema only. NULL: nothing. */
static const char *
form_of(runtime *run, const plan_stream *stream, arena *memory)
{
	output_state *output = &run->outputs[stream - run->plan->streams];
	if (!stream->byte_stream || stream->value.ops == NULL || stream->schema == NULL)
		return NULL;
	if (!output->frame_known)
		output->frame = recovery_frame(stream);
	output->frame_known = 1;
	if (output->frame == 0)
		return NULL;
	char schema[4096];
	schema_print(stream->schema, 0, schema, sizeof(schema));
	return arena_format(memory, "%s %s", stream->value.component->id, schema);
}

flow_status
recovery_identities(runtime *run, arena *memory, checkpoint *record)
{
	const plan *p = run->plan;
	uint64_t most = (uint64_t)p->operator_count + p->stream_count;
	checkpoint_identity *identities = arena_allocate_zeroed(memory, (most + 1) * sizeof(*identities));
	if (identities == NULL)
		return FLOW_E_MEMORY;
	uint64_t count = 0;
	for (uint32_t i = 0; i < p->operator_count; i++) {
		const plan_operator *op = &p->operators[i];
		if (op->kind == OPERATOR_SOURCE) {
			identities[count++] = (checkpoint_identity){ .kind = flow_slice_of("input"),
														 .name = flow_slice_of(p->streams[op->stream].id) };
		} else if (op->kind == OPERATOR_FUNCTION && op->state_id != PLAN_NONE) {
			const char *layout = layout_of(p, op, memory);
			if (layout == NULL)
				return FLOW_E_MEMORY;
			identities[count++] = (checkpoint_identity){ .kind = flow_slice_of("state"),
														 .name = flow_slice_of(op->name),
														 .layout = flow_slice_of(layout),
														 .state_id = run->state_base[i],
														 .id_count = state_count(op) + 1 };
		}
	}
	for (uint32_t i = 0; i < p->stream_count; i++) {
		const plan_stream *stream = &p->streams[i];
		int resumed = output_prepares(run, stream) && stream->delivery == FLOW_DELIVERY_RESUMABLE;
		const char *form = resumed ? form_of(run, stream, memory) : NULL;
		if (form != NULL)
			identities[count++] = (checkpoint_identity){ .kind = flow_slice_of("output"),
														 .name = flow_slice_of(stream->id),
														 .layout = flow_slice_of(form) };
	}
	record->identities = identities;
	record->identity_count = count;
	return FLOW_OK;
}

const checkpoint_identity *
recovery_identity(const checkpoint *record, const checkpoint_identity *like)
{
	for (uint64_t i = 0; i < record->identity_count; i++)
		if (flow_slice_equal(record->identities[i].kind, like->kind) &&
			flow_slice_equal(record->identities[i].name, like->name))
			return &record->identities[i];
	return NULL;
}

static int
is_dropped(const runtime *run, flow_slice name)
{
	for (const char *const *n = run->request.drop_states; n != NULL && *n != NULL; n++)
		if (flow_slice_is(name, *n))
			return 1;
	return 0;
}

/* One line of the difference; NULL: out of memory. */
static char *
describe(arena *memory, char *text, const char *what, const checkpoint_identity *old, const checkpoint_identity *new)
{
	const checkpoint_identity *one = old != NULL ? old : new;
	char *line = arena_format(memory, "%s%s%.*s '%.*s' %s", text, text[0] == '\0' ? "" : "; ", (int)one->kind.size,
							  one->kind.data, (int)one->name.size, one->name.data, what);
	if (line != NULL && old != NULL && new != NULL)
		line = arena_format(memory, "%s (it was \"%.*s\", it is now \"%.*s\")", line, (int)old->layout.size,
							old->layout.data, (int)new->layout.size, new->layout.data);
	return line;
}

flow_status
recovery_compare(runtime *run, const checkpoint *applied, flow_error *error)
{
	arena *memory = arena_create();
	checkpoint now = { 0 };
	flow_status status = memory == NULL ? FLOW_E_MEMORY : recovery_identities(run, memory, &now);
	char *difference = status == FLOW_OK ? arena_copy_text(memory, "") : NULL;
	for (uint64_t i = 0; difference != NULL && i < applied->identity_count; i++) {
		const checkpoint_identity *old = &applied->identities[i], *new = recovery_identity(&now, old);
		if (is_dropped(run, old->name))
			continue;
		int is_output = flow_slice_is(old->kind, "output"); /* which come and go as they like */
		if (new == NULL && !is_output)
			difference = describe(memory, difference, "is not in the job any more", old, NULL);
		else if (new != NULL && !flow_slice_equal(old->layout, new->layout))
			difference = describe(memory, difference, "has another form", old, new);
	}
	for (uint64_t i = 0; difference != NULL && i < now.identity_count; i++)
		if (!flow_slice_is(now.identities[i].kind, "output") &&
			recovery_identity(applied, &now.identities[i]) == NULL && !is_dropped(run, now.identities[i].name))
			difference = describe(memory, difference, "is not in the checkpoint", NULL, &now.identities[i]);
	if (difference == NULL)
		status = error_set(error, FLOW_E_MEMORY, "out of memory");
	else if (difference[0] != '\0')
		status = error_set(
			error, FLOW_E_CONFLICT,
			"state directory %s: its checkpoint is of another plan: %s. Drop what changed with --drop-state NAME, or "
			"all of it with --fresh",
			run->state_directory, difference);
	if (status == FLOW_OK && applied->group_count != run->plan->max_parallelism && run->plan->has_state)
		status =
			error_set(error, FLOW_E_CONFLICT,
					  "state directory %s: it has %u key groups, the job has %u; set max_parallelism to %u",
					  run->state_directory, applied->group_count, run->plan->max_parallelism, applied->group_count);
	arena_destroy(memory);
	return status;
}
