/*
 * Writer's schema x reader's schema -> the operations that make cells of the reader's schema from the writer's bytes.
 *
 * The rules are those of Avro's schema resolution. Logical types: equal ones, or one of the two is the plain type; times of a coarser
 * unit become those of a finer one; all else would change what a number means, and is refused.
 */
#include <stdio.h>

#include "avro_ops.h"
#include "avro_skip.h"
#include "flow_sdk/plugin.h"

#define STEPS_MAX 1000000 /* types looked at, in all attempts at unions */

struct record_pair {
	struct record_pair *next;
	const void *writer;
	const void *reader;
	avro_program *program;
};

struct maker {
	avro_memory *memory;
	avro_skip_maker skips;
	struct record_pair *pairs;
	uint32_t steps;
	uint32_t place_size;
	char place[AVRO_PATH_MAX];    /* the field that is looked at */
	char reason[AVRO_REASON_MAX]; /* of the failure; empty: out of memory */
};

static int resolve(struct maker *m, const flow_schema *writer, int writer_branch, const flow_schema *reader,
				   int reader_branch, avro_op *op);

static int
refuse(struct maker *m, const char *what, flow_slice name)
{
	snprintf(m->reason, sizeof(m->reason), "%s '%.*s'", what, (int)(name.size > 100 ? 100 : name.size),
			 name.size == 0 ? "" : name.data);
	return 0;
}

static int
refuse_types(struct maker *m, int writer, int reader)
{
	snprintf(m->reason, sizeof(m->reason), "%s was written, which cannot be read as %s%s", avro_type_name(writer),
			 avro_type_name(reader), writer == reader ? " with this meaning (the logical types differ)" : "");
	return 0;
}

static uint32_t
enter(struct maker *m, flow_slice name)
{
	uint32_t before = m->place_size;
	int size = snprintf(m->place + before, sizeof(m->place) - before, "%s%.*s", before == 0 ? "" : ".",
						(int)(name.size > 100 ? 100 : name.size), name.data);
	uint32_t room = (uint32_t)sizeof(m->place) - 1 - before;
	m->place_size = before + ((uint32_t)size < room ? (uint32_t)size : room);
	return before;
}

/* --- scalars --------------------------------------------------------------------------------------------------------- */

static const int64_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000 };

static int
is_plain(const flow_schema *schema)
{
	switch (schema->kind) {
	case FLOW_KIND_DATE:
	case FLOW_KIND_TIME:
	case FLOW_KIND_TIMESTAMP:
	case FLOW_KIND_DECIMAL:
	case FLOW_KIND_UUID:
	case FLOW_KIND_UINT64:
	case FLOW_KIND_ANY:
		return 0;
	default:
		return 1;
	}
}

static flow_value
cell_of(const flow_schema *schema)
{
	static const uint8_t types[] = {
		[FLOW_KIND_ANY] = FLOW_STRING,      [FLOW_KIND_NULL] = FLOW_NULL,
		[FLOW_KIND_BOOL] = FLOW_BOOL,       [FLOW_KIND_INT32] = FLOW_INT64,
		[FLOW_KIND_INT64] = FLOW_INT64,     [FLOW_KIND_UINT64] = FLOW_UINT64,
		[FLOW_KIND_FLOAT32] = FLOW_FLOAT64, [FLOW_KIND_FLOAT64] = FLOW_FLOAT64,
		[FLOW_KIND_DECIMAL] = FLOW_DECIMAL, [FLOW_KIND_STRING] = FLOW_STRING,
		[FLOW_KIND_BYTES] = FLOW_BYTES,     [FLOW_KIND_FIXED] = FLOW_BYTES,
		[FLOW_KIND_ENUM] = FLOW_STRING,     [FLOW_KIND_DATE] = FLOW_DATE,
		[FLOW_KIND_TIME] = FLOW_TIME,       [FLOW_KIND_TIMESTAMP] = FLOW_TIMESTAMP,
		[FLOW_KIND_UUID] = FLOW_UUID,       [FLOW_KIND_LIST] = FLOW_LIST,
		[FLOW_KIND_MAP] = FLOW_MAP,         [FLOW_KIND_RECORD] = FLOW_RECORD,
		[FLOW_KIND_UNION] = FLOW_NULL,
	};
	flow_value cell = flow_cell(types[schema->kind], 0);
	if (schema->kind == FLOW_KIND_TIME || schema->kind == FLOW_KIND_TIMESTAMP)
		cell.unit = schema->unit;
	if (schema->kind == FLOW_KIND_TIMESTAMP && (schema->flags & FLOW_SCHEMA_ZONED) != 0)
		cell.flags = FLOW_ZONED;
	return cell;
}

