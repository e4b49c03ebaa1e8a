/* Builders and the batches that come out of them (base/batch.h). */
#include <stdatomic.h>
#include <string.h>

#include "base/batch.h"
#include "base/chunk.h"
#include "base/memory.h"
#include "base/schema.h"
#include "base/value.h"

#define FIRST_CHUNK ((uint64_t)64 * 1024 - 256)
#define NEXT_CHUNK ((uint64_t)128 * 1024 - 256)
#define COPY_BELOW 8 /* a selection of fewer than 1/8 of the parent's rows is copied */

/* What a batch holds besides its memory: parents and foreign owners. Lies in the batch's own chunks. */
struct holding {
	struct holding *next;
	const flow_batch *batch;
	void (*release)(void *owner);
	void *owner;
};

/* The batch and its owner's record, in the batch's own first chunk. */
struct owned_batch {
	flow_batch batch;
	atomic_uint references;
	batch_pool *pool;
	chunk *chunks;
	struct holding *holdings;
	uint64_t bytes;
	uint32_t partition_number;
};

struct host_builder {
	flow_builder builder;
	batch_pool *pool;
	chunk *chunks; /* newest first */
	struct holding *holdings;
	uint32_t row_limit;
	uint64_t byte_limit;
	uint64_t bytes_before; /* in chunks that are full */
	builder_reject reject;
	void *reject_context;
};

static struct host_builder *
host_of(flow_builder *builder)
{
	return builder->host;
}

static void
release_holdings(struct holding *first)
{
	for (struct holding *h = first; h != NULL; h = h->next) {
		if (h->batch != NULL)
			batch_release(h->batch);
		else
			h->release(h->owner);
	}
}

static void
set_soft_end(struct host_builder *host)
{
	flow_builder *builder = &host->builder;
	uint64_t room = (uint64_t)(builder->end - builder->next);
	uint64_t left = host->bytes_before >= host->byte_limit ? 0 : host->byte_limit - host->bytes_before;
	builder->soft_end = left < room ? builder->next + left : builder->end + 1;
}

static flow_status
add_chunk(struct host_builder *host, uint64_t size)
{
	flow_builder *builder = &host->builder;
	chunk *c = chunk_acquire(host->pool, size);
	if (c == NULL)
		return FLOW_E_MEMORY;
	if (host->chunks != NULL)
		host->bytes_before += (uint64_t)(builder->next - host->chunks->data);
	c->next = host->chunks;
	host->chunks = c;
	builder->next = c->data;
	builder->end = c->data + c->size;
	set_soft_end(host);
	return FLOW_OK;
}

static flow_status
refill(flow_builder *builder, uint64_t size)
{
	flow_status status = add_chunk(host_of(builder), size > NEXT_CHUNK ? size : NEXT_CHUNK);
	if (status == FLOW_OK && builder->row_count == 0)
		builder->soft_end = builder->end; /* whatever was allocated before the first record is added, it has room */
	return status;
}

static void
fill_new_column(flow_builder *builder, uint32_t column)
{
	for (uint32_t row = 0; row < builder->row_count; row++) {
		if (column == FLOW_COLUMN_KEY)
			builder->key[row] = flow_null();
		else if (column == FLOW_COLUMN_TIMESTAMP)
			builder->timestamp[row] = FLOW_NO_TIMESTAMP;
		else if (column == FLOW_COLUMN_ORDINAL)
			builder->ordinal[row] = 0;
		else
			memset(&builder->headers[row], 0, sizeof(flow_headers));
	}
}

#define ADD_COLUMN(flag, member)                                                                                       \
	if ((columns & (flag)) != 0 && builder->member == NULL) {                                                          \
		builder->member = flow_builder_alloc(builder, capacity * sizeof(*builder->member));                            \
		if (builder->member == NULL)                                                                                   \
			return FLOW_E_MEMORY;                                                                                      \
		fill_new_column(builder, flag);                                                                                \
	}

