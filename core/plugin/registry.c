#include "plugin/registry.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/distance.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "flow_sdk/manifest.h"
#include "plugin/components_service.h"
#include "plugin/loader.h"
#include "plugin/plugin_file.h"

#define IDS_MAX 256 /* candidates of one kind for "did you mean" */

struct registry {
	arena *arena;
	plugin_entry **entries;
	size_t count;
	size_t capacity;
	const char **folders; /* resolved */
	size_t folder_count;
	const flow_plugin **loaded; /* in order of loading; as many as entries */
	size_t loaded_count;
};

const char *
component_kind_name(uint32_t kind)
{
	return flow_kind_name(kind);
}

uint32_t
component_kind_of_name(const char *name)
{
	return flow_kind_of_name(name);
}

/* --- scanning --- */

static int
grow(registry *r)
{
	if (r->count < r->capacity)
		return 1;
	size_t capacity = r->capacity == 0 ? 32 : r->capacity * 2;
	plugin_entry **entries = memory_reallocate(r->entries, capacity * sizeof(*entries));
	if (entries == NULL)
		return 0;
	r->entries = entries;
	const flow_plugin **loaded = memory_reallocate(r->loaded, capacity * sizeof(*loaded));
	if (loaded == NULL)
		return 0;
	r->loaded = loaded;
	r->capacity = capacity;
	return 1;
}

static plugin_entry *
find_file(const registry *r, const char *file)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->entries[i]->file, file) == 0)
			return r->entries[i];
	return NULL;
}

/* The first on the path wins. */
static void
shadow(registry *r, plugin_entry *entry)
{
	if (entry->refused != NULL)
		return;
	const plugin_entry *earlier = registry_find_plugin(r, entry->id);
	if (earlier == NULL)
		return;
	log_warn("plugin", "%s is not used: plugin %s is found before it in %s", entry->file, entry->id, earlier->file);
	entry->refused = arena_format(r->arena, "plugin %s is found before it in %s", entry->id, earlier->file);
	if (entry->refused == NULL)
		entry->refused = "another plugin with its id is found before it";
}

/* *entry is NULL only on failure. */
static flow_status
add_file(registry *r, const char *file, plugin_entry **entry, flow_error *error)
{
	*entry = NULL;
	const char *path = plugin_file_resolve(r->arena, file, error);
	if (path == NULL)
		return FLOW_E_NOT_FOUND;
	*entry = find_file(r, path);
	if (*entry != NULL)
		return FLOW_OK;
	plugin_entry *fresh = arena_allocate_zeroed(r->arena, sizeof(*fresh));
	if (fresh == NULL || !grow(r))
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	fresh->file = path;
	flow_status status = loader_inspect(r->arena, fresh, error);
	if (status != FLOW_OK)
		return status;
	shadow(r, fresh);
	r->entries[r->count++] = fresh;
	*entry = fresh;
	return FLOW_OK;
}

static int
is_shared_object(const struct dirent *item)
{
	size_t size = strlen(item->d_name);
	return size > 3 && item->d_name[0] != '.' && strcmp(item->d_name + size - 3, ".so") == 0;
}

static flow_status
add_folder_files(registry *r, const char *folder, struct dirent **items, int count, flow_error *error)
{
	for (int i = 0; i < count; i++) {
		plugin_entry *entry;
		flow_error reason = { 0 };
		const char *file = arena_format(r->arena, "%s/%s", folder, items[i]->d_name);
		if (file == NULL)
			return error_set(error, FLOW_E_MEMORY, "out of memory");
		flow_status status = add_file(r, file, &entry, &reason);
		if (status != FLOW_OK && status != FLOW_E_MEMORY) /* a dangling link, or gone meanwhile */
			log_warn("plugin", "%s", error_message(&reason));
		error_clear(&reason);
		if (status == FLOW_E_MEMORY)
			return error_set(error, status, "out of memory");
	}
	return FLOW_OK;
}

static int
knows_folder(const registry *r, const char *folder)
{
	for (size_t i = 0; i < r->folder_count; i++)
		if (strcmp(r->folders[i], folder) == 0)
			return 1;
	return 0;
}

