/* Slots: what keeps a batch until the last of its records has its report (kafka_output.h). */
#include "kafka_output.h"

static int
add_chunk(struct kafka_producer *producer)
{
	if (producer->chunk_count == KAFKA_SLOT_CHUNKS)
		return 0;
	struct kafka_slot *chunk = flow_new(producer->host, KAFKA_SLOT_CHUNK * sizeof(*chunk));
	if (chunk == NULL)
		return 0;
	uint32_t first = producer->chunk_count * KAFKA_SLOT_CHUNK;
	for (uint32_t i = 0; i < KAFKA_SLOT_CHUNK; i++)
		chunk[i].next = i + 1 == KAFKA_SLOT_CHUNK ? producer->free_slot : first + i + 1;
	producer->chunks[producer->chunk_count++] = chunk;
	producer->free_slot = first;
	return 1;
}

uint32_t
kafka_slot_take(struct kafka_producer *producer, flow_writer *writer, const flow_batch *batch, uint32_t records)
{
	if (producer->free_slot == KAFKA_NO_SLOT && !add_chunk(producer))
		return KAFKA_NO_SLOT;
	uint32_t index = producer->free_slot;
	struct kafka_slot *slot = kafka_slot_at(producer, index);
	producer->free_slot = slot->next;
	slot->batch = producer->batches->retain(batch);
	slot->writer = writer;
	atomic_store(&slot->pending, records + 1);
	slot->first = writer->rows;
	writer->rows += batch->row_count;
	writer->outstanding++;
	return index;
}

uint64_t
kafka_slot_turn(const struct kafka_producer *producer, const void *opaque)
{
	return kafka_slot_at(producer, (uint32_t)((uintptr_t)opaque >> 32))->first + (uint32_t)(uintptr_t)opaque;
}

void
kafka_slot_done(struct kafka_producer *producer, uint32_t index, uint32_t count)
{
	struct kafka_slot *slot = kafka_slot_at(producer, index);
	if (atomic_fetch_sub(&slot->pending, count) != count)
		return;
	const flow_batch *batch = slot->batch;
	/* The batch goes first: who waits for `outstanding` relies on its memory not being used any more. */
	producer->batches->release(batch);
	pthread_mutex_lock(&producer->lock);
	slot->next = producer->free_slot;
	producer->free_slot = index;
	if (--slot->writer->outstanding == 0)
		pthread_cond_broadcast(&producer->changed);
	pthread_mutex_unlock(&producer->lock);
}

void
kafka_slots_settle(struct kafka_producer *producer, int ended)
{
	pthread_mutex_lock(&producer->lock);
	for (uint32_t i = 0; i < producer->chunk_count * KAFKA_SLOT_CHUNK; i++) {
		struct kafka_slot *slot = kafka_slot_at(producer, i);
		if (atomic_load(&slot->pending) == 0)
			continue;
		if (ended) /* else the client that was left behind may look at its memory still */
			producer->batches->release(slot->batch);
		atomic_store(&slot->pending, 0);
		slot->next = producer->free_slot;
		producer->free_slot = i;
		slot->writer->outstanding--;
	}
	pthread_cond_broadcast(&producer->changed);
	pthread_mutex_unlock(&producer->lock);
}
