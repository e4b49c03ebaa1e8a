/* Kernels of comparisons: =, <, between, in, like. The common typed ones read fields in place. */
#include <math.h>
#include <string.h>

#include "expr/node.h"
#include "expr/text.h"
#include "flow_sdk/time.h"

/* For each operator: is the order's sign (-1, 0, 1 at [0..2]) an answer of true? */
static const uint8_t answers[6][3] = { { 0, 1, 0 }, { 1, 0, 1 }, { 1, 0, 0 }, { 1, 1, 0 }, { 0, 0, 1 }, { 0, 1, 1 } };

static int
answer_of(uint8_t op, int order)
{
	return answers[op - NODE_EQUAL][(order > 0) - (order < 0) + 1];
}

/* 1, 0, or -1: the values have no order (and the operator needs one). */
static int
compare_cells(uint8_t op, const flow_value *a, const flow_value *b)
{
	if (a->type == FLOW_INT64 && b->type == FLOW_INT64)
		return answer_of(op, (a->as.int64 > b->as.int64) - (a->as.int64 < b->as.int64));
	if (value_class_of(a) == value_class_of(b))
		return answer_of(op, value_order(a, b));
	return op == NODE_EQUAL ? 0 : op == NODE_UNEQUAL ? 1 : -1;
}

static flow_status
no_order(frame *f, const node *n, uint32_t slot, const flow_value *a, const flow_value *b)
{
	return slot_fail(f, n, slot, FLOW_E_TYPE, "%s and %s have no order", cell_type_name(a->type),
					 cell_type_name(b->type));
}

static flow_status
read_two(const node *n, frame *f, slots s, uint32_t target, operand *a, operand *b)
{
	flow_status status = operand_read(n->children[0], f, s, target, a);
	return status == FLOW_OK ? operand_read(n->children[1], f, s, target + 1, b) : status;
}

static flow_status
generic_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand left, right;
	flow_status status = read_two(n, f, s, target, &left, &right);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *a = &left.cells[slot & left.mask], *b = &right.cells[slot & right.mask];
		int answer = -1;
		if (a->type != FLOW_NULL && b->type != FLOW_NULL) {
			answer = compare_cells(n->op, a, b);
			if (answer < 0)
				status = no_order(f, n, slot, a, b);
		}
		to[slot] = answer < 0 ? flow_null() : flow_bool(answer);
	}
	return status;
}

/* A loop over int64 or float64 cells for each operator; what has another type is null. */
#define TYPED_LOOP(cell_type, member, condition)                                                                       \
	for (uint32_t i = 0; i < s.count; i++) {                                                                           \
		uint32_t slot = s.list[i];                                                                                     \
		const flow_value *x = &left.cells[slot & left.mask], *y = &right.cells[slot & right.mask];                     \
		int both = x->type == cell_type && y->type == cell_type;                                                       \
		__typeof__(x->as.member) a = x->as.member, b = y->as.member;                                                   \
		to[slot] = both ? flow_bool(condition) : flow_null();                                                          \
	}

static flow_status
int64_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand left, right;
	flow_status status = read_two(n, f, s, target, &left, &right);
	flow_value *to = frame_register(f, target);
	if (status != FLOW_OK)
		return status;
	switch (n->op) {
	case NODE_EQUAL:
		TYPED_LOOP(FLOW_INT64, int64, a == b) break;
	case NODE_UNEQUAL:
		TYPED_LOOP(FLOW_INT64, int64, a != b) break;
	case NODE_LESS:
		TYPED_LOOP(FLOW_INT64, int64, a < b) break;
	case NODE_LESS_EQUAL:
		TYPED_LOOP(FLOW_INT64, int64, a <= b) break;
	case NODE_GREATER:
		TYPED_LOOP(FLOW_INT64, int64, a > b) break;
	default:
		TYPED_LOOP(FLOW_INT64, int64, a >= b) break;
	}
	return FLOW_OK;
}

static flow_status
float64_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand left, right;
	flow_status status = read_two(n, f, s, target, &left, &right);
	flow_value *to = frame_register(f, target);
	if (status != FLOW_OK)
		return status;
	TYPED_LOOP(FLOW_FLOAT64, float64, answer_of(n->op, float64_order(a, b)))
	return FLOW_OK;
}

/* Filters of the form: field, operator, constant. Slots are written always and counted if they pass, so that nothing
 * depends on a branch that cannot be foreseen. */
