/*
 * Serdes of log files: what their parts share. Each line of a stream, or each record, is a text; logfmt and regex differ in what they
 * take out of it.
 *
 * Ownership: a logs_serde belongs to the host (open, close); decoders and encoders point into it. Threads: as flow/serde.h says.
 */
#ifndef LOGS_H
#define LOGS_H

#include "flow/flow.h"
#include "flow_sdk/map.h"

typedef struct logs_serde logs_serde;
typedef struct logs_reader logs_reader; /* what a form keeps in each decoder */

/* Why a line was refused. `field` points into the line or the schema. */
typedef struct logs_fault {
	flow_status status;
	flow_slice field;
	char reason[240];
} logs_fault;

/* One of the two serdes. */
typedef struct logs_form {
	const char *name;
	int skips_blank; /* lines without text are no records */
	flow_status (*reader_open)(const logs_serde *s, const uint8_t *wanted, logs_reader **reader);
	void (*reader_close)(logs_reader *reader); /* NULL is allowed */
	/* FLOW_E_MEMORY, or another failure that is told in *fault. The text stays where it is until the batch dies; it is UTF-8. */
	flow_status (*take)(logs_reader *reader, flow_slice text, flow_builder *builder, flow_value *value,
						logs_fault *fault);
	void (*close)(logs_serde *s); /* what the form opened; NULL-safe */
} logs_form;

struct logs_serde {
	const flow_host *host;
	const logs_form *form;
	const flow_schema *schema; /* what decoding gives */
	uint64_t max_record;
	void *own; /* the form's */
};

/* Fills a fault. Returns its status. */
flow_status logs_refuse(logs_fault *fault, flow_status status, flow_slice field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The text as a value of this type; a refusal names the field. */
flow_status logs_take_cell(const flow_host *host, const flow_schema *schema, flow_slice field, flow_slice text,
						   flow_builder *memory, flow_value *value, logs_fault *fault);

/* --- logs_lines.c: byte streams and records, for both forms ------------------------------------------------------------------- */

flow_status logs_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder,
							  flow_error *error);
flow_status logs_decode(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error);
flow_status logs_decode_rows(flow_decoder *decoder, const flow_batch *raw, uint32_t first, uint32_t *next,
							 flow_builder *builder, uint32_t *source_rows, flow_error *error);
flow_status logs_save(flow_decoder *decoder, flow_slice *state, flow_error *error);
flow_status logs_restore(flow_decoder *decoder, flow_slice state, flow_error *error);
void logs_decoder_close(flow_decoder *decoder);

/* --- logfmt_reader.c, logfmt_writer.c ------------------------------------------------------------------------------------------ */

typedef struct logfmt_options {
	flow_field_index *index; /* NULL: no fields are declared */
	int extra_is_error;
	int last_duplicate; /* of equal keys the last one counts */
} logfmt_options;

extern const logs_form logfmt_form;

flow_status logfmt_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error);
flow_status logfmt_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder,
								flow_error *error);
flow_status logfmt_encode(flow_encoder *encoder, const flow_batch *batch, int use_key, flow_buffer *buffer,
						  uint64_t *ends, flow_status *statuses, flow_error *error);
void logfmt_encoder_close(flow_encoder *encoder);
/* May this text stand before a '='? */
int logfmt_is_key(flow_slice text);

/* --- the regex serde: regex.h -------------------------------------------------------------------------------------------------- */

/* Compiles what the options say and makes s->schema and s->own. */
flow_status regex_open(logs_serde *s, const flow_options *from, flow_error *error);
extern const logs_form regex_form;

#endif
