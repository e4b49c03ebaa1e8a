/* Compression of blocks: one codec of a decoder or encoder, with the states of its library. */
#include <bzlib.h>
#include <libdeflate.h>
#include <lzma.h>
#include <snappy-c.h>
#include <stdatomic.h>
#include <zstd.h>

#include "avro.h"

#define USUAL INT32_MIN
#define FIRST_SIZE ((uint64_t)64 * 1024)
#define MEMORY_LIMIT_XZ ((uint64_t)256 << 20)

struct avro_block {
	const flow_host *host;
	atomic_uint references;
	uint64_t size;
	uint64_t capacity;
	char data[];
};

struct avro_codec {
	const flow_host *host;
	int codec;
	int level;
	uint64_t last_size; /* of the last block that was decompressed: a guess at the next one */
	struct libdeflate_compressor *deflater;
	struct libdeflate_decompressor *inflater;
	ZSTD_CCtx *compressor;
	ZSTD_DCtx *decompressor;
};

static const char *const names[] = { "null", "deflate", "snappy", "zstandard", "bzip2", "xz" };

int
avro_codec_find(flow_slice name)
{
	for (int i = 0; i < (int)FLOW_COUNT(names); i++)
		if (flow_slice_is(name, names[i]))
			return i;
	return -1;
}

const char *
avro_codec_name(int codec)
{
	return names[codec];
}

avro_codec *
avro_codec_create(const flow_host *host, int codec, int level)
{
	avro_codec *c = (avro_codec *)host->allocate(sizeof(*c));
	if (c == NULL)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->host = host;
	c->codec = codec;
	c->level = level;
	return c;
}

void
avro_codec_destroy(avro_codec *c)
{
	if (c == NULL)
		return;
	if (c->deflater != NULL)
		libdeflate_free_compressor(c->deflater);
	if (c->inflater != NULL)
		libdeflate_free_decompressor(c->inflater);
	ZSTD_freeCCtx(c->compressor);
	ZSTD_freeDCtx(c->decompressor);
	c->host->release(c);
}

/* --- compression ------------------------------------------------------------------------------------------------------- */

static flow_status
compress_deflate(avro_codec *c, const char *data, uint64_t size, flow_buffer *to)
{
	if (c->deflater == NULL)
		c->deflater = libdeflate_alloc_compressor(c->level == USUAL ? 6 : c->level);
	if (c->deflater == NULL)
		return FLOW_E_MEMORY;
	size_t bound = libdeflate_deflate_compress_bound(c->deflater, size);
	char *room = flow_buffer_reserve(to, bound);
	if (room == NULL)
		return FLOW_E_MEMORY;
	size_t used = libdeflate_deflate_compress(c->deflater, data, size, room, bound);
	to->size += used;
	return used != 0 ? FLOW_OK : FLOW_E_ENCODE;
}

static flow_status
compress_snappy(const char *data, uint64_t size, flow_buffer *to)
{
	size_t used = snappy_max_compressed_length(size);
	char *room = flow_buffer_reserve(to, used + 4);
	if (room == NULL)
		return FLOW_E_MEMORY;
	if (snappy_compress(data, size, room, &used) != SNAPPY_OK)
		return FLOW_E_ENCODE;
	uint32_t crc = libdeflate_crc32(0, data, size);
	for (int i = 0; i < 4; i++)
		room[used + (size_t)i] = (char)(crc >> (24 - 8 * i));
	to->size += used + 4;
	return FLOW_OK;
}

static flow_status
compress_zstandard(avro_codec *c, const char *data, uint64_t size, flow_buffer *to)
{
	if (c->compressor == NULL)
		c->compressor = ZSTD_createCCtx();
	size_t bound = ZSTD_compressBound(size);
	char *room = flow_buffer_reserve(to, bound);
	if (room == NULL || c->compressor == NULL)
		return FLOW_E_MEMORY;
	size_t used = ZSTD_compressCCtx(c->compressor, room, bound, data, size, c->level == USUAL ? 1 : c->level);
	if (ZSTD_isError(used))
		return FLOW_E_ENCODE;
	to->size += used;
	return FLOW_OK;
}

