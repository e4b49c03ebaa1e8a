/* Keyed state of one task: creation, and the calls behind flow_context_ops (state/state.h). */
#include "base/error.h"
#include "base/memory.h"
#include "state/internal.h"

#define GROUP 16u /* rows whose memory is asked for at once */
#define SLOT_MAX ((uint32_t)1 << 20)

/* One call: which rows of which batch. */
struct access {
	task_state *t;
	uint32_t index;
	const flow_batch *batch;
	const uint32_t *rows;
	uint32_t count;
	const int64_t *spaces;
	flow_error *error;
};

static flow_status
out_of_memory(const task_state *t, flow_error *error)
{
	error_set(error, FLOW_E_MEMORY, "state: out of memory at %llu entries, %llu bytes",
			  (unsigned long long)t->map.count, (unsigned long long)task_state_bytes(t));
	return FLOW_E_MEMORY;
}

/* ---- Life ---- */

static flow_status
check_declaration(const flow_state_declaration *declared, flow_error *error)
{
	const char *name = declared->name == NULL ? "" : declared->name;
	if (declared->kind != FLOW_STATE_VALUE && declared->kind != FLOW_STATE_SLOT)
		return error_set(error, FLOW_E_UNSUPPORTED, "state '%s': only values and slots can be used in this version",
						 name);
	if (declared->time_to_live != 0)
		return error_set(error, FLOW_E_UNSUPPORTED, "state '%s': a time to live is not supported in this version",
						 name);
	if (declared->kind == FLOW_STATE_SLOT && (declared->slot_size == 0 || declared->slot_size > SLOT_MAX))
		return error_set(error, FLOW_E_RANGE, "state '%s': slots of %u bytes; 1 to %u are possible", name,
						 declared->slot_size, SLOT_MAX);
	return FLOW_OK;
}

static flow_status
describe_states(task_state *t, const task_state_request *request, flow_error *error)
{
	if (request->state_count > STATES_MAX)
		return error_set(error, FLOW_E_LIMIT, "state: %u states in one operator, %u are possible", request->state_count,
						 STATES_MAX);
	t->states = memory_allocate_zeroed((request->state_count + 2) * sizeof(*t->states));
	if (t->states == NULL)
		return out_of_memory(t, error);
	for (uint32_t i = 0; i < request->state_count; i++) {
		const flow_state_declaration *declared = request->states[i];
		flow_status status = check_declaration(declared, error);
		if (status != FLOW_OK)
			return status;
		int slot = declared->kind == FLOW_STATE_SLOT;
		t->states[i] = (struct state_info){
			.name = declared->name,
			.kind = declared->kind,
			.slot_size = slot ? declared->slot_size : 0,
			.content_size = slot ? (declared->slot_size + 7) / 8 * 8 : (uint32_t)sizeof(struct entry_value),
			.store_id = request->state_id + i,
		};
	}
	for (uint32_t i = 0; i < 2; i++)
		t->states[request->state_count + i] = (struct state_info){
			.name = "timers",
			.content_size = (uint32_t)sizeof(struct entry_timer),
			.store_id = request->state_id + request->state_count,
		};
	t->state_count = request->state_count;
	return FLOW_OK;
}

static flow_status
build(task_state *t, const task_state_request *request, flow_error *error)
{
	t->pool = request->pool;
	if (request->backend != NULL && request->backend->ops != NULL)
		t->backend = *request->backend;
	t->first_group = request->first_group;
	t->last_group = request->last_group;
	t->group_count = request->group_count;
	t->memory_limit = request->memory_limit;
	t->lookup = request->restored && t->backend.ops != NULL;
	if (t->group_count == 0 || t->group_count > 65536 || t->last_group >= t->group_count ||
		t->first_group > t->last_group)
		return error_set(error, FLOW_E_ARGUMENT, "state: key groups %u to %u of %u", t->first_group, t->last_group,
						 t->group_count);
	flow_status status = describe_states(t, request, error);
	if (status != FLOW_OK)
		return status;
	t->settle = memory_allocate_zeroed(sizeof(*t->settle));
	if (t->settle == NULL)
		return out_of_memory(t, error);
	atomic_init(&t->settle->settled, 0);
	atomic_init(&t->settle->awaited, 0);
	atomic_init(&t->settle->references, 1);
	t->scratch = builder_create(t->pool, 1, 0);
	if (t->scratch == NULL || entries_reserve(t, 1) != FLOW_OK)
		return out_of_memory(t, error);
	return t->lookup ? timers_restore(t, error) : FLOW_OK;
}

