/* Who wins: random settings in all layers against a model that says it in one line; provenance names every layer that spoke. */
#include <stdlib.h>
#include <string.h>

#include "support/plan_text.h"

/* The layers that can speak, lowest first. In the model the last one that speaks wins. */
#define LAYERS 7
#define OF_SYSTEM 0
#define OF_FILE 1
#define OF_SECOND_FILE 2
#define OF_DESCRIPTOR 3
#define OF_PLANNER 4
#define OF_JOB 5
#define OF_COMMAND 6
static const uint8_t layers[LAYERS] = { LAYER_SYSTEM,  LAYER_FILE, LAYER_FILE,   LAYER_DESCRIPTOR,
										LAYER_PLANNER, LAYER_JOB,  LAYER_COMMAND };

/* What stands in a key: numbers, booleans, lists (which replace each other as a whole), names of systems. */
enum form { NUMBER, TRUTH, LIST, SYSTEM };

/* Of the input `a`, and of the intermediate stream behind the step `k`: only there the planner speaks, and no system or descriptor. */
#define KEYS 7
#define PRIORITY 0
#define BOOTSTRAP 1
#define RESET 2
#define CARRIER 6
static const struct {
	const char *stream, *group, *name;
	enum form form;
} keys[KEYS] = {
	{ "a", NULL, "priority", NUMBER }, { "a", NULL, "bootstrap", TRUTH }, { "a", NULL, "reset_offset", TRUTH },
	{ "a", "range", "low", NUMBER },   { "a", "range", "high", NUMBER },  { "a", NULL, "only", LIST },
	{ "t-k", NULL, "system", SYSTEM },
};

static unsigned seed;

static unsigned
next_random(unsigned below)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % below;
}

struct spoken {
	int says[LAYERS];
	int value[LAYERS];
};

static const char *
path_of(size_t key, char buffer[64])
{
	snprintf(buffer, 64, "streams.%s.%s%s%s", keys[key].stream, keys[key].group == NULL ? "" : keys[key].group,
			 keys[key].group == NULL ? "" : ".", keys[key].name);
	return buffer;
}

static const char *
value_text(size_t key, int value, char buffer[32])
{
	switch (keys[key].form) {
	case NUMBER:
		snprintf(buffer, 32, "%d", value);
		break;
	case LIST:
		snprintf(buffer, 32, value % 2 == 0 ? "[%d]" : "[%d, 7]", value);
		break;
	case TRUTH:
		return value % 2 == 0 ? "false" : "true";
	case SYSTEM:
		return value % 2 == 0 ? "\"carrier\"" : "\"other\"";
	}
	return buffer;
}

/* What one layer says of a stream, as it stands in a file. */
static const char *
layer_text(config_text *t, const struct spoken *spoken, const char *stream, size_t layer)
{
	const char *plain = "", *range = "";
	for (size_t key = 0; key < KEYS; key++) {
		char buffer[32];
		if (!spoken[key].says[layer] || strcmp(keys[key].stream, stream) != 0)
			continue;
		const char **text = keys[key].group == NULL ? &plain : &range;
		*text = arena_format(t->arena, "%s %s = %s;", *text, keys[key].name,
							 value_text(key, spoken[key].value[layer], buffer));
	}
	return range[0] == '\0' ? plain : arena_format(t->arena, "%s range: {%s };", plain, range);
}

static void
speak(struct spoken *spoken)
{
	for (size_t key = 0; key < KEYS; key++) {
		for (size_t layer = 0; layer < LAYERS; layer++) {
			spoken[key].says[layer] = next_random(3) != 0;
			spoken[key].value[layer] = (int)next_random(100);
			int code = layer == OF_SYSTEM || layer == OF_DESCRIPTOR;
			if (layer == OF_PLANNER || (key == CARRIER && code))
				spoken[key].says[layer] = 0;
		}
	}
	/* The planner gives way where a file has the key. */
	spoken[CARRIER].says[OF_PLANNER] = !spoken[CARRIER].says[OF_FILE] && !spoken[CARRIER].says[OF_SECOND_FILE];
	spoken[CARRIER].value[OF_PLANNER] = 0;
}

static const char *
streams_text(config_text *t, const struct spoken *spoken, size_t layer)
{
	return arena_format(t->arena, "streams: { a: {%s }; t-k: {%s }; };", layer_text(t, spoken, "a", layer),
						layer_text(t, spoken, "t-k", layer));
}

