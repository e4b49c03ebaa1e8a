/* The world's serde of lines "k,v,t", and its functions. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/runtime_world.h"

#include "base/error.h"
#include "base/schema.h"

/* --- serde ---------------------------------------------------------------------------------------------------------- */

struct flow_decoder {
	uint64_t line;
};

static flow_status
serde_open(const flow_host *host, const flow_options *options, uint32_t use, flow_serde **serde, flow_error *error)
{
	(void)host;
	(void)options;
	(void)use;
	(void)error;
	*serde = NULL;
	return FLOW_OK;
}

static void
serde_close(flow_serde *serde)
{
	(void)serde;
}

static flow_status
decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder, flow_error *error)
{
	(void)serde;
	(void)request;
	(void)error;
	*decoder = calloc(1, sizeof(**decoder));
	return FLOW_OK;
}

static void
decoder_close(flow_decoder *decoder)
{
	free(decoder);
}

static flow_status
add_line(flow_decoder *d, flow_builder *builder, const char *line, size_t size, int64_t ordinal, int *added)
{
	char copy[256];
	int64_t k, v, t;
	int used = 0;
	d->line++;
	snprintf(copy, sizeof(copy), "%.*s", (int)size, line);
	*added = sscanf(copy, "%" SCNd64 ",%" SCNd64 ",%" SCNd64 "%n", &k, &v, &t, &used) == 3 && (size_t)used == size;
	if (!*added) {
		flow_rejection rejection = { .struct_size = FLOW_SIZEOF(flow_rejection),
									 .status = FLOW_E_DECODE,
									 .reason = flow_slice_of("three numbers were expected"),
									 .field = flow_slice_of("v"),
									 .raw = flow_slice_make(line, size),
									 .ordinal = ordinal,
									 .line = d->line };
		return builder->ops->reject(builder, &rejection);
	}
	flow_value *cells = flow_builder_alloc(builder, 3 * sizeof(*cells));
	if (cells == NULL)
		return FLOW_E_MEMORY;
	cells[0] = flow_int64(k);
	cells[1] = flow_int64(v);
	cells[2] = flow_timestamp(t, FLOW_MICROSECONDS, FLOW_ZONED);
	uint32_t row = flow_builder_add(builder, flow_record(cells, 3));
	if (builder->ordinal != NULL)
		builder->ordinal[row] = ordinal;
	return FLOW_OK;
}

static flow_status
decode(flow_decoder *d, flow_window *window, flow_builder *builder, flow_error *error)
{
	(void)error;
	flow_status status = FLOW_OK;
	window->consumed = 0;
	builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL);
	while (status == FLOW_OK && !flow_builder_full(builder) && window->consumed < window->size) {
		const char *line = window->data + window->consumed;
		size_t left = window->size - window->consumed;
		const char *end = memchr(line, '\n', left);
		if (end == NULL && !window->final)
			break;
		size_t size = end == NULL ? left : (size_t)(end - line);
		int added;
		status = add_line(d, builder, line, size, window->offset + (int64_t)window->consumed, &added);
		window->consumed += size + (end != NULL);
	}
	return status;
}

static flow_status
decode_rows(flow_decoder *d, const flow_batch *raw, uint32_t first, uint32_t *next, flow_builder *builder,
			uint32_t *source_rows, flow_error *error)
{
	(void)error;
	uint32_t i = first;
	flow_status status = FLOW_OK;
	for (; status == FLOW_OK && i < raw->selected_count && !flow_builder_full(builder); i++) {
		uint32_t row = flow_row(raw, i);
		int added;
		uint32_t to = builder->row_count;
		status = add_line(d, builder, raw->value[row].as.text, raw->value[row].size, raw->ordinal[row], &added);
		if (added)
			source_rows[to] = row;
	}
	*next = i;
	return status;
}

static flow_status
save(flow_decoder *d, flow_slice *state, flow_error *error)
{
	(void)error;
	*state = flow_slice_make(&d->line, sizeof(d->line));
	return FLOW_OK;
}

