/* Bytes into a file, compressed or not (file.h). */
#include "file.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define OUTPUT_SIZE ((uint64_t)128 * 1024)

struct compressor {
	const flow_host *host;
	const char *path; /* the writer's */
	int descriptor;
	uint32_t compression;
	int stream;    /* no regular file: a write may wait for a reader */
	uint64_t size; /* bytes in the file */
	int open;      /* a member or frame is under way */
	int broken;    /* a write failed in the middle */
	char *output;
	z_stream zlib;
	ZSTD_CCtx *zstd;
};

/* Takes back what a plain regular file has got of a write. */
static int
take_back(struct compressor *compressor, uint64_t before)
{
	struct stat about;
	int plain = compressor->compression == COMPRESSION_NONE && fstat(compressor->descriptor, &about) == 0 &&
				S_ISREG(about.st_mode) && lseek(compressor->descriptor, 0, SEEK_CUR) == (off_t)compressor->size;
	if (!plain || ftruncate(compressor->descriptor, (off_t)before) != 0 ||
		lseek(compressor->descriptor, (off_t)before, SEEK_SET) < 0)
		return 0;
	compressor->size = before;
	return 1;
}

/* Another try after a part was written would write that part twice. */
static flow_status
write_failed(struct compressor *compressor, uint64_t before, int number, flow_error *error)
{
	const flow_host *host = compressor->host;
	if (!compressor->broken && take_back(compressor, before))
		return path_failed(host, error, "cannot write", compressor->path, number);
	compressor->broken = 1;
	flow_fail(host, error, FLOW_E_IO, "%s: cannot write: %s; mend that, then start again", compressor->path,
			  strerror(number));
	host->errors->flag(error, FLOW_ERROR_FATAL);
	return FLOW_E_IO;
}

/* Waits until a pipe takes PIPE_BUF bytes without blocking, or has failed; a reader that stands still must not keep the job from
 * ending. */
static flow_status
wait_for_room(struct compressor *compressor, flow_error *error)
{
	struct pollfd waiting = { .fd = compressor->descriptor, .events = POLLOUT };
	while (poll(&waiting, 1, 100) == 0) {
		if (!compressor->host->cancelled())
			continue;
		compressor->broken = 1;
		return flow_fail(compressor->host, error, FLOW_E_CANCELLED, "%s: nobody reads it, and the job is to end",
						 compressor->path);
	}
	return FLOW_OK;
}

