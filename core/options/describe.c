/* Option tables for people: help, Markdown, words. */
#include "options/describe.h"

#include <string.h>

#include "options/describe_part.h"

static const char *const type_names[] = {
	"",     "string", "path",   "integer",   "number",   "boolean", "size",       "duration", "enum",
	"list", "map",    "secret", "reference", "datetime", "group",   "expression", "type",     "scalar",
};

static const char *
type_name(uint32_t type)
{
	return type < FLOW_COUNT(type_names) ? type_names[type] : "";
}

const char *
describe_type(const flow_option *o, char *buffer, size_t size)
{
	const char *one_too = o->flags & FLOW_OPTION_OR_ONE ? ", or one" : "";
	if (o->type == FLOW_OPTION_LIST || o->type == FLOW_OPTION_MAP)
		snprintf(buffer, size, "%s of %ss%s", type_name(o->type), type_name(o->element), one_too);
	else if (o->type == FLOW_OPTION_REFERENCE && o->refers_to != NULL)
		snprintf(buffer, size, "name of %s %s", strchr("aeiou", o->refers_to[0]) != NULL ? "an" : "a", o->refers_to);
	else
		snprintf(buffer, size, "%s", type_name(o->type));
	return buffer;
}

size_t
describe_summary(const char *doc)
{
	const char *end = doc == NULL ? NULL : strstr(doc, ". ");
	while (end != NULL && end != doc && end[-1] == '.') /* three points end no sentence */
		end = strstr(end + 1, ". ");
	return doc == NULL ? 0 : end == NULL ? strlen(doc) : (size_t)(end - doc) + 1;
}

/* Visits options and their members in order. */
static int
walk_options(const flow_option *const *options, const char *prefix, int depth, describe_visit visit, void *context)
{
	for (size_t i = 0; options != NULL && options[i] != NULL; i++) {
		char path[512];
		snprintf(path, sizeof(path), "%s%s%s", prefix, prefix[0] == '\0' ? "" : ".", options[i]->name);
		if (!visit(context, path, options[i]))
			return 0;
		if (depth < DESCRIBE_MAX_DEPTH && !walk_options(options[i]->members, path, depth + 1, visit, context))
			return 0;
	}
	return 1;
}

int
describe_walk(const describe_subject *subject, describe_visit visit, void *context)
{
	for (size_t i = 0; subject->sets != NULL && subject->sets[i] != NULL; i++)
		if (!walk_options(subject->sets[i]->options, subject->sets[i]->scope, 0, visit, context))
			return 0;
	return 1;
}

/* Text in lines of up to 100 columns behind `indent` blanks. */
static void
print_wrapped(FILE *to, const char *text, int indent)
{
	int column = 0;
	for (const char *word = text; *word != '\0';) {
		size_t length = strcspn(word, " \n");
		if (column > 0 && column + 1 + (int)length > 100 - indent) {
			fputc('\n', to);
			column = 0;
		}
		column += fprintf(to, "%*s%.*s", column == 0 ? indent : 1, "", (int)length, word) - (column == 0 ? indent : 0);
		word += length;
		word += strspn(word, " \n");
	}
	fputc('\n', to);
}

static void
print_choices(FILE *to, const flow_option *o, const char *separator)
{
	for (size_t i = 0; o->choices != NULL && o->choices[i] != NULL; i++)
		fprintf(to, "%s%.*s", i == 0 ? "" : separator, (int)strcspn(o->choices[i], "\t"), o->choices[i]);
}

static void
print_line(FILE *to, const char *path, const flow_option *o)
{
	char type[128];
	fprintf(to, "  %-28s %-18s ", path, describe_type(o, type, sizeof(type)));
	if (o->flags & FLOW_OPTION_REQUIRED) {
		fputs("required", to);
		if (o->condition != NULL)
			fprintf(to, " with%s %s", o->condition[0] == '!' ? "out" : "", o->condition + (o->condition[0] == '!'));
		fputs(". ", to);
	} else if (o->default_text != NULL) {
		fprintf(to, "default %s. ", o->default_text[0] == '\0' ? "\"\"" : o->default_text);
	}
	fprintf(to, "%.*s", (int)describe_summary(o->doc), o->doc == NULL ? "" : o->doc);
	if (o->choices != NULL) {
		fputs(" One of: ", to);
		print_choices(to, o, ", ");
		fputc('.', to);
	}
	fputc('\n', to);
}

static int
print_line_of(void *context, const char *path, const flow_option *o)
{
	print_line(context, path, o);
	return 1;
}

typedef struct one_option {
	FILE *to;
	const char *path;
	const char *found; /* the full path */
	const flow_option *option;
} one_option;