static flow_status
restore(flow_decoder *d, flow_slice state, flow_error *error)
{
	(void)error;
	memcpy(&d->line, state.data, sizeof(d->line));
	return FLOW_OK;
}

static flow_status
encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error)
{
	(void)serde;
	(void)error;
	*encoder = (flow_encoder *)(uintptr_t)schema;
	return FLOW_OK;
}

static void
encoder_close(flow_encoder *encoder)
{
	(void)encoder;
}

static flow_status
append_cell(flow_buffer *buffer, const flow_value *value)
{
	char number[32];
	if (value->type == FLOW_STRING || value->type == FLOW_BYTES)
		return flow_buffer_append(buffer, value->as.text, value->size);
	if (flow_is_null(*value))
		return FLOW_OK;
	return flow_buffer_append(buffer, number, (uint64_t)snprintf(number, sizeof(number), "%" PRId64, value->as.int64));
}

static flow_status
encode(flow_encoder *encoder, const flow_batch *batch, int use_key, flow_buffer *buffer, uint64_t *ends,
	   flow_status *statuses, flow_error *error)
{
	(void)encoder;
	(void)error;
	(void)statuses;
	flow_status status = FLOW_OK;
	for (FLOW_ROWS(batch, i)) {
		const flow_value *value = use_key ? &batch->key[flow_row(batch, i)] : &batch->value[flow_row(batch, i)];
		if (value->type == FLOW_RECORD) {
			for (uint32_t field = 0; status == FLOW_OK && field < value->size; field++) {
				status = field == 0 ? FLOW_OK : flow_buffer_append(buffer, ",", 1);
				if (status == FLOW_OK)
					status = append_cell(buffer, &value->as.record[field]);
			}
		} else {
			status = append_cell(buffer, value);
		}
		if (status == FLOW_OK && ends == NULL)
			status = flow_buffer_append(buffer, "\n", 1);
		if (ends != NULL)
			ends[i] = buffer->size;
	}
	return status;
}

static const flow_serde_ops serde_ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.open = serde_open,
	.close = serde_close,
	.decoder_open = decoder_open,
	.decode = decode,
	.decode_rows = decode_rows,
	.save = save,
	.restore = restore,
	.decoder_close = decoder_close,
	.encoder_open = encoder_open,
	.encode = encode,
	.encoder_close = encoder_close,
};

const flow_component world_serde = { .struct_size = FLOW_SIZEOF(flow_component),
									 .kind = FLOW_SERDE,
									 .flags = FLOW_SERDE_STREAM | FLOW_SERDE_RECORD,
									 .id = "lines",
									 .doc = "Lines of a test.",
									 .ops = &serde_ops };

/* --- functions ------------------------------------------------------------------------------------------------------ */

#define WINDOW 100

struct flow_function {
	flow_context *context;
};

static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;
static char calls[4096];
static atomic_ullong puts_seen;

void world_functions_reset(void);

void
world_functions_reset(void)
{
	calls[0] = '\0';
	puts_seen = 0;
}

static void
note_call(const char *what)
{
	pthread_mutex_lock(&calls_lock);
	if (strlen(calls) + strlen(what) + 2 < sizeof(calls)) {
		if (calls[0] != '\0')
			strcat(calls, " ");
		strcat(calls, what);
	}
	pthread_mutex_unlock(&calls_lock);
}

const char *
world_calls(void)
{
	return calls;
}

uint64_t
world_puts(void)
{
	return puts_seen;
}

static flow_status
function_open(void *binding, flow_context *context, flow_function **function, flow_error *error)
{
	(void)binding;
	(void)error;
	note_call("open");
	*function = calloc(1, sizeof(**function));
	(*function)->context = context;
	return FLOW_OK;
}

static void
function_close(flow_function *function)
{
	note_call("close");
	free(function);
}

static flow_status
function_end(flow_function *function, uint32_t input, flow_error *error)
{
	(void)function;
	(void)input;
	(void)error;
	note_call("end");
	return FLOW_OK;
}

