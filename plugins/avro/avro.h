/*
 * The avro serde: what its parts share.
 *
 * A writer's schema and a reader's schema are compiled into a plan once (avro_plan.c): flat lists of operations, one list a record type,
 * that are run over the bytes (avro_decode.c, avro_skip.c). Writing has a plan of its own (avro_encode_plan.c, avro_encode.c).
 *
 * Ownership: an avro_serde belongs to the host (open, close); decoders and encoders point into it. Plans own their memory; cells of
 * decoded values point at the bytes, at the builder, or at the reader's schema (defaults, symbols).
 * Threads: plans are read only once made; decodings and encoders belong to one task at a time. Errors: as flow/serde.h says.
 */
#ifndef AVRO_H
#define AVRO_H

#include "flow/flow.h"

#define AVRO_PADDING 32        /* readable bytes behind what is decoded; windows have 64 */
#define AVRO_EMPTY_ITEMS 65536 /* items without bytes (nulls, empty records) in one record */
#define AVRO_PATH_MAX 256      /* longer paths of fields are cut in messages */
#define AVRO_REASON_MAX 320

/* --- avro_memory.c: memory that goes at once ------------------------------------------------------------------------- */

typedef struct avro_memory {
	const flow_host *host;
	struct avro_chunk *chunks;
	char *next;
	char *end;
} avro_memory;

/* Zeroed, 8-byte aligned; NULL: out of memory. */
void *avro_allocate(avro_memory *memory, uint64_t size);
void avro_memory_release(avro_memory *memory);

/* --- avro_schema.c: what a schema is in Avro's terms ------------------------------------------------------------------ */

/* Avro's types, as they lie in the bytes. */
enum {
	AVRO_NULL,
	AVRO_BOOLEAN,
	AVRO_INT,
	AVRO_LONG,
	AVRO_FLOAT,
	AVRO_DOUBLE,
	AVRO_BYTES,
	AVRO_STRING,
	AVRO_FIXED,
	AVRO_ENUM,
	AVRO_ARRAY,
	AVRO_MAP,
	AVRO_RECORD,
	AVRO_UNION,
};

/* The type of the bytes. `branch` 1: leave aside that the schema is nullable. */
int avro_type_of(const flow_schema *schema, int branch);
const char *avro_type_name(int type);
/* Branches of the union that the schema is, null among them; 0: it is no union. */
uint32_t avro_branch_count(const flow_schema *schema);
/* Branch `index` of the union; NULL: it is null. *cell_branch: what cells say. For a nullable type the branch is the schema itself:
 * look at it with `branch` 1. */
const flow_schema *avro_branch(const flow_schema *schema, uint32_t index, uint8_t *cell_branch);
/* The name behind the last dot. */
flow_slice avro_short_name(flow_slice name);
/* The text of a schema, NUL-terminated, from host->allocate; data NULL: out of memory. */
flow_slice avro_schema_text(const flow_host *host, const flow_schema *schema);