static flow_status
compress_bzip2(const avro_codec *c, const char *data, uint64_t size, flow_buffer *to)
{
	if (size > UINT32_MAX / 2)
		return FLOW_E_LIMIT;
	unsigned used = (unsigned)(size + size / 100 + 601);
	char *room = flow_buffer_reserve(to, used);
	if (room == NULL)
		return FLOW_E_MEMORY;
	int level = c->level == USUAL ? 9 : c->level;
	int result = BZ2_bzBuffToBuffCompress(room, &used, (char *)(uintptr_t)data, (unsigned)size, level, 0, 0);
	if (result != BZ_OK)
		return result == BZ_MEM_ERROR ? FLOW_E_MEMORY : FLOW_E_ENCODE;
	to->size += used;
	return FLOW_OK;
}

static flow_status
compress_xz(const avro_codec *c, const char *data, uint64_t size, flow_buffer *to)
{
	size_t bound = lzma_stream_buffer_bound(size), used = 0;
	char *room = flow_buffer_reserve(to, bound);
	if (room == NULL)
		return FLOW_E_MEMORY;
	uint32_t level = c->level == USUAL ? LZMA_PRESET_DEFAULT : (uint32_t)c->level;
	lzma_ret result = lzma_easy_buffer_encode(level, LZMA_CHECK_CRC32, NULL, (const uint8_t *)data, size,
											  (uint8_t *)room, &used, bound);
	if (result != LZMA_OK)
		return result == LZMA_MEM_ERROR ? FLOW_E_MEMORY : FLOW_E_ENCODE;
	to->size += used;
	return FLOW_OK;
}

flow_status
avro_compress(avro_codec *c, const char *data, uint64_t size, flow_buffer *to)
{
	switch (c->codec) {
	case AVRO_CODEC_DEFLATE:
		return compress_deflate(c, data, size, to);
	case AVRO_CODEC_SNAPPY:
		return compress_snappy(data, size, to);
	case AVRO_CODEC_ZSTANDARD:
		return compress_zstandard(c, data, size, to);
	case AVRO_CODEC_BZIP2:
		return compress_bzip2(c, data, size, to);
	default:
		return compress_xz(c, data, size, to);
	}
}

/* --- blocks --------------------------------------------------------------------------------------------------------------- */

static avro_block *
block_create(const flow_host *host, uint64_t capacity)
{
	avro_block *block = (avro_block *)host->allocate(sizeof(*block) + capacity + AVRO_PADDING);
	if (block == NULL)
		return NULL;
	block->host = host;
	atomic_init(&block->references, 1);
	block->size = 0;
	block->capacity = capacity;
	return block;
}

/* Twice as large. 0: beyond the limit, or no memory; the block is still there. */
static int
block_grow(avro_block **block, uint64_t limit)
{
	uint64_t capacity = (*block)->capacity >= limit / 2 ? limit : (*block)->capacity * 2;
	if (capacity == (*block)->capacity)
		return 0;
	const flow_host *host = (*block)->host;
	avro_block *grown = (avro_block *)host->reallocate(*block, sizeof(*grown) + capacity + AVRO_PADDING);
	if (grown == NULL)
		return 0;
	grown->capacity = capacity;
	*block = grown;
	return 1;
}

const char *
avro_block_data(const avro_block *block, uint64_t *size)
{
	*size = block->size;
	return block->data;
}

avro_block *
avro_block_retain(avro_block *block)
{
	atomic_fetch_add_explicit(&block->references, 1, memory_order_relaxed);
	return block;
}

void
avro_block_release(void *owner)
{
	avro_block *block = (avro_block *)owner;
	if (block != NULL && atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel) == 1)
		block->host->release(block);
}

/* --- decompression ---------------------------------------------------------------------------------------------------------- */

