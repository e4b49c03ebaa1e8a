/* A plan as JSON. */
#include "graph/plan_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "expr/expression.h"
#include "graph/plan_configuration.h"
#include "graph/planner.h"
#include "options/utf8.h"

struct printing {
	const plan *plan;
	int form;
	int failed;
};

static json_t *
checked(struct printing *w, json_t *value)
{
	w->failed |= value == NULL;
	return value;
}

static void
put(struct printing *w, json_t *object, const char *name, json_t *value)
{
	if (value == NULL || object == NULL || json_object_set_new(object, name, value) != 0)
		w->failed = 1;
}

static void
put_text(struct printing *w, json_t *object, const char *name, const char *text)
{
	if (text != NULL)
		put(w, object, name, json_string(text));
}

static void
put_true(struct printing *w, json_t *object, const char *name, uint32_t truth)
{
	if (truth)
		put(w, object, name, json_true());
}

struct dumped {
	char *text;
	json_t *value;
};

static int
compare_dumped(const void *one, const void *other)
{
	return strcmp(((const struct dumped *)one)->text, ((const struct dumped *)other)->text);
}

/* What is identified does not depend on the order in which it was written: items are put into the order of their texts. */
static void
put_things_of(struct printing *w, json_t *object, const char *name, json_t *items)
{
	size_t count = json_array_size(items), filled = 0;
	struct dumped *list = w->form == PLAN_JSON_ALL ? NULL : malloc((count + 1) * sizeof(*list));
	json_t *sorted = list == NULL ? NULL : json_array();
	w->failed |= w->form != PLAN_JSON_ALL && sorted == NULL;
	for (; sorted != NULL && filled < count; filled++) {
		json_t *item = json_array_get(items, filled);
		list[filled] = (struct dumped){ json_dumps(item, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY), item };
		if (list[filled].text == NULL)
			break;
	}
	w->failed |= sorted != NULL && filled < count;
	if (!w->failed && sorted != NULL)
		qsort(list, count, sizeof(*list), compare_dumped);
	for (size_t i = 0; i < filled; i++) {
		w->failed |= json_array_append(sorted, list[i].value) != 0;
		free(list[i].text);
	}
	free(list);
	if (sorted != NULL)
		json_decref(items);
	put(w, object, name, sorted != NULL ? sorted : items);
}

static json_t *
text_of(flow_slice text)
{
	return json_stringn_nocheck(text.data == NULL ? "" : text.data, text.size);
}

static void
put_schema(struct printing *w, json_t *object, const char *name, const flow_schema *schema)
{
	if (schema == NULL)
		return;
	uint64_t length = schema_print(schema, 1, NULL, 0);
	char *text = malloc(length + 1);
	if (text != NULL)
		schema_print(schema, 1, text, length + 1);
	put(w, object, name, text == NULL ? NULL : json_string(text));
	free(text);
}

/* --- options
 * ----------------------------------------------------------------------------------------------------------------- */

/* Paths below the configuration's folder are told without it, so that a plan does not depend on where it lies. */
static json_t *
path_value(const struct printing *w, flow_slice text)
{
	size_t length = strlen(w->plan->folder);
	if (text.size > length + 1 && memcmp(text.data, w->plan->folder, length) == 0 && text.data[length] == '/')
		text = flow_slice_make(text.data + length + 1, text.size - length - 1);
	char *copy = malloc(UTF8_ESCAPED(text.size) + 1); /* names of files may be any bytes; JSON may not */
	json_t *value = copy == NULL ? NULL : json_stringn(copy, utf8_escape(text.data, text.size, copy));
	free(copy);
	return value;
}

static json_t *option_entries(struct printing *w, const flow_option_entry *const *entries, uint64_t count, int named);

static json_t *
option_value(struct printing *w, const flow_option_value *value)
{
	switch (value->type) {
	case FLOW_OPTION_LIST:
		return option_entries(w, value->entries, value->entry_count, 0);
	case FLOW_OPTION_MAP:
	case FLOW_OPTION_GROUP:
		return option_entries(w, value->entries, value->entry_count, 1);
	case FLOW_OPTION_SECRET:
		return json_string("********");
	case FLOW_OPTION_PATH:
		return path_value(w, value->text);
	case FLOW_OPTION_BOOL:
		return json_boolean(value->integer != 0);
	case FLOW_OPTION_FLOAT:
		return json_real(value->number);
	case FLOW_OPTION_INT:
	case FLOW_OPTION_SIZE:
	case FLOW_OPTION_DURATION:
	case FLOW_OPTION_DATETIME:
		return json_integer(value->integer);
	default:
		return text_of(value->text);
	}
}

