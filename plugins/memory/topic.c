/* Named topics that live in the process (topic.h). A record is one block of memory. */
#include "topic.h"

#include <pthread.h>

#include "flow_sdk/plugin.h"

#define NO_VALUE UINT32_MAX /* as a size: null */

/* Key, value, then for each header two sizes, its name and its value stand behind it. */
struct record {
	int64_t timestamp;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t header_count;
	uint32_t unused;
};

struct partition {
	struct record **records; /* of the offsets first .. first + count - 1 start at records[head] */
	uint64_t head, count, room;
	uint64_t first;
};

struct topic {
	struct topic *next;
	const flow_host *host;
	char *name;
	uint32_t partition_count;
	pthread_mutex_t lock;
	uint64_t held; /* records in all partitions */
	const flow_waker **wakers;
	uint64_t waker_count, waker_room;
	struct partition partitions[];
};

static struct topic *topics;
static pthread_mutex_t topics_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- finding and making ------------------------------------------------------------------------------------------ */

static struct topic *
find(flow_slice name)
{
	for (struct topic *t = topics; t != NULL; t = t->next)
		if (flow_slice_is(name, t->name))
			return t;
	return NULL;
}

struct topic *
topic_find(flow_slice name)
{
	pthread_mutex_lock(&topics_lock);
	struct topic *t = find(name);
	pthread_mutex_unlock(&topics_lock);
	return t;
}

static struct topic *
make(const flow_host *host, flow_slice name, uint32_t partitions)
{
	struct topic *t = flow_new(host, sizeof(*t) + partitions * sizeof(struct partition));
	char *copy = host->allocate(name.size + 1);
	if (t == NULL || copy == NULL) {
		host->release(t);
		host->release(copy);
		return NULL;
	}
	if (name.size != 0)
		memcpy(copy, name.data, name.size);
	copy[name.size] = '\0';
	t->host = host;
	t->name = copy;
	t->partition_count = partitions;
	pthread_mutex_init(&t->lock, NULL);
	t->next = topics;
	topics = t;
	return t;
}