#define FIELD_LOOP(cell_type, condition)                                                                               \
	for (uint32_t i = 0; i < s.count; i++) {                                                                           \
		uint32_t slot = s.list[i];                                                                                     \
		const flow_value *v = frame_field(f, slot, field);                                                             \
		kept[k] = (uint16_t)slot;                                                                                      \
		k += (uint32_t)((v->type == cell_type) & (condition));                                                         \
	}

/* The operator that holds where `op` does not. */
static uint8_t
opposite(uint8_t op)
{
	static const uint8_t table[] = { NODE_UNEQUAL, NODE_EQUAL,      NODE_GREATER_EQUAL,
									 NODE_GREATER, NODE_LESS_EQUAL, NODE_LESS };
	return table[op - NODE_EQUAL];
}

/* Integers, and what is stored as one: dates, and times and timestamps of the constant's unit. */
static flow_status
int64_field_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count)
{
	(void)target;
	uint32_t field = n->children[0]->index, k = 0;
	uint8_t type = n->children[1]->constant.type;
	int64_t constant = n->children[1]->constant.as.int64;
	switch (want ? n->op : opposite(n->op)) {
	case NODE_EQUAL:
		FIELD_LOOP(type, v->as.int64 == constant) break;
	case NODE_UNEQUAL:
		FIELD_LOOP(type, v->as.int64 != constant) break;
	case NODE_LESS:
		FIELD_LOOP(type, v->as.int64 < constant) break;
	case NODE_LESS_EQUAL:
		FIELD_LOOP(type, v->as.int64 <= constant) break;
	case NODE_GREATER:
		FIELD_LOOP(type, v->as.int64 > constant) break;
	default:
		FIELD_LOOP(type, v->as.int64 >= constant) break;
	}
	*count = k;
	return FLOW_OK;
}

/* NaN is above all constants (which are numbers). */
static flow_status
float64_field_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count)
{
	(void)target;
	uint32_t field = n->children[0]->index, k = 0;
	double constant = n->children[1]->constant.as.float64;
	switch (want ? n->op : opposite(n->op)) {
	case NODE_EQUAL:
		FIELD_LOOP(FLOW_FLOAT64, v->as.float64 == constant) break;
	case NODE_UNEQUAL:
		FIELD_LOOP(FLOW_FLOAT64, v->as.float64 != constant) break;
	case NODE_LESS:
		FIELD_LOOP(FLOW_FLOAT64, v->as.float64 < constant) break;
	case NODE_LESS_EQUAL:
		FIELD_LOOP(FLOW_FLOAT64, v->as.float64 <= constant) break;
	case NODE_GREATER:
		FIELD_LOOP(FLOW_FLOAT64, !(v->as.float64 <= constant)) break;
	default:
		FIELD_LOOP(FLOW_FLOAT64, !(v->as.float64 < constant)) break;
	}
	*count = k;
	return FLOW_OK;
}

/* Equality of a string field with a constant: the size decides most rows. */
static flow_status
string_field_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count)
{
	(void)target;
	uint32_t field = n->children[0]->index, k = 0;
	const flow_value *constant = &n->children[1]->constant;
	int equal_wanted = (n->op == NODE_EQUAL) == want;
	for (uint32_t i = 0; i < s.count; i++) {
		uint32_t slot = s.list[i];
		const flow_value *v = frame_field(f, slot, field);
		kept[k] = (uint16_t)slot;
		if (v->type != FLOW_STRING)
			continue;
		int equal = v->size == constant->size && memcmp(v->as.text, constant->as.text, v->size) == 0;
		k += equal == equal_wanted;
	}
	*count = k;
	return FLOW_OK;
}

/* Any field with any constant: the field is read in place and compared by value. */
static flow_status
field_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count)
{
	(void)target;
	uint32_t field = n->children[0]->index, k = 0;
	const flow_value *constant = &n->children[1]->constant;
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *v = frame_field(f, slot, field);
		kept[k] = (uint16_t)slot;
		if (v->type == FLOW_NULL)
			continue;
		int answer = compare_cells(n->op, v, constant);
		if (answer < 0)
			status = no_order(f, n, slot, v, constant);
		k += answer == want;
	}
	*count = k;
	return status;
}

static int
is_int64(const value_type *type)
{
	return type->kind == FLOW_KIND_INT64 || type->kind == FLOW_KIND_INT32;
}

static int
is_float64(const value_type *type)
{
	return type->kind == FLOW_KIND_FLOAT64 || type->kind == FLOW_KIND_FLOAT32;
}

static uint8_t
mirrored(uint8_t op)
{
	static const uint8_t table[] = { NODE_EQUAL,         NODE_UNEQUAL, NODE_GREATER,
									 NODE_GREATER_EQUAL, NODE_LESS,    NODE_LESS_EQUAL };
	return table[op - NODE_EQUAL];
}

