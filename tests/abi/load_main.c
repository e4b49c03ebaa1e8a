/* test.abi.load PLUGIN.so...: loads each file as the host does, and prints what is in it. */
#include <stdio.h>

#include "base/error.h"
#include "flow/flow.h"
#include "plugin/registry.h"

int
main(int argc, char **argv)
{
	flow_error error = { 0 };
	registry *r = registry_create(NULL, &error);
	int failed = r == NULL || argc < 2;
	for (int i = 1; i < argc && !failed; i++) {
		const plugin_entry *entry;
		failed = registry_load_file(r, argv[i], &entry, &error) != FLOW_OK;
		for (size_t c = 0; !failed && c < entry->component_count; c++)
			printf("%s %s: %s %s\n", entry->id, entry->version, component_kind_name(entry->components[c].kind),
				   entry->components[c].id);
	}
	if (failed)
		fprintf(stderr, "test.abi.load: %s\n", error_message(&error));
	error_clear(&error);
	registry_destroy(r);
	return failed;
}