/* Ints and longs whose meaning stays. 0: it does not. */
static int
resolve_unit(const flow_schema *writer, const flow_schema *reader, avro_op *op)
{
	if (is_plain(writer) || is_plain(reader))
		return 1;
	if (writer->kind != reader->kind || ((writer->flags ^ reader->flags) & FLOW_SCHEMA_ZONED) != 0 ||
		writer->unit > reader->unit)
		return 0;
	if (writer->kind != FLOW_KIND_DATE && writer->unit != reader->unit) {
		op->code = AVRO_OP_SCALED;
		op->size = avro_type_of(writer, 1) == AVRO_INT;
		op->number = (int32_t)powers[reader->unit - writer->unit];
	}
	return 1;
}

static int
resolve_number(const flow_schema *writer, int from, const flow_schema *reader, int to, avro_op *op)
{
	int whole = from == AVRO_INT || from == AVRO_LONG;
	if (whole && (to == AVRO_LONG || to == from)) {
		op->code = from == AVRO_INT ? AVRO_OP_INT : AVRO_OP_LONG;
		return resolve_unit(writer, reader, op);
	}
	if (whole && (to == AVRO_FLOAT || to == AVRO_DOUBLE)) {
		if (to == AVRO_FLOAT)
			op->code = from == AVRO_INT ? AVRO_OP_INT_AS_FLOAT : AVRO_OP_LONG_AS_FLOAT;
		else
			op->code = from == AVRO_INT ? AVRO_OP_INT_AS_DOUBLE : AVRO_OP_LONG_AS_DOUBLE;
		return is_plain(writer);
	}
	op->code = from == AVRO_FLOAT ? AVRO_OP_FLOAT : AVRO_OP_DOUBLE;
	return from == to || (from == AVRO_FLOAT && to == AVRO_DOUBLE);
}

static int
same_decimal(const flow_schema *writer, const flow_schema *reader)
{
	if (writer->kind == FLOW_KIND_UINT64 && reader->kind == FLOW_KIND_DECIMAL)
		return reader->precision >= 20 && reader->scale == 0;
	if (writer->kind == FLOW_KIND_DECIMAL && reader->kind == FLOW_KIND_UINT64)
		return writer->precision > 0 && writer->scale == 0; /* what is too large is a record error */
	if (writer->kind != FLOW_KIND_DECIMAL || reader->kind != FLOW_KIND_DECIMAL)
		return writer->kind == reader->kind;
	return (writer->precision == 0) == (reader->precision == 0) && writer->scale == reader->scale &&
		   writer->precision <= reader->precision;
}

