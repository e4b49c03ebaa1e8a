/* Kernels of values and of logic, and how rows fail. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/value.h"
#include "expr/node.h"

#define SIXTEEN(n)                                                                                                     \
	n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10, n + 11, n + 12, n + 13, n + 14, n + 15

const uint16_t every_slot[BLOCK_ROWS] = { SIXTEEN(0),   SIXTEEN(16),  SIXTEEN(32),  SIXTEEN(48),
										  SIXTEEN(64),  SIXTEEN(80),  SIXTEEN(96),  SIXTEEN(112),
										  SIXTEEN(128), SIXTEEN(144), SIXTEEN(160), SIXTEEN(176),
										  SIXTEEN(192), SIXTEEN(208), SIXTEEN(224), SIXTEEN(240) };

flow_status
row_fail(frame *f, flow_status status, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(f->message_text, sizeof(f->message_text), format, arguments);
	va_end(arguments);
	f->message = f->message_text;
	return status;
}

static flow_status
keep_reason(frame *f, uint32_t row, const char *text, size_t size)
{
	if (f->reasons == NULL)
		return FLOW_OK;
	const char *copy = flow_builder_copy(f->memory, text, size);
	if (copy == NULL)
		return error_set(f->error, FLOW_E_MEMORY, "out of memory while an expression was evaluated");
	f->reasons[row] = flow_slice_make(copy, size);
	return FLOW_OK;
}

flow_status
slot_fail(frame *f, const node *n, uint32_t slot, flow_status status, const char *format, ...)
{
	if (status == FLOW_E_MEMORY)
		return error_set(f->error, status, "out of memory while an expression was evaluated");
	if (f->failed[slot])
		return FLOW_OK;
	char text[256];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text) - 32, format, arguments);
	va_end(arguments);
	size_t size = strlen(text);
	size += (size_t)snprintf(text + size, sizeof(text) - size, " at character %u", n->column);
	if (f->statuses == NULL)
		return error_set(f->error, status, "%s", text);
	f->failed[slot] = 1;
	f->failures++;
	f->statuses[frame_row(f, slot)] = status;
	return keep_reason(f, frame_row(f, slot), text, size);
}

static int
points_elsewhere(const flow_value *v)
{
	return v->type == FLOW_DECIMAL || v->type == FLOW_STRING || v->type == FLOW_BYTES || v->type >= FLOW_UUID;
}

/* A constant that may live as long as the builder's memory. */
static flow_status
constant_copy(const node *n, frame *f, flow_value *copy)
{
	*copy = n->constant;
	if (!points_elsewhere(&n->constant) || value_copy(f->memory, &n->constant, copy) == FLOW_OK)
		return FLOW_OK;
	return error_set(f->error, FLOW_E_MEMORY, "out of memory while an expression was evaluated");
}

flow_status
constant_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	flow_value *to = frame_register(f, target);
	flow_value value;
	flow_status status = constant_copy(n, f, &value);
	if (status != FLOW_OK)
		return status;
	for (uint32_t i = 0; i < s.count; i++)
		to[s.list[i]] = value;
	return FLOW_OK;
}

flow_status
operand_read(const node *n, frame *f, slots s, uint32_t target, operand *view)
{
	if (n->folded) {
		*view = (operand){ &n->constant, 0 };
		return FLOW_OK;
	}
	*view = (operand){ frame_register(f, target), UINT32_MAX };
	return n->evaluate(n, f, s, target);
}

flow_status
operand_hold(const node *n, frame *f, slots s, uint32_t target, operand *view)
{
	if (!n->folded)
		return operand_read(n, f, s, target, view);
	*view = (operand){ frame_register(f, target), 0 };
	return constant_copy(n, f, frame_register(f, target));
}

flow_status
field_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count; i++)
		to[s.list[i]] = *frame_field(f, s.list[i], n->index);
	return FLOW_OK;
}

static flow_value
map_get(const flow_map *map, flow_slice key)
{
	for (uint64_t i = 0; i < map->count; i++)
		if (flow_slice_equal(flow_value_slice(&map->entries[i].key), key))
			return map->entries[i].value;
	return flow_null();
}

/* A row without such an entry, or one that is no map, gives null. */
flow_status
entry_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count; i++) {
		const flow_value *row = &f->values[s.list[i]];
		to[s.list[i]] = row->type == FLOW_MAP ? map_get(row->as.map, n->name) : flow_null();
	}
	return FLOW_OK;
}

/* What is not there, or has no members, gives null. */
flow_status
member_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand from;
	flow_status status = operand_read(n->children[0], f, s, target, &from);
	if (status != FLOW_OK)
		return status;
	int of_record = n->children[0]->type.kind == FLOW_KIND_RECORD;
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count; i++) {
		const flow_value *v = &from.cells[s.list[i] & from.mask];
		if (of_record)
			to[s.list[i]] = v->type == FLOW_RECORD && n->index < v->size ? v->as.record[n->index] : flow_null();
		else
			to[s.list[i]] = v->type == FLOW_MAP ? map_get(v->as.map, n->name) : flow_null();
	}
	return FLOW_OK;
}

static flow_status
not_a_bool(frame *f, const node *n, uint32_t slot, const flow_value *v)
{
	return slot_fail(f, n, slot, FLOW_E_TYPE, "%s stands where a bool is needed", cell_type_name(v->type));
}

