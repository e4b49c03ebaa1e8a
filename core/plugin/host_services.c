/* The table that plugins get, and the services of the base rooms behind it. */
#include "plugin/host_services.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/batch.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/key.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/schema.h"
#include "plugin/metrics.h"

#define ADDED_MAX 32

static atomic_int_fast64_t memory_now;
static atomic_int_fast64_t memory_peak;
static atomic_int cancel_flag;

/* --- memory: counted by what the allocator really gave, so that blocks need no head of their own --- */

static void
count(int64_t delta)
{
	int64_t now = atomic_fetch_add_explicit(&memory_now, delta, memory_order_relaxed) + delta;
	int_fast64_t peak = atomic_load_explicit(&memory_peak, memory_order_relaxed);
	while (now > peak &&
		   !atomic_compare_exchange_weak_explicit(&memory_peak, &peak, now, memory_order_relaxed, memory_order_relaxed))
		;
}

static int64_t
bytes_of(void *memory)
{
	return memory == NULL ? 0 : (int64_t)malloc_usable_size(memory);
}

static void *
allocate(uint64_t size)
{
	void *memory = memory_allocate(size);
	count(bytes_of(memory));
	return memory;
}

static void *
reallocate(void *memory, uint64_t size)
{
	int64_t before = bytes_of(memory);
	void *moved = memory_reallocate(memory, size);
	if (moved != NULL)
		count(bytes_of(moved) - before);
	return moved;
}

static void
release(void *memory)
{
	count(-bytes_of(memory));
	memory_release(memory);
}

int64_t
host_services_memory(void)
{
	return atomic_load_explicit(&memory_now, memory_order_relaxed);
}

int64_t
host_services_memory_peak(void)
{
	return atomic_load_explicit(&memory_peak, memory_order_relaxed);
}

/* --- cancel --- */

void
host_services_cancel(int cancelled)
{
	atomic_store(&cancel_flag, cancelled);
}

static int
cancelled(void)
{
	return atomic_load_explicit(&cancel_flag, memory_order_relaxed);
}

/* --- services by id --- */

struct service {
	const char *id;
	const void *table;
};

static const struct service base_services[] = {
	{ FLOW_SERVICE_SCHEMAS, &schemas_service },
	{ FLOW_SERVICE_BATCHES, &batches_service },
	{ FLOW_SERVICE_KEYS, &keys_service },
	{ FLOW_SERVICE_MEMORY, &memory_service },
};

static struct service added[ADDED_MAX];
static size_t added_count;
static pthread_mutex_t added_lock = PTHREAD_MUTEX_INITIALIZER;

void
host_services_add(const char *id, const void *service)
{
	pthread_mutex_lock(&added_lock);
	size_t i = 0;
	while (i < added_count && strcmp(added[i].id, id) != 0)
		i++;
	if (i < ADDED_MAX) {
		added[i] = (struct service){ id, service };
		added_count += i == added_count;
	}
	pthread_mutex_unlock(&added_lock);
}

static const void *
find_service(const struct service *services, size_t service_count, const char *id)
{
	for (size_t i = 0; i < service_count; i++)
		if (strcmp(services[i].id, id) == 0)
			return services[i].table;
	return NULL;
}

static const void *
get_service(const char *id)
{
	pthread_mutex_lock(&added_lock);
	const void *table = find_service(added, added_count, id);
	pthread_mutex_unlock(&added_lock);
	return table != NULL ? table : find_service(base_services, FLOW_COUNT(base_services), id);
}

const flow_host host_services = {
	.struct_size = FLOW_SIZEOF(flow_host),
	.abi = FLOW_ABI,
	.errors = &error_ops,
	.log = log_write_list,
	.log_level = log_level,
	.now = clock_now,
	.monotonic = clock_monotonic,
	.allocate = allocate,
	.reallocate = reallocate,
	.release = release,
	.metric = metrics_register,
	.metric_add = metrics_add,
	.metric_set = metrics_set,
	.get_service = get_service,
	.cancelled = cancelled,
};
