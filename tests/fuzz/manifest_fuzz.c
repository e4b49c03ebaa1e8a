/* The manifest reader: any bytes as a shared object, and as a manifest with a fitting digest in a proper one. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "flow_sdk/manifest.h"
#include "fuzz/fuzz.h"
#include "plugin/plugin_file.h"
#include "support/elf_file.h"

static void
read_manifest(int descriptor)
{
	char path[64];
	plugin_entry entry = { 0 };
	flow_error error = { 0 };
	arena *a = arena_create();
	if (a != NULL && descriptor >= 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
		entry.file = path;
		plugin_file_read_manifest(a, &entry, &error);
	}
	error_clear(&error);
	arena_destroy(a);
	if (descriptor >= 0)
		close(descriptor);
}

/* With the digest that flow_manifest_write would put behind it, so that the JSON itself is reached. */
static size_t
with_digest(const uint8_t *data, size_t size, char *text)
{
	uint64_t digest = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < size; i++) {
		text[i] = (char)data[i];
		digest = (digest ^ data[i]) * UINT64_C(0x100000001b3);
	}
	return size + (size_t)sprintf(text + size, ",\"digest\":\"%016llx\"}", (unsigned long long)digest);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_manifest(elf_file_open(data, size, NULL, 0));
	char *text = malloc(size + 64);
	if (text != NULL) {
		size_t length = with_digest(data, size, text);
		elf_file file = elf_file_make(length);
		read_manifest(elf_file_open(&file, sizeof(file), text, length));
	}
	free(text);
	return 0;
}
