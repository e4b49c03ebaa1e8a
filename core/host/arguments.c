#include "host/arguments.h"

#include <stdlib.h>
#include <string.h>

#include "base/distance.h"
#include "base/memory.h"

#define NAMES_MOST 64

struct given_option {
	const command_option *option;
	const char *value;
};

struct arguments {
	const command *command;
	const char **operands;
	size_t operand_count;
	struct given_option *options;
	size_t option_count;
	const char **values; /* of the last arguments_values */
};

static const command_option option_plugin_dir = { "plugin-dir", "FOLDER",
												  "Look for plugins here first; may be given several times.", NULL };
static const command_option option_log_level = { "log-level", "LEVEL",
												 "error, warn, info, debug or trace (default: info).",
												 "error warn info debug trace" };
static const command_option option_log_format = { "log-format", "FORMAT",
												  "text, logfmt or json (default: text on a terminal, else logfmt).",
												  "text logfmt json" };
static const command_option option_json = { "json", NULL, "Print for machines.", NULL };
static const command_option option_help = { "help", NULL, "Print this help.", NULL };

const command_option *const common_options[] = { &option_plugin_dir, &option_log_level, &option_log_format,
												 &option_json,       &option_help,      NULL };

static const command_option *
find_option(const command *of, const char *name, size_t size)
{
	const command_option *const *tables[] = { of->options, common_options };
	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; tables[t] != NULL && tables[t][i] != NULL; i++)
			if (strlen(tables[t][i]->name) == size && memcmp(tables[t][i]->name, name, size) == 0)
				return tables[t][i];
	return NULL;
}

static int
say_unknown_option(const command *of, const char *word)
{
	const char *names[NAMES_MOST], *nearest;
	const command_option *const *tables[] = { of->options, common_options };
	size_t count = 0;
	char name[64];
	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; tables[t] != NULL && tables[t][i] != NULL && count < NAMES_MOST; i++)
			names[count++] = tables[t][i]->name;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	nearest = distance_nearest(name + strspn(name, "-"), names, count);
	fprintf(stderr, "flowd %s: unknown option %s%s%s%s\nSee: flowd %s --help\n", of->name, name,
			nearest == NULL ? "" : ", did you mean --", nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?",
			of->name);
	return 0;
}

/* The command whose one or two words stand in front; *used how many they are. */
static const command *
find_command(int count, char **words, int *used)
{
	for (size_t i = 0; commands[i] != NULL; i++) {
		const char *name = commands[i]->name;
		size_t first = strcspn(name, " ");
		if (strlen(words[0]) != first || memcmp(words[0], name, first) != 0)
			continue;
		*used = name[first] == '\0' ? 1 : 2;
		if (*used == 1 || (count > 1 && strcmp(words[1], name + first + 1) == 0))
			return commands[i];
	}
	return NULL;
}

/* Prints the commands that begin with this word ("plugin"); 0: there are none. */
static int
list_subcommands(const char *word, FILE *to)
{
	int found = 0;
	size_t size = strlen(word);
	for (size_t i = 0; commands[i] != NULL; i++) {
		if (strncmp(commands[i]->name, word, size) != 0 || commands[i]->name[size] != ' ')
			continue;
		fprintf(to, "  flowd %-16s %s\n", commands[i]->name, commands[i]->summary);
		found = 1;
	}
	return found;
}

static int
has_subcommands(const char *word)
{
	size_t size = strlen(word);
	for (size_t i = 0; commands[i] != NULL; i++)
		if (strncmp(commands[i]->name, word, size) == 0 && commands[i]->name[size] == ' ')
			return 1;
	return 0;
}

