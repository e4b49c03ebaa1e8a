/*
 * The json serde: what its parts share.
 *
 * Ownership: a json_serde belongs to the host (open, close); decoders and encoders point into it. Threads: as flow/serde.h says.
 */
#ifndef JSON_H
#define JSON_H

#include "flow/flow.h"

#define JSON_PADDING 64       /* readable bytes behind a text that is parsed */
#define JSON_POINTER_MAX 1024 /* longer pointers are cut in messages */
#define JSON_WRITE_DEPTH 1000 /* nested deeper than this is not written */

/* Policies, in the order of their options' choices. */
#define JSON_NAN_ERROR 0
#define JSON_NAN_STRING 1
#define JSON_NAN_NULL 2
#define JSON_LINES 0
#define JSON_ARRAY 1
#define JSON_DOCUMENTS 2
#define JSON_AUTO 3 /* read: JSON_ARRAY or JSON_DOCUMENTS, by the first byte */
#define JSON_EXTRA_IGNORE 0
#define JSON_EXTRA_ERROR 1
#define JSON_EXTRA_KEEP 2
#define JSON_INFER_NO 0
#define JSON_INFER_EXACT 1
#define JSON_INFER_FLOAT 2
#define JSON_MISSING_DEFAULT 0 /* the default, else null, else an error */
#define JSON_MISSING_NULL 1
#define JSON_MISSING_ERROR 2

typedef struct json_format {
	uint32_t depth_limit;
	uint64_t max_record;
	int framing;
	int avro;            /* Avro's JSON encoding */
	int pretty;          /* written over several lines */
	int last_duplicate;  /* of equal keys the last one counts */
	int extra;           /* keys that are not declared */
	int missing;         /* fields without a key */
	int null_is_default; /* null where the type does not allow it is the field's default */
	int nan;
	int decimals_as_string;
	flow_slice extra_field; /* with JSON_EXTRA_KEEP: the field that they go into */
} json_format;

/* --- json_node.c: a schema, prepared for reading and writing ------------------------------------------------------------------- */

typedef struct json_node json_node;

typedef struct json_field {
	const char *name;
	uint32_t size;
	uint32_t reserved;
	const json_node *node;
	const flow_value *default_value; /* or NULL */
	const char *key;                 /* for writing: ,"name": */
	uint32_t key_size;
} json_field;

#define JSON_NO_FIELD UINT32_MAX

struct json_node {
	const flow_schema *schema;
	uint8_t kind;
	uint8_t nullable;
	uint8_t avro; /* Avro's JSON encoding */
	uint8_t
		wrapped; /* .. of a union or nullable type: null, or an object whose one key is a branch; only `branches` count */
	uint32_t field_count;
	uint32_t key_count;   /* fields that are keys: all but the one for extra keys, which is the last one */
	uint32_t extra_field; /* .. or JSON_NO_FIELD */
	json_field *fields;
	uint32_t *slots; /* open addressing over names: field + 1 */
	uint32_t slot_mask;
	uint32_t branch_count;
	const json_node *element;
	const json_node **branches;
	const flow_slice *branch_names; /* wrapped */
	const flow_schema *owned;       /* to be released */
	json_node *next;                /* all nodes of a tree, for release */
};

/* NULL: out of memory. Recursive schemas become recursive nodes. Release with the node that was returned. */
const json_node *json_node_create(const flow_host *host, const flow_schema *schema, const json_format *format);
void json_node_release(const flow_host *host, const json_node *root);
/* Is there a node of this kind in the tree? */
int json_node_has(const json_node *root, uint8_t kind);
/* Index of a field, or -1. Up to 8 bytes behind the name are read. */
int32_t json_node_find(const json_node *node, const char *name, uint32_t size);

typedef struct json_serde {
	const flow_host *host;
	json_format format;
	int infer;                 /* JSON_INFER_*: the type is still to be found in the data */
	char *extra_name;          /* memory of format.extra_field */
	const flow_schema *schema; /* what decoding gives */
	const json_node *node;
} json_serde;

/* --- json_scalar.c: numbers and strings -> cells --------------------------------------------------------------------- */

typedef struct json_number {
	const char *text;
	uint32_t size;
	uint8_t is_integer; /* neither fraction nor exponent */
	uint8_t negative;
	uint8_t exact; /* is_integer and at most 18 digits: `magnitude` is the value */
	uint64_t magnitude;
} json_number;

/* FLOW_E_TYPE: a number (string) does not fit this kind at all; FLOW_E_RANGE: the value does not; FLOW_E_DECODE: the text does not. */
flow_status json_take_number(const json_node *node, const json_number *number, flow_builder *memory, flow_value *value);
flow_status json_take_string(const json_node *node, flow_slice text, flow_builder *memory, flow_value *value);
flow_status json_take_bool(const json_node *node, int truth, flow_value *value);

