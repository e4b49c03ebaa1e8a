/* `flowd cat`, `flowd convert`: files from one format to another, without a configuration file. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/log.h"
#include "base/schema.h"
#include "host/commands.h"
#include "host/conversion.h"
#include "host/job.h"
#include "host/progress.h"
#include "host/report.h"

struct shown {
	const session *session;
	const conversion *conversion;
	arguments *given;
	const char *target; /* the output's path */
	int stopped;        /* by a signal */
};

static int
to_standard_output(const struct shown *shown)
{
	return strcmp(shown->target, "-") == 0;
}

static void
print_result(const struct shown *shown, const runtime_status_report *report)
{
	char in[32], out[32], size[32], duration[32], rate[32], bytes[32];
	struct stat about;
	double seconds = report->elapsed > 0 ? (double)report->elapsed / 1e6 : 1e-6;
	fprintf(stderr, "%s: %s record%s", shown->conversion->out.place, progress_count(report->records_out, out),
			report->records_out == 1 ? "" : "s");
	if (report->records_in != report->records_out)
		fprintf(stderr, " of %s", progress_count(report->records_in, in));
	if (stat(shown->target, &about) == 0 && S_ISREG(about.st_mode))
		fprintf(stderr, ", %s", progress_bytes((double)about.st_size, size));
	fprintf(stderr, " in %s: %s records/s, %s/s read\n", progress_duration(report->elapsed, duration),
			progress_rate((double)report->records_in / seconds, rate),
			progress_bytes((double)report->bytes_in / seconds, bytes));
}

static void
print_end(void *context, runtime *run, uint32_t outcome)
{
	struct shown *shown = context;
	runtime_status_report report;
	runtime_status(run, &report);
	shown->stopped = outcome == RUN_INTERRUPTED;
	if (arguments_value(shown->given, "json") != NULL) {
		report_print_json(shown->session->plan, &report, outcome, to_standard_output(shown) ? stderr : stdout);
		return;
	}
	if (outcome == RUN_FINISHED && !to_standard_output(shown) && log_level() >= FLOW_LOG_INFO)
		print_result(shown, &report);
	if (shown->stopped && to_standard_output(shown))
		fprintf(stderr, "flowd %s: stopped before the end\n", shown->conversion->command);
	else if (shown->stopped)
		fprintf(stderr, "flowd %s: stopped; nothing was written to %s\n", shown->conversion->command, shown->target);
	if (log_level() >= FLOW_LOG_WARN)
		report_losses(&report, stderr);
}

