/*
 * aggregate, planning: count, sum, avg, min, max of the records of a key, in tumbling windows of event time or over all that there
 * is: then once at the end, or every so often for the keys that changed. The result has the key's fields, the window's start (and end), then the aggregates.
 */
#include "std.h"

#include <stdio.h>

static void
unbind(void *opaque)
{
	struct aggregate_binding *binding = opaque;
	const flow_host *host = binding->services.host;
	for (uint32_t i = 0; i < binding->aggregate_count; i++) {
		if (binding->aggregates[i].call.argument != NULL)
			binding->services.expressions->release(binding->aggregates[i].call.argument);
		if (binding->aggregates[i].call.result != NULL)
			binding->services.schemas->release(binding->aggregates[i].call.result);
	}
	if (binding->services.schemas != NULL) {
		binding->services.schemas->release(binding->output);
		binding->services.schemas->release(binding->time);
	}
	host->release(binding->aggregates);
	host->release(binding->reads);
	host->release(binding->layout);
	host->release(binding->event_time);
	host->release(binding);
}

/* 128 bits hold the sum of as many 64-bit integers as there can be. */
static int
may_refuse(const struct aggregate_binding *binding, const flow_aggregate_call *call)
{
	if (call->kind == FLOW_AGGREGATE_COUNT || call->argument == NULL)
		return 0;
	uint8_t kind = binding->services.expressions->type(call->argument)->kind;
	return kind == FLOW_KIND_DECIMAL || kind == FLOW_KIND_FLOAT32 || kind == FLOW_KIND_FLOAT64 || kind == FLOW_KIND_ANY;
}

static flow_status
compile_aggregates(struct aggregate_binding *binding, const flow_option_value *calls, const flow_schema *schema,
				   flow_error *error)
{
	const flow_host *host = binding->services.host;
	binding->aggregates = flow_new(host, (calls->entry_count + 1) * sizeof(*binding->aggregates));
	if (binding->aggregates == NULL)
		return bound_no_memory(host, error);
	for (uint64_t i = 0; i < calls->entry_count; i++) {
		struct aggregate *aggregate = &binding->aggregates[i];
		const flow_option_value *text = calls->entries[i]->value;
		aggregate->name = calls->entries[i]->name.data;
		aggregate->call.struct_size = FLOW_SIZEOF(flow_aggregate_call);
		flow_status status =
			binding->services.expressions->aggregate(text->text, schema, text->place, &aggregate->call, error);
		if (status != FLOW_OK)
			return status;
		binding->aggregate_count++;
		binding->may_refuse |= may_refuse(binding, &aggregate->call);
		bound_mark_reads(&binding->services, aggregate->call.argument, binding->reads);
	}
	return FLOW_OK;
}

/* One slot per key and window holds all aggregates; its layout names each part, so that a checkpoint of another one is refused. */
static flow_status
lay_out_slot(struct aggregate_binding *binding, flow_error *error)
{
	const flow_host *host = binding->services.host;
	const char *changed = binding->every == 0 ? "" : ",changed:u64";
	uint64_t size = 0, text_size = strlen(changed) + 1;
	const char *part;
	for (uint32_t i = 0; i < binding->aggregate_count; i++) {
		struct aggregate *aggregate = &binding->aggregates[i];
		aggregate->offset = size;
		size += binding->services.expressions->aggregate_size(&aggregate->call, &part);
		text_size += strlen(aggregate->name) + strlen(part) + 2;
	}
	binding->layout = host->allocate(text_size);
	if (binding->layout == NULL)
		return bound_no_memory(host, error);
	uint64_t used = 0;
	binding->layout[0] = '\0';
	for (uint32_t i = 0; i < binding->aggregate_count; i++) {
		binding->services.expressions->aggregate_size(&binding->aggregates[i].call, &part);
		used += (uint64_t)snprintf(binding->layout + used, text_size - used, "%s%s:%s", i == 0 ? "" : ",",
								   binding->aggregates[i].name, part);
	}
	memcpy(binding->layout + used, changed, strlen(changed) + 1);
	binding->changed_offset = size;
	size += binding->every == 0 ? 0 : sizeof(uint64_t);
	binding->state = (flow_state_declaration){
		.struct_size = FLOW_SIZEOF(flow_state_declaration),
		.kind = FLOW_STATE_SLOT,
		.slot_size = (uint32_t)size,
		.name = "aggregates",
		.layout = binding->layout,
	};
	binding->states[0] = &binding->state;
	return FLOW_OK;
}

struct output_fields {
	flow_field_spec *specs;
	const flow_field_spec **pointers;
	uint32_t count;
};

static void
add_field(struct output_fields *fields, flow_slice name, const flow_schema *schema)
{
	flow_field_spec *spec = &fields->specs[fields->count];
	*spec = (flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec), .name = name, .schema = schema };
	fields->pointers[fields->count++] = spec;
}

