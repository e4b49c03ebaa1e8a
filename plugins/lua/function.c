/* Running: one record in, the records that the script makes of it out; all of them, or none and a rejection (lua_function.h). */
#include "flow_sdk/row.h"
#include "lua_function.h"

struct flow_function {
	const struct lua_binding *binding;
	flow_context *context;
	flow_output *output;
	struct sandbox box;
	struct conversion conversion;
	/* The batch at hand. */
	const flow_batch *batch;
	uint32_t row;
	flow_builder *builder;
	flow_builder *scratch;
	/* Results of the record at hand for which the builder has no room; cells in scratch memory. */
	flow_value *spilled;
	uint64_t spilled_count, spilled_room;
};

flow_status
function_open(void *binding, flow_context *context, flow_function **result, flow_error *error)
{
	const struct lua_binding *bound = binding;
	flow_function *function = flow_new(bound->host, sizeof(*function));
	if (function == NULL)
		return flow_fail(bound->host, error, FLOW_E_MEMORY, "out of memory");
	function->binding = bound;
	function->context = context;
	function->output = context->outputs[0];
	flow_status status = sandbox_open(&function->box, bound, function, error);
	if (status != FLOW_OK) {
		bound->host->release(function);
		return status;
	}
	function->conversion.host = bound->host;
	function->conversion.lua = function->box.lua;
	*result = function;
	return FLOW_OK;
}

void
function_close(flow_function *function)
{
	const flow_host *host = function->binding->host;
	sandbox_close(&function->box);
	host->release(function);
}

/* --- results ----------------------------------------------------------------------------------------------------- */

/* A builder with room, that has the input's columns and keeps its keys alive. */
static flow_status
take_builder(flow_function *f)
{
	const flow_batch *batch = f->batch;
	f->builder = f->output->builder(f->output);
	uint32_t columns =
		(batch->key != NULL ? FLOW_COLUMN_KEY : 0) | (batch->timestamp != NULL ? FLOW_COLUMN_TIMESTAMP : 0);
	flow_status status = columns == 0 ? FLOW_OK : f->builder->ops->add_columns(f->builder, columns);
	return status == FLOW_OK && batch->key != NULL ? f->builder->ops->keep(f->builder, batch) : status;
}

static int
has_room(const flow_builder *builder)
{
	return builder->row_count < builder->row_capacity;
}

static void
add_row(flow_function *f, flow_value value)
{
	uint32_t row = flow_builder_add(f->builder, value);
	if (f->batch->key != NULL)
		f->builder->key[row] = f->batch->key[f->row];
	if (f->batch->timestamp != NULL)
		f->builder->timestamp[row] = f->batch->timestamp[f->row];
}

static int
spill(flow_function *f, flow_value value)
{
	if (f->spilled_count == f->spilled_room) {
		uint64_t room = f->spilled_room == 0 ? 64 : f->spilled_room * 2;
		flow_value *more = flow_builder_alloc(f->scratch, room * sizeof(*more));
		if (more == NULL)
			return convert_fail(&f->conversion, NULL, FLOW_E_MEMORY, "out of memory");
		if (f->spilled_count != 0)
			memcpy(more, f->spilled, f->spilled_count * sizeof(*more));
		f->spilled = more;
		f->spilled_room = room;
	}
	f->spilled[f->spilled_count++] = value;
	return 1;
}

/* A result, the table at `index`. 0: the conversion says why not. */
static int
take_result(flow_function *f, int index)
{
	struct conversion *c = &f->conversion;
	flow_value value;
	int direct = f->spilled_count == 0 && has_room(f->builder);
	c->memory = direct ? f->builder : f->scratch;
	if (lua_type(c->lua, index) != LUA_TTABLE)
		return convert_fail(c, NULL, FLOW_E_TYPE, "a record must be a table, but is a %s",
							luaL_typename(c->lua, index));
	if (!convert_take(c, f->binding->output, index, NULL, &value))
		return 0;
	if (!direct)
		return spill(f, value);
	add_row(f, value);
	return 1;
}