static flow_status
add_columns(flow_builder *builder, uint32_t columns)
{
	uint64_t capacity = builder->row_capacity;
	ADD_COLUMN(FLOW_COLUMN_KEY, key)
	ADD_COLUMN(FLOW_COLUMN_TIMESTAMP, timestamp)
	ADD_COLUMN(FLOW_COLUMN_ORDINAL, ordinal)
	ADD_COLUMN(FLOW_COLUMN_HEADERS, headers)
	return FLOW_OK;
}

static flow_status
hold(flow_builder *builder, struct holding what)
{
	struct holding *h = flow_builder_alloc(builder, sizeof(*h));
	if (h == NULL)
		return FLOW_E_MEMORY;
	*h = what;
	h->next = host_of(builder)->holdings;
	host_of(builder)->holdings = h;
	return FLOW_OK;
}

static flow_status
keep(flow_builder *builder, const flow_batch *batch)
{
	batch = &((struct owned_batch *)batch->host)->batch; /* it may be a part of it that lives on a stack */
	const struct holding *first = host_of(builder)->holdings;
	if (first != NULL && first->batch == batch)
		return FLOW_OK; /* the usual case: one parent for many rows */
	flow_status status = hold(builder, (struct holding){ .batch = batch });
	if (status == FLOW_OK)
		batch_retain(batch);
	return status;
}

static flow_status
adopt(flow_builder *builder, void (*release)(void *owner), void *owner, uint64_t bytes)
{
	flow_status status = hold(builder, (struct holding){ .release = release, .owner = owner });
	if (status != FLOW_OK) {
		release(owner);
		return status;
	}
	host_of(builder)->bytes_before += bytes;
	set_soft_end(host_of(builder));
	return FLOW_OK;
}

static flow_status
hand_rejection(flow_builder *builder, const flow_rejection *rejection)
{
	struct host_builder *host = host_of(builder);
	return host->reject == NULL ? FLOW_E_DECODE : host->reject(host->reject_context, builder, rejection);
}

static const flow_builder_ops builder_ops = {
	.struct_size = FLOW_SIZEOF(flow_builder_ops),
	.refill = refill,
	.add_columns = add_columns,
	.keep = keep,
	.adopt = adopt,
	.reject = hand_rejection,
};

/* Empty, with room for the value column; row_capacity 0 if there is no memory (then the builder counts as full). */
static void
start(struct host_builder *host)
{
	flow_builder *builder = &host->builder;
	*builder = (flow_builder){ .struct_size = FLOW_SIZEOF(flow_builder), .ops = &builder_ops, .host = host };
	host->chunks = NULL;
	host->holdings = NULL;
	host->bytes_before = 0;
	uint64_t columns = (uint64_t)host->row_limit * sizeof(flow_value);
	uint64_t first = host->byte_limit < FIRST_CHUNK ? host->byte_limit : FIRST_CHUNK;
	if (add_chunk(host, columns + first / 2 + sizeof(struct owned_batch)) != FLOW_OK)
		return;
	builder->value = flow_builder_alloc(builder, columns);
	builder->row_capacity = host->row_limit;
	set_soft_end(host);
}

flow_builder *
builder_create(batch_pool *pool, uint32_t rows, uint64_t bytes)
{
	struct host_builder *host = memory_allocate_zeroed(sizeof(*host));
	if (host == NULL)
		return NULL;
	host->pool = pool;
	host->row_limit = rows == 0 ? FLOW_BATCH_ROWS : rows;
	host->byte_limit = bytes == 0 ? (uint64_t)FLOW_BATCH_BYTES : bytes;
	start(host);
	if (host->builder.row_capacity == 0) {
		memory_release(host);
		return NULL;
	}
	return &host->builder;
}

void
builder_on_reject(flow_builder *builder, builder_reject handler, void *context)
{
	host_of(builder)->reject = handler;
	host_of(builder)->reject_context = context;
}

