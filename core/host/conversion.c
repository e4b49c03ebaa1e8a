#include "host/conversion.h"

#include <string.h>

#include "config/layers.h"
#include "graph/job_options.h"
#include "options/options.h"

#define FEW_RECORDS 1024 /* a limit below it makes batches as small, so that nothing behind it is looked at */

/* --- settings in memory ---------------------------------------------------------------------------------------------- */

typedef struct builder {
	session *session;
	arena *arena;
	int failed; /* out of memory, or a problem was added */
} builder;

/* A setting under `parent`; `origin` is what messages call its place. Never NULL: after a failure it is one that nobody reads. */
static setting *
add(builder *b, setting *parent, const char *name, uint8_t kind, const char *origin)
{
	static setting nothing;
	setting *made = arena_allocate_zeroed(b->arena, sizeof(*made));
	size_t count = parent == NULL ? 0 : parent->child_count;
	setting **children = parent == NULL ? NULL : arena_allocate(b->arena, (count + 1) * sizeof(*children));
	if (made == NULL || (parent != NULL && children == NULL)) {
		b->failed = 1;
		nothing = (setting){ .kind = kind };
		return &nothing;
	}
	*made = (setting){ .kind = kind, .layer = LAYER_DESCRIPTOR, .origin = origin, .name = name, .path = "" };
	if (parent == NULL)
		return made;
	if (count != 0)
		memcpy(children, parent->children, count * sizeof(*children));
	children[parent->child_count++] = made;
	parent->children = children;
	return made;
}

static setting *
add_group(builder *b, setting *parent, const char *name, const char *origin)
{
	return add(b, parent, name, SETTING_GROUP, origin);
}

static void
add_text(builder *b, setting *parent, const char *name, const char *text, const char *origin)
{
	setting *s = add(b, parent, name, SETTING_STRING, origin);
	s->text = text;
	s->size = strlen(text);
}

static void
add_number(builder *b, setting *parent, const char *name, int64_t number, const char *origin)
{
	setting *s = add(b, parent, name, SETTING_INT, origin);
	s->integer = number;
	s->number = (double)number;
	s->text = arena_format(b->arena, "%lld", (long long)number);
	b->failed |= s->text == NULL;
	s->size = s->text == NULL ? 0 : strlen(s->text);
}

static void
add_truth(builder *b, setting *parent, const char *name, int truth, const char *origin)
{
	setting *s = add(b, parent, name, SETTING_BOOL, origin);
	s->integer = truth;
	s->text = truth ? "true" : "false";
	s->size = strlen(s->text);
}

/* --- streams --------------------------------------------------------------------------------------------------------- */

static const flow_option_set *
options_of(const flow_component *component, const char *scope)
{
	return component->option_sets == NULL ? NULL : options_set_of_scope(component->option_sets, scope);
}

static const char *
scope_of(const location *l)
{
	return l->direction == FLOW_DIRECTION_INPUT ? "input" : "output";
}

static const flow_option *
flagged(const flow_option_set *set, uint32_t flag)
{
	for (size_t i = 0; set != NULL && set->options[i] != NULL; i++)
		if ((set->options[i]->flags & flag) != 0)
			return set->options[i];
	return NULL;
}

static void __attribute__((format(printf, 3, 4))) refuse(builder *b, const location *l, const char *format, ...)
{
	va_list given;
	va_start(given, format);
	const char *text = arena_format_list(b->arena, format, given);
	va_end(given);
	problem *p = problems_add(b->session->problems, NULL, 0, "", "%s", text == NULL ? "out of memory" : text);
	if (p != NULL)
		p->place = l->place;
	b->failed = 1;
}

/* A value as --set takes it. */
static void
put_value(builder *b, const location *l, setting *to, const char *const *key, size_t count, const char *text)
{
	const char *path = arena_format(b->arena, "%s", l->name);
	for (size_t i = 0; i < count && path != NULL; i++)
		path = arena_format(b->arena, "%s.%s", path, key[i]);
	setting *value = path == NULL ? NULL : config_value(b->session->config, path, text);
	if (value == NULL || !layers_put(b->arena, to, key, count, value))
		b->failed = 1;
}