/* A time or timestamp takes the other side's unit if that is the same moment. */
static void
match_unit(const node *field, node *constant)
{
	int64_t number, again;
	uint8_t unit = field->type.unit, own = constant->constant.unit;
	if (field->type.kind != constant->type.kind || unit == own ||
		(field->type.kind != FLOW_KIND_TIMESTAMP && field->type.kind != FLOW_KIND_TIME) ||
		flow_convert_unit(constant->constant.as.int64, own, unit, &number) != FLOW_OK ||
		flow_convert_unit(number, unit, own, &again) != FLOW_OK || again != constant->constant.as.int64)
		return;
	constant->constant.as.int64 = number;
	constant->constant.unit = unit;
	constant->type.unit = unit;
}

/* An int64 constant beside a float64 becomes a double if that is the same number. */
static void
match_constant(const node *field, node *constant)
{
	match_unit(field, constant);
	if (!is_float64(&field->type) || constant->constant.type != FLOW_INT64)
		return;
	flow_value number = flow_float64((double)constant->constant.as.int64);
	if (value_order(&number, &constant->constant) != 0)
		return;
	constant->constant = number;
	constant->type.kind = FLOW_KIND_FLOAT64;
}

/* `15 < x` is `x > 15`. */
static void
constant_to_the_right(node *n)
{
	node *left = n->children[0];
	if (!left->folded || n->children[1]->folded)
		return;
	n->children[0] = n->children[1];
	n->children[1] = left;
	n->op = mirrored(n->op);
}

/* Can a cell of the type be compared with the constant by as.int64 alone? */
static int
is_stored_int64(const value_type *type, const flow_value *constant)
{
	switch (constant->type) {
	case FLOW_INT64:
		return is_int64(type);
	case FLOW_DATE:
		return type->kind == FLOW_KIND_DATE;
	case FLOW_TIME:
		return type->kind == FLOW_KIND_TIME && type->unit == constant->unit;
	case FLOW_TIMESTAMP:
		return type->kind == FLOW_KIND_TIMESTAMP && type->unit == constant->unit;
	default:
		return 0;
	}
}

static void
choose_filter(node *n)
{
	node *a = n->children[0], *b = n->children[1];
	if (a->op != NODE_FIELD || !b->folded || b->constant.type == FLOW_NULL)
		return;
	n->filter = field_filter;
	if (is_stored_int64(&a->type, &b->constant))
		n->filter = int64_field_filter;
	else if (is_float64(&a->type) && b->constant.type == FLOW_FLOAT64 && !isnan(b->constant.as.float64))
		n->filter = float64_field_filter;
	else if (a->type.kind == FLOW_KIND_STRING && b->constant.type == FLOW_STRING && n->op <= NODE_UNEQUAL)
		n->filter = string_field_filter;
}

void
compare_choose(node *n)
{
	node **sides = n->children;
	n->evaluate = generic_kernel;
	n->filter = cells_filter;
	constant_to_the_right(n);
	if (sides[1]->folded)
		match_constant(sides[0], sides[1]);
	if (is_int64(&sides[0]->type) && is_int64(&sides[1]->type))
		n->evaluate = int64_kernel;
	else if (is_float64(&sides[0]->type) && is_float64(&sides[1]->type))
		n->evaluate = float64_kernel;
	choose_filter(n);
}

/* 1, 0, -1: null. */
static int
between_answer(const flow_value *v, const flow_value *low, const flow_value *high, int *failed)
{
	if (v->type == FLOW_NULL)
		return -1;
	int above = low->type == FLOW_NULL ? -1 : compare_cells(NODE_GREATER_EQUAL, v, low);
	int below = high->type == FLOW_NULL ? -1 : compare_cells(NODE_LESS_EQUAL, v, high);
	*failed = (above < 0 && low->type != FLOW_NULL) || (below < 0 && high->type != FLOW_NULL);
	if (above == 0 || below == 0)
		return 0;
	return above < 0 || below < 0 ? -1 : 1;
}

flow_status
between_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand value, low, high;
	flow_status status = read_two(n, f, s, target, &value, &low);
	if (status == FLOW_OK)
		status = operand_read(n->children[2], f, s, target + 2, &high);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *v = &value.cells[slot & value.mask];
		int failed = 0;
		int answer = between_answer(v, &low.cells[slot & low.mask], &high.cells[slot & high.mask], &failed);
		if (failed)
			status = slot_fail(f, n, slot, FLOW_E_TYPE, "%s has no order with the bounds", cell_type_name(v->type));
		to[slot] = failed || answer < 0 ? flow_null() : flow_bool(answer != n->negated);
	}
	return status;
}