static flow_status
write_file(struct compressor *compressor, const char *data, uint64_t size, flow_error *error)
{
	uint64_t before = compressor->size;
	if (compressor->broken)
		return write_failed(compressor, before, EIO, error);
	while (size > 0) {
		flow_status status = compressor->stream ? wait_for_room(compressor, error) : FLOW_OK;
		if (status != FLOW_OK)
			return status;
		ssize_t written = write(compressor->descriptor, data, compressor->stream && size > PIPE_BUF ? PIPE_BUF : size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return write_failed(compressor, before, errno, error);
		data += written;
		size -= (uint64_t)written;
		compressor->size += (uint64_t)written;
	}
	return FLOW_OK;
}

static flow_status
prepare_compression(struct compressor *compressor, int level, flow_error *error)
{
	compressor->output = compressor->host->allocate(OUTPUT_SIZE);
	int ready = compressor->output != NULL;
	if (ready && compressor->compression == COMPRESSION_GZIP) {
		ready =
			deflateInit2(&compressor->zlib, level > 9 ? 9 : level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
	} else if (ready) {
		compressor->zstd = ZSTD_createCCtx();
		ready = compressor->zstd != NULL &&
				!ZSTD_isError(ZSTD_CCtx_setParameter(compressor->zstd, ZSTD_c_compressionLevel, level)) &&
				!ZSTD_isError(ZSTD_CCtx_setParameter(compressor->zstd, ZSTD_c_checksumFlag, 1));
	}
	return ready ? FLOW_OK : flow_fail(compressor->host, error, FLOW_E_MEMORY, "out of memory");
}

flow_status
compressor_open(const flow_host *host, const char *path, int descriptor, uint32_t compression, int level, uint64_t size,
				struct compressor **result, flow_error *error)
{
	struct compressor *compressor = flow_new(host, sizeof(*compressor));
	if (compressor == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	compressor->host = host;
	compressor->path = path;
	compressor->descriptor = descriptor;
	compressor->compression = compression;
	struct stat about;
	compressor->stream = fstat(descriptor, &about) == 0 && !S_ISREG(about.st_mode);
	compressor->size = size;
	flow_status status = compression == COMPRESSION_NONE ? FLOW_OK : prepare_compression(compressor, level, error);
	if (status != FLOW_OK)
		compressor_close(compressor);
	else
		*result = compressor;
	return status;
}

void
compressor_close(struct compressor *compressor)
{
	if (compressor == NULL)
		return;
	if (compressor->compression == COMPRESSION_GZIP)
		deflateEnd(&compressor->zlib);
	ZSTD_freeCCtx(compressor->zstd);
	compressor->host->release(compressor->output);
	compressor->host->release(compressor);
}

static flow_status
deflate_all(struct compressor *compressor, const char *data, uint64_t size, int end, flow_error *error)
{
	z_stream *zlib = &compressor->zlib;
	int result = Z_OK;
	do {
		unsigned piece = size > 1u << 30 ? 1u << 30 : (unsigned)size;
		zlib->next_in = (unsigned char *)(uintptr_t)data;
		zlib->avail_in = piece;
		do {
			zlib->next_out = (unsigned char *)compressor->output;
			zlib->avail_out = OUTPUT_SIZE;
			result = deflate(zlib, end && piece == size ? Z_FINISH : Z_NO_FLUSH);
			flow_status status = write_file(compressor, compressor->output, OUTPUT_SIZE - zlib->avail_out, error);
			if (status != FLOW_OK)
				return status;
		} while (zlib->avail_out == 0);
		data += piece;
		size -= piece;
	} while (size > 0);
	if (end && result != Z_STREAM_END)
		return flow_fail(compressor->host, error, FLOW_E_INTERNAL, "%s: gzip member was not ended", compressor->path);
	if (end)
		deflateReset(zlib);
	return FLOW_OK;
}

static flow_status
zstd_all(struct compressor *compressor, const char *data, uint64_t size, int end, flow_error *error)
{
	ZSTD_inBuffer input = { data, size, 0 };
	size_t left;
	do {
		ZSTD_outBuffer output = { compressor->output, OUTPUT_SIZE, 0 };
		left = ZSTD_compressStream2(compressor->zstd, &output, &input, end ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return flow_fail(compressor->host, error, FLOW_E_INTERNAL, "%s: zstd: %s", compressor->path,
							 ZSTD_getErrorName(left));
		flow_status status = write_file(compressor, compressor->output, output.pos, error);
		if (status != FLOW_OK)
			return status;
	} while (end ? left != 0 : input.pos < input.size);
	return FLOW_OK;
}

void
compressor_begin(struct compressor *compressor)
{
	compressor->open = compressor->compression != COMPRESSION_NONE;
}

flow_status
compressor_write(struct compressor *compressor, const char *data, uint64_t size, flow_error *error)
{
	if (compressor->compression == COMPRESSION_NONE)
		return write_file(compressor, data, size, error);
	compressor->open = 1;
	return compressor->compression == COMPRESSION_GZIP ? deflate_all(compressor, data, size, 0, error)
													   : zstd_all(compressor, data, size, 0, error);
}

flow_status
compressor_end(struct compressor *compressor, flow_error *error)
{
	if (compressor->broken)
		return write_failed(compressor, compressor->size, EIO, error);
	if (!compressor->open)
		return FLOW_OK;
	flow_status status = compressor->compression == COMPRESSION_GZIP ? deflate_all(compressor, NULL, 0, 1, error)
																	 : zstd_all(compressor, NULL, 0, 1, error);
	compressor->open = status != FLOW_OK;
	return status;
}

/* After a failed sync nobody knows what is on the disk, and another one may say that all is well: so there is none. */
flow_status
compressor_sync(struct compressor *compressor, flow_error *error)
{
	if (fdatasync(compressor->descriptor) == 0)
		return FLOW_OK;
	int number = errno;
	compressor->broken = 1;
	return write_failed(compressor, compressor->size, number, error);
}

uint64_t
compressor_size(const struct compressor *compressor)
{
	return compressor->size;
}
