/* Types a parsed tree from its leaves up: names, kinds, kernels. */
#include <stdlib.h>
#include <string.h>

#include "base/distance.h"
#include "base/schema.h"
#include "expr/compiler.h"
#include "expr/function.h"
#include "expr/text.h"

/* The nearest field's name, or NULL. */
static const char *
nearest_field(compiler *c, const flow_schema *record, const char *name)
{
	const char **names = arena_allocate(c->memory, (record->field_count + 1) * sizeof(*names));
	if (names == NULL)
		return NULL;
	for (uint32_t i = 0; i < record->field_count; i++) {
		names[i] = arena_copy(c->memory, record->fields[i]->name.data, record->fields[i]->name.size);
		if (names[i] == NULL)
			return NULL;
	}
	return distance_nearest(name, names, record->field_count);
}

static int
unknown_field(compiler *c, const node *n, const flow_schema *record)
{
	const char *name = arena_copy(c->memory, n->name.data, n->name.size);
	if (name == NULL)
		return compile_out_of_memory(c);
	const char *nearest = nearest_field(c, record, name);
	if (nearest != NULL)
		return compile_fail(c, FLOW_E_NOT_FOUND, n->column, "unknown field \"%.80s\", did you mean \"%.80s\"?", name,
							nearest);
	const function *fn = n->op == NODE_FIELD ? function_find(n->name) : NULL;
	return compile_fail(c, FLOW_E_NOT_FOUND, n->column, "unknown field \"%.80s\"%s", name,
						fn == NULL ? "" : "; the function of this name needs brackets");
}

static int
type_field(compiler *c, node *n)
{
	if (c->schema->kind == FLOW_KIND_ANY) {
		n->op = NODE_ENTRY;
		n->type = (value_type){ .kind = FLOW_KIND_ANY, .nullable = 1 };
		n->evaluate = entry_kernel;
		return 1;
	}
	int32_t index = flow_schema_find(c->schema, n->name);
	if (index < 0)
		return unknown_field(c, n, c->schema);
	n->index = (uint32_t)index;
	n->type = type_of_schema(c->schema->fields[index]->schema);
	n->evaluate = field_kernel;
	return 1;
}

static int
type_member(compiler *c, node *n)
{
	const value_type *base = &n->children[0]->type;
	n->evaluate = member_kernel;
	if (kind_is_dynamic(base->kind)) {
		n->type = (value_type){ .kind = FLOW_KIND_ANY, .nullable = 1 };
		return 1;
	}
	if (base->kind == FLOW_KIND_MAP) {
		n->type = type_of_schema(base->schema->element);
		n->type.nullable = 1;
		return 1;
	}
	if (base->kind != FLOW_KIND_RECORD)
		return compile_fail(c, FLOW_E_TYPE, n->column, "a %s has no members", type_name(c, base));
	int32_t index = flow_schema_find(base->schema, n->name);
	if (index < 0)
		return unknown_field(c, n, base->schema);
	n->index = (uint32_t)index;
	n->type = type_of_schema(base->schema->fields[index]->schema);
	n->type.nullable |= base->nullable;
	return 1;
}

static int
any_nullable(const node *n)
{
	for (uint32_t i = 0; i < n->child_count; i++)
		if (n->children[i]->type.nullable)
			return 1;
	return 0;
}

static int
need_bool(compiler *c, const node *n)
{
	if (n->type.kind == FLOW_KIND_BOOL || n->type.kind == FLOW_KIND_NULL || kind_is_dynamic(n->type.kind))
		return 1;
	return compile_fail(c, FLOW_E_TYPE, n->column, "a bool is needed here, not %s", type_name(c, &n->type));
}

static int
type_bool(node *n, kernel evaluate, filter_kernel filter)
{
	n->type = (value_type){ .kind = FLOW_KIND_BOOL, .nullable = (uint8_t)any_nullable(n) };
	n->evaluate = evaluate;
	n->filter = filter;
	return 1;
}

static int
type_logic(compiler *c, node *n)
{
	for (uint32_t i = 0; i < n->child_count; i++)
		if (!need_bool(c, n->children[i]))
			return 0;
	return n->op == NODE_NOT ? type_bool(n, not_kernel, not_filter) : type_bool(n, logic_kernel, logic_filter);
}

