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
#define BASIC_LINES 6 /* a record with one field */

#define BASIC_LF 0
#define BASIC_CRLF 1
#define BASIC_ANY 2 /* LF or CRLF */
#define BASIC_NUL 3

typedef struct basic_serde {
	const flow_host *host;
	const flow_schema *schema; /* of the values */
	const flow_schema *text;   /* of what stands in a line */
	uint64_t max_record;
	int kind;
	int line_end;
} basic_serde;

/* basic_lines.c: where a line ends that starts at `text`; its end is looked for in `size` bytes. 0: not there. Else *content is the
 * size of the line without its end, and the result the size with it. */
uint64_t basic_find_line_end(int line_end, const char *text, uint64_t size, uint64_t *content);
/* Would the text be read as one line? */
int basic_is_one_line(int line_end, flow_slice text);
flow_slice basic_line_end_text(int line_end);

flow_status basic_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder,
							   flow_error *error);
flow_status basic_decode(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error);
flow_status basic_decode_whole(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error);
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
