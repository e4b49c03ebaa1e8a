/*
 * Event time: computes each record's time, and watermarks from them: for each partition the latest time less the declared
 * out-of-orderness, and the least of these over the partitions that are live. Sources tell which those are; behind an exchange
 * a partition counts for each inflow that it comes through. Where rows have no partition any more (timers wrote them) an inflow
 * counts as one.
 */
#include <string.h>

#include "base/memory.h"
#include "expr/expression.h"
#include "flow_sdk/time.h"
#include "runtime/control.h"
#include "runtime/exchange.h"
#include "runtime/record_errors.h"

/* Unbounded, where nothing is said about idleness: of a partition so few records may come through an exchange to one task that it is
 * not waited for when others of the same inflow go on for so long. */
#define SPARSE ((int64_t)10 * 1000 * 1000)

typedef struct bucket {
	uint32_t inflow;
	uint32_t input;
	uint32_t partition; /* NO_PARTITION: of the inflow's rows that have none */
	uint8_t live;
	uint8_t idle;
	int64_t latest; /* time; INT64_MIN: no record yet */
	int64_t seen;   /* monotonic, when the last record came */
} bucket;

typedef struct event_time_self {
	bucket *buckets;
	uint32_t count;
	uint32_t last; /* bucket that was used last */
	uint8_t told;  /* sources, of this task or behind inflows that tell, say which partitions are live */
	uint8_t idle;
	int64_t watermark;
	int64_t restored;
	flow_builder *memory;
	flow_status *statuses;
	flow_slice *reasons;
	uint32_t capacity;
} event_time_self;

static int64_t
less(int64_t time, int64_t out_of_order)
{
	return time < INT64_MIN + out_of_order + 1 ? INT64_MIN : time - out_of_order - 1;
}

static int
is_bucket(const bucket *b, uint32_t inflow, uint32_t input, uint32_t partition)
{
	return b->partition == partition && b->inflow == inflow && (b->input == input || partition == NO_PARTITION);
}

static bucket *
find_bucket(event_time_self *self, uint32_t inflow, uint32_t input, uint32_t partition)
{
	if (self->last < self->count && is_bucket(&self->buckets[self->last], inflow, input, partition))
		return &self->buckets[self->last];
	for (uint32_t i = 0; i < self->count; i++) {
		if (is_bucket(&self->buckets[i], inflow, input, partition)) {
			self->last = i;
			return &self->buckets[i];
		}
	}
	return NULL;
}

static bucket *
add_bucket(node *n, uint32_t inflow, uint32_t input, uint32_t partition)
{
	event_time_self *self = n->self;
	bucket *b = find_bucket(self, inflow, input, partition);
	if (b == NULL) {
		bucket *buckets = memory_reallocate(self->buckets, (self->count + 1) * sizeof(*buckets));
		if (buckets == NULL)
			return NULL;
		self->buckets = buckets;
		b = &self->buckets[self->count++];
	}
	/* Behind a restored watermark nothing earlier was unread: partitions go on from it. */
	int64_t latest = self->restored == INT64_MIN ? INT64_MIN : self->restored + n->op->out_of_order + 1;
	*b = (bucket){
		.inflow = inflow, .input = input, .partition = partition, .live = 1, .latest = latest, .seen = n->task->now
	};
	return b;
}

static event_time_self *
make_self(node *n)
{
	if (n->self != NULL)
		return n->self;
	event_time_self *self = memory_allocate_zeroed(sizeof(*self));
	if (self == NULL)
		return NULL;
	self->watermark = INT64_MIN;
	self->restored = recovery_watermark(n->task->topology->run, n->op->name);
	if (self->restored == FLOW_EVENT_TIME_END || self->restored > INT64_MAX - n->op->out_of_order - 2)
		self->restored = INT64_MIN; /* everything had ended; what ended now ends again */
	n->self = self;
	return self;
}