/* A folder that is not there is an error only if it must be there. */
static flow_status
add_folder(registry *r, const char *name, int must, flow_error *error)
{
	flow_error reason = { 0 };
	const char *folder = plugin_file_resolve(r->arena, name, &reason);
	if (folder == NULL) {
		flow_status status =
			must ? error_set(error, FLOW_E_NOT_FOUND, "plugin folder %s", error_message(&reason)) : FLOW_OK;
		error_clear(&reason);
		return status;
	}
	if (knows_folder(r, folder))
		return FLOW_OK;
	struct dirent **items;
	int count = scandir(folder, &items, is_shared_object, alphasort);
	if (count < 0)
		return must ? error_set(error, status_of_errno(errno), "plugin folder %s: %s", name, strerror(errno)) : FLOW_OK;
	flow_status status = FLOW_E_MEMORY;
	const char **folders = memory_reallocate(r->folders, (r->folder_count + 1) * sizeof(*folders));
	if (folders != NULL) {
		r->folders = folders;
		r->folders[r->folder_count++] = folder;
		status = add_folder_files(r, folder, items, count, error);
	} else {
		error_set(error, status, "out of memory");
	}
	for (int i = 0; i < count; i++)
		free(items[i]);
	free(items);
	return status;
}

static flow_status
add_environment(registry *r, flow_error *error)
{
	const char *path = getenv("FLOWD_PLUGIN_PATH");
	while (path != NULL && *path != '\0') {
		const char *colon = strchr(path, ':');
		size_t size = colon == NULL ? strlen(path) : (size_t)(colon - path);
		char *folder = arena_copy(r->arena, path, size);
		if (folder == NULL)
			return error_set(error, FLOW_E_MEMORY, "out of memory");
		flow_status status = size == 0 ? FLOW_OK : add_folder(r, folder, 1, error);
		if (status != FLOW_OK) {
			error_prefix(error, "FLOWD_PLUGIN_PATH");
			return status;
		}
		path = colon == NULL ? NULL : colon + 1;
	}
	return FLOW_OK;
}