/* Spilled results, copied behind those that are out already. */
static flow_status
add_spilled(flow_function *f, flow_error *error)
{
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; i < f->spilled_count && status == FLOW_OK; i++) {
		if (flow_builder_full(f->builder)) {
			status = f->output->push(f->output, error);
			if (status == FLOW_OK)
				status = take_builder(f);
			if (status != FLOW_OK)
				return status;
		}
		flow_value copy;
		uint64_t size = flow_row_size(&f->spilled[i]);
		char *bytes = flow_builder_alloc(f->builder, size);
		if (bytes == NULL)
			return FLOW_E_MEMORY;
		flow_row_write(&f->spilled[i], bytes);
		status = flow_row_read(flow_slice_make(bytes, size), f->builder, &copy);
		if (status == FLOW_OK)
			add_row(f, copy);
	}
	return status;
}

/* --- the script -------------------------------------------------------------------------------------------------- */

int
function_emit(lua_State *lua)
{
	flow_function *f = sandbox_of(lua)->owner;
	if (f == NULL)
		return luaL_error(lua, "emit is for use in process: there is no record yet");
	luaL_checkany(lua, 1);
	lua_settop(lua, 1);
	if (f->conversion.status == FLOW_OK && take_result(f, 1))
		return 0;
	/* The record is rejected whatever the script does now. The message gets the line. */
	luaL_where(lua, 1);
	lua_pushstring(lua, f->conversion.reason);
	lua_concat(lua, 2);
	convert_fail(&f->conversion, NULL, f->conversion.status, "%s", lua_tostring(lua, -1));
	return lua_error(lua);
}

static int
process_record(lua_State *lua)
{
	flow_function *f = lua_touserdata(lua, 1);
	lua_settop(lua, 0);
	sandbox_push_process(lua);
	convert_push(&f->conversion, f->binding->input, &f->batch->value[f->row], NULL);
	f->box.left = f->box.instructions; /* making the table was our work */
	lua_call(lua, 1, LUA_MULTRET);
	int count = lua_gettop(lua);
	if (f->conversion.status != FLOW_OK || count == 0)
		return 0;
	if (count > 1)
		return luaL_error(lua, "process returned %d values; it returns one record or nil, and gives more with emit",
						  count);
	if (!lua_isnil(lua, 1))
		take_result(f, 1);
	return 0;
}

static flow_status
reject(flow_function *f, flow_status status, const char *reason, flow_error *error)
{
	return f->context->ops->reject(f->context, f->batch, f->row, status, flow_slice_of(reason), error);
}

static flow_status
out_of_memory(const flow_function *f, flow_error *error)
{
	return flow_fail(f->binding->host, error, FLOW_E_MEMORY, "lua: out of memory");
}

/* Takes back what a failed record has given so far. */
static flow_status
run_record(flow_function *f, flow_error *error)
{
	uint32_t before = f->builder->row_count;
	struct conversion *c = &f->conversion;
	c->status = FLOW_OK;
	c->left = f->binding->memory;
	f->spilled = NULL;
	f->spilled_count = f->spilled_room = 0;
	flow_status status = sandbox_run(&f->box, process_record, f);
	if (c->status == FLOW_E_MEMORY)
		return out_of_memory(f, error);
	if (c->status == FLOW_OK && status == FLOW_OK) {
		status = add_spilled(f, error);
		return status == FLOW_E_MEMORY ? out_of_memory(f, error) : status;
	}
	f->builder->row_count = before;
	return c->status != FLOW_OK ? reject(f, c->status, c->reason, error) : reject(f, status, f->box.reason, error);
}

/* A record without value stays one: it deletes, and there is nothing to compute. */
flow_status
function_process(flow_function *f, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	f->batch = batch;
	f->scratch = f->context->ops->scratch(f->context);
	if (take_builder(f) != FLOW_OK)
		return out_of_memory(f, error);
	for (FLOW_ROWS(batch, i)) {
		flow_status status = FLOW_OK;
		f->row = flow_row(batch, i);
		if (flow_builder_full(f->builder)) {
			status = f->output->push(f->output, error);
			if (status == FLOW_OK && take_builder(f) != FLOW_OK)
				status = out_of_memory(f, error);
		}
		if (status == FLOW_OK && flow_is_null(batch->value[f->row]))
			add_row(f, flow_null());
		else if (status == FLOW_OK)
			status = run_record(f, error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}
