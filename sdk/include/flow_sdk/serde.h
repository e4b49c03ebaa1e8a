/*
 * flow_sdk/serde.h - what the options of serdes have in common: limits, choices, and the declared type.
 *
 * Threads: [main]; nothing here keeps state.
 */
#ifndef FLOW_SDK_SERDE_H
#define FLOW_SDK_SERDE_H

#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The option max_record, as the value of a flow_option. */
#define FLOW_OPTION_MAX_RECORD(default_size, text)                                                                     \
	{                                                                                                                  \
		.struct_size = FLOW_SIZEOF(flow_option), .type = FLOW_OPTION_SIZE, .name = "max_record",                       \
		.default_text = default_size, .minimum = "16", .maximum = "512MiB", .doc = text                                \
	}

/* The option depth_limit. */
#define FLOW_OPTION_DEPTH_LIMIT(default_depth, text)                                                                   \
	{                                                                                                                  \
		.struct_size = FLOW_SIZEOF(flow_option), .type = FLOW_OPTION_INT, .name = "depth_limit",                       \
		.default_text = default_depth, .minimum = "1", .maximum = "1000", .doc = text                                  \
	}

/* Has the option this value? */
static inline int
flow_option_is(const flow_options *options, const char *name, const char *value)
{
	return flow_slice_is(flow_option_text(options, name), value);
}

/* The index of what was chosen among the choices of an option; 0: nothing was. */
static inline int
flow_option_choice(const flow_options *options, const flow_option *option)
{
	flow_slice chosen = flow_option_text(options, option->name);
	for (int i = 0; option->choices[i] != NULL; i++) {
		uint64_t size = 0;
		while (option->choices[i][size] != '\0' && option->choices[i][size] != '\t')
			size++;
		if (flow_slice_equal(chosen, flow_slice_make(option->choices[i], size)))
			return i;
	}
	return 0;
}

/* The type that the options `fields` (a record) or `schema` (Avro schema JSON) declare; *schema NULL: none of them is given. Owned by the
 * caller. FLOW_E_CONFIG: both are, or what is given is no type. */
static inline flow_status
flow_declared_type(const flow_host *host, const flow_options *options, const flow_schema **schema, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_option_value *fields = flow_option_get(options, "fields");
	flow_slice text = flow_option_text(options, "schema");
	int has_fields = fields != NULL && fields->entry_count != 0;
	*schema = NULL;
	if (has_fields && text.data != NULL)
		return flow_fail(host, error, FLOW_E_CONFIG, "fields and schema say the same thing; give one of them");
	if (has_fields)
		*schema = flow_fields_record(host, fields, error);
	else if (text.data != NULL)
		*schema = schemas->parse_json(text, error);
	else
		return FLOW_OK;
	return *schema != NULL ? FLOW_OK : FLOW_E_CONFIG;
}

#ifdef __cplusplus
}
#endif
#endif
