#include "state/checkpoint_file.h"

#include <string.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/io.h"
#include "base/memory.h"

#define HEAD 24 /* magic, size of the applied record, size of the pending one */

static const char magic[8] = { 'F', 'L', 'O', 'W', 'D', 'C', 'P', '1' };

void
checkpoint_put_number(char *to, uint64_t number, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		to[i] = (char)(number >> (8 * i));
}

uint64_t
checkpoint_get_number(const char *from, uint32_t size)
{
	uint64_t number = 0;
	for (uint32_t i = 0; i < size; i++)
		number |= (uint64_t)(unsigned char)from[i] << (8 * i);
	return number;
}

flow_status
checkpoint_file_write(const char *path, flow_slice applied, flow_slice pending, flow_error *error)
{
	uint64_t size = HEAD + applied.size + pending.size + 4;
	char *bytes = memory_allocate(size);
	if (bytes == NULL)
		return error_set(error, FLOW_E_MEMORY, "%s: out of memory", path);
	memcpy(bytes, magic, sizeof(magic));
	checkpoint_put_number(bytes + 8, applied.size, 8);
	checkpoint_put_number(bytes + 16, pending.size, 8);
	if (applied.size != 0)
		memcpy(bytes + HEAD, applied.data, applied.size);
	if (pending.size != 0)
		memcpy(bytes + HEAD + applied.size, pending.data, pending.size);
	checkpoint_put_number(bytes + size - 4, checksum_crc32c(0, bytes, size - 4), 4);
	flow_status status = io_replace_file(path, flow_slice_make(bytes, size), error);
	memory_release(bytes);
	return status;
}

flow_status
checkpoint_file_split(const char *path, flow_slice file, flow_slice *applied, flow_slice *pending, flow_error *error)
{
	const char *wrong = NULL;
	if (file.size < HEAD + 4)
		wrong = "it is cut off";
	else if (memcmp(file.data, magic, sizeof(magic)) != 0)
		wrong = "it is no checkpoint at offset 0";
	else if (checksum_crc32c(0, file.data, file.size - 4) != checkpoint_get_number(file.data + file.size - 4, 4))
		wrong = "the checksum at its end does not match";
	uint64_t room = file.size - (HEAD + 4);
	uint64_t first = wrong == NULL ? checkpoint_get_number(file.data + 8, 8) : 0;
	uint64_t second = wrong == NULL ? checkpoint_get_number(file.data + 16, 8) : 0;
	if (wrong == NULL && (first > room || second != room - first))
		wrong = "its sizes do not match at offset 8";
	if (wrong != NULL)
		return error_set(error, FLOW_E_CORRUPT, "%s: damaged: %s; restore it, or discard the state with --fresh", path,
						 wrong);
	*applied = flow_slice_make(file.data + HEAD, first);
	*pending = flow_slice_make(file.data + HEAD + first, second);
	return FLOW_OK;
}