static json_t *
option_entries(struct printing *w, const flow_option_entry *const *entries, uint64_t count, int named)
{
	json_t *all = checked(w, named ? json_object() : json_array());
	for (uint64_t i = 0; i < count && all != NULL; i++) {
		json_t *value = checked(w, option_value(w, entries[i]->value));
		if (value == NULL)
			break;
		if (named)
			w->failed |= json_object_set_new_nocheck(all, entries[i]->name.data, value) != 0;
		else
			w->failed |= json_array_append_new(all, value) != 0;
	}
	return all;
}

static void
put_options(struct printing *w, json_t *object, const flow_options *options)
{
	if (options != NULL && options->entry_count != 0)
		put(w, object, "options", option_entries(w, options->entries, options->entry_count, 1));
}

static void
put_place(struct printing *w, json_t *object, const setting *place)
{
	if (w->form != PLAN_JSON_ALL || place == NULL)
		return;
	if (place->file == NULL)
		put_text(w, object, "place", place->origin);
	else
		put(w, object, "place", json_sprintf("%s:%u", place->file, place->line));
}

/* --- streams
 * ------------------------------------------------------------------------------------------------------------------ */

static void
put_serde(struct printing *w, json_t *object, const char *name, const plan_serde *serde)
{
	if (serde->component == NULL)
		return;
	json_t *described = checked(w, json_object());
	put_text(w, described, "type", serde->component->id);
	put_options(w, described, serde->options);
	put(w, object, name, described);
}

static void
put_transformer(struct printing *w, json_t *object, const plan_transformer *transformer)
{
	json_t *described = checked(w, json_object());
	put_text(w, described, "type", transformer->component->id);
	put_options(w, described, transformer->options);
	put_schema(w, described, "schema", transformer->schema);
	put(w, object, "transformer", described);
}

static void
put_fields(struct printing *w, json_t *object, const plan_stream *stream)
{
	if (stream->fields == NULL)
		return;
	json_t *names = checked(w, json_array());
	for (uint64_t i = 0; i < stream->field_count; i++)
		w->failed |= json_array_append_new(names, text_of(stream->schema->fields[stream->fields[i]]->name)) != 0;
	put(w, object, "fields_read", names);
}

static void
put_input(struct printing *w, json_t *object, const plan_stream *stream)
{
	put_true(w, object, "bounded", stream->bounded);
	put_true(w, object, "bootstrap", stream->bootstrap);
	put_true(w, object, "broadcast", stream->broadcast);
	put_true(w, object, "reset_offset", stream->reset);
	put_true(w, object, "delete_committed_messages", stream->delete_committed);
	put_true(w, object, "shared_by_group", stream->self_assigned);
	put_true(w, object, "read_anew_at_start", stream->volatile_reader);
	put_text(w, object, "start", stream->start == FLOW_START_NEWEST ? "newest" : "oldest");
	if (stream->priority >= 0)
		put(w, object, "priority", json_integer(stream->priority));
	if (w->form == PLAN_JSON_ALL)
		put_fields(w, object, stream);
}

static json_t *
stream_json(struct printing *w, const plan_stream *stream)
{
	json_t *object = checked(w, json_object());
	int input = stream->direction == FLOW_DIRECTION_INPUT;
	put_text(w, object, "id", stream->id);
	put_text(w, object, "direction", input ? "input" : "output");
	put_text(w, object, "system", w->plan->systems[stream->system].name);
	put(w, object, "physical_name", text_of(stream->request.physical_name));
	put_options(w, object, stream->request.options);
	put_serde(w, object, "value", &stream->value);
	put_serde(w, object, "key", &stream->key);
	put_schema(w, object, "schema", stream->schema);
	put_schema(w, object, "key_schema", stream->key_schema);
	if (stream->transformer.component != NULL)
		put_transformer(w, object, &stream->transformer);
	put_text(w, object, "record_errors", record_errors_name(stream->record_errors));
	if (stream->partition != NULL)
		put_text(w, object, "partition", stream->partition_setting->text);
	if (input)
		put_input(w, object, stream);
	else
		put_text(w, object, "delivery", delivery_name(stream->delivery));
	if (w->form == PLAN_JSON_ALL)
		put(w, object, "tasks", json_integer(stream->task_count));
	if (w->form == PLAN_JSON_ALL && stream->description.partition_count != FLOW_PARTITIONS_UNKNOWN)
		put(w, object, "partitions", json_integer(stream->description.partition_count));
	put_place(w, object, stream->place);
	return object;
}

