/* Links and transfers: what of their shape is refused, and what is left to connectors. */
#include "transfer/transfer_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/config_text.h"

#define LINKS                                                                                                          \
	"links: { shop: { connector = \"jdbc\"; url = \"postgresql://127.0.0.1/shop\"; };\n"                               \
	"lake: { connector = \"hdfs\"; uri = \"webhdfs://127.0.0.1:9870\"; }; };\n"
/* The transfer's members stand from line 4 on. */
#define TRANSFER(members) LINKS "transfers: { orders: {\n" members "\n}; };\n"
#define SIDES "from: { link = \"shop\"; table = \"orders\"; }; to: { link = \"lake\"; directory = \"/lake\"; };\n"

static config_text fixture;

static int
setup(void **state)
{
	config_text_open(&fixture);
	*state = &fixture;
	return 0;
}

static int
teardown(void **state)
{
	config_text_close(*state);
	return 0;
}

static void
expect(void **state, const char *conf, const char *reported)
{
	config_text *t = *state;
	assert_true(config_text_load(t, conf));
	assert_true(transfers_check(t->config));
	assert_string_equal(config_text_problems(t), reported);
}

static void
given_the_designs_example_when_checked_then_it_is_good(void **state)
{
	expect(state,
	       TRANSFER("from: { link = \"shop\"; table = \"orders\"; delta: { column = \"updated_at\"; key = [\"id\"]; lag = \"5m\"; }; };\n"
	                "to: { link = \"lake\"; directory = \"/lake/orders\"; format = \"avro\"; merge: { mode = \"upsert\"; key = [\"id\"]; }; };\n"
	                "extractors = 4;"),
	       "");
}

static void
given_values_of_wrong_types_when_checked_then_all_are_reported_with_both_types(void **state)
{
	expect(state,
	       TRANSFER("from: { link = \"shop\"; delta: { column = \"updated_at\"; lag = 300; }; };\n"
	                "to: { link = \"lake\"; merge: { mode = true; }; };\n"
	                "extractors = 2.7;"),
	       "flowd.conf:4: transfers.orders.from.delta.lag: expected duration with a unit such as \"5s\", found integer\n"
	       "flowd.conf:5: transfers.orders.to.merge.mode: expected one of \"append\", \"upsert\", \"delete-insert\", \"replace\", "
	       "\"update-only\", found boolean\n"
	       "flowd.conf:6: transfers.orders.extractors: expected integer, found float\n");
}

static void
given_misspelt_words_when_checked_then_the_likely_ones_are_named(void **state)
{
	expect(state,
	       TRANSFER("from: { link = \"shopp\"; table = \"t\"; }; to: { lnk = \"lake\"; directory = \"/d\"; };\n"
	                "extractor = 4;"),
	       "flowd.conf:4: transfers.orders.from.link: there is no link \"shopp\", did you mean \"shop\"?\n"
	       "flowd.conf:4: transfers.orders.to.lnk: unknown option, did you mean \"link\"?\n"
	       "flowd.conf:5: transfers.orders.extractor: unknown option, did you mean \"extractors\"?\n");
}

static void
given_a_side_that_is_missing_when_checked_then_it_is_named(void **state)
{
	expect(state, TRANSFER("from: { link = \"shop\"; };"),
	       "flowd.conf:3: transfers.orders: it has no 'to': to: { link = \"...\"; }\n");
}

static void
given_things_that_are_no_groups_when_checked_then_each_is_reported(void **state)
{
	expect(state, "links: { a = \"jdbc\"; b: { connector = \"jdbc\"; }; };\ntransfers = ( 1 );\n",
	       "flowd.conf:1: links.a: expected group, found string\n"
	       "flowd.conf:2: transfers: expected group, found list\n");
}

static void
given_a_link_without_connector_when_checked_then_it_is_missed(void **state)
{
	expect(state, "links: { a: { url = \"x\"; }; };\n", "flowd.conf:1: links.a.connector: the option is required\n");
}

static void
given_transfers_when_asked_to_run_then_it_is_said_that_they_are_not(void **state)
{
	config_text *t = *state;
	assert_true(config_text_load(t, TRANSFER(SIDES)));
	assert_non_null(transfers_report_idle(t->config));
	assert_string_equal(config_text_problems(t),
	                    "flowd.conf:3: transfers: this version checks transfers and does not run them yet, only applications\n");
}

static void
given_only_links_when_asked_to_run_then_nothing_is_said(void **state)
{
	config_text *t = *state;
	assert_true(config_text_load(t, LINKS));
	assert_null(transfers_report_idle(t->config));
	assert_string_equal(config_text_problems(t), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_the_designs_example_when_checked_then_it_is_good),
		TEST(given_values_of_wrong_types_when_checked_then_all_are_reported_with_both_types),
		TEST(given_misspelt_words_when_checked_then_the_likely_ones_are_named),
		TEST(given_a_side_that_is_missing_when_checked_then_it_is_named),
		TEST(given_things_that_are_no_groups_when_checked_then_each_is_reported),
		TEST(given_a_link_without_connector_when_checked_then_it_is_missed),
		TEST(given_transfers_when_asked_to_run_then_it_is_said_that_they_are_not),
		TEST(given_only_links_when_asked_to_run_then_nothing_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
