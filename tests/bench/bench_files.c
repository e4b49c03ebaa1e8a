/* Loops from file to file: mapped input, slices of whole lines, one write a slice (bench/bench_loops.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench_loops.h"
#include "bench/bench_rows.h"
#include "bench/serde_loops.h"

#define SLICE (1u << 18)
#define LINE_MOST (1u << 16)
#define GROWTH 8 /* output bytes for one of input, at most */

void
give_up(const char *what)
{
	fprintf(stderr, "bench_loops: %s: %s\n", what, strerror(errno));
	exit(1);
}

mapped_file
file_map(const char *path)
{
	struct stat about;
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0 || fstat(descriptor, &about) != 0)
		give_up(path);
	/* One page of zeros behind the file: readers of whole words may look there. */
	size_t size = (size_t)about.st_size;
	char *memory = mmap(NULL, size + 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || (size != 0 && mmap(memory, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0) == MAP_FAILED))
		give_up(path);
	close(descriptor);
	return (mapped_file){ memory, size };
}

int
file_create(const char *path)
{
	if (strcmp(path, "-") == 0)
		return STDOUT_FILENO;
	int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (descriptor < 0)
		give_up(path);
	return descriptor;
}

void
file_write(int descriptor, const char *bytes, uint64_t size)
{
	for (uint64_t at = 0; at < size;) {
		ssize_t written = write(descriptor, bytes + at, size - at);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			give_up("write");
		at += (uint64_t)written;
	}
}

static void
by_slices(const char *text, uint64_t size, const char *path, uint64_t (*loop)(const char *, uint64_t, char *))
{
	int descriptor = file_create(path);
	char *out = malloc((size_t)(SLICE + LINE_MOST) * GROWTH);
	if (out == NULL)
		give_up("memory");
	for (const char *at = text, *end = text + size; at < end;) {
		const char *stop = end;
		if ((uint64_t)(end - at) > SLICE) {
			stop = memchr(at + SLICE, '\n', (size_t)(end - at) - SLICE);
			stop = stop == NULL ? end : stop + 1;
		}
		file_write(descriptor, out, loop(at, (uint64_t)(stop - at), out));
		at = stop;
	}
	free(out);
}

void
loop_csv(char **arguments)
{
	mapped_file file = file_map(arguments[0]);
	const char *rows = memchr(file.text, '\n', file.size);
	if (rows == NULL)
		give_up("there is no header line");
	by_slices(rows + 1, file.size - (uint64_t)(rows + 1 - file.text), arguments[1], loop_csv_rows);
}

void
loop_json(char **arguments)
{
	mapped_file file = file_map(arguments[0]);
	by_slices(file.text, file.size, arguments[1], loop_json_filter);
}

void
loop_make_json(char **arguments)
{
	uint64_t count = strtoull(arguments[0], NULL, 10);
	int descriptor = file_create(arguments[1]);
	char *out = malloc(SLICE + 1024);
	if (out == NULL)
		give_up("memory");
	uint64_t size = 0;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t r = bench_mix(i) >> 33;
		size += (uint64_t)sprintf(out + size,
		                          "{\"id\":%llu,\"time\":\"2024-03-%02uT%02u:%02u:%02uZ\",\"user\":\"user-%06u@example.org\",\"status\":%u,"
		                          "\"path\":\"/articles/%u/comments/%u?page=%u&order=newest\",\"agent\":\"Mozilla/5.0 (X11; Linux x86_64) "
		                          "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Safari/537.36\",\"bytes\":%u}\n",
		                          (unsigned long long)(1000000 + i), (unsigned)(1 + r % 28), (unsigned)(r % 24),
		                          (unsigned)(r % 60), (unsigned)(r % 59), (unsigned)(r % 1000000),
		                          (unsigned)(200 + r % 4 * 100), (unsigned)(r % 100000), (unsigned)(r % 1000),
		                          (unsigned)(r % 50), (unsigned)(r % 100000));
		if (size >= SLICE) {
			file_write(descriptor, out, size);
			size = 0;
		}
	}
	file_write(descriptor, out, size);
	free(out);
}
