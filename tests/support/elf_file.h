/*
 * support/elf_file.h - the smallest shared object that has sections: made in memory, to be broken by tests.
 */
#ifndef SUPPORT_ELF_FILE_H
#define SUPPORT_ELF_FILE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ELF_FILE_NAMES "\0.shstrtab\0.flowd.manifest"
#define ELF_FILE_SECTIONS 3 /* none, names, manifest */

typedef struct elf_file {
	Elf64_Ehdr header;
	Elf64_Shdr sections[ELF_FILE_SECTIONS];
	char names[32];
} elf_file; /* the content follows */

static inline elf_file
elf_file_make(uint64_t content_size)
{
	elf_file file;
	memset(&file, 0, sizeof(file));
	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	file.header.e_ident[EI_DATA] = ELFDATA2LSB;
	file.header.e_type = ET_DYN;
#if defined(__aarch64__)
	file.header.e_machine = EM_AARCH64;
#else
	file.header.e_machine = EM_X86_64;
#endif
	file.header.e_shoff = sizeof(Elf64_Ehdr);
	file.header.e_shentsize = sizeof(Elf64_Shdr);
	file.header.e_shnum = ELF_FILE_SECTIONS;
	file.header.e_shstrndx = 1;
	memcpy(file.names, ELF_FILE_NAMES, sizeof(ELF_FILE_NAMES));
	file.sections[1].sh_name = 1;
	file.sections[1].sh_type = SHT_STRTAB;
	file.sections[1].sh_offset = offsetof(elf_file, names);
	file.sections[1].sh_size = sizeof(file.names);
	file.sections[2].sh_name = 11;
	file.sections[2].sh_type = SHT_PROGBITS;
	file.sections[2].sh_offset = sizeof(file);
	file.sections[2].sh_size = content_size;
	return file;
}

/* An open file without a name that holds both pieces; -1 on failure. */
static inline int
elf_file_open(const void *head, uint64_t head_size, const void *content, uint64_t content_size)
{
	int descriptor = memfd_create("elf", 0);
	if (descriptor >= 0 && (write(descriptor, head, head_size) != (ssize_t)head_size ||
							(content_size != 0 && write(descriptor, content, content_size) != (ssize_t)content_size))) {
		close(descriptor);
		return -1;
	}
	return descriptor;
}

#endif