flow_status
task_state_create(const task_state_request *request, task_state **state, flow_error *error)
{
	task_state *t = memory_allocate_zeroed(sizeof(*t));
	if (t == NULL)
		return error_set(error, FLOW_E_MEMORY, "state: out of memory");
	flow_status status = build(t, request, error);
	if (status != FLOW_OK) {
		task_state_destroy(t);
		return status;
	}
	*state = t;
	return FLOW_OK;
}

static void
release_large_pieces_of(task_state *t, entry *e)
{
	if (e == NULL || entry_bytes(t, e) <= 1024)
		return;
	if (t->states[e->state].kind == FLOW_STATE_VALUE && entry_value_of(e)->capacity != 0)
		slab_release(&t->slab, entry_value_of(e)->data, entry_value_of(e)->capacity);
	slab_release(&t->slab, e, sizeof(entry) + t->states[e->state].content_size + e->key_size);
}

/* Large pieces are not in chunks: they must be given back one by one. */
static void
release_large_pieces(task_state *t)
{
	for (uint64_t at = 0; at < map_lines(&t->map); at++)
		for (uint32_t i = 0; i < LINE_ENTRIES; i++)
			release_large_pieces_of(t, t->map.lines[at].entries[i]);
}

void
task_state_destroy(task_state *t)
{
	if (t == NULL)
		return;
	timers_destroy(t);
	release_large_pieces(t);
	slab_destroy(&t->slab);
	map_destroy(&t->map);
	memory_release(t->dirty.items);
	memory_release(t->gone.items);
	memory_release(t->removed.items);
	memory_release(t->loading.items);
	memory_release(t->states);
	builder_destroy(t->scratch);
	settle_release(t->settle);
	memory_release(t);
}

int
task_state_pressed(const task_state *t)
{
	return t->memory_limit != 0 && t->dirty_bytes > t->memory_limit / 2;
}

uint64_t
task_state_bytes(const task_state *t)
{
	uint64_t lists = t->dirty.capacity + t->gone.capacity + t->removed.capacity + t->loading.capacity;
	return t->slab.used + lists * sizeof(entry *) + map_bytes(&t->map) + timers_bytes(t);
}

uint64_t
task_state_entries(const task_state *t)
{
	return t->present;
}

/* ---- Finding entries ---- */

static flow_status
check_access(const struct access *a, uint32_t kind)
{
	const task_state *t = a->t;
	if (a->index >= t->state_count)
		return error_set(a->error, FLOW_E_ARGUMENT, "state %u was asked for, %u are declared", a->index,
						 t->state_count);
	const struct state_info *info = &t->states[a->index];
	if (kind != 0 && info->kind != kind)
		return error_set(a->error, FLOW_E_ARGUMENT,
						 "state '%s': it is declared with another kind than this call is for", info->name);
	if (a->batch->key_hash == NULL || a->batch->key_bytes == NULL)
		return error_set(a->error, FLOW_E_NULL_KEY, "state '%s': the batch has no keys", info->name);
	return FLOW_OK;
}

static inline struct entry_name
name_of(const struct access *a, uint32_t i)
{
	uint32_t row = a->rows[i];
	struct entry_name name = { .key_hash = a->batch->key_hash[row],
							   .key = a->batch->key_bytes[row],
							   .space = a->spaces == NULL ? 0 : a->spaces[i],
							   .state = a->index };
	entry_name_hash(&name);
	return name;
}

/*
 * The rows of a call in groups, three of them under way at a time: one whose lines of the map are asked for, one whose
 * entries are, and one that can be worked on with both in the cache. A row costs two cache misses, and this is what they
 * overlap with.
 */