static int
type_is(compiler *c, node *n)
{
	if (n->form != IS_NULL && !need_bool(c, n->children[0]))
		return 0;
	type_bool(n, is_kernel, is_filter);
	n->type.nullable = 0;
	return 1;
}

static int
type_comparison(compiler *c, node *n)
{
	if (!adapt_literals(c, child_places(c, n, 0, 1)) || !check_comparable(c, n->children[0], n->children[1], n->column))
		return 0;
	type_bool(n, NULL, NULL);
	compare_choose(n);
	return 1;
}

static int
type_between(compiler *c, node *n)
{
	if (!adapt_literals(c, child_places(c, n, 0, 1)) ||
		!check_comparable(c, n->children[0], n->children[1], n->column) ||
		!check_comparable(c, n->children[0], n->children[2], n->column))
		return 0;
	return type_bool(n, between_kernel, cells_filter);
}

static int
order_for_sort(const void *a, const void *b)
{
	return value_order(a, b);
}

/* A list of constants becomes a sorted set. */
static int
build_set(compiler *c, node *n)
{
	for (uint32_t i = 1; i < n->child_count; i++)
		if (!n->children[i]->folded)
			return 1;
	flow_value *set = arena_allocate(c->memory, n->child_count * sizeof(*set));
	if (set == NULL)
		return compile_out_of_memory(c);
	for (uint32_t i = 1; i < n->child_count; i++) {
		if (n->children[i]->constant.type == FLOW_NULL)
			n->set_has_null = 1;
		else
			set[n->set_count++] = n->children[i]->constant;
	}
	qsort(set, n->set_count, sizeof(*set), order_for_sort);
	n->set = set;
	return 1;
}

static int
type_in(compiler *c, node *n)
{
	if (!adapt_literals(c, child_places(c, n, 0, 1)))
		return 0;
	for (uint32_t i = 1; i < n->child_count; i++)
		if (!check_comparable(c, n->children[0], n->children[i], n->children[i]->column))
			return 0;
	return build_set(c, n) && type_bool(n, in_kernel, cells_filter);
}

static int
check_pattern(compiler *c, const node *n)
{
	const node *pattern = n->children[1], *escape = n->child_count == 3 ? n->children[2] : NULL;
	if (escape != NULL && escape->folded && escape->constant.type == FLOW_STRING &&
		text_characters(flow_value_slice(&escape->constant)) != 1)
		return compile_fail(c, FLOW_E_ARGUMENT, escape->column, "escape takes one character");
	int known = pattern->folded && pattern->constant.type == FLOW_STRING &&
				(escape == NULL || (escape->folded && escape->constant.type == FLOW_STRING));
	flow_slice mark = known && escape != NULL ? flow_value_slice(&escape->constant) : flow_slice_make(NULL, 0);
	if (known && !like_pattern_valid(flow_value_slice(&pattern->constant), mark))
		return compile_fail(c, FLOW_E_ARGUMENT, pattern->column,
							"the escape character must stand before %%, _ or itself");
	return 1;
}

static int
type_like(compiler *c, node *n)
{
	for (uint32_t i = 0; i < n->child_count; i++)
		if (!class_accepts_kind('s', n->children[i]->type.kind))
			return compile_fail(c, FLOW_E_TYPE, n->children[i]->column, "like takes strings, not %s; cast it to string",
								type_name(c, &n->children[i]->type));
	return check_pattern(c, n) && type_bool(n, like_kernel, cells_filter);
}

static int
type_case(compiler *c, node *n)
{
	uint32_t first = n->form, last = n->child_count - n->otherwise;
	for (uint32_t i = first; i + 1 < last; i += 2) {
		node *pair[2] = { n->children[0], n->children[i] };
		node **pair_places[2] = { &pair[0], &pair[1] };
		if (n->form ? !adapt_literals(c, (places){ pair_places, 2 }) ||
						  !check_comparable(c, pair[0], pair[1], pair[1]->column)
					: !need_bool(c, pair[1]))
			return 0;
	}
	places values = child_places(c, n, first + 1, 2);
	if (values.items == NULL)
		return 0;
	if (n->otherwise)
		values.items[values.count++] = &n->children[last];
	if (!unify_nodes(c, values, &n->type))
		return 0;
	n->type.nullable |= !n->otherwise;
	n->evaluate = case_kernel;
	return 1;
}

