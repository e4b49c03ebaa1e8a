/*
 * A plugin that breaks its contract in whatever way its option `mode` names: a system, a serde and a function that answer with
 * garbage. Without a mode they are good: an input of three records, an output that counts what it takes.
 *
 * What no host can survive without looking at every cell (pointers into nowhere) is left out; `cells_*` are for --check-plugins.
 */
#include <stdio.h>

#include "flow/flow.h"
#include "flow_sdk/plugin.h"

static const flow_host *the_host;

static const flow_option mode_option = { .struct_size = FLOW_SIZEOF(flow_option),
										 .type = FLOW_OPTION_STRING,
										 .name = "mode",
										 .doc = "What goes wrong.",
										 .default_text = "none" };
static const flow_option *const mode_list[] = { &mode_option, NULL };
static const flow_option_set input_set = { FLOW_SIZEOF(flow_option_set), 0, "input", "Hostile.", mode_list };
static const flow_option_set output_set = { FLOW_SIZEOF(flow_option_set), 0, "output", "Hostile.", mode_list };
static const flow_option_set *const system_sets[] = { &input_set, &output_set, NULL };
static const flow_option_set plain_set = { FLOW_SIZEOF(flow_option_set), 0, "", "Hostile.", mode_list };
static const flow_option_set *const serde_sets[] = { &plain_set, NULL };

static const flow_option function_option = { .struct_size = FLOW_SIZEOF(flow_option),
											 .type = FLOW_OPTION_STRING,
											 .flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_PRIMARY,
											 .name = "hostile",
											 .doc = "What goes wrong." };
static const flow_option *const function_list[] = { &function_option, NULL };
static const flow_option_set function_set = { FLOW_SIZEOF(flow_option_set), 0, "", "Hostile.", function_list };
static const flow_option_set *const function_sets[] = { &function_set, NULL };

/* A mode is copied: it outlives the call that brought it. */
struct mode {
	char name[32];
};

static struct mode
mode_of(const flow_options *options, const char *option)
{
	struct mode mode;
	snprintf(mode.name, sizeof(mode.name), "%s", flow_option_text(options, option).data);
	return mode;
}

static int
is(const struct mode *mode, const char *name)
{
	return strcmp(mode->name, name) == 0;
}

/* "read_77", "read_-999", "read_silent": the call returns that. */
static int
answers(const struct mode *mode, const char *call, flow_status *status)
{
	size_t size = strlen(call);
	if (strncmp(mode->name, call, size) != 0 || mode->name[size] != '_')
		return 0;
	const char *what = mode->name + size + 1;
	if (strcmp(what, "77") == 0)
		*status = 77;
	else if (strcmp(what, "-999") == 0)
		*status = -999;
	else if (strcmp(what, "silent") == 0)
		*status = FLOW_E_IO;
	else if (strcmp(what, "again") == 0)
		*status = FLOW_AGAIN;
	else
		return 0;
	return 1;
}

static const flow_schema *
type_of(const char *text)
{
	const flow_schemas *schemas = the_host->get_service(FLOW_SERVICE_SCHEMAS);
	return schemas->parse_type(flow_slice_of(text), NULL);
}

/* --- system ---------------------------------------------------------------------------------------------------------- */

struct flow_system {
	int unused;
};
static struct flow_system the_system;

static flow_status
system_open(const flow_host *host, const flow_options *options, flow_system **system, flow_error *error)
{
	(void)host;
	(void)options;
	(void)error;
	*system = &the_system;
	return FLOW_OK;
}

static void
system_close(flow_system *system)
{
	(void)system;
}

static flow_status
describe(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
		 flow_error *error)
{
	(void)system;
	(void)error;
	struct mode mode = mode_of(request->options, "mode");
	flow_status status = FLOW_OK;
	description->partition_count = is(&mode, "partition_count") ? -5 : 1;
	description->bounded = 1;
	description->delivery = is(&mode, "delivery") ? 99 : FLOW_DELIVERY_RESUMABLE;
	description->max_writers = 1;
	answers(&mode, "describe", &status);
	return status;
}

struct flow_source {
	struct mode mode;
	flow_partition partitions[2];
	const flow_partition *list[2];
	uint32_t reads;
};