/* Whoever read standard output has gone, as `| head` does: enough was seen. */
static int
nobody_reads(void *context)
{
	const struct shown *shown = context;
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
	return to_standard_output(shown) && poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/* Lines about progress would stand in the middle of what is shown. */
static int
is_quiet(const struct shown *shown)
{
	struct stat about;
	if (arguments_value(shown->given, "json") != NULL || log_level() < FLOW_LOG_INFO)
		return 1;
	return to_standard_output(shown) && (fstat(STDOUT_FILENO, &about) != 0 || !S_ISREG(about.st_mode));
}

static int
run_plan(session *s, const conversion *c, arguments *given)
{
	struct shown shown = { s, c, given, c->out.paths[0], 0 };
	runtime_request request = {
		.plan = s->plan,
		.host = &host_services,
		.output_limit = c->limit,
		.throwaway = 1,
		.record_errors_remedy = "to go on without it: --errors skip, or --dead-letters FILE",
	};
	job_view view = {
		.status_file = arguments_value(given, "status-file"),
		.quiet = is_quiet(&shown),
		.whole = 1,
		.end = print_end,
		.excused = nobody_reads,
		.context = &shown,
	};
	return job_run(&request, &view);
}

static int
print_schema(const session *s)
{
	const flow_schema *schema = conversion_schema(s);
	uint64_t size = schema == NULL ? 0 : schema_print(schema, 0, NULL, 0);
	char *text = schema == NULL ? NULL : arena_allocate(s->arena, size + 1);
	if (text == NULL) {
		fprintf(stderr, "flowd: out of memory\n");
		return EXIT_RUN_FAILED;
	}
	schema_print(schema, 0, text, size + 1);
	json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
	if (json == NULL || json_dumpf(json, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY) != 0)
		fputs(text, stdout);
	json_decref(json);
	fputc('\n', stdout);
	return EXIT_DONE;
}

/* --- from the command line -------------------------------------------------------------------------------------------- */

static int
read_limit(conversion *c, arguments *given)
{
	int64_t limit = arguments_number(given, "limit");
	if (limit == 0)
		fprintf(stderr, "flowd %s: --limit takes a number of records, at least 1\n", c->command);
	if (limit == -2 || limit == 0)
		return EXIT_USAGE;
	c->limit = limit < 0 ? 0 : (uint64_t)limit;
	return EXIT_DONE;
}

static int
read_errors(conversion *c, arguments *given)
{
	const char *policy = arguments_value(given, "errors"), *file = arguments_value(given, "dead-letters");
	if (policy != NULL && strcmp(policy, "fail") != 0 && strcmp(policy, "skip") != 0) {
		fprintf(stderr, "flowd %s: --errors is fail or skip, not %s; --dead-letters FILE keeps bad records\n",
				c->command, policy);
		return EXIT_USAGE;
	}
	if (policy != NULL && file != NULL) {
		fprintf(stderr, "flowd %s: --errors and --dead-letters say different things about bad records; give one\n",
				c->command);
		return EXIT_USAGE;
	}
	c->skip = policy != NULL && strcmp(policy, "skip") == 0;
	return EXIT_DONE;
}

static int
read_selection(conversion *c, session *s, arguments *given)
{
	const char *const *texts = arguments_values(given, "select");
	for (size_t i = 0; texts != NULL && texts[i] != NULL; i++) {
		const char *wrong = selection_add(s->arena, &c->selected, texts[i]);
		if (wrong == NULL)
			continue;
		fprintf(stderr, "flowd %s: --select %s: %s\n", c->command, texts[i], wrong);
		return EXIT_USAGE;
	}
	return texts == NULL ? EXIT_RUN_FAILED : EXIT_DONE;
}

/* arguments_values gives a list that lives until the next call. */
static int
read_settings(conversion *c, session *s, arguments *given)
{
	const char *const *texts = arguments_values(given, "set");
	size_t count = 0;
	while (texts != NULL && texts[count] != NULL)
		count++;
	const char **copy = arena_allocate(s->arena, (count + 1) * sizeof(*copy));
	if (texts == NULL || copy == NULL)
		return EXIT_RUN_FAILED;
	memcpy(copy, texts, (count + 1) * sizeof(*copy));
	c->settings = copy;
	return EXIT_DONE;
}

static const char *
default_dead_letter_format(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strchr(slash == NULL ? path : slash, '.') == NULL ? "json" : NULL;
}

/* The streams; `inputs` operands are read. `to` NULL: standard output, as JSON unless --format says something else. */
static int
read_locations(conversion *c, location *dead_letters, session *s, arguments *given, size_t inputs, const char *to)
{
	const char **words = arena_allocate(s->arena, inputs * sizeof(*words));
	const char *dead = arguments_value(given, "dead-letters");
	const char *format = arguments_value(given, to == NULL ? "format" : "to-format");
	if (words == NULL)
		return EXIT_RUN_FAILED;
	for (size_t i = 0; i < inputs; i++)
		words[i] = arguments_operand(given, i);
	c->in = (location){ .command = c->command, .name = "in", .direction = FLOW_DIRECTION_INPUT };
	c->out = (location){ .command = c->command, .name = "out", .direction = FLOW_DIRECTION_OUTPUT };
	*dead_letters = (location){ .command = c->command, .name = "dead_letters", .direction = FLOW_DIRECTION_OUTPUT };
	int exit_code = location_read(&c->in, s, words, inputs, arguments_value(given, "from-format"), "--from-format");
	if (exit_code != EXIT_DONE)
		return exit_code;
	const char *out[] = { to == NULL ? "-" : to };
	if (to == NULL && format == NULL)
		format = "json";
	exit_code = location_read(&c->out, s, out, 1, format, to == NULL ? "--format" : "--to-format");
	if (exit_code != EXIT_DONE || dead == NULL)
		return exit_code;
	c->dead_letters = dead_letters;
	return location_read(dead_letters, s, &dead, 1, default_dead_letter_format(dead), "a suffix");
}

static int
check_target(const conversion *c, const location *l)
{
	struct stat about;
	int files = (l->system->flags & FLOW_SYSTEM_BYTE_STREAMS) != 0;
	if (c->overwrite || !files || stat(l->paths[0], &about) != 0 || !S_ISREG(about.st_mode))
		return EXIT_DONE;
	fprintf(stderr, "flowd %s: %s is there already; --overwrite replaces it\n", c->command, l->paths[0]);
	return EXIT_USAGE;
}

static int
read_command_line(conversion *c, location *dead_letters, session *s, arguments *given, size_t inputs, const char *to)
{
	c->where = arguments_value(given, "where");
	c->overwrite = arguments_value(given, "overwrite") != NULL;
	int exit_code = read_limit(c, given);
	if (exit_code == EXIT_DONE)
		exit_code = read_errors(c, given);
	if (exit_code == EXIT_DONE)
		exit_code = read_selection(c, s, given);
	if (exit_code == EXIT_DONE)
		exit_code = read_settings(c, s, given);
	if (exit_code == EXIT_DONE)
		exit_code = read_locations(c, dead_letters, s, given, inputs, to);
	if (exit_code == EXIT_DONE)
		exit_code = check_target(c, &c->out);
	if (exit_code == EXIT_DONE && c->dead_letters != NULL)
		exit_code = check_target(c, c->dead_letters);
	return exit_code;
}

static int
convert(arguments *given, size_t inputs, const char *to)
{
	session s;
	conversion c = { .command = arguments_command(given)->name };
	location dead_letters;
	int exit_code = session_open(&s, given);
	if (exit_code == EXIT_DONE)
		exit_code = read_command_line(&c, &dead_letters, &s, given, inputs, to);
	if (exit_code == EXIT_DONE) {
		exit_code = conversion_plan(&s, &c);
		if (s.plan != NULL)
			runtime_check(s.plan, s.problems);
		int reported = session_report(&s, given);
		exit_code = reported != EXIT_DONE ? reported : exit_code;
	}
	if (exit_code == EXIT_DONE)
		exit_code = arguments_value(given, "schema") != NULL ? print_schema(&s) : run_plan(&s, &c, given);
	session_close(&s);
	return exit_code;
}

static int
run_cat(arguments *given)
{
	return convert(given, arguments_count(given), NULL);
}

static int
run_convert(arguments *given)
{
	size_t inputs = arguments_count(given) - 1;
	return convert(given, inputs, arguments_operand(given, inputs));
}

/* --- tables ------------------------------------------------------------------------------------------------------------ */

static const command_option option_from_format = { "from-format", "FORMAT",
												   "The input's format, where its suffix does not tell it.", NULL };
static const command_option option_format = { "format", "FORMAT", "The format that is shown (default: json).", NULL };
static const command_option option_to_format = { "to-format", "FORMAT",
												 "The output's format, where its suffix does not tell it.", NULL };
static const command_option option_set = {
	"set", "KEY=VALUE", "in.KEY or out.KEY: an option of the format, or of its files; may be given several times.", NULL
};
static const command_option option_where = { "where", "EXPRESSION", "Only records for which it is true.", NULL };
static const command_option option_select = {
	"select", "COLUMNS", "Only these columns: a,b,c or NAME=EXPRESSION; * in front: all, and new ones.", NULL
};
static const command_option option_limit = { "limit", "N", "End after N records.", NULL };
static const command_option option_schema = { "schema", NULL,
											  "Show the schema of the records (Avro JSON), not the records.", NULL };
static const command_option option_errors = { "errors", "POLICY", "Bad records: fail (default) or skip.", "fail skip" };
static const command_option option_dead_letters = { "dead-letters", "FILE",
													"Write bad records to a file, with place and reason, and go on.",
													NULL };
static const command_option option_overwrite = { "overwrite", NULL, "Replace files that are there.", NULL };
static const command_option option_status_file = { "status-file", "FILE",
												   "Keep a file with the run's figures, as JSON.", NULL };

static const command_option *const cat_options[] = { &option_from_format,
													 &option_format,
													 &option_set,
													 &option_where,
													 &option_select,
													 &option_limit,
													 &option_schema,
													 &option_errors,
													 &option_dead_letters,
													 &option_overwrite,
													 NULL };
static const command_option *const convert_options[] = { &option_from_format,
														 &option_to_format,
														 &option_set,
														 &option_where,
														 &option_select,
														 &option_limit,
														 &option_errors,
														 &option_dead_letters,
														 &option_overwrite,
														 &option_status_file,
														 NULL };

const command cat_command = {
	.name = "cat",
	.operands = "FILE...",
	.least = 1,
	.most = UINT32_MAX,
	.summary = "Show what is in a file, as JSON lines.",
	.doc = "Format and compression are told by the suffix (.csv, .avro.zst). - is standard input. Several files, or "
		   "patterns in\n"
		   "quotes, are read one after the other. flowd help FORMAT lists what --set in.KEY takes.",
	.options = cat_options,
	.run = run_cat,
};

const command convert_command = {
	.name = "convert",
	.operands = "IN... OUT",
	.least = 2,
	.most = UINT32_MAX,
	.summary = "Write files in another format.",
	.doc = "Formats and compression are told by the suffixes (.csv, .avro.zst). - is standard input, or output. OUT "
		   "appears when it is\n"
		   "whole: a conversion that fails, or is killed, leaves nothing under its name.",
	.options = convert_options,
	.run = run_convert,
};
