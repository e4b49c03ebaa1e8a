/* The csv serde: any bytes as a file, with and without header, types, null texts, escapes and a small limit. */
#include "fuzz/serde_fuzz.h"

const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi);

#define VARIANT(back, ...)                                                                                             \
	{                                                                                                                  \
		(const char *const[]){ __VA_ARGS__, NULL }, back                                                               \
	}

static const serde_variant variants[] = {
	VARIANT(1, "header=true"),
	VARIANT(1, "header=true", "null_token=[\"\", \"NA\"]", "comment=\"#\"", "delimiter=\";\""),
	VARIANT(1, "header=false", "null_token=NA", "fields.a=int64?", "fields.b=float64?", "fields.c=string?"),
	VARIANT(1, "header=false", "fields.a=decimal", "fields.b=timestamp", "fields.c=bool"),
	VARIANT(1, "header=false", "fields.a=bytes", "escape=\"\\\\\"", "quote=\"'\""),
	VARIANT(0, "header=false", "fields.a=string", "fields.b=uuid", "fields.c=\"enum(a,b)\"", "max_record=16"),
	VARIANT(0, "header=true", "max_record=16", "null_token=\"\"", "escape=\"\\\\\""),
	VARIANT(1, "infer=exact"),
	VARIANT(1, "infer=float", "decimal_mark=\",\"", "thousands=.", "delimiter=\";\"", "null_token=NA", "comment=\"#\""),
	VARIANT(1, "header=false", "fields.a=decimal?", "fields.b=float64?", "fields.c=int32?", "decimal_mark=\",\"",
			"thousands=\" \"", "null_token=\"\"", "delimiter=\"|\""),
	VARIANT(1, "header=false", "fields.a=string?", "fields.b=string?", "quote=\"\"", "escape=\"\\\\\"",
			"null_token=\"\\\\N\"", "delimiter=\"\\t\""),
	VARIANT(1, "fields.a=int64?", "fields.b=string?", "extra=ignore", "missing=null", "short_rows=null",
			"long_rows=ignore", "null_token=\"\"", "rename.a=A"),
	VARIANT(1, "header=false", "fields.a=string?", "fields.b=string?", "quote=\"\"", "escapes=c", "delimiter=\"\\\\t\""),
	VARIANT(1, "header=true", "trim=true", "escapes=c", "comment=\"#\""),
	VARIANT(0, "header=false", "fields.a=string", "fields.b=bytes", "trim=true", "max_record=16", "escape=\"\\\\\""),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	serde_fuzz(FLOW_PLUGIN_ENTRY(FLOW_ABI)->components[0], variants, FLOW_COUNT(variants), data, size);
	return 0;
}
