/* Configuration: any bytes as a file, and as a --set. What comes out is resolved against a table, merged, explained, printed. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/config.h"
#include "fuzz/fuzz.h"
#include "options/options.h"

#define OPTION(variable, ...)                                                                                          \
	static const flow_option variable = { .struct_size = FLOW_SIZEOF(flow_option), __VA_ARGS__ }

static const char *const choices[] = { "one", "two\tDoc", NULL };
OPTION(o_text, .name = "text", .type = FLOW_OPTION_STRING, .flags = FLOW_OPTION_REQUIRED);
OPTION(o_path, .name = "path", .type = FLOW_OPTION_PATH, .condition = "mode=one");
OPTION(o_count, .name = "count", .type = FLOW_OPTION_INT, .minimum = "1", .maximum = "9");
OPTION(o_ratio, .name = "ratio", .type = FLOW_OPTION_FLOAT);
OPTION(o_size, .name = "size", .type = FLOW_OPTION_SIZE);
OPTION(o_lag, .name = "lag", .type = FLOW_OPTION_DURATION);
OPTION(o_mode, .name = "mode", .type = FLOW_OPTION_ENUM, .choices = choices);
OPTION(o_since, .name = "since", .type = FLOW_OPTION_DATETIME);
OPTION(o_key, .name = "key", .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_STRING, .flags = FLOW_OPTION_OR_ONE);
OPTION(o_map, .name = "map", .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_ANY);
OPTION(o_secret, .name = "secret", .type = FLOW_OPTION_SECRET);
static const flow_option *const members[] = { &o_lag, &o_count, NULL };
OPTION(o_group, .name = "group", .type = FLOW_OPTION_GROUP, .members = members, .condition = "!key");
OPTION(o_groups, .name = "groups", .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_GROUP, .members = members);
static const flow_option *const options[] = { &o_text,  &o_path, &o_count, &o_ratio,  &o_size,  &o_lag,    &o_mode,
											  &o_since, &o_key,  &o_map,   &o_secret, &o_group, &o_groups, NULL };
static const flow_option_set set = { FLOW_SIZEOF(flow_option_set), 0, "", "", options };
static const flow_option_set *const sets[] = { &set, NULL };

static void
load(config *c, const uint8_t *data, size_t size)
{
	char path[64];
	int descriptor = memfd_create("fuzz", 0);
	if (descriptor < 0)
		return;
	if (write(descriptor, data, size) == (ssize_t)size) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
		config_load(c, path);
	}
	close(descriptor);
}

static void
set_from(config *c, arena *a, const uint8_t *data, size_t size)
{
	const uint8_t *stop = memchr(data, '\n', size);
	char *text = arena_copy(a, (const char *)data, stop == NULL ? size : (size_t)(stop - data));
	if (text == NULL)
		return;
	config_set_command(c, text);
	char *value = arena_format(a, "streams.s.text=%s", text);
	if (value != NULL)
		config_set_command(c, value);
	config_explain(c, text);
}

static void
look_at(config *c, arena *a, const char *section)
{
	const char *const *names = config_names(c, section);
	for (size_t i = 0; names[i] != NULL; i++) {
		const setting *group = config_effective(c, section, names[i]);
		options_request request = {
			.sets = sets, .group = group, .path = section, .name = names[i], .base_folder = "/b"
		};
		options_resolve(a, &request, config_problems(c));
		if (group != NULL)
			setting_print(a, group);
	}
}

/* libconfig 1.5 loses the text before a syntax error (strbuf_append). */
const char *__lsan_default_suppressions(void);
const char *
__lsan_default_suppressions(void)
{
	return "leak:libconfig.so\n";
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	if (nowhere == NULL)
		nowhere = fopen("/dev/null", "w");
	arena *a = arena_create();
	problems *list = a == NULL ? NULL : problems_create(a);
	config *c = list == NULL ? NULL : config_create(a, list);
	if (c != NULL) {
		load(c, data, size);
		load(c, data, size / 2);
		set_from(c, a, data, size);
		config_use_job(c, "j");
		look_at(c, a, "systems");
		look_at(c, a, "streams");
		problems_sort(list);
		problems_print(list, nowhere, 0);
		problems_print(list, nowhere, 1);
	}
	arena_destroy(a);
	return 0;
}
