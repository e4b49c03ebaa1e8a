/*
 * The ceilings: what a programmer would write for one job alone, over the same files and memory as flowd.
 *
 *     bench_loops csv FLIGHTS OUT            19 typed columns to JSON lines
 *     bench_loops json DOCUMENTS OUT         simdjson's full parse, status > 200, four of seven fields written
 *     bench_loops late FLIGHTS CARRIERS OUT  the quickstart's job with a hash map
 *     bench_loops count RECORDS KEYS         16-byte keys in memory, counted in a hash map
 *     bench_loops noop RECORDS               five functions that visit every record, called directly
 *     bench_loops ring RECORDS               batches of 1,024 records through a ring between two threads
 *     bench_loops make-json COUNT OUT        writes documents of about 300 bytes with seven fields
 */
#include "bench/bench_loops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	int arguments;
	void (*run)(char **arguments);
} loops[] = {
	{ "csv", 2, loop_csv },     { "json", 2, loop_json }, { "late", 3, loop_late },           { "count", 2, loop_count },
	{ "noop", 1, loop_noop },   { "ring", 1, loop_ring }, { "make-json", 2, loop_make_json },
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(loops) / sizeof(*loops); i++) {
		if (strcmp(argv[1], loops[i].name) == 0 && argc - 2 == loops[i].arguments) {
			loops[i].run(argv + 2);
			return 0;
		}
	}
	fprintf(stderr, "usage: see the head of tests/bench/bench_loops.c\n");
	return 2;
}
