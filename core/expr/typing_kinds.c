/* Kinds: which ones go together, what literals become beside them, constants that are folded. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/schema.h"
#include "expr/compiler.h"
#include "expr/function.h"

int
kind_is_integer(uint8_t kind)
{
	return kind == FLOW_KIND_INT32 || kind == FLOW_KIND_INT64 || kind == FLOW_KIND_UINT64;
}

int
kind_is_float(uint8_t kind)
{
	return kind == FLOW_KIND_FLOAT32 || kind == FLOW_KIND_FLOAT64;
}

int
kind_is_number(uint8_t kind)
{
	return kind_is_integer(kind) || kind_is_float(kind) || kind == FLOW_KIND_DECIMAL;
}

int
kind_is_dynamic(uint8_t kind)
{
	return kind == FLOW_KIND_ANY || kind == FLOW_KIND_UNION;
}

/* As in errors: "int64", "local_timestamp", "duration". */
const char *
type_name(compiler *c, const value_type *type)
{
	(void)c;
	if (type->duration)
		return "duration";
	if (type->kind == FLOW_KIND_TIMESTAMP && !type->zoned)
		return "local_timestamp";
	return kind_name(type->kind);
}

value_type
type_of_schema(const flow_schema *schema)
{
	value_type type = { .kind = schema->kind, .unit = schema->unit };
	type.zoned = (schema->flags & FLOW_SCHEMA_ZONED) != 0;
	type.nullable =
		(uint8_t)(flow_schema_nullable(schema) || kind_is_dynamic(schema->kind) || schema->kind == FLOW_KIND_NULL);
	int plain = schema->kind < FLOW_KIND_FIXED || (schema->kind >= FLOW_KIND_DATE && schema->kind <= FLOW_KIND_UUID);
	if (!plain || schema->precision != 0 || schema->logical.size != 0)
		type.schema = schema;
	return type;
}

static const flow_schema *
schema_with_unit(const value_type *type, flow_error *error)
{
	static const char *const units[] = { "s", "ms", "us", "ns" };
	char text[64];
	const char *name = type->kind == FLOW_KIND_TIME ? "time" : type->zoned ? "timestamp" : "local_timestamp";
	int size = snprintf(text, sizeof(text), "%s(%s)%s", name, units[type->unit / 3 & 3], type->nullable ? "?" : "");
	return schema_parse_type(flow_slice_make(text, (uint64_t)size), error);
}

const flow_schema *
schema_of_type(const value_type *type, flow_error *error)
{
	const flow_schema *schema;
	if (type->schema != NULL && kind_is_dynamic(type->kind))
		return schema_retain(type->schema);
	if (type->schema != NULL)
		schema = schema_with_nullable(type->schema, type->nullable);
	else if (type->kind == FLOW_KIND_TIME || type->kind == FLOW_KIND_TIMESTAMP)
		return schema_with_unit(type, error);
	else
		schema = schema_of_kind(type->kind, type->nullable && type->kind > FLOW_KIND_NULL);
	if (schema == NULL)
		error_set(error, FLOW_E_MEMORY, "out of memory while an expression was compiled");
	return schema;
}

places
child_places(compiler *c, node *n, uint32_t first, uint32_t step)
{
	places all = { arena_allocate(c->memory, (n->child_count + 1) * sizeof(node **)), 0 };
	if (all.items == NULL)
		compile_out_of_memory(c);
	for (uint32_t i = first; all.items != NULL && i < n->child_count; i += step)
		all.items[all.count++] = &n->children[i];
	return all;
}

/* A frame for one row of constants. */
static void
constant_frame(compiler *c, frame *f, flow_value *registers)
{
	memset(f, 0, offsetof(frame, gathered));
	f->memory = &c->constants.builder;
	f->registers = registers;
	f->stride = 1;
	f->count = 1;
	f->error = c->error;
}

static int
can_fold(const node *n)
{
	if (n->op == NODE_FIELD || n->op == NODE_ENTRY || (n->op == NODE_CALL && n->child_count == 0))
		return 0;
	for (uint32_t i = 0; i < n->child_count; i++)
		if (!n->children[i]->folded)
			return 0;
	return 1;
}