/* --- operators
 * ---------------------------------------------------------------------------------------------------------------- */

static json_t *
names_json(struct printing *w, const char *const *names)
{
	json_t *all = checked(w, json_array());
	for (size_t i = 0; names != NULL && names[i] != NULL; i++)
		w->failed |= json_array_append_new(all, json_string(names[i])) != 0;
	return all;
}

static json_t *
states_json(struct printing *w, const flow_function_plan *function)
{
	static const char *const kinds[] = { "?", "value", "slot", "list", "map", "broadcast" };
	json_t *all = checked(w, json_array());
	for (size_t i = 0; function->states != NULL && function->states[i] != NULL; i++) {
		const flow_state_declaration *state = function->states[i];
		json_t *object = checked(w, json_object());
		put_text(w, object, "name", state->name);
		put_text(w, object, "kind", kinds[state->kind < FLOW_COUNT(kinds) ? state->kind : 0]);
		put_text(w, object, "layout", state->layout);
		if (state->slot_size != 0)
			put(w, object, "slot_size", json_integer(state->slot_size));
		if (state->time_to_live != 0)
			put(w, object, "time_to_live", json_integer(state->time_to_live));
		w->failed |= json_array_append_new(all, object) != 0;
	}
	return all;
}

static void
put_function(struct printing *w, json_t *object, const plan_operator *o)
{
	put_text(w, object, "function", o->component->id);
	put_options(w, object, o->options);
	if (o->state_id != PLAN_NONE) {
		put(w, object, "states", states_json(w, &o->function));
		put_true(w, object, "timers", o->function.uses_timers);
		put(w, object, "state_id", json_integer(o->state_id));
	}
	if (o->function.reads_tables != NULL)
		put(w, object, "reads_tables", names_json(w, o->function.reads_tables));
	if (o->function.writes_tables != NULL)
		put(w, object, "writes_tables", names_json(w, o->function.writes_tables));
	if (o->late != 0)
		put_text(w, object, "late_records", record_errors_name(o->late));
}

static json_t *
keys_json(struct printing *w, const plan_operator *o)
{
	json_t *all = checked(w, json_array());
	for (uint32_t i = 0; i < o->key_count; i++) {
		uint64_t length = expression_print(o->keys[i], NULL, 0);
		char *text = malloc(length + 1);
		if (text != NULL)
			expression_print(o->keys[i], text, length + 1);
		w->failed |= text == NULL || json_array_append_new(all, json_string(text)) != 0;
		free(text);
	}
	return all;
}

static json_t *
operator_json(struct printing *w, const plan_operator *o)
{
	json_t *object = checked(w, json_object());
	put_text(w, object, "name", o->name);
	put_text(w, object, "kind", operator_kind_name(o->kind));
	put_text(w, object, "title", o->title);
	put_text(w, object, "record_errors", record_errors_name(o->record_errors));
	put_schema(w, object, "schema", o->schema[0]);
	put_schema(w, object, "key_schema", o->key_schema[0]);
	put_text(w, object, "stream", stream_kind_name(o->stream_kind[0]));
	if (o->schema[1] != NULL) {
		put_schema(w, object, "second_schema", o->schema[1]);
		put_schema(w, object, "second_key_schema", o->key_schema[1]);
		put_text(w, object, "second_stream", stream_kind_name(o->stream_kind[1]));
	}
	if (o->stream != PLAN_NONE)
		put_text(w, object, o->kind == OPERATOR_SOURCE ? "input" : "output", w->plan->streams[o->stream].id);
	if (o->kind == OPERATOR_FUNCTION || o->kind == OPERATOR_TRANSFORMER)
		put_function(w, object, o);
	if (o->kind == OPERATOR_KEY_BY)
		put(w, object, "keys", keys_json(w, o));
	if (o->kind == OPERATOR_EVENT_TIME) {
		put(w, object, "out_of_order", json_integer(o->out_of_order));
		put(w, object, "idle_after", json_integer(o->idle_after));
	}
	if (w->form == PLAN_JSON_ALL)
		put(w, object, "stage", json_integer(o->stage));
	put_place(w, object, o->place);
	return object;
}

