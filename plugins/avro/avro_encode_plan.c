/*
 * The type of cells x the schema to write -> the operations of encoding.
 *
 * Without a schema to write both are the same. With one, fields go by name; whole numbers, doubles and units of time go into other ones
 * where the value allows it, else the record is an error. Nothing is left out: a field that the schema does not have is refused here.
 */
#include <stdio.h>

#include "avro_encode.h"
#include "avro_wire.h"
#include "flow_sdk/plugin.h"

#define STEPS_MAX 1000000 /* types looked at, in all attempts at unions */

struct record_pair {
	struct record_pair *next;
	const void *source;
	const void *target;
	avro_encode_program *program;
};

struct maker {
	const flow_host *host;
	avro_memory *memory;
	struct record_pair *pairs;
	uint32_t steps;
	uint32_t place_size;
	char place[AVRO_PATH_MAX];
	char reason[AVRO_REASON_MAX]; /* of the failure; empty: out of memory */
};

/* The operations are whole: what they need. */
static void
settle_room(avro_encode_program *program)
{
	program->room = 0;
	for (const avro_encode_op *op = program->ops; op->code != AVRO_ENCODE_END; op++) {
		switch (op->code) {
		case AVRO_ENCODE_BOOLEAN:
		case AVRO_ENCODE_NULLABLE:
			program->room += 1;
			break;
		case AVRO_ENCODE_FLOAT:
		case AVRO_ENCODE_DOUBLE:
			program->room += 8;
			break;
		case AVRO_ENCODE_INT:
		case AVRO_ENCODE_LONG:
		case AVRO_ENCODE_TEXT:
		case AVRO_ENCODE_ENUM:
		case AVRO_ENCODE_BRANCH:
			program->room += AVRO_VARINT_MAX;
			break;
		case AVRO_ENCODE_FIXED:
			program->room += op->size;
			break;
		case AVRO_ENCODE_CONSTANT:
			program->room += op->as.bytes->size;
			break;
		default:
			break;
		}
	}
}

/* Appends operations for one value in `slot`; at most two. Returns how many, 0: a failure. */
static uint32_t make_value(struct maker *m, const flow_schema *source, const flow_schema *target, uint32_t slot,
						   avro_encode_op *ops);

static uint32_t
refuse(struct maker *m, const char *reason)
{
	snprintf(m->reason, sizeof(m->reason), "%s", reason);
	return 0;
}

