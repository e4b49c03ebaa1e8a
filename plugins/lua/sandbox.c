/* An interpreter that can do nothing but compute, within limits (lua_function.h). */
#include "lua_function.h"

#include <lualib.h>
#include <stdio.h>

#include "flow_sdk/text.h"

#define HOOK_INTERVAL 1000 /* instructions between two looks at what is left */
#define BYTES_SHIFT 8      /* 256 bytes of fresh memory count as one instruction */
#define COLLECT_SHIFT 6    /* so do 64 bytes of what a collection for want of memory goes over */

static const char process_key; /* its address is the key in the registry */

struct sandbox *
sandbox_of(lua_State *lua)
{
	void *box;
	lua_getallocf(lua, &box);
	return box;
}

static void
count_work(struct sandbox *box, uint64_t instructions)
{
	box->left -= instructions < box->left ? instructions : box->left;
}

/* Lua relies on that shrinking never fails. When this fails it collects everything and tries again: work that is counted, else a
 * script near the limit would do nothing but collect. */
static void *
allocate(void *owner, void *memory, size_t old_size, size_t size)
{
	struct sandbox *box = owner;
	uint64_t before = memory == NULL ? 0 : old_size;
	if (size == 0) {
		box->host->release(memory);
		box->memory_used -= before;
		return NULL;
	}
	if (size > before) {
		if (size - before > box->memory_limit - box->memory_used) {
			box->starved = 1;
			count_work(box, box->memory_used >> COLLECT_SHIFT);
			return NULL;
		}
		count_work(box, (size - before) >> BYTES_SHIFT);
	}
	void *moved = box->host->reallocate(memory, size);
	if (moved == NULL && size > before)
		return NULL;
	box->memory_used = box->memory_used - before + size;
	return moved == NULL ? memory : moved;
}

static void count_instructions(lua_State *lua, lua_Debug *activation);

static void
limit_reason(struct sandbox *box, const char *place, int line)
{
	char where[LUA_IDSIZE + 16] = "";
	if (line > 0)
		snprintf(where, sizeof(where), "%s:%d: ", place, line);
	snprintf(box->reason, sizeof(box->reason), "%sthe script needs more than %llu %s", where,
			 (unsigned long long)(box->starved ? box->memory_limit : box->instructions),
			 box->starved ? "bytes; see the option memory" : "instructions; see the option instructions");
}

/* From here on every further instruction raises again: pcall and __close of the script cannot get around it. The error is no text,
 * because unwinding must not need memory. */
static void
exhaust(lua_State *lua, int level)
{
	struct sandbox *box = sandbox_of(lua);
	if (!box->exhausted) {
		lua_Debug activation;
		int known = lua_getstack(lua, level, &activation) && lua_getinfo(lua, "Sl", &activation);
		box->exhausted = 1;
		box->left = 0;
		limit_reason(box, known ? activation.short_src : "", known ? activation.currentline : 0);
		lua_sethook(lua, count_instructions, LUA_MASKCOUNT, 1);
	}
	lua_pushnil(lua);
	lua_error(lua);
}

static void
spend(lua_State *lua, uint64_t instructions, int level)
{
	struct sandbox *box = sandbox_of(lua);
	if (box->exhausted || instructions >= box->left)
		exhaust(lua, level);
	box->left -= instructions;
}

static void
count_instructions(lua_State *lua, lua_Debug *activation)
{
	(void)activation;
	const struct sandbox *box = sandbox_of(lua);
	spend(lua, box->instructions < HOOK_INTERVAL ? box->instructions : HOOK_INTERVAL, 0);
}

void
sandbox_charge(lua_State *lua, uint64_t instructions)
{
	spend(lua, instructions, 1);
}

/* Errors as text. An error that is a table is not asked for one: its __tostring is the script's too. */
static int
handle_message(lua_State *lua)
{
	if (lua_type(lua, 1) == LUA_TSTRING || lua_type(lua, 1) == LUA_TNUMBER)
		lua_tostring(lua, 1);
	else if (!sandbox_of(lua)->exhausted)
		lua_pushfstring(lua, "the script raised an error that is a %s, not a text", luaL_typename(lua, 1));
	return 1;
}

void
sandbox_keep_reason(char *reason, const char *text, size_t size)
{
	if (size >= SANDBOX_REASON_SIZE)
		size = SANDBOX_REASON_SIZE - 1;
	memmove(reason, text, size);
	reason[size] = '\0';
	for (uint64_t at = 0; (at += flow_utf8_check(reason + at, size - at)) < size;)
		reason[at] = '?';
}

