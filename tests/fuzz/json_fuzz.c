/* The json serde: any bytes as lines, arrays and documents, without types and with many, in Avro's encoding, the last of equal keys, and small limits. */
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
	VARIANT(1, "framing=array"),
	VARIANT(1, "framing=documents", "pretty=true", "duplicates=last"),
	VARIANT(0, "framing=array", "max_record=16", "depth_limit=4"),
	VARIANT(0, "framing=documents", "max_record=16"),
	VARIANT(1, "fields.a=int64", "fields.b=\"record(x:int64?)?\"", "extra=keep", "nulls=default"),
	VARIANT(1, "missing=error", "fields.a=int64?", "fields.b=string?"),
	VARIANT(1, "encoding=avro", "nan=string", "fields.a=int64?", "fields.b=bytes?", "fields.c=decimal(9,2)?",
			"fields.d=timestamp?", "fields.e=list<uuid?>?"),
	VARIANT(1, "encoding=avro", "nan=string", "framing=array",
			"schema=\"[\\\"null\\\",\\\"long\\\",\\\"string\\\",\\\"bytes\\\",{\\\"type\\\":\\\"map\\\",\\\"values\\\":"
			"\\\"double\\\"}]\""),
	VARIANT(0, "framing=auto"), /* a list that is written first is read as an array of records */
	VARIANT(0, "framing=auto", "max_record=16", "infer=exact"),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	serde_fuzz(FLOW_PLUGIN_ENTRY(FLOW_ABI)->components[0], variants, FLOW_COUNT(variants), data, size);
	return 0;
}