static flow_output *
output_of(flow_function *function)
{
	return function->context->outputs[0];
}

static flow_status
pass_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	return output_of(function)->forward(output_of(function), batch, NULL, error);
}

static flow_status
odd_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	flow_builder *memory = output_of(function)->memory(output_of(function));
	uint32_t *selection = flow_builder_alloc(memory, batch->row_count * sizeof(*selection));
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns), .selection = selection };
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		if (flow_batch_field(batch, row, 1)->as.int64 % 2 == 0) {
			selection[columns.selected_count++] = row;
			continue;
		}
		flow_status status = function->context->ops->reject(function->context, batch, row, FLOW_E_RANGE,
															flow_slice_of("v is odd"), error);
		if (status < 0)
			return status;
	}
	return output_of(function)->forward(output_of(function), batch, &columns, error);
}

static flow_status
emit(flow_function *function, const flow_value *key, int64_t k, int64_t v, int64_t t, flow_error *error)
{
	flow_output *out = output_of(function);
	flow_builder *builder = out->builder(out);
	if (flow_builder_full(builder)) {
		flow_status status = out->push(out, error);
		if (status < 0)
			return status;
		builder = out->builder(out);
	}
	if (key != NULL)
		builder->ops->add_columns(builder, FLOW_COLUMN_KEY);
	flow_value *cells = flow_builder_alloc(builder, 3 * sizeof(*cells));
	if (cells == NULL)
		return FLOW_E_MEMORY;
	cells[0] = flow_int64(k);
	cells[1] = flow_int64(v);
	cells[2] = flow_timestamp(t, FLOW_MICROSECONDS, FLOW_ZONED);
	uint32_t row = flow_builder_add(builder, flow_record(cells, 3));
	if (key != NULL)
		builder->key[row] = *key;
	return FLOW_OK;
}

#define MOST_ROWS 2048

static flow_status
count_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	void *slots[MOST_ROWS];
	uint32_t rows[MOST_ROWS];
	for (FLOW_ROWS(batch, i))
		rows[i] = flow_row(batch, i);
	flow_status status = function->context->ops->slots(function->context, 0, batch, rows, batch->selected_count, NULL,
													   1, slots, NULL, error);
	for (FLOW_ROWS(batch, k))
		if (status == FLOW_OK)
			++*(int64_t *)slots[k];
	return status;
}

static flow_status
count_visit(void *self, const flow_batch *keys, flow_error *error)
{
	flow_function *function = self;
	void *slots[MOST_ROWS];
	uint32_t rows[MOST_ROWS];
	for (FLOW_ROWS(keys, i))
		rows[i] = flow_row(keys, i);
	flow_status status = function->context->ops->slots(function->context, 0, keys, rows, keys->selected_count, NULL, 0,
													   slots, NULL, error);
	for (FLOW_ROWS(keys, k))
		if (status == FLOW_OK && slots[k] != NULL)
			status = emit(function, NULL, keys->key[rows[k]].as.int64, *(int64_t *)slots[k], 0, error);
	return status;
}

static flow_status
count_end(flow_function *function, uint32_t input, flow_error *error)
{
	(void)input;
	note_call("end");
	return function->context->ops->apply_to_all_partitions(function->context, count_visit, function, error);
}

static flow_status
window_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	const flow_context_ops *ops = function->context->ops;
	int64_t now = ops->event_time(function->context);
	flow_status status = FLOW_OK;
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		int64_t start = batch->timestamp[row] / WINDOW * WINDOW, end = start + WINDOW - 1;
		if (end <= now) {
			status =
				ops->reject(function->context, batch, row, FLOW_E_LATE, flow_slice_of("its window is closed"), error);
			if (status < 0)
				return status;
			continue;
		}
		void *slot;
		uint8_t created;
		status = ops->slots(function->context, 0, batch, &row, 1, &start, 1, &slot, &created, error);
		if (status == FLOW_OK && created)
			status = ops->register_timers(function->context, FLOW_TIMER_EVENT, batch, &row, 1, &end, error);
		if (status < 0)
			return status;
		*(int64_t *)slot += flow_batch_field(batch, row, 1)->as.int64;
	}
	return FLOW_OK;
}