/* Behind an exchange: an inflow that has sent nothing yet may still send anything, one that has ended nothing. */
static int
waits_for_inflow(const node *n, event_time_self *self)
{
	int waits = 0;
	for (uint32_t i = 0; i < n->task->channel_count; i++) {
		const channel *c = n->task->channels[i];
		uint32_t inflow = (uint32_t)(c - n->task->topology->channels);
		int ended = c->to->inputs[c->input].ports[c->port].ended, seen = 0;
		for (uint32_t k = 0; k < self->count; k++) {
			bucket *b = &self->buckets[k];
			if (b->inflow != inflow)
				continue;
			seen = 1;
			b->live = b->live && !ended;
		}
		if (!ended)
			waits |= self->told && c->tells ? !c->told : !seen;
	}
	return waits;
}

/* Emits the watermark if it has grown. */
static flow_status
advance(node *n)
{
	event_time_self *self = n->self;
	if (waits_for_inflow(n, self))
		return FLOW_OK;
	int64_t least = FLOW_EVENT_TIME_END;
	int live = 0, idle = 0;
	for (uint32_t i = 0; i < self->count; i++) {
		const bucket *b = &self->buckets[i];
		if (!b->live)
			continue;
		if (b->idle) {
			idle = 1;
			continue;
		}
		live = 1;
		int64_t value = b->latest == INT64_MIN ? INT64_MIN : less(b->latest, n->op->out_of_order);
		least = value < least ? value : least;
	}
	flow_status status = FLOW_OK;
	int none = self->told && self->count == 0; /* all of them are with other tasks or processes */
	int all_idle = !live && (idle || none);
	if (all_idle != self->idle) {
		self->idle = (uint8_t)all_idle;
		status = node_emit_idle(n, all_idle);
	}
	if (status < 0 || !live || least <= self->watermark || n->ended)
		return status;
	self->watermark = least;
	return node_emit_watermark(n, least);
}

int
operator_keeps_partitions(const plan_operator *op)
{
	return op->kind != OPERATOR_FUNCTION || !op->function.uses_timers;
}

typedef struct partition_news {
	uint32_t inflow;
	uint32_t input;
	uint32_t partition;
	int what;
} partition_news;

static flow_status
take_news(node *n, const partition_news *news)
{
	event_time_self *self = make_self(n);
	if (self == NULL)
		return FLOW_E_MEMORY;
	self->told = 1;
	if (news->what == PARTITION_LIVE)
		return add_bucket(n, news->inflow, news->input, news->partition) == NULL ? FLOW_E_MEMORY : FLOW_OK;
	bucket *b = find_bucket(self, news->inflow, news->input, news->partition);
	if (b != NULL && news->what == PARTITION_ENDED)
		b->live = 0;
	if (b != NULL && news->what == PARTITION_GONE)
		*b = self->buckets[--self->count];
	return advance(n);
}

/* To the nodes behind `n`: by direct calls, and through the outboxes that tell. */
static flow_status
pass_news(node *n, const partition_news *news)
{
	flow_status status = FLOW_OK;
	if (!operator_keeps_partitions(n->op))
		return FLOW_OK;
	int64_t payload = (int64_t)news->what << 48 | (int64_t)news->input << 32 | (int64_t)news->partition;
	for (uint32_t output = 0; output < 2; output++) {
		for (uint32_t i = 0; status == FLOW_OK && i < n->outputs[output].link_count; i++) {
			const node_link *l = &n->outputs[output].links[i];
			if (l->to == NULL && l->box->tells)
				status = outbox_control(l->box, item_make(ITEM_PARTITION, payload));
			if (l->to == NULL)
				continue;
			if (l->to->driver == &event_time_driver)
				status = take_news(l->to, news);
			if (status == FLOW_OK)
				status = pass_news(l->to, news);
		}
	}
	return status;
}

flow_status
event_time_partition(node *source, uint32_t partition, int what)
{
	partition_news news = { NO_INFLOW, source->op->stream, partition, what };
	return pass_news(source, &news);
}