static int
type_cast(compiler *c, node *n)
{
	const node *child = n->children[0];
	value_type target = type_of_schema(n->target);
	int same = child->type.schema != NULL && schema_equal(child->type.schema, n->target);
	if (!same && !cast_possible(&child->type, n->target))
		return compile_fail(c, FLOW_E_TYPE, n->column, "%s cannot be cast to %s", type_name(c, &child->type),
							type_name(c, &target));
	n->type = target;
	n->type.nullable = child->type.nullable || n->attempt || kind_is_dynamic(target.kind);
	n->evaluate = cast_kernel;
	return 1;
}

static int
is_instant_kind(uint8_t kind)
{
	return kind == FLOW_KIND_DATE || kind == FLOW_KIND_TIMESTAMP;
}

/* The coarsest unit not below the timestamp's own that takes the duration exactly. */
static uint8_t
shifted_unit(uint8_t unit, const node *duration)
{
	if (unit >= FLOW_MICROSECONDS || !duration->folded || duration->constant.type != FLOW_INT64)
		return unit > FLOW_MICROSECONDS ? unit : FLOW_MICROSECONDS;
	if (unit == FLOW_SECONDS && duration->constant.as.int64 % 1000000 == 0)
		return FLOW_SECONDS;
	return duration->constant.as.int64 % 1000 == 0 ? FLOW_MILLISECONDS : FLOW_MICROSECONDS;
}

static int
no_arithmetic(compiler *c, const node *n)
{
	static const char *const names[] = { "+", "-", "*", "/", "%" };
	const value_type *a = &n->children[0]->type, *b = &n->children[1]->type;
	const char *hint = "";
	if (is_instant_kind(a->kind) || is_instant_kind(b->kind))
		hint = "; add a duration, such as interval '5s'";
	else if (n->op == NODE_ADD && (a->kind == FLOW_KIND_STRING || b->kind == FLOW_KIND_STRING))
		hint = "; strings are joined by ||";
	return compile_fail(c, FLOW_E_TYPE, n->column, "%s %s %s is not possible%s", type_name(c, a),
						names[n->op - NODE_ADD], type_name(c, b), hint);
}

/* Dates and timestamps in sums and differences. */
static int
type_instant(compiler *c, node *n)
{
	int swapped = !is_instant_kind(n->children[0]->type.kind);
	const node *instant = n->children[swapped], *other = n->children[!swapped];
	const value_type *a = &instant->type, *b = &other->type;
	uint8_t nullable = (uint8_t)any_nullable(n);
	if ((n->op != NODE_ADD && n->op != NODE_SUBTRACT) || (swapped && n->op != NODE_ADD))
		return no_arithmetic(c, n);
	if (is_instant_kind(b->kind)) {
		if (n->op != NODE_SUBTRACT || a->kind != b->kind || a->zoned != b->zoned)
			return no_arithmetic(c, n);
		n->type = (value_type){ .kind = FLOW_KIND_INT64, .duration = a->kind == FLOW_KIND_TIMESTAMP };
	} else if (b->duration) {
		uint8_t unit = a->kind == FLOW_KIND_DATE ? (uint8_t)FLOW_MICROSECONDS : shifted_unit(a->unit, other);
		n->type = (value_type){ .kind = FLOW_KIND_TIMESTAMP, .unit = unit, .zoned = a->zoned };
	} else if (a->kind == FLOW_KIND_DATE && (b->kind == FLOW_KIND_INT64 || b->kind == FLOW_KIND_INT32)) {
		n->type = (value_type){ .kind = FLOW_KIND_DATE };
	} else {
		return no_arithmetic(c, n);
	}
	n->type.nullable = nullable;
	n->evaluate = arithmetic_choose(n);
	return 1;
}

static int
is_arithmetic_kind(uint8_t kind)
{
	return kind_is_number(kind) || kind_is_dynamic(kind) || kind == FLOW_KIND_NULL;
}