#define RING (4 * GROUP)
struct rows {
	const struct access *access;
	uint32_t named;   /* rows whose lines are asked for */
	uint32_t fetched; /* rows whose entries are */
	uint32_t given;
	uint64_t hashes[RING]; /* of row i at i % RING */
	entry *likely[RING];
	uint32_t content_size; /* of the state's entries */
};

static void
name_group(struct rows *r)
{
	const struct access *a = r->access;
	const struct entry_map map = a->t->map;
	const uint64_t *key_hash = a->batch->key_hash;
	uint32_t end = a->count - r->named < GROUP ? a->count : r->named + GROUP;
	for (uint32_t i = r->named; i < end; i++) {
		uint64_t hash = entry_hash(key_hash[a->rows[i]], a->spaces == NULL ? 0 : a->spaces[i], a->index);
		r->hashes[i % RING] = hash;
		__builtin_prefetch(map_home(&map, hash));
	}
	r->named = end;
}

/* The lines are in the cache by now: they tell which entry it will be, but for a few, and its memory is asked for. */
static void
fetch_group(struct rows *r)
{
	const struct entry_map map = r->access->t->map;
	uint32_t end = r->named - r->fetched < GROUP ? r->named : r->fetched + GROUP;
	for (uint32_t i = r->fetched; i < end; i++) {
		uint64_t hash = r->hashes[i % RING];
		r->likely[i % RING] = map_likely(map_home(&map, hash), map_tag(hash));
		__builtin_prefetch(r->likely[i % RING], 1); /* NULL does no harm */
	}
	r->fetched = end;
}

static void
start_rows(struct rows *r, const struct access *a)
{
	r->access = a;
	r->content_size = a->t->states[a->index].content_size;
	r->named = r->fetched = r->given = 0;
	name_group(r);
	name_group(r);
	fetch_group(r);
}

static __attribute__((noinline)) entry *
find_unlikely(const task_state *t, const struct entry_name *name)
{
	return name->key.data == NULL ? NULL : entry_find(t, name); /* without a key the caller fails */
}

/* The next row's name, and its entry: NULL, there is none. 0: no more rows. */
static inline __attribute__((always_inline)) int
next_row(struct rows *r, struct entry_name *name, entry **found)
{
	const struct access *a = r->access;
	uint32_t i = r->given;
	if (i == a->count)
		return 0;
	if (i % GROUP == 0) {
		name_group(r);
		fetch_group(r);
	}
	r->given++;
	name->hash = r->hashes[i % RING];
	name->key_hash = a->batch->key_hash[a->rows[i]];
	name->key = a->batch->key_bytes[a->rows[i]];
	name->space = a->spaces == NULL ? 0 : a->spaces[i];
	name->state = a->index;
	entry *e = r->likely[i % RING];
	*found = e != NULL && entry_is(e, name, r->content_size) ? e : find_unlikely(a->t, name);
	return 1;
}

static flow_status
fail_key(const struct access *a, uint32_t row)
{
	return error_set(a->error, FLOW_E_NULL_KEY, "state '%s': row %u has no key", a->t->states[a->index].name, row);
}

/* A new entry for the name; where the store may know it, it is to be loaded before the call ends. */
static flow_status
insert(const struct access *a, const struct entry_name *name, uint8_t flags, entry **inserted)
{
	task_state *t = a->t;
	if (name->key.data == NULL || name->key.size > UINT32_MAX)
		return error_set(a->error, FLOW_E_NULL_KEY, "state '%s': a row has no key", t->states[a->index].name);
	entry *e = entry_insert(t, name);
	if (e == NULL)
		return out_of_memory(t, a->error);
	e->flags = flags;
	if (e->group < t->first_group || e->group > t->last_group) {
		entry_forget(t, e);
		return error_set(a->error, FLOW_E_INTERNAL, "state '%s': a key of group %u came to the task of groups %u to %u",
						 t->states[a->index].name, e->group, t->first_group, t->last_group);
	}
	if ((flags & ENTRY_LOADING) != 0 && entry_list_add(&t->loading, e) != FLOW_OK) {
		entry_forget(t, e);
		return out_of_memory(t, a->error);
	}
	*inserted = e;
	return FLOW_OK;
}