static flow_status
source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info, flow_source **source,
			flow_error *error)
{
	(void)system;
	(void)info;
	(void)error;
	struct mode mode = mode_of(request->options, "mode");
	flow_status status = FLOW_OK;
	if (answers(&mode, "source_open", &status))
		return status;
	flow_source *s = flow_new(the_host, sizeof(*s));
	if (s == NULL)
		return FLOW_E_MEMORY;
	s->mode = mode;
	for (uint32_t i = 0; i < 2; i++) {
		s->partitions[i] = (flow_partition){ .struct_size = FLOW_SIZEOF(flow_partition),
											 .index = i,
											 .id = flow_slice_of(i == 0 ? "a" : "b") };
		s->list[i] = &s->partitions[i];
	}
	if (is(&mode, "partitions_same"))
		s->partitions[1].index = 0;
	if (is(&mode, "partitions_same_id"))
		s->partitions[1].id = s->partitions[0].id;
	if (is(&mode, "partitions_no_id"))
		s->partitions[1].id = flow_slice_make(NULL, 0);
	if (is(&mode, "partitions_holes"))
		s->list[1] = NULL;
	*source = s;
	return FLOW_OK;
}

static flow_status
source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count, flow_error *error)
{
	(void)error;
	flow_status status = FLOW_OK;
	if (answers(&source->mode, "partitions", &status))
		return status;
	*partitions = is(&source->mode, "partitions_null") ? NULL : source->list;
	*count = strncmp(source->mode.name, "partitions", 10) == 0 ? 2 : 1;
	return FLOW_OK;
}

static flow_status
source_assign(flow_source *source, uint32_t partition, flow_slice position, flow_error *error)
{
	(void)partition;
	(void)position;
	(void)error;
	flow_status status = FLOW_OK;
	answers(&source->mode, "assign", &status);
	return status;
}

static flow_status
source_revoke(flow_source *source, uint32_t partition, flow_error *error)
{
	(void)source;
	(void)partition;
	(void)error;
	return FLOW_OK;
}

static void
source_pause(flow_source *source, uint32_t partition, int paused)
{
	(void)source;
	(void)partition;
	(void)paused;
}

static void
add_rows(const struct mode *mode, flow_builder *builder)
{
	static const char digits[] = "123";
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t row = flow_builder_add(builder, flow_bytes(digits + i, 1));
		if (!is(mode, "read_no_ordinal"))
			builder->ordinal[row] = is(mode, "read_back") ? 2 - (int64_t)row : row;
	}
	if (is(mode, "read_cells_type"))
		((flow_value *)builder->value)[1].type = 200;
	if (is(mode, "read_many"))
		builder->row_count = builder->row_capacity + 7;
	if (is(mode, "read_partition"))
		builder->partition = 77;
}