/* The host of an address goes to the system, or to its streams, whoever has an option for it. */
static void
add_host(builder *b, const location *l, setting *system, setting *stream)
{
	const flow_option *of_system = flagged(options_of(l->system, ""), FLOW_OPTION_ADDRESS_HOST);
	const flow_option *of_stream = flagged(options_of(l->system, scope_of(l)), FLOW_OPTION_ADDRESS_HOST);
	if (l->host == NULL || l->host[0] == '\0')
		return;
	if (of_system != NULL)
		add_text(b, system, of_system->name, l->host, l->place);
	else if (of_stream != NULL)
		add_text(b, stream, of_stream->name, l->host, l->place);
	else if (strcmp(l->host, "localhost") != 0)
		refuse(b, l, "addresses of %s have no host in front of the path: %s:///PATH", l->system->id, l->system->id);
}

/* Where no option takes the path of an address, it is what the system calls the stream. */
static void
add_physical_name(builder *b, const location *l, setting *stream)
{
	if (l->host == NULL || l->path_count != 1 || strlen(l->paths[0]) < 2)
		refuse(b, l, "%s takes one name at a time: %s://HOST/NAME", l->system->id, l->system->id);
	else
		add_text(b, stream, "physical_name", l->paths[0] + 1, l->place);
	if (l->direction ==
		FLOW_DIRECTION_OUTPUT) /* nobody goes on with a conversion, and no transaction lasts as long as one */
		add_text(b, stream, "delivery", "at_least_once", l->place);
}

static void
add_paths(builder *b, const location *l, setting *stream)
{
	const flow_option *option = flagged(options_of(l->system, scope_of(l)), FLOW_OPTION_ADDRESS_PATH);
	if (option == NULL) {
		add_physical_name(b, l, stream);
		return;
	}
	int list = option->type == FLOW_OPTION_LIST;
	int keeps_slash = option->type == FLOW_OPTION_PATH || (list && option->element == FLOW_OPTION_PATH);
	if (!list && l->path_count != 1)
		refuse(b, l, "%s takes one %s at a time", l->system->id, option->name);
	int text = option->type == FLOW_OPTION_STRING || option->type == FLOW_OPTION_PATH;
	setting *to = list ? add(b, stream, option->name, SETTING_LIST, l->place) : stream;
	for (size_t i = 0; i < (list ? l->path_count : 1); i++) {
		const char *path = l->paths[i];
		path += l->host != NULL && !keeps_slash && path[0] == '/';
		if (list || text)
			add_text(b, to, list ? NULL : option->name, path, l->place);
		else
			put_value(b, l, stream, (const char *const[]){ option->name }, 1, path);
	}
}

static int
has_option(const flow_option_set *set, const char *name)
{
	return set != NULL && options_find(set, name) != NULL;
}

/* A key of in.* or out.* is one of the format where that has it, else one of the stream. */
static int
belongs_to_stream(const location *l, const char *key)
{
	if (l->format == NULL)
		return 1;
	if (has_option(options_of(l->format, ""), key))
		return 0;
	return has_option(options_of(l->system, scope_of(l)), key) ||
		   has_option(l->direction == FLOW_DIRECTION_INPUT ? &input_options : &output_options, key);
}

static void
put_key(builder *b, const location *l, setting *stream, setting *serde, const char *assignment)
{
	size_t count, size = strcspn(assignment, "=");
	const char *const *key = layers_split(b->arena, assignment, size, &count);
	if (assignment[size] == '\0' || key == NULL) {
		refuse(b, l, "--set %s.%s: expected is --set %s.KEY=VALUE", l->name, assignment, l->name);
		return;
	}
	put_value(b, l, belongs_to_stream(l, key[0]) ? stream : serde, key, count, assignment + size + 1);
}

/* What stands behind "in." of a --set; NULL: another one. */
static const char *
key_of_stream(const location *l, const char *setting_text)
{
	size_t size = strlen(l->name);
	return strncmp(setting_text, l->name, size) == 0 && setting_text[size] == '.' ? setting_text + size + 1 : NULL;
}

static void
put_format_options(builder *b, const location *l, setting *stream, setting *serde)
{
	for (const char *option = l->format_options; option != NULL && *option != '\0';) {
		size_t size = strcspn(option, "\t");
		const char *text = arena_copy(b->arena, option, size);
		b->failed |= text == NULL;
		if (text != NULL)
			put_key(b, l, stream, serde, text);
		option += size + (option[size] == '\t');
	}
}

