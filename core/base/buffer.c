/* The host's flow_buffer (base/batch.h). */
#include "base/batch.h"
#include "base/memory.h"

static flow_status
grow(flow_buffer *buffer, uint64_t more)
{
	uint64_t capacity = buffer->capacity == 0 ? 4096 : buffer->capacity;
	while (capacity - buffer->size < more) {
		if (capacity > UINT64_MAX / 2)
			return FLOW_E_MEMORY;
		capacity *= 2;
	}
	char *data = memory_reallocate(buffer->data, capacity);
	if (data == NULL)
		return FLOW_E_MEMORY;
	buffer->data = data;
	buffer->capacity = capacity;
	return FLOW_OK;
}

flow_buffer *
buffer_create(void)
{
	flow_buffer *buffer = memory_allocate_zeroed(sizeof(*buffer));
	if (buffer == NULL)
		return NULL;
	buffer->struct_size = FLOW_SIZEOF(flow_buffer);
	buffer->grow = grow;
	return buffer;
}

void
buffer_reset(flow_buffer *buffer)
{
	buffer->size = 0;
}

void
buffer_destroy(flow_buffer *buffer)
{
	if (buffer == NULL)
		return;
	memory_release(buffer->data);
	memory_release(buffer);
}
