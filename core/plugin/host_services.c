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

/* --- flow.keys/1 --- */

/* Grows a key's bytes in the builder's memory: the old piece stays behind, keys are short. */
static flow_status
grow_in_builder(flow_buffer *buffer, uint64_t more)
{
	if (more > UINT32_MAX || buffer->size > UINT32_MAX)
		return FLOW_E_LIMIT;
	uint64_t capacity = (buffer->size + more) * 2;
	char *data = flow_builder_alloc(buffer->host, capacity);
	if (data == NULL)
		return FLOW_E_MEMORY;
	if (buffer->size != 0)
		memcpy(data, buffer->data, buffer->size);
	buffer->data = data;
	buffer->capacity = capacity;
	return FLOW_OK;
}

static flow_status
keys_encode(const flow_value *key, flow_builder *memory, flow_slice *bytes, flow_error *error)
{
	if (flow_is_null(*key))
		return error_set(error, FLOW_E_NULL_KEY, "the key is null");
	flow_buffer buffer = { .struct_size = FLOW_SIZEOF(flow_buffer), .grow = grow_in_builder, .host = memory };
	if (flow_buffer_reserve(&buffer, 24) == NULL)
		return error_set(error, FLOW_E_MEMORY, "no memory for a key");
	flow_status status = key_encode(key, &buffer);
	if (status != FLOW_OK)
		return error_set(error, status, "this value cannot be a key: %s", status_text(status));
	*bytes = flow_slice_make(buffer.data, buffer.size);
	return FLOW_OK;
}

static const flow_keys keys_service = {
	.struct_size = FLOW_SIZEOF(flow_keys),
	.encode = keys_encode,
	.hash = key_hash,
};

/* --- flow.memory/1 --- */

static batch_pool *memory_pool;
static pthread_once_t memory_pool_once = PTHREAD_ONCE_INIT;

static void
make_memory_pool(void)
{
	memory_pool = batch_pool_create(0);
}

static flow_builder *
memory_open(void)
{
	pthread_once(&memory_pool_once, make_memory_pool);
	return memory_pool == NULL ? NULL : builder_create(memory_pool, 0, 0);
}

static const flow_memory memory_service = {
	.struct_size = FLOW_SIZEOF(flow_memory),
	.open = memory_open,
	.reset = builder_clear,
	.close = builder_destroy,
};

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
