/* Progress for other threads: counters of the nodes, summed when somebody asks. */
#include "base/clock.h"
#include "runtime/internal.h"

static void
add_node(runtime_status_report *report, operator_status *status, const node *n)
{
	status->records_in += counter_get(&n->records_in);
	status->records_out += counter_get(&n->records_out);
	status->bytes_in += counter_get(&n->bytes_in);
	status->bytes_out += counter_get(&n->bytes_out);
	status->rejected += counter_get(&n->rejected);
	status->late += counter_get(&n->late);
	report->skipped += counter_get(&n->skipped);
	report->dead_letters += counter_get(&n->dead_letters);
	report->rejected += counter_get(&n->rejected);
	report->late += counter_get(&n->late);
	if (n->op->kind == OPERATOR_SOURCE) {
		report->records_in += counter_get(&n->records_in);
		report->bytes_in += counter_get(&n->bytes_in);
	} else if (n->op->kind == OPERATOR_SINK) {
		report->records_out += counter_get(&n->records_out);
		report->bytes_out += counter_get(&n->bytes_out);
	}
}

/* Sums what is known; one unknown makes all unknown. */
static void
add_remaining(int64_t *sum, int64_t part)
{
	*sum = *sum < 0 || part < 0 ? -1 : *sum + part;
}

static void
add_tasks(runtime *run, runtime_status_report *report)
{
	topology *t = run->topology;
	for (uint32_t i = 0; t != NULL && t->tasks != NULL && i < t->task_count; i++) {
		task *one = &t->tasks[i];
		for (uint32_t k = 0; k < one->node_count; k++) {
			node *n = &one->nodes[k];
			operator_status *status = &run->status_operators[n->op->index];
			add_node(report, status, n);
			if (k == 0)
				status->busy_microseconds += counter_get(&one->busy);
			if (n->op->kind != OPERATOR_SOURCE || !t->sources_open)
				continue;
			int64_t records = -1, bytes = -1;
			source_remaining(n, &records, &bytes);
			add_remaining(&report->remaining_records, records);
			add_remaining(&report->remaining_bytes, bytes);
		}
	}
}

void
runtime_status(runtime *run, runtime_status_report *report)
{
	*report =
		(runtime_status_report){ .state = atomic_load(&run->state),
								 .started = run->started,
								 .first_record = atomic_load(&run->first_record),
								 .epoch = counter_get(&run->committed_epoch),
								 .last_checkpoint_microseconds = (int64_t)counter_get(&run->checkpoint_microseconds),
								 .memory_bytes = batch_pool_used(run->pool),
								 .memory_peak = batch_pool_peak(run->pool),
								 .wakes = atomic_load(&run->wakes),
								 .operators = run->status_operators,
								 .operator_count = run->plan->operator_count };
	int64_t end = report->state > 10 ? run->ended_monotonic : clock_monotonic();
	report->elapsed = run->started == 0 ? 0 : end - run->started_monotonic;
	pthread_mutex_lock(&run->status_lock);
	for (uint32_t i = 0; i < run->plan->operator_count; i++) {
		const plan_operator *op = &run->plan->operators[i];
		run->status_operators[i] = (operator_status){ .name = op->name, .title = op->title, .kind = op->kind };
	}
	add_tasks(run, report);
	pthread_mutex_unlock(&run->status_lock);
}
