/* Any bytes as a row of a local table (flow_sdk/row.h): read or refused; what is read writes and reads back equal. */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/batch.h"
#include "base/value.h"
#include "flow_sdk/row.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	batch_pool *pool = batch_pool_create(0);
	flow_builder *memory = builder_create(pool, 1, 0);
	char *bytes = malloc(size + 1);
	flow_value row, again;
	if (size != 0)
		memcpy(bytes, data, size);
	if (flow_row_read(flow_slice_make(bytes, size), memory, &row) == FLOW_OK) {
		uint64_t written = flow_row_size(&row);
		char *copy = malloc(written + 1);
		if (written == 0 || flow_row_write(&row, copy) != copy + written ||
			flow_row_read(flow_slice_make(copy, written), memory, &again) != FLOW_OK || !value_equal(&row, &again))
			abort();
		free(copy);
	}
	free(bytes);
	builder_destroy(memory);
	batch_pool_destroy(pool);
	return 0;
}
