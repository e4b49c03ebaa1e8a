#include "plugin/elf_section.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_DATA ELFDATA2LSB
#else
#define OWN_DATA ELFDATA2MSB
#endif

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OWN_MACHINE EM_PPC64
#elif defined(__s390x__)
#define OWN_MACHINE EM_S390
#else
#error "add this machine's EM_ number"
#endif

#define NAME_MAX_SIZE 64u

struct elf_file {
	int descriptor;
	uint64_t size;
	Elf64_Ehdr header;
	Elf64_Shdr names; /* the section that holds the sections' names */
};

/* Reads all of [offset, offset + size), which must lie in the file. */
static flow_status
read_at(const struct elf_file *file, uint64_t offset, void *to, uint64_t size, flow_error *error)
{
	if (offset > file->size || size > file->size - offset)
		return error_set(error, FLOW_E_CORRUPT, "broken ELF file: it points behind its end (truncated?)");
	for (uint64_t done = 0; done < size;) {
		ssize_t count = pread(file->descriptor, (char *)to + done, size - done, (off_t)(offset + done));
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return error_set(error, status_of_errno(errno), "cannot read: %s", strerror(errno));
		if (count == 0)
			return error_set(error, FLOW_E_CORRUPT, "the file shrank while it was read");
		done += (uint64_t)count;
	}
	return FLOW_OK;
}

static flow_status
read_header(struct elf_file *file, flow_error *error)
{
	Elf64_Ehdr *header = &file->header;
	if (file->size < sizeof(*header))
		return error_set(error, FLOW_E_CORRUPT, "not an ELF file: only %llu bytes", (unsigned long long)file->size);
	flow_status status = read_at(file, 0, header, sizeof(*header), error);
	if (status != FLOW_OK)
		return status;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return error_set(error, FLOW_E_CORRUPT, "not an ELF file");
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != OWN_DATA ||
		header->e_machine != OWN_MACHINE)
		return error_set(error, FLOW_E_CORRUPT, "an ELF file for another machine");
	if (header->e_type != ET_DYN)
		return error_set(error, FLOW_E_CORRUPT, "an ELF file, but no shared object");
	if (header->e_shoff == 0 || header->e_shnum == 0 || header->e_shentsize != sizeof(Elf64_Shdr) ||
		header->e_shstrndx >= header->e_shnum)
		return error_set(error, FLOW_E_CORRUPT, "an ELF file without usable section table");
	return FLOW_OK;
}

static flow_status
read_section_header(const struct elf_file *file, uint32_t index, Elf64_Shdr *section, flow_error *error)
{
	/* e_shoff + index * 64 cannot overflow once e_shoff is known to lie in the file. */
	if (file->header.e_shoff > file->size)
		return error_set(error, FLOW_E_CORRUPT, "broken ELF file: the section table lies behind its end (truncated?)");
	return read_at(file, file->header.e_shoff + (uint64_t)index * sizeof(*section), section, sizeof(*section), error);
}

/* *same = whether the section is called `name`. */
static flow_status
compare_name(const struct elf_file *file, const Elf64_Shdr *section, const char *name, int *same, flow_error *error)
{
	char found[NAME_MAX_SIZE];
	uint64_t size = strlen(name) + 1;
	*same = 0;
	if (section->sh_name >= file->names.sh_size || size > file->names.sh_size - section->sh_name)
		return FLOW_OK; /* too near to the end of the names to be it, or nonsense */
	if (file->names.sh_offset > file->size)
		return error_set(error, FLOW_E_CORRUPT, "broken ELF file: the section names lie behind its end (truncated?)");
	flow_status status = read_at(file, file->names.sh_offset + section->sh_name, found, size, error);
	*same = status == FLOW_OK && memcmp(found, name, size) == 0;
	return status;
}

static flow_status
read_content(const struct elf_file *file, const Elf64_Shdr *section, uint64_t limit, char **bytes, uint64_t *size,
			 flow_error *error)
{
	if (section->sh_type == SHT_NOBITS)
		return error_set(error, FLOW_E_CORRUPT, "the section has no content");
	if (section->sh_size > limit)
		return error_set(error, FLOW_E_LIMIT, "the section has %llu bytes, more than %llu",
						 (unsigned long long)section->sh_size, (unsigned long long)limit);
	char *content = memory_allocate(section->sh_size + 1);
	if (content == NULL)
		return error_set(error, FLOW_E_MEMORY, "no memory for %llu bytes", (unsigned long long)section->sh_size);
	flow_status status = read_at(file, section->sh_offset, content, section->sh_size, error);
	if (status != FLOW_OK) {
		memory_release(content);
		return status;
	}
	content[section->sh_size] = '\0';
	*bytes = content;
	*size = section->sh_size;
	return FLOW_OK;
}

flow_status
elf_section_read(int descriptor, const char *name, uint64_t limit, char **bytes, uint64_t *size, flow_error *error)
{
	struct stat information;
	struct elf_file file = { .descriptor = descriptor };
	if (strlen(name) >= NAME_MAX_SIZE)
		return error_set(error, FLOW_E_ARGUMENT, "section name %s is too long", name);
	if (fstat(descriptor, &information) != 0)
		return error_set(error, status_of_errno(errno), "cannot read: %s", strerror(errno));
	if (!S_ISREG(information.st_mode))
		return error_set(error, FLOW_E_CORRUPT, "not a regular file");
	file.size = (uint64_t)information.st_size;
	flow_status status = read_header(&file, error);
	if (status == FLOW_OK)
		status = read_section_header(&file, file.header.e_shstrndx, &file.names, error);
	for (uint32_t i = 1; status == FLOW_OK && i < file.header.e_shnum; i++) {
		Elf64_Shdr section = { 0 };
		int same = 0;
		status = read_section_header(&file, i, &section, error);
		if (status == FLOW_OK)
			status = compare_name(&file, &section, name, &same, error);
		if (status == FLOW_OK && same)
			return read_content(&file, &section, limit, bytes, size, error);
	}
	return status != FLOW_OK ? status : error_set(error, FLOW_E_NOT_FOUND, "no section %s", name);
}
