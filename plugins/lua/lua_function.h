/*
 * lua_function.h - the function `lua`: a script of the user's decides about each record.
 *
 * plugin.c    options and planning: the script is read, loaded once and checked
 * function.c  running: a record in, records out, all of them or none
 * sandbox.c   an interpreter with a limit of memory and of instructions, and few library functions
 * guards.c    library functions whose work does not show in instructions, counted by its size
 * convert.c   cells -> Lua values, and what both directions share
 * take.c      Lua values -> cells of the declared schema, exactly or not at all
 *
 * Threads: the binding is read-only after bind; an interpreter belongs to one task.
 * Errors: everything of Lua that can raise runs inside sandbox_run.
 */
#ifndef LUA_LUA_FUNCTION_H
#define LUA_LUA_FUNCTION_H

#include <lauxlib.h>
#include <lua.h>

#include "flow/flow.h"
#include "flow_sdk/plugin.h"

/* --- plugin.c --- */

struct lua_binding {
	const flow_host *host;
	const flow_schemas *schemas;
	char *script;
	uint64_t script_size;
	char *script_name; /* as Lua wants it: "=script", "@path" */
	uint64_t instructions;
	uint64_t memory;
	const flow_schema *input;  /* ours, records */
	const flow_schema *output; /* likewise */
};

/* --- function.c --- */

flow_status function_open(void *binding, flow_context *context, flow_function **function, flow_error *error);
flow_status function_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error);
void function_close(flow_function *function);
int function_emit(lua_State *lua); /* the script's emit(record) */

/* --- sandbox.c --- */

#define SANDBOX_REASON_SIZE 512

/* An interpreter. It must not move while it is open: the interpreter's allocator points at it. */
struct sandbox {
	const flow_host *host;
	lua_State *lua;
	uint64_t memory_used;
	uint64_t memory_limit;
	uint64_t instructions;            /* limit of each run */
	uint64_t left;                    /* of this run */
	int exhausted;                    /* this run used them up: nothing of the script runs any more */
	int starved;                      /* this run came to the limit of memory */
	void *owner;                      /* what emit belongs to; NULL while the script loads */
	char reason[SANDBOX_REASON_SIZE]; /* why the last run failed: UTF-8, the script's message with its line */
};

/* Opens an interpreter, runs the script and looks for its function `process`. After a failure it is closed already. */
flow_status sandbox_open(struct sandbox *box, const struct lua_binding *binding, void *owner, flow_error *error);
void sandbox_close(struct sandbox *box);
/* Runs work(argument as light userdata) under the limits. FLOW_E_LIMIT: out of instructions or memory; FLOW_E_FAILED: the script
 * raised an error; the text is in box->reason. */
flow_status sandbox_run(struct sandbox *box, lua_CFunction work, void *argument);
/* Pushes the script's function `process`. */
void sandbox_push_process(lua_State *lua);
struct sandbox *sandbox_of(lua_State *lua);
/* Keeps a message in SANDBOX_REASON_SIZE bytes, as UTF-8: bytes of other texts become '?'. */
void sandbox_keep_reason(char *reason, const char *text, size_t size);
/* Counts work that the interpreter does not see; raises when the run has no instructions left. */
void sandbox_charge(lua_State *lua, uint64_t instructions);

/* --- guards.c --- */

/* Replaces functions of the library tables that are open; inside sandbox_run. */
void guards_install(lua_State *lua);

/* --- convert.c, take.c --- */

#define CONVERT_DEPTH 32 /* lists, maps and records within each other */

/* One record on its way. `status` is sticky: once it is a failure, nothing more is converted. */
struct conversion {
	const flow_host *host;
	lua_State *lua;
	flow_builder *memory; /* what cells point at */
	uint64_t left;        /* bytes that the results of this record may still take */
	flow_status status;
	char reason[SANDBOX_REASON_SIZE];
};

/* Where in a record a value stands, for messages: links on the C stack, innermost first. */
struct place {
	const struct place *outer;
	flow_slice name; /* field or key; data NULL: an item of a list */
	uint64_t index;  /* of that item, from 1 */
	uint32_t depth;
};

/* Pushes the value; raises a Lua error, with the reason and status in the conversion, for what Lua cannot hold exactly. */
void convert_push(struct conversion *c, const flow_schema *schema, const flow_value *value, const struct place *place);
/* Makes a cell from the value at `index`; 0: status and reason say why not. Raises only for want of the interpreter's memory. */
int convert_take(struct conversion *c, const flow_schema *schema, int index, const struct place *place,
				 flow_value *value);
/* Notes a failure: "field a.b[2]: <text>". Returns 0. */
int convert_fail(struct conversion *c, const struct place *place, flow_status status, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* What stands for null inside lists and maps, where Lua cannot keep nil: the script's global `null`. */
void convert_push_null(lua_State *lua);
int convert_is_null(lua_State *lua, int index); /* nil or null */

#endif
