/* The source: one partition per file, read one after the other (file.h). */
#include "file.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A position: the offset in the decompressed stream, big-endian. */
#define POSITION_SIZE 8

struct file_partition {
	flow_partition description;
	char *absolute;        /* its id: the same from whatever folder the job is started; from realpath, or NULL */
	struct reader *reader; /* open between assign and the end */
	int regular;
	uint64_t size; /* of the file; 0: unknown */
	uint64_t start;
	uint64_t left; /* bytes of the file that count as remaining */
	int assigned;
	int paused;
	int ended;
};

struct flow_source {
	const flow_host *host;
	flow_system *system;
	int sample;           /* what is read of pipes is to be read again */
	uint32_t compression; /* the option */
	struct path_list paths;
	struct file_partition *partitions;
	const flow_partition **pointers;
	uint64_t chunk;
	uint64_t current; /* partition that is being read */
	uint32_t start;
	atomic_llong remaining; /* bytes of the files; -1: unknown */
};

static flow_status
make_partitions(flow_source *source, flow_source_info *info, flow_error *error)
{
	const flow_host *host = source->host;
	uint64_t count = source->paths.count;
	source->partitions = flow_new(host, count * sizeof(*source->partitions));
	source->pointers = flow_new(host, count * sizeof(*source->pointers));
	if (source->partitions == NULL || source->pointers == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	for (uint64_t i = 0; i < count; i++) {
		struct file_partition *partition = &source->partitions[i];
		flow_slice path = flow_slice_of(source->paths.items[i]);
		int standard = flow_slice_is(path, "-");
		partition->absolute = standard ? NULL : realpath(path.data, NULL);
		partition->description =
			(flow_partition){ .struct_size = FLOW_SIZEOF(flow_partition),
							  .index = (uint32_t)i,
							  .id = partition->absolute == NULL ? path : flow_slice_of(partition->absolute),
							  .place = standard ? flow_slice_of("standard input") : path };
		source->pointers[i] = &partition->description;
		struct stat about;
		partition->regular = !standard && stat(path.data, &about) == 0 && S_ISREG(about.st_mode);
		if (partition->regular)
			partition->size = (uint64_t)about.st_size;
		else
			info->blocking = 1;
	}
	return FLOW_OK;
}

static void
close_reader(flow_source *source, struct file_partition *partition)
{
	struct reader *reader = partition->reader;
	partition->reader = NULL;
	if (reader == NULL)
		return;
	partition->start = reader_offset(reader);
	if (source->sample && !partition->regular)
		reader_hold(source->system, reader);
	else
		reader_close(reader);
}

flow_status
source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info, flow_source **result,
			flow_error *error)
{
	const flow_host *host = system->host;
	flow_source *source = flow_new(host, sizeof(*source));
	if (source == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	source->host = host;
	source->system = system;
	source->sample = info->sample != 0;
	source->compression = path_compression_option(request);
	source->start = info->start;
	source->chunk = (uint64_t)flow_option_int(request->options, "chunk", INT64_C(128) * 1024);
	info->blocking = 0;
	info->decoded = 0;
	info->self_assigned = 0;
	flow_status status = path_list_read(host, request, &source->paths, error);
	if (status == FLOW_OK)
		status = make_partitions(source, info, error);
	if (status != FLOW_OK)
		source_close(source);
	else
		*result = source;
	return status;
}

void
source_close(flow_source *source)
{
	for (uint64_t i = 0; source->partitions != NULL && i < source->paths.count; i++) {
		close_reader(source, &source->partitions[i]);
		free(source->partitions[i].absolute);
	}
	source->host->release(source->partitions);
	source->host->release(source->pointers);
	path_list_free(source->host, &source->paths);
	source->host->release(source);
}

flow_status
source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count, flow_error *error)
{
	(void)error;
	*partitions = source->pointers;
	*count = source->paths.count;
	return FLOW_OK;
}

static flow_status
parse_position(flow_source *source, const struct file_partition *partition, flow_slice position, uint64_t *offset,
			   flow_error *error)
{
	if (position.size != POSITION_SIZE)
		return flow_fail(source->host, error, FLOW_E_CORRUPT, "%s: the checkpoint's position has %llu bytes, not %d",
						 partition->description.place.data, (unsigned long long)position.size, POSITION_SIZE);
	*offset = 0;
	for (int i = 0; i < POSITION_SIZE; i++)
		*offset = *offset << 8 | (unsigned char)position.data[i];
	return FLOW_OK;
}

static void
set_left(flow_source *source, struct file_partition *partition, uint64_t left)
{
	atomic_fetch_add(&source->remaining, (long long)left - (long long)partition->left);
	partition->left = left;
}

static flow_status
open_reader(flow_source *source, struct file_partition *partition, uint64_t offset, flow_error *error)
{
	const char *path = source->paths.items[partition->description.index];
	flow_status status = FLOW_OK;
	partition->reader = partition->regular ? NULL : reader_take_held(source->system, path);
	if (partition->reader == NULL)
		status =
			reader_open(source->host, path, path_compression(source->compression, path), &partition->reader, error);
	if (status == FLOW_OK && source->sample && !partition->regular)
		reader_keep(partition->reader);
	return status == FLOW_OK ? reader_seek(partition->reader, offset, error) : status;
}