/* What a reader's type takes of a length and bytes. */
static int
resolve_bytes(const flow_schema *writer, const flow_schema *reader, avro_op *op)
{
	if (!is_plain(writer) && !is_plain(reader) && !same_decimal(writer, reader))
		return 0;
	switch (reader->kind) {
	case FLOW_KIND_DECIMAL:
		op->code = reader->precision == 0 ? AVRO_OP_BIG_DECIMAL : AVRO_OP_DECIMAL;
		op->number = reader->scale;
		op->cell.as.int64 = reader->precision;
		return 1;
	case FLOW_KIND_UINT64:
		op->code = AVRO_OP_UINT64;
		return 1;
	case FLOW_KIND_UUID:
		op->code = AVRO_OP_UUID_TEXT;
		return is_plain(writer) || writer->kind == FLOW_KIND_UUID;
	case FLOW_KIND_BYTES:
		op->code = AVRO_OP_BYTES;
		return 1;
	default:
		op->code = AVRO_OP_STRING;
		return writer->kind != FLOW_KIND_DECIMAL && writer->kind != FLOW_KIND_UINT64;
	}
}

static int
same_name(const flow_schema *writer, const flow_schema *reader)
{
	if (flow_slice_equal(avro_short_name(writer->name), avro_short_name(reader->name)))
		return 1;
	for (uint64_t i = 0; i < reader->alias_count; i++)
		if (flow_slice_equal(reader->aliases[i], writer->name) ||
			flow_slice_equal(reader->aliases[i], avro_short_name(writer->name)))
			return 1;
	return 0;
}

static int
resolve_fixed(struct maker *m, const flow_schema *writer, const flow_schema *reader, avro_op *op)
{
	if (!same_name(writer, reader))
		return refuse(m, "the reader's schema has another name, and no alias, for the fixed", writer->name);
	if (writer->fixed_size != reader->fixed_size)
		return refuse(m, "another size was written of the fixed", writer->name);
	if (!is_plain(writer) && !is_plain(reader) && !same_decimal(writer, reader))
		return refuse_types(m, AVRO_FIXED, AVRO_FIXED);
	op->cell.as.int64 = reader->precision;
	op->size = writer->fixed_size;
	op->number = reader->scale;
	op->code = reader->kind == FLOW_KIND_DECIMAL ? AVRO_OP_FIXED_DECIMAL
			   : reader->kind == FLOW_KIND_UUID  ? AVRO_OP_UUID_FIXED
												 : AVRO_OP_FIXED;
	return 1;
}

static int
resolve_enum(struct maker *m, const flow_schema *writer, const flow_schema *reader, avro_op *op)
{
	if (!same_name(writer, reader))
		return refuse(m, "the reader's schema has another name, and no alias, for the enum", writer->name);
	flow_value *cells = (flow_value *)avro_allocate(m->memory, writer->symbol_count * sizeof(*cells));
	avro_enum *symbols = (avro_enum *)avro_allocate(m->memory, sizeof(*symbols));
	const avro_symbols *known = avro_symbols_create(m->memory, reader->symbols, reader->symbol_count);
	if (cells == NULL || symbols == NULL || known == NULL)
		return 0;
	for (uint32_t i = 0; i < writer->symbol_count; i++) {
		flow_slice symbol = writer->symbols[i], fallback = reader->default_symbol;
		int32_t index = avro_symbols_find(known, symbol.data, (uint32_t)symbol.size);
		if (index < 0 && fallback.size != 0)
			index = avro_symbols_find(known, fallback.data, (uint32_t)fallback.size);
		if (index >= 0)
			cells[i] = flow_string(reader->symbols[index].data, (uint32_t)reader->symbols[index].size);
	}
	*symbols = (avro_enum){ .cells = cells, .written = writer->symbols };
	op->code = AVRO_OP_ENUM;
	op->size = writer->symbol_count;
	op->as.symbols = symbols;
	return 1;
}

/* --- containers ------------------------------------------------------------------------------------------------------- */

/* `count` operations for one value in slot 0, with their end. NULL: a failure. */
static avro_program *
value_program(struct maker *m, const flow_schema *writer, int writer_branch, const flow_schema *reader,
			  int reader_branch)
{
	avro_program *program = (avro_program *)avro_allocate(m->memory, sizeof(*program));
	avro_op *ops = (avro_op *)avro_allocate(m->memory, 3 * sizeof(*ops));
	if (program == NULL || ops == NULL || !resolve(m, writer, writer_branch, reader, reader_branch, ops))
		return NULL;
	program->ops = ops;
	return program;
}

