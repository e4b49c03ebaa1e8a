#include "flow_sdk/row.h"

#include <string.h>

/* A cell is one byte with its type, EXTRAS if unit, flags and branch follow, then the content. */
#define EXTRAS 0x80

static uint64_t
varint_size(uint64_t number)
{
	uint64_t size = 1;
	for (; number >= 0x80; number >>= 7)
		size++;
	return size;
}

static char *
write_varint(uint64_t number, char *to)
{
	for (; number >= 0x80; number >>= 7)
		*to++ = (char)(number | 0x80);
	*to++ = (char)number;
	return to;
}

/* Small numbers of both signs become small ones. */
static uint64_t
zigzag(int64_t number)
{
	return ((uint64_t)number << 1) ^ (uint64_t)(number >> 63);
}

static int64_t
unzigzag(uint64_t number)
{
	return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

static int
has_extras(const flow_value *v)
{
	return v->unit != 0 || v->flags != 0 || v->branch != 0;
}

static uint64_t cell_size(const flow_value *v, uint32_t depth);

/* 0: too deep. */
static uint64_t
cells_size(const flow_value *cells, uint64_t count, uint32_t depth)
{
	uint64_t size = varint_size(count);
	if (depth >= FLOW_ROW_DEPTH)
		return 0;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t one = cell_size(&cells[i], depth + 1);
		if (one == 0)
			return 0;
		size += one;
	}
	return size;
}

static uint64_t
map_size(const flow_map *map, uint32_t depth)
{
	uint64_t size = varint_size(map->count);
	if (depth >= FLOW_ROW_DEPTH)
		return 0;
	for (uint64_t i = 0; i < map->count; i++) {
		uint64_t key = cell_size(&map->entries[i].key, depth + 1);
		uint64_t value = cell_size(&map->entries[i].value, depth + 1);
		if (key == 0 || value == 0)
			return 0;
		size += key + value;
	}
	return size;
}

static uint64_t
content_size(const flow_value *v, uint32_t depth)
{
	switch (v->type) {
	case FLOW_BOOL:
		return 1;
	case FLOW_INT64:
	case FLOW_DATE:
	case FLOW_TIME:
	case FLOW_TIMESTAMP:
		return varint_size(zigzag(v->as.int64));
	case FLOW_UINT64:
		return varint_size(v->as.uint64);
	case FLOW_FLOAT64:
		return sizeof(double);
	case FLOW_DECIMAL:
		return 2 + varint_size(v->as.decimal->count) + v->as.decimal->count + varint_size(zigzag(v->as.decimal->scale));
	case FLOW_STRING:
	case FLOW_BYTES:
		return varint_size(v->size) + v->size;
	case FLOW_UUID:
		return 16;
	case FLOW_LIST:
		return cells_size(v->as.list->items, v->as.list->count, depth);
	case FLOW_MAP:
		return map_size(v->as.map, depth);
	case FLOW_RECORD:
		return cells_size(v->as.record, v->size, depth);
	default:
		return 0;
	}
}

static uint64_t
cell_size(const flow_value *v, uint32_t depth)
{
	uint64_t head = has_extras(v) ? 4 : 1;
	if (v->type == FLOW_NULL)
		return head;
	uint64_t content = content_size(v, depth);
	return content == 0 ? 0 : head + content;
}

uint64_t
flow_row_size(const flow_value *row)
{
	uint64_t size = cell_size(row, 0);
	return size == 0 ? 0 : size + 1;
}

static char *
write_bytes(const void *data, uint64_t size, char *to)
{
	if (size != 0)
		memcpy(to, data, size);
	return to + size;
}

static char *write_cell(const flow_value *v, char *to);

static char *
write_cells(const flow_value *cells, uint64_t count, char *to)
{
	to = write_varint(count, to);
	for (uint64_t i = 0; i < count; i++)
		to = write_cell(&cells[i], to);
	return to;
}

static char *
write_map(const flow_map *map, char *to)
{
	to = write_varint(map->count, to);
	for (uint64_t i = 0; i < map->count; i++) {
		to = write_cell(&map->entries[i].key, to);
		to = write_cell(&map->entries[i].value, to);
	}
	return to;
}

static char *
write_decimal(const flow_decimal *decimal, char *to)
{
	*to++ = (char)decimal->negative;
	*to++ = (char)decimal->special;
	to = write_varint(zigzag(decimal->scale), to);
	to = write_varint(decimal->count, to);
	return write_bytes(decimal->digits, decimal->count, to);
}

