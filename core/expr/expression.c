/* The service: compiling, evaluating over batches, selecting. */
#include "expr/expression.h"

#include <string.h>

#include "base/error.h"
#include "base/schema.h"
#include "base/value.h"
#include "expr/aggregate.h"
#include "expr/compiled.h"
#include "expr/compiler.h"

static void
expression_release(flow_expression *expression)
{
	if (expression == NULL)
		return;
	schema_release(expression->type);
	schema_release(expression->input);
	arena_destroy(expression->memory);
}

static void
mark_fields(const node *n, uint8_t *used)
{
	if (n->op == NODE_FIELD)
		used[n->index] = 1;
	for (uint32_t i = 0; i < n->child_count; i++)
		mark_fields(n->children[i], used);
}

/* The head of the expression, in its own arena. NULL: out of memory; the arena is the caller's then. */
static flow_expression *
expression_create(compiler *c, node *root, flow_error *error)
{
	uint32_t fields = c->schema->field_count;
	flow_expression *expression = arena_allocate_zeroed(c->memory, sizeof(*expression));
	flow_value *nulls = arena_allocate_zeroed(c->memory, (fields + 1) * sizeof(*nulls)); /* zeroed cells are nulls */
	uint8_t *used = arena_allocate_zeroed(c->memory, fields + 1);
	if (expression == NULL || nulls == NULL || used == NULL) {
		compile_out_of_memory(c);
		return NULL;
	}
	*expression = (flow_expression){ .memory = c->memory, .root = root, .null_record = nulls, .used = used };
	expression->type = schema_of_type(&root->type, error);
	if (expression->type == NULL) {
		c->status = FLOW_E_MEMORY;
		return NULL;
	}
	expression->input = schema_retain(c->schema);
	mark_fields(root, used);
	return expression;
}

/* Parses to the end of the text, or up to the bracket that closes an aggregate's argument. */
static flow_expression *
compile_tree(compiler *c, int bracket, flow_error *error)
{
	node *root = parse_expression(c);
	if (root == NULL)
		return NULL;
	if (bracket && !parser_at_symbol(c, ")")) {
		parse_end(c);
		compile_fail(c, FLOW_E_CONFIG, c->current.column, "the aggregate has no closing bracket");
		return NULL;
	}
	if (bracket && !lexer_next(c))
		return NULL;
	if (!parse_end(c) || !type_tree(c, root))
		return NULL;
	return expression_create(c, root, error);
}

/* The status of a failed compilation; its memory is freed. */
static flow_status
compile_failed(compiler *c)
{
	arena_destroy(c->memory);
	return c->status == FLOW_OK ? FLOW_E_MEMORY : c->status;
}

