/*
 * The csv serde: what its parts share.
 *
 * Ownership: a csv_serde belongs to the host (open, close); decoders and encoders point into it. Threads: as flow/serde.h says.
 */
#ifndef CSV_H
#define CSV_H

#include "flow/flow.h"

#define CSV_MAX_RECORD ((uint64_t)512 * 1024 * 1024)
#define CSV_MAX_TOKENS 16
#define CSV_MAX_COLUMNS 8192 /* so that a decoder's state fits into 64 KiB */
#define CSV_NO_QUOTE 256
#define CSV_NO_FIELD UINT32_MAX

/* Policies. `infer`: how numbers with a fraction are taken. */
#define CSV_INFER_NO 0
#define CSV_INFER_EXACT 1
#define CSV_INFER_FLOAT 2
#define CSV_MISSING_ERROR 0
#define CSV_MISSING_NULL 1
#define CSV_MISSING_DEFAULT 2
#define CSV_EXTRA_KEEP 0
#define CSV_EXTRA_IGNORE 1
#define CSV_EXTRA_ERROR 2

/* What a field may be that starts with a byte; of an empty field that is the byte behind it. */
#define CSV_STARTS_QUOTED 1
#define CSV_STARTS_NULL 2

typedef struct csv_format {
	char delimiter;
	char escape;  /* 0: none */
	char comment; /* 0: none */
	char decimal_mark;
	int quote; /* or CSV_NO_QUOTE, which no byte is */
	int header;
	int infer;
	int missing;
	int extra;
	int fill_short;                       /* the fields that a row lacks are null */
	int cut_long;                         /* fields behind the last column are passed over */
	int trim;                             /* blanks around fields are left out */
	uint8_t unescaped[256];               /* what a character behind an escape means */
	flow_slice thousands;                 /* what may stand between groups of digits; empty: nothing */
	uint64_t max_record;                  /* bytes without the line's end */
	flow_slice tokens[CSV_MAX_TOKENS];    /* texts that mean null */
	uint64_t token_heads[CSV_MAX_TOKENS]; /* their first 8 bytes, zeros behind */
	uint32_t token_count;
	uint64_t token_sizes; /* bit n: there is a token of n bytes (bit 63: of 63 or more) */
	uint8_t starts[256];  /* by first byte of a field: CSV_STARTS_* */
} csv_format;

typedef struct csv_rename {
	flow_slice field;
	flow_slice header;
} csv_rename;

typedef struct csv_serde {
	const flow_host *host;
	csv_format format;
	char *text_memory; /* of the texts in the format and in `renames` */
	csv_rename *renames;
	uint32_t rename_count;
	const flow_schema *declared; /* the option `fields` or `schema` as a record; NULL: none */
	const flow_schema *schema;   /* what decoding gives, once it is known */
	uint8_t *inferred;           /* by field: its type was found in the sample; NULL: none was */
} csv_serde;

/* Is it left out around fields, if the format trims? */
static inline int
csv_is_blank(const csv_format *format, char c)
{
	return (c == ' ' || c == '\t') && c != format->delimiter && c != format->quote && c != format->escape;
}

/* The name in a header of a field, and the other way. */
flow_slice csv_header_name(const csv_serde *s, flow_slice field);
flow_slice csv_field_name(const csv_serde *s, flow_slice header);

/* Is the text one of the tokens? 8 bytes can be read from `text` on, whatever its size. */
static inline int
csv_is_token(const csv_format *format, const char *text, uint64_t size)
{
	if (__builtin_expect((format->token_sizes >> (size < 63 ? size : 63) & 1) == 0, 1))
		return 0;
	uint64_t head;
	memcpy(&head, text, 8);
	if (size < 8)
		head &= (1ull << (8 * size)) - 1;
	for (uint32_t i = 0; i < format->token_count; i++)
		if (head == format->token_heads[i] && size == format->tokens[i].size &&
			(size <= 8 || memcmp(text, format->tokens[i].data, size) == 0))
			return 1;
	return 0;
}

/* The same for texts with nothing readable behind them. */
static inline int
csv_is_token_text(const csv_format *format, const char *text, uint64_t size)
{
	char padded[8] = { 0 };
	if (size >= 8)
		return csv_is_token(format, text, size);
	if (size != 0)
		memcpy(padded, text, size);
	return csv_is_token(format, padded, size);
}