static int
is_plain_name(flow_slice text)
{
	for (uint64_t i = 0; i < text.size; i++) {
		char c = text.data[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (i > 0 && c >= '0' && c <= '9')))
			return 0;
	}
	return text.size > 0;
}

static void
add_key_fields(struct aggregate_binding *binding, struct output_fields *fields, const flow_function_input *input)
{
	const flow_schema *key = input->key_schema;
	if (key == NULL)
		return;
	binding->key_is_record = key->kind == FLOW_KIND_RECORD;
	for (uint32_t i = 0; binding->key_is_record && i < key->field_count; i++)
		add_field(fields, key->fields[i]->name, key->fields[i]->schema);
	if (!binding->key_is_record)
		add_field(fields, is_plain_name(input->key_text) ? input->key_text : flow_slice_of("key"), key);
	binding->key_field_count = fields->count;
}

static flow_status
make_output(struct aggregate_binding *binding, const flow_options *options, const flow_function_input *input,
			flow_error *error)
{
	const flow_host *host = binding->services.host;
	uint64_t most = binding->aggregate_count + 3 + (input->key_schema == NULL ? 0 : input->key_schema->field_count + 1);
	struct output_fields fields = { flow_new(host, most * sizeof(flow_field_spec)),
									flow_new(host, most * sizeof(void *)), 0 };
	flow_status status = FLOW_OK;
	if (fields.specs == NULL || fields.pointers == NULL) {
		status = bound_no_memory(host, error);
	} else {
		flow_slice start = flow_option_text(options, "window.start"), end = flow_option_text(options, "window.end");
		add_key_fields(binding, &fields, input);
		binding->has_start = binding->window != 0 && start.size != 0;
		binding->has_end = binding->window != 0 && end.size != 0;
		if (binding->has_start)
			add_field(&fields, start, binding->time);
		if (binding->has_end)
			add_field(&fields, end, binding->time);
		for (uint32_t i = 0; i < binding->aggregate_count; i++)
			add_field(&fields, flow_slice_of(binding->aggregates[i].name), binding->aggregates[i].call.result);
		binding->output =
			binding->services.schemas->make_record(flow_slice_of("aggregate"), fields.pointers, fields.count, error);
		if (binding->output == NULL)
			status = host->errors->status(error) < 0 ? host->errors->status(error) : FLOW_E_MEMORY;
	}
	host->release(fields.specs);
	host->release(fields.pointers);
	return status;
}

static flow_status
settle_window(struct aggregate_binding *binding, const flow_options *options, flow_function_plan *plan,
			  flow_error *error)
{
	const flow_host *host = binding->services.host;
	binding->window = flow_option_int(options, "window.tumbling", 0);
	binding->every = flow_option_int(options, "emit_every", 0);
	if (binding->window == 0) {
		plan->uses_timers = binding->every != 0;
		return FLOW_OK;
	}
	binding->time = binding->services.schemas->parse_type(flow_slice_of("timestamp"), error);
	flow_slice time = flow_option_text(options, "window.time");
	if (time.size != 0) {
		binding->event_time = host->allocate(time.size + 1);
		if (binding->event_time == NULL)
			return bound_no_memory(host, error);
		memcpy(binding->event_time, time.data, time.size + 1);
	}
	plan->event_time = binding->event_time;
	plan->out_of_order = flow_option_int(options, "window.out_of_order", 0);
	plan->idle_after = flow_option_int(options, "window.idle_after", 0);
	plan->needs_event_time = 1;
	plan->uses_timers = 1;
	return binding->time == NULL ? host->errors->status(error) : FLOW_OK;
}

static flow_status
check_input(const struct aggregate_binding *binding, const flow_options *options, const flow_function_input *input,
			flow_error *error)
{
	const flow_host *host = binding->services.host;
	if (input->stream != FLOW_STREAM_KEYED && input->stream != FLOW_STREAM_GLOBAL)
		return flow_fail(
			host, error, FLOW_E_CONFIG,
			"%.*s: aggregate needs a keyed or a global stream: put key_by = \"...\" (or global = true) in front",
			(int)options->place.size, options->place.data);
	if (binding->window != 0 && binding->every != 0) {
		host->errors->option(error, "emit_every");
		return flow_fail(host, error, FLOW_E_CONFIG,
						 "windows give their result when they are complete; leave out either this or the window");
	}
	if (binding->window == 0 && binding->every == 0 && !input->bounded)
		return flow_fail(
			host, error, FLOW_E_CONFIG,
			"%.*s: aggregate without a window gives its result at the end of the input, but this input does not "
			"end; add emit_every = \"...\" or window: { tumbling = \"...\"; }",
			(int)options->place.size, options->place.data);
	return FLOW_OK;
}