static flow_status
expression_compile(flow_slice text, const flow_schema *schema, flow_slice place, flow_expression **expression,
				   flow_error *error)
{
	compiler c;
	*expression = NULL;
	arena *memory = arena_create();
	if (memory == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory while an expression was compiled");
	if (compiler_start(&c, text, schema, place, memory, error))
		*expression = compile_tree(&c, 0, error);
	return *expression == NULL ? compile_failed(&c) : FLOW_OK;
}

static flow_status
no_such_aggregate(compiler *c, const char *problem)
{
	compile_fail(c, FLOW_E_UNSUPPORTED, c->current.column,
				 "%s; there are count(*), count(x), sum(x), avg(x), min(x), max(x)", problem);
	return compile_failed(c);
}

/* count(*): the star is current. */
static flow_status
compile_star(compiler *c, flow_aggregate_call *call)
{
	if (call->kind != FLOW_AGGREGATE_COUNT)
		return no_such_aggregate(c, "* is only for count(*)");
	if (!lexer_next(c) || !parser_at_symbol(c, ")") || !lexer_next(c)) {
		compile_fail(c, FLOW_E_CONFIG, c->current.column, "count(* has no closing bracket");
		return compile_failed(c);
	}
	if (!parse_end(c))
		return compile_failed(c);
	arena_destroy(c->memory);
	call->argument = NULL;
	call->result = schema_of_kind(FLOW_KIND_INT64, 0);
	return FLOW_OK;
}

static flow_status
compile_aggregate(compiler *c, flow_aggregate_call *call, flow_error *error)
{
	call->kind = 0;
	for (uint32_t kind = FLOW_AGGREGATE_COUNT; kind <= FLOW_AGGREGATE_MAX; kind++)
		if (parser_at_word(c, aggregate_name(kind)))
			call->kind = kind;
	if (call->kind == 0 || c->ahead.kind != TOKEN_SYMBOL || !flow_slice_is(c->ahead.text, "("))
		return no_such_aggregate(c, "an aggregate is needed here");
	if (!lexer_skip(c, 2))
		return compile_failed(c);
	if (parser_at_symbol(c, "*"))
		return compile_star(c, call);
	if (parser_at_word(c, "distinct"))
		return no_such_aggregate(c, "distinct is not there");
	uint32_t column = c->current.column;
	call->argument = compile_tree(c, 1, error);
	if (call->argument == NULL)
		return compile_failed(c);
	call->result = aggregate_type(c, call->kind, &call->argument->root->type, column);
	if (call->result != NULL)
		return FLOW_OK;
	flow_status status = c->status == FLOW_OK ? FLOW_E_MEMORY : c->status;
	expression_release(call->argument);
	call->argument = NULL;
	return status;
}

static flow_status
expression_aggregate(flow_slice text, const flow_schema *schema, flow_slice place, flow_aggregate_call *call,
					 flow_error *error)
{
	compiler c;
	call->argument = NULL;
	call->result = NULL;
	arena *memory = arena_create();
	if (memory == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory while an expression was compiled");
	if (!compiler_start(&c, text, schema, place, memory, error))
		return compile_failed(&c);
	return compile_aggregate(&c, call, error);
}

static const flow_schema *
expression_type(const flow_expression *expression)
{
	return expression->type;
}

static void
expression_fields(const flow_expression *expression, uint8_t *used)
{
	for (uint32_t i = 0; i < expression->input->field_count; i++)
		used[i] |= expression->used[i];
}

/* Everything but the rows of a block. */
static flow_status
frame_start(frame *f, const flow_expression *expression, const flow_batch *batch, flow_builder *memory,
			flow_status *statuses, flow_slice *reasons, flow_error *error)
{
	memset(f, 0, offsetof(frame, gathered));
	f->batch = batch;
	f->fields = expression->input->field_count;
	f->null_record = expression->null_record;
	f->memory = memory;
	f->statuses = statuses;
	f->reasons = reasons;
	f->error = error;
	f->stride = batch->selected_count < BLOCK_ROWS ? batch->selected_count : BLOCK_ROWS;
	if (f->stride == 0)
		f->stride = 1;
	f->registers = flow_builder_alloc(memory, (uint64_t)expression->root->registers * f->stride * sizeof(flow_value));
	if (f->registers == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory while an expression was evaluated");
	return FLOW_OK;
}

/* Makes the selected rows from `first` on the frame's block. */
static void
frame_block(frame *f, uint32_t first)
{
	const flow_batch *batch = f->batch;
	uint32_t left = batch->selected_count - first;
	if (f->failures != 0)
		memset(f->failed, 0, sizeof(f->failed));
	f->first = first;
	f->count = left < BLOCK_ROWS ? left : BLOCK_ROWS;
	f->values = batch->selection == NULL ? batch->value + first : f->gathered;
	for (uint32_t i = 0; i < f->count && batch->selection != NULL; i++)
		f->gathered[i] = batch->value[batch->selection[first + i]];
}

/* Gives back what the builder's chunk was used for, if nothing else came after it. */
struct mark {
	char *next;
	char *end;
};

static void
forget_memory(flow_builder *memory, struct mark mark)
{
	if (memory->end == mark.end && mark.next != NULL)
		memory->next = mark.next;
}

static flow_status
expression_evaluate(const flow_expression *expression, const flow_batch *batch, flow_builder *memory,
					flow_value *results, flow_status *statuses, flow_slice *reasons, flow_error *error)
{
	frame f;
	const node *root = expression->root;
	struct mark before = { memory->next, memory->end };
	flow_status status = frame_start(&f, expression, batch, memory, statuses, reasons, error);
	struct mark after = { memory->next, memory->end };
	for (uint32_t first = 0; first < batch->selected_count && status == FLOW_OK; first += BLOCK_ROWS) {
		frame_block(&f, first);
		status = root->evaluate(root, &f, (slots){ every_slot, f.count }, 0);
		const flow_value *cells = frame_register(&f, 0);
		for (uint32_t i = 0; i < f.count && status == FLOW_OK; i++)
			results[frame_row(&f, i)] = f.failed[i] ? flow_null() : cells[i];
	}
	if (memory->next == after.next && memory->end == after.end)
		forget_memory(memory, before); /* only registers were made: they are done with */
	return status;
}

static flow_status
not_a_filter(const flow_expression *expression, flow_error *error)
{
	char text[256];
	expression_print(expression, text, sizeof(text));
	return error_set(error, FLOW_E_TYPE, "the condition \"%s\" is %s, not bool", text,
					 kind_name(expression->root->type.kind));
}

static uint32_t
drop_failed(const frame *f, uint16_t *kept, uint32_t count)
{
	uint32_t k = 0;
	for (uint32_t i = 0; i < count; i++) {
		kept[k] = kept[i];
		k += !f->failed[kept[i]];
	}
	return k;
}

/* `rows` may lie in the batch's own selection: it is written behind what is read. */
static uint32_t
rows_of_slots(const frame *f, const uint16_t *kept, uint32_t count, uint32_t *rows)
{
	if (f->batch->selection != NULL) {
		for (uint32_t i = 0; i < count; i++)
			rows[i] = f->batch->selection[f->first + kept[i]];
		return count;
	}
	for (uint32_t i = 0; i < count; i++)
		rows[i] = f->first + kept[i];
	return count;
}

static flow_status
expression_select(const flow_expression *expression, const flow_batch *batch, flow_builder *memory, uint32_t *selection,
				  uint32_t *count, flow_status *statuses, flow_slice *reasons, flow_error *error)
{
	frame f;
	uint16_t kept[BLOCK_ROWS];
	uint32_t selected = 0;
	const node *root = expression->root;
	uint8_t kind = root->type.kind;
	*count = 0;
	if (kind != FLOW_KIND_BOOL && kind != FLOW_KIND_NULL && !kind_is_dynamic(kind))
		return not_a_filter(expression, error);
	struct mark before = { memory->next, memory->end };
	flow_status status = frame_start(&f, expression, batch, memory, statuses, reasons, error);
	for (uint32_t first = 0; first < batch->selected_count && status == FLOW_OK; first += BLOCK_ROWS) {
		uint32_t kept_count = 0, failures = f.failures;
		frame_block(&f, first);
		status = root->filter(root, &f, (slots){ every_slot, f.count }, 0, 1, kept, &kept_count);
		if (failures != f.failures)
			kept_count = drop_failed(&f, kept, kept_count);
		if (status == FLOW_OK)
			selected += rows_of_slots(&f, kept, kept_count, selection + selected);
	}
	if (f.failures == 0)
		forget_memory(memory, before); /* no reason lies in it */
	*count = status == FLOW_OK ? selected : 0;
	return status;
}

flow_status
expression_constant(const flow_expression *expression, flow_builder *memory, flow_value *value, flow_error *error)
{
	if (!expression->root->folded) {
		char text[256];
		expression_print(expression, text, sizeof(text));
		return error_set(error, FLOW_E_ARGUMENT, "\"%s\" is not constant", text);
	}
	if (value_copy(memory, &expression->root->constant, value) != FLOW_OK)
		return error_set(error, FLOW_E_MEMORY, "out of memory while an expression was evaluated");
	return FLOW_OK;
}

int32_t
expression_plain_field(const flow_expression *expression)
{
	return expression->root->op == NODE_FIELD ? (int32_t)expression->root->index : -1;
}

uint64_t
expression_print(const flow_expression *expression, char *buffer, uint64_t size)
{
	return node_print(expression->root, buffer, size);
}

const flow_expressions expressions_service = {
	.struct_size = FLOW_SIZEOF(flow_expressions),
	.compile = expression_compile,
	.aggregate = expression_aggregate,
	.aggregate_size = aggregate_size,
	.aggregate_add = aggregate_add,
	.aggregate_result = aggregate_result,
	.type = expression_type,
	.fields = expression_fields,
	.evaluate = expression_evaluate,
	.select = expression_select,
	.release = expression_release,
	.compare = value_order,
};