/* By its full path, or without the scope in front. */
static int
find_option(void *context, const char *path, const flow_option *o)
{
	one_option *one = context;
	size_t size = strlen(path);
	size_t wanted = strlen(one->path);
	if (strcmp(path, one->path) != 0 &&
		!(size > wanted && path[size - wanted - 1] == '.' && strcmp(path + size - wanted, one->path) == 0))
		return 1;
	one->option = o;
	return 0;
}

static void
print_bounds(FILE *to, const flow_option *o)
{
	if (o->minimum != NULL)
		fprintf(to, "    minimum    %s\n", o->minimum);
	if (o->maximum != NULL)
		fprintf(to, "    maximum    %s\n", o->maximum);
}

static void
print_choice_list(FILE *to, const flow_option *o)
{
	for (size_t i = 0; o->choices != NULL && o->choices[i] != NULL; i++) {
		size_t size = strcspn(o->choices[i], "\t");
		const char *doc = o->choices[i][size] == '\t' ? o->choices[i] + size + 1 : "";
		fprintf(to, "    %-10s %.*s%s%s\n", i == 0 ? "one of" : "", (int)size, o->choices[i],
				doc[0] == '\0' ? "" : "  ", doc);
	}
}

static void
print_option(FILE *to, const char *path, const flow_option *o)
{
	char type[128];
	fprintf(to, "%s: %s%s\n\n", path, describe_type(o, type, sizeof(type)),
			o->flags & FLOW_OPTION_REQUIRED ? ", required" : "");
	if (o->doc != NULL)
		print_wrapped(to, o->doc, 2);
	fputc('\n', to);
	if (o->default_text != NULL)
		fprintf(to, "    default    %s\n", o->default_text[0] == '\0' ? "\"\"" : o->default_text);
	print_choice_list(to, o);
	print_bounds(to, o);
	if (o->example != NULL)
		fprintf(to, "    example    %s = %s;\n", o->name, o->example);
	if (o->condition != NULL)
		fprintf(to, "    only %s %s\n", o->condition[0] == '!' ? "without " : "with    ",
				o->condition + (o->condition[0] == '!'));
	if (o->flags & FLOW_OPTION_RELOADABLE)
		fputs("    may change without a restart\n", to);
	if (o->flags & FLOW_OPTION_BY_CONNECTOR)
		fputs("    set by the connector, not by users\n", to);
	if (o->since != NULL)
		fprintf(to, "    since      %s\n", o->since);
	for (size_t i = 0; o->members != NULL && o->members[i] != NULL; i++)
		print_line(to, o->members[i]->name, o->members[i]);
}

/* "Files: .csv, .tsv", or what stands for a system on a command line. */
static void
print_served(FILE *to, const describe_subject *subject, const char *before, const char *after)
{
	int files = strcmp(subject->kind, "serde") == 0, printed = 0;
	for (size_t i = 0; subject->served != NULL && subject->served[i] != NULL; i++) {
		const char *word = subject->served[i];
		int size = (int)strcspn(word, "\t");
		fprintf(to, "%s`%s%.*s%s`", printed++ == 0 ? before : ", ", files ? "." : "", size, word,
				files || word[0] == '.' ? "" : "://");
	}
	if (printed != 0)
		fputs(after, to);
}

int
describe_help(FILE *to, const describe_subject *subject, const char *option)
{
	if (option != NULL) {
		one_option one = { to, option, NULL, NULL };
		if (describe_walk(subject, find_option, &one))
			return 0;
		print_option(to, option, one.option);
		return 1;
	}
	fprintf(to, "%s (%s)\n\n", subject->id, subject->kind);
	if (subject->doc != NULL)
		print_wrapped(to, subject->doc, 2);
	print_served(to, subject, "\n  On a command line: ", "\n");
	for (size_t i = 0; subject->sets != NULL && subject->sets[i] != NULL; i++) {
		const flow_option_set *set = subject->sets[i];
		fprintf(to, "\n%s%s\n", set->scope[0] == '\0' ? "options" : "options of ", set->scope);
		if (set->doc != NULL && (subject->doc == NULL || strcmp(set->doc, subject->doc) != 0))
			print_wrapped(to, set->doc, 2);
		walk_options(set->options, "", 0, print_line_of, to);
	}
	if (subject->sets != NULL && subject->sets[0] != NULL)
		fprintf(to, "\nMore about one of them: flowd help %s.OPTION\n", subject->id);
	return 1;
}

typedef struct path_list {
	arena *arena;
	const char **paths;
	size_t capacity;
	size_t count;
} path_list;