static const char *
first_file(config_text *t, const struct spoken *spoken)
{
	return arena_format(
		t->arena,
		"%s\njobs: { t: { %s }; };\napplication: { name = \"t\"; default_system = \"carrier\"; systems: {\n"
		"local: { type = \"messaging\"; serde: { type = \"json\"; types: { y = \"string\"; }; }; stream_defaults: {%s }; };\n"
		"carrier: { type = \"messaging\"; serde: { key = \"string\"; value = \"json\"; }; };\n"
		"other: { type = \"messaging\"; serde: { key = \"string\"; value = \"json\"; }; }; };\n"
		"inputs: { a: { system = \"local\"; bounded = true;%s }; }; outputs: { o: { system = \"local\"; }; };\n"
		"flow: ( { from = \"a\"; name = \"k\"; key_by = \"y\"; to = \"o\"; } ); };\n",
		streams_text(t, spoken, OF_FILE), streams_text(t, spoken, OF_JOB), layer_text(t, spoken, "a", OF_SYSTEM),
		layer_text(t, spoken, "a", OF_DESCRIPTOR));
}

/* The chain of one key, from the highest layer down, as the model has it. */
static void
check_key(plan_text *t, const struct spoken *spoken, size_t key, int round)
{
	char path[64];
	const setting *found = config_explain(t->text.config, path_of(key, path));
	for (size_t layer = LAYERS; layer-- > 0;) {
		char buffer[32];
		if (!spoken[key].says[layer])
			continue;
		const char *text = value_text(key, spoken[key].value[layer], buffer);
		if (found == NULL || found->layer != layers[layer] || strcmp(setting_print(t->text.arena, found), text) != 0)
			fail_msg("round %d, %s: layer %u does not say %s", round, path, layers[layer], text);
		found = found->overrode;
	}
	if (found != NULL && found->layer != LAYER_DEFAULT)
		fail_msg("round %d, %s: layer %u spoke, but nobody wrote it", round, path, found->layer);
}

static int
effective(const struct spoken *spoken, size_t key, int absent)
{
	for (size_t layer = LAYERS; layer-- > 0;)
		if (spoken[key].says[layer])
			return keys[key].form == TRUTH ? spoken[key].value[layer] % 2 : spoken[key].value[layer];
	return absent;
}

static void
load(plan_text *t, const struct spoken *spoken)
{
	const char *second = streams_text(&t->text, spoken, OF_SECOND_FILE);
	config_text_write("second.conf", second, strlen(second));
	assert_true(config_text_load(&t->text, first_file(&t->text, spoken)));
	assert_true(config_load(t->text.config, "second.conf"));
	for (size_t key = 0; key < KEYS; key++) {
		char path[64], buffer[32];
		if (!spoken[key].says[OF_COMMAND])
			continue;
		const char *value = value_text(key, spoken[key].value[OF_COMMAND], buffer);
		assert_true(config_set_command(t->text.config,
									   arena_format(t->text.arena, "%s=%s", path_of(key, path), value)));
	}
}

static void
run_round(int round)
{
	void *state = NULL;
	struct spoken spoken[KEYS];
	speak(spoken);
	plan_text_setup(&state);
	plan_text *t = state;
	load(t, spoken);
	t->graph = graph_from_config(t->text.config, t->registry);
	t->plan = plan_create(t->text.config, t->registry, t->graph, 0);
	if (t->plan == NULL)
		fail_msg("round %d: %s", round, config_text_problems(&t->text));
	for (size_t key = 0; key < KEYS; key++)
		check_key(t, spoken, key, round);
	const plan_stream *a = plan_text_stream(t->plan, "a", FLOW_DIRECTION_INPUT);
	assert_int_equal(a->priority, effective(spoken, PRIORITY, -1));
	assert_int_equal(a->bootstrap, effective(spoken, BOOTSTRAP, 0));
	assert_int_equal(a->reset, effective(spoken, RESET, 0));
	assert_int_equal(t->plan->intermediate_count, 1);
	assert_string_equal(t->plan->intermediates[0].system, effective(spoken, CARRIER, 0) % 2 == 0 ? "carrier" : "other");
	plan_text_teardown(&state);
}

static void
given_random_settings_in_all_layers_when_planned_then_the_highest_that_speaks_wins_and_all_are_told(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		seed = (unsigned)round * 7919u + 1;
		run_round(round);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_random_settings_in_all_layers_when_planned_then_the_highest_that_speaks_wins_and_all_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