static char *
write_content(const flow_value *v, char *to)
{
	switch (v->type) {
	case FLOW_BOOL:
		*to++ = (char)(v->as.int64 != 0);
		return to;
	case FLOW_INT64:
	case FLOW_DATE:
	case FLOW_TIME:
	case FLOW_TIMESTAMP:
		return write_varint(zigzag(v->as.int64), to);
	case FLOW_UINT64:
		return write_varint(v->as.uint64, to);
	case FLOW_FLOAT64:
		return write_bytes(&v->as.float64, sizeof(double), to);
	case FLOW_DECIMAL:
		return write_decimal(v->as.decimal, to);
	case FLOW_STRING:
	case FLOW_BYTES:
		return write_bytes(v->as.text, v->size, write_varint(v->size, to));
	case FLOW_UUID:
		return write_bytes(v->as.text, 16, to);
	case FLOW_LIST:
		return write_cells(v->as.list->items, v->as.list->count, to);
	case FLOW_MAP:
		return write_map(v->as.map, to);
	case FLOW_RECORD:
		return write_cells(v->as.record, v->size, to);
	default:
		return to;
	}
}

static char *
write_cell(const flow_value *v, char *to)
{
	int extras = has_extras(v);
	*to++ = (char)(v->type | (extras ? EXTRAS : 0));
	if (extras) {
		*to++ = (char)v->unit;
		*to++ = (char)v->flags;
		*to++ = (char)v->branch;
	}
	return write_content(v, to);
}

char *
flow_row_write(const flow_value *row, char *to)
{
	*to++ = FLOW_ROW_FORMAT;
	return write_cell(row, to);
}

/* What is left to read; after a failure everything else is skipped. */
struct reader {
	const char *next;
	const char *end;
	flow_builder *memory;
	flow_status status;
};

static void *
stop(struct reader *r, flow_status status)
{
	if (r->status == FLOW_OK)
		r->status = status;
	r->next = r->end;
	return NULL;
}

static const char *
read_bytes(struct reader *r, uint64_t size)
{
	if ((uint64_t)(r->end - r->next) < size)
		return stop(r, FLOW_E_CORRUPT);
	const char *data = r->next;
	r->next += size;
	return data;
}

static uint8_t
read_byte(struct reader *r)
{
	const char *byte = read_bytes(r, 1);
	return byte == NULL ? 0 : (uint8_t)*byte;
}

static uint64_t
read_varint(struct reader *r)
{
	uint64_t number = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = read_byte(r);
		number |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return number;
	}
	stop(r, FLOW_E_CORRUPT);
	return 0;
}

/* A count of things of which each takes at least one byte. */
static uint64_t
read_count(struct reader *r)
{
	uint64_t count = read_varint(r);
	if (count > (uint64_t)(r->end - r->next) || count > UINT32_MAX) {
		stop(r, FLOW_E_CORRUPT);
		return 0;
	}
	return count;
}

static void *
allocate(struct reader *r, uint64_t size)
{
	void *memory = flow_builder_alloc(r->memory, size == 0 ? 8 : size);
	return memory == NULL ? stop(r, FLOW_E_MEMORY) : memory;
}

static void read_cell(struct reader *r, uint32_t depth, flow_value *v);

static const flow_value *
read_cells(struct reader *r, uint64_t count, uint32_t depth)
{
	flow_value *cells = allocate(r, count * sizeof(*cells));
	for (uint64_t i = 0; i < count && cells != NULL && r->status == FLOW_OK; i++)
		read_cell(r, depth + 1, &cells[i]);
	return cells;
}

static const flow_list *
read_list(struct reader *r, uint32_t depth)
{
	uint64_t count = read_count(r);
	flow_list *list = allocate(r, sizeof(*list));
	if (list == NULL)
		return NULL;
	list->count = count;
	list->items = read_cells(r, count, depth);
	return list;
}

static const flow_map *
read_map(struct reader *r, uint32_t depth)
{
	uint64_t count = read_count(r);
	flow_map *map = allocate(r, sizeof(*map));
	flow_map_entry *entries = map == NULL ? NULL : allocate(r, count * sizeof(*entries));
	if (entries == NULL)
		return NULL;
	for (uint64_t i = 0; i < count && r->status == FLOW_OK; i++) {
		read_cell(r, depth + 1, &entries[i].key);
		read_cell(r, depth + 1, &entries[i].value);
		if (r->status == FLOW_OK && entries[i].key.type != FLOW_STRING)
			stop(r, FLOW_E_CORRUPT);
	}
	map->entries = entries;
	map->count = count;
	return map;
}