static uint8_t
result_kind(uint8_t a, uint8_t b)
{
	if (kind_is_dynamic(a) || kind_is_dynamic(b))
		return FLOW_KIND_ANY;
	if (a == FLOW_KIND_NULL || b == FLOW_KIND_NULL)
		return FLOW_KIND_NULL;
	if (kind_is_float(a) || kind_is_float(b))
		return FLOW_KIND_FLOAT64;
	if (a == FLOW_KIND_DECIMAL || b == FLOW_KIND_DECIMAL)
		return FLOW_KIND_DECIMAL;
	return a == FLOW_KIND_UINT64 || b == FLOW_KIND_UINT64 ? FLOW_KIND_UINT64 : FLOW_KIND_INT64;
}

static int
is_duration_result(const node *n)
{
	uint8_t a = n->children[0]->type.duration, b = n->children[1]->type.duration;
	if (n->type.kind != FLOW_KIND_INT64)
		return 0;
	if (n->op == NODE_ADD || n->op == NODE_SUBTRACT)
		return a && b;
	return n->op == NODE_MULTIPLY ? a != b : a && !b;
}

static int
type_arithmetic(compiler *c, node *n)
{
	if (is_instant_kind(n->children[0]->type.kind) || is_instant_kind(n->children[1]->type.kind))
		return type_instant(c, n);
	uint8_t a = n->children[0]->type.kind, b = n->children[1]->type.kind;
	if (!is_arithmetic_kind(a) || !is_arithmetic_kind(b))
		return no_arithmetic(c, n);
	n->type = (value_type){ .kind = result_kind(a, b), .nullable = (uint8_t)any_nullable(n) };
	n->type.duration = (uint8_t)is_duration_result(n);
	for (uint32_t i = 0; i < 2 && n->type.kind == FLOW_KIND_FLOAT64; i++)
		if (!kind_is_float(n->children[i]->type.kind) &&
			!cast_child(c, &n->children[i], schema_of_kind(FLOW_KIND_FLOAT64, 0)))
			return 0;
	n->evaluate = arithmetic_choose(n);
	return 1;
}

static int
type_negate(compiler *c, node *n)
{
	n->type = n->children[0]->type;
	n->type.schema = NULL;
	if (!is_arithmetic_kind(n->type.kind))
		return compile_fail(c, FLOW_E_TYPE, n->column, "- needs a number, not %s", type_name(c, &n->type));
	if (kind_is_integer(n->type.kind))
		n->type.kind = FLOW_KIND_INT64;
	else if (kind_is_float(n->type.kind))
		n->type.kind = FLOW_KIND_FLOAT64;
	else if (n->type.kind == FLOW_KIND_UNION)
		n->type.kind = FLOW_KIND_ANY;
	n->evaluate = negate_kernel;
	return 1;
}

static int
type_concat(compiler *c, node *n)
{
	const value_type *a = &n->children[0]->type, *b = &n->children[1]->type;
	int text = class_accepts_kind('s', a->kind) && class_accepts_kind('s', b->kind);
	int bytes = !text && class_accepts_kind('x', a->kind) && class_accepts_kind('x', b->kind) &&
				!(a->kind == FLOW_KIND_STRING || b->kind == FLOW_KIND_STRING);
	if (!text && !bytes)
		return compile_fail(c, FLOW_E_TYPE, n->column, "%s || %s is not possible; cast both to string, or use concat()",
							type_name(c, a), type_name(c, b));
	int dynamic = kind_is_dynamic(a->kind) && kind_is_dynamic(b->kind);
	n->type = (value_type){ .kind = dynamic ? FLOW_KIND_ANY : text ? FLOW_KIND_STRING : FLOW_KIND_BYTES };
	n->type.nullable = (uint8_t)any_nullable(n);
	n->evaluate = concat_kernel;
	return 1;
}

