/* Layers: who wins, where it is from, what it overrode; by example and against a naive model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "flow/option.h"
#include "options/options.h"
#include "support/config_text.h"

static setting *
leaf(config_text *t, unsigned layer, const char *origin, const char *text)
{
	setting *s = arena_allocate_zeroed(t->arena, sizeof(*s));
	assert_non_null(s);
	*s = (setting){
		.kind = SETTING_STRING, .layer = (uint8_t)layer, .origin = origin, .text = text, .size = strlen(text)
	};
	return s;
}

static void
put(config_text *t, unsigned layer, const char *origin, const char *id, const char *key, const char *text)
{
	const char *const path[] = { "streams", id, key };
	config_put(t->config, path, 3, leaf(t, layer, origin, text));
}

/* "value@layer value@layer ...", newest first. */
static const char *
chain(config_text *t, const char *path)
{
	const char *text = "";
	for (const setting *s = config_explain(t->config, path); s != NULL; s = s->overrode)
		text =
			arena_format(t->arena, "%s%s%s@%d", text, text[0] == '\0' ? "" : " ", setting_print(t->arena, s), s->layer);
	return text;
}

static int
setup(void **state)
{
	static config_text t;
	config_text_open(&t);
	*state = &t;
	return 0;
}

static int
teardown(void **state)
{
	config_text_close(*state);
	return 0;
}

static void
load(config_text *t, const char *file, const char *text)
{
	config_text_write(file, text, strlen(text));
	assert_true(config_load(t->config, file));
}

static void
given_seven_layers_when_explained_then_values_and_what_they_overrode_are_as_declared(void **state)
{
	static const flow_option bootstrap = { .struct_size = FLOW_SIZEOF(flow_option),
										   .name = "bootstrap",
										   .type = FLOW_OPTION_BOOL,
										   .doc = "d",
										   .default_text = "false" };
	static const flow_option priority = { .struct_size = FLOW_SIZEOF(flow_option),
										  .name = "priority",
										  .type = FLOW_OPTION_INT,
										  .doc = "d",
										  .default_text = "-1" };
	static const flow_option *const options[] = { &bootstrap, &priority, NULL };
	static const flow_option_set set = { FLOW_SIZEOF(flow_option_set), 0, "", "d", options };
	static const flow_option_set *const sets[] = { &set, NULL };
	static const char *const flights[] = { "streams", "flights" };
	config_text *t = *state;
	config_put(t->config, flights, 2, options_default_settings(t->arena, sets, NULL));
	put(t, LAYER_SYSTEM, "systems.files", "flights", "offset_default", "oldest");
	put(t, LAYER_SYSTEM, "systems.local", "late", "compression", "zstd");
	load(t, "one.conf", "streams: { flights: { priority = 5; }; }; systems: { files: { poll_interval = \"2s\"; }; };");
	load(t, "two.conf",
		 "systems: { files: { poll_interval = \"3s\"; }; };\n"
		 "jobs: { late-flights: { streams: { flights: { bootstrap = false; partitions = 4; }; }; }; };");
	put(t, LAYER_DESCRIPTOR, "app.c:1", "flights", "bootstrap", "true");
	put(t, LAYER_DESCRIPTOR, "app.c:2", "flights", "priority", "7");
	put(t, LAYER_PLANNER, "planner", "flights", "partitions", "8");
	assert_true(config_set_command(t->config, "streams.late.compression=none"));
	config_use_job(t->config, "late-flights");
	assert_string_equal(config_text_problems(t), "");
	assert_string_equal(chain(t, "streams.flights.bootstrap"), "false@6 \"true\"@4 false@1");
	assert_string_equal(chain(t, "streams.flights.offset_default"), "\"oldest\"@2");
	assert_string_equal(chain(t, "streams.flights.priority"), "\"7\"@4 5@3 -1@1");
	assert_string_equal(chain(t, "systems.files.poll_interval"), "\"3s\"@3 \"2s\"@3");
	assert_string_equal(chain(t, "streams.late.compression"), "\"none\"@7 \"zstd\"@2");
	assert_string_equal(chain(t, "streams.flights.partitions"), "4@6 \"8\"@5");
	assert_string_equal(config_explain(t->config, "systems.files.poll_interval")->origin, "two.conf:1");
	assert_string_equal(config_explain(t->config, "streams.flights.bootstrap")->origin, "two.conf:2");
	assert_null(config_explain(t->config, "streams.flights.unset"));
	config_use_job(t->config, NULL);
	assert_string_equal(chain(t, "streams.flights.bootstrap"), "\"true\"@4 false@1");
}

