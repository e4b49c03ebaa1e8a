/* A schema -> the program that skips its values. Records are made once; small ones are copied into the lists that hold them. */
#include "avro_skip.h"

#define INLINE_OPS 12

struct avro_skip_record {
	struct avro_skip_record *next;
	const void *identity; /* copies of a record type share their fields */
	avro_skip *program;
};

static avro_skip_op *
add_op(avro_skip_maker *maker, avro_skip_list *list, uint8_t code)
{
	if (list->count == list->capacity) {
		uint32_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;
		avro_skip_op *ops = (avro_skip_op *)avro_allocate(maker->memory, capacity * sizeof(*ops));
		if (ops == NULL)
			return NULL;
		if (list->count != 0)
			memcpy(ops, list->ops, list->count * sizeof(*ops));
		list->ops = ops;
		list->capacity = capacity;
	}
	avro_skip_op *op = &list->ops[list->count++];
	*op = (avro_skip_op){ .code = code };
	return op;
}

/* Neighbours become one operation; not across the end of a nullable's value, which `fixed_before` marks. */
static int
add_plain(avro_skip_maker *maker, avro_skip_list *list, uint8_t code, uint64_t amount)
{
	if (amount == 0)
		return 1;
	avro_skip_op *last = list->count == 0 ? NULL : &list->ops[list->count - 1];
	int joins = last != NULL && last->code == code && code != AVRO_SKIP_TEXT && !last->reserved;
	avro_skip_op *op = joins ? last : add_op(maker, list, code);
	if (op == NULL)
		return 0;
	if (code == AVRO_SKIP_BYTES)
		op->size += amount;
	else
		op->count += (uint32_t)amount;
	return 1;
}

static uint64_t
least_bytes(const avro_skip_op *ops, uint32_t count)
{
	uint64_t least = 0;
	for (uint32_t i = 0; i < count && least < (uint64_t)1 << 40; i++) {
		const avro_skip_op *op = &ops[i];
		if (op->code == AVRO_SKIP_VARINTS)
			least += op->count;
		else if (op->code == AVRO_SKIP_BYTES)
			least += op->size;
		else if (op->code == AVRO_SKIP_CALL)
			least += op->program->least; /* 0 while it is being made */
		else
			least += 1;
		if (op->code == AVRO_SKIP_NULLABLE)
			i += op->count;
	}
	return least;
}

avro_skip *
avro_skip_finish(avro_skip_maker *maker, avro_skip_list *list, avro_skip *program)
{
	uint32_t count = list->count;
	if (add_op(maker, list, AVRO_SKIP_END) == NULL)
		return NULL;
	if (program == NULL)
		program = (avro_skip *)avro_allocate(maker->memory, sizeof(*program));
	if (program == NULL)
		return NULL;
	*program = (avro_skip){
		.ops = list->ops, .count = count, .complete = 1, .plain = 1, .least = least_bytes(list->ops, count)
	};
	for (uint32_t i = count; i-- != 0;) {
		avro_skip_op *op = &list->ops[i];
		int flat = op->code == AVRO_SKIP_FLAT_ARRAY || op->code == AVRO_SKIP_FLAT_MAP;
		program->plain &= op->code <= AVRO_SKIP_FLAT_MAP;
		if (flat)
			op->size = program->reach;
		else
			program->reach += op->size + (op->code == AVRO_SKIP_VARINTS ? (uint64_t)op->count * 10 : 66);
	}
	return program;
}

static avro_skip *
record_program(avro_skip_maker *maker, const flow_schema *schema)
{
	const void *identity = schema->field_count != 0 ? (const void *)schema->fields : (const void *)schema;
	for (struct avro_skip_record *r = maker->records; r != NULL; r = r->next)
		if (r->identity == identity)
			return r->program;
	struct avro_skip_record *record = (struct avro_skip_record *)avro_allocate(maker->memory, sizeof(*record));
	avro_skip *program = (avro_skip *)avro_allocate(maker->memory, sizeof(*program));
	if (record == NULL || program == NULL)
		return NULL;
	*record = (struct avro_skip_record){ maker->records, identity, program };
	maker->records = record;
	avro_skip_list list = { 0 };
	for (uint32_t i = 0; i < schema->field_count; i++)
		if (!avro_skip_append(maker, &list, schema->fields[i]->schema, 0))
			return NULL;
	return avro_skip_finish(maker, &list, program);
}

