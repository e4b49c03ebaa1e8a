#include "support/keyed_batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/key.h"
#include "base/schema.h"
#include "base/value.h"

flow_batch *
keyed_batch(batch_pool *pool, const flow_schema *key_schema, const flow_value *keys, uint32_t count)
{
	flow_builder *builder = builder_create(pool, count == 0 ? 1 : count, 0);
	assert_non_null(builder);
	assert_int_equal(builder->ops->add_columns(builder, FLOW_COLUMN_KEY), FLOW_OK);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = flow_builder_add(builder, flow_null());
		assert_int_equal(value_copy(builder, &keys[i], &builder->key[row]), FLOW_OK);
	}
	batch_head head = { .schema = schema_of_kind(FLOW_KIND_NULL, 1), .key_schema = key_schema };
	flow_batch *batch = builder_finish(builder, &head);
	assert_non_null(batch);
	uint64_t *hashes = NULL;
	flow_slice *bytes = NULL;
	assert_int_equal(key_columns(batch, builder, &hashes, &bytes), FLOW_OK);
	assert_int_equal(batch_set_key_columns(batch, builder, hashes, bytes), FLOW_OK);
	builder_destroy(builder);
	return batch;
}