/* What is told of the start goes on when all inflows have told it: whoever hears it waits for nothing more. */
static int
all_have_told(const task *t)
{
	for (uint32_t i = 0; i < t->channel_count; i++)
		if (t->channels[i]->tells && !t->channels[i]->told)
			return 0;
	return 1;
}

flow_status
event_time_told(channel *c, int64_t payload)
{
	node *n = c->to;
	partition_news news = { (uint32_t)(c - n->task->topology->channels), (uint32_t)(payload >> 32) & 0xffff,
							(uint32_t)payload, (int)(payload >> 48) };
	if (news.what == PARTITION_TOLD) {
		c->told = 1;
		if (!all_have_told(n->task))
			return FLOW_OK;
	}
	flow_status status = n->driver == &event_time_driver ? take_news(n, &news) : FLOW_OK;
	return status == FLOW_OK ? pass_news(n, &news) : status;
}

static flow_status
event_time_open(node *n)
{
	event_time_self *self = make_self(n);
	if (self == NULL)
		return FLOW_E_MEMORY;
	self->memory = builder_create(n->task->topology->run->pool, 1, 0);
	return self->memory == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

static void
event_time_close(node *n)
{
	event_time_self *self = n->self;
	if (self == NULL)
		return;
	builder_destroy(self->memory);
	memory_release(self->statuses);
	memory_release(self->reasons);
	memory_release(self->buckets);
	memory_release(self);
	n->self = NULL;
}

static flow_status
reserve(event_time_self *self, uint32_t rows)
{
	if (rows <= self->capacity)
		return FLOW_OK;
	memory_release(self->statuses);
	memory_release(self->reasons);
	self->statuses = memory_allocate(rows * sizeof(*self->statuses));
	self->reasons = memory_allocate(rows * sizeof(*self->reasons));
	self->capacity = self->statuses == NULL || self->reasons == NULL ? 0 : rows;
	return self->capacity == 0 ? FLOW_E_MEMORY : FLOW_OK;
}

/* The row's time, or a failure and its reason. */
static flow_status
time_of_row(const event_time_self *self, const flow_value *value, uint32_t row, int64_t *time, flow_slice *reason)
{
	if (self->statuses[row] < 0) {
		*reason = self->reasons[row];
		return self->statuses[row];
	}
	if (flow_is_null(*value)) {
		*reason = flow_slice_of("the event time is null");
		return FLOW_E_TYPE;
	}
	flow_status status = flow_microseconds(value, time);
	if (status < 0)
		*reason = flow_slice_of("the event time is outside of the range of microseconds");
	return status;
}

static flow_status
times_of_batch(node *n, const flow_batch *batch, int64_t *times, uint32_t *selection, uint32_t *selected,
			   int64_t *latest)
{
	event_time_self *self = n->self;
	flow_status status = reserve(self, batch->row_count);
	flow_value *values = flow_builder_alloc(self->memory, batch->row_count * sizeof(*values));
	if (status != FLOW_OK || values == NULL)
		return FLOW_E_MEMORY;
	for (FLOW_ROWS(batch, k))
		self->statuses[flow_row(batch, k)] = FLOW_OK;
	status = expressions_service.evaluate(n->op->event_time, batch, self->memory, values, self->statuses, self->reasons,
										  &n->task->error);
	if (status < 0)
		return status;
	uint32_t count = 0;
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		flow_slice reason = { NULL, 0 };
		status = time_of_row(self, &values[row], row, &times[row], &reason);
		if (status < 0) {
			status = record_error_of_row(n, batch, row, status, reason);
			if (status < 0)
				return status;
			continue;
		}
		selection[count++] = row;
		*latest = times[row] > *latest ? times[row] : *latest;
	}
	*selected = count;
	return FLOW_OK;
}

