/*
 * flow_sdk/manifest.h - the manifest of a plugin: its tables as JSON, and a digest over them.
 *
 * The tool flowd-manifest writes it into the ELF section FLOW_MANIFEST_SECTION after linking; the host lists plugins from there
 * without loading them, and when it loads one it compares the digest with the tables. Both use this one writer.
 *
 * Threads: [any]. The tables must be well formed (the registration check comes first); names may be missing.
 */
#ifndef FLOW_SDK_MANIFEST_H
#define FLOW_SDK_MANIFEST_H

#include "flow/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FLOW_MANIFEST_SECTION ".flowd.manifest"
#define FLOW_MANIFEST_FORM 1
#define FLOW_MANIFEST_MAX ((uint64_t)4 << 20) /* bytes; longer ones are refused */
#define FLOW_MANIFEST_DIGEST_SIZE 16          /* hexadecimal digits */

/* Writes at most `size` bytes, NUL-terminated if size > 0; returns the length of the whole text. The digest is its last member. */
uint64_t flow_manifest_write(const flow_plugin *plugin, char *buffer, uint64_t size);

/* The digest that stands at the end of a manifest, or NULL: there is none, or it is not the digest of what stands before it. */
const char *flow_manifest_digest(flow_slice manifest);

/* "system", "serde", ... and back (0: no such kind). */
const char *flow_kind_name(uint32_t kind);
uint32_t flow_kind_of_name(const char *name);
/* Name of one of a kind's flags ("inputs", "delta_extract"), or NULL. `flag` has one bit. */
const char *flow_kind_flag_name(uint32_t kind, uint32_t flag);
/* "string", "size", ... of FLOW_OPTION_*; "unknown". */
const char *flow_option_type_name(uint32_t type);

#ifdef __cplusplus
}
#endif
#endif