static int
resolve_items(struct maker *m, const flow_schema *writer, const flow_schema *reader, uint8_t code, avro_op *op)
{
	uint32_t before = enter(m, flow_slice_of(code == AVRO_OP_MAP ? "{}" : "[]"));
	avro_program *items = value_program(m, writer->element, 0, reader->element, 0);
	if (items == NULL)
		return 0;
	m->place_size = before;
	m->place[before] = '\0';
	items->skip = avro_skip_create(&m->skips, writer->element);
	op->code = code;
	op->as.program = items;
	return items->skip != NULL;
}

/* --- records ------------------------------------------------------------------------------------------------------------ */

static const flow_field *
find_field(const flow_schema *reader, const flow_field *written)
{
	int32_t index = flow_schema_find(reader, written->name);
	if (index >= 0)
		return reader->fields[index];
	for (uint32_t i = 0; i < reader->field_count; i++)
		for (uint64_t k = 0; k < reader->fields[i]->alias_count; k++)
			if (flow_slice_equal(reader->fields[i]->aliases[k], written->name))
				return reader->fields[i];
	return NULL;
}

struct record_making {
	avro_op *ops;
	uint32_t count;
	uint8_t *filled;        /* a reader's field: 1 written, 2 also decoded */
	avro_skip_list skipped; /* what is passed over before the next operation */
};

/* Puts the collected skips before what comes next. */
static int
flush_skips(struct maker *m, struct record_making *r)
{
	if (r->skipped.count == 0)
		return 1;
	const avro_skip *skip = avro_skip_finish(&m->skips, &r->skipped, NULL);
	if (skip == NULL)
		return 0;
	r->ops[r->count++] = (avro_op){ .code = AVRO_OP_SKIP, .as.skip = skip };
	r->skipped = (avro_skip_list){ 0 };
	return 1;
}

static int
add_written(struct maker *m, struct record_making *r, const flow_field *written, const flow_schema *reader,
			const uint8_t *wanted)
{
	const flow_field *field = find_field(reader, written);
	if (field != NULL && r->filled[field->index] != 0)
		field = NULL; /* two written fields under aliases of one: the first counts */
	if (field != NULL)
		r->filled[field->index] = 1;
	if (field == NULL || (wanted != NULL && !wanted[field->index])) {
		if (avro_skip_append(&m->skips, &r->skipped, written->schema, 0))
			return 1;
		m->reason[0] = '\0';
		return 0;
	}
	uint32_t before = enter(m, field->name);
	avro_op *op = &r->ops[r->count + (r->skipped.count != 0)];
	op->slot = field->index;
	if (!resolve(m, written->schema, 0, field->schema, 0, op))
		return 0;
	m->place_size = before;
	m->place[before] = '\0';
	uint32_t used = op->code == AVRO_OP_NULLABLE ? 2 : 1;
	for (uint32_t i = 0; i < used; i++) {
		op[i].slot = field->index;
		op[i].name = &field->name;
	}
	if (!flush_skips(m, r))
		return 0;
	r->count += used;
	r->filled[field->index] = 2;
	return 1;
}

static int
add_defaults(struct maker *m, struct record_making *r, const flow_schema *reader, const uint8_t *wanted,
			 avro_program *program)
{
	for (uint32_t i = 0; i < reader->field_count; i++) {
		const flow_field *field = reader->fields[i];
		if (r->filled[i] == 2)
			continue;
		program->sparse = 1;
		if (r->filled[i] == 1)
			continue;
		if (field->default_value == NULL)
			return refuse(m, "was not written, and the reader's schema has no default for it: the field", field->name);
		if (flow_is_null(*field->default_value) || (wanted != NULL && !wanted[i]))
			continue;
		r->ops[r->count++] = (avro_op){ .code = AVRO_OP_CONSTANT, .slot = i, .as.value = field->default_value };
	}
	return 1;
}