static uint32_t
refuse_name(struct maker *m, const char *what, flow_slice name)
{
	snprintf(m->reason, sizeof(m->reason), "%s '%.*s'", what, (int)(name.size > 100 ? 100 : name.size), name.data);
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

static void
leave(struct maker *m, uint32_t before)
{
	m->place_size = before;
	m->place[before] = '\0';
}

/* --- scalars --------------------------------------------------------------------------------------------------------- */

static const uint8_t cell_types[] = {
	[FLOW_KIND_ANY] = FLOW_NULL,        [FLOW_KIND_NULL] = FLOW_NULL,
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

static const int32_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000 };

static int
is_time(const flow_schema *schema)
{
	return schema->kind == FLOW_KIND_DATE || schema->kind == FLOW_KIND_TIME || schema->kind == FLOW_KIND_TIMESTAMP;
}

static int
is_integer(const flow_schema *schema)
{
	return schema->kind == FLOW_KIND_INT32 || schema->kind == FLOW_KIND_INT64;
}

/* Ints and longs, among them times. 0: the source is none of those that go there. */
static int
make_whole(const flow_schema *source, const flow_schema *target, int is_int, avro_encode_op *op)
{
	op->code = is_int ? AVRO_ENCODE_INT : AVRO_ENCODE_LONG;
	if (source->kind == FLOW_KIND_UINT64 && target->kind == FLOW_KIND_INT64) {
		op->code = AVRO_ENCODE_UNSIGNED_LONG;
		return 1;
	}
	if (!is_time(source) || !is_time(target))
		return (is_integer(source) || is_time(source)) && (is_integer(target) || is_time(target));
	if (source->kind != target->kind || ((source->flags ^ target->flags) & FLOW_SCHEMA_ZONED) != 0)
		return 0;
	if (source->kind != FLOW_KIND_DATE && source->unit != target->unit) {
		op->code = is_int ? AVRO_ENCODE_SCALED_INT : AVRO_ENCODE_SCALED_LONG;
		op->number =
			source->unit < target->unit ? powers[target->unit - source->unit] : -powers[source->unit - target->unit];
	}
	return 1;
}

static int
make_decimal(const flow_schema *source, const flow_schema *target, avro_encode_op *op)
{
	op->code = target->precision == 0 ? AVRO_ENCODE_BIG_DECIMAL : AVRO_ENCODE_DECIMAL;
	op->size = (uint32_t)target->precision;
	op->number = target->scale;
	if (target->name.size != 0) {
		op->code = AVRO_ENCODE_FIXED_DECIMAL;
		op->index = target->fixed_size;
	}
	return source->kind == FLOW_KIND_DECIMAL;
}

static int
make_enum(struct maker *m, const flow_schema *source, const flow_schema *target, avro_encode_op *op)
{
	op->code = AVRO_ENCODE_ENUM;
	op->as.symbols = avro_symbols_create(m->memory, target->symbols, target->symbol_count);
	return op->as.symbols != NULL && (source->kind == FLOW_KIND_ENUM || source->kind == FLOW_KIND_STRING);
}

static int
make_text(const flow_schema *source, const flow_schema *target, avro_encode_op *op)
{
	int text = source->kind == FLOW_KIND_STRING || source->kind == FLOW_KIND_ENUM;
	op->code = AVRO_ENCODE_TEXT;
	switch (target->kind) {
	case FLOW_KIND_DECIMAL:
		return make_decimal(source, target, op);
	case FLOW_KIND_UINT64:
		op->code = AVRO_ENCODE_UINT64;
		return source->kind == FLOW_KIND_UINT64;
	case FLOW_KIND_UUID:
		op->code = AVRO_ENCODE_UUID_TEXT;
		return source->kind == FLOW_KIND_UUID;
	case FLOW_KIND_BYTES:
		return text || source->kind == FLOW_KIND_BYTES || source->kind == FLOW_KIND_FIXED;
	default:
		if (source->kind == FLOW_KIND_UUID)
			op->code = AVRO_ENCODE_UUID_TEXT;
		return text || source->kind == FLOW_KIND_UUID;
	}
}

static int
make_fixed(const flow_schema *source, const flow_schema *target, avro_encode_op *op)
{
	if (target->kind == FLOW_KIND_DECIMAL)
		return make_decimal(source, target, op);
	op->code = AVRO_ENCODE_FIXED;
	op->size = target->fixed_size;
	if (target->kind == FLOW_KIND_UUID)
		return source->kind == FLOW_KIND_UUID;
	return source->kind == FLOW_KIND_FIXED || source->kind == FLOW_KIND_BYTES || source->kind == FLOW_KIND_UUID;
}

static int
make_scalar(struct maker *m, const flow_schema *source, const flow_schema *target, int type, avro_encode_op *op)
{
	op->type = cell_types[source->kind];
	switch (type) {
	case AVRO_NULL:
		op->code = AVRO_ENCODE_NULL;
		return source->kind == FLOW_KIND_NULL;
	case AVRO_BOOLEAN:
		op->code = AVRO_ENCODE_BOOLEAN;
		return source->kind == FLOW_KIND_BOOL;
	case AVRO_INT:
	case AVRO_LONG:
		return make_whole(source, target, type == AVRO_INT, op);
	case AVRO_FLOAT:
	case AVRO_DOUBLE:
		op->code = type == AVRO_FLOAT ? AVRO_ENCODE_FLOAT : AVRO_ENCODE_DOUBLE;
		return is_integer(source) || source->kind == FLOW_KIND_FLOAT32 || source->kind == FLOW_KIND_FLOAT64;
	case AVRO_ENUM:
		return make_enum(m, source, target, op);
	case AVRO_FIXED:
		return make_fixed(source, target, op);
	default:
		return make_text(source, target, op);
	}
}

/* --- records, lists and maps --------------------------------------------------------------------------------------------- */

static flow_status
grow_buffer(flow_buffer *buffer, uint64_t more)
{
	const flow_host *host = (const flow_host *)buffer->host;
	uint64_t capacity = (buffer->size + more) * 2;
	char *grown = (char *)host->reallocate(buffer->data, capacity);
	if (grown == NULL)
		return FLOW_E_MEMORY;
	buffer->data = grown;
	buffer->capacity = capacity;
	return FLOW_OK;
}

/* The field's default as bytes. */
static uint32_t
make_default(struct maker *m, const flow_field *field, uint32_t slot, avro_encode_op *op)
{
	avro_encode_op ops[3] = { 0 };
	if (make_value(m, field->schema, field->schema, 0, ops) == 0)
		return 0;
	avro_encode_plan plan = { .program = { .ops = ops } };
	settle_room(&plan.program);
	flow_buffer buffer = { .struct_size = FLOW_SIZEOF(flow_buffer), .grow = grow_buffer };
	buffer.host = (void *)(uintptr_t)m->host;
	avro_output output;
	flow_status status = avro_output_open(&output, &buffer, 1000);
	if (status == FLOW_OK)
		status = avro_encode_value(&output, &plan, field->default_value);
	if (status == FLOW_OK)
		avro_output_close(&output);
	flow_slice *bytes = (flow_slice *)avro_allocate(m->memory, sizeof(*bytes) + buffer.size);
	if (status == FLOW_OK && bytes != NULL) {
		*bytes = flow_slice_make(bytes + 1, buffer.size);
		if (buffer.size != 0)
			memcpy(bytes + 1, buffer.data, buffer.size);
		*op = (avro_encode_op){ .code = AVRO_ENCODE_CONSTANT, .slot = slot, .as.bytes = bytes };
	}
	m->host->release(buffer.data);
	if (status == FLOW_OK)
		return bytes != NULL;
	return status == FLOW_E_MEMORY ? 0 : refuse_name(m, "the default cannot be written of", field->name);
}

static const flow_field *
find_source(const flow_schema *source, const flow_field *target)
{
	int32_t index = flow_schema_find(source, target->name);
	for (uint64_t i = 0; index < 0 && i < target->alias_count; i++)
		index = flow_schema_find(source, target->aliases[i]);
	return index < 0 ? NULL : source->fields[index];
}

static uint32_t
make_field(struct maker *m, const flow_schema *source, const flow_field *target, uint8_t *used, avro_encode_op *op)
{
	const flow_field *field = find_source(source, target);
	if (field != NULL) {
		used[field->index] = 1;
		uint32_t before = enter(m, target->name);
		uint32_t count = make_value(m, field->schema, target->schema, field->index, op);
		if (count != 0)
			leave(m, before);
		return count;
	}
	if (target->default_value == NULL)
		return refuse_name(m, "the records lack, and the schema has no default for, the field", target->name);
	return make_default(m, target, 0, op);
}

static int
make_fields(struct maker *m, const flow_schema *source, const flow_schema *target, avro_encode_program *program)
{
	avro_encode_op *ops =
		(avro_encode_op *)avro_allocate(m->memory, ((uint64_t)target->field_count * 2 + 2) * sizeof(*ops));
	uint8_t *used = (uint8_t *)avro_allocate(m->memory, (uint64_t)source->field_count + 1);
	if (ops == NULL || used == NULL)
		return 0;
	program->ops = ops;
	for (uint32_t i = 0, count; i < target->field_count; i++, ops += count) {
		count = make_field(m, source, target->fields[i], used, ops);
		if (count == 0)
			return 0;
	}
	for (uint32_t i = 0; i < source->field_count; i++)
		if (!used[i])
			return (int)refuse_name(m, "the schema lacks (leave it out before writing) the field",
									source->fields[i]->name);
	settle_room(program);
	return 1;
}

static const void *
identity_of(const flow_schema *record)
{
	return record->field_count != 0 ? (const void *)record->fields : (const void *)record;
}

static int
make_record(struct maker *m, const flow_schema *source, const flow_schema *target, avro_encode_op *op)
{
	op->code = AVRO_ENCODE_RECORD;
	op->type = FLOW_RECORD;
	op->size = source->field_count;
	if (source->kind != FLOW_KIND_RECORD)
		return (int)refuse(m, "a record must be written here, not another type");
	for (struct record_pair *p = m->pairs; p != NULL; p = p->next) {
		if (p->source == identity_of(source) && p->target == identity_of(target)) {
			op->as.program = p->program;
			return 1;
		}
	}
	struct record_pair *pair = (struct record_pair *)avro_allocate(m->memory, sizeof(*pair));
	avro_encode_program *program = (avro_encode_program *)avro_allocate(m->memory, sizeof(*program));
	if (pair == NULL || program == NULL)
		return 0;
	*pair = (struct record_pair){ m->pairs, identity_of(source), identity_of(target), program };
	m->pairs = pair;
	op->as.program = program;
	return make_fields(m, source, target, program);
}

static int
make_items(struct maker *m, const flow_schema *source, const flow_schema *target, uint8_t kind, avro_encode_op *op)
{
	op->code = kind == FLOW_KIND_LIST ? AVRO_ENCODE_LIST : AVRO_ENCODE_MAP;
	op->type = kind == FLOW_KIND_LIST ? FLOW_LIST : FLOW_MAP;
	if (source->kind != kind)
		return (int)refuse(m, kind == FLOW_KIND_LIST ? "an array must be written here, not another type"
													 : "a map must be written here, not another type");
	avro_encode_program *program = (avro_encode_program *)avro_allocate(m->memory, sizeof(*program));
	avro_encode_op *ops = (avro_encode_op *)avro_allocate(m->memory, 3 * sizeof(*ops));
	if (program == NULL || ops == NULL)
		return 0;
	program->ops = ops;
	op->as.program = program;
	uint32_t before = enter(m, flow_slice_of(kind == FLOW_KIND_LIST ? "[]" : "{}"));
	if (make_value(m, source->element, target->element, 0, ops) == 0)
		return 0;
	leave(m, before);
	settle_room(program);
	return 1;
}

/* --- unions ----------------------------------------------------------------------------------------------------------------- */

/* One value that is not null, into one branch of the target or the target that is no union. */
static int
make_branch(struct maker *m, const flow_schema *source, const flow_schema *target, uint32_t slot, avro_encode_op *op)
{
	int type = avro_type_of(target, 1);
	if (++m->steps > STEPS_MAX)
		return (int)refuse(m, "these schemas need too many attempts at unions");
	*op = (avro_encode_op){ .slot = slot };
	if (type == AVRO_RECORD)
		return make_record(m, source, target, op);
	if (type == AVRO_ARRAY || type == AVRO_MAP)
		return make_items(m, source, target, type == AVRO_ARRAY ? FLOW_KIND_LIST : FLOW_KIND_MAP, op);
	if (target->kind == FLOW_KIND_ANY || source->kind == FLOW_KIND_ANY)
		return (int)refuse(m, "its type is only known for each value (any); declare one");
	op->slot = slot;
	if (make_scalar(m, source, target, type, op))
		return 1;
	if (m->reason[0] == '\0')
		refuse_name(m, "this type cannot be written as", flow_slice_of(avro_type_name(type)));
	return 0;
}

static int
same_branch(const flow_schema *source, const flow_schema *target)
{
	return source->kind == target->kind && flow_slice_equal(source->name, target->name) &&
		   flow_slice_equal(source->logical, target->logical) && source->unit == target->unit;
}

/* The program of one of the source's branches: the same branch of the target, or else the first one that takes it. */
static const avro_encode_program *
branch_program(struct maker *m, const flow_schema *source, const flow_schema *target)
{
	avro_encode_program *program = (avro_encode_program *)avro_allocate(m->memory, sizeof(*program));
	avro_encode_op *ops = (avro_encode_op *)avro_allocate(m->memory, 3 * sizeof(*ops));
	uint32_t count = avro_branch_count(target), before = m->place_size;
	if (program == NULL || ops == NULL)
		return NULL;
	program->ops = ops;
	m->reason[0] = '\0';
	if (count == 0) {
		int made = make_branch(m, source, target, 0, ops);
		settle_room(program);
		return made ? program : NULL;
	}
	for (int exact = 1; exact >= 0; exact--) {
		for (uint32_t i = 0; i < count; i++) {
			uint8_t cell_branch;
			const flow_schema *branch = avro_branch(target, i, &cell_branch);
			if (branch == NULL || (exact && !same_branch(source, branch)))
				continue;
			m->reason[0] = '\0';
			struct record_pair *pairs = m->pairs;
			ops[0] = (avro_encode_op){ .code = AVRO_ENCODE_BRANCH, .index = i };
			if (make_branch(m, source, branch, 0, &ops[1])) {
				settle_room(program);
				return program;
			}
			if (m->reason[0] == '\0')
				return NULL;
			ops[1] = ops[2] = (avro_encode_op){ 0 };
			m->pairs = pairs; /* those of the attempt are not whole */
			leave(m, before);
		}
	}
	refuse(m, "no branch of the schema's union takes this type");
	return NULL;
}

static uint32_t
make_union(struct maker *m, const flow_schema *source, const flow_schema *target, uint32_t slot, avro_encode_op *op)
{
	int is_union = source->kind == FLOW_KIND_UNION;
	uint32_t count = is_union ? source->branch_count : source->kind != FLOW_KIND_NULL;
	const avro_encode_program **branches =
		(const avro_encode_program **)avro_allocate(m->memory, count * sizeof(*branches) + 1);
	if (branches == NULL)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		branches[i] = branch_program(m, is_union ? source->branches[i] : source, target);
		if (branches[i] == NULL)
			return 0;
	}
	m->reason[0] = '\0';
	*op = (avro_encode_op){ .code = AVRO_ENCODE_UNION, .slot = slot, .size = count, .branch = (uint8_t)is_union };
	op->null_index = flow_schema_nullable(target) ? target->null_index : UINT32_MAX;
	op->as.branches = branches;
	return 1;
}