static flow_status
event_time_process(node *n, uint32_t input, const flow_batch *batch)
{
	(void)input;
	event_time_self *self = n->self;
	int64_t *times = flow_builder_alloc(self->memory, batch->row_count * sizeof(*times));
	uint32_t *selection = flow_builder_alloc(self->memory, batch->row_count * sizeof(*selection));
	if (times == NULL || selection == NULL)
		return FLOW_E_MEMORY;
	uint32_t inflow = n->task->current_inflow, partition = batch->partition;
	if (!self->told || (inflow != NO_INFLOW && !n->task->topology->channels[inflow].tells))
		partition = NO_PARTITION;
	bucket *b = find_bucket(self, inflow, batch->input, partition);
	if (b == NULL)
		b = add_bucket(n, inflow, batch->input, partition);
	if (b == NULL)
		return FLOW_E_MEMORY;
	b->seen = n->task->now;
	b->idle = 0;
	uint32_t selected = 0;
	int64_t latest = b->latest;
	flow_status status = times_of_batch(n, batch, times, selection, &selected, &latest);
	if (status < 0)
		return status;
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns), .timestamp = times };
	if (selected != batch->selected_count) {
		columns.selection = selection;
		columns.selected_count = selected;
	}
	flow_batch *timed = batch_forward(n->task->topology->run->pool, batch, &columns, self->memory);
	if (timed == NULL)
		return FLOW_E_MEMORY;
	status = self->idle ? advance(n) : FLOW_OK; /* live again, before the records */
	if (status == FLOW_OK)
		status = node_emit(n, 0, timed);
	batch_release(timed);
	b = find_bucket(self, inflow, batch->input, partition);
	b->latest = latest;
	return status == FLOW_OK ? advance(n) : status;
}

/* Watermarks from above are not this operator's; only the end is. */
static flow_status
event_time_advance(node *n, int64_t value)
{
	event_time_self *self = n->self;
	if (value != FLOW_EVENT_TIME_END)
		return FLOW_OK;
	self->watermark = value;
	return node_emit_watermark(n, value);
}

static flow_status
event_time_barrier(node *n, task_report *report, int last)
{
	(void)last;
	const event_time_self *self = n->self;
	checkpoint_watermark watermark = { .operator_name = flow_slice_of(n->op->name),
									   .task = n->task->index,
									   .value = self->watermark > self->restored ? self->watermark : self->restored };
	return report_watermark(report, &watermark);
}

/* See SPARSE: of the inflow others came for so long, of this partition nothing. */
static flow_status
pass_over_sparse(node *n)
{
	event_time_self *self = n->self;
	n->deadline = n->task->now + SPARSE / 10;
	int changed = 0;
	for (uint32_t i = 0; i < self->count; i++) {
		bucket *b = &self->buckets[i];
		for (uint32_t k = 0; b->live && !b->idle && k < self->count; k++)
			if (self->buckets[k].inflow == b->inflow && self->buckets[k].seen - b->seen >= SPARSE)
				changed = b->idle = 1;
	}
	return changed ? advance(n) : FLOW_OK;
}

/* The restored watermark goes out first; then partitions without records for a while count as idle. */
static flow_status
event_time_tick(node *n)
{
	event_time_self *self = n->self;
	if (self->restored > self->watermark && !n->ended) {
		self->watermark = self->restored;
		flow_status status = node_emit_watermark(n, self->restored);
		if (status < 0)
			return status;
	}
	if (n->ended)
		return FLOW_OK;
	if (n->op->idle_after == 0)
		return n->task->channel_count != 0 && !n->task->topology->run->plan->bounded ? pass_over_sparse(n) : FLOW_OK;
	for (uint32_t i = 0; i < self->count; i++) {
		bucket *b = &self->buckets[i];
		int64_t due = b->seen + n->op->idle_after;
		if (!b->live || b->idle)
			continue;
		if (due <= n->task->now)
			b->idle = 1;
		else if (due < n->deadline)
			n->deadline = due;
	}
	return advance(n);
}

const node_driver event_time_driver = {
	.open = event_time_open,
	.process = event_time_process,
	.event_time = event_time_advance,
	.barrier = event_time_barrier,
	.tick = event_time_tick,
	.close = event_time_close,
};
