/* The protobuf serde: any bytes as a stream of messages of every type, of themselves, of proto2, and with small limits. */
#include "fuzz/serde_fuzz.h"

const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi);

#define VARIANT(back, ...)                                                                                             \
	{                                                                                                                  \
		(const char *const[]){ "descriptor_set=\"" SOURCE_FOLDER "/plugins/protobuf/tests/types.desc\"", __VA_ARGS__,  \
							   NULL },                                                                                 \
			back                                                                                                       \
	}

static const serde_variant variants[] = {
	VARIANT(1, "message=flow.test.All"),
	VARIANT(1, "message=flow.test.All", "enums=number", "timestamps=record", "unknown=error"),
	VARIANT(1, "message=flow.test.Inner", "depth_limit=5"),
	VARIANT(1, "message=flow.test.old.Old"),
	VARIANT(1, "message=flow.test.old.Old", "absent=default", "unknown=error"),
	VARIANT(0, "message=flow.test.Plain", "max_record=16"),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	serde_fuzz(FLOW_PLUGIN_ENTRY(FLOW_ABI)->components[0], variants, FLOW_COUNT(variants), data, size);
	return 0;
}