#define SHORT_SET 8 /* up to here one look at each string is faster than a search */

static int
short_set_contains(const node *n, const flow_value *v)
{
	for (uint32_t i = 0; i < n->set_count; i++)
		if (n->set[i].type == FLOW_STRING && n->set[i].size == v->size &&
			memcmp(n->set[i].as.text, v->as.text, v->size) == 0)
			return 1;
	return 0;
}

static int
set_contains(const node *n, const flow_value *v)
{
	if (v->type == FLOW_STRING && n->set_count <= SHORT_SET)
		return short_set_contains(n, v);
	uint32_t low = 0, high = n->set_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = value_order(v, &n->set[middle]);
		if (order == 0)
			return 1;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return 0;
}

static flow_status
in_set(const node *n, frame *f, slots s, uint32_t target)
{
	operand value;
	flow_status status = operand_read(n->children[0], f, s, target, &value);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *v = &value.cells[slot & value.mask];
		int found = v->type != FLOW_NULL && set_contains(n, v);
		int known = found || (v->type != FLOW_NULL && !n->set_has_null);
		to[slot] = known ? flow_bool(found != n->negated) : flow_null();
	}
	return status;
}

/* One item of a list against the slots that are still open. */
static void
in_step(const node *n, const operand *value, const operand *item, flow_value *to, uint16_t *open, uint32_t *count)
{
	uint32_t k = 0;
	for (uint32_t i = 0; i < *count; i++) {
		uint32_t slot = open[i];
		const flow_value *v = &value->cells[slot & value->mask], *w = &item->cells[slot & item->mask];
		if (w->type != FLOW_NULL && value_order(v, w) == 0) {
			to[slot] = flow_bool(!n->negated);
			continue;
		}
		if (w->type == FLOW_NULL)
			to[slot] = flow_null();
		open[k++] = (uint16_t)slot;
	}
	*count = k;
}

flow_status
in_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	if (n->set != NULL)
		return in_set(n, f, s, target);
	uint16_t open[BLOCK_ROWS];
	uint32_t count = 0;
	operand value, item;
	flow_status status = operand_read(n->children[0], f, s, target + 1, &value);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		int null = value.cells[slot & value.mask].type == FLOW_NULL;
		to[slot] = null ? flow_null() : flow_bool(n->negated);
		open[count] = (uint16_t)slot;
		count += !null;
	}
	for (uint32_t child = 1; child < n->child_count && count > 0 && status == FLOW_OK; child++) {
		status = operand_read(n->children[child], f, (slots){ open, count }, target + 2, &item);
		if (status == FLOW_OK)
			in_step(n, &value, &item, to, open, &count);
	}
	return status;
}

static flow_status
like_row(const node *n, frame *f, uint32_t slot, const flow_value *const *parts, flow_value *to)
{
	flow_slice escape = { NULL, 0 };
	*to = flow_null();
	for (uint32_t i = 0; i < n->child_count; i++) {
		if (parts[i]->type == FLOW_NULL)
			return FLOW_OK;
		if (parts[i]->type != FLOW_STRING)
			return slot_fail(f, n, slot, FLOW_E_TYPE, "like takes strings, not %s", cell_type_name(parts[i]->type));
	}
	if (n->child_count == 3)
		escape = flow_value_slice(parts[2]);
	if (n->child_count == 3 && text_characters(escape) != 1)
		return slot_fail(f, n, slot, FLOW_E_ARGUMENT, "escape takes one character");
	flow_slice pattern = flow_value_slice(parts[1]);
	if (!like_pattern_valid(pattern, escape))
		return slot_fail(f, n, slot, FLOW_E_ARGUMENT, "the escape character must stand before %%, _ or itself");
	*to = flow_bool(like_matches(flow_value_slice(parts[0]), pattern, escape) != n->negated);
	return FLOW_OK;
}

flow_status
like_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	static const flow_value nothing = { { 0 }, 0, FLOW_NULL, 0, 0, 0 };
	operand views[3] = { { &nothing, 0 }, { &nothing, 0 }, { &nothing, 0 } };
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < n->child_count && status == FLOW_OK; i++)
		status = operand_read(n->children[i], f, s, target + i, &views[i]);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *parts[3];
		flow_value result;
		for (uint32_t p = 0; p < FLOW_COUNT(parts); p++)
			parts[p] = &views[p].cells[slot & views[p].mask];
		status = like_row(n, f, slot, parts, &result);
		to[slot] = result;
	}
	return status;
}
