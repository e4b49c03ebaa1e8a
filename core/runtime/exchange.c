/* Outboxes: batches and control words to the tasks of another stage, in order, through one ring for each consumer. */
#include <string.h>

#include "base/clock.h"
#include "base/key.h"
#include "base/memory.h"
#include "runtime/fence.h"
#include "runtime/exchange.h"
#include "runtime/run.h"

#define WAKE_DISTANCE 1000 /* microseconds between two wakes of one peer that keeps up */
#define WHOLE_BELOW 8      /* batches with fewer than 1/8 of a batch's rows are gathered */
#define SPLIT_BELOW 4      /* parts of a split with fewer than 1/4 of a batch's rows are gathered */

flow_status
outbox_create(task *t, uint32_t partitioning, uint32_t target_count, uint32_t groups, outbox **made)
{
	outbox *o = memory_allocate_zeroed(sizeof(*o));
	if (o == NULL)
		return FLOW_E_MEMORY;
	*made = o;
	o->task = t;
	o->partitioning = partitioning;
	o->target_count = target_count;
	o->watermark = INT64_MIN;
	o->next = t->index % target_count;
	o->targets = memory_allocate_zeroed(target_count * sizeof(*o->targets));
	o->counts = memory_allocate_zeroed((target_count + 1) * sizeof(*o->counts));
	o->memory = builder_create(t->topology->run->pool, 1, 0);
	if (o->targets == NULL || o->counts == NULL || o->memory == NULL)
		return FLOW_E_MEMORY;
	if (partitioning != EDGE_KEY)
		return FLOW_OK;
	o->group_count = groups;
	o->group_target = memory_allocate(groups * sizeof(*o->group_target));
	if (o->group_target == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t group = 0; group < groups; group++)
		o->group_target[group] = key_task(group, target_count, groups);
	return FLOW_OK;
}

void
outbox_destroy(outbox *o)
{
	if (o == NULL)
		return;
	for (uint32_t i = 0; o->targets != NULL && i < o->target_count; i++) {
		held_items *held = &o->targets[i].held;
		for (uint32_t k = 0; k < held->count; k++) {
			void *item = held->items[held->first + k];
			if (item_tag(item) == ITEM_BATCH)
				batch_release(item);
		}
		memory_release(held->items);
		builder_destroy(o->targets[i].rows.builder);
	}
	builder_destroy(o->memory);
	memory_release(o->targets);
	memory_release(o->counts);
	memory_release(o->sorted);
	memory_release(o->target_of);
	memory_release(o->group_target);
	memory_release(o);
}

/* Wakes the consumer if it sleeps: at once if its ring fills or the last wake is a while ago, else with the next flush. */
static void
notify(outbox *o, outbox_target *target)
{
	channel *c = target->channel;
	worker *w = c->consumer->worker;
	if (w == o->task->worker)
		return;
	full_fence();
	if (atomic_load_explicit(&w->parked, memory_order_relaxed) == 0) {
		target->wake_waits = 0;
		return;
	}
	uint32_t waiting = (uint32_t)atomic_load_explicit(&c->items.tail, memory_order_relaxed) -
					   (uint32_t)atomic_load_explicit(&c->items.head, memory_order_relaxed);
	if (o->task->now - target->last_wake < WAKE_DISTANCE && waiting <= c->items.mask / 2) {
		target->wake_waits = 1;
		return;
	}
	target->last_wake = o->task->now;
	target->wake_waits = 0;
	worker_wake(w);
}

static flow_status
hold(held_items *held, void *item)
{
	if (held->count == 0)
		held->first = 0;
	if (held->first + held->count == held->capacity) {
		uint32_t capacity = held->capacity == 0 ? 16 : held->capacity * 2;
		void **items = memory_reallocate(held->items, capacity * sizeof(*items));
		if (items == NULL)
			return FLOW_E_MEMORY;
		held->items = items;
		held->capacity = capacity;
	}
	held->items[held->first + held->count++] = item;
	return FLOW_OK;
}

/* Takes the item (a batch: its reference), also on failure. */
flow_status
outbox_push(outbox *o, outbox_target *target, void *item)
{
	if (target->held.count == 0 && ring_push(&target->channel->items, item)) {
		notify(o, target);
		return FLOW_OK;
	}
	flow_status status = hold(&target->held, item);
	if (status == FLOW_OK) {
		o->task->held++;
		atomic_store(&target->channel->producer_waits, 1);
	} else if (item_tag(item) == ITEM_BATCH) {
		batch_release(item);
	}
	return status;
}

