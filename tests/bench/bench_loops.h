/*
 * bench/bench_loops.h - the parts of the program bench_loops. Each function is one of its commands; what goes wrong ends the process.
 */
#ifndef BENCH_BENCH_LOOPS_H
#define BENCH_BENCH_LOOPS_H

#include <stdint.h>

/* bench_files.c: from file to file */
void loop_csv(char **arguments);
void loop_json(char **arguments);
void loop_make_json(char **arguments);

/* bench_late.c */
void loop_late(char **arguments);

/* bench_memory.c: over memory */
void loop_count(char **arguments);
void loop_noop(char **arguments);
void loop_ring(char **arguments);

/* A file in memory, with at least 64 readable bytes behind it. Lives as long as the process. */
typedef struct mapped_file {
	const char *text;
	uint64_t size;
} mapped_file;

mapped_file file_map(const char *path);
int file_create(const char *path); /* "-": standard output */
void file_write(int descriptor, const char *bytes, uint64_t size);
_Noreturn void give_up(const char *what); /* with errno's text */

#endif
