/*
 * Random calls on keyed state and timers against a naive model: slots, values, removals, timers, freezes that take a
 * while, epochs that are pending, applied or dropped, restarts with another number of tasks, and memory so short that
 * entries are evicted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/key.h"
#include "base/schema.h"
#include "plugin/registry.h"
#include "state/checkpoint.h"
#include "support/fake_disk.h"
#include "support/fake_store.h"
#include "support/keyed_batch.h"

#define KEYS 150
#define SPACES 3
#define TIMES 12
#define GROUPS 16
#define TASKS_MAX 3
#define ROWS_MAX 40
#define STATE_ID 5
#define VALUE_MAX 300

enum { COUNTS, NAMES, STATES };

/* What is there: everything by its plain name. */
struct model {
	uint8_t slot_there[KEYS][SPACES];
	int64_t slot[KEYS][SPACES];
	int32_t value_size[KEYS][SPACES]; /* -1: none */
	uint8_t value_byte[KEYS][SPACES];
	uint8_t timer[2][KEYS][TIMES];
};

struct test {
	uint64_t random;
	batch_pool *pool;
	checkpoint_store *store;
	uint32_t tasks;
	task_state *states[TASKS_MAX];
	uint64_t memory_limit;
	uint64_t epoch;
	state_delta *flying[TASKS_MAX]; /* frozen, not written */
	int is_flying;
	struct model now;
	struct model frozen;    /* as the deltas that fly have it */
	struct model persisted; /* as the store has it */
	flow_error error;
};

static const int64_t spaces[SPACES] = { -7, 0, 3600000000 };
static const flow_state_declaration counts = {
	.struct_size = FLOW_SIZEOF(flow_state_declaration), .kind = FLOW_STATE_SLOT, .slot_size = 24, .name = "counts"
};
static const flow_state_declaration texts = { .struct_size = FLOW_SIZEOF(flow_state_declaration),
											  .kind = FLOW_STATE_VALUE,
											  .name = "names" };
static const flow_state_declaration *const declarations[STATES] = { &counts, &texts };

static uint32_t
draw(struct test *t, uint32_t below)
{
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((t->random >> 33) % below);
}

static void
must(struct test *t, flow_status status)
{
	if (status != FLOW_OK)
		fail_msg("%s", error_message(&t->error));
}

/* Keys of many lengths: "k7", "k007...". */
static flow_value
key_value(uint32_t key, char *text)
{
	int size = sprintf(text, "k%0*u", (int)(key % 13) * 3 + 1, key);
	return flow_string(text, (uint32_t)size);
}

static uint32_t
task_of_key(const struct test *t, uint32_t key)
{
	char text[64];
	flow_value value = key_value(key, text);
	flow_buffer *buffer = buffer_create();
	assert_int_equal(key_encode(&value, buffer), FLOW_OK);
	uint64_t hash = key_hash(flow_slice_make(buffer->data, buffer->size));
	buffer_destroy(buffer);
	return key_task(key_group(hash, GROUPS), t->tasks, GROUPS);
}

static void
open_tasks(struct test *t, int restored)
{
	for (uint32_t i = 0; i < t->tasks; i++) {
		task_state_request request = { .pool = t->pool,
									   .backend = checkpoint_store_backend(t->store),
									   .state_id = STATE_ID,
									   .states = declarations,
									   .state_count = STATES,
									   .group_count = GROUPS,
									   .memory_limit = t->memory_limit,
									   .restored = (uint32_t)restored };
		key_task_groups(i, t->tasks, GROUPS, &request.first_group, &request.last_group);
		must(t, task_state_create(&request, &t->states[i], &t->error));
	}
}

static void
close_tasks(struct test *t)
{
	for (uint32_t i = 0; i < t->tasks; i++) {
		task_state_destroy(t->states[i]);
		state_delta_release(t->flying[i]);
		t->flying[i] = NULL;
	}
	t->is_flying = 0;
}

static void
open_store(struct test *t)
{
	checkpoint_store_request request = {
		.directory = "/disk/job", .job = "job", .store = &fake_store_component, .host = &host_services
	};
	must(t, checkpoint_store_open(&request, &t->store, &t->error));
}

