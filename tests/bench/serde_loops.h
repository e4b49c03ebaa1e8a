/*
 * bench/serde_loops.h - the same work by hand, for serde_bench and bench_loops: what a programmer would write for this one file.
 *
 * `out` has room for the whole output; the size written is returned.
 */
#ifndef BENCH_SERDE_LOOPS_H
#define BENCH_SERDE_LOOPS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The 19 columns of the flights as JSON lines: integers parsed and printed, NA as null, strings escaped. */
uint64_t loop_csv_to_json(const char *text, uint64_t size, char *out);
/* The same behind the header line. */
uint64_t loop_csv_rows(const char *text, uint64_t size, char *out);
/* The same rows read, and not written: integers and the timestamp converted, texts found, all of them in cells of 16 bytes. Returns the rows. */
uint64_t loop_csv_read(const char *text, uint64_t size, char *out);
/* simdjson's full parse of each line, and nothing else (see below). Returns the documents. */
uint64_t loop_json_parse(const char *text, uint64_t size, char *out);
/* simdjson's full parse (it reads up to 64 bytes behind the text, which must be there) of each line; status > 200 passes; id, time, user, status are written. */
uint64_t loop_json_filter(const char *text, uint64_t size, char *out);

#ifdef __cplusplus
}
#endif
#endif
