/* Progress for other threads: counters of the nodes, summed when somebody asks. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "runtime/run.h"

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

/* --- inputs --------------------------------------------------------------------------------------------------------- */

static void
start_gathering(const runtime *run, input_gathering *g)
{
	arena_destroy(g->memory);
	*g = (input_gathering){ .memory = arena_create() };
	if (g->memory != NULL)
		g->inputs = arena_allocate_zeroed(g->memory, (run->plan->stream_count + 1) * sizeof(*g->inputs));
}

static input_status *
input_of(input_gathering *g, uint32_t stream)
{
	for (uint32_t i = 0; i < g->input_count; i++)
		if (g->inputs[i].input == stream)
			return &g->inputs[i];
	g->inputs[g->input_count] = (input_status){ .input = stream, .lag = -1 };
	return &g->inputs[g->input_count++];
}

static input_number *
add_number(input_gathering *g)
{
	if (g->number_count == g->number_capacity) {
		uint32_t capacity = g->number_capacity == 0 ? 16 : g->number_capacity * 2;
		input_number *numbers = arena_allocate(g->memory, capacity * sizeof(*numbers));
		if (numbers == NULL)
			return NULL;
		if (g->number_count != 0)
			memcpy(numbers, g->numbers, g->number_count * sizeof(*numbers));
		g->numbers = numbers;
		g->number_capacity = capacity;
	}
	return &g->numbers[g->number_count];
}

/* Numbers of the input as a whole are summed over its tasks. */
static int
add_to_sum(input_gathering *g, const char *name, int64_t value)
{
	for (uint32_t i = 0; i < g->number_count; i++) {
		input_number *n = &g->numbers[i];
		if (n->input != g->input->input || n->partition != NULL || strcmp(n->name, name) != 0)
			continue;
		n->value += value;
		return 1;
	}
	return 0;
}

static void
take_number(void *context, flow_slice partition, const char *name, int64_t value)
{
	input_gathering *g = context;
	if (name == NULL || (partition.size == 0 && add_to_sum(g, name, value)))
		return;
	if (partition.size != 0 && strcmp(name, "lag") == 0 && value >= 0)
		g->input->lag = (g->input->lag < 0 ? 0 : g->input->lag) + value;
	input_number *n = add_number(g);
	const char *copy = arena_copy_text(g->memory, name);
	const char *id = partition.size == 0 ? NULL
										 : arena_format(g->memory, "%.*s", (int)partition.size,
														partition.data == NULL ? "" : partition.data);
	if (n == NULL || copy == NULL || (partition.size != 0 && id == NULL))
		return;
	*n = (input_number){ .input = g->input->input, .partition = id, .name = copy, .value = value };
	g->number_count++;
}

static void
ask_source(input_gathering *g, node *n, int64_t records, int64_t bytes)
{
	flow_numbers numbers = { .struct_size = FLOW_SIZEOF(flow_numbers), .add = take_number, .context = g };
	g->input = input_of(g, n->op->stream);
	add_remaining(&g->input->remaining_records, records);
	add_remaining(&g->input->remaining_bytes, bytes);
	source_numbers(n, &numbers);
}

static int
compare_numbers(const void *a, const void *b)
{
	const input_number *one = a, *other = b;
	if (one->input != other->input)
		return one->input < other->input ? -1 : 1;
	if ((one->partition == NULL) != (other->partition == NULL))
		return one->partition == NULL ? -1 : 1;
	return one->partition == NULL ? 0 : strcmp(one->partition, other->partition);
}

/* The numbers of each source that is open; what remains goes into the report, if there is one. */
static void
ask_sources(runtime *run, input_gathering *g, runtime_status_report *report)
{
	topology *t = run->topology;
	for (uint32_t i = 0; t != NULL && t->tasks != NULL && t->sources_open && i < t->task_count; i++) {
		for (uint32_t k = 0; k < t->tasks[i].node_count; k++) {
			node *n = &t->tasks[i].nodes[k];
			if (n->op->kind != OPERATOR_SOURCE)
				continue;
			int64_t records = -1, bytes = -1;
			source_remaining(n, &records, &bytes);
			if (report != NULL) {
				add_remaining(&report->remaining_records, records);
				add_remaining(&report->remaining_bytes, bytes);
			}
			if (g->inputs != NULL)
				ask_source(g, n, records, bytes);
		}
	}
}

/* A report's memory is its reader's: what was kept is copied into it. */
static void
copy_kept(const input_gathering *kept, input_gathering *g)
{
	if (g->inputs == NULL || kept->inputs == NULL)
		return;
	memcpy(g->inputs, kept->inputs, kept->input_count * sizeof(*g->inputs));
	g->input_count = kept->input_count;
	for (uint32_t i = 0; i < kept->number_count; i++) {
		const input_number *from = &kept->numbers[i];
		input_number *n = add_number(g);
		const char *name = arena_copy_text(g->memory, from->name);
		const char *partition = from->partition == NULL ? NULL : arena_copy_text(g->memory, from->partition);
		if (n == NULL || name == NULL || (from->partition != NULL && partition == NULL))
			return;
		*n = *from;
		n->name = name;
		n->partition = partition;
		g->number_count++;
	}
}

void
status_keep_inputs(runtime *run)
{
	pthread_mutex_lock(&run->status_lock);
	start_gathering(run, &run->kept_inputs);
	ask_sources(run, &run->kept_inputs, NULL);
	pthread_mutex_unlock(&run->status_lock);
}

static void
show_gathered(input_gathering *g, runtime_status_report *report)
{
	if (g->number_count != 0)
		qsort(g->numbers, g->number_count, sizeof(*g->numbers), compare_numbers);
	report->inputs = g->inputs;
	report->input_count = g->input_count;
	report->numbers = g->numbers;
	report->number_count = g->number_count;
}

/* -------------------------------------------------------------------------------------------------------------------- */

static void
add_tasks(runtime *run, runtime_status_report *report)
{
	const topology *t = run->topology;
	for (uint32_t i = 0; t != NULL && t->tasks != NULL && i < t->task_count; i++) {
		const task *one = &t->tasks[i];
		for (uint32_t k = 0; k < one->node_count; k++) {
			const node *n = &one->nodes[k];
			operator_status *status = &run->status_operators[n->op->index];
			add_node(report, status, n);
			if (k == 0)
				status->busy_microseconds += counter_get(&one->busy);
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
	start_gathering(run, &run->status_inputs);
	if (run->topology != NULL && run->topology->sources_open)
		ask_sources(run, &run->status_inputs, report);
	else
		copy_kept(&run->kept_inputs, &run->status_inputs);
	show_gathered(&run->status_inputs, report);
	pthread_mutex_unlock(&run->status_lock);
}
