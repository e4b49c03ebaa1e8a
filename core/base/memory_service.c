/* The service flow.memory/1: builders outside of a task's call (base/batch.h). */
#include <pthread.h>

#include "base/batch.h"

/* One pool without limit for all of them. It is never destroyed: plugins may close their builders until the very end. */
static batch_pool *pool;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static flow_builder *
open_memory(void)
{
	pthread_mutex_lock(&pool_lock);
	if (pool == NULL)
		pool = batch_pool_create(0);
	batch_pool *from = pool;
	pthread_mutex_unlock(&pool_lock);
	return from == NULL ? NULL : builder_create(from, 0, 0);
}

const flow_memory memory_service = {
	.struct_size = FLOW_SIZEOF(flow_memory),
	.open = open_memory,
	.reset = builder_clear,
	.close = builder_destroy,
};
