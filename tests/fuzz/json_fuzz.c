/* The json serde: any bytes as lines, without types and with many, the last of equal keys, and small limits. */
#include "fuzz/serde_fuzz.h"

const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi);

#define VARIANT(back, ...)                                                                                             \
	{                                                                                                                  \
		(const char *const[]){ __VA_ARGS__, NULL }, back                                                               \
	}

static const serde_variant variants[] = {
	VARIANT(1, "duplicates=error"),
	VARIANT(1, "duplicates=last", "decimals=string"),
	VARIANT(1, "fields.a=int64?", "fields.b=string?", "fields.c=list<float64>?",
			"fields.d=\"record(x:int32?,y:map<any>?)?\"", "nan=string"),
	VARIANT(1, "fields.a=decimal(9,2)?", "fields.b=timestamp?", "fields.c=bytes?", "fields.d=uuid?", "fields.e=bool?"),
	VARIANT(0, "depth_limit=3", "max_record=16"),
	VARIANT(1, "schema=\"[\\\"null\\\",\\\"long\\\",\\\"string\\\",{\\\"type\\\":\\\"array\\\",\\\"items\\\":"
			   "\\\"double\\\"}]\""),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	serde_fuzz(FLOW_PLUGIN_ENTRY(FLOW_ABI)->components[0], variants, FLOW_COUNT(variants), data, size);
	return 0;
}
