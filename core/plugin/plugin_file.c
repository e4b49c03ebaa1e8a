#include "plugin/plugin_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "flow_sdk/manifest.h"
#include "plugin/elf_section.h"
#include "plugin/registration.h"

const char *
plugin_file_resolve(arena *a, const char *file, flow_error *error)
{
	char *real = realpath(file, NULL);
	if (real == NULL) {
		error_set(error, errno == ENOENT ? FLOW_E_NOT_FOUND : status_of_errno(errno), "%s: %s", file, strerror(errno));
		return NULL;
	}
	const char *path = arena_copy_text(a, real);
	free(real);
	if (path == NULL)
		error_set(error, FLOW_E_MEMORY, "out of memory");
	return path;
}

static flow_status
check_one(const char *path, const char *what, flow_error *error)
{
	struct stat information;
	if (stat(path, &information) != 0)
		return error_set(error, status_of_errno(errno), "%s: %s", path, strerror(errno));
	if (information.st_uid != 0 && information.st_uid != geteuid())
		return error_set(error, FLOW_E_DENIED,
						 "the %s %s belongs to user %u, neither to root nor to user %u, who runs flowd", what, path,
						 (unsigned)information.st_uid, (unsigned)geteuid());
	if ((information.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return error_set(error, FLOW_E_DENIED, "the %s %s may be written by %s; run: chmod go-w %s", what, path,
						 (information.st_mode & S_IWOTH) != 0 ? "everybody" : "its group", path);
	return FLOW_OK;
}

flow_status
plugin_file_check_rights(const char *file, flow_error *error)
{
	flow_status status = check_one(file, "file", error);
	if (status != FLOW_OK)
		return status;
	const char *slash = strrchr(file, '/');
	char *folder = memory_copy_text(file, slash == NULL || slash == file ? 1 : (size_t)(slash - file));
	if (folder == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	status = check_one(slash == NULL ? "." : folder, "folder", error);
	memory_release(folder);
	return status;
}

/* The first sentence. */
static const char *
summary_of(arena *a, const char *doc)
{
	const char *end = doc;
	while (*end != '\0' && !(*end == '.' && (end[1] == ' ' || end[1] == '\n' || end[1] == '\0')))
		end++;
	return arena_copy(a, doc, (size_t)(end - doc));
}

static const char *
text_member(arena *a, const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return arena_copy_text(a, text == NULL ? "" : text);
}

/* Words, of which none is empty. */
static flow_status
read_served(arena *a, const json_t *list, manifest_component *component, flow_error *error)
{
	size_t count = json_array_size(list);
	const char **served = arena_allocate_zeroed(a, (count + 1) * sizeof(*served));
	if (served == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	for (size_t i = 0; i < count; i++) {
		const char *word = json_string_value(json_array_get(list, i));
		if (word == NULL || strcspn(word, "\t") == 0)
			return error_set(error, FLOW_E_CORRUPT, "its manifest has a component %s that serves an empty word",
							 component->id);
		served[i] = arena_copy_text(a, word);
		if (served[i] == NULL)
			return error_set(error, FLOW_E_MEMORY, "out of memory");
	}
	component->served = served;
	return FLOW_OK;
}

static flow_status
read_component(arena *a, const json_t *json, manifest_component *component, flow_error *error)
{
	const char *kind = json_string_value(json_object_get(json, "kind"));
	const char *doc = json_string_value(json_object_get(json, "doc"));
	json_int_t flags = json_integer_value(json_object_get(json, "flags"));
	component->kind = kind == NULL ? 0 : flow_kind_of_name(kind);
	component->id = text_member(a, json, "id");
	component->summary = summary_of(a, doc == NULL ? "" : doc);
	component->flags = (uint32_t)flags;
	if (component->id == NULL || component->summary == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	if (component->kind == 0 || flags < 0 || flags > UINT32_MAX || !registration_is_id(component->id))
		return error_set(error, FLOW_E_CORRUPT, "its manifest has a component without proper kind, id or flags");
	return read_served(a, json_object_get(json, "served"), component, error);
}

static flow_status
read_components(arena *a, const json_t *list, plugin_entry *entry, flow_error *error)
{
	size_t count = json_array_size(list);
	manifest_component *components = arena_allocate_zeroed(a, (count + 1) * sizeof(*components));
	if (components == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	for (size_t i = 0; i < count; i++) {
		flow_status status = read_component(a, json_array_get(list, i), &components[i], error);
		if (status != FLOW_OK)
			return status;
	}
	entry->components = components;
	entry->component_count = count;
	return FLOW_OK;
}

static flow_status
read_json(arena *a, const json_t *manifest, plugin_entry *entry, flow_error *error)
{
	const char *id = text_member(a, manifest, "id");
	const char *version = text_member(a, manifest, "version");
	const char *license = text_member(a, manifest, "license");
	json_int_t abi = json_integer_value(json_object_get(manifest, "abi"));
	if (id == NULL || version == NULL || license == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	if (!registration_is_id(id) || abi < 0 || abi > UINT32_MAX || !json_is_integer(json_object_get(manifest, "abi")))
		return error_set(error, FLOW_E_CORRUPT, "its manifest has no proper id or abi");
	entry->id = id;
	entry->version = version;
	entry->license = license;
	entry->abi = (uint32_t)abi;
	return read_components(a, json_object_get(manifest, "components"), entry, error);
}

static flow_status
parse(arena *a, flow_slice text, plugin_entry *entry, flow_error *error)
{
	json_error_t where;
	json_t *manifest = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, &where);
	if (manifest == NULL)
		return error_set(error, FLOW_E_CORRUPT, "its manifest is no JSON: line %d: %s", where.line, where.text);
	flow_status status = json_is_object(manifest) ? read_json(a, manifest, entry, error)
												  : error_set(error, FLOW_E_CORRUPT, "its manifest is no JSON object");
	json_decref(manifest);
	return status;
}

static flow_status
read_section(const char *file, char **text, uint64_t *size, flow_error *error)
{
	int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a pipe must not hold us up */
	if (descriptor < 0)
		return error_set(error, status_of_errno(errno), "cannot open: %s", strerror(errno));
	flow_status status = elf_section_read(descriptor, FLOW_MANIFEST_SECTION, FLOW_MANIFEST_MAX, text, size, error);
	close(descriptor);
	if (status == FLOW_E_NOT_FOUND)
		error_set(error, status,
				  "no section " FLOW_MANIFEST_SECTION ": not a plugin of flowd, or not built with "
				  "flowd_add_plugin");
	return status;
}

flow_status
plugin_file_read_manifest(arena *a, plugin_entry *entry, flow_error *error)
{
	char *text = NULL;
	uint64_t size = 0;
	flow_status status = read_section(entry->file, &text, &size, error);
	if (status != FLOW_OK)
		return status;
	while (size > 0 && text[size - 1] == '\n')
		size--;
	if (flow_manifest_digest(flow_slice_make(text, size)) == NULL)
		status = error_set(error, FLOW_E_CORRUPT, "its manifest is damaged: the digest does not fit");
	else if ((entry->manifest = arena_copy(a, text, size)) == NULL)
		status = error_set(error, FLOW_E_MEMORY, "out of memory");
	else
		status = parse(a, flow_slice_make(text, size), entry, error);
	memory_release(text);
	return status;
}