static int
make_record(struct maker *m, const flow_schema *writer, const flow_schema *reader, const uint8_t *wanted,
			avro_program *program)
{
	struct record_making r = { 0 };
	uint64_t most = (uint64_t)writer->field_count * 3 + reader->field_count + 3;
	r.ops = (avro_op *)avro_allocate(m->memory, most * sizeof(*r.ops));
	r.filled = (uint8_t *)avro_allocate(m->memory, (uint64_t)reader->field_count + 1);
	if (r.ops == NULL || r.filled == NULL)
		return 0;
	program->ops = r.ops;
	program->cell_count = reader->field_count;
	for (uint32_t i = 0; i < writer->field_count; i++)
		if (!add_written(m, &r, writer->fields[i], reader, wanted))
			return 0;
	if (!flush_skips(m, &r) || !add_defaults(m, &r, reader, wanted, program))
		return 0;
	r.ops[r.count] = (avro_op){ .code = AVRO_OP_END };
	return 1;
}

static const void *
identity_of(const flow_schema *record)
{
	return record->field_count != 0 ? (const void *)record->fields : (const void *)record;
}

/* `wanted` is given for the outermost record only, whose program is not shared. */
static int
resolve_record(struct maker *m, const flow_schema *writer, const flow_schema *reader, const uint8_t *wanted,
			   avro_op *op)
{
	op->code = AVRO_OP_RECORD;
	if (!same_name(writer, reader))
		return refuse(m, "the reader's schema has another name, and no alias, for the record", writer->name);
	for (struct record_pair *p = m->pairs; wanted == NULL && p != NULL; p = p->next) {
		if (p->writer == identity_of(writer) && p->reader == identity_of(reader)) {
			op->as.program = p->program;
			return 1;
		}
	}
	struct record_pair *pair = (struct record_pair *)avro_allocate(m->memory, sizeof(*pair));
	avro_program *program = (avro_program *)avro_allocate(m->memory, sizeof(*program));
	if (pair == NULL || program == NULL)
		return 0;
	op->as.program = program;
	if (wanted == NULL) {
		*pair = (struct record_pair){ m->pairs, identity_of(writer), identity_of(reader), program };
		m->pairs = pair;
	}
	program->skip = avro_skip_create(&m->skips, writer);
	return program->skip != NULL && make_record(m, writer, reader, wanted, program);
}

/* --- unions ------------------------------------------------------------------------------------------------------------- */

static int
same_branch(const flow_schema *writer, const flow_schema *reader)
{
	return writer->kind == reader->kind && flow_slice_equal(writer->name, reader->name) &&
		   flow_slice_equal(writer->logical, reader->logical) && avro_type_of(writer, 1) == avro_type_of(reader, 1);
}

/* A value of one type for a reader's union: the branch that is the same, or else the first one that takes it. */
static int
resolve_into_union(struct maker *m, const flow_schema *writer, const flow_schema *reader, avro_op *op)
{
	uint32_t count = avro_branch_count(reader);
	if (writer == NULL || writer->kind == FLOW_KIND_NULL) {
		op->code = AVRO_OP_NULL;
		return flow_schema_nullable(reader) ? 1 : refuse_types(m, AVRO_NULL, AVRO_UNION);
	}
	for (int exact = 1; exact >= 0; exact--) {
		for (uint32_t i = 0; i < count; i++) {
			uint8_t cell_branch;
			const flow_schema *branch = avro_branch(reader, i, &cell_branch);
			if (branch == NULL || (exact && !same_branch(writer, branch)))
				continue;
			m->reason[0] = '\0';
			struct record_pair *pairs = m->pairs;
			uint32_t before = m->place_size;
			uint32_t slot = op->slot;
			if (resolve(m, writer, 1, branch, 1, op)) {
				op->cell.branch = cell_branch;
				return 1;
			}
			if (m->reason[0] == '\0')
				return 0;
			*op = (avro_op){ .slot = slot };
			m->pairs = pairs; /* those of the attempt are not whole */
			m->place_size = before;
			m->place[before] = '\0';
		}
	}
	snprintf(m->reason, sizeof(m->reason), "%s was written, which no branch of the reader's union takes",
			 avro_type_name(avro_type_of(writer, 1)));
	return 0;
}

