/*
 * Library functions that can work for long without running an instruction (lua_function.h): each counts its work by the size that
 * its arguments ask for, then goes on in the library's own function, in the same activation so that messages keep their line.
 */
#include "lua_function.h"

/* Work for which one instruction is counted. */
#define REPEATS_EACH 16

static int
library_function(lua_State *lua)
{
	return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

static uint64_t
distance(lua_Integer from, lua_Integer to)
{
	return to < from ? 0 : (uint64_t)to - (uint64_t)from + 1;
}

/* The library asks __len; a function there could answer something else each time. */
static lua_Integer
length_of(lua_State *lua)
{
	if (lua_type(lua, 1) == LUA_TTABLE && luaL_getmetafield(lua, 1, "__len") != LUA_TNIL)
		luaL_error(lua, "functions of table do not take tables with __len");
	return (lua_Integer)lua_rawlen(lua, 1);
}

static int
repeat(lua_State *lua)
{
	lua_Integer times = lua_tointeger(lua, 2);
	sandbox_charge(lua, times < 0 ? 0 : (uint64_t)times / REPEATS_EACH);
	return library_function(lua);
}

static int
insert(lua_State *lua)
{
	lua_Integer length = length_of(lua);
	if (lua_gettop(lua) == 3)
		sandbox_charge(lua, distance(lua_tointeger(lua, 2), length));
	return library_function(lua);
}

static int
remove_item(lua_State *lua)
{
	lua_Integer length = length_of(lua);
	if (lua_gettop(lua) >= 2)
		sandbox_charge(lua, distance(lua_tointeger(lua, 2), length));
	return library_function(lua);
}

/* Of the items from argument `from` to `from` + 1: concat and unpack. */
static void
charge_range(lua_State *lua, int from)
{
	lua_Integer length = length_of(lua);
	lua_Integer first = luaL_optinteger(lua, from, 1);
	sandbox_charge(lua, distance(first, luaL_optinteger(lua, from + 1, length)));
}

static int
concatenate(lua_State *lua)
{
	charge_range(lua, 3);
	return library_function(lua);
}

static int
unpack(lua_State *lua)
{
	charge_range(lua, 2);
	return library_function(lua);
}

static int
move(lua_State *lua)
{
	sandbox_charge(lua, distance(lua_tointeger(lua, 2), lua_tointeger(lua, 3)));
	return library_function(lua);
}

static int
sort(lua_State *lua)
{
	sandbox_charge(lua, (uint64_t)length_of(lua) * 4);
	return library_function(lua);
}

/* Finalizers run outside of all limits. */
static int
set_metatable(lua_State *lua)
{
	if (lua_type(lua, 2) == LUA_TTABLE) {
		lua_pushliteral(lua, "__gc");
		if (lua_rawget(lua, 2) != LUA_TNIL)
			return luaL_error(lua, "a script's metatables have no __gc");
		lua_pop(lua, 1);
	}
	return library_function(lua);
}

/* Message handlers of the script are not called for the end of its instructions: no limit holds within that call. */
static int
handle_error(lua_State *lua)
{
	if (sandbox_of(lua)->exhausted)
		return 1;
	lua_pushvalue(lua, lua_upvalueindex(1));
	lua_insert(lua, 1);
	lua_call(lua, lua_gettop(lua) - 1, 1);
	return 1;
}

static int
call_protected(lua_State *lua)
{
	if (lua_type(lua, 2) == LUA_TFUNCTION) {
		lua_pushvalue(lua, 2);
		lua_pushcclosure(lua, handle_error, 1);
		lua_replace(lua, 2);
	}
	return library_function(lua);
}

struct guard {
	const char *library;
	const char *name;
	lua_CFunction function;
};

static const struct guard guards[] = {
	{ "_G", "setmetatable", set_metatable }, { "_G", "xpcall", call_protected }, { "string", "rep", repeat },
	{ "table", "concat", concatenate },      { "table", "insert", insert },      { "table", "remove", remove_item },
	{ "table", "unpack", unpack },           { "table", "move", move },          { "table", "sort", sort },
};

void
guards_install(lua_State *lua)
{
	for (size_t i = 0; i < FLOW_COUNT(guards); i++) {
		lua_getglobal(lua, guards[i].library);
		lua_getfield(lua, -1, guards[i].name);
		lua_pushcclosure(lua, guards[i].function, 1);
		lua_setfield(lua, -2, guards[i].name);
		lua_pop(lua, 1);
	}
}
