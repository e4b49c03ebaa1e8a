/* The msgpack serde: any bytes as objects, without types and with many, as arrays, and with small limits. */
#include "fuzz/serde_fuzz.h"

const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi);

#define VARIANT(back, ...)                                                                                             \
	{                                                                                                                  \
		(const char *const[]){ __VA_ARGS__, NULL }, back                                                               \
	}

static const serde_variant variants[] = {
	VARIANT(1, "records=map"),
	VARIANT(0, "extensions=bytes", "depth_limit=3", "max_record=16"),
	VARIANT(1, "fields.a=int64?", "fields.b=string?", "fields.c=list<float64>?",
			"fields.d=\"record(x:int32?,y:map<any>?)?\""),
	VARIANT(1, "records=array", "fields.a=uint64?", "fields.b=timestamp(ns)?", "fields.c=bytes?", "fields.d=bool?",
			"fields.e=float32?"),
	VARIANT(1, "without_type=string", "fields.a=decimal(9,2)?", "fields.b=uuid?", "fields.c=date?",
			"fields.d=local_timestamp?"),
	VARIANT(1, "schema=\"[\\\"null\\\",\\\"long\\\",\\\"string\\\",{\\\"type\\\":\\\"array\\\",\\\"items\\\":"
			   "\\\"double\\\"}]\""),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	serde_fuzz(FLOW_PLUGIN_ENTRY(FLOW_ABI)->components[0], variants, FLOW_COUNT(variants), data, size);
	return 0;
}
