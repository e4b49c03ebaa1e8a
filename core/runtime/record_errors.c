/* Records that cannot be read, processed or written: the policy, and what people are told. */
#include <stdio.h>

#include "base/log.h"
#include "runtime/record_errors.h"
#include "runtime/run.h"

/* "data/flights.csv:27", "data/flights.csv, record at byte 99", "orders[3], record at 99", "a record". */
static void
print_place(const node *n, const record_error *what, char *text, size_t size)
{
	const plan *p = n->task->topology->run->plan;
	int bytes = what->input < p->stream_count && p->streams[what->input].byte_stream;
	if (what->place.size != 0 && what->line != 0)
		snprintf(text, size, "%.*s:%llu", (int)what->place.size, what->place.data, (unsigned long long)what->line);
	else if (what->place.size != 0 && what->has_ordinal)
		snprintf(text, size, "%.*s, record at %s%lld", (int)what->place.size, what->place.data, bytes ? "byte " : "",
				 (long long)what->ordinal);
	else if (what->place.size != 0)
		snprintf(text, size, "%.*s", (int)what->place.size, what->place.data);
	else
		snprintf(text, size, "a record");
}

static void
print_record_error(const node *n, const record_error *what, char *text, size_t size)
{
	char place[1024];
	print_place(n, what, place, sizeof(place));
	flow_slice reason = what->reason.size != 0 ? what->reason : flow_slice_of(status_text(what->status));
	if (what->field.size != 0)
		snprintf(text, size, "%s: field %.*s: %.*s", place, (int)what->field.size, what->field.data, (int)reason.size,
				 reason.data);
	else
		snprintf(text, size, "%s: %.*s", place, (int)reason.size, reason.data);
}

static flow_status
fail(node *n, const record_error *what)
{
	char text[2048];
	print_record_error(n, what, text, sizeof(text));
	const char *given = n->task->topology->run->request.record_errors_remedy;
	const char *remedy = what->status == FLOW_E_LATE ? "declare a larger out_of_order, or set late_records"
						 : given != NULL             ? given
													 : "see record_errors";
	return error_set(&n->task->error, what->status, "%s (%s)", text, remedy);
}

static void
log_skipped(node *n, const record_error *what, const char *outcome, atomic_uint_fast64_t *logged)
{
	if (atomic_fetch_add(logged, 1) >= n->task->topology->run->errors_logged)
		return;
	char text[2048];
	print_record_error(n, what, text, sizeof(text));
	log_warn(n->op->name, "%s; %s", text, outcome);
}

flow_status
record_error_handle(node *n, uint32_t policy, const record_error *what)
{
	runtime *run = n->task->topology->run;
	int late = what->status == FLOW_E_LATE;
	counter_add(late ? &n->late : &n->rejected, 1);
	atomic_uint_fast64_t *logged = late ? &run->lates_logged : &run->skips_logged;
	if (policy == RECORD_ERRORS_DEAD_LETTER && run->plan->dead_letters != PLAN_NONE &&
		n->op->index != run->plan->dead_letters) {
		counter_add(&n->dead_letters, 1);
		log_skipped(n, what, "written to the dead letters", logged);
		return dead_letters_add(n, what);
	}
	if (policy == RECORD_ERRORS_SKIP) {
		counter_add(&n->skipped, 1);
		log_skipped(n, what, "skipped", logged);
		return FLOW_OK;
	}
	return fail(n, what);
}

static uint32_t
policy_of(const node *n, flow_status status)
{
	const plan *p = n->task->topology->run->plan;
	if (status != FLOW_E_LATE) {
		if (n->op->kind == OPERATOR_SINK || n->op->kind == OPERATOR_DEAD_LETTERS)
			return p->streams[n->op->stream].record_errors;
		return n->op->record_errors;
	}
	if (n->op->late != 0)
		return n->op->late;
	if (p->bounded)
		return RECORD_ERRORS_FAIL;
	return p->dead_letters != PLAN_NONE ? RECORD_ERRORS_DEAD_LETTER : RECORD_ERRORS_SKIP;
}

flow_status
record_error_of_row(node *n, const flow_batch *batch, uint32_t row, flow_status status, flow_slice reason)
{
	record_error what = { .status = status,
						  .reason = reason,
						  .place = batch->place,
						  .input = batch->input,
						  .partition = batch_partition_number(batch),
						  .batch = batch,
						  .row = row };
	if (batch->ordinal != NULL) {
		what.ordinal = batch->ordinal[row];
		what.has_ordinal = 1;
	}
	return record_error_handle(n, policy_of(n, status), &what);
}