/* ---- Loading from the store ---- */

static void
forget_loading(task_state *t)
{
	for (uint64_t i = 0; i < t->loading.count; i++)
		if ((t->loading.items[i]->flags & ENTRY_LOADING) != 0)
			entry_forget(t, t->loading.items[i]);
	t->loading.count = 0;
}

static flow_status
set_value(task_state *t, entry *e, flow_slice value)
{
	struct entry_value *held = entry_value_of(e);
	if (value.size > UINT32_MAX)
		return FLOW_E_LIMIT;
	if (value.size > held->capacity) {
		uint64_t capacity = slab_piece_size(value.size);
		char *data = slab_allocate(&t->slab, capacity);
		if (data == NULL)
			return FLOW_E_MEMORY;
		if (held->capacity != 0)
			slab_release(&t->slab, held->data, held->capacity);
		if ((e->flags & ENTRY_DIRTY) != 0)
			t->dirty_bytes += capacity - (held->capacity == 0 ? 0 : slab_piece_size(held->capacity));
		*held = (struct entry_value){ data, capacity };
	}
	if (value.size != 0)
		memcpy(held->data, value.data, value.size);
	else if (held->data == NULL)
		held->data = (char *)(uintptr_t) ""; /* an empty value has data */
	e->size = (uint32_t)value.size;
	return FLOW_OK;
}

/* What the store said about one entry. */
static flow_status
take_loaded(const struct access *a, entry *e, flow_slice value)
{
	task_state *t = a->t;
	const struct state_info *info = &t->states[e->state];
	if (value.data == NULL)
		return entry_list_gone(&t->gone, e) == FLOW_OK ? FLOW_OK : out_of_memory(t, a->error);
	if (info->kind == FLOW_STATE_SLOT && value.size != info->slot_size)
		return error_set(
			a->error, FLOW_E_CORRUPT,
			"state '%s': an entry in the store has %llu bytes, slots have %u; was it written by another version?",
			info->name, (unsigned long long)value.size, info->slot_size);
	if (info->kind == FLOW_STATE_SLOT)
		memcpy(e->content, value.data, value.size);
	else if (set_value(t, e, value) != FLOW_OK)
		return out_of_memory(t, a->error);
	e->flags |= ENTRY_PRESENT | ENTRY_STORED | ENTRY_USED;
	t->present++;
	return FLOW_OK;
}

static flow_status
read_store(const struct access *a, flow_slice *keys, flow_slice *values)
{
	task_state *t = a->t;
	uint64_t count = t->loading.count;
	for (uint64_t i = 0; i < count; i++) {
		keys[i].size = store_key_size(t, t->loading.items[i]);
		char *key = flow_builder_alloc(t->scratch, keys[i].size);
		if (key == NULL)
			return out_of_memory(t, a->error);
		store_key_write(t, t->loading.items[i], key);
		keys[i].data = key;
	}
	return t->backend.ops->get_many(t->backend.store, NULL, 0, keys, count, t->scratch, values, a->error);
}

/* Asks the store for all entries that this call made, in one call. After a failure they are forgotten. */
static flow_status
load(const struct access *a)
{
	task_state *t = a->t;
	uint64_t count = t->loading.count;
	if (count == 0)
		return FLOW_OK;
	flow_slice *keys = flow_builder_alloc(t->scratch, 2 * count * sizeof(*keys));
	flow_status status = keys == NULL ? out_of_memory(t, a->error) : read_store(a, keys, keys + count);
	for (uint64_t i = 0; i < count && status == FLOW_OK; i++) {
		status = take_loaded(a, t->loading.items[i], keys[count + i]);
		if (status == FLOW_OK)
			t->loading.items[i]->flags &= (uint8_t)~ENTRY_LOADING;
	}
	builder_clear(t->scratch);
	forget_loading(t);
	return status;
}