/* Rows of one call: keys of one task, with repetitions. */
struct call {
	uint32_t task;
	uint32_t count;
	uint32_t keys[ROWS_MAX];
	uint32_t space_index[ROWS_MAX];
	int64_t spaces[ROWS_MAX];
	uint32_t rows[ROWS_MAX];
	flow_batch *batch;
};

static void
make_call(struct test *t, struct call *c)
{
	static char texts_of_keys[ROWS_MAX][64];
	flow_value values[ROWS_MAX];
	uint32_t wanted = 1 + draw(t, ROWS_MAX);
	c->task = draw(t, t->tasks);
	c->count = 0;
	for (uint32_t i = 0; i < wanted; i++) {
		uint32_t key = draw(t, KEYS);
		if (task_of_key(t, key) != c->task)
			continue;
		values[c->count] = key_value(key, texts_of_keys[c->count]);
		c->keys[c->count] = key;
		c->space_index[c->count] = draw(t, SPACES);
		c->spaces[c->count] = spaces[c->space_index[c->count]];
		c->rows[c->count] = c->count;
		c->count++;
	}
	c->batch = keyed_batch(t->pool, schema_of_kind(FLOW_KIND_STRING, 0), values, c->count);
}

static void
use_slots(struct test *t, struct call *c)
{
	void *slots[ROWS_MAX];
	uint8_t created[ROWS_MAX];
	int create = draw(t, 3) != 0;
	must(t, task_state_slots(t->states[c->task], COUNTS, c->batch, c->rows, c->count, c->spaces, create, slots, created,
							 &t->error));
	for (uint32_t i = 0; i < c->count; i++) {
		uint8_t *there = &t->now.slot_there[c->keys[i]][c->space_index[i]];
		int64_t *content = &t->now.slot[c->keys[i]][c->space_index[i]];
		assert_int_equal(created[i], create && !*there);
		if (!*there && !create) {
			assert_null(slots[i]);
			continue;
		}
		if (!*there)
			*content = 0;
		*there = 1;
		int64_t *slot = slots[i];
		assert_non_null(slot);
		assert_int_equal(slot[0], *content);
		assert_int_equal(slot[2], -*content);
		*content += i + 1;
		slot[0] = *content;
		slot[2] = -*content;
	}
}

static void
use_values(struct test *t, struct call *c)
{
	flow_slice values[ROWS_MAX];
	must(t, task_state_get(t->states[c->task], NAMES, c->batch, c->rows, c->count, c->spaces, values, &t->error));
	for (uint32_t i = 0; i < c->count; i++) {
		int32_t size = t->now.value_size[c->keys[i]][c->space_index[i]];
		assert_int_equal(values[i].data != NULL, size >= 0);
		assert_int_equal(values[i].size, size < 0 ? 0 : (uint64_t)size);
		for (uint64_t b = 0; b < values[i].size; b++)
			assert_int_equal((uint8_t)values[i].data[b], t->now.value_byte[c->keys[i]][c->space_index[i]]);
	}
}

static void
put_values(struct test *t, struct call *c)
{
	static char bytes[ROWS_MAX][VALUE_MAX * 8];
	flow_slice values[ROWS_MAX];
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t size = draw(t, 10) == 0 ? draw(t, VALUE_MAX * 8) : draw(t, 40);
		uint8_t byte = (uint8_t)draw(t, 256);
		memset(bytes[i], byte, size);
		values[i] = flow_slice_make(bytes[i], size);
		t->now.value_size[c->keys[i]][c->space_index[i]] = (int32_t)size;
		t->now.value_byte[c->keys[i]][c->space_index[i]] = byte;
	}
	must(t, task_state_put(t->states[c->task], NAMES, c->batch, c->rows, c->count, c->spaces, values, &t->error));
}