static flow_status
source_read(flow_source *source, flow_builder *builder, flow_error *error)
{
	(void)error;
	const struct mode *mode = &source->mode;
	flow_status status = FLOW_OK;
	uint32_t read = source->reads++;
	builder->partition = 0;
	if (answers(mode, "read", &status))
		return status;
	if (is(mode, "read_changed"))
		return FLOW_CHANGED;
	if (is(mode, "read_nothing"))
		return FLOW_OK;
	if (read > 0 && strncmp(mode->name, "position", 8) == 0)
		return FLOW_AGAIN; /* does not end, so that it is asked for positions */
	if (read > 0) {
		builder->partition = is(mode, "read_end_77") ? 77 : read > 1 ? 1 : 0;
		return FLOW_END;
	}
	if (!is(mode, "read_no_ordinal") && builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		return FLOW_E_MEMORY;
	add_rows(mode, builder);
	return is(mode, "read_rows_again") ? FLOW_AGAIN : FLOW_OK;
}

static flow_status
source_position(flow_source *source, uint32_t partition, int64_t ordinal, void *bytes, uint64_t capacity,
				uint64_t *size, flow_error *error)
{
	(void)partition;
	(void)capacity;
	(void)error;
	flow_status status = FLOW_OK;
	if (answers(&source->mode, "position", &status))
		return status;
	memcpy(bytes, &ordinal, sizeof(ordinal));
	*size = is(&source->mode, "position_big")    ? FLOW_POSITION_MAX + 1
			: is(&source->mode, "position_huge") ? (uint64_t)1 << 60
												 : sizeof(ordinal);
	return FLOW_OK;
}

static void
source_close(flow_source *source)
{
	the_host->release(source);
}

struct flow_writer {
	struct mode mode;
};

static flow_status
writer_open(flow_system *system, const flow_stream_request *request, uint32_t task, uint32_t task_count,
			const flow_handle *recovered, const flow_waker *waker, flow_writer **writer, flow_error *error)
{
	(void)system;
	(void)task;
	(void)task_count;
	(void)recovered;
	(void)waker;
	(void)error;
	struct mode mode = mode_of(request->options, "mode");
	flow_status status = FLOW_OK;
	if (answers(&mode, "writer_open", &status))
		return status;
	*writer = flow_new(the_host, sizeof(**writer));
	if (*writer == NULL)
		return FLOW_E_MEMORY;
	(*writer)->mode = mode;
	return FLOW_OK;
}

static flow_status
writer_write(flow_writer *writer, const flow_batch *batch, uint32_t first, uint32_t *accepted, flow_status *statuses,
			 flow_error *error)
{
	(void)error;
	const struct mode *mode = &writer->mode;
	flow_status status = FLOW_OK;
	*accepted = batch->selected_count - first;
	if (is(mode, "write_more"))
		*accepted = 1000;
	if (is(mode, "write_none") || answers(mode, "write", &status))
		*accepted = 0;
	if (is(mode, "status_77") && statuses != NULL)
		statuses[first] = 77;
	if (is(mode, "status_-999") && statuses != NULL)
		statuses[first] = -999;
	return status;
}

static flow_status
writer_flush(flow_writer *writer, flow_error *error)
{
	(void)writer;
	(void)error;
	return FLOW_OK;
}

static flow_status
writer_prepare(flow_writer *writer, uint64_t epoch, int last, flow_slice *handle, flow_error *error)
{
	(void)epoch;
	(void)last;
	(void)error;
	flow_status status = FLOW_OK;
	if (answers(&writer->mode, "prepare", &status))
		return status;
	*handle = is(&writer->mode, "prepare_null") ? flow_slice_make(NULL, 10) : flow_slice_of("handle");
	return FLOW_OK;
}

static void
writer_close(flow_writer *writer)
{
	the_host->release(writer);
}

struct flow_committer {
	struct mode mode;
};

static flow_status
committer_open(flow_system *system, const flow_stream_request *request, flow_committer **committer, flow_error *error)
{
	(void)system;
	(void)error;
	struct mode mode = mode_of(request->options, "mode");
	flow_status status = FLOW_OK;
	if (answers(&mode, "committer_open", &status))
		return status;
	*committer = flow_new(the_host, sizeof(**committer));
	if (*committer == NULL)
		return FLOW_E_MEMORY;
	(*committer)->mode = mode;
	return FLOW_OK;
}

static flow_status
committer_commit(flow_committer *committer, const flow_handle *const *handles, uint64_t count,
				 const flow_marker *marker, int last, flow_error *error)
{
	(void)handles;
	(void)count;
	(void)marker;
	(void)last;
	(void)error;
	flow_status status = FLOW_OK;
	answers(&committer->mode, "commit", &status);
	return status;
}

static flow_status
committer_abort(flow_committer *committer, const flow_handle *const *keep, uint64_t count, flow_error *error)
{
	(void)keep;
	(void)count;
	(void)error;
	flow_status status = FLOW_OK;
	answers(&committer->mode, "abort", &status);
	return status;
}

static void
committer_close(flow_committer *committer)
{
	the_host->release(committer);
}

static const flow_system_ops system_ops = {
	.struct_size = FLOW_SIZEOF(flow_system_ops),
	.open = system_open,
	.close = system_close,
	.describe = describe,
	.source_open = source_open,
	.source_partitions = source_partitions,
	.source_assign = source_assign,
	.source_revoke = source_revoke,
	.source_pause = source_pause,
	.source_read = source_read,
	.source_position = source_position,
	.source_close = source_close,
	.writer_open = writer_open,
	.write = writer_write,
	.flush = writer_flush,
	.prepare = writer_prepare,
	.writer_close = writer_close,
	.committer_open = committer_open,
	.commit = committer_commit,
	.abort = committer_abort,
	.committer_close = committer_close,
};

/* --- serde ----------------------------------------------------------------------------------------------------------- */

struct flow_serde {
	struct mode mode;
};

static flow_status
serde_open(const flow_host *host, const flow_options *options, uint32_t use, flow_serde **serde, flow_error *error)
{
	(void)use;
	(void)error;
	*serde = flow_new(host, sizeof(**serde));
	if (*serde == NULL)
		return FLOW_E_MEMORY;
	(*serde)->mode = mode_of(options, "mode");
	return FLOW_OK;
}

static void
serde_close(flow_serde *serde)
{
	the_host->release(serde);
}

static flow_status
decoded_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	(void)sample;
	(void)error;
	flow_status status = FLOW_OK;
	if (answers(&serde->mode, "schema", &status))
		return status;
	if (!is(&serde->mode, "schema_null"))
		*schema = type_of("record(a:string)");
	return FLOW_OK;
}

