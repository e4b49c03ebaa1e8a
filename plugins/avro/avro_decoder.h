/*
 * A decoder: opened, saved and restored (avro_decoder.c), fed with container files (avro_reader.c) or with records (avro_rows.c).
 *
 * Ownership: the host's, from open to close. Threads: the task's. Errors: as flow/serde.h says.
 */
#ifndef AVRO_DECODER_H
#define AVRO_DECODER_H

#include "avro.h"

#define AVRO_STATE_VERSION 1

/* What goes into checkpoints, before the writer's schema. */
typedef struct avro_state {
	uint32_t version;
	uint32_t has_header;
	uint32_t codec;
	uint32_t resyncing; /* behind a damaged block, looking for the next one */
	char sync[AVRO_SYNC_SIZE];
	int64_t last_ordinal;  /* -1: none */
	int64_t damaged_from;  /* offset in the stream */
	int64_t candidate;     /* where the next block is if the damaged one told its size right; 0: unknown */
	uint64_t done_records; /* of the block that the stream stands at */
	uint64_t done_bytes;
	uint64_t schema_size; /* of the text, which follows compressed */
} avro_state;

struct flow_decoder {
	const avro_serde *serde;
	const flow_host *host;
	uint8_t *wanted;   /* NULL: all fields */
	avro_plan *plan;   /* container files: of this file */
	avro_plan **plans; /* records: one for each known schema, made when it is met */
	avro_codec *codec;
	avro_block *block; /* decompressed; NULL: none */
	int64_t block_offset;
	avro_decoding decoding;
	avro_state state;
	char *schema_text; /* of the header */
	char *saved;
	uint64_t saved_capacity;
	char damage[AVRO_REASON_MAX]; /* what is wrong with the block that is being passed over */
	uint64_t place_size;
	char place[]; /* NUL-terminated */
};

/* Takes the header of a file: its schema against the reader's, its codec. */
flow_status avro_decoder_begin(flow_decoder *d, flow_slice schema_text, int codec, flow_error *error);
/* Reports the record at input.start .. size that decoding refused. */
flow_status avro_decoder_reject(flow_decoder *d, flow_builder *builder, flow_slice raw, int64_t ordinal);

#endif