static int
is_untyped(const location *l)
{
	return l->format != NULL && (l->format->flags & FLOW_SERDE_UNTYPED) != 0;
}

/* Would keys that are not declared vanish? */
static int
drops_undeclared(const location *l)
{
	const flow_option_set *set = l->format == NULL ? NULL : options_of(l->format, "");
	const flow_option *extra = set == NULL ? NULL : options_find(set, "extra");
	return extra != NULL && extra->default_text != NULL && strcmp(extra->default_text, "ignore") == 0;
}

/* Values that say their own types go as they are into formats that can say them too; into columns only when types are found. */
static int
wants_types(const conversion *c)
{
	return is_untyped(&c->in) && !is_untyped(&c->out) && has_option(options_of(c->in.format, ""), "infer");
}

static setting *
add_stream(builder *b, const conversion *c, const location *l, setting *systems, setting *streams)
{
	setting *system = add_group(b, systems, l->name, l->place);
	setting *stream = add_group(b, streams, l->name, l->place);
	add_text(b, system, "type", l->system->id, l->place);
	add_text(b, stream, "system", l->name, l->place);
	add_host(b, l, system, stream);
	add_paths(b, l, stream);
	if (l->direction == FLOW_DIRECTION_INPUT && (l->system->flags & FLOW_SYSTEM_ALWAYS_BOUNDED) == 0)
		add_truth(b, stream, "bounded", 1, l->place);
	if (l->direction == FLOW_DIRECTION_OUTPUT && has_option(options_of(l->system, "output"), "overwrite"))
		add_truth(b, stream, "overwrite", c->overwrite, l->place);
	setting *serde =
		l->format == NULL ? add_group(b, NULL, "serde", l->place) : add_group(b, stream, "serde", l->place);
	if (l->format != NULL)
		add_text(b, serde, "type", l->format->id, l->place);
	put_format_options(b, l, stream, serde);
	if (l->direction == FLOW_DIRECTION_INPUT && wants_types(c))
		put_key(b, l, stream, serde, "infer=exact");
	if (l->direction == FLOW_DIRECTION_INPUT && drops_undeclared(l))
		put_key(b, l, stream, serde, "extra=error");
	for (size_t i = 0; c->settings[i] != NULL; i++)
		if (key_of_stream(l, c->settings[i]) != NULL)
			put_key(b, l, stream, serde, key_of_stream(l, c->settings[i]));
	return stream;
}

/* --- what stands between --------------------------------------------------------------------------------------------- */

/* "name" with quotes in it doubled: the column as an expression. */
static const char *
column_text(builder *b, const char *name)
{
	char *text = arena_allocate(b->arena, strlen(name) * 2 + 3), *to = text;
	if (text == NULL) {
		b->failed = 1;
		return "";
	}
	*to++ = '"';
	for (; *name != '\0'; name++) {
		if (*name == '"')
			*to++ = '"';
		*to++ = *name;
	}
	memcpy(to, "\"", 2);
	return text;
}

/* The first one takes the input. What a step says while it runs bears the name of the flag that it comes from. */
static setting *
add_step(builder *b, const conversion *c, setting *flow, const char *origin)
{
	size_t before = flow->child_count;
	setting *step = add_group(b, flow, NULL, origin);
	if (origin != c->command)
		add_text(b, step, "name", origin, origin);
	if (before == 0)
		add_text(b, step, "from", c->in.name, c->command);
	return step;
}

static void
add_selection(builder *b, const conversion *c, setting *flow)
{
	static const char place[] = "--select";
	const selection *selected = &c->selected;
	int expressions = 0;
	for (size_t i = 0; i < selected->count; i++)
		expressions |= selected->items[i].expression != NULL;
	if (selected->count == 0)
		return;
	setting *step = add_step(b, c, flow, place);
	setting *columns = expressions ? add_group(b, step, selected->all ? "set" : "select", place)
								   : add(b, step, "project", SETTING_LIST, place);
	for (size_t i = 0; i < selected->count; i++) {
		const selection_item *item = &selected->items[i];
		if (!expressions)
			add_text(b, columns, NULL, item->name, place);
		else
			add_text(b, columns, item->name, item->expression != NULL ? item->expression : column_text(b, item->name),
					 place);
	}
}

