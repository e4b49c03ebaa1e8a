/* flowd: parses the command line and runs the command. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "host/arguments.h"

/*
 * jemalloc's settings (it looks for this name). By default it gives free runs of 8 MiB and more back to the system at once, and what a
 * client of a broker receives lies in pieces of a few MiB side by side: each would be mapped, zeroed and unmapped again and again. What
 * is free goes back within a second in place of ten: what one thread frees, another cannot use before that.
 */
extern const char *malloc_conf;
__attribute__((visibility("default"))) const char *malloc_conf = "oversize_threshold:0,dirty_decay_ms:1000";

static int
configure_log(const arguments *given)
{
	const char *level = arguments_value(given, "log-level"), *format = arguments_value(given, "log-format");
	int level_number = level == NULL ? FLOW_LOG_INFO : log_level_of_name(level);
	int format_number = format == NULL ? LOG_FORMAT_AUTO : log_format_of_name(format);
	if (level_number < 0)
		fprintf(stderr, "flowd: --log-level is one of error, warn, info, debug, trace; not %s\n", level);
	if (format_number < 0)
		fprintf(stderr, "flowd: --log-format is one of text, logfmt, json; not %s\n", format);
	if (level_number < 0 || format_number < 0)
		return 0;
	log_configure((uint32_t)level_number, (uint32_t)format_number, STDERR_FILENO);
	return 1;
}

/*
 * A standard stream that is closed would be taken by the next file that is opened, and what is meant for it would go there. Its
 * place is filled with something that cannot be used in its direction, so that who needs it is told so.
 */
static int
fill_standard_streams(void)
{
	for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++) {
		if (fcntl(number, F_GETFD) != -1)
			continue;
		if (open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY) != number)
			return 0;
	}
	return 1;
}

int
main(int count, char **words)
{
	/* A reader that is gone and a file at its limit are errors of the write, with their place. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (!fill_standard_streams())
		return EXIT_RUN_FAILED; /* and there is nobody to tell why */
	int exit_code;
	arguments *given = arguments_parse(count, words, &exit_code);
	if (given == NULL)
		return exit_code;
	exit_code = configure_log(given) ? arguments_command(given)->run(given) : EXIT_USAGE;
	arguments_free(given);
	/* A reader that has seen enough (`| head`) is no failure. */
	if (fflush(stdout) != 0 && errno != EPIPE && exit_code == EXIT_DONE) {
		fprintf(stderr, "flowd: cannot write to standard output\n");
		exit_code = EXIT_RUN_FAILED;
	}
	return exit_code;
}