int
fold_node(compiler *c, node *n)
{
	flow_value *registers = arena_allocate_zeroed(c->memory, (size_t)(n->registers + 1) * sizeof(*registers));
	if (registers == NULL)
		return compile_out_of_memory(c);
	frame f;
	constant_frame(c, &f, registers);
	flow_status status = n->evaluate(n, &f, (slots){ every_slot, 1 }, 0);
	if (status != FLOW_OK) {
		if (c->status != FLOW_OK)
			return 0;
		c->status = status;
		if (c->place.size != 0)
			error_prefix(c->error, "%.*s", (int)(c->place.size > 4096 ? 4096 : c->place.size), c->place.data);
		return 0;
	}
	n->literal = 1;
	for (uint32_t i = 0; i < n->child_count; i++)
		n->literal &= n->children[i]->literal;
	n->constant = registers[0];
	n->folded = 1;
	n->registers = 1;
	n->evaluate = constant_kernel;
	n->filter = cells_filter;
	return 1;
}

/* The register, counted from the node's own, that its child is evaluated in. */
static uint32_t
register_of_child(const node *n, uint32_t child)
{
	switch (n->op) {
	case NODE_AND:
	case NODE_OR:
		return 1;
	case NODE_CASE:
		return n->form && child == 0 ? 1 : 2;
	case NODE_IN:
		return child == 0 ? 1 : 2;
	case NODE_CALL:
		return n->function->evaluate != NULL ? 1 : 1 + child;
	default:
		return child;
	}
}

int
finish_node(compiler *c, node *n)
{
	n->registers = 1;
	for (uint32_t i = 0; i < n->child_count; i++) {
		uint32_t need = register_of_child(n, i) + n->children[i]->registers;
		if (need > n->registers)
			n->registers = need;
	}
	if (n->registers > REGISTER_LIMIT)
		return compile_fail(c, FLOW_E_LIMIT, n->column, "the expression is too large to be evaluated");
	if (n->filter == NULL)
		n->filter = cells_filter;
	return n->folded || !can_fold(n) ? 1 : fold_node(c, n);
}

int
cast_child(compiler *c, node **child, const flow_schema *target)
{
	node *n = node_create(c, NODE_CAST, (*child)->column, child, 1);
	if (n == NULL)
		return 0;
	n->implicit = 1;
	n->target = target;
	n->type = type_of_schema(target);
	n->type.nullable = (*child)->type.nullable;
	n->evaluate = cast_kernel;
	*child = n;
	return finish_node(c, n);
}

static void
release_schema(void *schema)
{
	schema_release(schema);
}

/* The type's schema, owned by the expression's arena. */
static const flow_schema *
arena_schema(compiler *c, const value_type *type)
{
	value_type plain = *type;
	plain.nullable = 0;
	flow_error reason = { 0 };
	const flow_schema *schema = schema_of_type(&plain, &reason);
	error_clear(&reason);
	if (schema != NULL && arena_on_destroy(c->memory, release_schema, (void *)schema))
		return schema;
	compile_out_of_memory(c);
	return NULL;
}

/* Makes a literal a constant of the other type, if it has that value. */
static int
convert_literal(compiler *c, node *literal, const value_type *type)
{
	frame f;
	flow_value value;
	const flow_schema *target = arena_schema(c, type);
	if (target == NULL)
		return 0;
	constant_frame(c, &f, NULL);
	flow_status status = cast_value(&f, target, &literal->constant, &value);
	if (status == FLOW_E_MEMORY)
		return compile_out_of_memory(c);
	if (status != FLOW_OK)
		return 0;
	literal->constant = value;
	literal->type = type_of_schema(target);
	return 1;
}

static int
takes_text(uint8_t kind)
{
	return kind == FLOW_KIND_DATE || kind == FLOW_KIND_TIME || kind == FLOW_KIND_TIMESTAMP || kind == FLOW_KIND_UUID ||
		   kind == FLOW_KIND_ENUM;
}

