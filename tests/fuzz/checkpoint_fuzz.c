/* Any bytes as a checkpoint file and as a checkpoint record, with the checksums made right so that the search gets
 * behind them: decoded or refused; what is decoded encodes to the same bytes, but for those of older formats. */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/batch.h"
#include "base/checksum.h"
#include "base/error.h"
#include "state/checkpoint.h"
#include "state/checkpoint_file.h"

static void
decode(flow_slice bytes)
{
	flow_error error = { 0 };
	const checkpoint *record = NULL;
	arena *memory = arena_create();
	if (checkpoint_decode(bytes, memory, &record, &error) == FLOW_OK) {
		flow_buffer *buffer = buffer_create();
		if (checkpoint_encode(record, buffer) != FLOW_OK)
			abort();
		int same_format = memcmp(buffer->data + 4, bytes.data + 4, 4) == 0;
		if (same_format && (buffer->size != bytes.size || memcmp(buffer->data, bytes.data, bytes.size) != 0))
			abort();
		buffer_destroy(buffer);
	}
	error_clear(&error);
	arena_destroy(memory);
}

/* The file's records, each with its own checksum mended. */
static void
split(char *bytes, size_t size)
{
	flow_error error = { 0 };
	flow_slice applied, pending;
	if (checkpoint_file_split("CHECKPOINT", flow_slice_make(bytes, size), &applied, &pending, &error) == FLOW_OK) {
		decode(applied);
		decode(pending);
	}
	error_clear(&error);
}

static void
mend(char *bytes, size_t size)
{
	if (size >= 4)
		checkpoint_put_number(bytes + size - 4, checksum_crc32c(0, bytes, size - 4), 4);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = malloc(size + 1);
	if (size != 0)
		memcpy(bytes, data, size);
	decode(flow_slice_make(bytes, size));
	split(bytes, size);
	mend(bytes, size);
	decode(flow_slice_make(bytes, size));
	split(bytes, size);
	free(bytes);
	return 0;
}