static int
release_target(outbox *o, outbox_target *target)
{
	held_items *held = &target->held;
	while (held->count != 0) {
		if (!ring_push(&target->channel->items, held->items[held->first])) {
			/* The consumer may have made room after it looked at the flag. */
			atomic_store(&target->channel->producer_waits, 1);
			full_fence();
			if (ring_full(&target->channel->items))
				return 0;
			continue;
		}
		held->first++;
		held->count--;
		o->task->held--;
		notify(o, target);
	}
	return 1;
}

int
outbox_release_held(outbox *o)
{
	int all = 1;
	for (uint32_t i = 0; i < o->target_count; i++)
		all &= release_target(o, &o->targets[i]);
	return all;
}

/* A watermark may be handed on lower than it is, never higher. */
static void *
watermark_item(int64_t value)
{
	if (value == FLOW_EVENT_TIME_END)
		return item_make(ITEM_WATERMARK, ITEM_PAYLOAD_MAX);
	return item_make(ITEM_WATERMARK, value >= ITEM_PAYLOAD_MAX ? ITEM_PAYLOAD_MAX - 1 : value);
}

static flow_status
send_watermark(outbox *o, outbox_target *target)
{
	if (!target->watermark_waits)
		return FLOW_OK;
	target->watermark_waits = 0;
	return outbox_push(o, target, watermark_item(target->watermark));
}

/* Everything that waits for this consumer goes out, in order. */
static flow_status
flush_target(outbox *o, outbox_target *target)
{
	flow_status status = gather_flush(o, target);
	return status == FLOW_OK ? send_watermark(o, target) : status;
}

static flow_status
send_whole(outbox *o, outbox_target *target, const flow_batch *batch)
{
	flow_status status = flush_target(o, target);
	return status == FLOW_OK ? outbox_push(o, target, (void *)(uintptr_t)batch_retain(batch)) : status;
}

static flow_status
send_one(outbox *o, outbox_target *target, const flow_batch *batch)
{
	if (batch->selected_count * WHOLE_BELOW < o->task->topology->run->batch_rows)
		return gather_rows(o, target, batch, batch->selection, batch->selected_count);
	return send_whole(o, target, batch);
}

static flow_status
reserve_scratch(outbox *o, uint32_t rows)
{
	if (rows <= o->scratch_rows)
		return FLOW_OK;
	memory_release(o->sorted);
	memory_release(o->target_of);
	o->sorted = memory_allocate(rows * sizeof(*o->sorted));
	o->target_of = memory_allocate(rows * sizeof(*o->target_of));
	o->scratch_rows = o->sorted == NULL || o->target_of == NULL ? 0 : rows;
	return o->scratch_rows == 0 ? FLOW_E_MEMORY : FLOW_OK;
}

/* Row numbers sorted by target (each target's ascending); counts[i + 1] is where target i's end. */
static void
sort_by_target(outbox *o, const flow_batch *batch)
{
	memset(o->counts, 0, (o->target_count + 1) * sizeof(*o->counts));
	for (FLOW_ROWS(batch, i)) {
		uint32_t target = o->group_target[key_group(batch->key_hash[flow_row(batch, i)], o->group_count)];
		o->target_of[i] = target;
		o->counts[target + 1]++;
	}
	for (uint32_t i = 0; i < o->target_count; i++)
		o->counts[i + 1] += o->counts[i];
	for (FLOW_ROWS(batch, k))
		o->sorted[o->counts[o->target_of[k]]++] = flow_row(batch, k);
	memmove(o->counts + 1, o->counts, o->target_count * sizeof(*o->counts));
	o->counts[0] = 0;
}