static int
chunks_hold(const chunk *chunks, const void *pointer)
{
	for (const chunk *c = chunks; c != NULL; c = c->next)
		if ((const char *)pointer >= c->data && (const char *)pointer < c->data + c->size)
			return 1;
	return 0;
}

int
builder_holds(const flow_builder *builder, const void *pointer)
{
	return chunks_hold(((const struct host_builder *)builder->host)->chunks, pointer);
}

int
batch_holds(const flow_batch *batch, const void *pointer)
{
	return chunks_hold(((const struct owned_batch *)batch->host)->chunks, pointer);
}

/* Directly, or through a batch that is over its rows. */
static int
is_held(const struct holding *first, const flow_batch *batch)
{
	for (const struct holding *h = first; h != NULL; h = h->next)
		if (h->batch != NULL &&
			(h->batch->host == batch->host || is_held(((const struct owned_batch *)h->batch->host)->holdings, batch)))
			return 1;
	return 0;
}

int
builder_keeps(const flow_builder *builder, const flow_batch *batch)
{
	return is_held(((const struct host_builder *)builder->host)->holdings, batch);
}

void
builder_clear(flow_builder *builder)
{
	struct host_builder *host = host_of(builder);
	release_holdings(host->holdings);
	chunk_release(host->pool, host->chunks);
	start(host);
}

void
builder_destroy(flow_builder *builder)
{
	if (builder == NULL)
		return;
	struct host_builder *host = host_of(builder);
	release_holdings(host->holdings);
	chunk_release(host->pool, host->chunks);
	memory_release(host);
}

/* Moves the builder's memory into a batch head that lies in it. */
static struct owned_batch *
take_memory(struct host_builder *host)
{
	struct owned_batch *owned = flow_builder_alloc(&host->builder, sizeof(*owned));
	if (owned == NULL)
		return NULL;
	memset(owned, 0, sizeof(*owned));
	atomic_init(&owned->references, 1);
	owned->pool = host->pool;
	owned->chunks = host->chunks;
	owned->holdings = host->holdings;
	owned->bytes = host->bytes_before + (uint64_t)(host->builder.next - host->chunks->data);
	owned->batch.struct_size = FLOW_SIZEOF(flow_batch);
	owned->batch.host = owned;
	return owned;
}

flow_batch *
builder_finish(flow_builder *builder, const batch_head *head)
{
	struct host_builder *host = host_of(builder);
	const char *place = flow_builder_copy(builder, head->place.data, head->place.size);
	if (place == NULL)
		return NULL;
	struct owned_batch *owned = take_memory(host);
	if (owned == NULL)
		return NULL;
	flow_batch *batch = &owned->batch;
	batch->flags = head->flags | builder->flags;
	batch->row_count = batch->selected_count = builder->row_count;
	batch->schema = schema_retain(head->schema != NULL ? head->schema : schema_bytes());
	batch->key_schema = schema_retain(head->key_schema);
	batch->value = builder->value;
	batch->key = builder->key;
	batch->timestamp = builder->timestamp;
	batch->headers = builder->headers;
	batch->ordinal = builder->ordinal;
	batch->input = head->input;
	batch->partition = head->partition;
	batch->place = flow_slice_make(place, head->place.size);
	owned->partition_number = head->number;
	start(host);
	return batch;
}

static flow_status
copy_values(flow_builder *memory, const uint32_t *selection, uint32_t count, const flow_value **column)
{
	flow_value *cells = flow_builder_alloc(memory, (uint64_t)count * sizeof(*cells) + 8);
	if (cells == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		flow_status status = value_copy(memory, &(*column)[selection[i]], &cells[i]);
		if (status != FLOW_OK)
			return status;
	}
	*column = cells;
	return FLOW_OK;
}

