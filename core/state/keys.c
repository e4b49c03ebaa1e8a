/* Keys back from their canonical bytes, and the walk over every key that has state in a task. */
#include "base/arena.h"
#include "base/error.h"
#include "base/key.h"
#include "base/memory.h"
#include "base/schema.h"
#include "state/internal.h"

/* An integral decimal has the canonical bytes of the integer: back into the form that the schema says. */
static flow_status
make_decimal(flow_builder *memory, flow_value *cell)
{
	char digits[24];
	uint32_t count = 0;
	int negative = cell->type == FLOW_INT64 && cell->as.int64 < 0;
	uint64_t number = negative ? 0 - cell->as.uint64 : cell->as.uint64;
	do
		digits[sizeof(digits) - ++count] = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	flow_decimal *decimal = flow_builder_alloc(memory, sizeof(*decimal));
	if (decimal == NULL)
		return FLOW_E_MEMORY;
	memset(decimal, 0, sizeof(*decimal));
	decimal->digits = flow_builder_copy(memory, digits + sizeof(digits) - count, count);
	decimal->count = count;
	decimal->negative = (uint8_t)negative;
	*cell = flow_cell(FLOW_DECIMAL, 0);
	cell->as.decimal = decimal;
	return decimal->digits == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

static int64_t
power_of_ten(int exponent)
{
	int64_t power = 1;
	for (int i = 0; i < exponent; i++)
		power *= 10;
	return power;
}

/* Times are one key whatever their unit; a key of this schema fits into its unit. */
static flow_status
convert_unit(uint8_t unit, flow_value *cell)
{
	__int128 number = cell->as.int64;
	if (unit > cell->unit)
		number *= power_of_ten(unit - cell->unit);
	else
		number /= power_of_ten(cell->unit - unit);
	if (number > INT64_MAX || number < INT64_MIN)
		return FLOW_E_CORRUPT;
	cell->as.int64 = (int64_t)number;
	cell->unit = unit;
	return FLOW_OK;
}

static flow_status conform(const flow_schema *schema, flow_builder *memory, flow_value *cell);

static flow_status
conform_parts(const flow_schema *schema, flow_builder *memory, flow_value *cell)
{
	int list = cell->type == FLOW_LIST;
	uint64_t count = list ? cell->as.list->count : cell->size;
	flow_value *parts = (flow_value *)(uintptr_t)(list ? cell->as.list->items : cell->as.record);
	flow_status status = list || count == schema->field_count ? FLOW_OK : FLOW_E_CORRUPT;
	for (uint64_t i = 0; i < count && status == FLOW_OK; i++)
		status = conform(list ? schema->element : schema->fields[i]->schema, memory, &parts[i]);
	return status;
}

/* Gives a decoded cell the type that its schema says; canonical bytes know classes only. */
static flow_status
conform(const flow_schema *schema, flow_builder *memory, flow_value *cell)
{
	int integer = cell->type == FLOW_INT64 || cell->type == FLOW_UINT64;
	if (schema->kind == FLOW_KIND_DECIMAL && integer)
		return make_decimal(memory, cell);
	if (schema->kind == FLOW_KIND_UINT64 && cell->type == FLOW_INT64 && cell->as.int64 >= 0)
		cell->type = FLOW_UINT64;
	if (cell->type == FLOW_TIME || cell->type == FLOW_TIMESTAMP)
		return convert_unit(schema->unit, cell);
	if ((cell->type == FLOW_LIST && schema->element != NULL) ||
		(cell->type == FLOW_RECORD && schema->kind == FLOW_KIND_RECORD))
		return conform_parts(schema, memory, cell);
	return FLOW_OK;
}

flow_status
keys_read(const flow_schema *key_schema, flow_slice bytes, flow_builder *memory, flow_value *key)
{
	uint64_t used = 0;
	flow_status status = key_decode(bytes, memory, key, &used);
	if (status == FLOW_OK && used != bytes.size)
		return FLOW_E_CORRUPT;
	return status == FLOW_OK && key_schema != NULL && key_schema->kind != FLOW_KIND_ANY
			   ? conform(key_schema, memory, key)
			   : status;
}

/* ---- Every key ---- */

/* The walk: a batch that fills, and the keys that were given already. */
struct walk {
	task_state *t;
	const flow_schema *key_schema;
	flow_status (*visit)(void *self, const flow_batch *keys, flow_error *error);
	void *self;
	flow_builder *builder;
	uint64_t *hashes;
	flow_slice *keys;
	uint32_t state;
	arena *memory;
	flow_slice *seen; /* open addressing; data NULL: free */
	uint64_t seen_mask;
	uint64_t seen_count;
};

static flow_status
out_of_memory(flow_error *error)
{
	error_set(error, FLOW_E_MEMORY, "state: out of memory while walking over its keys");
	return FLOW_E_MEMORY;
}

static flow_slice *
find_seen(flow_slice *seen, uint64_t mask, uint64_t hash, flow_slice key)
{
	uint64_t i = hash & mask;
	while (seen[i].data != NULL && !flow_slice_equal(seen[i], key))
		i = (i + 1) & mask;
	return &seen[i];
}

static flow_status
grow_seen(struct walk *w)
{
	if (w->seen != NULL && w->seen_count < (w->seen_mask + 1) / 2)
		return FLOW_OK;
	uint64_t size = w->seen == NULL ? 1024 : (w->seen_mask + 1) * 2;
	while (size / 2 < w->t->map.count) /* most of them come, each key once */
		size *= 2;
	flow_slice *seen = memory_allocate_zeroed(size * sizeof(*seen));
	if (seen == NULL)
		return FLOW_E_MEMORY;
	for (uint64_t i = 0; w->seen != NULL && i <= w->seen_mask; i++)
		if (w->seen[i].data != NULL)
			*find_seen(seen, size - 1, key_hash(w->seen[i]), w->seen[i]) = w->seen[i];
	memory_release(w->seen);
	w->seen = seen;
	w->seen_mask = size - 1;
	return FLOW_OK;
}

static flow_status
start_batch(struct walk *w)
{
	uint64_t rows = w->builder->row_capacity;
	w->hashes = flow_builder_alloc(w->builder, rows * sizeof(*w->hashes));
	w->keys = flow_builder_alloc(w->builder, rows * sizeof(*w->keys));
	if (w->hashes == NULL || w->keys == NULL)
		return FLOW_E_MEMORY;
	return w->builder->ops->add_columns(w->builder, FLOW_COLUMN_KEY);
}

static flow_status
give_batch(struct walk *w, flow_error *error)
{
	if (w->builder->row_count == 0)
		return FLOW_OK;
	batch_head head = { .schema = schema_of_kind(FLOW_KIND_NULL, 1), .key_schema = w->key_schema, .input = UINT32_MAX };
	flow_batch *batch = builder_finish(w->builder, &head);
	if (batch == NULL)
		return out_of_memory(error);
	flow_status status = batch_set_key_columns(batch, NULL, w->hashes, w->keys);
	if (status == FLOW_OK)
		status = w->visit(w->self, batch, error);
	batch_release(batch);
	return status == FLOW_OK && start_batch(w) != FLOW_OK ? out_of_memory(error) : status;
}

static flow_status
add_key(struct walk *w, flow_slice key, uint64_t hash, flow_error *error)
{
	if (grow_seen(w) != FLOW_OK)
		return out_of_memory(error);
	flow_slice *place = find_seen(w->seen, w->seen_mask, hash, key);
	if (place->data != NULL)
		return FLOW_OK;
	const char *kept = arena_copy(w->memory, key.data, key.size);
	const char *bytes = flow_builder_copy(w->builder, key.data, key.size);
	if (kept == NULL || bytes == NULL)
		return out_of_memory(error);
	*place = flow_slice_make(kept, key.size);
	w->seen_count++;
	uint32_t row = w->builder->row_count;
	w->keys[row] = flow_slice_make(bytes, key.size);
	w->hashes[row] = hash;
	flow_status status = keys_read(w->key_schema, w->keys[row], w->builder, &w->builder->key[row]);
	if (status != FLOW_OK)
		return error_set(error, status, "state: a key cannot be read");
	flow_builder_add(w->builder, flow_null());
	return flow_builder_full(w->builder) ? give_batch(w, error) : FLOW_OK;
}

/* A pair of the store counts unless it has been removed since. */
static flow_status
take_stored(void *self, flow_slice bytes, flow_slice value, flow_error *error)
{
	struct walk *w = self;
	store_key key;
	(void)value;
	if (!store_key_read(bytes, 0, &key))
		return error_set(error, FLOW_E_CORRUPT, "state '%s': the store holds a key that cannot be read",
						 w->t->states[w->state].name);
	uint64_t hash = key_hash(key.key);
	struct entry_name name = { .key_hash = hash, .key = key.key, .space = key.space, .state = w->state };
	entry_name_hash(&name);
	const entry *e = entry_find(w->t, &name);
	int removed = e != NULL && (e->flags & ENTRY_PRESENT) == 0;
	return removed ? FLOW_OK : add_key(w, key.key, hash, error);
}

static flow_status
hold_key(struct walk *w, const entry *e, flow_slice *held, uint64_t *count)
{
	if (e == NULL || e->state >= w->t->state_count || (e->flags & ENTRY_PRESENT) == 0)
		return FLOW_OK;
	char *key = arena_copy(w->memory, entry_key(w->t, e), e->key_size);
	if (key == NULL)
		return FLOW_E_MEMORY;
	held[(*count)++] = flow_slice_make(key, e->key_size);
	return FLOW_OK;
}

/* All present entries, copied first: visit may change the map. */
static flow_status
take_held(struct walk *w, flow_error *error)
{
	const task_state *t = w->t;
	uint64_t count = 0;
	flow_slice *held = memory_allocate(t->present * sizeof(*held) + 1);
	if (held == NULL)
		return out_of_memory(error);
	flow_status status = FLOW_OK;
	for (uint64_t at = 0; at < map_lines(&t->map); at++)
		for (uint32_t i = 0; i < LINE_ENTRIES && status == FLOW_OK; i++)
			status = hold_key(w, t->map.lines[at].entries[i], held, &count);
	if (status != FLOW_OK)
		out_of_memory(error);
	for (uint64_t i = 0; i < count && status == FLOW_OK; i++)
		status = add_key(w, held[i], key_hash(held[i]), error);
	memory_release(held);
	return status;
}

static flow_status
walk_all(struct walk *w, flow_error *error)
{
	task_state *t = w->t;
	if (start_batch(w) != FLOW_OK)
		return out_of_memory(error);
	flow_status status = take_held(w, error);
	for (w->state = 0; t->lookup && w->state < t->state_count && status == FLOW_OK; w->state++)
		status = store_scan(t, t->states[w->state].store_id, take_stored, w, error);
	return status == FLOW_OK ? give_batch(w, error) : status;
}

flow_status
task_state_each_key(task_state *t, const flow_schema *key_schema,
					flow_status (*visit)(void *self, const flow_batch *keys, flow_error *error), void *self,
					flow_error *error)
{
	struct walk w = { .t = t, .key_schema = key_schema, .visit = visit, .self = self };
	entries_tidy(t);
	w.memory = arena_create();
	w.builder = builder_create(t->pool, 0, 0);
	flow_status status = w.memory == NULL || w.builder == NULL ? out_of_memory(error) : walk_all(&w, error);
	builder_destroy(w.builder);
	memory_release(w.seen);
	arena_destroy(w.memory);
	return status;
}