/* The text of an error that lua_pcall has left on the stack, and what it means. */
static flow_status
failed_run(struct sandbox *box, int result)
{
	size_t size;
	if (box->exhausted || result == LUA_ERRMEM) {
		box->starved |= result == LUA_ERRMEM;
		if (!box->exhausted)
			limit_reason(box, "", 0);
		lua_gc(box->lua, LUA_GCCOLLECT);
		return FLOW_E_LIMIT;
	}
	const char *text = lua_tolstring(box->lua, -1, &size); /* a string already: nothing is converted */
	sandbox_keep_reason(box->reason, text == NULL ? "" : text, text == NULL ? 0 : size);
	return FLOW_E_FAILED;
}

flow_status
sandbox_run(struct sandbox *box, lua_CFunction work, void *argument)
{
	lua_State *lua = box->lua;
	box->left = box->instructions;
	box->exhausted = box->starved = 0;
	lua_settop(lua, 0);
	lua_sethook(lua, count_instructions, LUA_MASKCOUNT,
				box->instructions < HOOK_INTERVAL ? (int)box->instructions : HOOK_INTERVAL);
	lua_pushcfunction(lua, handle_message);
	lua_pushcfunction(lua, work);
	lua_pushlightuserdata(lua, argument);
	int result = lua_pcall(lua, 1, 0, 1);
	return result == LUA_OK && !box->exhausted ? FLOW_OK : failed_run(box, result);
}

void
sandbox_push_process(lua_State *lua)
{
	lua_rawgetp(lua, LUA_REGISTRYINDEX, &process_key);
}

/* --- opening ----------------------------------------------------------------------------------------------------- */

static void
open_library(lua_State *lua, const char *name, lua_CFunction open, const char *const *without)
{
	luaL_requiref(lua, name, open, 1);
	for (; *without != NULL; without++) {
		lua_pushnil(lua);
		lua_setfield(lua, -2, *without);
	}
	lua_pop(lua, 1);
}

/* Equal runs give equal numbers. */
static void
seed_random(lua_State *lua)
{
	lua_getglobal(lua, "math");
	lua_getfield(lua, -1, "randomseed");
	lua_pushinteger(lua, 1);
	lua_call(lua, 1, 0);
	lua_pushnil(lua);
	lua_setfield(lua, -2, "randomseed");
	lua_pop(lua, 1);
}

static int
set_up(lua_State *lua)
{
	static const char *const not_base[] = { "load",  "loadfile", "dofile",         "loadstring", "require",
											"print", "warn",     "collectgarbage", NULL };
	static const char *const not_string[] = { "dump", NULL };
	static const char *const nothing[] = { NULL };
	open_library(lua, LUA_GNAME, luaopen_base, not_base);
	open_library(lua, LUA_STRLIBNAME, luaopen_string, not_string);
	open_library(lua, LUA_TABLIBNAME, luaopen_table, nothing);
	open_library(lua, LUA_MATHLIBNAME, luaopen_math, nothing);
	open_library(lua, LUA_UTF8LIBNAME, luaopen_utf8, nothing);
	guards_install(lua);
	seed_random(lua);
	lua_pushcfunction(lua, function_emit);
	lua_setglobal(lua, "emit");
	convert_push_null(lua);
	lua_setglobal(lua, "null");
	return 0;
}

static int
load_script(lua_State *lua)
{
	const struct lua_binding *binding = lua_touserdata(lua, 1);
	if (luaL_loadbufferx(lua, binding->script, binding->script_size, binding->script_name, "t") != LUA_OK)
		return lua_error(lua);
	lua_call(lua, 0, 0);
	lua_getglobal(lua, "process");
	if (lua_type(lua, -1) != LUA_TFUNCTION)
		return luaL_error(lua, "the script must define a function process(record), but process is %s",
						  luaL_typename(lua, -1));
	lua_rawsetp(lua, LUA_REGISTRYINDEX, &process_key);
	return 0;
}

flow_status
sandbox_open(struct sandbox *box, const struct lua_binding *binding, void *owner, flow_error *error)
{
	memset(box, 0, sizeof(*box));
	box->host = binding->host;
	box->memory_limit = binding->memory;
	box->instructions = binding->instructions;
	box->lua = lua_newstate(allocate, box);
	if (box->lua == NULL)
		return flow_fail(box->host, error, FLOW_E_MEMORY, "no memory for an interpreter; see the option memory");
	uint64_t instructions = box->instructions;
	box->instructions = UINT32_MAX; /* our own work is not the script's */
	flow_status status = sandbox_run(box, set_up, NULL);
	box->instructions = instructions;
	if (status == FLOW_OK)
		status = sandbox_run(box, load_script, (void *)(uintptr_t)binding);
	if (status == FLOW_OK) {
		box->owner = owner;
		return FLOW_OK;
	}
	flow_fail(box->host, error, status == FLOW_E_FAILED ? FLOW_E_CONFIG : status, "%s", box->reason);
	sandbox_close(box);
	return status == FLOW_E_FAILED ? FLOW_E_CONFIG : status;
}

void
sandbox_close(struct sandbox *box)
{
	if (box->lua != NULL)
		lua_close(box->lua);
	box->lua = NULL;
}