static int
unknown_function(compiler *c, const node *n)
{
	static const char *const aggregates[] = { "count", "sum", "avg", "min", "max" };
	for (size_t i = 0; i < FLOW_COUNT(aggregates); i++)
		if (flow_slice_is(n->name, aggregates[i]))
			return compile_fail(c, FLOW_E_NOT_FOUND, n->column,
								"%s() is an aggregate: it stands alone, where aggregates are asked for%s",
								aggregates[i],
								i == 3   ? "; of several values: least()"
								: i == 4 ? "; of several values: greatest()"
										 : "");
	const char *nearest = function_nearest(n->name.data);
	if (nearest != NULL)
		return compile_fail(c, FLOW_E_NOT_FOUND, n->column, "unknown function \"%.80s\", did you mean \"%s\"?",
							n->name.data, nearest);
	return compile_fail(c, FLOW_E_NOT_FOUND, n->column, "unknown function \"%.80s\"", n->name.data);
}

/* Casts that make an argument what its class says. */
static int
prepare_argument(compiler *c, node *n, uint32_t argument)
{
	node **child = &n->children[argument];
	uint8_t kind = (*child)->type.kind;
	char class = function_class(n->function, argument);
	if (!class_accepts_kind(class, kind))
		return compile_fail(c, FLOW_E_TYPE, (*child)->column, "%s takes %s here, not %s", n->function->name,
							class_name(class), type_name(c, &(*child)->type));
	if (class == 'f' && !kind_is_float(kind))
		return cast_child(c, child, schema_of_kind(FLOW_KIND_FLOAT64, 0));
	if (class == 'o' && kind != FLOW_KIND_STRING)
		return cast_child(c, child, schema_of_kind(FLOW_KIND_STRING, 0));
	if (class == 'i' && kind == FLOW_KIND_UINT64)
		return cast_child(c, child, schema_of_kind(FLOW_KIND_INT64, 0));
	return 1;
}

static int
check_arguments(compiler *c, const node *n)
{
	const function *fn = n->function;
	if (n->child_count >= fn->minimum && n->child_count <= fn->maximum)
		return 1;
	return compile_fail(c, FLOW_E_CONFIG, n->column, "%s takes %u%s argument%s, not %u: %s", fn->name, fn->minimum,
						fn->maximum == fn->minimum ? "" : " or more", fn->maximum == 1 ? "" : "s", n->child_count,
						fn->signature);
}

static int
type_call(compiler *c, node *n)
{
	n->function = function_find(n->name);
	if (n->function == NULL)
		return unknown_function(c, n);
	if (!check_arguments(c, n))
		return 0;
	if (n->function->row == NULL && n->function->evaluate == NULL) { /* mod: written as a function, but the operator */
		n->op = NODE_REMAINDER;
		return type_arithmetic(c, n);
	}
	for (uint32_t i = 0; i < n->child_count; i++)
		if (!prepare_argument(c, n, i))
			return 0;
	n->type = (value_type){ .kind = n->function->result };
	n->type.nullable = (uint8_t)(!n->function->takes_null && any_nullable(n));
	n->evaluate = n->function->evaluate != NULL ? n->function->evaluate : call_kernel;
	return n->function->type == NULL || n->function->type(c, n);
}

static int
type_node(compiler *c, node *n)
{
	switch (n->op) {
	case NODE_CONSTANT:
		n->evaluate = constant_kernel;
		return 1;
	case NODE_FIELD:
	case NODE_ENTRY:
		return type_field(c, n);
	case NODE_MEMBER:
		return type_member(c, n);
	case NODE_NEGATE:
		return type_negate(c, n);
	case NODE_CONCAT:
		return type_concat(c, n);
	case NODE_AND:
	case NODE_OR:
	case NODE_NOT:
		return type_logic(c, n);
	case NODE_IS:
		return type_is(c, n);
	case NODE_IN:
		return type_in(c, n);
	case NODE_LIKE:
		return type_like(c, n);
	case NODE_BETWEEN:
		return type_between(c, n);
	case NODE_CASE:
		return type_case(c, n);
	case NODE_CAST:
		return type_cast(c, n);
	case NODE_CALL:
		return type_call(c, n);
	default:
		return n->op <= NODE_REMAINDER ? type_arithmetic(c, n) : type_comparison(c, n);
	}
}

int
type_tree(compiler *c, node *n)
{
	for (uint32_t i = 0; i < n->child_count; i++)
		if (!type_tree(c, n->children[i]))
			return 0;
	return type_node(c, n) && finish_node(c, n);
}
