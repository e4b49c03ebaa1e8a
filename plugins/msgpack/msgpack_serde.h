/*
 * The msgpack serde: what its parts share.
 *
 * Ownership: a pack_serde belongs to the host (open, close); decoders and encoders point into it. Threads: as flow/serde.h says.
 */
#ifndef MSGPACK_SERDE_H
#define MSGPACK_SERDE_H

#include "flow/flow.h"
#include "flow_sdk/map.h"
#include "flow_sdk/pointer.h"

#define PACK_WRITE_DEPTH 1000 /* nested deeper than this is not written */
#define PACK_PATH_MAX 512     /* longer paths are cut at their beginning */
/* Branches of unions that do not fit may be read for so many bytes: this often the object, and so many more. */
#define PACK_WASTE_TIMES 16
#define PACK_WASTE_MORE 65536

/* Values that MessagePack has no type for. */
#define PACK_WITHOUT_TYPE_ERROR 0
#define PACK_WITHOUT_TYPE_STRING 1
#define PACK_WITHOUT_TYPE_NULL 2

/* Extensions that are no timestamp, where no type is declared. */
#define PACK_EXTENSIONS_ERROR 0
#define PACK_EXTENSIONS_BYTES 1
#define PACK_EXTENSIONS_NULL 2

typedef struct pack_format {
	uint32_t depth_limit;
	uint64_t max_record;
	int records_as_array; /* records are arrays in the order of their fields, not maps */
	int extra_is_error;
	int extensions;
	int without_type;
} pack_format;

/* --- msgpack_node.c: a schema, prepared for reading and writing ---------------------------------------------------------------- */

typedef struct pack_node pack_node;

typedef struct pack_field {
	flow_slice name;
	flow_slice key; /* the name as it stands in a map: a packed str */
	uint32_t index;
	uint32_t required; /* neither nullable nor with a default */
	const pack_node *node;
	const flow_value *default_value; /* or NULL */
} pack_field;

struct pack_node {
	const flow_schema *schema;
	uint8_t kind;
	uint8_t nullable;
	uint16_t reserved;
	uint32_t field_count;
	uint32_t branch_count;
	pack_field *fields;
	flow_field_index *index; /* of a record */
	const pack_node *element;
	const pack_node **branches;
	pack_node *next; /* all nodes of a tree */
};

/* NULL: out of memory. Recursive schemas become recursive nodes. The schema must outlive the nodes. */
const pack_node *pack_node_create(const flow_host *host, const flow_schema *schema);
void pack_node_release(const flow_host *host, const pack_node *root);

typedef struct pack_serde {
	const flow_host *host;
	pack_format format;
	const flow_schema *schema; /* what decoding gives */
	const pack_node *node;
} pack_serde;

/* --- msgpack_scalar.c: items without others in them -> cells ------------------------------------------------------------ */

struct pack_item;

/* FLOW_E_TYPE: this kind takes no such item; FLOW_E_RANGE: the value does not fit exactly; FLOW_E_DECODE: the bytes are no such value;
 * FLOW_E_UNSUPPORTED: an extension that nobody knows. */
flow_status pack_take(const pack_format *format, const pack_node *node, const struct pack_item *item,
					  flow_builder *memory, flow_value *value);
/* Is that item the natural form of this kind? Unions prefer such branches. */
int pack_is_native(const pack_node *node, const struct pack_item *item);

/* --- msgpack_values.c: whole objects -> cells -------------------------------------------------------------------------------- */

typedef struct pack_decoding {
	const flow_host *host;
	const pack_format *format;
	const uint8_t *
		wanted; /* one byte a field of the top-level record, or NULL: all; the others are only checked for their form */
	flow_builder *builder;
	const char *start;
	const char *at;
	const char *end;
	uint64_t waste;         /* bytes that were read for branches of unions that did not fit */
	flow_map_entry *extras; /* keys that are not declared, of the records that are being read */
	uint64_t extra_count;
	uint64_t extra_capacity;
	/* Why it failed. */
	uint64_t fault_offset;
	char reason[256];
	flow_pointer path;
} pack_decoding;

/* The object at start, which must end before `end`; `at` is then behind it. FLOW_AGAIN: it does not end there. FLOW_E_MEMORY; other
 * failures are told in reason, fault_offset and path. */
flow_status pack_decode_object(pack_decoding *d, const pack_node *node, flow_value *value);

/* --- msgpack_skip.c: to the end of an object, over any number of windows ------------------------------------------------------- */

typedef struct pack_skip {
	uint64_t items; /* still to come */
	uint64_t bytes; /* of the item at hand still to come */
} pack_skip;

/* Starts with { 1, 0 }. *size: what may be passed over. FLOW_OK: the object's end is there; FLOW_AGAIN: it goes on behind
 * that; FLOW_E_DECODE: no MessagePack at *size. */
flow_status pack_skip_object(pack_skip *skip, const char *data, uint64_t *size);

/* --- msgpack_decoder.c, msgpack_encoder.c -------------------------------------------------------------------------------------- */

flow_status pack_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder,
							  flow_error *error);
flow_status pack_decode(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error);
flow_status pack_decode_rows(flow_decoder *decoder, const flow_batch *raw, uint32_t first, uint32_t *next,
							 flow_builder *builder, uint32_t *source_rows, flow_error *error);
flow_status pack_save(flow_decoder *decoder, flow_slice *state, flow_error *error);
flow_status pack_restore(flow_decoder *decoder, flow_slice state, flow_error *error);
void pack_decoder_close(flow_decoder *decoder);

flow_status pack_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error);
flow_status pack_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error);
flow_status pack_encode(flow_encoder *encoder, const flow_batch *batch, int use_key, flow_buffer *buffer,
						uint64_t *ends, flow_status *statuses, flow_error *error);
void pack_encoder_close(flow_encoder *encoder);

#endif