static flow_status
check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error)
{
	(void)schema;
	(void)error;
	flow_status status = FLOW_OK;
	answers(&serde->mode, "encodable", &status);
	return status;
}

static flow_status
decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder, flow_error *error)
{
	(void)request;
	(void)error;
	flow_status status = FLOW_OK;
	*decoder = (flow_decoder *)serde;
	answers(&serde->mode, "decoder_open", &status);
	return status;
}

static flow_status
add_record(flow_builder *builder, const char *text, uint32_t size)
{
	flow_value *cells = flow_builder_cells(builder, 1);
	if (cells == NULL)
		return FLOW_E_MEMORY;
	cells[0] = flow_string(text, size);
	flow_builder_add(builder, flow_record(cells, 1));
	return FLOW_OK;
}

static flow_status
decode(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error)
{
	(void)error;
	const struct mode *mode = &((flow_serde *)decoder)->mode;
	flow_status status = FLOW_OK;
	if (answers(mode, "decode", &status))
		return status;
	window->consumed = is(mode, "consumed_more") ? window->size + 100 : is(mode, "consumed_none") ? 0 : window->size;
	if (builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK ||
		(window->size != 0 && add_record(builder, window->data, 1)))
		return FLOW_E_MEMORY;
	if (window->size != 0)
		builder->ordinal[builder->row_count - 1] = window->offset;
	if (is(mode, "rows_many"))
		builder->row_count = builder->row_capacity + 9;
	return FLOW_OK;
}

static flow_status
decode_rows(flow_decoder *decoder, const flow_batch *raw, uint32_t first, uint32_t *next, flow_builder *builder,
			uint32_t *source_rows, flow_error *error)
{
	(void)error;
	const struct mode *mode = &((flow_serde *)decoder)->mode;
	flow_status status = FLOW_OK;
	if (answers(mode, "decode", &status))
		return status;
	for (uint32_t i = first; i < raw->selected_count; i++) {
		uint32_t row = flow_row(raw, i);
		source_rows[builder->row_count] = is(mode, "rows_source") ? 4000000000u : row;
		if (add_record(builder, raw->value[row].as.text, raw->value[row].size) != FLOW_OK)
			return FLOW_E_MEMORY;
	}
	if (is(mode, "rows_many"))
		builder->row_count = builder->row_capacity + 9;
	*next = is(mode, "rows_next") ? 100000 : is(mode, "rows_stuck") ? first : raw->selected_count;
	return FLOW_OK;
}

static flow_status
decoder_save(flow_decoder *decoder, flow_slice *state, flow_error *error)
{
	(void)error;
	static const char big[100000];
	const struct mode *mode = &((flow_serde *)decoder)->mode;
	flow_status status = FLOW_OK;
	if (answers(mode, "save", &status))
		return status;
	*state = is(mode, "save_big")    ? flow_slice_make(big, sizeof(big))
			 : is(mode, "save_null") ? flow_slice_make(NULL, 10)
									 : flow_slice_of("s");
	return FLOW_OK;
}

static flow_status
decoder_restore(flow_decoder *decoder, flow_slice state, flow_error *error)
{
	(void)decoder;
	(void)state;
	(void)error;
	return FLOW_OK;
}

