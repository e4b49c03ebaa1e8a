/* What a function says about itself when it is bound is checked against where it stands: shape, kinds of streams, state. */
#include <string.h>

#include "base/schema.h"
#include "graph/planner.h"

static const char *
redistribution_name(uint32_t redistribution)
{
	static const char *const names[] = { "none", "split", "union", "identical" };
	return redistribution < FLOW_COUNT(names) ? names[redistribution] : "?";
}

/* Whether state with this redistribution is legal, by the kinds of the inputs. `why` says what to do where it is not. */
static int
may_redistribute(uint32_t redistribution, const plan_cursor *inputs, uint32_t count, const char **why)
{
	uint32_t kind = inputs[0].kind;
	int broadcast = count == 2 && inputs[1].kind == FLOW_STREAM_BROADCAST;
	switch (redistribution) {
	case FLOW_REDISTRIBUTE_NONE:
		*why = "put key_by = \"...\" (or global = true) in front of it";
		return kind == FLOW_STREAM_KEYED || kind == FLOW_STREAM_GLOBAL;
	case FLOW_REDISTRIBUTE_SPLIT:
	case FLOW_REDISTRIBUTE_UNION:
		return 1;
	default:
		*why = "only a broadcast input can keep it the same in all tasks, so connect the step to a broadcast stream";
		return redistribution == FLOW_REDISTRIBUTE_IDENTICAL && broadcast;
	}
}

static int
check_state(planner *p, const plan_step *step, const flow_state_declaration *state, const plan_cursor *inputs,
			uint32_t count)
{
	const setting *place = step->step->place;
	const char *id = step->step->function, *why = "";
	int identical = state->redistribution == FLOW_REDISTRIBUTE_IDENTICAL;
	int sized = state->kind != FLOW_STATE_SLOT || (state->slot_size != 0 && state->slot_size % 8 == 0);
	if (state->name == NULL || state->kind < FLOW_STATE_VALUE || state->kind > FLOW_STATE_BROADCAST || !sized) {
		problem_at(p->problems, place,
				   "plugin error: state '%s' of '%s' has kind %u and slots of %u bytes: there is no such state",
				   state->name == NULL ? "" : state->name, id, state->kind, state->slot_size);
		return 0;
	}
	if (!may_redistribute(state->redistribution, inputs, count, &why)) {
		problem_at(p->problems, place, "'%s' keeps %s, '%s', and %s is %s: %s", id,
				   state->redistribution == FLOW_REDISTRIBUTE_NONE ? "state for each key"
																   : "the same state in all tasks",
				   state->name, planner_origin_name(p, &step->step->origins[0]), stream_kind_name(inputs[0].kind), why);
		return 0;
	}
	if (identical != (state->kind == FLOW_STATE_BROADCAST)) {
		problem_at(
			p->problems, place,
			"plugin error: state '%s' of '%s' is %s; state that is the same in all tasks is broadcast state, and only "
			"that",
			state->name, id, identical ? "declared identical" : "broadcast state without identical redistribution");
		return 0;
	}
	if (state->redistribution != FLOW_REDISTRIBUTE_NONE && !identical && state->kind != FLOW_STATE_LIST) {
		problem_at(p->problems, place,
				   "plugin error: state '%s' of '%s' is redistributed by %s, which only lists can be", state->name, id,
				   redistribution_name(state->redistribution));
		return 0;
	}
	return 1;
}

static int
check_states(planner *p, const plan_step *step, const flow_function_plan *function, const plan_cursor *inputs,
			 uint32_t count)
{
	const setting *place = step->step->place;
	const flow_state_declaration *const *states = function->states;
	int good = 1;
	if (function->uses_timers == 0 && (states == NULL || states[0] == NULL))
		return 1;
	if (step->step->name == NULL) {
		problem_in(p->problems, place, "name", "is missing: the step keeps state under its name");
		return 0;
	}
	for (size_t i = 0; states != NULL && states[i] != NULL; i++)
		good &= check_state(p, step, states[i], inputs, count);
	if (!good || function->uses_timers == 0 || inputs[0].kind == FLOW_STREAM_KEYED ||
		inputs[0].kind == FLOW_STREAM_GLOBAL)
		return good;
	problem_at(p->problems, place,
			   "'%s' sets timers for each key, and %s is %s: put key_by = \"...\" (or global = true) in "
			   "front of it",
			   step->step->function, planner_origin_name(p, &step->step->origins[0]), stream_kind_name(inputs[0].kind));
	return 0;
}