static int
add_path(void *context, const char *path, const flow_option *o)
{
	path_list *list = context;
	(void)o;
	if (list->count < list->capacity) {
		list->paths[list->count] = arena_copy_text(list->arena, path);
		if (list->paths[list->count] == NULL)
			return 0;
	}
	list->count++;
	return 1;
}

size_t
describe_paths(arena *a, const describe_subject *subject, const char **paths, size_t capacity)
{
	path_list list = { a, paths, capacity, 0 };
	describe_walk(subject, add_path, &list);
	return list.count;
}

/* What would break a table's cell. */
static void
print_cell(FILE *to, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '|')
			fputs("\\|", to);
		else if (text[i] == '<')
			fputs("&lt;", to);
		else
			fputc(text[i] == '\n' ? ' ' : text[i], to);
	}
}

static void
print_code(FILE *to, const char *text)
{
	fputc('`', to);
	for (; *text != '\0'; text++)
		fputs(*text == '|' ? "\\|" : (const char[]){ *text, '\0' }, to);
	fputc('`', to);
}

static void
print_remarks(FILE *to, const flow_option *o)
{
	if (o->choices != NULL) {
		fputs(" One of ", to);
		for (size_t i = 0; o->choices[i] != NULL; i++) {
			size_t size = strcspn(o->choices[i], "\t");
			fprintf(to, "%s`%.*s`", i == 0 ? "" : ", ", (int)size, o->choices[i]);
			if (o->choices[i][size] == '\t') {
				fputs(" (", to);
				print_cell(to, o->choices[i] + size + 1, strlen(o->choices[i] + size + 1));
				fputc(')', to);
			}
		}
		fputc('.', to);
	}
	if (o->minimum != NULL)
		fprintf(to, " At least %s.", o->minimum);
	if (o->maximum != NULL)
		fprintf(to, " At most %s.", o->maximum);
	if (o->condition != NULL) {
		fputs(o->condition[0] == '!' ? " Only without " : " Only with ", to);
		print_code(to, o->condition + (o->condition[0] == '!'));
		fputc('.', to);
	}
	if (o->flags & FLOW_OPTION_RELOADABLE)
		fputs(" May change without a restart.", to);
	if (o->flags & FLOW_OPTION_BY_CONNECTOR)
		fputs(" Set by the connector.", to);
	if (o->example != NULL) {
		fputs(" Example: ", to);
		print_code(to, o->example);
		fputc('.', to);
	}
	if (o->since != NULL)
		fprintf(to, " Since %s.", o->since);
}

static int
print_row(void *context, const char *path, const flow_option *o)
{
	FILE *to = context;
	char type[128];
	fprintf(to, "| `%s` | %s | ", path, describe_type(o, type, sizeof(type)));
	if (o->flags & FLOW_OPTION_REQUIRED)
		fputs("required", to);
	else if (o->default_text != NULL)
		print_code(to, o->default_text[0] == '\0' ? "\"\"" : o->default_text);
	fputs(" | ", to);
	print_cell(to, o->doc == NULL ? "" : o->doc, o->doc == NULL ? 0 : strlen(o->doc));
	print_remarks(to, o);
	fputs(" |\n", to);
	return 1;
}

void
describe_markdown(FILE *to, const describe_subject *subject, unsigned level)
{
	for (unsigned i = 0; i < level; i++)
		fputc('#', to);
	fprintf(to, " %s\n", subject->id);
	if (subject->doc != NULL)
		fprintf(to, "\n%s\n", subject->doc);
	print_served(to, subject, "\nOn a command line (`flowd cat`, `flowd convert`): ", ".\n");
	for (size_t i = 0; subject->sets != NULL && subject->sets[i] != NULL; i++) {
		const flow_option_set *set = subject->sets[i];
		if (set->scope[0] != '\0')
			fprintf(to, "\n**%s**%s%s\n", set->scope, set->doc == NULL ? "" : ": ", set->doc == NULL ? "" : set->doc);
		fputs("\n| option | type | default | |\n|---|---|---|---|\n", to);
		walk_options(set->options, "", 0, print_row, to);
	}
}

static int
print_word(void *context, const char *path, const flow_option *o)
{
	FILE *to = context;
	char type[128];
	fprintf(to, "%s\t%s\t%s\t", path, describe_type(o, type, sizeof(type)),
			o->default_text == NULL ? "" : o->default_text);
	print_choices(to, o, ",");
	fputc('\t', to);
	print_cell(to, o->doc == NULL ? "" : o->doc, describe_summary(o->doc));
	fputc('\n', to);
	return 1;
}

void
describe_words(FILE *to, const describe_subject *subject)
{
	describe_walk(subject, print_word, to);
}
