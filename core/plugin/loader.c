#include "plugin/loader.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "flow_sdk/manifest.h"
#include "plugin/metrics.h"
#include "plugin/plugin_file.h"
#include "plugin/registration.h"

static flow_status
refuse(arena *a, plugin_entry *entry, flow_error *error)
{
	entry->refused = arena_copy_text(a, error_message(error));
	if (entry->refused == NULL)
		entry->refused = "out of memory";
	return FLOW_E_PLUGIN;
}

/* The name of the file without folder and ending: what a plugin is called while its manifest is not known. */
static const char *
name_of_file(arena *a, const char *file)
{
	const char *slash = strrchr(file, '/');
	const char *name = slash == NULL ? file : slash + 1;
	const char *dot = strrchr(name, '.');
	return arena_copy(a, name, dot == NULL || dot == name ? strlen(name) : (size_t)(dot - name));
}

static flow_status
check_abi(const plugin_entry *entry, uint32_t abi, flow_error *error)
{
	if (abi == FLOW_ABI)
		return FLOW_OK;
	return error_set(error, FLOW_E_PLUGIN,
					 "built for ABI %u.%u, and this flowd has ABI %u.%u; build plugin %s %s again with "
					 "the SDK of this flowd",
					 abi >> 16, abi & 0xffff, (unsigned)FLOW_ABI_MAJOR, (unsigned)FLOW_ABI_MINOR, entry->id,
					 entry->version);
}

flow_status
loader_inspect(arena *a, plugin_entry *entry, flow_error *error)
{
	flow_error reason = { 0 };
	entry->id = name_of_file(a, entry->file);
	entry->version = "";
	entry->license = "";
	if (entry->id == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	flow_status status = plugin_file_read_manifest(a, entry, &reason);
	if (status == FLOW_OK)
		status = check_abi(entry, entry->abi, &reason);
	if (status == FLOW_OK)
		status = plugin_file_check_rights(entry->file, &reason);
	if (status != FLOW_OK && status != FLOW_E_MEMORY)
		refuse(a, entry, &reason);
	if (status == FLOW_E_MEMORY)
		error_move(error, &reason);
	error_clear(&reason);
	return status == FLOW_E_MEMORY ? status : FLOW_OK;
}

const flow_plugin *
loader_open(const plugin_entry *entry, flow_error *error)
{
	void *handle = dlopen(entry->file, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		error_set(error, FLOW_E_PLUGIN, "cannot be loaded: %s", dlerror());
		return NULL;
	}
	flow_plugin_entry entry_function;
	void *symbol = dlsym(handle, FLOW_PLUGIN_ENTRY_NAME);
	if (symbol == NULL) {
		error_set(error, FLOW_E_PLUGIN, "does not export " FLOW_PLUGIN_ENTRY_NAME ": not a plugin for ABI %u",
				  (unsigned)FLOW_ABI_MAJOR);
		return NULL;
	}
	memcpy(&entry_function, &symbol, sizeof(entry_function)); /* ISO C has no such cast */
	const flow_plugin *plugin = entry_function(FLOW_ABI);
	if (plugin == NULL) {
		error_set(error, FLOW_E_PLUGIN, FLOW_PLUGIN_ENTRY_NAME " returned NULL");
		return NULL;
	}
	if (plugin->struct_size < offsetof(flow_plugin, id)) {
		error_set(error, FLOW_E_PLUGIN, "its root has struct_size %u; set it with FLOW_SIZEOF", plugin->struct_size);
		return NULL;
	}
	if (check_abi(entry, plugin->abi, error) != FLOW_OK)
		return NULL;
	if (plugin->struct_size < FLOW_SIZEOF(flow_plugin)) {
		error_set(error, FLOW_E_PLUGIN, "its root has struct_size %u, not %u", plugin->struct_size,
				  FLOW_SIZEOF(flow_plugin));
		return NULL;
	}
	return plugin;
}

flow_status
loader_check_manifest(arena *a, const plugin_entry *entry, const flow_plugin *plugin, flow_error *error)
{
	uint64_t size = flow_manifest_write(plugin, NULL, 0);
	char *text = arena_allocate(a, size + 1);
	if (text == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	flow_manifest_write(plugin, text, size + 1);
	const char *stored = flow_manifest_digest(flow_slice_of(entry->manifest));
	const char *actual = flow_manifest_digest(flow_slice_make(text, size));
	if (stored != NULL && actual != NULL && memcmp(stored, actual, FLOW_MANIFEST_DIGEST_SIZE) == 0)
		return FLOW_OK;
	return error_set(error, FLOW_E_PLUGIN,
					 "its manifest is not that of its tables; write it again with flowd-manifest");
}

static flow_status
check_registration(const flow_plugin *plugin, const char *file, flow_error *error)
{
	arena *scratch = arena_create();
	problems *list = scratch == NULL ? NULL : problems_create(scratch);
	flow_status status = FLOW_OK;
	if (list == NULL) {
		status = error_set(error, FLOW_E_MEMORY, "out of memory");
	} else {
		registration_check(plugin, file, list);
		const problem *first = NULL;
		for (size_t i = 0; i < list->count && first == NULL; i++)
			first = list->items[i]->warning ? NULL : list->items[i];
		if (first != NULL)
			status = error_set(error, FLOW_E_PLUGIN, "%s%s%s (%zu in all; flowd plugin check shows them)",
							   first->path == NULL ? "" : first->path, first->path == NULL ? "" : ": ", first->message,
							   list->errors);
	}
	arena_destroy(scratch);
	return status;
}

static flow_status
call_init(const flow_plugin *plugin, flow_error *error)
{
	if (plugin->init == NULL)
		return FLOW_OK;
	metrics_scope(plugin->id, NULL);
	flow_status status = plugin->init(&host_services, error);
	metrics_scope(NULL, NULL);
	if (status == FLOW_OK)
		return FLOW_OK;
	if (error_message(error)[0] == '\0')
		error_set(error, status, "%s", status_text(status));
	error_prefix(error, "its init failed");
	return FLOW_E_PLUGIN;
}

static flow_status
load(arena *a, plugin_entry *entry, flow_error *error)
{
	const flow_plugin *plugin = loader_open(entry, error);
	flow_status status = plugin == NULL ? FLOW_E_PLUGIN : check_registration(plugin, entry->file, error);
	if (status == FLOW_OK)
		status = loader_check_manifest(a, entry, plugin, error);
	if (status == FLOW_OK)
		status = call_init(plugin, error);
	if (status != FLOW_OK)
		return status;
	entry->loaded = plugin;
	log_debug("plugin", "loaded %s %s from %s", plugin->id, plugin->version, entry->file);
	return FLOW_OK;
}

flow_status
loader_load(arena *a, plugin_entry *entry, flow_error *error)
{
	if (entry->loaded != NULL)
		return FLOW_OK;
	if (entry->refused == NULL) {
		flow_error reason = { 0 };
		flow_status status = load(a, entry, &reason);
		if (status != FLOW_OK)
			refuse(a, entry, &reason);
		error_clear(&reason);
	}
	if (entry->refused == NULL)
		return FLOW_OK;
	return error_set(error, FLOW_E_PLUGIN, "%s: plugin %s %s refused: %s", entry->file, entry->id, entry->version,
					 entry->refused);
}