static uint32_t
make_value(struct maker *m, const flow_schema *source, const flow_schema *target, uint32_t slot, avro_encode_op *ops)
{
	if (source->kind == FLOW_KIND_UNION || target->kind == FLOW_KIND_UNION)
		return make_union(m, source, target, slot, ops);
	if (!flow_schema_nullable(target))
		return (uint32_t)make_branch(m, source, target, slot, ops);
	if (source->kind == FLOW_KIND_NULL)
		return make_union(m, source, target, slot, ops);
	*ops = (avro_encode_op){
		.code = AVRO_ENCODE_NULLABLE, .slot = slot, .null_index = target->null_index, .index = 1 - target->null_index
	};
	return make_branch(m, source, target, slot, ops + 1) ? 2 : 0;
}

avro_encode_plan *
avro_encode_plan_create(const flow_host *host, const flow_schema *source, const flow_schema *target, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	avro_encode_plan *plan = (avro_encode_plan *)flow_new(host, sizeof(*plan));
	struct maker *m = (struct maker *)flow_new(host, sizeof(*m));
	if (plan == NULL || m == NULL) {
		host->release(plan);
		host->release(m);
		flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
		return NULL;
	}
	plan->memory.host = host;
	plan->target = schemas->retain(target);
	m->host = host;
	m->memory = &plan->memory;
	avro_encode_op *ops = (avro_encode_op *)avro_allocate(m->memory, 3 * sizeof(*ops));
	plan->program.ops = ops;
	int made = ops != NULL && make_value(m, source, target, 0, ops) != 0;
	if (made)
		settle_room(&plan->program);
	if (!made && m->reason[0] == '\0')
		flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	else if (!made)
		flow_fail(host, error, FLOW_E_ENCODE, "avro: %s%s%s", m->place, m->place_size == 0 ? "" : ": ", m->reason);
	host->release(m);
	if (made)
		return plan;
	avro_encode_plan_destroy(plan);
	return NULL;
}

void
avro_encode_plan_destroy(avro_encode_plan *plan)
{
	if (plan == NULL)
		return;
	const flow_host *host = plan->memory.host;
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	schemas->release(plan->target);
	avro_memory_release(&plan->memory);
	host->release(plan);
}
