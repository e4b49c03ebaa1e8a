/* The frame of a compilation: its start and its first error. */
#include "expr/compiler.h"

#include <stdio.h>

#include "base/error.h"
#include "expr/text.h"

static flow_status
refill_from_arena(flow_builder *builder, uint64_t size)
{
	arena_builder *self = builder->host;
	uint64_t capacity = size < 1024 ? 1024 : size;
	char *chunk = arena_allocate(self->memory, capacity);
	if (chunk == NULL)
		return FLOW_E_MEMORY;
	builder->next = chunk;
	builder->end = chunk + capacity;
	builder->soft_end = builder->end;
	return FLOW_OK;
}

static const flow_builder_ops arena_builder_ops = {
	.struct_size = FLOW_SIZEOF(flow_builder_ops),
	.refill = refill_from_arena,
};

int
compiler_start(compiler *c, flow_slice text, const flow_schema *schema, flow_slice place, arena *memory,
			   flow_error *error)
{
	*c = (compiler){ .text = text, .place = place, .schema = schema, .memory = memory, .error = error, .column = 1 };
	c->constants.memory = memory;
	c->constants.builder = (flow_builder){ .struct_size = FLOW_SIZEOF(flow_builder), .ops = &arena_builder_ops };
	c->constants.builder.host = &c->constants;
	if (schema->kind != FLOW_KIND_RECORD && schema->kind != FLOW_KIND_ANY)
		return compile_fail(c, FLOW_E_TYPE, 1, "expressions need records, the input is %s", kind_name(schema->kind));
	if (text.size > TEXT_LIMIT)
		return compile_fail(c, FLOW_E_LIMIT, 1, "the expression has %llu bytes, at most %u are allowed",
							(unsigned long long)text.size, TEXT_LIMIT);
	uint64_t valid = text_valid_prefix(text);
	if (valid != text.size)
		return compile_fail(c, FLOW_E_CONFIG, (uint32_t)text_characters(flow_slice_make(text.data, valid)) + 1,
							"the expression is not valid UTF-8");
	return lexer_skip(c, 2);
}

int
compile_fail(compiler *c, flow_status status, uint32_t column, const char *format, ...)
{
	if (c->status != FLOW_OK)
		return 0;
	c->status = status;
	char message[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	int place_size = c->place.size > 4096 ? 4096 : (int)c->place.size;
	error_set(c->error, status, "%.*s%s%s at character %u", place_size, c->place.size == 0 ? "" : c->place.data,
			  c->place.size == 0 ? "" : ": ", message, column);
	return 0;
}

int
compile_out_of_memory(compiler *c)
{
	if (c->status == FLOW_OK)
		c->status = error_set(c->error, FLOW_E_MEMORY, "out of memory while an expression was compiled");
	return 0;
}