flow_status
topic_open(const flow_host *host, flow_slice name, uint32_t partitions, struct topic **topic, flow_error *error)
{
	pthread_mutex_lock(&topics_lock);
	struct topic *t = find(name);
	if (t == NULL)
		t = make(host, name, partitions == 0 ? 1 : partitions);
	pthread_mutex_unlock(&topics_lock);
	*topic = t;
	if (t == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	if (partitions != 0 && partitions != t->partition_count)
		return flow_fail(host, error, FLOW_E_CONFLICT, "the topic %s is there with %u partitions, not %u", t->name,
						 t->partition_count, partitions);
	return FLOW_OK;
}

void
topics_clear(void)
{
	while (topics != NULL) {
		struct topic *t = topics;
		topics = t->next;
		for (uint32_t i = 0; i < t->partition_count; i++) {
			struct partition *p = &t->partitions[i];
			for (uint64_t k = 0; k < p->count; k++)
				t->host->release(p->records[p->head + k]);
			t->host->release(p->records);
		}
		pthread_mutex_destroy(&t->lock);
		t->host->release(t->wakers);
		t->host->release(t->name);
		t->host->release(t);
	}
}

uint32_t
topic_partitions(const struct topic *topic)
{
	return topic->partition_count;
}

void
topic_range(struct topic *topic, uint32_t partition, uint64_t *first, uint64_t *end)
{
	pthread_mutex_lock(&topic->lock);
	*first = topic->partitions[partition].first;
	*end = *first + topic->partitions[partition].count;
	pthread_mutex_unlock(&topic->lock);
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

static uint32_t
size_of(const flow_value *value)
{
	return value == NULL || value->type == FLOW_NULL ? NO_VALUE : value->size;
}

static char *
put(char *to, const void *data, uint32_t size)
{
	if (size == NO_VALUE || size == 0)
		return to;
	memcpy(to, data, size);
	return to + size;
}

static uint64_t
bytes_of(uint32_t size)
{
	return size == NO_VALUE ? 0 : size;
}

static struct record *
copy_row(const flow_host *host, const flow_batch *batch, uint32_t row)
{
	const flow_value *value = &batch->value[row], *key = batch->key == NULL ? NULL : &batch->key[row];
	const flow_headers *headers = batch->headers == NULL ? NULL : &batch->headers[row];
	uint32_t header_count = headers == NULL ? 0 : (uint32_t)headers->count;
	uint64_t size = sizeof(struct record) + bytes_of(size_of(key)) + bytes_of(size_of(value));
	for (uint32_t i = 0; i < header_count; i++)
		size += 2 * sizeof(uint32_t) + headers->items[i].name.size + bytes_of(size_of(&headers->items[i].value));
	struct record *record = host->allocate(size);
	if (record == NULL)
		return NULL;
	*record = (struct record){ .timestamp = batch->timestamp == NULL ? FLOW_NO_TIMESTAMP : batch->timestamp[row],
							   .key_size = size_of(key),
							   .value_size = size_of(value),
							   .header_count = header_count };
	char *to = (char *)(record + 1);
	if (key != NULL)
		to = put(to, key->as.text, record->key_size);
	to = put(to, value->as.text, record->value_size);
	for (uint32_t i = 0; i < header_count; i++) {
		const flow_header *header = &headers->items[i];
		uint32_t sizes[2] = { (uint32_t)header->name.size, size_of(&header->value) };
		to = put(to, sizes, sizeof(sizes));
		to = put(to, header->name.data, sizes[0]);
		to = put(to, header->value.as.text, sizes[1]);
	}
	return record;
}

static int
make_room(const flow_host *host, struct partition *p)
{
	if (p->head + p->count < p->room)
		return 1;
	if (p->head >= p->room / 2 && p->head != 0) {
		memmove(p->records, p->records + p->head, p->count * sizeof(struct record *));
		p->head = 0;
		return 1;
	}
	uint64_t room = p->room == 0 ? 256 : p->room * 2;
	struct record **more = host->reallocate(p->records, room * sizeof(struct record *));
	if (more == NULL)
		return 0;
	p->records = more;
	p->room = room;
	return 1;
}

void
topic_begin_append(struct topic *topic)
{
	pthread_mutex_lock(&topic->lock);
}

void
topic_end_append(struct topic *topic)
{
	for (uint64_t i = 0; i < topic->waker_count; i++)
		topic->wakers[i]->wake(topic->wakers[i]->wake_context);
	pthread_mutex_unlock(&topic->lock);
}

flow_status
topic_append(struct topic *topic, uint32_t partition, const flow_batch *batch, uint32_t row, uint64_t capacity,
			 flow_error *error)
{
	const flow_host *host = topic->host;
	struct partition *p = &topic->partitions[partition];
	if (topic->held >= capacity)
		return flow_fail(
			host, error, FLOW_E_LIMIT,
			"the topic %s holds %llu records, as many as its capacity; it is for tests and small trials: raise the "
			"option capacity, or write to a file",
			topic->name, (unsigned long long)topic->held);
	struct record *record = make_room(host, p) ? copy_row(host, batch, row) : NULL;
	if (record == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "topic %s: out of memory", topic->name);
	p->records[p->head + p->count++] = record;
	topic->held++;
	return FLOW_OK;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* Takes the next piece of a record's bytes into the builder. 0: out of memory. */
static int
take(flow_builder *builder, const char **from, uint32_t size, flow_value *value)
{
	*value = flow_null();
	if (size == NO_VALUE)
		return 1;
	const char *copy = flow_builder_copy(builder, *from, size);
	*from += size;
	*value = flow_bytes(copy, size);
	return copy != NULL;
}

static int
take_headers(flow_builder *builder, const char *from, uint32_t count, flow_headers *headers)
{
	flow_header *items = flow_builder_alloc(builder, count * sizeof(*items));
	if (items == NULL)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t sizes[2];
		flow_value name;
		memcpy(sizes, from, sizeof(sizes));
		from += sizeof(sizes);
		if (!take(builder, &from, sizes[0], &name) || !take(builder, &from, sizes[1], &items[i].value))
			return 0;
		items[i].name = flow_value_slice(&name);
	}
	*headers = (flow_headers){ items, count };
	return 1;
}

static uint32_t
columns_of(const struct record *record)
{
	return FLOW_COLUMN_ORDINAL | (record->key_size != NO_VALUE ? FLOW_COLUMN_KEY : 0) |
		   (record->timestamp != FLOW_NO_TIMESTAMP ? FLOW_COLUMN_TIMESTAMP : 0) |
		   (record->header_count != 0 ? FLOW_COLUMN_HEADERS : 0);
}

static int
add_record(flow_builder *builder, const struct record *record, uint64_t offset)
{
	const char *from = (const char *)(record + 1);
	flow_value key, value;
	flow_headers headers = { NULL, 0 };
	if (builder->ops->add_columns(builder, columns_of(record)) != FLOW_OK ||
		!take(builder, &from, record->key_size, &key) || !take(builder, &from, record->value_size, &value) ||
		(record->header_count != 0 && !take_headers(builder, from, record->header_count, &headers)))
		return 0;
	uint32_t row = flow_builder_add(builder, value);
	builder->ordinal[row] = (int64_t)offset;
	if (builder->key != NULL)
		builder->key[row] = key;
	if (builder->timestamp != NULL)
		builder->timestamp[row] = record->timestamp;
	if (builder->headers != NULL)
		builder->headers[row] = headers;
	return 1;
}

flow_status
topic_read(struct topic *topic, uint32_t partition, uint64_t *offset, uint64_t end, flow_builder *builder,
		   flow_error *error)
{
	const struct partition *p = &topic->partitions[partition];
	flow_status status = FLOW_OK;
	pthread_mutex_lock(&topic->lock);
	if (*offset < p->first)
		status = flow_fail(topic->host, error, FLOW_E_POSITION_LOST,
						   "topic %s, partition %u: the record %llu is gone, the first one is %llu", topic->name,
						   partition, (unsigned long long)*offset, (unsigned long long)p->first);
	if (end > p->first + p->count)
		end = p->first + p->count;
	while (status == FLOW_OK && *offset < end && !flow_builder_full(builder)) {
		if (add_record(builder, p->records[p->head + (*offset - p->first)], *offset))
			++*offset;
		else
			status = flow_fail(topic->host, error, FLOW_E_MEMORY, "topic %s: out of memory", topic->name);
	}
	pthread_mutex_unlock(&topic->lock);
	return status;
}

void
topic_drop(struct topic *topic, uint32_t partition, uint64_t offset)
{
	struct partition *p = &topic->partitions[partition];
	pthread_mutex_lock(&topic->lock);
	for (; p->count != 0 && p->first < offset; p->first++, p->head++, p->count--, topic->held--)
		topic->host->release(p->records[p->head]);
	pthread_mutex_unlock(&topic->lock);
}

/* --- who waits --------------------------------------------------------------------------------------------------- */

flow_status
topic_add_waker(struct topic *topic, const flow_waker *waker)
{
	flow_status status = FLOW_OK;
	pthread_mutex_lock(&topic->lock);
	if (topic->waker_count == topic->waker_room) {
		uint64_t room = topic->waker_room == 0 ? 8 : topic->waker_room * 2;
		const flow_waker **more = topic->host->reallocate(topic->wakers, room * sizeof(flow_waker *));
		if (more != NULL) {
			topic->wakers = more;
			topic->waker_room = room;
		} else {
			status = FLOW_E_MEMORY;
		}
	}
	if (status == FLOW_OK)
		topic->wakers[topic->waker_count++] = waker;
	pthread_mutex_unlock(&topic->lock);
	return status;
}

void
topic_remove_waker(struct topic *topic, const flow_waker *waker)
{
	pthread_mutex_lock(&topic->lock);
	for (uint64_t i = 0; i < topic->waker_count; i++)
		if (topic->wakers[i] == waker) {
			topic->wakers[i] = topic->wakers[--topic->waker_count];
			break;
		}
	pthread_mutex_unlock(&topic->lock);
}
