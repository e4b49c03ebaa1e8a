#include "plugin/plugin_check.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "plugin/elf_section.h"
#include "plugin/loader.h"
#include "plugin/plugin_file.h"
#include "plugin/registration.h"

#define SYMBOLS_MAX ((uint64_t)16 << 20)
#define NAMED_MAX 5 /* so many surplus exports are named */

/* Runs of sanitizers export names of their own. */
static int
is_own_export(const char *name)
{
	return strcmp(name, FLOW_PLUGIN_ENTRY_NAME) != 0 && strncmp(name, "__", 2) != 0;
}

static void
check_symbols(const char *file, const Elf64_Sym *symbols, size_t count, const char *names, uint64_t names_size,
			  problems *list)
{
	size_t surplus = 0;
	for (size_t i = 0; i < count; i++) {
		const Elf64_Sym *symbol = &symbols[i];
		unsigned binding = ELF64_ST_BIND(symbol->st_info);
		if (symbol->st_shndx == SHN_UNDEF || binding == STB_LOCAL || symbol->st_name >= names_size)
			continue;
		const char *name = names + symbol->st_name; /* NUL-terminated: elf_section_read puts one behind the section */
		if (is_own_export(name) && ++surplus <= NAMED_MAX)
			problems_add(list, file, 0, "exports", "%s is exported; only " FLOW_PLUGIN_ENTRY_NAME " should be", name);
	}
	if (surplus > NAMED_MAX)
		problems_add(list, file, 0, "exports", "%zu further names are exported", surplus - NAMED_MAX);
}

/* Surplus exports may clash with those of other libraries, but do not stop the host. */
static void
check_exports(const char *file, problems *list)
{
	char *symbols = NULL, *names = NULL;
	uint64_t symbols_size = 0, names_size = 0;
	int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t before = list->count;
	if (descriptor >= 0 &&
		elf_section_read(descriptor, ".dynsym", SYMBOLS_MAX, &symbols, &symbols_size, NULL) == FLOW_OK &&
		elf_section_read(descriptor, ".dynstr", SYMBOLS_MAX, &names, &names_size, NULL) == FLOW_OK)
		check_symbols(file, (const Elf64_Sym *)(const void *)symbols, symbols_size / sizeof(Elf64_Sym), names,
					  names_size, list);
	for (size_t i = before; i < list->count; i++) {
		list->items[i]->warning = 1;
		list->errors--;
	}
	memory_release(symbols);
	memory_release(names);
	if (descriptor >= 0)
		close(descriptor);
}

static void
add(problems *list, const char *file, const char *path, flow_error *reason)
{
	problems_add(list, file, 0, path, "%s", error_message(reason));
	error_clear(reason);
}

static void
check_init(const flow_plugin *plugin, const char *file, problems *list)
{
	flow_error reason = { 0 };
	if (plugin->init == NULL)
		return;
	flow_status status = plugin->init(&host_services, &reason);
	if (status != FLOW_OK)
		problems_add(list, file, 0, "init", "it failed: %s",
					 error_message(&reason)[0] == '\0' ? status_text(status) : error_message(&reason));
	else if (plugin->deinit != NULL)
		plugin->deinit();
	error_clear(&reason);
}

static void
check_loaded(arena *a, plugin_entry *entry, problems *list)
{
	flow_error reason = { 0 };
	const flow_plugin *plugin = loader_open(entry, &reason);
	if (plugin == NULL) {
		add(list, entry->file, "loading", &reason);
		return;
	}
	size_t errors = list->errors;
	registration_check(plugin, entry->file, list);
	if (list->errors != errors)
		return; /* the tables cannot be walked or called safely */
	if (loader_check_manifest(a, entry, plugin, &reason) != FLOW_OK)
		add(list, entry->file, "manifest", &reason);
	check_init(plugin, entry->file, list);
	entry->loaded = plugin;
}

const plugin_entry *
plugin_check(arena *a, const char *file, problems *list)
{
	flow_error reason = { 0 };
	plugin_entry *entry = arena_allocate_zeroed(a, sizeof(*entry));
	if (entry == NULL)
		return NULL;
	entry->id = entry->version = entry->license = "";
	entry->file = plugin_file_resolve(a, file, &reason);
	if (entry->file == NULL) {
		entry->file = file;
		add(list, file, "file", &reason);
		return entry;
	}
	if (plugin_file_check_rights(entry->file, &reason) != FLOW_OK)
		add(list, entry->file, "rights", &reason);
	if (plugin_file_read_manifest(a, entry, &reason) != FLOW_OK) {
		add(list, entry->file, "manifest", &reason);
		return entry; /* whatever it is, it is not run */
	}
	check_exports(entry->file, list);
	if (list->errors == 0)
		check_loaded(a, entry, list);
	return entry;
}
