/* The avro serde: any bytes as container files, with the file's schema and with readers', skipping damaged blocks, with small limits. */
#include "fuzz/serde_fuzz.h"

const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi);

#define VARIANT(back, ...)                                                                                             \
	{                                                                                                                  \
		(const char *const[]){ __VA_ARGS__, NULL }, back                                                               \
	}

static const serde_variant variants[] = {
	VARIANT(SERDE_FUZZ_BACK | SERDE_FUZZ_BLOCKS, "codec=null"),
	VARIANT(SERDE_FUZZ_BACK | SERDE_FUZZ_BLOCKS, "skip_bad_blocks=true"),
	VARIANT(SERDE_FUZZ_BACK | SERDE_FUZZ_BLOCKS, "codec=deflate", "depth_limit=5"),
	VARIANT(SERDE_FUZZ_BACK | SERDE_FUZZ_BLOCKS, "codec=snappy", "block_size=16"),
	VARIANT(SERDE_FUZZ_BLOCKS, "max_block=1KiB", "max_record=16", "skip_bad_blocks=true"),
	VARIANT(
		SERDE_FUZZ_BACK | SERDE_FUZZ_BLOCKS,
		"schema=\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"Line\\\",\\\"fields\\\":[{\\\"name\\\":\\\"text\\\","
		"\\\"type\\\":[\\\"null\\\",\\\"string\\\"],\\\"default\\\":null},{\\\"name\\\":\\\"n\\\",\\\"type\\\":"
		"\\\"double\\\","
		"\\\"default\\\":1}]}\"",
		"skip_bad_blocks=true"),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	serde_fuzz(FLOW_PLUGIN_ENTRY(FLOW_ABI)->components[0], variants, FLOW_COUNT(variants), data, size);
	return 0;
}