static flow_status
window_timers(flow_function *function, uint32_t kind, const flow_batch *due, flow_error *error)
{
	(void)kind;
	const flow_context_ops *ops = function->context->ops;
	for (FLOW_ROWS(due, i)) {
		uint32_t row = flow_row(due, i);
		int64_t start = due->timestamp[row] - WINDOW + 1;
		void *slot = NULL;
		flow_status status = ops->slots(function->context, 0, due, &row, 1, &start, 0, &slot, NULL, error);
		if (status == FLOW_OK && slot != NULL)
			status = emit(function, NULL, due->key[row].as.int64, *(int64_t *)slot, start, error);
		if (status == FLOW_OK)
			status = ops->remove_many(function->context, 0, due, &row, 1, &start, error);
		if (status < 0)
			return status;
	}
	return FLOW_OK;
}

static flow_status
rekey_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		flow_value key = flow_int64(batch->key[row].as.int64 + 1);
		flow_status status = emit(function, &key, key.as.int64, 0, 0, error);
		if (status < 0)
			return status;
	}
	return FLOW_OK;
}

/* Even v to the first output, odd v to the second. */
static flow_status
split_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	for (uint32_t odd = 0; odd < 2; odd++) {
		flow_output *out = function->context->outputs[odd];
		uint32_t *selection = flow_builder_alloc(out->memory(out), batch->row_count * sizeof(*selection));
		flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns), .selection = selection };
		for (FLOW_ROWS(batch, i))
			if (flow_batch_field(batch, flow_row(batch, i), 1)->as.int64 % 2 == odd)
				selection[columns.selected_count++] = flow_row(batch, i);
		flow_status status = out->forward(out, batch, &columns, error);
		if (status < 0)
			return status;
	}
	return FLOW_OK;
}

/* Counts the records of its second input, passes on those of the first. */
static flow_status
side_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	if (input == 0)
		return output_of(function)->forward(output_of(function), batch, NULL, error);
	atomic_fetch_add(&puts_seen, batch->selected_count);
	return FLOW_OK;
}

static flow_status
put_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)function;
	(void)input;
	(void)error;
	atomic_fetch_add(&puts_seen, batch->selected_count);
	return FLOW_OK;
}

static flow_status
saw_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	for (FLOW_ROWS(batch, i)) {
		int64_t k = flow_batch_field(batch, flow_row(batch, i), 0)->as.int64;
		flow_status status = emit(function, NULL, k, (int64_t)puts_seen, 0, error);
		if (status < 0)
			return status;
	}
	return FLOW_OK;
}

#define FUNCTION(identifier, name, process_call, ...)                                                                  \
	static const flow_function_ops identifier##_ops = { .struct_size = FLOW_SIZEOF(flow_function_ops),                 \
														.open = function_open,                                         \
														.process = process_call,                                       \
														.close = function_close,                                       \
														__VA_ARGS__ };                                                 \
	const flow_component identifier = { .struct_size = FLOW_SIZEOF(flow_component),                                    \
										.kind = FLOW_FUNCTION,                                                         \
										.id = name,                                                                    \
										.doc = "A test's.",                                                            \
										.ops = &identifier##_ops };

FUNCTION(world_pass, "pass", pass_process, .end_input = function_end)
FUNCTION(world_odd, "odd", odd_process, .end_input = function_end)
FUNCTION(world_count, "count", count_process, .end_input = count_end)
FUNCTION(world_window, "window", window_process, .timers = window_timers, .end_input = function_end)
FUNCTION(world_rekey, "rekey", rekey_process, .end_input = function_end)
FUNCTION(world_put, "put", put_process, .end_input = function_end)
FUNCTION(world_saw, "saw", saw_process, .end_input = function_end)
FUNCTION(world_split, "split", split_process, .end_input = function_end)
FUNCTION(world_side, "side", side_process, .end_input = function_end)
