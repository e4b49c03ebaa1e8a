/* Who wins: random settings in all layers against a model that says it in one line; provenance names every layer that spoke. */
#include <stdlib.h>
#include <string.h>

#include "support/plan_text.h"

/* The layers that a user can write, lowest first. In the model the last one that speaks wins. */
#define LAYERS 6
static const uint8_t layers[LAYERS] = { LAYER_SYSTEM, LAYER_FILE, LAYER_FILE, LAYER_DESCRIPTOR, LAYER_JOB, LAYER_COMMAND };

#define KEYS 3
static const struct {
	const char *name;
	int truth; /* a boolean: 0 is false */
} keys[KEYS] = { { "priority", 0 }, { "bootstrap", 1 }, { "reset_offset", 1 } };

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
value_text(size_t key, int value, char buffer[32])
{
	if (keys[key].truth)
		return value ? "true" : "false";
	snprintf(buffer, 32, "%d", value);
	return buffer;
}

/* What one layer says of the stream, as it stands in a file. */
static void
write_layer(char *to, size_t size, const struct spoken *spoken, size_t layer)
{
	size_t used = 0;
	to[0] = '\0';
	for (size_t key = 0; key < KEYS; key++) {
		char buffer[32];
		if (spoken[key].says[layer])
			used += (size_t)snprintf(to + used, size - used, "%s = %s; ", keys[key].name,
									 value_text(key, spoken[key].value[layer], buffer));
	}
}

static void
speak(struct spoken *spoken)
{
	for (size_t key = 0; key < KEYS; key++) {
		for (size_t layer = 0; layer < LAYERS; layer++) {
			spoken[key].says[layer] = next_random(3) != 0;
			spoken[key].value[layer] = (int)next_random(keys[key].truth ? 2 : 100);
		}
	}
}

static const char *
second_file(const struct spoken *spoken)
{
	static char text[512];
	char settings[128];
	write_layer(settings, sizeof(settings), spoken, 2);
	snprintf(text, sizeof(text), "streams: { a: { %s }; };\n", settings);
	return text;
}

static const char *
first_file(const struct spoken *spoken)
{
	static char text[2048];
	char system[128], file[128], descriptor[128], job[128];
	write_layer(system, sizeof(system), spoken, 0);
	write_layer(file, sizeof(file), spoken, 1);
	write_layer(descriptor, sizeof(descriptor), spoken, 3);
	write_layer(job, sizeof(job), spoken, 4);
	snprintf(text, sizeof(text),
			 "streams: { a: { %s }; };\njobs: { t: { streams: { a: { %s }; }; }; };\n"
			 "application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde = \"json\"; stream_defaults: { %s }; }; };\n"
			 "inputs: { a: { system = \"local\"; bounded = true; %s }; }; outputs: { o: { system = \"local\"; }; };\n"
			 "flow: ( { from = \"a\"; to = \"o\"; } ); };\n",
			 file, job, system, descriptor);
	return text;
}

/* The chain of one key, from the highest layer down, as the model has it. */
static void
check_key(plan_text *t, const struct spoken *spoken, size_t key, int round)
{
	char path[64];
	snprintf(path, sizeof(path), "streams.a.%s", keys[key].name);
	const setting *found = config_explain(t->text.config, path);
	for (size_t layer = LAYERS; layer-- > 0;) {
		if (!spoken[key].says[layer])
			continue;
		if (found == NULL || found->layer != layers[layer] || found->integer != spoken[key].value[layer])
			fail_msg("round %d, %s: layer %u does not say %d", round, path, layers[layer], spoken[key].value[layer]);
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
			return spoken[key].value[layer];
	return absent;
}

static void
run_round(int round)
{
	void *state = NULL;
	struct spoken spoken[KEYS];
	speak(spoken);
	plan_text_setup(&state);
	plan_text *t = state;
	config_text_write("second.conf", second_file(spoken), strlen(second_file(spoken)));
	assert_true(config_text_load(&t->text, first_file(spoken)));
	assert_true(config_load(t->text.config, "second.conf"));
	for (size_t key = 0; key < KEYS; key++) {
		char assignment[96], buffer[32];
		snprintf(assignment, sizeof(assignment), "streams.a.%s=%s", keys[key].name,
				 value_text(key, spoken[key].value[LAYERS - 1], buffer));
		if (spoken[key].says[LAYERS - 1])
			assert_true(config_set_command(t->text.config, assignment));
	}
	t->graph = graph_from_config(t->text.config, t->registry);
	t->plan = plan_create(t->text.config, t->registry, t->graph, 0);
	if (t->plan == NULL)
		fail_msg("round %d: %s", round, config_text_problems(&t->text));
	for (size_t key = 0; key < KEYS; key++)
		check_key(t, spoken, key, round);
	const plan_stream *a = plan_text_stream(t->plan, "a", FLOW_DIRECTION_INPUT);
	assert_int_equal(a->priority, effective(spoken, 0, -1));
	assert_int_equal(a->bootstrap, effective(spoken, 1, 0));
	assert_int_equal(a->reset, effective(spoken, 2, 0));
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