static void
remove_some(struct test *t, struct call *c)
{
	uint32_t state = draw(t, STATES);
	must(t, task_state_remove(t->states[c->task], state, c->batch, c->rows, c->count, c->spaces, &t->error));
	for (uint32_t i = 0; i < c->count; i++) {
		if (state == COUNTS)
			t->now.slot_there[c->keys[i]][c->space_index[i]] = 0;
		else
			t->now.value_size[c->keys[i]][c->space_index[i]] = -1;
	}
}

static void
use_timers(struct test *t, struct call *c)
{
	int64_t times[ROWS_MAX];
	uint32_t kind = 1 + draw(t, 2), removing = draw(t, 3) == 0;
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t time = draw(t, TIMES);
		times[i] = (int64_t)time * 1000 - 3000;
		t->now.timer[kind - 1][c->keys[i]][time] = !removing;
	}
	if (removing)
		must(t, task_timers_delete(t->states[c->task], kind, c->batch, c->rows, c->count, times, &t->error));
	else
		must(t, task_timers_register(t->states[c->task], kind, c->batch, c->rows, c->count, times, &t->error));
}

static uint32_t
key_of_text(const flow_value *value)
{
	char text[64];
	assert_int_equal(value->type, FLOW_STRING);
	memcpy(text, value->as.text, value->size);
	text[value->size] = '\0';
	return (uint32_t)atoi(text + 1);
}

