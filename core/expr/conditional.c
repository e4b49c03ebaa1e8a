/* Kernels that choose between values: case, coalesce, nullif, greatest, least. What is not chosen is not evaluated. */
#include <string.h>

#include "expr/node.h"

/* Evaluates `value` for the slots and puts it into the target register. */
static flow_status
take_value(const node *value, frame *f, slots s, uint32_t target, uint32_t scratch)
{
	operand from;
	if (s.count == 0)
		return FLOW_OK;
	flow_status status = operand_hold(value, f, s, scratch, &from);
	if (status != FLOW_OK)
		return status;
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count; i++)
		to[s.list[i]] = from.cells[s.list[i] & from.mask];
	return FLOW_OK;
}

/* Splits `open` into slots where the branch is taken and the rest, which stays in `open`. */
static void
split_slots(uint16_t *open, uint32_t *count, const uint16_t *taken, uint32_t taken_count)
{
	uint8_t gone[BLOCK_ROWS] = { 0 };
	uint32_t k = 0;
	for (uint32_t i = 0; i < taken_count; i++)
		gone[taken[i]] = 1;
	for (uint32_t i = 0; i < *count; i++) {
		open[k] = open[i];
		k += !gone[open[i]];
	}
	*count = k;
}

/* Slots where the subject (in `view`) equals the branch's value. */
static flow_status
match_subject(const node *branch, frame *f, slots s, uint32_t scratch, const operand *subject, uint16_t *taken,
			  uint32_t *count)
{
	operand other;
	flow_status status = operand_read(branch, f, s, scratch, &other);
	uint32_t k = 0;
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *a = &subject->cells[slot & subject->mask], *b = &other.cells[slot & other.mask];
		taken[k] = (uint16_t)slot;
		k += a->type != FLOW_NULL && b->type != FLOW_NULL && value_order(a, b) == 0;
	}
	*count = k;
	return status;
}

flow_status
case_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	uint16_t open[BLOCK_ROWS], taken[BLOCK_ROWS];
	uint32_t count = s.count, first = n->form, last = n->child_count - n->otherwise;
	operand subject = { NULL, 0 };
	flow_status status = FLOW_OK;
	memcpy(open, s.list, count * sizeof(open[0]));
	if (n->form)
		status = operand_read(n->children[0], f, s, target + 1, &subject);
	for (uint32_t i = first; i + 1 < last && count > 0 && status == FLOW_OK; i += 2) {
		const node *condition = n->children[i];
		slots rest = { open, count };
		uint32_t taken_count = 0;
		status = n->form ? match_subject(condition, f, rest, target + 2, &subject, taken, &taken_count)
						 : condition->filter(condition, f, rest, target + 2, 1, taken, &taken_count);
		if (status == FLOW_OK)
			status = take_value(n->children[i + 1], f, (slots){ taken, taken_count }, target, target + 2);
		split_slots(open, &count, taken, taken_count);
	}
	if (status != FLOW_OK)
		return status;
	if (n->otherwise)
		return take_value(n->children[last], f, (slots){ open, count }, target, target + 2);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < count; i++)
		to[open[i]] = flow_null();
	return FLOW_OK;
}

flow_status
coalesce_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	uint16_t open[BLOCK_ROWS];
	uint32_t count = s.count;
	flow_value *to = frame_register(f, target);
	memcpy(open, s.list, count * sizeof(open[0]));
	for (uint32_t child = 0; child < n->child_count && count > 0; child++) {
		flow_status status = take_value(n->children[child], f, (slots){ open, count }, target, target + 1);
		if (status != FLOW_OK)
			return status;
		uint32_t k = 0;
		for (uint32_t i = 0; i < count; i++) {
			open[k] = open[i];
			k += to[open[i]].type == FLOW_NULL && !f->failed[open[i]];
		}
		count = k;
	}
	return FLOW_OK;
}

flow_status
nullif_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand other;
	flow_status status = take_value(n->children[0], f, s, target, target + 1);
	if (status == FLOW_OK)
		status = operand_read(n->children[1], f, s, target + 1, &other);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *b = &other.cells[slot & other.mask];
		if (b->type != FLOW_NULL && value_order(&to[slot], b) == 0)
			to[slot] = flow_null();
	}
	return status;
}

/* greatest and least: nulls are left out. n->index: the sign of the order that wins. */
flow_status
extreme_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	flow_value *to = frame_register(f, target);
	int wanted = n->index != 0 ? 1 : -1;
	flow_status status = take_value(n->children[0], f, s, target, target + 1);
	for (uint32_t child = 1; child < n->child_count && status == FLOW_OK; child++) {
		operand other;
		status = operand_hold(n->children[child], f, s, target + 1, &other);
		for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
			uint32_t slot = s.list[i];
			const flow_value *v = &other.cells[slot & other.mask];
			if (v->type == FLOW_NULL)
				continue;
			if (to[slot].type != FLOW_NULL && value_class_of(v) != value_class_of(&to[slot]))
				status = slot_fail(f, n, slot, FLOW_E_TYPE, "%s and %s have no order", cell_type_name(v->type),
								   cell_type_name(to[slot].type));
			else if (to[slot].type == FLOW_NULL || value_order(v, &to[slot]) * wanted > 0)
				to[slot] = *v;
		}
	}
	return status;
}
