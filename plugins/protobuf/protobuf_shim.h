/*
 * libprotobuf's dynamic messages for C: descriptors, and messages read, built and written through them. protobuf_shim.cc is all the
 * C++ there is.
 *
 * Ownership: descriptors belong to the proto_set; what they name lives as long. A message belongs to whoever made it; texts and
 * messages within it live until it is cleared, parsed into or freed. Threads: a proto_set may be used by any thread once it is open, a message
 * by one at a time. Nothing is thrown; PROTO_NO_MEMORY says that there was none.
 */
#ifndef PROTOBUF_SHIM_H
#define PROTOBUF_SHIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROTO_OK 0
#define PROTO_MALFORMED (-1)
#define PROTO_NO_MEMORY (-2)

/* Kinds of fields. */
#define PROTO_BOOL 0
#define PROTO_INT32 1
#define PROTO_INT64 2
#define PROTO_UINT32 3
#define PROTO_UINT64 4
#define PROTO_FLOAT 5
#define PROTO_DOUBLE 6
#define PROTO_STRING 7
#define PROTO_BYTES 8
#define PROTO_ENUM 9
#define PROTO_MESSAGE 10

typedef struct proto_set proto_set;
typedef struct proto_type proto_type; /* a kind of message */
typedef struct proto_enum proto_enum;
typedef struct proto_message proto_message;
typedef struct proto_handle proto_handle; /* libprotobuf's descriptor of a field */

typedef struct proto_text {
	const char *data;
	uint64_t size;
} proto_text;

typedef struct proto_field {
	const proto_handle *handle;
	proto_text name;
	uint8_t kind;
	uint8_t repeated; /* maps too: their entries are messages of a key (field 0) and a value (field 1) */
	uint8_t map;
	uint8_t required;
	uint8_t presence; /* one knows whether it is there */
	uint8_t open;     /* enums: numbers without a symbol are kept */
	int32_t oneof;    /* index, or -1 */
	const proto_type *message;
	const proto_enum *symbols;
} proto_field;

typedef union proto_value {
	int64_t int64;   /* bool, int32, int64, enum: its number */
	uint64_t uint64; /* uint32, uint64 */
	double number;   /* float, double */
	proto_text text; /* string, bytes */
	proto_message *message;
} proto_value;

/* --- descriptors --- */

/* A serialized FileDescriptorSet. On PROTO_MALFORMED `problem` says why. */
int proto_set_open(const char *bytes, uint64_t size, proto_set **set, char *problem, uint64_t problem_size);
void proto_set_close(proto_set *set); /* NULL is allowed */
/* By its full name; NULL: there is none. */
const proto_type *proto_find(const proto_set *set, const char *name);
/* The names of messages that are there, with blanks between them, as far as there is room. */
void proto_names(const proto_set *set, char *text, uint64_t size);
proto_text proto_type_name(const proto_type *type);
uint32_t proto_field_count(const proto_type *type);
void proto_describe(const proto_type *type, uint32_t index, proto_field *field);
proto_text proto_enum_name(const proto_enum *symbols);
uint32_t proto_symbol_count(const proto_enum *symbols);
proto_text proto_symbol(const proto_enum *symbols, uint32_t index, int32_t *number);

/* --- messages --- */

/* NULL: no memory. */
proto_message *proto_message_new(proto_set *set, const proto_type *type);
void proto_message_free(proto_message *message); /* NULL is allowed */
int proto_clear(proto_message *message);
/* Fields that are required need not be there: proto_missing tells. Messages nest at most `depth` deep. */
int proto_parse(proto_message *message, const char *data, uint64_t size, int depth);
/* Names of required fields that are not there, into `text`; 0: all are. */
int proto_missing(const proto_message *message, char *text, uint64_t size);
int proto_has_unknown(const proto_message *message);                   /* in itself, not in messages within it */
int proto_has(const proto_message *message, const proto_field *field); /* of fields with presence */
uint64_t proto_count(const proto_message *message, const proto_field *field);
/* One value; `index` is -1, or counts the items of a repeated field. A message may be NULL only where there is no memory. */
int proto_get(const proto_message *message, const proto_field *field, int64_t index, proto_value *value);
/* Sets a field, or adds to a repeated one. Messages are made: value->message is the new one, to be filled. */
int proto_put(proto_message *message, const proto_field *field, proto_value *value);
/* Bytes that writing takes; required fields that are not there do not matter. PROTO_MALFORMED: more than 2 GiB. */
int proto_size(const proto_message *message, uint64_t *size);
/* After proto_size, with nothing changed in between. */
int proto_write(const proto_message *message, char *to, uint64_t size);

#ifdef __cplusplus
}
#endif
#endif