static flow_status
copy_numbers(flow_builder *memory, const uint32_t *selection, uint32_t count, const int64_t **column)
{
	if (*column == NULL)
		return FLOW_OK;
	int64_t *numbers = flow_builder_alloc(memory, (uint64_t)count * sizeof(*numbers) + 8);
	if (numbers == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		numbers[i] = (*column)[selection[i]];
	*column = numbers;
	return FLOW_OK;
}

static flow_status
copy_key_columns(flow_builder *memory, flow_batch *batch)
{
	uint32_t count = batch->selected_count;
	if (batch->key_hash == NULL || batch->key_bytes == NULL)
		return FLOW_OK;
	uint64_t *hashes = flow_builder_alloc(memory, (uint64_t)count * sizeof(*hashes) + 8);
	flow_slice *slices = flow_builder_alloc(memory, (uint64_t)count * sizeof(*slices) + 8);
	if (hashes == NULL || slices == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = batch->selection[i];
		hashes[i] = batch->key_hash[row];
		slices[i] = batch->key_bytes[row];
		if (slices[i].data == NULL)
			continue;
		slices[i].data = flow_builder_copy(memory, slices[i].data, slices[i].size);
		if (slices[i].data == NULL)
			return FLOW_E_MEMORY;
	}
	batch->key_hash = hashes;
	batch->key_bytes = slices;
	return FLOW_OK;
}

static flow_status
copy_targets(flow_builder *memory, flow_batch *batch)
{
	if (batch->target == NULL)
		return FLOW_OK;
	uint32_t *targets = flow_builder_alloc(memory, (uint64_t)batch->selected_count * sizeof(*targets) + 8);
	if (targets == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < batch->selected_count; i++)
		targets[i] = batch->target[batch->selection[i]];
	batch->target = targets;
	return FLOW_OK;
}

/* Makes the selected rows the only rows, with copies of all that they point at. */
static flow_status
compact(flow_builder *memory, const flow_batch *parent, flow_batch *batch)
{
	uint32_t count = batch->selected_count;
	flow_status status = copy_values(memory, batch->selection, count, &batch->value);
	if (status == FLOW_OK && batch->key != NULL)
		status = copy_values(memory, batch->selection, count, &batch->key);
	if (status != FLOW_OK)
		return status;
	if (copy_numbers(memory, batch->selection, count, &batch->timestamp) != FLOW_OK ||
		copy_numbers(memory, batch->selection, count, &batch->ordinal) != FLOW_OK ||
		copy_key_columns(memory, batch) != FLOW_OK || copy_targets(memory, batch) != FLOW_OK)
		return FLOW_E_MEMORY;
	const char *place = flow_builder_copy(memory, parent->place.data, parent->place.size);
	if (place == NULL)
		return FLOW_E_MEMORY;
	batch->place.data = place;
	batch->row_count = count;
	batch->selection = NULL;
	return FLOW_OK;
}

static void
replace_columns(flow_batch *batch, const flow_columns *columns)
{
	if (columns->schema != NULL)
		batch->schema = columns->schema;
	if (columns->value != NULL)
		batch->value = columns->value;
	if (columns->timestamp != NULL)
		batch->timestamp = columns->timestamp;
	if (columns->drop_key != 0 || columns->key != NULL) {
		batch->key = columns->key;
		batch->key_schema = columns->key == NULL ? NULL : columns->key_schema;
		batch->key_hash = NULL;
		batch->key_bytes = NULL;
	}
	if (columns->selection != NULL) {
		batch->selection = columns->selection;
		batch->selected_count = columns->selected_count;
	}
}

static flow_status
copy_selection(flow_builder *memory, const flow_columns *columns, flow_batch *batch)
{
	uint64_t size = (uint64_t)columns->selected_count * sizeof(uint32_t);
	batch->selection = (const uint32_t *)(const void *)flow_builder_copy(memory, columns->selection, size);
	return batch->selection == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

static flow_batch *
forward_with(flow_builder *memory, const flow_batch *parent, const flow_columns *columns)
{
	struct host_builder *host = host_of(memory);
	flow_batch head = *parent;
	replace_columns(&head, columns);
	int copied =
		head.selection != NULL && head.headers == NULL && (uint64_t)head.selected_count * COPY_BELOW < head.row_count;
	flow_status status = FLOW_OK;
	if (copied)
		status = compact(memory, parent, &head);
	else if (columns->selection != NULL)
		status = copy_selection(memory, columns, &head);
	if (status == FLOW_OK && !copied)
		status = keep(memory, parent);
	struct owned_batch *owned = status == FLOW_OK ? take_memory(host) : NULL;
	if (owned == NULL) {
		builder_clear(memory);
		return NULL;
	}
	head.host = owned;
	head.struct_size = FLOW_SIZEOF(flow_batch);
	owned->batch = head;
	owned->partition_number = ((const struct owned_batch *)parent->host)->partition_number;
	schema_retain(head.schema);
	schema_retain(head.key_schema);
	start(host);
	return &owned->batch;
}

flow_batch *
batch_forward(batch_pool *pool, const flow_batch *parent, const flow_columns *columns, flow_builder *memory)
{
	static const flow_columns unchanged = { .struct_size = FLOW_SIZEOF(flow_columns) };
	if (columns == NULL)
		columns = &unchanged;
	if (memory != NULL)
		return forward_with(memory, parent, columns);
	struct host_builder small = { .pool = pool, .row_limit = 1, .byte_limit = 512 };
	start(&small);
	flow_batch *batch = small.builder.row_capacity == 0 ? NULL : forward_with(&small.builder, parent, columns);
	release_holdings(small.holdings);
	chunk_release(pool, small.chunks);
	return batch;
}

flow_status
batch_set_key_columns(flow_batch *batch, flow_builder *memory, const uint64_t *hash, const flow_slice *bytes)
{
	batch->key_hash = hash;
	batch->key_bytes = bytes;
	if (memory == NULL)
		return FLOW_OK;
	/* The arrays lie in `memory`: its chunks move over to the batch. */
	struct owned_batch *owned = batch->host;
	struct host_builder *host = host_of(memory);
	chunk *last = host->chunks;
	if (last == NULL)
		return FLOW_OK;
	while (last->next != NULL)
		last = last->next;
	last->next = owned->chunks;
	owned->chunks = host->chunks;
	for (struct holding *h = host->holdings, *next; h != NULL; h = next) {
		next = h->next;
		h->next = owned->holdings;
		owned->holdings = h;
	}
	owned->bytes += host->bytes_before + (uint64_t)(memory->next - host->chunks->data);
	start(host);
	return FLOW_OK;
}

const flow_batch *
batch_retain(const flow_batch *batch)
{
	struct owned_batch *owned = batch->host;
	atomic_fetch_add_explicit(&owned->references, 1, memory_order_relaxed);
	return batch;
}

void
batch_release(const flow_batch *batch)
{
	if (batch == NULL)
		return;
	struct owned_batch *owned = batch->host;
	if (atomic_fetch_sub_explicit(&owned->references, 1, memory_order_acq_rel) != 1)
		return;
	release_holdings(owned->holdings);
	schema_release(owned->batch.schema);
	schema_release(owned->batch.key_schema);
	chunk_release(owned->pool, owned->chunks);
}

int64_t
batch_partition_number(const flow_batch *batch)
{
	const struct owned_batch *owned = batch->host;
	return batch->partition == UINT32_MAX ? -1 : (int64_t)owned->partition_number;
}

uint64_t
batch_bytes(const flow_batch *batch)
{
	const struct owned_batch *owned = batch->host;
	return owned->bytes;
}

const flow_batches batches_service = {
	.struct_size = FLOW_SIZEOF(flow_batches),
	.retain = batch_retain,
	.release = batch_release,
};
