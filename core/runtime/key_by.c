/* Key by: evaluates the key's parts, computes its canonical bytes and hash once, and rejects records without a key. */
#include <string.h>

#include "base/key.h"
#include "base/memory.h"
#include "expr/expression.h"
#include "runtime/keys.h"
#include "runtime/record_errors.h"
#include "runtime/run.h"

typedef struct key_by_self {
	flow_builder *memory;
	flow_status *statuses;
	flow_slice *reasons;
	uint32_t capacity;
} key_by_self;

static flow_status
key_by_open(node *n)
{
	key_by_self *self = memory_allocate_zeroed(sizeof(*self));
	if (self == NULL)
		return FLOW_E_MEMORY;
	n->self = self;
	self->memory = builder_create(n->task->topology->run->pool, 1, 0);
	return self->memory == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

static void
key_by_close(node *n)
{
	key_by_self *self = n->self;
	if (self == NULL)
		return;
	builder_destroy(self->memory);
	memory_release(self->statuses);
	memory_release(self->reasons);
	memory_release(self);
	n->self = NULL;
}

static flow_status
reserve(key_by_self *self, uint32_t rows)
{
	if (rows <= self->capacity)
		return FLOW_OK;
	memory_release(self->statuses);
	memory_release(self->reasons);
	self->statuses = memory_allocate(rows * sizeof(*self->statuses));
	self->reasons = memory_allocate(rows * sizeof(*self->reasons));
	self->capacity = self->statuses == NULL || self->reasons == NULL ? 0 : rows;
	return self->capacity == 0 ? FLOW_E_MEMORY : FLOW_OK;
}

static void
copy_field(const flow_batch *batch, uint32_t field, flow_value *results)
{
	const flow_value *values = batch->value;
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		results[row] = flow_is_null(values[row]) ? flow_null() : values[row].as.record[field];
	}
}

/* The value of one part for each selected row. */
static flow_status
evaluate_part(node *n, const flow_batch *batch, const flow_expression *part, flow_value *results)
{
	key_by_self *self = n->self;
	int32_t field = expression_plain_field(part);
	if (field >= 0) {
		copy_field(batch, (uint32_t)field, results);
		return FLOW_OK;
	}
	return expressions_service.evaluate(part, batch, self->memory, results, self->statuses, self->reasons,
										&n->task->error);
}

/* Several parts are a record; with a part that is null the key is null. */
static flow_status
evaluate_key(node *n, const flow_batch *batch, flow_value *keys)
{
	key_by_self *self = n->self;
	uint32_t parts = n->op->key_count;
	if (parts == 1)
		return evaluate_part(n, batch, n->op->keys[0], keys);
	flow_value *cells = flow_builder_alloc(self->memory, (uint64_t)batch->row_count * parts * sizeof(*cells));
	flow_value *column = flow_builder_alloc(self->memory, batch->row_count * sizeof(*column));
	if (cells == NULL || column == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t part = 0; part < parts; part++) {
		flow_status status = evaluate_part(n, batch, n->op->keys[part], column);
		if (status < 0)
			return status;
		for (FLOW_ROWS(batch, i)) {
			uint32_t row = flow_row(batch, i);
			flow_value *cell = &cells[(uint64_t)row * parts];
			cell[part] = column[row];
			int null = flow_is_null(column[row]) || (part != 0 && flow_is_null(keys[row]));
			keys[row] = null ? flow_null() : flow_record(cell, parts);
		}
	}
	return FLOW_OK;
}

/* Whether no row is without a key, which is the rule. */
static int
all_have_keys(const key_by_self *self, const flow_batch *batch, const flow_value *keys)
{
	const flow_status *statuses = self->statuses;
	int without = 0;
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		without |= (statuses[row] != FLOW_OK) | (keys[row].type == FLOW_NULL);
	}
	return !without;
}

static flow_status
select_keyed(node *n, const flow_batch *batch, const flow_value *keys, uint32_t *selection, uint32_t *selected)
{
	const key_by_self *self = n->self;
	*selected = batch->selected_count;
	if (all_have_keys(self, batch, keys))
		return FLOW_OK;
	uint32_t count = 0;
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		flow_status status = self->statuses[row];
		if (status == FLOW_OK && !flow_is_null(keys[row])) {
			selection[count++] = row;
			continue;
		}
		flow_slice reason =
			status < 0 ? self->reasons[row]
					   : flow_slice_of(n->op->key_count == 1 ? "the key is null" : "a part of the key is null");
		status = record_error_of_row(n, batch, row, status < 0 ? status : FLOW_E_NULL_KEY, reason);
		if (status < 0)
			return status;
	}
	*selected = count;
	return FLOW_OK;
}

static flow_status
key_by_process(node *n, uint32_t input, const flow_batch *batch)
{
	(void)input;
	key_by_self *self = n->self;
	flow_value *keys = flow_builder_alloc(self->memory, batch->row_count * sizeof(*keys));
	uint32_t *selection = flow_builder_alloc(self->memory, batch->row_count * sizeof(*selection));
	if (keys == NULL || selection == NULL || reserve(self, batch->row_count) != FLOW_OK)
		return FLOW_E_MEMORY;
	memset(self->statuses, 0, batch->row_count * sizeof(*self->statuses)); /* FLOW_OK */
	uint32_t selected = 0;
	flow_status status = evaluate_key(n, batch, keys);
	if (status == FLOW_OK)
		status = select_keyed(n, batch, keys, selection, &selected);
	if (status < 0)
		return status;
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns),
							 .key = keys,
							 .key_schema = n->op->key_schema[0] };
	if (selected != batch->selected_count) {
		columns.selection = selection;
		columns.selected_count = selected;
	}
	flow_batch *keyed = batch_forward(n->task->topology->run->pool, batch, &columns, self->memory);
	if (keyed == NULL)
		return FLOW_E_MEMORY;
	status = batch_key_columns(keyed, self->memory);
	if (status == FLOW_OK)
		status = node_emit(n, 0, keyed);
	batch_release(keyed);
	return status;
}

const node_driver key_by_driver = {
	.open = key_by_open,
	.process = key_by_process,
	.close = key_by_close,
};