static void
add_flow(builder *b, const conversion *c, setting *application)
{
	setting *flow = add(b, application, "flow", SETTING_LIST, c->command);
	if (c->where != NULL)
		add_text(b, add_step(b, c, flow, "--where"), "where", c->where, "--where");
	add_selection(b, c, flow);
	add_text(b, add_step(b, c, flow, c->command), "to", c->out.name, c->command);
}

/* Files come one after the other, and nothing is kept to go on from: one task, and a checkpoint at the end alone. */
static void
add_job(builder *b, const conversion *c, setting *application)
{
	add_number(b, application, "parallelism", 1, c->command);
	add_number(b, application, "workers", 1, c->command);
	add_text(b, application, "checkpoint_interval", "3650d", c->command);
	add_text(b, application, "record_errors",
			 c->dead_letters != NULL ? "dead_letter"
			 : c->skip               ? "skip"
									 : "fail",
			 "--errors");
	if (c->limit != 0 && c->limit < FEW_RECORDS && c->where == NULL)
		add_number(b, application, "batch_rows", (int64_t)c->limit, "--limit");
}

static setting *
make_application(builder *b, const conversion *c)
{
	setting *application = add_group(b, NULL, "application", c->command);
	add_text(b, application, "name", c->command, c->command);
	setting *systems = add_group(b, application, "systems", c->command);
	add_stream(b, c, &c->in, systems, add_group(b, application, "inputs", c->command));
	add_stream(b, c, &c->out, systems, add_group(b, application, "outputs", c->command));
	if (c->dead_letters != NULL)
		add_stream(b, c, c->dead_letters, systems, application);
	add_job(b, c, application);
	add_flow(b, c, application);
	return application;
}

/* How the types of what is read are told; NULL: they are not. */
static const char *
remedy_of(const location *l)
{
	const flow_option_set *set = l->format == NULL ? NULL : options_of(l->format, "");
	if (has_option(set, "fields"))
		return "declare the fields that are read with --set in.fields.NAME=TYPE";
	return has_option(set, "schema_file") ? "give their schema with --set in.schema_file=FILE" : NULL;
}

/* A key of neither side, unless the side was forgotten. */
static void
set_other(builder *b, const conversion *c, const char *assignment)
{
	const char *key = arena_copy(b->arena, assignment, strcspn(assignment, ".="));
	const location *sides[2] = { &c->in, &c->out };
	for (size_t i = 0; key != NULL && i < 2; i++)
		if (sides[i]->format != NULL && has_option(options_of(sides[i]->format, ""), key)) {
			refuse(b, sides[i], "--set %s: of which side? --set in.%s of what is read, --set out.%s of what is written",
				   assignment, assignment, assignment);
			return;
		}
	config_set_command(b->session->config, assignment);
}

int
conversion_plan(session *s, const conversion *c)
{
	builder b = { s, s->arena, 0 };
	s->config = config_create(s->arena, s->problems);
	if (s->config == NULL)
		return EXIT_RUN_FAILED;
	for (size_t i = 0; c->settings[i] != NULL; i++)
		if (key_of_stream(&c->in, c->settings[i]) == NULL && key_of_stream(&c->out, c->settings[i]) == NULL)
			set_other(&b, c, c->settings[i]);
	setting *application = make_application(&b, c);
	if (b.failed && s->problems->errors == 0)
		problems_add(s->problems, NULL, 0, "", "out of memory");
	if (s->problems->errors != 0)
		return EXIT_CONFIGURATION;
	s->graph = graph_from_settings(s->config, s->registry, application);
	if (s->graph != NULL)
		s->graph->untyped_remedy = remedy_of(&c->in);
	s->plan = s->graph == NULL ? NULL : plan_create(s->config, s->registry, s->graph, 0);
	return s->plan == NULL || s->problems->errors != 0 ? EXIT_CONFIGURATION : EXIT_DONE;
}

const flow_schema *
conversion_schema(const session *s)
{
	const plan *p = s->plan;
	for (uint32_t i = 0; i < p->edge_count; i++)
		if (p->operators[p->edges[i].to].kind == OPERATOR_SINK)
			return p->operators[p->edges[i].from].schema[p->edges[i].output];
	return NULL;
}
