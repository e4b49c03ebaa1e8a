/* The function table's look-up, the classes of arguments, and the kernel that calls a function for each row. */
#include "expr/function.h"

#include <string.h>

#include "base/distance.h"
#include "base/error.h"

const function *const function_tables[] = { general_functions, text_functions, math_functions, time_functions, NULL };

const function *
function_find(flow_slice name)
{
	for (size_t t = 0; function_tables[t] != NULL; t++)
		for (const function *fn = function_tables[t]; fn->name != NULL; fn++)
			if (flow_slice_is(name, fn->name))
				return fn;
	return NULL;
}

const char *
function_nearest(const char *name)
{
	const char *names[128];
	size_t count = 0;
	for (size_t t = 0; function_tables[t] != NULL; t++)
		for (const function *fn = function_tables[t]; fn->name != NULL && count < FLOW_COUNT(names); fn++)
			names[count++] = fn->name;
	return distance_nearest(name, names, count);
}

char
function_class(const function *fn, uint32_t argument)
{
	size_t known = strlen(fn->classes);
	return known == 0 ? 'a' : fn->classes[argument < known ? argument : known - 1];
}

const char *
class_name(char class)
{
	switch (class) {
	case 's':
		return "a string";
	case 'x':
		return "a string or bytes";
	case 'i':
		return "an integer";
	case 'n':
	case 'f':
		return "a number";
	case 't':
		return "a date or timestamp";
	case 'T':
		return "a timestamp";
	case 'u':
		return "the name of a unit";
	case 'c':
		return "a list or map";
	case 'o':
		return "a value that has a text form";
	default:
		return "a value";
	}
}

int
class_accepts_cell(char class, uint8_t type)
{
	switch (class) {
	case 's':
	case 'u':
		return type == FLOW_STRING;
	case 'x':
		return type == FLOW_STRING || type == FLOW_BYTES;
	case 'i':
		return type == FLOW_INT64;
	case 'n':
		return type >= FLOW_INT64 && type <= FLOW_DECIMAL;
	case 'f':
		return type == FLOW_FLOAT64;
	case 't':
		return type == FLOW_DATE || type == FLOW_TIMESTAMP;
	case 'T':
		return type == FLOW_TIMESTAMP;
	case 'c':
		return type == FLOW_LIST || type == FLOW_MAP;
	case 'o':
		return type == FLOW_STRING; /* typing casts to it */
	default:
		return 1;
	}
}

int
class_accepts_kind(char class, uint8_t kind)
{
	if (kind_is_dynamic(kind) || kind == FLOW_KIND_NULL)
		return 1;
	switch (class) {
	case 's':
	case 'u':
		return kind == FLOW_KIND_STRING || kind == FLOW_KIND_ENUM;
	case 'x':
		return kind == FLOW_KIND_STRING || kind == FLOW_KIND_ENUM || kind == FLOW_KIND_BYTES || kind == FLOW_KIND_FIXED;
	case 'i':
		return kind_is_integer(kind);
	case 'n':
	case 'f':
		return kind_is_number(kind);
	case 't':
		return kind == FLOW_KIND_DATE || kind == FLOW_KIND_TIMESTAMP;
	case 'T':
		return kind == FLOW_KIND_TIMESTAMP;
	case 'c':
		return kind == FLOW_KIND_LIST || kind == FLOW_KIND_MAP;
	case 'o':
		return kind < FLOW_KIND_LIST;
	default:
		return 1;
	}
}

/* 1: the row function can be called; 0: the result is null; -1: an argument has the wrong type. */
static int
arguments_fit(const node *n, const flow_value *const *arguments, uint32_t count, uint32_t *wrong)
{
	for (uint32_t i = 0; i < count; i++) {
		if (arguments[i]->type == FLOW_NULL) {
			if (n->function->takes_null)
				continue;
			return 0;
		}
		if (!class_accepts_cell(function_class(n->function, i), arguments[i]->type)) {
			*wrong = i;
			return -1;
		}
	}
	return 1;
}

static flow_status
call_row(const node *n, frame *f, uint32_t slot, const flow_value *const *arguments, uint32_t count, flow_value *result)
{
	uint32_t wrong = 0;
	int fit = arguments_fit(n, arguments, count, &wrong);
	*result = flow_null();
	if (fit < 0)
		return slot_fail(f, n, slot, FLOW_E_TYPE, "argument %u of %s is %s, not %s", wrong + 1, n->function->name,
						 cell_type_name(arguments[wrong]->type), class_name(function_class(n->function, wrong)));
	flow_status status = fit ? n->function->row(f, n, arguments, result) : FLOW_OK;
	if (status == FLOW_OK)
		return FLOW_OK;
	*result = flow_null();
	return slot_fail(f, n, slot, status, "%s: %s", n->function->name, f->message == NULL ? "failed" : f->message);
}

flow_status
call_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand views[ARGUMENT_LIMIT] = { { NULL, 0 } };
	flow_status status = FLOW_OK;
	uint32_t count = n->child_count;
	for (uint32_t i = 0; i < count && status == FLOW_OK; i++)
		status = operand_hold(n->children[i], f, s, target + 1 + i, &views[i]);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		const flow_value *arguments[ARGUMENT_LIMIT];
		uint32_t slot = s.list[i];
		for (uint32_t a = 0; a < count; a++)
			arguments[a] = &views[a].cells[slot & views[a].mask];
		status = call_row(n, f, slot, arguments, count, &to[slot]);
	}
	return status;
}