static void
decoder_close(flow_decoder *decoder)
{
	(void)decoder;
}

static flow_status
encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error)
{
	(void)schema;
	(void)error;
	flow_status status = FLOW_OK;
	*encoder = (flow_encoder *)serde;
	answers(&serde->mode, "encoder_open", &status);
	return status;
}

static flow_status
encode(flow_encoder *encoder, const flow_batch *batch, int use_key, flow_buffer *buffer, uint64_t *ends,
	   flow_status *statuses, flow_error *error)
{
	(void)use_key;
	(void)error;
	const struct mode *mode = &((flow_serde *)encoder)->mode;
	flow_status status = FLOW_OK;
	if (answers(mode, "encode", &status))
		return status;
	for (uint32_t i = 0; i < batch->selected_count; i++) {
		if (flow_buffer_append(buffer, "row\n", 4) != FLOW_OK)
			return FLOW_E_MEMORY;
		if (ends != NULL)
			ends[i] = is(mode, "ends_wild") ? (uint64_t)1 << 40 : is(mode, "ends_back") ? 100 - i : buffer->size;
		if (is(mode, "encode_status_77"))
			statuses[i] = 77;
		if (is(mode, "encode_status_-999"))
			statuses[i] = -999;
	}
	if (is(mode, "buffer_size"))
		buffer->size = buffer->capacity + 1000;
	return FLOW_OK;
}

static void
encoder_close(flow_encoder *encoder)
{
	(void)encoder;
}

static const flow_serde_ops serde_ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.open = serde_open,
	.close = serde_close,
	.decoded_schema = decoded_schema,
	.check_encodable = check_encodable,
	.decoder_open = decoder_open,
	.decode = decode,
	.decode_rows = decode_rows,
	.save = decoder_save,
	.restore = decoder_restore,
	.decoder_close = decoder_close,
	.encoder_open = encoder_open,
	.encode = encode,
	.encoder_close = encoder_close,
};

/* --- function -------------------------------------------------------------------------------------------------------- */

struct binding {
	struct mode mode;
	const flow_schema *schema;
	flow_state_declaration state;
	const flow_state_declaration *states[2];
	int32_t passes[64];
};

struct flow_function {
	const struct binding *binding;
	flow_context *context;
};

static flow_status
bind(const flow_host *host, const flow_options *options, const flow_function_input *const *inputs, uint32_t input_count,
	 flow_function_plan *plan, void **result, flow_error *error)
{
	(void)input_count;
	(void)error;
	struct binding *b = flow_new(host, sizeof(*b));
	if (b == NULL)
		return FLOW_E_MEMORY;
	b->mode = mode_of(options, "hostile");
	b->schema = inputs[0]->schema;
	flow_status status = FLOW_OK;
	if (answers(&b->mode, "bind", &status)) {
		host->release(b);
		return status;
	}
	*result = b;
	plan->outputs[0] = is(&b->mode, "output_null") ? NULL : b->schema;
	if (is(&b->mode, "shape"))
		plan->shape = 9;
	if (is(&b->mode, "passes")) {
		for (uint32_t i = 0; i < 64; i++)
			b->passes[i] = 1000000;
		plan->passes = b->passes;
	}
	b->state = (flow_state_declaration){ .struct_size = FLOW_SIZEOF(flow_state_declaration),
										 .kind = FLOW_STATE_SLOT,
										 .slot_size = 8,
										 .name = "s",
										 .layout = "n:i64" };
	if (is(&b->mode, "state_kind"))
		b->state.kind = 99;
	if (is(&b->mode, "state_size"))
		b->state.slot_size = 3;
	if (is(&b->mode, "state_no_name"))
		b->state.name = NULL;
	b->states[0] = &b->state;
	if (strncmp(b->mode.name, "state", 5) == 0) {
		plan->states = b->states;
		plan->keeps_key = 1;
		plan->needs_keyed = 1;
	}
	return FLOW_OK;
}

static void
unbind(void *binding)
{
	the_host->release(binding);
}