/* Puts what the caller was about before an error's message. */
void avro_prefix(const flow_host *host, flow_error *error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* --- avro_canonical.c ------------------------------------------------------------------------------------------------- */

/* Parsing Canonical Form of Avro schema JSON that was parsed before, NUL-terminated, from host->allocate. data NULL: out of memory. */
flow_slice avro_canonical_form(const flow_host *host, flow_slice schema_text);
/* CRC-64-AVRO of the canonical form; 0: out of memory. */
uint64_t avro_fingerprint(const flow_host *host, flow_slice schema_text);
uint64_t avro_crc64(const void *data, uint64_t size);

/* --- avro_skip.c: values that nobody reads ----------------------------------------------------------------------------- */

typedef struct avro_skip avro_skip;

typedef struct avro_skip_op {
	uint8_t code;
	uint8_t null_index; /* nullable: the place of null; the value's operations follow */
	uint16_t reserved;
	uint32_t count;                   /* varints in a row; operations of a nullable's value; branches of a union */
	uint64_t size;                    /* bytes in a row */
	const avro_skip *program;         /* call, array, map */
	const avro_skip *const *branches; /* union */
} avro_skip_op;

struct avro_skip {
	const avro_skip_op *ops; /* the last one is an end */
	uint32_t count;          /* without the end */
	uint16_t complete;       /* 0 while it is being made: it holds itself */
	uint16_t plain;          /* avro_skip_plain.h can pass over all of it */
	uint64_t least;          /* bytes that a value has at least */
	uint64_t reach;          /* bytes of its plain operations at most, while lengths have one byte */
};

struct avro_skip_frame;

/* Where the bytes are, and what was wrong with them. */
typedef struct avro_input {
	const flow_host *host;
	const char *start;
	const char *at;
	const char *end; /* AVRO_PADDING bytes behind it are readable */
	flow_status status;
	const char *reason; /* of the failure */
	struct avro_skip_frame *frames;
	uint32_t frame_capacity;
} avro_input;

/* Moves input->at behind the value. Any depth; a failure is in input->status and ->reason. */
flow_status avro_skip_value(avro_input *input, const avro_skip *program);
/* Starts a block of an array or map; *items 0: the end. *bytes: the block's size if it is told, else UINT64_MAX. */
flow_status avro_read_block(avro_input *input, uint64_t least, uint64_t *items, uint64_t *bytes);

/* --- avro_plan.c: writer's schema x reader's schema --------------------------------------------------------------------- */

typedef struct avro_program avro_program;

/* What the writer's indexes mean. */
typedef struct avro_enum {
	const flow_value *cells;   /* null: the reader has no such symbol, and no default for it */
	const flow_slice *written; /* the writer's symbols, for messages */
} avro_enum;

typedef struct avro_op {
	uint8_t code;
	uint8_t null_index;
	uint16_t reserved;
	uint32_t slot;   /* the cell to fill, among those of the record */
	flow_value cell; /* its type, unit, flags and branch; for decimals as.int64 is the precision */
	union {
		const avro_program *program;         /* record, list, map: of the record, or of an item */
		const avro_program *const *branches; /* union: a program for each branch of the writer */
		const flow_value *value;             /* constant */
		const avro_enum *symbols;            /* enum */
		const avro_skip *skip;               /* skip */
		const char *reason;                  /* unresolved */
	} as;
	uint32_t size;          /* fixed: bytes; enum, union: entries */
	int32_t number;         /* decimal: the scale; scaled longs: the factor */
	const flow_slice *name; /* of the field, for messages; NULL: none */
} avro_op;

struct avro_program {
	const avro_op *ops;
	uint32_t cell_count;   /* records: cells to allocate */
	uint32_t sparse;       /* some of them stay null */
	const avro_skip *skip; /* the same bytes */
};

typedef struct avro_plan {
	avro_memory memory;
	const flow_schema *writer; /* released by avro_plan_destroy */
	const flow_schema *reader; /* likewise */
	avro_program program;      /* one operation for slot 0, and an end */
} avro_plan;

/* `wanted`: NULL, or one byte a field of the reader's record. NULL: *error says why the two do not go together. */
avro_plan *avro_plan_create(const flow_host *host, const flow_schema *writer, const flow_schema *reader,
							const uint8_t *wanted, flow_error *error);
void avro_plan_destroy(avro_plan *plan);

/* --- avro_decode.c -------------------------------------------------------------------------------------------------------- */

typedef struct avro_decoding {
	avro_input input;
	flow_builder *builder;
	uint32_t depth;
	uint32_t depth_limit;
	uint64_t empty_items;
	uint64_t fault_offset; /* from input.start */
	uint32_t path_size;
	char path[AVRO_PATH_MAX]; /* the field at fault */
	char reason[AVRO_REASON_MAX];
} avro_decoding;

/* One value at input.at. On failure input.status and .reason, fault_offset and path say why, and input.at is anywhere. */
flow_status avro_decode_value(avro_decoding *d, const avro_plan *plan, flow_value *value);

/* --- avro_encode_plan.c, avro_encode.c ---------------------------------------------------------------------------------------- */

typedef struct avro_encode_program avro_encode_program;
typedef struct avro_symbols avro_symbols;

typedef struct avro_encode_op {
	uint8_t code;
	uint8_t type;   /* that the cell must have; a double also takes a whole number that it can hold */
	uint8_t branch; /* AVRO_ENCODE_UNION: cells have branches of their own */
	uint8_t reserved;
	uint32_t slot;
	uint32_t index;      /* of a branch in Avro's union */
	uint32_t null_index; /* UINT32_MAX: null cannot be written */
	uint32_t size;       /* fixed: bytes; record: cells; union: branches; decimal: precision */
	int32_t number;      /* decimal: the scale; times: a factor, negative: a divisor */
	union {
		const avro_encode_program *program;         /* record, list, map */
		const avro_encode_program *const *branches; /* union: by the cell's branch */
		const avro_symbols *symbols;
		const flow_slice *bytes; /* constant: a default, encoded */
	} as;
} avro_encode_op;

struct avro_encode_program {
	const avro_encode_op *ops;
	uint64_t room; /* bytes that they write at the most, but for texts' own and what is nested or logical */
};

typedef struct avro_encode_plan {
	avro_memory memory;
	const flow_schema *target; /* released by avro_encode_plan_destroy */
	avro_encode_program program;
} avro_encode_plan;

/* Cells of `source` as bytes of `target`. NULL: *error says which field cannot be. */
avro_encode_plan *avro_encode_plan_create(const flow_host *host, const flow_schema *source, const flow_schema *target,
										  flow_error *error);
void avro_encode_plan_destroy(avro_encode_plan *plan);

/* --- avro_symbols.c: names of enums -> indexes ----------------------------------------------------------------------------------- */

/* NULL: out of memory. The texts are borrowed. */
const avro_symbols *avro_symbols_create(avro_memory *memory, const flow_slice *symbols, uint32_t count);
int32_t avro_symbols_find(const avro_symbols *symbols, const char *text, uint32_t size);

/* --- avro_codec.c: compression of blocks --------------------------------------------------------------------------------------- */

enum { AVRO_CODEC_NULL, AVRO_CODEC_DEFLATE, AVRO_CODEC_SNAPPY, AVRO_CODEC_ZSTANDARD, AVRO_CODEC_BZIP2, AVRO_CODEC_XZ };

typedef struct avro_codec avro_codec;

/* The codec's number by the name in a header, or -1. */
int avro_codec_find(flow_slice name);
const char *avro_codec_name(int codec);
/* `level` INT32_MIN: the codec's usual one. NULL: out of memory. Not for the null codec. */
avro_codec *avro_codec_create(const flow_host *host, int codec, int level);
void avro_codec_destroy(avro_codec *codec);
/* Appends the compressed bytes. */
flow_status avro_compress(avro_codec *codec, const char *data, uint64_t size, flow_buffer *to);

/* A block's bytes, held by the decoder and by the batches that point at them. */
typedef struct avro_block avro_block;
const char *avro_block_data(const avro_block *block, uint64_t *size);
avro_block *avro_block_retain(avro_block *block);
void avro_block_release(void *block); /* [any] NULL is allowed */
/* *block has AVRO_PADDING readable bytes behind it. A failure: *reason says why. */
flow_status avro_decompress(avro_codec *codec, const char *data, uint64_t size, uint64_t limit, avro_block **block,
							const char **reason);

/* --- avro_container.c: headers ------------------------------------------------------------------------------------------------------- */

#define AVRO_OBJECT_HEAD 10 /* of a single object: C3 01 and the fingerprint */
#define AVRO_SYNC_SIZE 16
#define AVRO_HEADER_MAX ((uint64_t)16 << 20)

typedef struct avro_header {
	flow_slice schema; /* in the bytes that were read */
	int codec;
	char sync[AVRO_SYNC_SIZE];
	uint64_t size; /* of the whole header */
} avro_header;

/* FLOW_AGAIN: it goes on behind the bytes. A failure: *error says what is wrong at which byte. */
flow_status avro_header_read(const flow_host *host, flow_slice bytes, avro_header *header, flow_error *error);
flow_status avro_header_write(const avro_header *header, flow_buffer *buffer);

/* --- avro_plugin.c, avro_reader.c, avro_rows.c, avro_writer.c --------------------------------------------------------------------------- */

/* A schema that single objects were written with. */
typedef struct avro_known {
	const flow_schema *schema;
	uint64_t fingerprint;
} avro_known;

typedef struct avro_serde {
	const flow_host *host;
	const flow_schemas *schemas;
	const flow_schema *declared; /* option schema; NULL: none */
	const flow_schema *reader;   /* what decoding gives, once it is known */
	avro_known *known;           /* schemas that records were written with; the first one is that without framing */
	uint32_t known_count;
	uint32_t single_object;
	uint32_t depth_limit;
	uint32_t skip_bad_blocks;
	uint64_t max_record;
	uint64_t max_block;
	uint64_t block_size;
	int codec;
	int level;
	uint32_t has_sync;
	char sync[AVRO_SYNC_SIZE];
} avro_serde;

flow_status avro_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder,
							  flow_error *error);
flow_status avro_decode(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error);
flow_status avro_decode_rows(flow_decoder *decoder, const flow_batch *raw, uint32_t first, uint32_t *next,
							 flow_builder *builder, uint32_t *source_rows, flow_error *error);
flow_status avro_save(flow_decoder *decoder, flow_slice *state, flow_error *error);
flow_status avro_restore(flow_decoder *decoder, flow_slice state, flow_error *error);
void avro_decoder_close(flow_decoder *decoder);

flow_status avro_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error);
flow_status avro_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error);
flow_status avro_begin(flow_encoder *encoder, flow_buffer *buffer, flow_error *error);
flow_status avro_encode(flow_encoder *encoder, const flow_batch *batch, int use_key, flow_buffer *buffer,
						uint64_t *ends, flow_status *statuses, flow_error *error);
void avro_encoder_close(flow_encoder *encoder);

#endif
