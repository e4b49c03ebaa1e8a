/* Loops over memory: a hash map, functions called directly, a ring between two threads (bench/bench_loops.h). */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/ring.h"
#include "bench/bench_loops.h"
#include "bench/bench_rows.h"
#include "flow/batch.h"

#define SLOTS (1u << 18)
#define FUNCTIONS 5
#define RING 64

static void *
prepared(size_t count, size_t size)
{
	void *memory = calloc(count, size);
	if (memory == NULL)
		give_up("memory");
	return memory;
}

/* --- count: the rows are cells as in flowd's batches ------------------------------------------------------------------ */

struct entry {
	char key[BENCH_KEY_SIZE];
	uint64_t count; /* 0: free */
};

static void
count_key(struct entry *table, const flow_value *key)
{
	uint64_t at = XXH3_64bits(key->as.text, key->size) & (SLOTS - 1);
	while (table[at].count != 0 && memcmp(table[at].key, key->as.text, BENCH_KEY_SIZE) != 0)
		at = (at + 1) & (SLOTS - 1);
	if (table[at].count++ == 0)
		memcpy(table[at].key, key->as.text, BENCH_KEY_SIZE);
}

void
loop_count(char **arguments)
{
	uint64_t records = strtoull(arguments[0], NULL, 10), keys = strtoull(arguments[1], NULL, 10);
	char *texts = prepared(BENCH_PREPARED_ROWS, BENCH_KEY_SIZE);
	flow_value *cells = prepared(BENCH_PREPARED_ROWS, 2 * sizeof(*cells));
	struct entry *table = prepared(SLOTS, sizeof(*table));
	for (uint64_t row = 0; row < BENCH_PREPARED_ROWS; row++) {
		bench_print_key(row, keys, texts + row * BENCH_KEY_SIZE);
		cells[row * 2] = flow_string(texts + row * BENCH_KEY_SIZE, BENCH_KEY_SIZE);
	}
	for (uint64_t i = 0; i < records; i++)
		count_key(table, &cells[(i & (BENCH_PREPARED_ROWS - 1)) * 2]);
	uint64_t most = 0;
	for (uint32_t i = 0; i < SLOTS; i++)
		most = table[i].count > most ? table[i].count : most;
	printf("%llu\n", (unsigned long long)most);
	free(texts);
	free(cells);
	free(table);
}

/* --- noop ------------------------------------------------------------------------------------------------------------- */

typedef uint64_t (*visitor)(const flow_value *values, uint32_t count);

static uint64_t
visit(const flow_value *values, uint32_t count)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < count; i++)
		sum += values[i].type;
	return sum;
}

void
loop_noop(char **arguments)
{
	uint64_t batches = strtoull(arguments[0], NULL, 10) / FLOW_BATCH_ROWS;
	flow_value *values = prepared(FLOW_BATCH_ROWS, sizeof(*values));
	visitor volatile functions[FUNCTIONS] = { visit, visit, visit, visit, visit };
	for (uint32_t i = 0; i < FLOW_BATCH_ROWS; i++)
		values[i] = flow_int64(i);
	uint64_t sum = 0;
	for (uint64_t batch = 0; batch < batches; batch++)
		for (int i = 0; i < FUNCTIONS; i++)
			sum += functions[i](values, FLOW_BATCH_ROWS);
	printf("%llu\n", (unsigned long long)sum);
	free(values);
}

/* --- ring ------------------------------------------------------------------------------------------------------------- */

static ring between;

static void *
take_all(void *argument)
{
	uint64_t *left = argument;
	while (*left > 0) {
		if (ring_pop(&between) != NULL)
			--*left;
		else
			sched_yield();
	}
	return NULL;
}

void
loop_ring(char **arguments)
{
	uint64_t batches = strtoull(arguments[0], NULL, 10) / FLOW_BATCH_ROWS, left = batches;
	static flow_batch batch;
	pthread_t consumer;
	if (!ring_create(&between, RING) || pthread_create(&consumer, NULL, take_all, &left) != 0)
		give_up("ring");
	for (uint64_t i = 0; i < batches;) {
		if (ring_push(&between, &batch))
			i++;
		else
			sched_yield();
	}
	pthread_join(consumer, NULL);
	ring_destroy(&between);
}