/* --- csv_index.c: where the structural bytes are --------------------------------------------------------------------- */

/* Finds delimiters, line feeds and `third` (an escape character, or the delimiter again) in data[0 .. size), of which at least 64
 * bytes behind the end can be read. Writes their offsets + `base` ascending to `positions` (size + 64 entries), returns how many.
 * *high becomes non-zero if a byte is not ASCII. */
typedef uint32_t (*csv_indexer)(const char *data, uint32_t size, uint32_t base, char delimiter, char third,
								uint32_t *positions, uint64_t *high);
/* The fastest one for this processor; `plain`: the one in C. */
csv_indexer csv_indexer_choose(int plain);

/* --- csv_line.c: one record, cut simply (headers) -------------------------------------------------------------------- */

#define CSV_LINE_WHOLE 0
#define CSV_LINE_CUT 1  /* more bytes are needed */
#define CSV_LINE_OPEN 2 /* a quote is not closed */
#define CSV_LINE_MEMORY 3

typedef struct csv_line {
	flow_slice *fields; /* point into `text` */
	uint8_t *null;      /* by field: its text means null */
	uint32_t count;
	uint32_t capacity; /* of fields and null */
	char *text;
	uint64_t room;  /* of text: bytes */
	uint64_t size;  /* bytes of the record with its line end */
	uint64_t lines; /* line feeds among them */
} csv_line;

/* `line` is zeroed, or holds a record that was cut before, whose memory is used again: rows of one sample cost one allocation. Unless
 * CSV_LINE_WHOLE is returned it holds nothing afterwards. */
int csv_line_cut(const csv_format *format, flow_slice data, int final, csv_line *line);
void csv_line_release(csv_line *line);
/* Do lines end in carriage returns alone? There is no line feed in data, and outside of quotes a carriage return with something
 * behind it. */
int csv_ends_in_returns(const csv_format *format, flow_slice data);
#define CSV_RETURNS                                                                                                    \
	"%s: lines end in carriage returns alone (as old Macs write); turn them into line feeds: tr '\\r' '\\n'"
/* Bytes in front of the header that are no record: a byte order mark, comments, empty lines; *lines counts line feeds in them. */
uint64_t csv_skip_to_header(const csv_format *format, flow_slice data, uint64_t *lines);

/* --- csv_number.c: numbers with other marks ------------------------------------------------------------------------------------ */

/* Does a number of this kind look otherwise in this format than the SDK's functions read it? */
int csv_is_local(const csv_format *format, const flow_schema *schema);
/* The number as the SDK's functions read it, into `plain` (as long as the text, and 16 bytes more); returns its size, -1: marks
 * stand where none can. */
int64_t csv_plain_number(const csv_format *format, flow_slice text, char *plain);

/* --- csv_infer.c: types of columns from the first rows -------------------------------------------------------------------- */

#define CSV_TYPE_TEXT 24
/* Writes the short form of a type, without a '?', for each of `count` columns. `rows` starts behind the header; with `final` its last row is whole.
 * FLOW_E_MEMORY is the only failure. */
flow_status csv_infer(const csv_format *format, flow_slice rows, int final, uint32_t count,
					  char (*types)[CSV_TYPE_TEXT]);

/* --- csv_options.c, csv_schema.c --------------------------------------------------------------------------------------------- */

extern const flow_option_set *const csv_option_sets[];
flow_status csv_open(const flow_host *host, const flow_options *from, uint32_t use, flow_serde **serde,
					 flow_error *error);
void csv_close(flow_serde *serde);
flow_status csv_decoded_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error);

/* --- csv_decoder.c, csv_reader.c, csv_writer.c -------------------------------------------------------------------------------------- */

flow_status csv_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder,
							 flow_error *error);
flow_status csv_decode(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error);
flow_status csv_save(flow_decoder *decoder, flow_slice *state, flow_error *error);
flow_status csv_restore(flow_decoder *decoder, flow_slice state, flow_error *error);
void csv_decoder_close(flow_decoder *decoder);

flow_status csv_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error);
flow_status csv_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error);
flow_status csv_begin(flow_encoder *encoder, flow_buffer *buffer, flow_error *error);
flow_status csv_encode(flow_encoder *encoder, const flow_batch *batch, int use_key, flow_buffer *buffer, uint64_t *ends,
					   flow_status *statuses, flow_error *error);
void csv_encoder_close(flow_encoder *encoder);

#endif