static const flow_decimal *
read_decimal(struct reader *r)
{
	flow_decimal *decimal = allocate(r, sizeof(*decimal));
	if (decimal == NULL)
		return NULL;
	memset(decimal, 0, sizeof(*decimal));
	decimal->negative = read_byte(r);
	decimal->special = read_byte(r);
	int64_t scale = unzigzag(read_varint(r));
	uint64_t count = read_count(r);
	decimal->digits = read_bytes(r, count);
	decimal->count = (uint32_t)count;
	decimal->scale = (int32_t)scale;
	if (r->status != FLOW_OK || count == 0 || scale != decimal->scale)
		return stop(r, FLOW_E_CORRUPT);
	for (uint32_t i = 0; i < decimal->count; i++)
		if (decimal->digits[i] < '0' || decimal->digits[i] > '9')
			return stop(r, FLOW_E_CORRUPT);
	return decimal;
}

static void
read_text(struct reader *r, uint64_t size, flow_value *v)
{
	v->as.text = read_bytes(r, size);
	v->size = (uint32_t)size;
}

static void
read_nested(struct reader *r, uint32_t depth, flow_value *v)
{
	if (depth >= FLOW_ROW_DEPTH) {
		stop(r, FLOW_E_CORRUPT);
	} else if (v->type == FLOW_LIST) {
		v->as.list = read_list(r, depth);
	} else if (v->type == FLOW_MAP) {
		v->as.map = read_map(r, depth);
	} else {
		uint64_t count = read_count(r);
		v->size = (uint32_t)count;
		v->as.record = read_cells(r, count, depth);
	}
}

static void
read_float(struct reader *r, flow_value *v)
{
	const char *data = read_bytes(r, sizeof(double));
	if (data != NULL)
		memcpy(&v->as.float64, data, sizeof(double));
}

static void
read_content(struct reader *r, uint32_t depth, flow_value *v)
{
	switch (v->type) {
	case FLOW_NULL:
		break;
	case FLOW_BOOL:
		v->as.int64 = read_byte(r);
		if (v->as.int64 > 1)
			stop(r, FLOW_E_CORRUPT);
		break;
	case FLOW_INT64:
	case FLOW_DATE:
	case FLOW_TIME:
	case FLOW_TIMESTAMP:
		v->as.int64 = unzigzag(read_varint(r));
		break;
	case FLOW_UINT64:
		v->as.uint64 = read_varint(r);
		break;
	case FLOW_FLOAT64:
		read_float(r, v);
		break;
	case FLOW_DECIMAL:
		v->as.decimal = read_decimal(r);
		break;
	case FLOW_STRING:
	case FLOW_BYTES:
		read_text(r, read_count(r), v);
		break;
	case FLOW_UUID:
		read_text(r, 16, v);
		break;
	case FLOW_LIST:
	case FLOW_MAP:
	case FLOW_RECORD:
		read_nested(r, depth, v);
		break;
	default:
		stop(r, FLOW_E_CORRUPT);
	}
}

static void
read_cell(struct reader *r, uint32_t depth, flow_value *v)
{
	uint8_t head = read_byte(r);
	*v = flow_cell((uint8_t)(head & ~EXTRAS), 0);
	if ((head & EXTRAS) != 0) {
		v->unit = read_byte(r);
		v->flags = read_byte(r);
		v->branch = read_byte(r);
	}
	if (r->status == FLOW_OK)
		read_content(r, depth, v);
}

flow_status
flow_row_read(flow_slice bytes, flow_builder *memory, flow_value *row)
{
	struct reader r = { bytes.data, bytes.data + bytes.size, memory, FLOW_OK };
	if (bytes.size == 0 || bytes.data[0] != FLOW_ROW_FORMAT)
		return FLOW_E_CORRUPT;
	r.next++;
	read_cell(&r, 0, row);
	if (r.status == FLOW_OK && r.next != r.end)
		return FLOW_E_CORRUPT;
	return r.status;
}

flow_status
flow_row_update(const flow_schema *schema, const flow_value *row, const flow_table_update *update, flow_builder *memory,
				flow_value *changed)
{
	const flow_schema *names = update->update_schema;
	if (schema == NULL || row->type != FLOW_RECORD || update->update->type != FLOW_RECORD ||
		row->size != schema->field_count || update->update->size != names->field_count)
		return FLOW_E_TYPE;
	flow_value *cells = flow_builder_cells(memory, row->size + 1);
	if (cells == NULL)
		return FLOW_E_MEMORY;
	memcpy(cells, row->as.record, row->size * sizeof(*cells));
	for (uint32_t i = 0; i < names->field_count; i++) {
		int32_t field = flow_schema_find(schema, names->fields[i]->name);
		if (field < 0)
			return FLOW_E_TYPE;
		cells[field] = update->update->as.record[i];
	}
	*changed = *row;
	changed->as.record = cells;
	return FLOW_OK;
}