/* --- json_avro.c: values as Avro's JSON encoding has them -------------------------------------------------------------------- */

/* The name of a branch: of a named type its full name, else the word for its type. */
flow_slice json_avro_branch(const flow_schema *schema);
/* A string of the kinds that plain JSON has otherwise; FLOW_AGAIN: as in plain JSON. */
flow_status json_avro_string(const json_node *node, flow_slice text, flow_builder *memory, flow_value *value);

/* --- json_parser.c ----------------------------------------------------------------------------------------------------- */

typedef struct json_parser json_parser;

/* Why a text was refused. The texts live until the next json_parse. */
typedef struct json_fault {
	flow_status status;
	const char *reason;
	uint64_t offset;    /* in the text */
	flow_slice pointer; /* RFC 6901 */
} json_fault;

json_parser *json_parser_create(const flow_host *host, const json_format *format);
void json_parser_destroy(json_parser *parser);
/*
 * Parses text[0 .. size) as one whole document of this type. text[size] must be a line feed or NUL, or what json_split ends a text
 * at, and JSON_PADDING bytes behind it readable. Cells point into the text and into `memory`. `wanted` is NULL or one byte a field
 * of a top-level record: the others are only checked. FLOW_E_MEMORY: out of memory; any other failure is told in *fault.
 */
flow_status json_parse(json_parser *parser, const json_node *node, const uint8_t *wanted, const char *text,
					   uint64_t size, flow_builder *memory, flow_value *value, json_fault *fault);

/* --- json_split.c: texts within an array, or one behind another ---------------------------------------------------------------- */

/* Where in a text the search for its end stands; zero at its start. */
typedef struct json_split {
	uint64_t looked; /* bytes of the text */
	uint32_t depth;
	uint8_t in_string;
	uint8_t escaped;
	uint8_t begun; /* something other than blanks was seen */
	uint8_t reserved;
} json_split;

/* What JSON_AUTO is for a stream whose first byte that is not blank is this one. */
static inline int
json_framing_of(char first)
{
	return first == '[' ? JSON_ARRAY : JSON_DOCUMENTS;
}

/* Looks for the end of the text that starts at data[0], of which split->looked bytes were seen. Returns 1: the text ends in front of
 * data[split->looked]; in an array at a comma or bracket, else behind itself. 0: it goes on behind `size`. */
int json_split_find(json_split *split, const char *data, uint64_t size, int framing);

/* --- json_keys.c: the same key twice ---------------------------------------------------------------------------------- */

/* Looks for equal keys among many entries. Without `keep_last`: returns the index of a key that stands before, or -1. With it: the
 * last value of equal keys moves to the place of the first, *count shrinks, -1. -2: out of memory. */
int64_t json_same_keys(const flow_host *host, flow_map_entry *entries, uint64_t *count, int keep_last);

/* --- json_string.c ----------------------------------------------------------------------------------------------------- */

#define JSON_ESCAPED_MAX 6    /* characters for one byte */
#define JSON_ESCAPED_SLACK 18 /* written too many, or left for a quote */
/* Writes the text with escapes at `to`, which has JSON_ESCAPED_MAX * size + JSON_ESCAPED_SLACK bytes; returns behind it. *high is
 * set if there are bytes beyond ASCII, which are taken as they are. */
char *json_put_escaped(const char *text, uint64_t size, char *to, int *high);

/* --- json_infer.c ------------------------------------------------------------------------------------------------------ */

/* The type that the documents of a sample have; owned by the caller. */
flow_status json_infer(const json_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error);

/* --- json_decoder.c, json_writer.c ------------------------------------------------------------------------------------- */

flow_status json_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder,
							  flow_error *error);
flow_status json_decode(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error);
flow_status json_decode_rows(flow_decoder *decoder, const flow_batch *raw, uint32_t first, uint32_t *next,
							 flow_builder *builder, uint32_t *source_rows, flow_error *error);
flow_status json_save(flow_decoder *decoder, flow_slice *state, flow_error *error);
flow_status json_restore(flow_decoder *decoder, flow_slice state, flow_error *error);
void json_decoder_close(flow_decoder *decoder);

flow_status json_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error);
flow_status json_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error);
flow_status json_begin(flow_encoder *encoder, flow_buffer *buffer, flow_error *error);
flow_status json_end(flow_encoder *encoder, flow_buffer *buffer, flow_error *error);
flow_status json_encode(flow_encoder *encoder, const flow_batch *batch, int use_key, flow_buffer *buffer,
						uint64_t *ends, flow_status *statuses, flow_error *error);
void json_encoder_close(flow_encoder *encoder);

#endif