/* A string literal beside a date and the like. Timestamps keep a fraction that is finer than the other side's unit. */
static int
adapt_text(compiler *c, node *literal, value_type type)
{
	if (convert_literal(c, literal, &type))
		return 1;
	int has_unit = type.kind == FLOW_KIND_TIME || type.kind == FLOW_KIND_TIMESTAMP;
	for (uint8_t unit = FLOW_MICROSECONDS; has_unit && unit <= FLOW_NANOSECONDS; unit += 3) {
		type.unit = unit;
		if (convert_literal(c, literal, &type))
			return 1;
	}
	const flow_value *text = &literal->constant;
	return compile_fail(c, FLOW_E_TYPE, literal->column, "'%.*s' is not %s %s", text->size > 40 ? 40 : (int)text->size,
						text->as.text, type.kind == FLOW_KIND_ENUM ? "a symbol of this" : "a text of",
						type_name(c, &type));
}

/* What literals stand beside: the first type of each sort that is not a literal's. */
struct surroundings {
	const value_type *real;
	const value_type *text;
	int has_double;
};

static struct surroundings
look_around(places nodes)
{
	struct surroundings around = { NULL, NULL, 0 };
	for (uint32_t i = 0; i < nodes.count; i++) {
		const node *n = *nodes.items[i];
		if (n->literal)
			continue;
		if (kind_is_float(n->type.kind) && around.real == NULL)
			around.real = &n->type;
		around.has_double |= n->type.kind == FLOW_KIND_FLOAT64;
		if (takes_text(n->type.kind) && around.text == NULL)
			around.text = &n->type;
	}
	return around;
}

int
adapt_literals(compiler *c, places nodes)
{
	if (nodes.items == NULL)
		return 0;
	struct surroundings around = look_around(nodes);
	value_type real = { .kind = around.has_double ? FLOW_KIND_FLOAT64 : FLOW_KIND_FLOAT32 };
	for (uint32_t i = 0; i < nodes.count; i++) {
		node *n = *nodes.items[i];
		if (!n->literal || !n->folded)
			continue;
		if (around.real != NULL && n->constant.type == FLOW_DECIMAL)
			convert_literal(c, n, &real); /* beyond all doubles it stays exact */
		else if (around.text != NULL && n->constant.type == FLOW_STRING && !adapt_text(c, n, *around.text))
			return 0;
	}
	return c->status == FLOW_OK;
}

static int
same_schema(const value_type *a, const value_type *b)
{
	return a->schema == b->schema || (a->schema != NULL && b->schema != NULL && schema_equal(a->schema, b->schema));
}

static uint8_t
number_kind(uint8_t a, uint8_t b)
{
	if (kind_is_float(a) || kind_is_float(b))
		return FLOW_KIND_FLOAT64;
	if (a == FLOW_KIND_DECIMAL || b == FLOW_KIND_DECIMAL || a == FLOW_KIND_UINT64 || b == FLOW_KIND_UINT64)
		return FLOW_KIND_DECIMAL; /* int64 and uint64 have no smaller type in common */
	return FLOW_KIND_INT64;
}

/* Two types of one kind. 0: they differ in what cannot be converted. */
static int
combine_same_kind(value_type *type, const value_type *other)
{
	int same = same_schema(type, other);
	if (type->unit < other->unit)
		type->unit = other->unit;
	if (type->zoned != other->zoned)
		return 0;
	if (same)
		return 1;
	switch (type->kind) {
	case FLOW_KIND_LIST:
	case FLOW_KIND_MAP:
	case FLOW_KIND_RECORD:
		return 0;
	case FLOW_KIND_ENUM:
		type->kind = FLOW_KIND_STRING;
		break;
	case FLOW_KIND_FIXED:
		type->kind = FLOW_KIND_BYTES;
		break;
	case FLOW_KIND_UNION:
		type->kind = FLOW_KIND_ANY;
		break;
	default:
		break;
	}
	type->schema = NULL;
	return 1;
}

static int
is_text_kind(uint8_t kind)
{
	return kind == FLOW_KIND_STRING || kind == FLOW_KIND_ENUM;
}

static int
is_bytes_kind(uint8_t kind)
{
	return kind == FLOW_KIND_BYTES || kind == FLOW_KIND_FIXED;
}

