/* Descriptors of the system `file`: what each setter says. */
#include "../file_descriptor.h"
#include "support/recorded_graph.h"

static void
given_files_when_described_then_each_setter_says_its_property_and_nothing_else_is_said(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	file_system_descriptor files = file_system(graph, "files");
	assert_string_equal(recorded_graph_text(r), "system files: described\nsystem files: type = \"file\"\n");
	file_input_descriptor in = file_input(files, "in");
	assert_string_equal(recorded_graph_text(r), "input in: described\ninput in: in system files\n");
	SAYS(file_input_with_path(in, "x"), "input in: path = \"x\"\n");
	SAYS(file_input_with_compression(in, "x"), "input in: compression = \"x\"\n");
	SAYS(file_input_with_chunk(in, "x"), "input in: chunk = \"x\"\n");
	file_output_descriptor out = file_output(files, "out");
	assert_string_equal(recorded_graph_text(r), "output out: described\noutput out: in system files\n");
	SAYS(file_output_with_path(out, "x"), "output out: path = \"x\"\n");
	SAYS(file_output_with_compression(out, "x"), "output out: compression = \"x\"\n");
	SAYS(file_output_with_level(out, 3), "output out: level = 3\n");
	SAYS(file_output_with_make_folders(out, 1), "output out: make_folders = true\n");
	SAYS(file_output_with_make_folders(out, 0), "output out: make_folders = false\n");
	SAYS(file_output_with_make_folders(out, 8), "output out: make_folders = true\n");
	SAYS(flow_output_with_serde(file_output_with_path(out, "o.csv"), "csv"),
		 "output out: path = \"o.csv\"\noutput out: serde = \"csv\"\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, recorded_graph_setup, recorded_graph_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_files_when_described_then_each_setter_says_its_property_and_nothing_else_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
