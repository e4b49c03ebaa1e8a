/* One file as a byte stream, decompressed (file.h). */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define INPUT_SIZE ((uint64_t)128 * 1024)
#define LONGEST_WAIT 100 /* milliseconds for a pipe */

struct reader {
	const flow_host *host;
	char *path;
	/* What was looked at before: kept, and given out again up to where it ends. */
	struct reader *next; /* held */
	char *kept;
	uint64_t kept_size;
	uint64_t kept_room;
	uint64_t kept_given;
	int keeps;
	int descriptor;
	uint32_t compression;
	int regular;          /* reading never waits */
	uint64_t offset;      /* decompressed */
	uint64_t file_offset; /* bytes read from the file */
	/* Compressed only. */
	char *input;
	uint64_t input_used;
	uint64_t input_size;
	int file_ended;
	int inside; /* in a member or frame: the file may not end here */
	z_stream zlib;
	ZSTD_DStream *zstd;
};

static flow_status
prepare_decompression(struct reader *reader, flow_error *error)
{
	const flow_host *host = reader->host;
	reader->input = host->allocate(INPUT_SIZE);
	if (reader->input == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	if (reader->compression == COMPRESSION_ZSTD) {
		reader->zstd = ZSTD_createDStream();
		if (reader->zstd == NULL)
			return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
		return FLOW_OK;
	}
	if (inflateInit2(&reader->zlib, 15 + 16) != Z_OK) /* 16: gzip heads only */
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	return FLOW_OK;
}

/* A named pipe without a writer is not waited for. */
static int
open_file(const char *path)
{
	struct stat about;
	int waits = stat(path, &about) == 0 && S_ISFIFO(about.st_mode);
	return open(path, O_RDONLY | O_CLOEXEC | (waits ? O_NONBLOCK : 0));
}

flow_status
reader_open(const flow_host *host, const char *path, uint32_t compression, struct reader **result, flow_error *error)
{
	struct reader *reader = flow_new(host, sizeof(*reader));
	if (reader == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	reader->host = host;
	reader->path = host->allocate(strlen(path) + 1);
	if (reader->path == NULL) {
		host->release(reader);
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	}
	memcpy(reader->path, path, strlen(path) + 1);
	reader->compression = compression;
	reader->inside = compression != COMPRESSION_NONE; /* an empty file is no compressed file */
	reader->descriptor = strcmp(path, "-") == 0 ? STDIN_FILENO : open_file(path);
	if (reader->descriptor < 0) {
		int number = errno;
		host->release(reader->path);
		host->release(reader);
		return path_failed(host, error, "cannot open", path, number);
	}
	struct stat about;
	reader->regular = fstat(reader->descriptor, &about) == 0 && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode));
	posix_fadvise(reader->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
	flow_status status = compression == COMPRESSION_NONE ? FLOW_OK : prepare_decompression(reader, error);
	if (status != FLOW_OK)
		reader_close(reader);
	else
		*result = reader;
	return status;
}

void
reader_close(struct reader *reader)
{
	if (reader == NULL)
		return;
	if (reader->compression == COMPRESSION_GZIP && reader->input != NULL)
		inflateEnd(&reader->zlib);
	ZSTD_freeDStream(reader->zstd);
	if (reader->descriptor != STDIN_FILENO)
		close(reader->descriptor);
	reader->host->release(reader->input);
	reader->host->release(reader->kept);
	reader->host->release(reader->path);
	reader->host->release(reader);
}

static int
is_ready(const struct reader *reader)
{
	struct pollfd one = { .fd = reader->descriptor, .events = POLLIN };
	return reader->regular || poll(&one, 1, LONGEST_WAIT) > 0;
}

static flow_status
read_file(struct reader *reader, char *buffer, uint64_t capacity, uint64_t *size, flow_error *error)
{
	*size = 0;
	for (;;) {
		if (!is_ready(reader))
			return FLOW_AGAIN;
		ssize_t got = read(reader->descriptor, buffer, capacity);
		if (got >= 0) {
			*size = (uint64_t)got;
			reader->file_offset += (uint64_t)got;
			return FLOW_OK;
		}
		if (errno == EISDIR)
			return flow_fail(reader->host, error, FLOW_E_ARGUMENT, "%s: is a folder", reader->path);
		if (errno == EAGAIN)
			return FLOW_AGAIN;
		if (errno != EINTR)
			return path_failed(reader->host, error, "cannot read", reader->path, errno);
	}
}

static flow_status
damaged(struct reader *reader, const char *what, flow_error *error)
{
	return flow_fail(reader->host, error, FLOW_E_CORRUPT, "%s: %s at byte %llu of the file; %s", reader->path, what,
					 (unsigned long long)(reader->file_offset - (reader->input_size - reader->input_used)),
					 reader->compression == COMPRESSION_GZIP ? "check it with: gzip -t" : "check it with: zstd -t");
}

/* Makes sure that there is input, or that the file has ended. */
static flow_status
fill_input(struct reader *reader, flow_error *error)
{
	if (reader->input_used < reader->input_size || reader->file_ended)
		return FLOW_OK;
	reader->input_used = 0;
	flow_status status = read_file(reader, reader->input, INPUT_SIZE, &reader->input_size, error); /* also says 0 */
	reader->file_ended = status == FLOW_OK && reader->input_size == 0;
	return status;
}

static flow_status
inflate_some(struct reader *reader, char *buffer, uint64_t capacity, uint64_t *size, flow_error *error)
{
	z_stream *zlib = &reader->zlib;
	zlib->next_in = (unsigned char *)reader->input + reader->input_used;
	zlib->avail_in = (unsigned)(reader->input_size - reader->input_used);
	zlib->next_out = (unsigned char *)buffer;
	zlib->avail_out = (unsigned)(capacity > 1u << 30 ? 1u << 30 : capacity);
	unsigned room = zlib->avail_out;
	if (!reader->inside)
		inflateReset(zlib);
	reader->inside = 1;
	int result = inflate(zlib, Z_NO_FLUSH);
	reader->input_used = reader->input_size - zlib->avail_in;
	*size = room - zlib->avail_out;
	if (result == Z_STREAM_END)
		reader->inside = 0;
	else if (result == Z_MEM_ERROR)
		return flow_fail(reader->host, error, FLOW_E_MEMORY, "out of memory");
	else if (result != Z_OK && result != Z_BUF_ERROR)
		return damaged(reader, zlib->msg == NULL ? "is not gzip" : zlib->msg, error);
	return FLOW_OK;
}

static flow_status
unzstd_some(struct reader *reader, char *buffer, uint64_t capacity, uint64_t *size, flow_error *error)
{
	ZSTD_inBuffer input = { reader->input, reader->input_size, reader->input_used };
	ZSTD_outBuffer output = { buffer, capacity, 0 };
	size_t result = ZSTD_decompressStream(reader->zstd, &output, &input);
	reader->input_used = input.pos;
	*size = output.pos;
	if (ZSTD_isError(result))
		return damaged(reader, ZSTD_getErrorName(result), error);
	reader->inside = result != 0;
	return FLOW_OK;
}

static flow_status
decompress(struct reader *reader, char *buffer, uint64_t capacity, uint64_t *size, flow_error *error)
{
	*size = 0;
	while (*size == 0) {
		flow_status status = fill_input(reader, error);
		if (status != FLOW_OK)
			return status;
		int no_input = reader->input_used == reader->input_size;
		if (no_input && !reader->inside)
			return FLOW_OK; /* the end, between members */
		status = reader->compression == COMPRESSION_GZIP ? inflate_some(reader, buffer, capacity, size, error)
														 : unzstd_some(reader, buffer, capacity, size, error);
		if (status != FLOW_OK)
			return status;
		if (*size == 0 && no_input && reader->inside)
			return damaged(reader, "is cut off: it ends inside compressed data", error);
	}
	return FLOW_OK;
}

static flow_status
keep(struct reader *reader, const char *bytes, uint64_t size, flow_error *error)
{
	if (reader->kept_size + size > reader->kept_room) {
		uint64_t room = (reader->kept_size + size) * 2;
		char *larger = reader->host->reallocate(reader->kept, room);
		if (larger == NULL)
			return flow_fail(reader->host, error, FLOW_E_MEMORY, "out of memory");
		reader->kept = larger;
		reader->kept_room = room;
	}
	if (size != 0)
		memcpy(reader->kept + reader->kept_size, bytes, size);
	reader->kept_size += size;
	return FLOW_OK;
}

static uint64_t
give_kept(struct reader *reader, char *buffer, uint64_t capacity)
{
	uint64_t left = reader->kept_size - reader->kept_given, size = left < capacity ? left : capacity;
	memcpy(buffer, reader->kept + reader->kept_given, size);
	reader->kept_given += size;
	if (reader->kept_given == reader->kept_size) {
		reader->host->release(reader->kept);
		reader->kept = NULL;
		reader->kept_size = reader->kept_given = reader->kept_room = 0;
	}
	return size;
}

void
reader_keep(struct reader *reader)
{
	reader->keeps = 1;
}

void
reader_hold(flow_system *system, struct reader *reader)
{
	reader->keeps = 0;
	reader->offset = 0;
	reader->next = system->held;
	system->held = reader;
}

struct reader *
reader_take_held(flow_system *system, const char *path)
{
	for (struct reader **at = &system->held; *at != NULL; at = &(*at)->next) {
		struct reader *found = *at;
		if (path != NULL && strcmp(found->path, path) != 0)
			continue;
		*at = found->next;
		return found;
	}
	return NULL;
}

flow_status
reader_read(struct reader *reader, char *buffer, uint64_t capacity, uint64_t *size, flow_error *error)
{
	if (!reader->keeps && reader->kept_size != 0) {
		*size = give_kept(reader, buffer, capacity);
		reader->offset += *size;
		return FLOW_OK;
	}
	flow_status status = reader->compression == COMPRESSION_NONE ? read_file(reader, buffer, capacity, size, error)
																 : decompress(reader, buffer, capacity, size, error);
	if (status == FLOW_OK)
		reader->offset += *size;
	return status == FLOW_OK && reader->keeps ? keep(reader, buffer, *size, error) : status;
}

static flow_status
position_lost(struct reader *reader, uint64_t offset, flow_error *error)
{
	return flow_fail(
		reader->host, error, FLOW_E_POSITION_LOST,
		"%s: is shorter than the position %llu that the checkpoint has; it was changed. Start anew with --fresh",
		reader->path, (unsigned long long)offset);
}

static flow_status
seek_plain(struct reader *reader, uint64_t offset, flow_error *error)
{
	struct stat about;
	if (fstat(reader->descriptor, &about) != 0)
		return path_failed(reader->host, error, "cannot look at", reader->path, errno);
	if (offset == READER_END)
		offset = (uint64_t)about.st_size;
	if ((uint64_t)about.st_size < offset)
		return position_lost(reader, offset, error);
	if (lseek(reader->descriptor, (off_t)offset, SEEK_SET) < 0)
		return path_failed(reader->host, error, "cannot seek", reader->path, errno);
	reader->offset = reader->file_offset = offset;
	return FLOW_OK;
}

flow_status
reader_seek(struct reader *reader, uint64_t offset, flow_error *error)
{
	if (offset == 0)
		return FLOW_OK;
	if (reader->compression == COMPRESSION_NONE && reader->regular)
		return seek_plain(reader, offset, error);
	char *scratch = reader->host->allocate(INPUT_SIZE);
	if (scratch == NULL)
		return flow_fail(reader->host, error, FLOW_E_MEMORY, "out of memory");
	flow_status status = FLOW_OK;
	while (status >= 0 && reader->offset < offset) {
		uint64_t left = offset - reader->offset, size;
		status = reader_read(reader, scratch, left < INPUT_SIZE ? left : INPUT_SIZE, &size, error);
		if (status == FLOW_AGAIN && reader->host->cancelled())
			status = flow_fail(reader->host, error, FLOW_E_CANCELLED, "%s: cancelled", reader->path);
		if (status != FLOW_OK || size != 0)
			continue;
		if (offset == READER_END)
			break;
		status = position_lost(reader, offset, error);
	}
	reader->host->release(scratch);
	return status < 0 ? status : FLOW_OK;
}

uint64_t
reader_offset(const struct reader *reader)
{
	return reader->offset;
}

uint64_t
reader_file_offset(const struct reader *reader)
{
	return reader->file_offset - (reader->input_size - reader->input_used);
}