/* The answer of `is`: the value, or -1: neither. */
static int
is_answer(const node *n, const flow_value *v)
{
	if (n->form == IS_NULL)
		return (v->type == FLOW_NULL) != n->negated;
	int truth = truth_of(v);
	return truth == -2 ? -1 : (truth == (n->form == IS_TRUE)) != n->negated;
}

flow_status
is_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand from;
	flow_status status = operand_read(n->children[0], f, s, target, &from);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *v = &from.cells[slot & from.mask];
		int answer = is_answer(n, v);
		if (answer < 0)
			status = not_a_bool(f, n, slot, v);
		to[slot] = answer < 0 ? flow_null() : flow_bool(answer);
	}
	return status;
}

flow_status
is_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count)
{
	const node *child = n->children[0];
	if (n->form != IS_NULL || child->op != NODE_FIELD)
		return cells_filter(n, f, s, target, want, kept, count);
	uint32_t k = 0;
	int null_wanted = n->negated != want;
	for (uint32_t i = 0; i < s.count; i++) {
		uint32_t slot = s.list[i];
		kept[k] = (uint16_t)slot;
		k += (frame_field(f, slot, child->index)->type == FLOW_NULL) == null_wanted;
	}
	*count = k;
	return FLOW_OK;
}

flow_status
not_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand from;
	flow_status status = operand_read(n->children[0], f, s, target, &from);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *v = &from.cells[slot & from.mask];
		int truth = truth_of(v);
		if (truth == -2)
			status = not_a_bool(f, n, slot, v);
		to[slot] = truth < 0 ? flow_null() : flow_bool(!truth);
	}
	return status;
}

flow_status
not_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count)
{
	const node *child = n->children[0];
	return child->filter(child, f, s, target, !want, kept, count);
}

/* Takes one operand of and/or into the result so far; a slot stays open until an operand decides it. Returns the
 * slots that are still open, in `open`. */
static flow_status
logic_step(const node *n, frame *f, const operand *from, flow_value *to, uint16_t *open, uint32_t *count)
{
	int deciding = n->op == NODE_OR;
	uint32_t k = 0;
	for (uint32_t i = 0; i < *count; i++) {
		uint32_t slot = open[i];
		const flow_value *v = &from->cells[slot & from->mask];
		int truth = truth_of(v);
		if (truth == deciding) {
			to[slot] = flow_bool(deciding);
			continue;
		}
		if (truth < 0)
			to[slot] = flow_null();
		flow_status status = truth == -2 ? not_a_bool(f, n, slot, v) : FLOW_OK;
		if (status != FLOW_OK)
			return status;
		open[k++] = (uint16_t)slot;
	}
	*count = k;
	return FLOW_OK;
}

flow_status
logic_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	uint16_t open[BLOCK_ROWS];
	flow_value *to = frame_register(f, target);
	uint32_t count = s.count;
	memcpy(open, s.list, count * sizeof(open[0]));
	for (uint32_t i = 0; i < count; i++)
		to[open[i]] = flow_bool(n->op == NODE_AND);
	for (uint32_t child = 0; child < n->child_count && count > 0; child++) {
		operand from;
		flow_status status = operand_read(n->children[child], f, (slots){ open, count }, target + 1, &from);
		if (status == FLOW_OK)
			status = logic_step(n, f, &from, to, open, &count);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

flow_status
cells_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count)
{
	operand from;
	flow_status status = operand_read(n, f, s, target, &from);
	uint32_t k = 0;
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *v = &from.cells[slot & from.mask];
		int truth = truth_of(v);
		if (truth == -2)
			status = not_a_bool(f, n, slot, v);
		kept[k] = (uint16_t)slot;
		k += truth == want;
	}
	*count = k;
	return status;
}

/* All operands are `want`: each narrows what is left. */
static flow_status
every_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count)
{
	for (uint32_t child = 0; child < n->child_count; child++) {
		const node *operand_node = n->children[child];
		flow_status status = operand_node->filter(operand_node, f, s, target, want, kept, count);
		if (status != FLOW_OK)
			return status;
		s = (slots){ kept, *count };
		if (s.count == 0)
			break;
	}
	return FLOW_OK;
}

/* Some operand is `want`: each is asked only for what is still open. */
static flow_status
some_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count)
{
	uint16_t open[BLOCK_ROWS], found[BLOCK_ROWS];
	uint8_t matched[BLOCK_ROWS] = { 0 };
	slots rest = { open, s.count };
	memcpy(open, s.list, s.count * sizeof(open[0]));
	for (uint32_t child = 0; child < n->child_count && rest.count > 0; child++) {
		const node *operand_node = n->children[child];
		uint32_t found_count = 0, k = 0;
		flow_status status = operand_node->filter(operand_node, f, rest, target, want, found, &found_count);
		if (status != FLOW_OK)
			return status;
		for (uint32_t i = 0; i < found_count; i++)
			matched[found[i]] = 1;
		for (uint32_t i = 0; i < rest.count; i++) {
			open[k] = open[i];
			k += !matched[open[i]];
		}
		rest.count = k;
	}
	uint32_t k = 0;
	for (uint32_t i = 0; i < s.count; i++) {
		uint16_t slot = s.list[i];
		kept[k] = slot;
		k += matched[slot];
	}
	*count = k;
	return FLOW_OK;
}

flow_status
logic_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count)
{
	int every = (n->op == NODE_AND) == want;
	return (every ? every_filter : some_filter)(n, f, s, target, want, kept, count);
}