static flow_status
bind_aggregate(struct aggregate_binding *binding, const flow_options *options, const flow_function_input *input,
			   flow_function_plan *plan, flow_error *error)
{
	flow_status status = services_find(binding->services.host, &binding->services, error);
	if (status == FLOW_OK)
		status = bound_check_record(&binding->services, options, input, 1, error);
	if (status == FLOW_OK) {
		binding->reads = flow_new(binding->services.host, input->schema->field_count + 1);
		status = binding->reads == NULL ? bound_no_memory(binding->services.host, error)
										: settle_window(binding, options, plan, error);
	}
	if (status == FLOW_OK)
		status = check_input(binding, options, input, error);
	if (status == FLOW_OK)
		status = compile_aggregates(binding, flow_option_get(options, "aggregate"), input->schema, error);
	if (status == FLOW_OK)
		status = lay_out_slot(binding, error);
	if (status == FLOW_OK)
		status = make_output(binding, options, input, error);
	return status;
}

static flow_status
bind(const flow_host *host, const flow_options *options, const flow_function_input *const *inputs, uint32_t input_count,
	 flow_function_plan *plan, void **result, flow_error *error)
{
	(void)input_count;
	struct aggregate_binding *binding = flow_new(host, sizeof(*binding));
	if (binding == NULL)
		return bound_no_memory(host, error);
	binding->services.host = host;
	flow_status status = bind_aggregate(binding, options, inputs[0], plan, error);
	if (status != FLOW_OK) {
		unbind(binding);
		return status;
	}
	plan->outputs[0] = binding->output;
	plan->keeps_key = inputs[0]->key_schema != NULL;
	plan->states = binding->states;
	plan->reads[0] = binding->reads;
	*result = binding;
	return FLOW_OK;
}

static const flow_function_ops ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.bind = bind,
	.unbind = unbind,
	.open = aggregate_open,
	.process = aggregate_process,
	.timers = aggregate_timers,
	.end_input = aggregate_end_input,
	.close = aggregate_close,
};

static const flow_option tumbling = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_DURATION,
	.flags = FLOW_OPTION_REQUIRED,
	.name = "tumbling",
	.doc = "Length of the windows. They start at multiples of it since 1970-01-01T00:00:00Z.",
	.minimum = "1us",
	.example = "\"1h\"",
};
static const flow_option time_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_EXPRESSION,
	.name = "time",
	.doc = "The event time of a record: a field or expression of type timestamp or date. Without it records keep the "
		   "event "
		   "time that they came with.",
	.example = "\"time_hour\"",
};
static const flow_option out_of_order = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_DURATION,
	.name = "out_of_order",
	.doc = "How far records may be behind the latest one of their input. Records that are later are late (see "
		   "late_records).",
	.default_text = "0s",
	.example = "\"1d\"",
};
static const flow_option idle_after = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_DURATION,
	.name = "idle_after",
	.doc = "A partition that gave no record for so long does not hold back event time. Absent: it always does.",
};
static const flow_option start_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "start",
	.doc = "Name of the result's field with the window's start; empty: there is none.",
	.default_text = "window_start",
};
static const flow_option end_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "end",
	.doc = "Name of the result's field with the window's end (exclusive). Absent: there is none.",
};
static const flow_option *const window_members[] = { &tumbling,     &time_option, &out_of_order, &idle_after,
													 &start_option, &end_option,  NULL };
static const flow_option window_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_GROUP,
	.name = "window",
	.doc =
		"Windows of event time. Without it the result is that of all records (emit_every, or at the end of the input).",
	.members = window_members,
	.example = "{ tumbling = \"1h\"; time = \"time_hour\"; }",
};
static const flow_option aggregate_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_STRING,
	.flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_PRIMARY,
	.name = "aggregate",
	.doc = "Name and aggregate of each field of the result: count(*), count(x), sum(x), avg(x), min(x), max(x) of an "
		   "expression x. Sums are exact; avg is the exact sum by the count, rounded once.",
	.example = "{ flights = \"count(*)\"; mean_dep_delay = \"avg(dep_delay)\"; }",
};
static const flow_option emit_every = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_DURATION,
	.name = "emit_every",
	.doc = "Without a window: the result so far of each key that has changed, so often (at full multiples since "
		   "1970-01-01T00:00:00Z, by the clock) and at the end. Absent: at the end alone.",
	.minimum = "1ms",
	.example = "\"1s\"",
};
static const flow_option *const option_list[] = { &aggregate_option, &window_option, &emit_every, NULL };
static const flow_option_set option_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "Aggregates per key and window.",
	.options = option_list,
};
static const flow_option_set *const option_sets[] = { &option_set, NULL };

const flow_component aggregate_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_FUNCTION,
	.id = "aggregate",
	.doc = "Counts, sums, means, minima and maxima of the records of a key, per window or at the end of the input.",
	.option_sets = option_sets,
	.ops = &ops,
};