flow_status
source_assign(flow_source *source, uint32_t index, flow_slice position, flow_error *error)
{
	struct file_partition *partition = &source->partitions[index];
	flow_status status = FLOW_OK;
	close_reader(source, partition);
	partition->start = 0;
	if (position.data != NULL) {
		status = parse_position(source, partition, position, &partition->start, error);
	} else if (source->start == FLOW_START_NEWEST && partition->regular) {
		status = open_reader(source, partition, READER_END, error); /* where the end is has to be known for positions */
		close_reader(source, partition);
	}
	if (status != FLOW_OK)
		return status;
	partition->assigned = 1;
	partition->paused = 0;
	partition->ended = 0;
	set_left(source, partition, partition->size);
	return FLOW_OK;
}

/* Files are opened when their turn comes: a pattern may name more than a process can have open. */
static flow_status
open_partition(flow_source *source, struct file_partition *partition, flow_error *error)
{
	flow_status status = open_reader(source, partition, partition->start, error);
	if (status != FLOW_OK) {
		reader_close(partition->reader); /* another try begins anew */
		partition->reader = NULL;
	}
	return status;
}

static void
end_partition(flow_source *source, struct file_partition *partition)
{
	close_reader(source, partition);
	partition->ended = 1;
	set_left(source, partition, 0);
}

flow_status
source_revoke(flow_source *source, uint32_t index, flow_error *error)
{
	(void)error;
	end_partition(source, &source->partitions[index]);
	source->partitions[index].assigned = 0;
	return FLOW_OK;
}

void
source_pause(flow_source *source, uint32_t index, int paused)
{
	source->partitions[index].paused = paused;
}

static struct file_partition *
next_partition(flow_source *source)
{
	for (uint64_t i = 0; i < source->paths.count; i++) {
		struct file_partition *partition = &source->partitions[(source->current + i) % source->paths.count];
		if (partition->assigned && !partition->paused && !partition->ended) {
			source->current = partition->description.index;
			return partition;
		}
	}
	return NULL;
}

static flow_status
read_piece(flow_source *source, struct file_partition *partition, flow_builder *builder, flow_error *error)
{
	char *piece = flow_builder_alloc(builder, source->chunk);
	if (piece == NULL || builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		return flow_fail(source->host, error, FLOW_E_MEMORY, "out of memory");
	uint64_t offset = reader_offset(partition->reader), size;
	flow_status status = reader_read(partition->reader, piece, source->chunk, &size, error);
	if (status != FLOW_OK)
		return status;
	uint64_t done = reader_file_offset(partition->reader);
	set_left(source, partition, done < partition->size ? partition->size - done : 0);
	if (size == 0) {
		end_partition(source, partition);
		return FLOW_END;
	}
	uint32_t row = flow_builder_add(builder, flow_bytes(piece, (uint32_t)size));
	builder->ordinal[row] = (int64_t)offset;
	return FLOW_OK;
}

flow_status
source_read(flow_source *source, flow_builder *builder, flow_error *error)
{
	struct file_partition *partition = next_partition(source);
	if (partition == NULL)
		return FLOW_AGAIN;
	builder->partition = partition->description.index;
	builder->flags |= FLOW_BATCH_RAW | FLOW_BATCH_STREAM;
	if (partition->reader == NULL) {
		flow_status status = open_partition(source, partition, error);
		if (status != FLOW_OK)
			return status;
	}
	flow_status status = read_piece(source, partition, builder, error);
	if (status == FLOW_AGAIN)
		source->current = (source->current + 1) % source->paths.count; /* a pipe does not hold up the others */
	return status;
}

flow_status
source_position(flow_source *source, uint32_t index, int64_t ordinal, void *bytes, uint64_t capacity, uint64_t *size,
				flow_error *error)
{
	const struct file_partition *partition = &source->partitions[index];
	if (capacity < POSITION_SIZE)
		return flow_fail(source->host, error, FLOW_E_ARGUMENT, "a position needs %d bytes", POSITION_SIZE);
	uint64_t offset = (uint64_t)ordinal;
	if (ordinal < 0)
		offset = partition->start;
	else if (ordinal == INT64_MAX)
		offset = partition->reader == NULL ? partition->start : reader_offset(partition->reader);
	for (int i = POSITION_SIZE - 1; i >= 0; i--, offset >>= 8)
		((unsigned char *)bytes)[i] = (unsigned char)offset;
	*size = POSITION_SIZE;
	return FLOW_OK;
}

void
source_remaining(flow_source *source, int64_t *records, int64_t *bytes)
{
	long long remaining = atomic_load(&source->remaining);
	*records = -1;
	*bytes = remaining < 0 ? -1 : remaining;
}