static const char beyond[] = "the block is longer than max_block when it is decompressed";
static const char broken[] = "the block's compressed data is damaged";
static const char trailing[] = "bytes behind the block's compressed data";

static flow_status
failed(const char **reason, flow_status status, const char *text)
{
	*reason = text;
	return status;
}

/* Into room that doubles until it is enough; a guess from the last block makes that rare. */
static flow_status
decompress_deflate(avro_codec *c, const char *data, uint64_t size, uint64_t limit, avro_block **block,
				   const char **reason)
{
	if (c->inflater == NULL)
		c->inflater = libdeflate_alloc_decompressor();
	if (c->inflater == NULL)
		return failed(reason, FLOW_E_MEMORY, "out of memory");
	for (;;) {
		size_t used, length;
		enum libdeflate_result result = libdeflate_deflate_decompress_ex(c->inflater, data, size, (*block)->data,
																		 (*block)->capacity, &used, &length);
		if (result == LIBDEFLATE_SUCCESS) {
			(*block)->size = length;
			/* fastavro leaves three bytes of zlib's checksum behind */
			return size - used <= 4 ? FLOW_OK : failed(reason, FLOW_E_CORRUPT, trailing);
		}
		if (result != LIBDEFLATE_INSUFFICIENT_SPACE)
			return failed(reason, FLOW_E_CORRUPT, broken);
		if (!block_grow(block, limit))
			return failed(reason, FLOW_E_LIMIT, beyond);
	}
}

static flow_status
decompress_snappy(const char *data, uint64_t size, uint64_t limit, avro_block **block, const char **reason)
{
	size_t length;
	if (size < 4 || snappy_uncompressed_length(data, size - 4, &length) != SNAPPY_OK)
		return failed(reason, FLOW_E_CORRUPT, broken);
	if (length > limit)
		return failed(reason, FLOW_E_LIMIT, beyond);
	if (length > (size - 4) * 64 + 64) /* snappy's best is 64 bytes for 3 */
		return failed(reason, FLOW_E_CORRUPT, broken);
	while (length > (*block)->capacity)
		if (!block_grow(block, limit))
			return failed(reason, FLOW_E_MEMORY, "out of memory");
	if (snappy_uncompress(data, size - 4, (*block)->data, &length) != SNAPPY_OK)
		return failed(reason, FLOW_E_CORRUPT, broken);
	(*block)->size = length;
	uint32_t crc = 0;
	for (int i = 0; i < 4; i++)
		crc = crc << 8 | (uint8_t)data[size - 4 + (uint64_t)i];
	if (crc != libdeflate_crc32(0, (*block)->data, length))
		return failed(reason, FLOW_E_CORRUPT, "the block's checksum is wrong");
	return FLOW_OK;
}

static flow_status
decompress_zstandard(avro_codec *c, const char *data, uint64_t size, uint64_t limit, avro_block **block,
					 const char **reason)
{
	if (c->decompressor == NULL)
		c->decompressor = ZSTD_createDCtx();
	if (c->decompressor == NULL)
		return failed(reason, FLOW_E_MEMORY, "out of memory");
	ZSTD_DCtx_reset(c->decompressor, ZSTD_reset_session_only);
	ZSTD_inBuffer in = { data, size, 0 };
	for (size_t left = 1;;) {
		ZSTD_outBuffer out = { (*block)->data, (*block)->capacity, (*block)->size };
		left = ZSTD_decompressStream(c->decompressor, &out, &in);
		if (ZSTD_isError(left))
			return failed(reason, FLOW_E_CORRUPT, broken);
		(*block)->size = out.pos;
		if (left == 0 && in.pos == in.size)
			return FLOW_OK;
		if (out.pos == out.size && !block_grow(block, limit))
			return failed(reason, FLOW_E_LIMIT, beyond);
		if (in.pos == in.size && out.pos < out.size)
			return failed(reason, FLOW_E_CORRUPT, broken);
	}
}

