/* Functions over all types: coalesce, nullif, greatest, least, typeof, cardinality, hash. */
#include "base/error.h"
#include "base/key.h"
#include "expr/function.h"

static int
type_unified(compiler *c, node *n)
{
	if (!unify_nodes(c, child_places(c, n, 0, 1), &n->type))
		return 0;
	int every = 1;
	for (uint32_t i = 0; i < n->child_count; i++)
		every &= n->children[i]->type.nullable;
	n->type.nullable = (uint8_t)every;
	return 1;
}

static int
type_ordered(compiler *c, node *n)
{
	if (!adapt_literals(c, child_places(c, n, 0, 1)))
		return 0;
	for (uint32_t i = 1; i < n->child_count; i++)
		if (!check_comparable(c, n->children[0], n->children[i], n->children[i]->column))
			return 0;
	n->index = n->function->parameter;
	return type_unified(c, n);
}

static int
type_nullif(compiler *c, node *n)
{
	if (!adapt_literals(c, child_places(c, n, 0, 1)) || !check_comparable(c, n->children[0], n->children[1], n->column))
		return 0;
	n->type = n->children[0]->type;
	n->type.nullable = 1;
	return 1;
}

static flow_status
typeof_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)f;
	(void)n;
	flow_slice name = flow_slice_of(cell_type_name(arguments[0]->type));
	*result = flow_string(name.data, (uint32_t)name.size);
	return FLOW_OK;
}

static flow_status
cardinality_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)f;
	(void)n;
	uint64_t count = arguments[0]->type == FLOW_LIST ? arguments[0]->as.list->count : arguments[0]->as.map->count;
	*result = flow_int64((int64_t)count);
	return FLOW_OK;
}

/* A flow_buffer over the builder's memory, for the canonical key. */
static flow_status
grow_over_builder(flow_buffer *buffer, uint64_t more)
{
	uint64_t capacity = 2 * (buffer->size + more) + 64;
	char *data = flow_builder_alloc(buffer->host, capacity);
	if (data == NULL)
		return FLOW_E_MEMORY;
	if (buffer->size != 0)
		memcpy(data, buffer->data, buffer->size);
	buffer->data = data;
	buffer->capacity = capacity;
	return FLOW_OK;
}

static flow_status
hash_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)n;
	char small[256];
	flow_buffer buffer = { .struct_size = FLOW_SIZEOF(flow_buffer), .data = small, .capacity = sizeof(small) };
	buffer.grow = grow_over_builder;
	buffer.host = f->memory;
	flow_status status = key_encode(arguments[0], &buffer);
	if (status != FLOW_OK)
		return row_fail(f, status, "%s has no canonical form", cell_type_name(arguments[0]->type));
	*result = flow_int64((int64_t)key_hash(flow_slice_make(buffer.data, buffer.size)));
	return FLOW_OK;
}

const function general_functions[] = {
	{ .name = "coalesce",
	  .group = "Values of any type",
	  .signature = "coalesce(x, ...)",
	  .doc = "The first argument that is not null. Later ones are not evaluated.",
	  .example = "coalesce(null, 2, 3) = 2",
	  .classes = "a",
	  .minimum = 1,
	  .maximum = ARGUMENT_LIMIT,
	  .type = type_unified,
	  .evaluate = coalesce_kernel },
	{ .name = "nullif",
	  .group = "Values of any type",
	  .signature = "nullif(x, y)",
	  .doc = "Null if x = y, else x.",
	  .example = "nullif('NA', 'NA') = null",
	  .classes = "aa",
	  .minimum = 2,
	  .maximum = 2,
	  .type = type_nullif,
	  .evaluate = nullif_kernel },
	{ .name = "greatest",
	  .group = "Values of any type",
	  .signature = "greatest(x, ...)",
	  .doc = "The largest argument; nulls are left out.",
	  .example = "greatest(1, null, 2.5) = 2.5",
	  .classes = "a",
	  .minimum = 1,
	  .maximum = ARGUMENT_LIMIT,
	  .parameter = 1,
	  .type = type_ordered,
	  .evaluate = extreme_kernel },
	{ .name = "least",
	  .group = "Values of any type",
	  .signature = "least(x, ...)",
	  .doc = "The smallest argument; nulls are left out.",
	  .example = "least(3, 1, 2) = 1",
	  .classes = "a",
	  .minimum = 1,
	  .maximum = ARGUMENT_LIMIT,
	  .parameter = 0,
	  .type = type_ordered,
	  .evaluate = extreme_kernel },
	{ .name = "typeof",
	  .group = "Values of any type",
	  .signature = "typeof(x) -> string",
	  .doc =
		  "The type that the value itself has: null, bool, int64, uint64, float64, decimal, string, bytes, date, time, "
		  "timestamp, uuid, list, map or record. For fields of kind any.",
	  .example = "typeof(1.5) = 'decimal'",
	  .classes = "a",
	  .minimum = 1,
	  .maximum = 1,
	  .result = FLOW_KIND_STRING,
	  .takes_null = 1,
	  .row = typeof_row },
	{ .name = "cardinality",
	  .group = "Values of any type",
	  .signature = "cardinality(list or map) -> int64",
	  .doc = "Number of items of a list, of entries of a map.",
	  .example = "cardinality(null) = null",
	  .classes = "c",
	  .minimum = 1,
	  .maximum = 1,
	  .result = FLOW_KIND_INT64,
	  .row = cardinality_row },
	{ .name = "hash",
	  .group = "Values of any type",
	  .signature = "hash(x) -> int64",
	  .doc = "64-bit hash of the canonical key of x (the one that records are partitioned by), as a signed integer. It "
			 "never "
			 "changes between versions. Equal keys have equal hashes: 5 and 5.0 too. Null gives null; maps fail.",
	  .example = "hash(5) = hash(5.0)",
	  .classes = "a",
	  .minimum = 1,
	  .maximum = 1,
	  .result = FLOW_KIND_INT64,
	  .row = hash_row },
	{ .name = NULL },
};