static int
check_shape(planner *p, const plan_step *step, const flow_function_plan *function, const plan_cursor *inputs,
			uint32_t count)
{
	const setting *place = step->step->place;
	const char *id = step->step->function;
	if (function->shape > FLOW_SHAPE_TWO_OUTPUTS) {
		problem_at(p->problems, place, "plugin error: '%s' has shape %u, which there is not", id, function->shape);
		return 0;
	}
	int two = function->shape == FLOW_SHAPE_TWO_INPUTS || function->shape == FLOW_SHAPE_BROADCAST;
	int broadcast = count == 2 && inputs[1].kind == FLOW_STREAM_BROADCAST;
	if (two && count == 1) {
		problem_at(p->problems, place, "'%s' takes two inputs; name the second one: connect = \"...\"", id);
		return 0;
	}
	if (!two && count == 2) {
		problem_at(p->problems, step->step->second->place, "'%s' takes one input, so it cannot be connected to %s", id,
				   planner_origin_name(p, step->step->second));
		return 0;
	}
	if (two && broadcast != (function->shape == FLOW_SHAPE_BROADCAST)) {
		problem_at(p->problems, step->step->second->place,
				   broadcast ? "'%s' takes two streams of which none is broadcast; take broadcast = true away from %s"
							 : "'%s' takes a broadcast stream as its second input; put broadcast = true in front of %s",
				   id, planner_origin_name(p, step->swapped ? &step->step->origins[0] : step->step->second));
		return 0;
	}
	return 1;
}

static int
check_outputs(planner *p, const plan_step *step, const flow_function_plan *function)
{
	const setting *place = step->step->place;
	const char *id = step->step->function;
	if ((function->outputs[1] != NULL) != (function->shape == FLOW_SHAPE_TWO_OUTPUTS)) {
		problem_at(p->problems, place, "plugin error: '%s' %s", id,
				   function->outputs[1] != NULL ? "describes two outputs, but its shape has one"
												: "has the shape of two outputs, but describes one");
		return 0;
	}
	if (function->outputs[1] != NULL && function->outputs[0] == NULL) {
		problem_at(p->problems, place, "plugin error: '%s' describes its second output, but not its first", id);
		return 0;
	}
	if (function->outputs[1] != NULL && (function->output_keys[0] != NULL) != (function->output_keys[1] != NULL)) {
		problem_at(p->problems, place,
				   "plugin error: '%s' gives keys to one of its two outputs; both have keys, or none", id);
		return 0;
	}
	return 1;
}

/* An output that stays keyed without a shuffle has keys of its input's type: another type would belong elsewhere. */
static int
check_kept_keys(planner *p, const plan_step *step, const flow_function_plan *function, const plan_cursor *inputs)
{
	for (uint32_t i = 0; i < 2; i++) {
		const flow_schema *key = function->output_keys[i];
		if (inputs[0].kind != FLOW_STREAM_KEYED || !function->keeps_key || key == NULL ||
			schema_equal(key, inputs[0].key_schema))
			continue;
		problem_at(p->problems, step->step->place,
				   "plugin error: '%s' keeps the key of its input, but says that keys become %s (they are %s)",
				   step->step->function, planner_schema_text(p, key), planner_schema_text(p, inputs[0].key_schema));
		return 0;
	}
	return 1;
}

static int
check_passes(planner *p, const plan_step *step, const flow_function_plan *function, const plan_cursor *input)
{
	const flow_schema *output = function->outputs[0];
	for (uint32_t i = 0; function->passes != NULL && output != NULL && i < output->field_count; i++) {
		if (function->passes[i] >= -1 && function->passes[i] < (int32_t)input->schema->field_count)
			continue;
		problem_at(p->problems, step->step->place, "plugin error: '%s' passes on a field that its input does not have",
				   step->step->function);
		return 0;
	}
	return 1;
}

int
plan_check_function(planner *p, const plan_step *step, const flow_function_plan *function, const plan_cursor *inputs,
					uint32_t count)
{
	if (!check_shape(p, step, function, inputs, count) || !check_outputs(p, step, function))
		return 0;
	if (function->needs_keyed && inputs[0].kind != FLOW_STREAM_KEYED) {
		problem_at(p->problems, step->step->place, "'%s' needs a keyed stream: put key_by = \"...\" in front of it%s",
				   step->step->function, planner_came_from(p, step, count));
		return 0;
	}
	return check_kept_keys(p, step, function, inputs) && check_passes(p, step, function, &inputs[0]) &&
		   check_states(p, step, function, inputs, count);
}