static int
append_record(avro_skip_maker *maker, avro_skip_list *list, const flow_schema *schema)
{
	avro_skip *program = record_program(maker, schema);
	if (program == NULL)
		return 0;
	if (program->complete && program->count <= INLINE_OPS) {
		for (uint32_t i = 0; i < program->count; i++) {
			avro_skip_op *op = add_op(maker, list, 0);
			if (op == NULL)
				return 0;
			*op = program->ops[i];
		}
		return 1;
	}
	avro_skip_op *op = add_op(maker, list, AVRO_SKIP_CALL);
	if (op != NULL)
		op->program = program;
	return op != NULL;
}

static int
append_nullable(avro_skip_maker *maker, avro_skip_list *list, const flow_schema *schema)
{
	avro_skip_op *op = add_op(maker, list, AVRO_SKIP_NULLABLE);
	if (op == NULL)
		return 0;
	op->null_index = (uint8_t)schema->null_index;
	op->reserved = 1;
	uint32_t at = list->count;
	if (!avro_skip_append(maker, list, schema, 1))
		return 0;
	avro_skip_op *value = &list->ops[at];
	if (list->count == at + 1 &&
		(value->code == AVRO_SKIP_TEXT || (value->code == AVRO_SKIP_VARINTS && value->count == 1))) {
		list->ops[at - 1].code = value->code == AVRO_SKIP_TEXT ? AVRO_SKIP_NULLABLE_TEXT : AVRO_SKIP_NULLABLE_VARINT;
		list->count--;
		return 1;
	}
	list->ops[at - 1].count = list->count - at;
	if (list->count != at)
		list->ops[list->count - 1].reserved = 1; /* nothing joins what is only there with the value */
	return 1;
}

static int
append_union(avro_skip_maker *maker, avro_skip_list *list, const flow_schema *schema)
{
	uint32_t count = avro_branch_count(schema);
	const avro_skip **branches = (const avro_skip **)avro_allocate(maker->memory, count * sizeof(*branches) + 1);
	avro_skip_op *op = add_op(maker, list, AVRO_SKIP_UNION);
	if (op == NULL || branches == NULL)
		return 0;
	op->count = count;
	op->branches = branches;
	for (uint32_t i = 0; i < count; i++) {
		uint8_t cell_branch;
		const flow_schema *branch = avro_branch(schema, i, &cell_branch);
		avro_skip_list part = { 0 };
		if (branch != NULL && !avro_skip_append(maker, &part, branch, 1))
			return 0;
		branches[i] = avro_skip_finish(maker, &part, NULL);
		if (branches[i] == NULL)
			return 0;
	}
	return 1;
}

static int
append_items(avro_skip_maker *maker, avro_skip_list *list, uint8_t code, const flow_schema *element)
{
	const avro_skip *items = avro_skip_create(maker, element);
	avro_skip_op *op = items == NULL ? NULL : add_op(maker, list, code);
	if (op == NULL)
		return 0;
	op->program = items;
	if (items->complete && items->plain)
		op->code = code == AVRO_SKIP_MAP ? AVRO_SKIP_FLAT_MAP : AVRO_SKIP_FLAT_ARRAY;
	return 1;
}

int
avro_skip_append(avro_skip_maker *maker, avro_skip_list *list, const flow_schema *schema, int branch)
{
	switch (avro_type_of(schema, branch)) {
	case AVRO_NULL:
		return 1;
	case AVRO_BOOLEAN:
		return add_plain(maker, list, AVRO_SKIP_BYTES, 1);
	case AVRO_INT:
	case AVRO_LONG:
	case AVRO_ENUM:
		return add_plain(maker, list, AVRO_SKIP_VARINTS, 1);
	case AVRO_FLOAT:
		return add_plain(maker, list, AVRO_SKIP_BYTES, 4);
	case AVRO_DOUBLE:
		return add_plain(maker, list, AVRO_SKIP_BYTES, 8);
	case AVRO_FIXED:
		return add_plain(maker, list, AVRO_SKIP_BYTES, schema->fixed_size);
	case AVRO_ARRAY:
		return append_items(maker, list, AVRO_SKIP_ARRAY, schema->element);
	case AVRO_MAP:
		return append_items(maker, list, AVRO_SKIP_MAP, schema->element);
	case AVRO_RECORD:
		return append_record(maker, list, schema);
	case AVRO_UNION:
		return schema->kind == FLOW_KIND_UNION ? append_union(maker, list, schema)
											   : append_nullable(maker, list, schema);
	default:
		return add_plain(maker, list, AVRO_SKIP_TEXT, 1);
	}
}

const avro_skip *
avro_skip_create(avro_skip_maker *maker, const flow_schema *schema)
{
	if (avro_type_of(schema, 0) == AVRO_RECORD)
		return record_program(maker, schema);
	avro_skip_list list = { 0 };
	return avro_skip_append(maker, &list, schema, 0) ? avro_skip_finish(maker, &list, NULL) : NULL;
}
