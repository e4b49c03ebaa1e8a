/*
 * host/arguments.h - the command line: one table of commands and options, from which parsing, `--help`, "did you mean" and the
 * shell's completion are made.
 *
 * Ownership: parsed arguments point into argv and are freed by arguments_free. Threads: [main].
 */
#ifndef HOST_ARGUMENTS_H
#define HOST_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes of all commands. */
#define EXIT_DONE 0
#define EXIT_RUN_FAILED 1
#define EXIT_USAGE 2
#define EXIT_CONFIGURATION 3
#define EXIT_PLUGIN 4

typedef struct arguments arguments;

typedef struct command_option {
	const char *name;  /* without the dashes */
	const char *value; /* what follows, as help shows it ("FILE"); NULL: a flag */
	const char *doc;
	const char *choices; /* "text json": for completion; or NULL */
} command_option;

typedef struct command {
	const char *name;                     /* "run", "plugin list" */
	const char *operands;                 /* "FILE..." for help; "" : none */
	uint32_t least, most;                 /* number of operands */
	const char *summary;                  /* one line */
	const char *doc;                      /* more, or NULL */
	const command_option *const *options; /* NULL-terminated, besides those that all commands have; or NULL */
	int (*run)(arguments *given);         /* returns an EXIT_* code */
} command;

/* All commands, NULL-terminated (commands.c). */
extern const command *const commands[];
/* --plugin-dir, --log-level, --log-format, --json, --help: what every command takes. */
extern const command_option *const common_options[];

/* Parses. NULL: usage error or help, which has been printed; *exit_code says how to end. */
arguments *arguments_parse(int count, char **words, int *exit_code);
void arguments_free(arguments *given);

const command *arguments_command(const arguments *given);
size_t arguments_count(const arguments *given);
const char *arguments_operand(const arguments *given, size_t index); /* NULL: not so many */
/* The last value of an option, or NULL; flags give "". */
const char *arguments_value(const arguments *given, const char *option);
/* All values of an option, NULL-terminated. Lives until the next call, or as long as the arguments. NULL: out of memory. */
const char *const *arguments_values(arguments *given, const char *option);
/* A number, or -1 if the option is absent; -2 and a message if it is no number. */
int64_t arguments_number(const arguments *given, const char *option);

void arguments_help(const command *of, FILE *to); /* NULL: of flowd as a whole */

#endif