static flow_status
function_open(void *binding, flow_context *context, flow_function **function, flow_error *error)
{
	(void)error;
	const struct binding *b = binding;
	flow_status status = FLOW_OK;
	if (answers(&b->mode, "open", &status))
		return status;
	*function = flow_new(the_host, sizeof(**function));
	if (*function == NULL)
		return FLOW_E_MEMORY;
	(*function)->binding = binding;
	(*function)->context = context;
	return FLOW_OK;
}

static flow_status
forward_selected(flow_function *function, const flow_batch *batch, uint32_t row, uint32_t count, flow_error *error)
{
	flow_output *output = function->context->outputs[0];
	uint32_t *selection = flow_builder_alloc(output->memory(output), (uint64_t)batch->row_count * sizeof(*selection));
	if (selection == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < batch->row_count; i++)
		selection[i] = row == UINT32_MAX ? batch->row_count - 1 - i : row;
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns),
							 .selection = selection,
							 .selected_count = count };
	return output->forward(output, batch, &columns, error);
}

static flow_status
use_state(flow_function *function, uint32_t state, uint32_t row, const flow_batch *batch, flow_error *error)
{
	void *slots[1] = { NULL };
	return function->context->ops->slots(function->context, state, batch, &row, 1, NULL, 1, slots, NULL, error);
}

static flow_status
process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	const struct mode *mode = &function->binding->mode;
	flow_output *output = function->context->outputs[0];
	flow_status status = FLOW_OK;
	if (answers(mode, "process", &status))
		return status;
	if (is(mode, "forward_wild"))
		return forward_selected(function, batch, 4000000000u, 1, error);
	if (is(mode, "forward_back"))
		return forward_selected(function, batch, UINT32_MAX, batch->row_count, error);
	if (is(mode, "state_wild"))
		return use_state(function, 99, 0, batch, error);
	if (is(mode, "state_row"))
		return use_state(function, 0, 4000000000u, batch, error);
	if (is(mode, "reject_row"))
		return function->context->ops->reject(function->context, batch, 4000000000u, FLOW_E_FAILED, flow_slice_of("no"),
											  error);
	if (is(mode, "reject_good"))
		return function->context->ops->reject(function->context, batch, 0, FLOW_OK, flow_slice_of("no"), error);
	if (is(mode, "rows_many")) {
		flow_builder *builder = output->builder(output);
		builder->row_count = builder->row_capacity + 9;
		return output->push(output, error);
	}
	if (is(mode, "cells_short")) {
		flow_builder_add(output->builder(output), flow_null());
		return output->push(output, error);
	}
	return output->forward(output, batch, NULL, error);
}

static flow_status
end_input(flow_function *function, uint32_t input, flow_error *error)
{
	(void)input;
	(void)error;
	flow_status status = FLOW_OK;
	answers(&function->binding->mode, "end", &status);
	return status;
}

static void
function_close(flow_function *function)
{
	the_host->release(function);
}

static const flow_function_ops function_ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.bind = bind,
	.unbind = unbind,
	.open = function_open,
	.process = process,
	.end_input = end_input,
	.close = function_close,
};

/* --- the plugin ------------------------------------------------------------------------------------------------------ */

#define COMPONENT(identifier, kind_number, flag_bits, sets, table)                                                     \
	static const flow_component identifier = { .struct_size = FLOW_SIZEOF(flow_component),                             \
											   .kind = kind_number,                                                    \
											   .flags = flag_bits,                                                     \
											   .id = "hostile",                                                        \
											   .doc = "Breaks its contract.",                                          \
											   .option_sets = sets,                                                    \
											   .ops = table }
COMPONENT(hostile_system, FLOW_SYSTEM, FLOW_SYSTEM_HAS_INPUTS | FLOW_SYSTEM_HAS_OUTPUTS, system_sets, &system_ops);
COMPONENT(hostile_serde, FLOW_SERDE, FLOW_SERDE_RECORD | FLOW_SERDE_STREAM, serde_sets, &serde_ops);
COMPONENT(hostile_function, FLOW_FUNCTION, 0, function_sets, &function_ops);

static const flow_component *const components[] = { &hostile_system, &hostile_serde, &hostile_function, NULL };

static flow_status
init(const flow_host *host, flow_error *error)
{
	(void)error;
	the_host = host;
	return FLOW_OK;
}

FLOW_DEFINE_PLUGIN("hostile", "1.0.0", "Apache-2.0", components, init, NULL)
