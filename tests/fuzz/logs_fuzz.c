/* The serdes of the logs plugin: any bytes as lines of key=value pairs, and as lines that patterns take apart. */
#include "fuzz/serde_fuzz.h"

const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi);

#define VARIANT(back, ...)                                                                                             \
	{                                                                                                                  \
		(const char *const[]){ __VA_ARGS__, NULL }, back                                                               \
	}

static const serde_variant logfmt_variants[] = {
	VARIANT(1, "duplicates=error"),
	VARIANT(1, "duplicates=last"),
	VARIANT(1, "fields.a=int64?", "fields.b=string?", "fields.c=bool?", "fields.d=decimal(9,2)?"),
	VARIANT(1, "duplicates=last", "fields.a=string", "fields.b=timestamp?", "fields.c=uuid?", "extra=error"),
	VARIANT(0, "max_record=16"),
};

static const serde_variant regex_variants[] = {
	VARIANT(0, "pattern=\"%{COMBINEDAPACHELOG}\"", "fields.bytes=int64?", "fields.timestamp=timestamp?",
			"times.timestamp=\"%d/%b/%Y:%H:%M:%S %z\"", "unmatched=raw"),
	VARIANT(0, "pattern=\"%{SYSLOGLINE}\"", "unmatched=null", "match=anywhere"),
	VARIANT(0, "pattern=\"(?<a>(?:x+x+)+)(?<b>.*)\"", "match_limit=1000", "max_record=64"),
	VARIANT(0, "pattern=\"(?<a>.*) (?<b>.*)\"", "fields.a=timestamp(ns)", "times.a=\"%a %b %d %y %I:%M:%S.%f %p %z\"",
			"fields.b=\"time(ms)\"", "times.b=\"%H:%M\""),
	VARIANT(0, "pattern=\"%{SYSLOG5424LINE}|%{URI:u}|%{IP:ip}|%{PATH:p}\""),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const flow_component *const *components = FLOW_PLUGIN_ENTRY(FLOW_ABI)->components;
	if (size != 0 && data[0] < 128)
		serde_fuzz(components[0], logfmt_variants, FLOW_COUNT(logfmt_variants), data, size);
	else
		serde_fuzz(components[1], regex_variants, FLOW_COUNT(regex_variants), data, size);
	return 0;
}