/* Widens *type so that it takes the other too. */
static int
combine(value_type *type, const value_type *other)
{
	uint8_t nullable = type->nullable | other->nullable, duration = type->duration & other->duration;
	if (type->kind == FLOW_KIND_NULL || other->kind == FLOW_KIND_NULL) {
		*type = type->kind == FLOW_KIND_NULL ? *other : *type;
		type->nullable = 1;
		return 1;
	}
	if (type->kind == other->kind) {
		if (!combine_same_kind(type, other))
			return 0;
	} else if (kind_is_dynamic(type->kind) || kind_is_dynamic(other->kind)) {
		*type = (value_type){ .kind = FLOW_KIND_ANY };
	} else if (kind_is_number(type->kind) && kind_is_number(other->kind)) {
		*type = (value_type){ .kind = number_kind(type->kind, other->kind) };
	} else if (is_text_kind(type->kind) && is_text_kind(other->kind)) {
		*type = (value_type){ .kind = FLOW_KIND_STRING };
	} else if (is_bytes_kind(type->kind) && is_bytes_kind(other->kind)) {
		*type = (value_type){ .kind = FLOW_KIND_BYTES };
	} else {
		return 0;
	}
	type->nullable = nullable;
	type->duration = duration;
	return 1;
}

/* Does a cell of the type have to be changed to be one of the wider type? */
static int
needs_cast(const value_type *from, const value_type *to)
{
	if (from->kind == FLOW_KIND_NULL || kind_is_dynamic(to->kind))
		return 0;
	if (from->kind != to->kind)
		return (to->kind == FLOW_KIND_FLOAT64 && !kind_is_float(from->kind)) || to->kind == FLOW_KIND_DECIMAL;
	return from->unit != to->unit;
}

int
unify_nodes(compiler *c, places nodes, value_type *type)
{
	if (!adapt_literals(c, nodes))
		return 0;
	*type = (*nodes.items[0])->type;
	for (uint32_t i = 1; i < nodes.count; i++) {
		const node *n = *nodes.items[i];
		value_type before = *type;
		if (!combine(type, &n->type))
			return compile_fail(c, FLOW_E_TYPE, n->column, "%s and %s have no common type; cast one of them",
								type_name(c, &before), type_name(c, &n->type));
	}
	const flow_schema *target = NULL;
	for (uint32_t i = 0; i < nodes.count; i++) {
		if (!needs_cast(&(*nodes.items[i])->type, type))
			continue;
		if (target == NULL && (target = arena_schema(c, type)) == NULL)
			return 0;
		if (!cast_child(c, nodes.items[i], target))
			return 0;
	}
	return 1;
}

/* Kinds of one group can be compared. 0: with nothing. */
static int
comparison_group(uint8_t kind)
{
	if (kind_is_number(kind))
		return 1;
	if (is_text_kind(kind))
		return 2;
	if (is_bytes_kind(kind))
		return 3;
	if (kind == FLOW_KIND_DATE || kind == FLOW_KIND_TIMESTAMP)
		return 4;
	return kind == FLOW_KIND_BOOL ? 5 : kind == FLOW_KIND_TIME ? 6 : kind == FLOW_KIND_UUID ? 7 : 0;
}

int
check_comparable(compiler *c, const node *a, const node *b, uint32_t column)
{
	const value_type *x = &a->type, *y = &b->type;
	int free_left = kind_is_dynamic(x->kind) || x->kind == FLOW_KIND_NULL;
	int free_right = kind_is_dynamic(y->kind) || y->kind == FLOW_KIND_NULL;
	if ((!free_left && comparison_group(x->kind) == 0) || (!free_right && comparison_group(y->kind) == 0))
		return compile_fail(c, FLOW_E_TYPE, column, "a %s cannot be compared",
							type_name(c, !free_left && comparison_group(x->kind) == 0 ? x : y));
	if (free_left || free_right)
		return 1;
	int zones = x->kind == FLOW_KIND_TIMESTAMP && y->kind == FLOW_KIND_TIMESTAMP && x->zoned != y->zoned;
	if (zones || comparison_group(x->kind) != comparison_group(y->kind))
		return compile_fail(c, FLOW_E_TYPE, column, "%s and %s cannot be compared; cast one of them", type_name(c, x),
							type_name(c, y));
	return 1;
}
