/*
 * The protobuf serde: what its parts share.
 *
 * Ownership: a proto_serde belongs to the host (open, close); decoders and encoders point into it. Threads: as flow/serde.h says.
 */
#ifndef PROTOBUF_SERDE_H
#define PROTOBUF_SERDE_H

#include "flow/flow.h"
#include "flow_sdk/pointer.h"
#include "protobuf_shim.h"

#define PROTO_SET_MAX (32u << 20) /* bytes of a descriptor set */
#define PROTO_REASON_MAX 240

/* Values that protobuf has no type for. */
#define PROTO_WITHOUT_TYPE_ERROR 0
#define PROTO_WITHOUT_TYPE_STRING 1
#define PROTO_WITHOUT_TYPE_NULL 2

typedef struct proto_format {
	uint64_t max_record;
	int depth_limit;
	int unknown_is_error;
	int enums_as_numbers;
	int timestamps_as_records;
	uint8_t timestamp_unit;
	int absent_is_default;
	int null_is_default;
	int without_type;
} proto_format;

/* --- protobuf_type.c: messages as they are read and written -------------------------------------------------------------------- */

typedef struct proto_node proto_node;

/* A number of an enum and the first symbol that has it. */
typedef struct proto_number {
	int32_t number;
	uint32_t symbol;
} proto_number;

typedef struct proto_slot {
	proto_field field;
	proto_field key;           /* maps: of their entries */
	proto_field value;         /* maps: likewise; else the same as field */
	proto_node *node;          /* messages: of value */
	const flow_slice *symbols; /* enums: as the schema has them */
	proto_number *numbers;     /* enums: ascending */
	uint32_t number_count;
	uint32_t nullable; /* null where it is not there */
} proto_slot;

struct proto_node {
	const proto_type *type;
	const flow_schema *schema; /* in s->schema */
	uint32_t field_count;
	uint32_t is_timestamp; /* a google.protobuf.Timestamp that is read as a timestamp */
	proto_field seconds;   /* of a timestamp; likewise: */
	proto_field nanoseconds;
	proto_slot *slots;
	proto_node *next; /* all nodes of a tree */
};

typedef struct proto_serde {
	const flow_host *host;
	proto_format format;
	proto_set *set;
	const proto_type *type;
	const flow_schema *schema; /* what decoding gives */
	proto_node *nodes;         /* the first one is that of `type` */
} proto_serde;

/* Makes s->schema and s->nodes of s->type. */
flow_status proto_make_types(proto_serde *s, flow_error *error);
void proto_release_types(proto_serde *s);
/* Index of the field with that name, or -1. */
int32_t proto_find_slot(const proto_node *node, flow_slice name);
/* The symbol of a number, or -1; and the number of a symbol: 0 if there is none. */
int64_t proto_symbol_of(const proto_slot *slot, int64_t number);
int proto_number_of(const proto_slot *slot, flow_slice symbol, int64_t *number);

static inline flow_slice
proto_slice(proto_text text)
{
	return flow_slice_make(text.data, text.size);
}

/* --- protobuf_values.c: messages -> cells ---------------------------------------------------------------------------------------- */

typedef struct proto_decoding {
	const proto_serde *serde;
	const uint8_t *wanted; /* one byte a field of the message, or NULL: all */
	flow_builder *builder;
	flow_pointer path; /* of the fault */
	char reason[PROTO_REASON_MAX];
} proto_decoding;

/* A message that was parsed. FLOW_E_MEMORY, or another failure that is told in reason and path. */
flow_status proto_take_message(proto_decoding *d, const proto_message *message, flow_value *value);

/* --- protobuf_decoder.c, protobuf_plan.c, protobuf_encoder.c ------------------------------------------------------------------ */

flow_status proto_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder,
							   flow_error *error);
flow_status proto_decode(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error);
flow_status proto_decode_rows(flow_decoder *decoder, const flow_batch *raw, uint32_t first, uint32_t *next,
							  flow_builder *builder, uint32_t *source_rows, flow_error *error);
flow_status proto_save(flow_decoder *decoder, flow_slice *state, flow_error *error);
flow_status proto_restore(flow_decoder *decoder, flow_slice state, flow_error *error);
void proto_decoder_close(flow_decoder *decoder);

/* What is written of a record: which of its fields go where. */
typedef struct proto_plan proto_plan;

typedef struct proto_put_field {
	const proto_slot *slot;
	const flow_schema *schema;
	uint32_t index;         /* of the cell */
	const proto_plan *plan; /* messages: of what is in it */
} proto_put_field;

struct proto_plan {
	const proto_node *node;
	const flow_schema *schema;
	uint32_t field_count;
	proto_put_field *fields;
	proto_plan *next; /* all plans of an encoder */
};

/* NULL: the error names the field and what is wrong with it. The list is released with its first, which is that of the schema. */
proto_plan *proto_plan_create(const proto_serde *s, const flow_schema *schema, flow_error *error);
void proto_plan_release(const flow_host *host, proto_plan *first);

flow_status proto_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error);
flow_status proto_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error);
flow_status proto_encode(flow_encoder *encoder, const flow_batch *batch, int use_key, flow_buffer *buffer,
						 uint64_t *ends, flow_status *statuses, flow_error *error);
void proto_encoder_close(flow_encoder *encoder);

#endif
