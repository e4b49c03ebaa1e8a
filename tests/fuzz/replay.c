/* Runs a fuzz target over the files of its corpus, where there is no fuzzer. A corpus without files is a failure. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

static int
replay(const char *file)
{
	FILE *from = fopen(file, "rb");
	if (from == NULL) {
		perror(file);
		return 0;
	}
	size_t capacity = (size_t)1024 * 1024;
	uint8_t *data = malloc(capacity);
	size_t size = data == NULL ? 0 : fread(data, 1, capacity, from);
	fclose(from);
	/* A block of exactly the size, so that a sanitizer sees each read beyond it. */
	uint8_t *exact = data == NULL ? NULL : malloc(size == 0 ? 1 : size);
	if (exact != NULL) {
		memcpy(exact, data, size);
		LLVMFuzzerTestOneInput(exact, size);
	}
	int done = exact != NULL;
	free(exact);
	free(data);
	return done;
}

int
main(int count, char **arguments)
{
	DIR *folder = count == 2 ? opendir(arguments[1]) : NULL;
	if (folder == NULL) {
		fprintf(stderr, "usage: %s CORPUS-FOLDER\n", arguments[0]);
		return 2;
	}
	size_t files = 0, failed = 0;
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		char path[4096];
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", arguments[1], entry->d_name);
		files++;
		failed += !replay(path);
	}
	closedir(folder);
	printf("%zu files\n", files);
	return files == 0 || failed != 0;
}
