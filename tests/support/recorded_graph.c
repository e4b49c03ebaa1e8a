#include "support/recorded_graph.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"

struct recorded_graph {
	flow_graph shown; /* first: what setters see */
	arena *arena;
	flow_descriptor application;
	char text[8192], given[8192];
	size_t size;
};

static recorded_graph *
of(const flow_graph *graph)
{
	return (recorded_graph *)(uintptr_t)graph;
}

static const char *
kind_of(const flow_descriptor *descriptor)
{
	static const char *const names[] = { "", "system", "input", "output", "table", "step", "application" };
	return names[descriptor->kind];
}

static void
check_place(const char *place)
{
	const char *line = place == NULL ? NULL : strrchr(place, ':');
	if (line == NULL || strspn(line + 1, "0123456789") != strlen(line + 1) || strstr(place, "_test.c:") == NULL)
		fail_msg("a call has the place \"%s\"", place == NULL ? "" : place);
}

static void __attribute__((format(printf, 3, 4)))
note(const flow_descriptor *about, const char *place, const char *format, ...)
{
	recorded_graph *r = of(about->graph);
	check_place(place);
	char *at = r->text + r->size;
	size_t room = sizeof(r->text) - r->size;
	int written = snprintf(at, room, "%s%s%s: ", kind_of(about), about->name == NULL ? "" : " ",
						   about->name == NULL ? "" : about->name);
	va_list arguments;
	va_start(arguments, format);
	written += vsnprintf(at + written, room - (size_t)written, format, arguments);
	va_end(arguments);
	assert_true((size_t)written + 2 < room);
	strcpy(at + written, "\n");
	r->size += (size_t)written + 1;
}

static flow_descriptor *
make(flow_graph *graph, uint32_t kind, const char *name)
{
	flow_descriptor *made = arena_allocate_zeroed(of(graph)->arena, sizeof(*made));
	assert_non_null(made);
	*made = (flow_descriptor){ .struct_size = FLOW_SIZEOF(flow_descriptor), .kind = kind, .graph = graph, .name = name };
	return made;
}

static flow_descriptor *
descriptor(flow_graph *graph, uint32_t kind, const char *name, const char *place)
{
	flow_descriptor *made = make(graph, kind, name);
	note(made, place, "described");
	return made;
}

static void
set_text(flow_descriptor *about, const char *path, const char *text, const char *place)
{
	note(about, place, "%s = \"%s\"", path, text);
}

static void
set_int(flow_descriptor *about, const char *path, int64_t number, const char *place)
{
	note(about, place, "%s = %lld", path, (long long)number);
}

static void
set_float(flow_descriptor *about, const char *path, double number, const char *place)
{
	note(about, place, "%s = %g (float)", path, number);
}

static void
set_bool(flow_descriptor *about, const char *path, int truth, const char *place)
{
	note(about, place, "%s = %s", path, truth ? "true" : "false");
}

static void
add_text(flow_descriptor *about, const char *path, const char *text, const char *place)
{
	note(about, place, "%s + \"%s\"", path, text);
}

static void
set_system(flow_descriptor *stream, const char *system_name, const char *place)
{
	note(stream, place, "in system %s", system_name);
}

static flow_descriptor *
step(flow_graph *graph, flow_descriptor *previous, const char *name, const char *place)
{
	flow_descriptor *made = make(graph, FLOW_DESCRIBE_STEP, name);
	note(made, place, "behind %s %s", kind_of(previous), previous->name == NULL ? "" : previous->name);
	return made;
}

static void
connect(flow_descriptor *about, flow_descriptor *second, const char *place)
{
	note(about, place, "connected to %s %s", kind_of(second), second->name);
}

static flow_descriptor *
application(flow_graph *graph)
{
	return &of(graph)->application;
}

static void
set_context(flow_graph *graph, flow_status (*init)(void **shared, flow_error *error), void (*close)(void *shared))
{
	(void)graph;
	(void)init;
	(void)close;
}

static void
merge(flow_descriptor *about, flow_descriptor *other, const char *place)
{
	note(about, place, "merged with %s %s", kind_of(other), other->name);
}

static flow_descriptor *
second_output(flow_descriptor *about, const char *place)
{
	flow_descriptor *made = make(about->graph, FLOW_DESCRIBE_STEP, about->name);
	note(made, place, "its second output");
	return made;
}

static void
inherit(flow_descriptor *input, const char *place)
{
	note(input, place, "inherits");
}

static const flow_graph_ops graph_ops = {
	.struct_size = FLOW_SIZEOF(flow_graph_ops),
	.descriptor = descriptor,
	.set_text = set_text,
	.set_int = set_int,
	.set_float = set_float,
	.set_bool = set_bool,
	.add_text = add_text,
	.set_system = set_system,
	.step = step,
	.connect = connect,
	.application = application,
	.set_context = set_context,
	.merge = merge,
	.second_output = second_output,
	.inherit = inherit,
};

int
recorded_graph_setup(void **state)
{
	arena *memory = arena_create();
	recorded_graph *r = memory == NULL ? NULL : arena_allocate_zeroed(memory, sizeof(*r));
	assert_non_null(r);
	r->arena = memory;
	r->shown = (flow_graph){ FLOW_SIZEOF(flow_graph), 0, &graph_ops };
	r->application = (flow_descriptor){ .struct_size = FLOW_SIZEOF(flow_descriptor),
										.kind = FLOW_DESCRIBE_APPLICATION,
										.graph = &r->shown };
	*state = r;
	return 0;
}

int
recorded_graph_teardown(void **state)
{
	recorded_graph *r = *state;
	arena_destroy(r->arena);
	return 0;
}

flow_graph *
recorded_graph_of(recorded_graph *r)
{
	return &r->shown;
}

const char *
recorded_graph_text(recorded_graph *r)
{
	memcpy(r->given, r->text, r->size + 1);
	r->size = 0;
	r->text[0] = '\0';
	return r->given;
}