/* A program for one branch of the writer's union; a branch that the reader cannot take fails only where it is met. */
static const avro_program *
branch_program(struct maker *m, const flow_schema *branch, const flow_schema *reader, uint32_t *resolved)
{
	avro_program *program = (avro_program *)avro_allocate(m->memory, sizeof(*program));
	avro_op *ops = (avro_op *)avro_allocate(m->memory, 3 * sizeof(*ops));
	if (program == NULL || ops == NULL)
		return NULL;
	program->ops = ops;
	m->reason[0] = '\0';
	struct record_pair *pairs = m->pairs;
	uint32_t before = m->place_size;
	int to_union = avro_branch_count(reader) != 0;
	int ok;
	if (branch == NULL && !to_union) {
		ops->code = AVRO_OP_NULL;
		ok = reader->kind == FLOW_KIND_NULL || refuse_types(m, AVRO_NULL, avro_type_of(reader, 1));
	} else {
		ok = to_union ? resolve_into_union(m, branch, reader, ops) : resolve(m, branch, 1, reader, 0, ops);
	}
	m->place_size = before;
	m->place[before] = '\0';
	*resolved += (uint32_t)ok;
	if (ok)
		return program;
	if (m->reason[0] == '\0')
		return NULL;
	m->pairs = pairs;
	uint64_t size = strlen(m->reason) + 1;
	char *reason = (char *)avro_allocate(m->memory, size);
	if (reason == NULL)
		return NULL;
	memcpy(reason, m->reason, size);
	ops[0] = (avro_op){ .code = AVRO_OP_UNRESOLVED, .as.reason = reason };
	ops[1] = (avro_op){ .code = AVRO_OP_END };
	return program;
}

/* [null, T] or [T, null] -> the same: a test and an operation. */
static int
resolve_nullable(struct maker *m, const flow_schema *writer, const flow_schema *reader, avro_op *op)
{
	uint32_t slot = op->slot;
	if (!resolve(m, writer, 1, reader, 1, op + 1))
		return 0;
	*op = (avro_op){ .code = AVRO_OP_NULLABLE, .slot = slot, .null_index = (uint8_t)writer->null_index };
	return 1;
}

static int
resolve_from_union(struct maker *m, const flow_schema *writer, const flow_schema *reader, avro_op *op)
{
	int simple = writer->kind != FLOW_KIND_UNION && reader->kind != FLOW_KIND_UNION && flow_schema_nullable(reader);
	if (simple)
		return resolve_nullable(m, writer, reader, op);
	uint32_t count = avro_branch_count(writer), resolved = 0;
	const avro_program **programs = (const avro_program **)avro_allocate(m->memory, count * sizeof(*programs) + 1);
	if (programs == NULL)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		uint8_t cell_branch;
		programs[i] = branch_program(m, avro_branch(writer, i, &cell_branch), reader, &resolved);
		if (programs[i] == NULL)
			return 0;
	}
	if (resolved == 0 && count != 0)
		return refuse_types(m, AVRO_UNION, avro_type_of(reader, 0));
	m->reason[0] = '\0';
	*op = (avro_op){ .code = AVRO_OP_UNION, .slot = op->slot, .size = count };
	op->as.branches = programs;
	return 1;
}

/* --- any type ------------------------------------------------------------------------------------------------------------- */

