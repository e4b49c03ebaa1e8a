/*
 * flow_sdk/decoder.h - what decoders of serdes have in common: fields that are wanted, rejections, state in checkpoints.
 *
 * Threads: as the calls of the decoder.
 */
#ifndef FLOW_SDK_DECODER_H
#define FLOW_SDK_DECODER_H

#include "flow/serde.h"
#include "flow_sdk/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One byte a field of the record, set for those of the request; *wanted NULL: all are. FLOW_E_MEMORY. The caller releases it. */
static inline flow_status
flow_wanted_fields(const flow_host *host, const flow_decoder_request *request, const flow_schema *schema,
				   uint8_t **wanted)
{
	*wanted = NULL;
	if (request->fields == NULL || schema->kind != FLOW_KIND_RECORD)
		return FLOW_OK;
	*wanted = (uint8_t *)flow_new(host, (uint64_t)schema->field_count + 1);
	if (*wanted == NULL)
		return FLOW_E_MEMORY;
	for (uint64_t i = 0; i < request->field_count; i++)
		if (request->fields[i] < schema->field_count)
			(*wanted)[request->fields[i]] = 1;
	return FLOW_OK;
}

/* `line` 0: it is no text. */
static inline flow_status
flow_reject(flow_builder *builder, flow_status status, const char *reason, flow_slice field, flow_slice raw,
			int64_t ordinal, uint64_t line)
{
	flow_rejection rejection = {
		FLOW_SIZEOF(flow_rejection), status, flow_slice_of(reason), field, raw, ordinal, line
	};
	return builder->ops->reject(builder, &rejection);
}

/* Copies what was saved into a state of `size` bytes whose first four are `version`. */
static inline flow_status
flow_restore_state(const flow_host *host, flow_slice saved, void *state, uint64_t size, uint32_t version,
				   const char *serde, flow_error *error)
{
	uint32_t found = 0;
	if (saved.size == size)
		memcpy(&found, saved.data, sizeof(found));
	if (found != version)
		return flow_fail(host, error, FLOW_E_CORRUPT, "%s: the saved state is of another version", serde);
	memcpy(state, saved.data, size);
	return FLOW_OK;
}

#ifdef __cplusplus
}
#endif
#endif
