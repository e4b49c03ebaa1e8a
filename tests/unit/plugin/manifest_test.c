/* The manifest's text and its digest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "flow/flow.h"
#include "flow_sdk/manifest.h"

static const flow_option inner = { .struct_size = FLOW_SIZEOF(flow_option),
								   .type = FLOW_OPTION_DURATION,
								   .name = "lag",
								   .doc = "How far \"back\".\n",
								   .default_text = "5m" };
static const flow_option *const inners[] = { &inner, NULL };
static const flow_option group = { .struct_size = FLOW_SIZEOF(flow_option),
								   .type = FLOW_OPTION_GROUP,
								   .flags = FLOW_OPTION_REQUIRED,
								   .name = "delta",
								   .doc = "What is new.",
								   .members = inners };
static const flow_option *const options[] = { &group, NULL };
static const flow_option_set set = { FLOW_SIZEOF(flow_option_set), 0, "from", "Reading.", options };
static const flow_option_set *const sets[] = { &set, NULL };
static const char *const served[] = { "shop", "sh\tsize=2", NULL };
static const flow_component shop = { .struct_size = FLOW_SIZEOF(flow_component),
									 .kind = FLOW_CONNECTOR,
									 .flags = FLOW_CONNECTOR_FROM | FLOW_CONNECTOR_DELTA_EXTRACT,
									 .id = "shop",
									 .doc = "A shop.",
									 .option_sets = sets,
									 .served = served };
static const flow_component *const components[] = { &shop, NULL };
static const flow_plugin plugin = {
	FLOW_SIZEOF(flow_plugin), FLOW_ABI, "shop", "0.1.0", "MIT", components, NULL, NULL, 0
};

static char *
write_manifest(const flow_plugin *p, uint64_t *size)
{
	*size = flow_manifest_write(p, NULL, 0);
	char *text = malloc(*size + 1);
	assert_non_null(text);
	assert_int_equal(flow_manifest_write(p, text, *size + 1), *size);
	assert_int_equal(strlen(text), *size);
	return text;
}

static void
given_tables_when_written_then_the_json_has_all_of_them(void **state)
{
	(void)state;
	uint64_t size;
	char *text = write_manifest(&plugin, &size);
	json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(json);
	const json_t *component = json_array_get(json_object_get(json, "components"), 0);
	assert_string_equal(json_string_value(json_object_get(component, "kind")), "connector");
	assert_string_equal(json_string_value(json_array_get(json_object_get(component, "properties"), 1)),
						"delta_extract");
	assert_string_equal(json_string_value(json_array_get(json_object_get(component, "served"), 1)), "sh\tsize=2");
	const json_t *scope = json_array_get(json_object_get(component, "options"), 0);
	assert_string_equal(json_string_value(json_object_get(scope, "scope")), "from");
	const json_t *delta = json_array_get(json_object_get(scope, "options"), 0);
	assert_true(json_is_true(json_object_get(delta, "required")));
	const json_t *lag = json_array_get(json_object_get(delta, "members"), 0);
	assert_string_equal(json_string_value(json_object_get(lag, "doc")), "How far \"back\".\n");
	assert_string_equal(json_string_value(json_object_get(lag, "type")), "duration");
	json_decref(json);
	free(text);
}

static void
given_a_manifest_when_any_byte_changes_then_the_digest_does_not_fit(void **state)
{
	(void)state;
	uint64_t size;
	char *text = write_manifest(&plugin, &size);
	assert_non_null(flow_manifest_digest(flow_slice_make(text, size)));
	for (uint64_t i = 0; i < size; i++) {
		text[i] ^= 1;
		assert_null(flow_manifest_digest(flow_slice_make(text, size)));
		text[i] ^= 1;
		assert_null(flow_manifest_digest(flow_slice_make(text, i)));
	}
	free(text);
}

static void
given_a_small_buffer_when_written_then_it_is_cut_and_the_length_is_told(void **state)
{
	(void)state;
	char small[10];
	memset(small, 'x', sizeof(small));
	assert_true(flow_manifest_write(&plugin, small, sizeof(small)) > sizeof(small));
	assert_string_equal(small, "{\"manifes");
}

static void
given_kinds_when_named_then_names_lead_back(void **state)
{
	(void)state;
	for (uint32_t kind = FLOW_SYSTEM; kind <= FLOW_STORE; kind++)
		assert_int_equal(flow_kind_of_name(flow_kind_name(kind)), kind);
	assert_string_equal(flow_kind_name(0), "unknown");
	assert_string_equal(flow_kind_name(99), "unknown");
	assert_int_equal(flow_kind_of_name("gizmo"), 0);
	assert_null(flow_kind_flag_name(FLOW_EXPANDER, 1));
	assert_string_equal(flow_kind_flag_name(FLOW_CONNECTOR, FLOW_CONNECTOR_DELTA_LOAD), "delta_load");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_tables_when_written_then_the_json_has_all_of_them),
		cmocka_unit_test(given_a_manifest_when_any_byte_changes_then_the_digest_does_not_fit),
		cmocka_unit_test(given_a_small_buffer_when_written_then_it_is_cut_and_the_length_is_told),
		cmocka_unit_test(given_kinds_when_named_then_names_lead_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
