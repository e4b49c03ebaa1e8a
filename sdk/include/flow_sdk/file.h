/*
 * flow_sdk/file.h - a whole file, as options name them (schemas, descriptors).
 *
 * Ownership: the bytes are the caller's (host->release). Threads: [main]; blocks.
 */
#ifndef FLOW_SDK_FILE_H
#define FLOW_SDK_FILE_H

#include "flow/error.h"
#include "flow/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `path` is NUL-terminated, as options of type path are. A file of more than `limit` bytes is FLOW_E_CONFIG, like one that cannot be
 * read; the error names it. */
flow_status flow_read_file(const flow_host *host, flow_slice path, uint64_t limit, char **bytes, uint64_t *size,
						   flow_error *error);

#ifdef __cplusplus
}
#endif
#endif