static json_t *
edge_json(struct printing *w, const plan_edge *edge)
{
	const plan *pl = w->plan;
	json_t *object = checked(w, json_object());
	put_text(w, object, "from", pl->operators[edge->from].name);
	put_text(w, object, "to", pl->operators[edge->to].name);
	put_true(w, object, "second_output", edge->output);
	put_true(w, object, "second_input", edge->input);
	put_text(w, object, "partitioning", partitioning_name(edge->partitioning));
	if (w->form == PLAN_JSON_ALL) {
		put(w, object, "exchange", json_boolean(edge->exchange != 0));
		put_text(w, object, "delivery", edge->delivery);
	}
	return object;
}

static json_t *
stage_json(struct printing *w, const plan_stage *stage)
{
	json_t *object = checked(w, json_object()), *names = checked(w, json_array());
	for (uint32_t i = 0; i < stage->operator_count; i++)
		w->failed |= json_array_append_new(names, json_string(w->plan->operators[stage->operators[i]].name)) != 0;
	put(w, object, "index", json_integer(stage->index));
	put(w, object, "tasks", json_integer(stage->task_count));
	put(w, object, "keyed", json_boolean(stage->keyed != 0));
	put(w, object, "operators", names);
	return object;
}

/* --- the whole
 * ---------------------------------------------------------------------------------------------------------------- */

static void
put_things(struct printing *w, json_t *root)
{
	const plan *pl = w->plan;
	json_t *systems = checked(w, json_array()), *tables = checked(w, json_array());
	for (uint32_t i = 0; i < pl->system_count; i++) {
		json_t *object = checked(w, json_object());
		put_text(w, object, "name", pl->systems[i].name);
		put_text(w, object, "type", pl->systems[i].component->id);
		put_options(w, object, pl->systems[i].options);
		put_place(w, object, pl->systems[i].place);
		w->failed |= json_array_append_new(systems, object) != 0;
	}
	for (uint32_t i = 0; i < pl->table_count; i++) {
		const plan_table *table = &pl->tables[i];
		json_t *object = checked(w, json_object());
		put_text(w, object, "name", table->name);
		put_text(w, object, "type", table->component->id);
		put_options(w, object, table->options);
		put_schema(w, object, "schema", table->schema);
		put_schema(w, object, "key_schema", table->key_schema);
		put(w, object, "durable", json_boolean(table->durable != 0));
		put_place(w, object, table->place);
		w->failed |= json_array_append_new(tables, object) != 0;
	}
	put(w, root, "systems", systems);
	put(w, root, "tables", tables);
}

static void
put_intermediates(struct printing *w, json_t *root)
{
	json_t *all = checked(w, json_array());
	for (uint32_t i = 0; i < w->plan->intermediate_count; i++) {
		const plan_intermediate *stream = &w->plan->intermediates[i];
		json_t *object = checked(w, json_object());
		put_text(w, object, "id", stream->id);
		put_text(w, object, "physical_name", stream->physical_name);
		put_text(w, object, "system", stream->system);
		put_serde(w, object, "value", &stream->value);
		put_serde(w, object, "key", &stream->key);
		put_text(w, object, "from", w->plan->operators[stream->from].name);
		put_text(w, object, "partitioning", partitioning_name(stream->partitioning));
		put(w, object, "partitions", json_integer(stream->partitions));
		w->failed |= json_array_append_new(all, object) != 0;
	}
	put(w, root, "intermediates", all);
}

static void
put_flow(struct printing *w, json_t *root)
{
	const plan *pl = w->plan;
	json_t *streams = checked(w, json_array()), *operators = checked(w, json_array()),
		   *edges = checked(w, json_array());
	for (uint32_t i = 0; i < pl->stream_count; i++)
		w->failed |= json_array_append_new(streams, stream_json(w, &pl->streams[i])) != 0;
	for (uint32_t i = 0; i < pl->operator_count; i++)
		w->failed |= json_array_append_new(operators, operator_json(w, &pl->operators[i])) != 0;
	for (uint32_t i = 0; i < pl->edge_count; i++)
		w->failed |= json_array_append_new(edges, edge_json(w, &pl->edges[i])) != 0;
	put_things_of(w, root, "streams", streams);
	put_things_of(w, root, "operators", operators);
	put_things_of(w, root, "edges", edges);
}

