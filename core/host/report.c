#include "host/report.h"

#include <stdlib.h>
#include <string.h>

#include "flow_sdk/text.h"
#include "host/progress.h"

#define RESULT_LINES 3
#define RESULT_LINE_SIZE 160

static const char *
state_name(const runtime_status_report *report, uint32_t outcome)
{
	switch (outcome) {
	case RUN_FINISHED:
		return "finished";
	case RUN_INTERRUPTED:
		return "interrupted";
	case RUN_FAILED:
		return "failed";
	default:
		return report->state == 0 ? "starting" : report->state == 1 ? "running" : "draining";
	}
}

static json_t *
operator_json(const operator_status *status)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "name", status->name, "title",
					 status->title == NULL ? "" : status->title, "records_in", (json_int_t)status->records_in,
					 "records_out", (json_int_t)status->records_out, "bytes_in", (json_int_t)status->bytes_in,
					 "bytes_out", (json_int_t)status->bytes_out, "rejected", (json_int_t)status->rejected, "late",
					 (json_int_t)status->late);
}

/* { "3": { "lag": 17 } }: numbers of one partition, or of the input as a whole. */
static void
put_number(json_t *input, const input_number *n)
{
	json_t *to = input;
	if (n->partition != NULL) {
		json_t *partitions = json_object_get(input, "partitions");
		if (partitions == NULL && json_object_set_new(input, "partitions", partitions = json_object()) != 0)
			return;
		to = json_object_get(partitions, n->partition);
		if (to == NULL && json_object_set_new(partitions, n->partition, to = json_object()) != 0)
			return;
	}
	json_object_set_new(to, n->name, json_integer((json_int_t)n->value));
}

static json_t *
input_json(const plan *p, const runtime_status_report *report, const input_status *status)
{
	json_t *input =
		json_pack("{s:s, s:I, s:I}", "id", p->streams[status->input].id, "remaining_records",
				  (json_int_t)status->remaining_records, "remaining_bytes", (json_int_t)status->remaining_bytes);
	for (uint32_t i = 0; input != NULL && i < report->number_count; i++)
		if (report->numbers[i].input == status->input)
			put_number(input, &report->numbers[i]);
	if (input != NULL && status->lag >= 0)
		json_object_set_new(input, "lag", json_integer((json_int_t)status->lag));
	return input;
}

json_t *
report_json(const plan *p, const runtime_status_report *report, uint32_t outcome)
{
	json_t *operators = json_array();
	for (uint32_t i = 0; i < report->operator_count; i++)
		json_array_append_new(operators, operator_json(&report->operators[i]));
	json_t *inputs = json_array();
	for (uint32_t i = 0; i < report->input_count; i++)
		json_array_append_new(inputs, input_json(p, report, &report->inputs[i]));
	double seconds = (double)report->elapsed / 1e6;
	return json_pack(
		"{s:s, s:s, s:s, s:f, s:f, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}",
		"job", p->job, "plan", p->id, "state", state_name(report, outcome), "elapsed_seconds", seconds,
		"first_record_seconds", report->first_record < 0 ? -1.0 : (double)report->first_record / 1e6, "records_in",
		(json_int_t)report->records_in, "records_out", (json_int_t)report->records_out, "bytes_in",
		(json_int_t)report->bytes_in, "bytes_out", (json_int_t)report->bytes_out, "records_per_second",
		seconds > 0 ? (double)report->records_in / seconds : 0.0, "rejected", (json_int_t)report->rejected, "skipped",
		(json_int_t)report->skipped, "dead_letters", (json_int_t)report->dead_letters, "late", (json_int_t)report->late,
		"remaining_bytes", (json_int_t)report->remaining_bytes, "epoch", (json_int_t)report->epoch,
		"last_checkpoint_microseconds", (json_int_t)report->last_checkpoint_microseconds, "memory_peak_bytes",
		(json_int_t)report->memory_peak, "wakes", (json_int_t)report->wakes, "operators", operators, "inputs", inputs);
}