/* Starts a call: `more` entries at most will be made. */
static flow_status
begin(const struct access *a, uint32_t kind)
{
	flow_status status = check_access(a, kind);
	if (status != FLOW_OK)
		return status;
	entries_tidy(a->t);
	return entries_reserve(a->t, a->count) == FLOW_OK ? FLOW_OK : out_of_memory(a->t, a->error);
}

/* ---- Slots ---- */

/* The slot of an entry whose content is known; NULL: there is none and none is to be made. */
static inline void *
take_slot(task_state *t, entry *e, int create, uint8_t *created)
{
	*created = 0;
	if ((e->flags & ENTRY_PRESENT) == 0) {
		if (!create)
			return NULL;
		memset(e->content, 0, t->states[e->state].content_size);
		e->flags |= ENTRY_PRESENT;
		t->present++;
		*created = 1;
	}
	entry_mark_dirty(t, e);
	return e->content;
}

/* The rows whose entries the store had to be asked for. */
static void
finish_slots(const struct access *a, int create, void **slots, uint8_t *created)
{
	uint8_t unused;
	for (uint32_t i = 0; i < a->count; i++) {
		if (slots[i] != NULL)
			continue;
		struct entry_name name = name_of(a, i);
		entry *e = entry_find(a->t, &name);
		if (e != NULL)
			slots[i] = take_slot(a->t, e, create, created == NULL ? &unused : &created[i]);
	}
}

/* A row whose entry is not there, or changes for the first time since the last freeze. */
static flow_status
find_cold_slot(const struct access *a, const struct entry_name *name, entry *e, int create, void **slot,
			   uint8_t *created)
{
	task_state *t = a->t;
	*slot = NULL;
	if (e == NULL) {
		if (!create && !t->lookup)
			return FLOW_OK;
		flow_status status = insert(a, name, t->lookup ? ENTRY_LOADING : 0, &e);
		if (status != FLOW_OK)
			return status;
	}
	if ((e->flags & ENTRY_LOADING) == 0)
		*slot = take_slot(t, e, create, created);
	return FLOW_OK;
}

/* Nothing is to be noted of an entry with these flags: it has changed since the last freeze already. */
#define WARM (ENTRY_PRESENT | ENTRY_DIRTY | ENTRY_USED)

