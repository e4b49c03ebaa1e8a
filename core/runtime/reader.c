/* The thread of a source whose read may block: it reads ahead into a small ring, and stands still while the task calls the source. */
#include "base/clock.h"
#include "runtime/aligned.h"
#include "runtime/fence.h"
#include "runtime/exchange.h"
#include "runtime/source.h"

#define READ_AHEAD 4
#define SERVICES 4                       /* reads with everything paused that may bring something all the same */
#define WAIT_MOST ((int64_t)1000 * 1000) /* microseconds */

/* reader.hold */
#define RUNNING 0
#define WANTED 1
#define HELD 2

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the ring has lines of its own */
struct reader {
	source_self *self;
	ring items; /* batches, ITEM_END with a partition, ITEM_IDLE: the partitions changed */
	pthread_t thread;
	int started;
	flow_builder *raw;
	atomic_int stop;
	atomic_int hold;
	atomic_int allowed;
	atomic_int full;   /* the thread waits for room in the ring */
	atomic_int failed; /* 1: `error` is set and the thread waits */
	flow_error error;
	flow_status status;
	int failure_taken;
	atomic_int signal; /* futex word */
};

static void
signal_reader(reader *r)
{
	atomic_fetch_add(&r->signal, 1);
	signal_wake(&r->signal);
}

static void
read_once(reader *r)
{
	flow_batch *batch = NULL;
	flow_status status = source_read_raw(r->self, r->raw, &batch, &r->error);
	if (status == FLOW_AGAIN)
		return; /* nothing came within the source's patience */
	if (status == FLOW_OK) {
		ring_push(&r->items, batch);
	} else if (status == FLOW_END) {
		ring_push(&r->items, item_make(ITEM_END, r->raw->partition));
	} else if (status == FLOW_CHANGED) {
		ring_push(&r->items, item_make(ITEM_IDLE, 1));
	} else {
		r->status = status;
		atomic_store(&r->failed, 1);
	}
	task_wake(r->self->n->task);
}

static int
has_room(reader *r)
{
	return atomic_load(&r->items.tail) - atomic_load(&r->items.head) < READ_AHEAD;
}

/* The source is called once a second in any case; with its partitions paused where nothing of it can be taken. */
static void *
reader_main(void *argument)
{
	reader *r = argument;
	int64_t called = clock_monotonic();
	while (!atomic_load(&r->stop)) {
		int seen = atomic_load(&r->signal);
		int wanted = WANTED;
		if (atomic_compare_exchange_strong(&r->hold, &wanted, HELD))
			task_wake(r->self->n->task);
		int room = has_room(r), allowed = atomic_load(&r->allowed) && room;
		atomic_store(&r->full, !room);
		int can = atomic_load(&r->hold) == RUNNING && !atomic_load(&r->failed) && !ring_full(&r->items) &&
				  (room || clock_monotonic() - called >= WAIT_MOST);
		if (can && (source_set_paused(r->self, !allowed) || allowed)) {
			read_once(r);
			called = clock_monotonic();
		}
		if (!can || !allowed)
			signal_wait(&r->signal, seen, WAIT_MOST);
	}
	return NULL;
}

flow_status
reader_start(source_self *self, flow_error *error)
{
	reader *r = aligned_allocate(sizeof(*r));
	if (r == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	self->reader = r;
	r->self = self;
	r->raw = self->raw;
	if (!ring_create(&r->items, READ_AHEAD + SERVICES))
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	int number = pthread_create(&r->thread, NULL, reader_main, r); /* signals are blocked in workers, so here too */
	if (number != 0)
		return error_set(error, status_of_errno(number), "cannot start a thread to read %s", self->stream->id);
	r->started = 1;
	return FLOW_OK;
}

void
reader_stop(source_self *self)
{
	reader *r = self->reader;
	if (r == NULL)
		return;
	atomic_store(&r->stop, 1);
	signal_reader(r);
	if (r->started)
		pthread_join(r->thread, NULL);
	for (void *item; r->items.slots != NULL && (item = ring_pop(&r->items)) != NULL;)
		if (item_tag(item) == ITEM_BATCH)
			batch_release(item);
	ring_destroy(&r->items);
	error_clear(&r->error);
	aligned_release(r);
	self->reader = NULL;
}

void
reader_allow(reader *r, int allowed)
{
	if (atomic_load_explicit(&r->allowed, memory_order_relaxed) == allowed)
		return;
	atomic_store(&r->allowed, allowed);
	signal_reader(r);
}

flow_status
reader_take(reader *r, flow_batch **batch, uint32_t *partition, flow_error *error)
{
	void *item = ring_pop(&r->items);
	if (item != NULL) {
		full_fence();
		if (atomic_load(&r->full))
			signal_reader(r);
		if (item_tag(item) == ITEM_IDLE)
			return FLOW_CHANGED;
		*partition = (uint32_t)item_payload(item);
		if (item_tag(item) == ITEM_END)
			return FLOW_END;
		*batch = item;
		return FLOW_OK;
	}
	if (!atomic_load(&r->failed))
		return FLOW_AGAIN;
	if (!r->failure_taken) {
		r->failure_taken = 1;
		error_move(error, &r->error);
		return r->status;
	}
	r->failure_taken = 0;
	atomic_store(&r->failed, 0);
	signal_reader(r);
	return FLOW_AGAIN;
}

int
reader_hold(reader *r)
{
	int running = RUNNING;
	if (atomic_compare_exchange_strong(&r->hold, &running, WANTED))
		signal_reader(r);
	return atomic_load(&r->hold) == HELD;
}

void
reader_go(reader *r)
{
	atomic_store(&r->hold, RUNNING);
	signal_reader(r);
}