/* Past the edges: whose rejected and late records go to the dead letters. */
static void
put_dead_letters(struct printing *w, json_t *root)
{
	const plan *pl = w->plan;
	json_t *all = checked(w, json_array());
	for (uint32_t i = 0; i < pl->operator_count; i++) {
		const char *which = dead_letters_of(pl, &pl->operators[i]);
		if (which == NULL)
			continue;
		json_t *object = checked(w, json_object());
		put_text(w, object, "from", pl->operators[i].name);
		put_text(w, object, "to", pl->operators[pl->dead_letters].name);
		put_text(w, object, "records", which);
		put_text(w, object, "delivery", pl->dead_letter_delivery);
		w->failed |= json_array_append_new(all, object) != 0;
	}
	put(w, root, "dead_letter_edges", all);
}

static void
put_configuration_entry(void *context, const char *key, const char *value, const setting *s)
{
	struct printing *w = ((void **)context)[0];
	json_t *all = ((void **)context)[1];
	json_t *object = checked(w, json_object());
	put_text(w, object, "key", key);
	put_text(w, object, "value", value);
	put_place(w, object, s);
	w->failed |= json_array_append_new(all, object) != 0;
}

static void
put_run(struct printing *w, json_t *root)
{
	const plan *pl = w->plan;
	put_text(w, root, "id", pl->id);
	put_text(w, root, "state_id", pl->state_id);
	put(w, root, "bounded", json_boolean(pl->bounded != 0));
	put(w, root, "keyed_state", json_boolean(pl->has_state != 0));
	put(w, root, "epochs", json_boolean(pl->needs_epochs != 0));
	put(w, root, "parallelism", json_integer(pl->parallelism));
	put(w, root, "max_parallelism", json_integer(pl->max_parallelism));
	put(w, root, "workers", json_integer(pl->workers));
	if (pl->state_store != NULL)
		put_text(w, root, "state_store", pl->state_store->id);
	json_t *stages = checked(w, json_array()), *configuration = checked(w, json_array());
	for (uint32_t i = 0; i < pl->stage_count; i++)
		w->failed |= json_array_append_new(stages, stage_json(w, &pl->stages[i])) != 0;
	void *context[2] = { w, configuration };
	w->failed |= !plan_configuration(pl, put_configuration_entry, context);
	put(w, root, "stages", stages);
	put_intermediates(w, root);
	put_dead_letters(w, root);
	put(w, root, "configuration", configuration);
}

/* What a checkpoint depends on: names, types and keys, neither parallelism nor options. */
static void
put_state(struct printing *w, json_t *root)
{
	const plan *pl = w->plan;
	json_t *operators = checked(w, json_array()), *inputs = checked(w, json_array());
	for (uint32_t i = 0; i < pl->operator_count; i++) {
		const plan_operator *o = &pl->operators[i];
		if (o->kind == OPERATOR_SOURCE)
			w->failed |= json_array_append_new(inputs, json_string(pl->streams[o->stream].id)) != 0;
		if (o->state_id == PLAN_NONE)
			continue;
		json_t *object = checked(w, json_object());
		put_text(w, object, "name", o->name);
		put_text(w, object, "function", o->component->id);
		put(w, object, "states", states_json(w, &o->function));
		for (uint32_t k = 0; k < pl->edge_count; k++)
			if (pl->edges[k].to == i)
				put_schema(w, object, "key", plan_edge_key(pl, &pl->edges[k]));
		w->failed |= json_array_append_new(operators, object) != 0;
	}
	put_things_of(w, root, "operators", operators);
	put_things_of(w, root, "inputs", inputs);
}

json_t *
plan_json(const plan *p, int form)
{
	struct printing w = { p, form, 0 };
	json_t *root = checked(&w, json_object());
	put_text(&w, root, "job", p->job);
	if (p->instance[0] != '\0' && form == PLAN_JSON_ALL)
		put_text(&w, root, "instance", p->instance);
	if (form == PLAN_JSON_STATE) {
		put_state(&w, root);
	} else {
		put_things(&w, root);
		put_flow(&w, root);
	}
	if (form == PLAN_JSON_ALL)
		put_run(&w, root);
	if (!w.failed)
		return root;
	json_decref(root);
	return NULL;
}

void
plan_print_json(const plan *p, FILE *to)
{
	json_t *root = plan_json(p, PLAN_JSON_ALL);
	if (root == NULL)
		return;
	json_dumpf(root, to, JSON_SORT_KEYS | JSON_INDENT(2));
	fputc('\n', to);
	json_decref(root);
}