static void
say_unknown_command(char **words)
{
	const char *names[NAMES_MOST];
	size_t known = 0;
	if (has_subcommands(words[0])) {
		fprintf(stderr, "flowd %s: which of these?\n", words[0]);
		list_subcommands(words[0], stderr);
		return;
	}
	if (words[0][0] == '-') {
		fprintf(stderr, "flowd: the command stands first: flowd COMMAND %s\nSee: flowd --help\n", words[0]);
		return;
	}
	for (size_t i = 0; commands[i] != NULL && known < NAMES_MOST; i++)
		names[known++] = commands[i]->name;
	const char *nearest = distance_nearest(words[0], names, known);
	fprintf(stderr, "flowd: unknown command %s%s%s%s\nSee: flowd --help\n", words[0],
			nearest == NULL ? "" : ", did you mean ", nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?");
}

static int
parse_option(arguments *given, int count, char **words, int *index)
{
	const char *word = words[*index], *of = given->command->name;
	size_t size = strcspn(word + 2, "=");
	const command_option *option = find_option(given->command, word + 2, size);
	if (option == NULL)
		return say_unknown_option(given->command, word);
	const char *value = word[2 + size] == '=' ? word + 3 + size : NULL;
	if (option->value == NULL && value != NULL) {
		fprintf(stderr, "flowd %s: --%s takes no value\n", of, option->name);
		return 0;
	}
	if (option->value != NULL && value == NULL) {
		if (*index + 1 >= count) {
			fprintf(stderr, "flowd %s: --%s needs a value: --%s %s\n", of, option->name, option->name, option->value);
			return 0;
		}
		value = words[++*index];
	}
	given->options[given->option_count++] = (struct given_option){ option, value == NULL ? "" : value };
	return 1;
}

static int
parse_words(arguments *given, int count, char **words)
{
	int only_operands = 0;
	for (int i = 0; i < count; i++) {
		if (only_operands || words[i][0] != '-' || words[i][1] == '\0')
			given->operands[given->operand_count++] = words[i];
		else if (strcmp(words[i], "--") == 0)
			only_operands = 1;
		else if (strcmp(words[i], "-h") == 0)
			given->options[given->option_count++] = (struct given_option){ &option_help, "" };
		else if (words[i][1] != '-')
			return say_unknown_option(given->command, words[i]);
		else if (!parse_option(given, count, words, &i))
			return 0;
	}
	return 1;
}

static int
check_operands(const arguments *given)
{
	const command *of = given->command;
	if (given->operand_count >= of->least && given->operand_count <= of->most)
		return 1;
	if (given->operand_count < of->least)
		fprintf(stderr, "flowd %s: needs %s\n", of->name, of->operands);
	else
		fprintf(stderr, "flowd %s: too many words, from %s on\n", of->name, given->operands[of->most]);
	fprintf(stderr, "See: flowd %s --help\n", of->name);
	return 0;
}

static arguments *
create(const command *of, int count)
{
	size_t room = (size_t)count + 2;
	arguments *given = memory_allocate_zeroed(sizeof(*given));
	if (given == NULL)
		return NULL;
	given->command = of;
	given->operands = memory_allocate_zeroed(room * sizeof(*given->operands));
	given->options = memory_allocate_zeroed(room * sizeof(*given->options));
	if (given->operands != NULL && given->options != NULL)
		return given;
	arguments_free(given);
	return NULL;
}

void
arguments_free(arguments *given)
{
	if (given == NULL)
		return;
	memory_release(given->operands);
	memory_release(given->options);
	memory_release(given->values);
	memory_release(given);
}

static int
wants_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* What needs no command: help, and words that are none. */
static const command *
parse_command(int count, char **words, int *used, int *exit_code)
{
	*exit_code = EXIT_USAGE;
	if (count == 0) {
		arguments_help(NULL, stderr);
		return NULL;
	}
	if (wants_help(words[0])) {
		arguments_help(NULL, stdout);
		*exit_code = EXIT_DONE;
		return NULL;
	}
	char version[] = "version", *as_command[] = { version };
	const command *of =
		strcmp(words[0], "--version") == 0 ? find_command(1, as_command, used) : find_command(count, words, used);
	if (of == NULL && count > 1 && wants_help(words[1]) && list_subcommands(words[0], stdout))
		*exit_code = EXIT_DONE;
	else if (of == NULL)
		say_unknown_command(words);
	return of;
}

arguments *
arguments_parse(int count, char **words, int *exit_code)
{
	int used = 0;
	const command *of = parse_command(count - 1, words + 1, &used, exit_code);
	if (of == NULL)
		return NULL;
	arguments *given = create(of, count);
	if (given == NULL) {
		fprintf(stderr, "flowd: out of memory\n");
		*exit_code = EXIT_RUN_FAILED;
		return NULL;
	}
	if (parse_words(given, count - 1 - used, words + 1 + used)) {
		if (arguments_value(given, "help") == NULL) {
			if (check_operands(given))
				return given;
		} else {
			arguments_help(of, stdout);
			*exit_code = EXIT_DONE;
		}
	}
	arguments_free(given);
	return NULL;
}

const command *
arguments_command(const arguments *given)
{
	return given->command;
}

size_t
arguments_count(const arguments *given)
{
	return given->operand_count;
}

const char *
arguments_operand(const arguments *given, size_t index)
{
	return index < given->operand_count ? given->operands[index] : NULL;
}

const char *
arguments_value(const arguments *given, const char *option)
{
	for (size_t i = given->option_count; i > 0; i--)
		if (strcmp(given->options[i - 1].option->name, option) == 0)
			return given->options[i - 1].value;
	return NULL;
}

const char *const *
arguments_values(arguments *given, const char *option)
{
	memory_release(given->values);
	given->values = memory_allocate_zeroed((given->option_count + 1) * sizeof(*given->values));
	size_t count = 0;
	for (size_t i = 0; given->values != NULL && i < given->option_count; i++)
		if (strcmp(given->options[i].option->name, option) == 0)
			given->values[count++] = given->options[i].value;
	return given->values;
}

int64_t
arguments_number(const arguments *given, const char *option)
{
	const char *text = arguments_value(given, option);
	if (text == NULL)
		return -1;
	char *end;
	long long number = strtoll(text, &end, 10);
	if (*text != '\0' && *end == '\0' && number >= 0)
		return number;
	fprintf(stderr, "flowd %s: --%s takes a number, not %s\n", given->command->name, option, text);
	return -2;
}

static void
print_options(const command_option *const *options, FILE *to)
{
	for (size_t i = 0; options != NULL && options[i] != NULL; i++) {
		char left[64];
		snprintf(left, sizeof(left), "--%s%s%s", options[i]->name, options[i]->value == NULL ? "" : " ",
				 options[i]->value == NULL ? "" : options[i]->value);
		fprintf(to, "  %-24s %s\n", left, options[i]->doc);
	}
}

void
arguments_help(const command *of, FILE *to)
{
	if (of != NULL) {
		fprintf(to, "Usage: flowd %s%s%s [OPTION]...\n\n%s\n", of->name, of->operands[0] == '\0' ? "" : " ",
				of->operands, of->summary);
		if (of->doc != NULL)
			fprintf(to, "\n%s\n", of->doc);
		fprintf(to, "\nOptions:\n");
		print_options(of->options, to);
		print_options(common_options, to);
		return;
	}
	fprintf(
		to,
		"Usage: flowd COMMAND [OPERAND]... [OPTION]...\n\nMoves and processes data as a configuration file says.\n\n");
	for (size_t i = 0; commands[i] != NULL; i++)
		fprintf(to, "  flowd %-16s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(to, "\nFor one of them: flowd COMMAND --help. The file's language: man flowd.conf, flowd help.\n"
				"Exit codes: 0 done, 1 the run failed, 2 usage, 3 configuration, 4 a plugin was refused.\n");
}