static flow_status
decompress_bzip2(const char *data, uint64_t size, uint64_t limit, avro_block **block, const char **reason)
{
	bz_stream z = { 0 };
	if (BZ2_bzDecompressInit(&z, 0, 0) != BZ_OK)
		return failed(reason, FLOW_E_MEMORY, "out of memory");
	z.next_in = (char *)(uintptr_t)data;
	z.avail_in = (unsigned)size;
	flow_status status = FLOW_AGAIN;
	while (status == FLOW_AGAIN) {
		uint64_t room = (*block)->capacity - (*block)->size;
		z.next_out = (*block)->data + (*block)->size;
		z.avail_out = (unsigned)room;
		int result = BZ2_bzDecompress(&z);
		(*block)->size += room - z.avail_out;
		if (result == BZ_STREAM_END)
			status = z.avail_in == 0 ? FLOW_OK : failed(reason, FLOW_E_CORRUPT, trailing);
		else if (result != BZ_OK || z.avail_out != 0)
			status = failed(reason, result == BZ_MEM_ERROR ? FLOW_E_MEMORY : FLOW_E_CORRUPT, broken);
		else if (!block_grow(block, limit))
			status = failed(reason, FLOW_E_LIMIT, beyond);
	}
	BZ2_bzDecompressEnd(&z);
	return status;
}

static flow_status
decompress_xz(const char *data, uint64_t size, uint64_t limit, avro_block **block, const char **reason)
{
	lzma_stream z = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&z, MEMORY_LIMIT_XZ, LZMA_CONCATENATED) != LZMA_OK)
		return failed(reason, FLOW_E_MEMORY, "out of memory");
	z.next_in = (const uint8_t *)data;
	z.avail_in = size;
	flow_status status = FLOW_AGAIN;
	while (status == FLOW_AGAIN) {
		uint64_t room = (*block)->capacity - (*block)->size;
		z.next_out = (uint8_t *)(*block)->data + (*block)->size;
		z.avail_out = room;
		lzma_ret result = lzma_code(&z, LZMA_FINISH);
		(*block)->size += room - z.avail_out;
		if (result == LZMA_STREAM_END)
			status = FLOW_OK;
		else if ((result != LZMA_OK && result != LZMA_BUF_ERROR) || z.avail_out != 0)
			status = failed(reason, result == LZMA_MEM_ERROR ? FLOW_E_MEMORY : FLOW_E_CORRUPT, broken);
		else if (!block_grow(block, limit))
			status = failed(reason, FLOW_E_LIMIT, beyond);
	}
	lzma_end(&z);
	return status;
}

flow_status
avro_decompress(avro_codec *c, const char *data, uint64_t size, uint64_t limit, avro_block **block, const char **reason)
{
	uint64_t guess = c->last_size > size * 2 ? c->last_size : size * 2;
	guess = guess < FIRST_SIZE ? FIRST_SIZE : guess;
	*block = block_create(c->host, guess < limit ? guess : limit);
	if (*block == NULL)
		return failed(reason, FLOW_E_MEMORY, "out of memory");
	flow_status status;
	if (size > UINT32_MAX / 2)
		status = failed(reason, FLOW_E_LIMIT, beyond);
	else if (c->codec == AVRO_CODEC_DEFLATE)
		status = decompress_deflate(c, data, size, limit, block, reason);
	else if (c->codec == AVRO_CODEC_SNAPPY)
		status = decompress_snappy(data, size, limit, block, reason);
	else if (c->codec == AVRO_CODEC_ZSTANDARD)
		status = decompress_zstandard(c, data, size, limit, block, reason);
	else if (c->codec == AVRO_CODEC_BZIP2)
		status = decompress_bzip2(data, size, limit, block, reason);
	else
		status = decompress_xz(data, size, limit, block, reason);
	if (status == FLOW_OK) {
		memset((*block)->data + (*block)->size, 0, AVRO_PADDING);
		c->last_size = (*block)->size;
		return FLOW_OK;
	}
	avro_block_release(*block);
	*block = NULL;
	return status;
}