static void
given_a_planners_setting_when_a_file_or_descriptor_has_the_key_then_it_is_dropped(void **state)
{
	config_text *t = *state;
	load(t, "one.conf", "streams: { a: { x = 1; g: { y = 1; }; }; };");
	put(t, LAYER_DESCRIPTOR, "app", "b", "x", "d");
	put(t, LAYER_SYSTEM, "systems.s", "c", "x", "s");
	put(t, LAYER_PLANNER, "planner", "a", "x", "p");
	put(t, LAYER_PLANNER, "planner", "b", "x", "p");
	put(t, LAYER_PLANNER, "planner", "c", "x", "p");
	const char *const nested[] = { "streams", "a", "g", "z" };
	config_put(t->config, nested, 4, leaf(t, LAYER_PLANNER, "planner", "p"));
	assert_string_equal(chain(t, "streams.a.x"), "1@3");
	assert_string_equal(chain(t, "streams.b.x"), "\"d\"@4");
	assert_string_equal(chain(t, "streams.c.x"), "\"p\"@5 \"s\"@2");
	assert_string_equal(chain(t, "streams.a.g"), "{ y = 1; z = \"p\"; }@3");
}

static void
given_lists_and_groups_when_merged_then_lists_replace_as_a_whole(void **state)
{
	config_text *t = *state;
	load(t, "one.conf", "streams: { a: { l = [1, 2, 3]; g: { x = 1; y = 2; }; s: { k = 1; }; }; };");
	load(t, "two.conf", "streams: { a: { l = [9]; g: { y = 3; z = 4; }; s = \"text\"; }; };");
	assert_string_equal(chain(t, "streams.a.l"), "[9]@3 [1, 2, 3]@3");
	assert_string_equal(chain(t, "streams.a.g"), "{ x = 1; y = 3; z = 4; }@3");
	assert_string_equal(chain(t, "streams.a.s"), "\"text\"@3 { k = 1; }@3");
	const char *const *names = config_names(t->config, "streams");
	assert_string_equal(names[0], "a");
	assert_null(names[1]);
}

static void
given_names_in_several_layers_when_listed_then_they_are_sorted_and_once(void **state)
{
	config_text *t = *state;
	load(t, "one.conf", "streams: { b: { x = 1; }; a: { x = 1; }; }; jobs: { j: { streams: { z: { x = 1; }; }; }; };");
	put(t, LAYER_DESCRIPTOR, "app", "c", "x", "1");
	put(t, LAYER_DESCRIPTOR, "app", "a", "x", "1");
	config_use_job(t->config, "j");
	const char *const *names = config_names(t->config, "streams");
	assert_string_equal(names[0], "a");
	assert_string_equal(names[1], "b");
	assert_string_equal(names[2], "c");
	assert_string_equal(names[3], "z");
	assert_null(names[4]);
	assert_null(config_names(t->config, "tables")[0]);
}

/* --- Against a model: a table of (layer order, key) -> value, with the rules said in the plainest way. --- */

#define KEYS 6
#define SOURCES 8 /* system, file 1, file 2, descriptor, planner, job of file 1, job of file 2, command */

static const unsigned source_layers[SOURCES] = { LAYER_SYSTEM,  LAYER_FILE, LAYER_FILE, LAYER_DESCRIPTOR,
												 LAYER_PLANNER, LAYER_JOB,  LAYER_JOB,  LAYER_COMMAND };
/* "k0".."k3" are keys of the stream, the last two stand in a group. */
static const char *const keys[KEYS] = { "k0", "k1", "k2", "k3", "g.k4", "g.k5" };

typedef struct model {
	int values[SOURCES][KEYS]; /* -1: not set */
} model;

