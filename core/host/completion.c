/* `flowd completion`: a completion script for bash, made from the tables of host/arguments.h. */
#include <string.h>

#include "host/commands.h"

static void
print_first_words(FILE *to)
{
	const char *last = "";
	for (size_t i = 0; commands[i] != NULL; i++) {
		size_t size = strcspn(commands[i]->name, " ");
		if (strlen(last) >= size && strncmp(last, commands[i]->name, size) == 0)
			continue;
		fprintf(to, "%s%.*s", i == 0 ? "" : " ", (int)size, commands[i]->name);
		last = commands[i]->name;
	}
}

static void
print_second_words(FILE *to)
{
	for (size_t i = 0; commands[i] != NULL; i++) {
		const char *name = commands[i]->name;
		size_t size = strcspn(name, " ");
		if (name[size] == '\0')
			continue;
		fprintf(to, "\t\t%.*s) COMPREPLY+=($(compgen -W \"%s\" -- \"$word\")) ;;&\n", (int)size, name, name + size + 1);
	}
}

static void
print_choices(const command_option *const *options, FILE *to)
{
	for (size_t i = 0; options != NULL && options[i] != NULL; i++)
		if (options[i]->choices != NULL)
			fprintf(to, "\t--%s) COMPREPLY=($(compgen -W \"%s\" -- \"$word\")); return ;;\n", options[i]->name,
					options[i]->choices);
}

static void
print_options(FILE *to)
{
	for (size_t i = 0; commands[i] != NULL; i++) {
		const command_option *const *tables[] = { commands[i]->options, common_options };
		fprintf(to, "\t\"%s\"*) options=\"", commands[i]->name);
		for (size_t t = 0; t < 2; t++)
			for (size_t k = 0; tables[t] != NULL && tables[t][k] != NULL; k++)
				fprintf(to, " --%s", tables[t][k]->name);
		fprintf(to, "\" ;;\n");
	}
}

static int
run_completion(arguments *given)
{
	(void)given;
	FILE *to = stdout;
	fprintf(to, "# Bash completion of flowd, made from its own tables by: flowd completion\n"
				"_flowd() {\n"
				"\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=\n"
				"\tCOMPREPLY=()\n"
				"\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
				"\t\tCOMPREPLY=($(compgen -W \"");
	print_first_words(to);
	fprintf(to, "\" -- \"$word\"))\n\t\treturn\n\tfi\n\tcase $before in\n");
	print_choices(common_options, to);
	for (size_t i = 0; commands[i] != NULL; i++)
		print_choices(commands[i]->options, to);
	fprintf(to, "\tesac\n\tcase \"${COMP_WORDS[*]:1:2}\" in\n");
	print_options(to);
	fprintf(to, "\tesac\n\tif [[ $word == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W \"$options\" -- "
				"\"$word\"))\n\t\treturn\n\tfi\n"
				"\tif [ \"$COMP_CWORD\" = 2 ]; then\n\t\tcase ${COMP_WORDS[1]} in\n");
	print_second_words(to);
	fprintf(to, "\t\tesac\n\tfi\n\t[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$word\"))\n}\n"
				"complete -F _flowd flowd\n");
	return EXIT_DONE;
}

const command completion_command = {
	.name = "completion",
	.operands = "",
	.summary = "Print a completion script for bash.",
	.doc = "Use it with: source <(flowd completion)",
	.run = run_completion,
};
