/*
 * flow/serde.h - component kind `serde`: bytes <-> values.
 *
 * A serde instance is opened once per stream at plan time; from it the host opens decoders (one per partition of a byte
 * stream, one per task for records) and encoders (one per task).
 *
 * Byte streams (FLOW_SERDE_STREAM): `decode` gets a window of the stream and cuts records out of it; it says how much it
 *   consumed, and gets the rest again with more behind it. Records may point into the window's memory: the host keeps
 *   it alive with the batch. State that later windows need (a header, a line count) lives in the decoder, and goes into
 *   checkpoints through save and restore.
 * Records (FLOW_SERDE_RECORD): `decode_rows` gets a raw batch and adds one row for each record, or rejects it.
 *
 * A decoder never fails the job for a bad record: it calls builder->ops->reject and goes on with the next one.
 */
#ifndef FLOW_SERDE_H
#define FLOW_SERDE_H

#include "flow/batch.h"
#include "flow/component.h"
#include "flow/host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_serde flow_serde;
typedef struct flow_decoder flow_decoder;
typedef struct flow_encoder flow_encoder;

/* So much of a byte stream is looked at while planning, at most; a shorter sample is the whole stream, or what a slow pipe had given so
 * far. */
#define FLOW_SAMPLE_SIZE ((uint64_t)1024 * 1024)

#define FLOW_SERDE_DECODES 1u
#define FLOW_SERDE_ENCODES 2u

typedef struct flow_decoder_request {
	uint32_t struct_size;
	uint32_t partition;
	flow_slice place; /* for messages: the file's name ... */
	/* The fields of the record that anybody reads, ascending; all others may be left as null cells (their bytes are
	 * still checked as far as the format needs it). NULL: all. */
	const uint32_t *fields;
	uint64_t field_count;
} flow_decoder_request;

/* A window of a byte stream. Behind data + size at least 64 readable bytes follow (their content is undefined). */
typedef struct flow_window {
	uint32_t struct_size;
	uint32_t final;  /* nothing follows behind this window: a record without its end is complete, or broken */
	const char *data;
	uint64_t size;
	int64_t offset;  /* of data[0] in the stream; a record's ordinal is the offset of its first byte */
	uint64_t consumed; /* out: bytes of this window that need not come again */
} flow_window;

typedef struct flow_serde_ops {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main] `use` is FLOW_SERDE_DECODES, _ENCODES or both. May read schema files: blocking-ok. */
	flow_status (*open)(const flow_host *host, const flow_options *options, uint32_t use, flow_serde **serde,
	                    flow_error *error);
	void (*close)(flow_serde *serde); /* [main] */

	/* [main] blocking-ok. The schema that decoding gives; *schema is released by the host. `sample` is empty, or the first
	 * bytes of the stream, for formats that find it there (a CSV header); a serde that needs a sample and gets
	 * none returns FLOW_AGAIN. */
	flow_status (*decoded_schema)(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error);
	/* [main] Can values of this schema be encoded without loss? The error names the field and what to do. */
	flow_status (*check_encodable)(flow_serde *serde, const flow_schema *schema, flow_error *error);

	/* [task] Optional by direction. */
	flow_status (*decoder_open)(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder,
	                            flow_error *error);
	/* [task] Byte streams. Adds records until the builder is full or no whole record is left in the window. FLOW_OK also
	 * when nothing was added; the host then comes with a larger window. Set consumed always. A failure other than of
	 * memory or the host's own (returned by reject) ends the partition: use it only when no record can follow. */
	flow_status (*decode)(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error);
	/* [task] Records. Decodes selected rows from `first` on until the builder is full; *next = first row not done.
	 * The host copies key, timestamp, headers and ordinal columns; the serde adds exactly one row for each record that
	 * it does not reject, in order, and tells the source row in source_rows[row in the builder].
	 * `raw` lives for this call only; what points into it is kept with builder->ops->keep. */
	flow_status (*decode_rows)(flow_decoder *decoder, const flow_batch *raw, uint32_t first, uint32_t *next,
	                           flow_builder *builder, uint32_t *source_rows, flow_error *error);
	/* [task] Optional: the state behind the last decode call, as bytes (at most 64 KiB), valid until the next call. */
	flow_status (*save)(flow_decoder *decoder, flow_slice *state, flow_error *error);
	flow_status (*restore)(flow_decoder *decoder, flow_slice state, flow_error *error); /* [task] before any decode */
	void (*decoder_close)(flow_decoder *decoder); /* [task] */

	/* [task] */
	flow_status (*encoder_open)(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error);
	/* [task] Optional, byte streams: what stands before the first and behind the last record of a stream. */
	flow_status (*begin)(flow_encoder *encoder, flow_buffer *buffer, flow_error *error);
	/* [task] Appends the selected rows of `batch`. `ends` is NULL (byte stream), or room for one entry a selected row: the
	 * size of the buffer behind that record. A record that cannot be encoded: append nothing for it, set
	 * statuses[i] (one a selected row, preset to FLOW_OK) and go on; *error may then say why, for the rows that have its status.
	 * Column `key` instead of `value` if use_key. */
	flow_status (*encode)(flow_encoder *encoder, const flow_batch *batch, int use_key, flow_buffer *buffer,
	                      uint64_t *ends, flow_status *statuses, flow_error *error);
	flow_status (*end)(flow_encoder *encoder, flow_buffer *buffer, flow_error *error); /* [task] optional */
	void (*encoder_close)(flow_encoder *encoder); /* [task] */
} flow_serde_ops;

#ifdef __cplusplus
}
#endif
#endif