static flow_status
add_installation(registry *r, flow_error *error)
{
	static const char *const places[] = { "../lib/flowd/plugins", "../plugins" };
	char executable[4096];
	ssize_t size = readlink("/proc/self/exe", executable, sizeof(executable) - 1);
	if (size <= 0)
		return FLOW_OK;
	executable[size] = '\0';
	*strrchr(executable, '/') = '\0';
	for (size_t i = 0; i < FLOW_COUNT(places); i++) {
		const char *folder = arena_format(r->arena, "%s/%s", executable, places[i]);
		if (folder == NULL)
			return error_set(error, FLOW_E_MEMORY, "out of memory");
		flow_status status = add_folder(r, folder, 0, error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

registry *
registry_create(const char *const *directories, flow_error *error)
{
	registry *r = memory_allocate_zeroed(sizeof(*r));
	if (r == NULL || (r->arena = arena_create()) == NULL) {
		memory_release(r);
		error_set(error, FLOW_E_MEMORY, "out of memory");
		return NULL;
	}
	flow_status status = FLOW_OK;
	for (size_t i = 0; status == FLOW_OK && directories != NULL && directories[i] != NULL; i++)
		status = add_folder(r, directories[i], 1, error);
	if (status == FLOW_OK)
		status = add_environment(r, error);
	if (status == FLOW_OK)
		status = add_installation(r, error);
	if (status != FLOW_OK) {
		registry_destroy(r);
		return NULL;
	}
	components_service_use(r);
	host_services_add(FLOW_SERVICE_COMPONENTS, &components_service);
	return r;
}

void
registry_destroy(registry *r)
{
	if (r == NULL)
		return;
	for (size_t i = r->loaded_count; i > 0; i--)
		if (r->loaded[i - 1]->deinit != NULL)
			r->loaded[i - 1]->deinit();
	if (components_service_registry() == r)
		components_service_use(NULL);
	memory_release(r->entries);
	memory_release(r->loaded);
	memory_release(r->folders);
	arena_destroy(r->arena);
	memory_release(r);
}

/* --- asking --- */

size_t
registry_count(const registry *r)
{
	return r->count;
}

const plugin_entry *
registry_entry(const registry *r, size_t index)
{
	return r->entries[index];
}

const plugin_entry *
registry_find_plugin(const registry *r, const char *id)
{
	const plugin_entry *refused = NULL;
	for (size_t i = 0; i < r->count; i++) {
		if (strcmp(r->entries[i]->id, id) != 0)
			continue;
		if (r->entries[i]->refused == NULL)
			return r->entries[i];
		if (refused == NULL)
			refused = r->entries[i];
	}
	return refused;
}

static int
has_component(const plugin_entry *entry, uint32_t kind, const char *id)
{
	for (size_t i = 0; i < entry->component_count; i++)
		if (entry->components[i].kind == kind && strcmp(entry->components[i].id, id) == 0)
			return 1;
	return 0;
}

static int
compare_ids(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t
registry_ids(const registry *r, uint32_t kind, const char **ids, size_t capacity)
{
	size_t count = 0;
	for (size_t i = 0; i < r->count; i++) {
		const plugin_entry *entry = r->entries[i];
		for (size_t j = 0; entry->refused == NULL && j < entry->component_count; j++) {
			if (entry->components[j].kind != kind)
				continue;
			if (count < capacity)
				ids[count] = entry->components[j].id;
			count++;
		}
	}
	if (capacity > 0 && count > 0)
		qsort(ids, count < capacity ? count : capacity, sizeof(*ids), compare_ids);
	return count;
}

static const char *
find_served(const manifest_component *component, const char *word)
{
	size_t size = strlen(word);
	for (const char *const *served = component->served; *served != NULL; served++)
		if (strcspn(*served, "\t") == size && memcmp(*served, word, size) == 0)
			return *served;
	return NULL;
}

const manifest_component *
registry_serving(const registry *r, uint32_t kind, const char *word, const char **options)
{
	for (size_t i = 0; i < r->count; i++) {
		const plugin_entry *entry = r->entries[i];
		for (size_t j = 0; entry->refused == NULL && j < entry->component_count; j++) {
			const manifest_component *component = &entry->components[j];
			const char *served = component->kind == kind ? find_served(component, word) : NULL;
			if (served == NULL)
				continue;
			const char *tab = strchr(served, '\t');
			*options = tab == NULL ? NULL : tab + 1;
			return component;
		}
	}
	return NULL;
}

size_t
registry_served(const registry *r, uint32_t kind, arena *a, const char **words, size_t capacity)
{
	size_t count = 0;
	for (size_t i = 0; i < r->count; i++) {
		const plugin_entry *entry = r->entries[i];
		for (size_t j = 0; entry->refused == NULL && j < entry->component_count; j++) {
			if (entry->components[j].kind != kind)
				continue;
			for (const char *const *served = entry->components[j].served; *served != NULL; served++) {
				const char *word = count < capacity ? arena_copy(a, *served, strcspn(*served, "\t")) : NULL;
				if (count < capacity)
					words[count] = word == NULL ? "" : word;
				count++;
			}
		}
	}
	if (capacity > 0 && count > 0)
		qsort(words, count < capacity ? count : capacity, sizeof(*words), compare_ids);
	return count;
}

/* --- loading --- */

static flow_status
load(registry *r, plugin_entry *entry, flow_error *error)
{
	if (entry->loaded != NULL)
		return FLOW_OK;
	flow_status status = loader_load(r->arena, entry, error);
	if (status == FLOW_OK)
		r->loaded[r->loaded_count++] = entry->loaded;
	return status;
}

static flow_status
nobody_has(const registry *r, uint32_t kind, const char *id, flow_error *error)
{
	const char *ids[IDS_MAX];
	size_t count = registry_ids(r, kind, ids, IDS_MAX);
	const char *nearest = distance_nearest(id, ids, count < IDS_MAX ? count : IDS_MAX);
	error_set(error, FLOW_E_NOT_FOUND, "no plugin has the %s %s%s%s", flow_kind_name(kind), id,
			  nearest == NULL ? "" : ", did you mean ", nearest == NULL ? "" : nearest);
	for (size_t i = 0; error != NULL && i < r->count; i++)
		if (r->entries[i]->refused != NULL && r->entries[i]->component_count == 0)
			error_set(error, FLOW_E_NOT_FOUND, "%s; %s was refused: %s", error_message(error), r->entries[i]->file,
					  r->entries[i]->refused);
	return FLOW_E_NOT_FOUND;
}

flow_status
registry_component(registry *r, uint32_t kind, const char *id, const flow_component **component, flow_error *error)
{
	plugin_entry *entry = NULL;
	for (size_t i = 0; i < r->count; i++)
		if (has_component(r->entries[i], kind, id) && (entry == NULL || entry->refused != NULL))
			entry = r->entries[i];
	if (entry == NULL)
		return nobody_has(r, kind, id, error);
	flow_status status = load(r, entry, error);
	if (status != FLOW_OK)
		return status;
	for (size_t i = 0; entry->loaded->components[i] != NULL; i++) {
		*component = entry->loaded->components[i];
		if ((*component)->kind == kind && strcmp((*component)->id, id) == 0)
			return FLOW_OK;
	}
	return error_set(error, FLOW_E_INTERNAL, "%s: %s %s is in its manifest, but not in its tables", entry->file,
					 flow_kind_name(kind), id);
}

flow_status
registry_load_file(registry *r, const char *file, const plugin_entry **entry, flow_error *error)
{
	plugin_entry *added;
	*entry = NULL;
	flow_status status = add_file(r, file, &added, error);
	if (status != FLOW_OK)
		return status;
	*entry = added;
	return load(r, added, error);
}

void
registry_load_all(registry *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->entries[i]->refused == NULL) {
			flow_error reason = { 0 };
			if (load(r, r->entries[i], &reason) != FLOW_OK)
				log_warn("plugin", "%s", error_message(&reason));
			error_clear(&reason);
		}
}