static void
print_operator(const operator_status *status, FILE *to)
{
	char in[32], out[32], bytes_in[32], bytes_out[32];
	fprintf(to, "  %-24.24s %14s %14s %10s %10s", status->name, progress_count(status->records_in, in),
			progress_count(status->records_out, out),
			status->bytes_in == 0 ? "" : progress_bytes((double)status->bytes_in, bytes_in),
			status->bytes_out == 0 ? "" : progress_bytes((double)status->bytes_out, bytes_out));
	if (status->rejected != 0)
		fprintf(to, "  %llu rejected", (unsigned long long)status->rejected);
	if (status->late != 0)
		fprintf(to, "  %llu late", (unsigned long long)status->late);
	fprintf(to, "\n");
}

/* The line that fgets read into a buffer that was filled with ones: no control characters, no bytes of 0, and UTF-8 but for a character
 * that the buffer's end cut. */
static int
is_text(const char *line)
{
	size_t size = RESULT_LINE_SIZE - 1;
	while (size > 0 && line[size] != '\0')
		size--;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)line[i] < 0x20 && line[i] != '\t' && line[i] != '\n' && line[i] != '\r')
			return 0;
	uint64_t good = flow_utf8_check(line, size);
	return good == size || (size == RESULT_LINE_SIZE - 1 && size - good < 4);
}

static int
read_text(char *line, FILE *file)
{
	memset(line, 1, RESULT_LINE_SIZE);
	return fgets(line, RESULT_LINE_SIZE, file) != NULL && is_text(line);
}

/* Any output with an option `path` that is a readable file now. */
static void
print_result(const plan_stream *stream, FILE *to)
{
	flow_slice path =
		stream->request.options == NULL ? flow_slice_make(NULL, 0) : flow_option_text(stream->request.options, "path");
	if (path.data == NULL || strcmp(path.data, "-") == 0)
		return;
	FILE *file = fopen(path.data, "r");
	if (file == NULL)
		return;
	fprintf(to, "\nResult %s: %s\n", stream->id, path.data);
	char line[RESULT_LINE_SIZE];
	for (int i = 0; i < RESULT_LINES && read_text(line, file); i++) {
		int cut = strchr(line, '\n') == NULL;
		line[strcspn(line, "\r\n")] = '\0';
		fprintf(to, "  %s%s\n", line, cut && !feof(file) ? "..." : "");
		for (int c = 0; cut && c != EOF && c != '\n';)
			c = fgetc(file);
	}
	fclose(file);
}

void
report_print_json(const plan *p, const runtime_status_report *report, uint32_t outcome, FILE *to)
{
	json_t *json = report_json(p, report, outcome);
	if (json != NULL)
		json_dumpf(json, to, JSON_INDENT(2));
	fprintf(to, "\n");
	json_decref(json);
}

static void
print_loss(uint64_t count, const char *one, const char *many, FILE *to)
{
	if (count != 0)
		fprintf(to, "%llu %s\n", (unsigned long long)count, count == 1 ? one : many);
}

void
report_losses(const runtime_status_report *report, FILE *to)
{
	print_loss(report->skipped, "record was skipped", "records were skipped", to);
	print_loss(report->dead_letters, "record went to the dead letters", "records went to the dead letters", to);
	print_loss(report->late, "record was late", "records were late", to);
}

void
report_summary(const plan *p, const runtime_status_report *report, uint32_t outcome, FILE *to)
{
	char duration[32], rate[32], bytes[32], memory[32];
	double seconds = report->elapsed > 0 ? (double)report->elapsed / 1e6 : 1e-6;
	fprintf(to, "\n  %-24s %14s %14s %10s %10s\n", "operator", "records in", "records out", "bytes in", "bytes out");
	for (uint32_t i = 0; i < report->operator_count; i++)
		print_operator(&report->operators[i], to);
	fprintf(
		to, "\n%s %s in %s: %s records/s, %s/s read, peak of batch memory %s\n", p->job, state_name(report, outcome),
		progress_duration(report->elapsed, duration), progress_rate((double)report->records_in / seconds, rate),
		progress_bytes((double)report->bytes_in / seconds, bytes), progress_bytes((double)report->memory_peak, memory));
	for (uint32_t i = 0; i < report->input_count; i++)
		if (report->inputs[i].lag > 0)
			fprintf(to, "%s: %lld records are still to be read\n", p->streams[report->inputs[i].input].id,
					(long long)report->inputs[i].lag);
	report_losses(report, to);
	for (uint32_t i = 0; outcome == RUN_FINISHED && i < p->stream_count; i++)
		if (p->streams[i].direction == FLOW_DIRECTION_OUTPUT)
			print_result(&p->streams[i], to);
}