static int
compare_keys(flow_slice a, flow_slice b)
{
	int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static void
check_due(struct test *t, const flow_batch *due, uint32_t task, uint32_t kind, int64_t now)
{
	for (uint32_t row = 0; row < due->row_count; row++) {
		uint32_t key = key_of_text(&due->key[row]);
		int64_t time = due->timestamp[row];
		assert_true(time <= now);
		assert_int_equal(task_of_key(t, key), task);
		assert_int_equal(due->key_hash[row], key_hash(due->key_bytes[row]));
		uint8_t *timer = &t->now.timer[kind - 1][key][(time + 3000) / 1000];
		assert_int_equal(*timer, 1);
		*timer = 0;
		if (row == 0)
			continue;
		assert_true(due->timestamp[row - 1] <= time);
		if (due->timestamp[row - 1] == time)
			assert_true(compare_keys(due->key_bytes[row - 1], due->key_bytes[row]) < 0);
	}
}

static void
fire_timers(struct test *t)
{
	uint32_t task = draw(t, t->tasks), kind = 1 + draw(t, 2);
	int64_t now = (int64_t)draw(t, TIMES) * 1000 - 3000;
	flow_batch *due;
	for (;;) {
		must(t, task_timers_due(t->states[task], kind, now, schema_of_kind(FLOW_KIND_STRING, 0), &due, &t->error));
		if (due == NULL)
			break;
		check_due(t, due, task, kind, now);
		batch_release(due);
	}
	assert_true(task_timers_next(t->states[task], kind) > now);
	for (uint32_t key = 0; key < KEYS; key++)
		for (int64_t time = 0; time < TIMES; time++)
			if (t->now.timer[kind - 1][key][time] && task_of_key(t, key) == task)
				assert_true(time * 1000 - 3000 >= task_timers_next(t->states[task], kind));
}

/* ---- Checkpoints ---- */

static void
freeze(struct test *t)
{
	for (uint32_t i = 0; i < t->tasks; i++)
		must(t, task_state_freeze(t->states[i], &t->flying[i], &t->error));
	t->frozen = t->now;
	t->is_flying = 1;
}

static void restart(struct test *t);

static void
write_flying(struct test *t)
{
	checkpoint record = { .epoch = ++t->epoch, .group_count = GROUPS };
	int pending = draw(t, 3) == 0;
	state_delta *flying[TASKS_MAX];
	memcpy(flying, t->flying, sizeof(flying));
	memset(t->flying, 0, sizeof(t->flying)); /* the store takes them over */
	must(t, checkpoint_write(t->store, &record, flying, t->tasks, pending, &t->error));
	if (pending && draw(t, 3) == 0) { /* the sink could not commit it */
		if (draw(t, 2) == 0)
			restart(t);
		must(t, checkpoint_drop(t->store, &t->error));
		restart(t);
		return;
	}
	if (pending)
		must(t, checkpoint_apply(t->store, &t->error));
	t->persisted = t->frozen;
	t->is_flying = 0;
}

/* The process dies and comes back with another number of tasks. */
static void
restart(struct test *t)
{
	close_tasks(t);
	checkpoint_store_close(t->store);
	open_store(t);
	t->tasks = 1 + draw(t, TASKS_MAX);
	t->now = t->persisted;
	must(t, checkpoint_fold(t->store, &t->error));
	open_tasks(t, 1);
}

struct seen {
	struct test *test;
	uint32_t task;
	uint8_t keys[KEYS];
};

static flow_status
see(void *self, const flow_batch *keys, flow_error *error)
{
	struct seen *s = self;
	(void)error;
	for (uint32_t row = 0; row < keys->row_count; row++) {
		uint32_t key = key_of_text(&keys->key[row]);
		assert_int_equal(s->keys[key], 0);
		assert_int_equal(task_of_key(s->test, key), s->task);
		s->keys[key] = 1;
	}
	return FLOW_OK;
}

static int
has_state(const struct model *m, uint32_t key)
{
	for (uint32_t i = 0; i < SPACES; i++)
		if (m->slot_there[key][i] || m->value_size[key][i] >= 0)
			return 1;
	return 0;
}

static void
walk_keys(struct test *t)
{
	for (uint32_t task = 0; task < t->tasks; task++) {
		struct seen seen = { .test = t, .task = task };
		must(t, task_state_each_key(t->states[task], schema_of_kind(FLOW_KIND_STRING, 0), see, &seen, &t->error));
		for (uint32_t key = 0; key < KEYS; key++)
			if (task_of_key(t, key) == task)
				assert_int_equal(seen.keys[key], has_state(&t->now, key));
	}
}

static void
step(struct test *t)
{
	static void (*const calls[])(struct test * t, struct call * c) = { use_slots,  use_slots,   use_values, put_values,
																	   put_values, remove_some, use_timers };
	uint32_t what = draw(t, 40);
	if (what < 30) {
		struct call call;
		make_call(t, &call);
		calls[what % FLOW_COUNT(calls)](t, &call);
		batch_release(call.batch);
	} else if (what < 34) {
		fire_timers(t);
	} else if (what < 38) {
		if (t->is_flying)
			write_flying(t);
		else
			freeze(t);
	} else if (what < 39) {
		walk_keys(t);
	} else if (draw(t, 4) == 0) {
		restart(t);
	}
}

static void
run(uint64_t seed, uint32_t steps, uint64_t memory_limit)
{
	struct test *t = calloc(1, sizeof(*t));
	t->random = seed;
	t->memory_limit = memory_limit;
	t->tasks = 1 + draw(t, TASKS_MAX);
	for (uint32_t key = 0; key < KEYS; key++)
		for (uint32_t i = 0; i < SPACES; i++)
			t->now.value_size[key][i] = -1;
	t->persisted = t->now;
	fake_disk_start();
	fake_store_reset();
	t->pool = batch_pool_create(0);
	open_store(t);
	open_tasks(t, 0);
	for (uint32_t i = 0; i < steps; i++)
		step(t);
	walk_keys(t);
	close_tasks(t);
	checkpoint_store_close(t->store);
	assert_int_equal(batch_pool_used(t->pool), 0);
	batch_pool_destroy(t->pool);
	error_clear(&t->error);
	free(t);
	fake_store_reset();
	fake_disk_stop();
}

static uint32_t
rounds(void)
{
	return getenv("FLOWD_SOAK") == NULL ? 6 : 400;
}

static void
given_random_calls_with_memory_enough_when_compared_with_a_model_then_they_agree(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= rounds(); seed++)
		run(seed, 1500, 0);
}

static void
given_random_calls_with_memory_too_short_when_compared_with_a_model_then_they_agree(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= rounds(); seed++)
		run(1000 + seed, 1500, 24 * 1024);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_random_calls_with_memory_enough_when_compared_with_a_model_then_they_agree),
		cmocka_unit_test(given_random_calls_with_memory_too_short_when_compared_with_a_model_then_they_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