static flow_status
find_slots(const struct access *a, int create, void **slots, uint8_t *created)
{
	struct rows rows;
	struct entry_name name;
	entry *e;
	uint8_t unused;
	if (created != NULL)
		memset(created, 0, a->count);
	start_rows(&rows, a);
	for (uint32_t i = 0; next_row(&rows, &name, &e); i++) {
		if (e != NULL && (e->flags & (WARM | ENTRY_LOADING)) == WARM) {
			slots[i] = e->content;
			continue;
		}
		if (name.key.data == NULL)
			return fail_key(a, a->rows[i]);
		flow_status status = find_cold_slot(a, &name, e, create, &slots[i], created == NULL ? &unused : &created[i]);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

flow_status
task_state_slots(task_state *t, uint32_t index, const flow_batch *batch, const uint32_t *rows, uint32_t count,
				 const int64_t *spaces, int create, void **slots, uint8_t *created, flow_error *error)
{
	struct access a = { t, index, batch, rows, count, spaces, error };
	flow_status status = begin(&a, FLOW_STATE_SLOT);
	if (status != FLOW_OK)
		return status;
	status = find_slots(&a, create, slots, created);
	if (status != FLOW_OK) {
		forget_loading(t);
		return status;
	}
	if (t->loading.count == 0)
		return FLOW_OK;
	status = load(&a);
	if (status == FLOW_OK)
		finish_slots(&a, create, slots, created);
	return status;
}

/* ---- Values ---- */

static flow_status
find_values(const struct access *a)
{
	task_state *t = a->t;
	struct rows rows;
	struct entry_name name;
	entry *e;
	start_rows(&rows, a);
	for (uint32_t i = 0; next_row(&rows, &name, &e); i++) {
		if (name.key.data == NULL)
			return fail_key(a, a->rows[i]);
		flow_status status = e == NULL && t->lookup ? insert(a, &name, ENTRY_LOADING, &e) : FLOW_OK;
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

flow_status
task_state_get(task_state *t, uint32_t index, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			   const int64_t *spaces, flow_slice *values, flow_error *error)
{
	struct access a = { t, index, batch, rows, count, spaces, error };
	flow_status status = begin(&a, FLOW_STATE_VALUE);
	if (status == FLOW_OK)
		status = find_values(&a);
	if (status != FLOW_OK) {
		forget_loading(t);
		return status;
	}
	status = load(&a);
	for (uint32_t i = 0; i < count && status == FLOW_OK; i++) {
		struct entry_name name = name_of(&a, i);
		entry *e = entry_find(t, &name);
		values[i] = flow_slice_make(NULL, 0);
		if (e == NULL || (e->flags & ENTRY_PRESENT) == 0)
			continue;
		e->flags |= ENTRY_USED;
		values[i] = flow_slice_make(entry_value_of(e)->data, e->size);
	}
	return status;
}

static flow_status
put_value(const struct access *a, const struct entry_name *name, entry *e, flow_slice value)
{
	task_state *t = a->t;
	if (e == NULL) { /* what the store has does not matter, but it may have something */
		flow_status status = insert(a, name, t->lookup ? ENTRY_STORED : 0, &e);
		if (status != FLOW_OK)
			return status;
	}
	flow_status status = set_value(t, e, value);
	if (status == FLOW_E_LIMIT)
		return error_set(a->error, status, "state '%s': a value of %llu bytes", t->states[a->index].name,
						 (unsigned long long)value.size);
	if (status != FLOW_OK) {
		if ((e->flags & (ENTRY_PRESENT | ENTRY_DIRTY | ENTRY_GONE)) == 0)
			entry_forget(t, e);
		return out_of_memory(t, a->error);
	}
	t->present += (e->flags & ENTRY_PRESENT) == 0;
	e->flags |= ENTRY_PRESENT;
	entry_mark_dirty(t, e);
	return FLOW_OK;
}

flow_status
task_state_put(task_state *t, uint32_t index, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			   const int64_t *spaces, const flow_slice *values, flow_error *error)
{
	struct access a = { t, index, batch, rows, count, spaces, error };
	flow_status status = begin(&a, FLOW_STATE_VALUE);
	if (status != FLOW_OK)
		return status;
	struct rows walk;
	struct entry_name name;
	entry *e;
	start_rows(&walk, &a);
	for (uint32_t i = 0; status == FLOW_OK && next_row(&walk, &name, &e); i++)
		status = name.key.data == NULL ? fail_key(&a, rows[i]) : put_value(&a, &name, e, values[i]);
	return status;
}

static flow_status
remove_entry(const struct access *a, const struct entry_name *name, entry *e)
{
	task_state *t = a->t;
	if (e == NULL) {
		if (!t->lookup)
			return FLOW_OK;
		flow_status status = insert(a, name, ENTRY_STORED, &e);
		if (status != FLOW_OK)
			return status;
		entry_mark_dirty(t, e);
		return FLOW_OK;
	}
	if ((e->flags & ENTRY_PRESENT) == 0)
		return FLOW_OK;
	e->flags &= (uint8_t)~ENTRY_PRESENT;
	t->present--;
	entry_mark_dirty(t, e);
	return FLOW_OK;
}

flow_status
task_state_remove(task_state *t, uint32_t index, const flow_batch *batch, const uint32_t *rows, uint32_t count,
				  const int64_t *spaces, flow_error *error)
{
	struct access a = { t, index, batch, rows, count, spaces, error };
	flow_status status = begin(&a, 0);
	if (status != FLOW_OK)
		return status;
	struct rows walk;
	struct entry_name name;
	entry *e;
	start_rows(&walk, &a);
	for (uint32_t i = 0; status == FLOW_OK && next_row(&walk, &name, &e); i++)
		status = name.key.data == NULL ? fail_key(&a, rows[i]) : remove_entry(&a, &name, e);
	return status;
}
