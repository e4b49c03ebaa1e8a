/* The reader of ELF sections against files that were made to break it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"
#include "plugin/elf_section.h"
#include "support/elf_file.h"

#define CONTENT "{\"manifest\":1}"

static flow_status
read_section(const void *head, uint64_t head_size, uint64_t limit, char **bytes, uint64_t *size, flow_error *error)
{
	int descriptor = elf_file_open(head, head_size, CONTENT, sizeof(CONTENT) - 1);
	assert_true(descriptor >= 0);
	flow_status status = elf_section_read(descriptor, ".flowd.manifest", limit, bytes, size, error);
	close(descriptor);
	return status;
}

static void
assert_fails(const elf_file *file, flow_status expected, const char *reason)
{
	char *bytes = NULL;
	uint64_t size;
	flow_error error = { 0 };
	assert_int_equal(read_section(file, sizeof(*file), 1000, &bytes, &size, &error), expected);
	if (strstr(error_message(&error), reason) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", error_message(&error), reason);
	error_clear(&error);
	assert_null(bytes);
}

static void
given_a_section_when_read_then_its_bytes_are_there(void **state)
{
	(void)state;
	elf_file file = elf_file_make(sizeof(CONTENT) - 1);
	char *bytes;
	uint64_t size;
	flow_error error = { 0 };
	assert_int_equal(read_section(&file, sizeof(file), 1000, &bytes, &size, &error), FLOW_OK);
	assert_int_equal(size, sizeof(CONTENT) - 1);
	assert_string_equal(bytes, CONTENT);
	memory_release(bytes);
	file.sections[2].sh_size = 0;
	assert_int_equal(read_section(&file, sizeof(file), 1000, &bytes, &size, &error), FLOW_OK);
	assert_int_equal(size, 0);
	memory_release(bytes);
}

static void
given_offsets_behind_the_end_when_read_then_it_is_corrupt(void **state)
{
	(void)state;
	static const uint64_t wild[] = { 1000000, UINT64_MAX, UINT64_MAX - 63, (uint64_t)INT64_MAX, sizeof(elf_file) + 5 };
	for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		elf_file file = elf_file_make(sizeof(CONTENT) - 1);
		file.header.e_shoff = wild[i];
		assert_fails(&file, FLOW_E_CORRUPT, "end");
		file = elf_file_make(sizeof(CONTENT) - 1);
		file.sections[2].sh_offset = wild[i];
		assert_fails(&file, FLOW_E_CORRUPT, "end");
		file = elf_file_make(sizeof(CONTENT) - 1);
		file.sections[1].sh_offset = wild[i];
		assert_fails(&file, FLOW_E_CORRUPT, "end");
	}
}

static void
given_a_huge_section_when_read_then_nothing_is_allocated_for_it(void **state)
{
	(void)state;
	elf_file file = elf_file_make(UINT64_MAX);
	assert_fails(&file, FLOW_E_LIMIT, "more than 1000");
	file = elf_file_make(999); /* within the limit, behind the end */
	assert_fails(&file, FLOW_E_CORRUPT, "end");
	file = elf_file_make(10);
	file.sections[2].sh_type = SHT_NOBITS;
	assert_fails(&file, FLOW_E_CORRUPT, "no content");
}

static void
given_wild_names_when_read_then_the_section_is_not_found(void **state)
{
	(void)state;
	elf_file file = elf_file_make(10);
	file.sections[2].sh_name = UINT32_MAX;
	assert_fails(&file, FLOW_E_NOT_FOUND, "no section .flowd.manifest");
	file = elf_file_make(10);
	file.sections[1].sh_size = 20; /* the names end within ours */
	assert_fails(&file, FLOW_E_NOT_FOUND, "no section");
	file = elf_file_make(10);
	file.names[13] = 'X';
	assert_fails(&file, FLOW_E_NOT_FOUND, "no section");
}

static void
given_other_kinds_of_files_when_read_then_the_reason_is_named(void **state)
{
	(void)state;
	elf_file file = elf_file_make(10);
	file.header.e_ident[0] = 'x';
	assert_fails(&file, FLOW_E_CORRUPT, "not an ELF file");
	file = elf_file_make(10);
	file.header.e_machine = EM_SPARC;
	assert_fails(&file, FLOW_E_CORRUPT, "another machine");
	file = elf_file_make(10);
	file.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_fails(&file, FLOW_E_CORRUPT, "another machine");
	file = elf_file_make(10);
	file.header.e_type = ET_EXEC;
	assert_fails(&file, FLOW_E_CORRUPT, "no shared object");
	file = elf_file_make(10);
	file.header.e_shnum = 0;
	assert_fails(&file, FLOW_E_CORRUPT, "section table");
	file = elf_file_make(10);
	file.header.e_shstrndx = ELF_FILE_SECTIONS;
	assert_fails(&file, FLOW_E_CORRUPT, "section table");
	file = elf_file_make(10);
	file.header.e_shentsize = 1;
	assert_fails(&file, FLOW_E_CORRUPT, "section table");
}

static void
given_a_cut_file_when_read_then_no_length_of_it_crashes(void **state)
{
	(void)state;
	elf_file file = elf_file_make(sizeof(CONTENT) - 1);
	for (uint64_t size = 0; size < sizeof(file); size++) {
		char *bytes;
		uint64_t found;
		int descriptor = elf_file_open(&file, size, NULL, 0);
		assert_true(descriptor >= 0);
		assert_int_equal(elf_section_read(descriptor, ".flowd.manifest", 1000, &bytes, &found, NULL), FLOW_E_CORRUPT);
		close(descriptor);
	}
}

static void
given_no_memory_when_read_then_it_says_so(void **state)
{
	(void)state;
	elf_file file = elf_file_make(sizeof(CONTENT) - 1);
	char *bytes;
	uint64_t size;
	memory_fail_at(1, 1);
	flow_status status = read_section(&file, sizeof(file), 1000, &bytes, &size, NULL);
	memory_fail_at(0, 0);
	assert_int_equal(status, FLOW_E_MEMORY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_a_section_when_read_then_its_bytes_are_there),
		cmocka_unit_test(given_offsets_behind_the_end_when_read_then_it_is_corrupt),
		cmocka_unit_test(given_a_huge_section_when_read_then_nothing_is_allocated_for_it),
		cmocka_unit_test(given_wild_names_when_read_then_the_section_is_not_found),
		cmocka_unit_test(given_other_kinds_of_files_when_read_then_the_reason_is_named),
		cmocka_unit_test(given_a_cut_file_when_read_then_no_length_of_it_crashes),
		cmocka_unit_test(given_no_memory_when_read_then_it_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
