/*
 * flowd-manifest PLUGIN.so: loads the plugin and prints its manifest (flow_sdk/manifest.h). flowd_add_plugin() runs it after
 * linking and puts what it prints into the section .flowd.manifest.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_sdk/manifest.h"

static int
fail(const char *file, const char *reason)
{
	fprintf(stderr, "flowd-manifest: %s: %s\n", file, reason);
	return 1;
}

static const flow_plugin *
load(const char *file)
{
	/* dlopen searches the library path for names without a slash. */
	char path[4096];
	snprintf(path, sizeof(path), "%s%s", strchr(file, '/') == NULL ? "./" : "", file);
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		fail(file, dlerror());
		return NULL;
	}
	flow_plugin_entry entry;
	void *symbol = dlsym(handle, FLOW_PLUGIN_ENTRY_NAME);
	if (symbol == NULL) {
		fail(file, "does not export " FLOW_PLUGIN_ENTRY_NAME "; see flow/plugin.h");
		return NULL;
	}
	memcpy(&entry, &symbol, sizeof(entry)); /* ISO C has no cast from object to function pointers */
	const flow_plugin *plugin = entry(FLOW_ABI);
	if (plugin == NULL)
		fail(file, FLOW_PLUGIN_ENTRY_NAME " returned NULL");
	return plugin;
}

int
main(int argc, char **argv)
{
	if (argc != 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: flowd-manifest PLUGIN.so\nPrints the plugin's manifest as JSON.\n");
		return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
	}
	const flow_plugin *plugin = load(argv[1]);
	if (plugin == NULL)
		return 1;
	uint64_t size = flow_manifest_write(plugin, NULL, 0) + 1;
	if (size > FLOW_MANIFEST_MAX)
		return fail(argv[1], "the manifest is larger than 4 MiB");
	char *text = malloc(size);
	if (text == NULL)
		return fail(argv[1], "out of memory");
	flow_manifest_write(plugin, text, size);
	int failed = puts(text) < 0 || fflush(stdout) != 0;
	free(text);
	return failed ? fail(argv[1], "cannot write the manifest") : 0;
}
