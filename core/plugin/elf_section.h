/*
 * plugin/elf_section.h - one section of an ELF file by its name, read without loading the file.
 *
 * The file is not trusted: every offset and size is checked against the file's size, and only what is needed is read (with
 * pread, so that a file that shrinks meanwhile gives an error, not a signal).
 *
 * Ownership: the caller owns the bytes (memory_release). Threads: [any].
 */
#ifndef PLUGIN_ELF_SECTION_H
#define PLUGIN_ELF_SECTION_H

#include <stddef.h>
#include <stdint.h>

#include "flow/error.h"

/* Reads section `name` of an open file, at most `limit` bytes; *bytes is NUL-terminated behind *size. FLOW_E_CORRUPT: not a
 * 64-bit shared object of this machine, or broken; FLOW_E_NOT_FOUND: no such section; FLOW_E_LIMIT: it is larger. */
flow_status elf_section_read(int descriptor, const char *name, uint64_t limit, char **bytes, uint64_t *size,
							 flow_error *error);

#endif