static uint32_t
next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static const char *
model_chain(config_text *t, const model *m, int key)
{
	const char *text = "";
	int shadowed = 0; /* a file or descriptor has the key */
	for (int source = 0; source < SOURCES; source++) {
		int value = m->values[source][key];
		unsigned layer = source_layers[source];
		if (value < 0 || (layer == LAYER_PLANNER && shadowed))
			continue;
		shadowed = shadowed || layer == LAYER_FILE || layer == LAYER_DESCRIPTOR;
		text = arena_format(t->arena, "%d@%u%s%s", value, layer, text[0] == '\0' ? "" : " ", text);
	}
	return text;
}

static const char *
stream_text(config_text *t, const int *values)
{
	const char *plain = "", *grouped = "";
	for (int key = 0; key < KEYS; key++) {
		if (values[key] < 0)
			continue;
		if (key < 4)
			plain = arena_format(t->arena, "%s %s = %d;", plain, keys[key], values[key]);
		else
			grouped = arena_format(t->arena, "%s %s = %d;", grouped, keys[key] + 2, values[key]);
	}
	return arena_format(t->arena, "streams: { s: {%s%s%s%s }; };", plain, grouped[0] == '\0' ? "" : " g: {", grouped,
						grouped[0] == '\0' ? "" : " };");
}

static void
apply_code(config_text *t, const model *m, int source)
{
	for (int key = 0; key < KEYS; key++) {
		int value = m->values[source][key];
		if (value < 0)
			continue;
		setting *s = leaf(t, source_layers[source], "code", "");
		s->kind = SETTING_INT;
		s->integer = value;
		s->text = NULL;
		const char *const flat[] = { "streams", "s", keys[key] };
		const char *const nested[] = { "streams", "s", "g", keys[key] + 2 };
		config_put(t->config, key < 4 ? flat : nested, key < 4 ? 3 : 4, s);
	}
}

static void
apply(config_text *t, const model *m)
{
	for (int file = 0; file < 2; file++) {
		const char *text = arena_format(t->arena, "%s\njobs: { j: { %s }; };", stream_text(t, m->values[1 + file]),
										stream_text(t, m->values[5 + file]));
		load(t, file == 0 ? "one.conf" : "two.conf", text);
	}
	apply_code(t, m, 4); /* the order of calls says nothing: layers do */
	apply_code(t, m, 0);
	apply_code(t, m, 3);
	for (int key = 0; key < KEYS; key++)
		if (m->values[7][key] >= 0)
			assert_true(
				config_set_command(t->config, arena_format(t->arena, "streams.s.%s=%d", keys[key], m->values[7][key])));
	config_use_job(t->config, "j");
}

static void
given_random_layers_when_merged_then_every_chain_is_that_of_the_model(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 300; seed++) {
		config_text t;
		config_text_open(&t);
		uint32_t random = seed * 2654435761u;
		model m;
		for (int source = 0; source < SOURCES; source++)
			for (int key = 0; key < KEYS; key++)
				m.values[source][key] = next_random(&random) % 3 == 0 ? (int)(next_random(&random) % 1000) : -1;
		apply(&t, &m);
		assert_int_equal(t.list->errors, 0);
		for (int round = 0; round < 2; round++) { /* asking changes nothing */
			for (int key = 0; key < KEYS; key++) {
				const char *expected = model_chain(&t, &m, key);
				const char *found = chain(&t, arena_format(t.arena, "streams.s.%s", keys[key]));
				if (strcmp(expected, found) != 0)
					fail_msg("seed %u, key %s: expected \"%s\", found \"%s\"", seed, keys[key], expected, found);
			}
		}
		config_text_close(&t);
	}
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(given_seven_layers_when_explained_then_values_and_what_they_overrode_are_as_declared),
		TEST(given_a_planners_setting_when_a_file_or_descriptor_has_the_key_then_it_is_dropped),
		TEST(given_lists_and_groups_when_merged_then_lists_replace_as_a_whole),
		TEST(given_names_in_several_layers_when_listed_then_they_are_sorted_and_once),
		cmocka_unit_test(given_random_layers_when_merged_then_every_chain_is_that_of_the_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
