/*
 * bench/kafka_loop_json.h - one JSON document to Avro by hand, for kafka_loop: simdjson's full parse, and an encoder for this one schema.
 */
#ifndef BENCH_KAFKA_LOOP_JSON_H
#define BENCH_KAFKA_LOOP_JSON_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOOP_JSON_BAD ((size_t)-1)
#define LOOP_AVRO_MOST 4096 /* bytes of a record; larger ones are taken for bad */

/* A document with id, time, user, status, and whatever else. Returns the size of what was written, 0 if the status is at most 200,
 * LOOP_JSON_BAD if it is no such document. Threads: one. */
size_t loop_json_to_avro(const void *text, size_t size, char out[LOOP_AVRO_MOST]);

#ifdef __cplusplus
}
#endif
#endif