static flow_status
send_part(outbox *o, outbox_target *target, const flow_batch *batch, const uint32_t *rows, uint32_t count)
{
	if (count == batch->selected_count)
		return send_one(o, target, batch);
	if (count * SPLIT_BELOW < o->task->topology->run->batch_rows)
		return gather_rows(o, target, batch, rows, count);
	flow_columns part = { .struct_size = FLOW_SIZEOF(flow_columns), .selection = rows, .selected_count = count };
	flow_batch *forwarded = batch_forward(o->task->topology->run->pool, batch, &part, o->memory);
	if (forwarded == NULL)
		return FLOW_E_MEMORY;
	/* Compaction drops key columns; gathering keeps them. */
	flow_status status =
		forwarded->key_hash == NULL ? gather_rows(o, target, batch, rows, count) : send_whole(o, target, forwarded);
	batch_release(forwarded);
	return status;
}

static flow_status
send_by_key(outbox *o, const flow_batch *batch)
{
	if (o->target_count == 1)
		return send_one(o, &o->targets[0], batch);
	if (batch->key_hash == NULL)
		return error_set(&o->task->error, FLOW_E_INTERNAL, "a batch without key columns came to an exchange by key");
	flow_status status = reserve_scratch(o, batch->selected_count);
	if (status != FLOW_OK)
		return status;
	sort_by_target(o, batch);
	for (uint32_t i = 0; status == FLOW_OK && i < o->target_count; i++) {
		uint32_t count = o->counts[i + 1] - o->counts[i];
		if (count != 0)
			status = send_part(o, &o->targets[i], batch, o->sorted + o->counts[i], count);
	}
	return status;
}

flow_status
outbox_send(outbox *o, const flow_batch *batch)
{
	flow_status status = FLOW_OK;
	switch (o->partitioning) {
	case EDGE_KEY:
		status = send_by_key(o, batch);
		break;
	case EDGE_BROADCAST:
		for (uint32_t i = 0; status == FLOW_OK && i < o->target_count; i++)
			status = send_one(o, &o->targets[i], batch);
		break;
	case EDGE_SHUFFLE:
		status = send_one(o, &o->targets[o->next], batch);
		o->next = (o->next + 1) % o->target_count;
		break;
	case EDGE_FORWARD:
		status = send_one(o, &o->targets[o->task->index % o->target_count], batch);
		break;
	default: /* EDGE_GLOBAL */
		status = send_one(o, &o->targets[0], batch);
		break;
	}
	if (o->gathered_since == 0)
		o->gathered_since = o->task->now;
	return status;
}

flow_status
outbox_watermark(outbox *o, int64_t value)
{
	if (value <= o->watermark || value < -ITEM_PAYLOAD_MAX)
		return FLOW_OK;
	o->watermark = value;
	for (uint32_t i = 0; i < o->target_count; i++) {
		o->targets[i].watermark = value;
		o->targets[i].watermark_waits = 1;
	}
	if (o->gathered_since == 0)
		o->gathered_since = o->task->now;
	return FLOW_OK;
}

flow_status
outbox_control(outbox *o, void *item)
{
	if (o->ended)
		return FLOW_OK;
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < o->target_count; i++) {
		status = flush_target(o, &o->targets[i]);
		if (status == FLOW_OK)
			status = outbox_push(o, &o->targets[i], item);
	}
	o->ended = item_tag(item) == ITEM_END;
	return status;
}

flow_status
outbox_flush(outbox *o)
{
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < o->target_count; i++) {
		outbox_target *target = &o->targets[i];
		flow_status one = o->gathered_since == 0 ? FLOW_OK : flush_target(o, target);
		status = status == FLOW_OK ? one : status;
		if (target->wake_waits) {
			target->wake_waits = 0;
			target->last_wake = o->task->now;
			full_fence();
			worker_wake(target->channel->consumer->worker);
		}
	}
	o->gathered_since = 0;
	return status;
}

static void
wake_producer(channel *c)
{
	atomic_store(&c->producer_waits, 0);
	worker_wake(c->producer->worker);
}

void *
channel_take(channel *c)
{
	void *item = ring_pop(&c->items);
	if (c->producer->worker == c->consumer->worker)
		return item;
	if (item == NULL) {
		full_fence();
		if (atomic_load_explicit(&c->producer_waits, memory_order_relaxed))
			wake_producer(c);
	} else if (atomic_load_explicit(&c->producer_waits, memory_order_relaxed)) {
		uint32_t left = (uint32_t)atomic_load_explicit(&c->items.tail, memory_order_relaxed) -
						(uint32_t)atomic_load_explicit(&c->items.head, memory_order_relaxed);
		if (left <= c->items.mask / 2)
			wake_producer(c);
	}
	return item;
}