static int
resolve(struct maker *m, const flow_schema *writer, int writer_branch, const flow_schema *reader, int reader_branch,
		avro_op *op)
{
	int from = avro_type_of(writer, writer_branch), to = avro_type_of(reader, reader_branch);
	if (++m->steps > STEPS_MAX)
		return refuse(m, "these schemas need too many attempts at", flow_slice_of("unions"));
	if (from == AVRO_UNION)
		return resolve_from_union(m, writer, reader, op);
	if (to == AVRO_UNION)
		return resolve_into_union(m, writer, reader, op);
	op->cell = cell_of(reader);
	int text = from == AVRO_STRING || from == AVRO_BYTES;
	if (from >= AVRO_INT && from <= AVRO_DOUBLE && to >= AVRO_INT && to <= AVRO_DOUBLE)
		return resolve_number(writer, from, reader, to, op) ? 1 : refuse_types(m, from, to);
	if (text && (to == AVRO_STRING || to == AVRO_BYTES))
		return resolve_bytes(writer, reader, op) ? 1 : refuse_types(m, from, to);
	if (from != to)
		return refuse_types(m, from, to);
	switch (from) {
	case AVRO_NULL:
		op->code = AVRO_OP_NULL;
		return 1;
	case AVRO_BOOLEAN:
		op->code = AVRO_OP_BOOLEAN;
		return 1;
	case AVRO_FIXED:
		return resolve_fixed(m, writer, reader, op);
	case AVRO_ENUM:
		return resolve_enum(m, writer, reader, op);
	case AVRO_ARRAY:
		return resolve_items(m, writer, reader, AVRO_OP_LIST, op);
	case AVRO_MAP:
		return resolve_items(m, writer, reader, AVRO_OP_MAP, op);
	default:
		return resolve_record(m, writer, reader, NULL, op);
	}
}

static int
make_plan(struct maker *m, avro_plan *plan, const uint8_t *wanted)
{
	avro_op *ops = (avro_op *)avro_allocate(&plan->memory, 3 * sizeof(*ops));
	if (ops == NULL)
		return 0;
	plan->program.ops = ops;
	plan->program.skip = avro_skip_create(&m->skips, plan->writer);
	if (plan->program.skip == NULL)
		return 0;
	int projected =
		wanted != NULL && avro_type_of(plan->writer, 0) == AVRO_RECORD && avro_type_of(plan->reader, 0) == AVRO_RECORD;
	if (!projected)
		return resolve(m, plan->writer, 0, plan->reader, 0, ops);
	ops->cell = cell_of(plan->reader);
	return resolve_record(m, plan->writer, plan->reader, wanted, ops);
}

avro_plan *
avro_plan_create(const flow_host *host, const flow_schema *writer, const flow_schema *reader, const uint8_t *wanted,
				 flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	avro_plan *plan = (avro_plan *)flow_new(host, sizeof(*plan));
	struct maker *m = (struct maker *)flow_new(host, sizeof(*m));
	if (plan == NULL || m == NULL) {
		host->release(plan);
		host->release(m);
		flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
		return NULL;
	}
	plan->memory.host = host;
	plan->writer = schemas->retain(writer);
	plan->reader = schemas->retain(reader);
	m->memory = &plan->memory;
	m->skips.memory = &plan->memory;
	int made = make_plan(m, plan, wanted);
	if (!made && m->reason[0] == '\0')
		flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	else if (!made)
		flow_fail(host, error, FLOW_E_CONFIG, "%s%s%s", m->place, m->place_size == 0 ? "" : ": ", m->reason);
	host->release(m);
	if (made)
		return plan;
	avro_plan_destroy(plan);
	return NULL;
}

void
avro_plan_destroy(avro_plan *plan)
{
	if (plan == NULL)
		return;
	const flow_host *host = plan->memory.host;
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	schemas->release(plan->writer);
	schemas->release(plan->reader);
	avro_memory_release(&plan->memory);
	host->release(plan);
}
