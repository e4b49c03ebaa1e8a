/* A whole file. */
#include "flow_sdk/file.h"

#include <errno.h>
#include <stdio.h>

#include "flow_sdk/plugin.h"

static flow_status
read_all(const flow_host *host, FILE *file, uint64_t limit, char **bytes, uint64_t *size)
{
	*bytes = NULL;
	*size = 0;
	for (uint64_t capacity = 16u << 10;; capacity *= 2) {
		char *grown = (char *)host->reallocate(*bytes, capacity);
		if (grown == NULL)
			return FLOW_E_MEMORY;
		*bytes = grown;
		*size += fread(*bytes + *size, 1, capacity - *size, file);
		if (ferror(file))
			return FLOW_E_IO;
		if (*size > limit)
			return FLOW_E_LIMIT;
		if (*size < capacity)
			return FLOW_OK;
	}
}

flow_status
flow_read_file(const flow_host *host, flow_slice path, uint64_t limit, char **bytes, uint64_t *size, flow_error *error)
{
	FILE *file = fopen(path.data, "rbe");
	if (file == NULL)
		return flow_fail(host, error, FLOW_E_CONFIG, "%s: cannot be read: %s", path.data, strerror(errno));
	errno = 0;
	flow_status status = read_all(host, file, limit, bytes, size);
	int reason = errno;
	fclose(file);
	if (status == FLOW_OK)
		return FLOW_OK;
	host->release(*bytes);
	*bytes = NULL;
	if (status == FLOW_E_MEMORY)
		return flow_fail(host, error, status, "out of memory");
	if (status == FLOW_E_LIMIT)
		return flow_fail(host, error, FLOW_E_CONFIG, "%s: has more than %llu KiB", path.data,
						 (unsigned long long)(limit >> 10));
	return flow_fail(host, error, FLOW_E_CONFIG, "%s: cannot be read: %s", path.data, strerror(reason));
}
