/*
 * The serdes of single values: what their parts share. One set of functions serves all of them; only `open` knows which one it is.
 *
 * Ownership: a basic_serde belongs to the host (open, close). Threads: as flow/serde.h says.
 */
#ifndef BASIC_H
#define BASIC_H

#include "flow/flow.h"

#define BASIC_BYTES 0
#define BASIC_STRING 1
#define BASIC_INT32 2
#define BASIC_INT64 3
#define BASIC_FLOAT64 4
#define BASIC_UUID 5
#define BASIC_LINES 6 /* a record with one field, "text" */

typedef struct basic_serde {
	const flow_host *host;
	const flow_schema *schema; /* of the values */
	const flow_schema *text;   /* of what stands in a line */
	uint64_t max_record;
	int kind;
} basic_serde;

flow_status basic_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder,
							   flow_error *error);
flow_status basic_decode(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error);
flow_status basic_decode_rows(flow_decoder *decoder, const flow_batch *raw, uint32_t first, uint32_t *next,
							  flow_builder *builder, uint32_t *source_rows, flow_error *error);
flow_status basic_save(flow_decoder *decoder, flow_slice *state, flow_error *error);
flow_status basic_restore(flow_decoder *decoder, flow_slice state, flow_error *error);
void basic_decoder_close(flow_decoder *decoder);

flow_status basic_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error);
flow_status basic_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error);
flow_status basic_encode(flow_encoder *encoder, const flow_batch *batch, int use_key, flow_buffer *buffer,
						 uint64_t *ends, flow_status *statuses, flow_error *error);
void basic_encoder_close(flow_encoder *encoder);

#endif
