/* Headers of container files. */
#include "avro.h"
#include "avro_wire.h"
#include "flow_sdk/plugin.h"

#define MAGIC "Obj\x01"

struct reading {
	const flow_host *host;
	flow_slice bytes;
	uint64_t at;
	flow_error *error;
};

static flow_status
fail(struct reading *r, const char *what)
{
	return flow_fail(r->host, r->error, FLOW_E_DECODE,
					 "the header at offset 0 is not one of an Avro container: byte %llu: %s", (unsigned long long)r->at,
					 what);
}

static flow_status
read_long(struct reading *r, int64_t *number)
{
	uint64_t value = 0;
	for (int i = 0; i < AVRO_VARINT_MAX; i++) {
		if (r->at + (uint64_t)i >= r->bytes.size)
			return FLOW_AGAIN;
		uint8_t byte = (uint8_t)r->bytes.data[r->at + (uint64_t)i];
		value |= (uint64_t)(byte & 0x7F) << (7 * i);
		if (byte < 0x80) {
			r->at += (uint64_t)i + 1;
			*number = avro_unzigzag(value);
			return FLOW_OK;
		}
	}
	return fail(r, "a number of more than 64 bits");
}

static flow_status
read_text(struct reading *r, flow_slice *text)
{
	int64_t size;
	flow_status status = read_long(r, &size);
	if (status != FLOW_OK)
		return status;
	if (size < 0 || (uint64_t)size > AVRO_HEADER_MAX)
		return fail(r, "a length that is negative or above 16 MiB");
	if ((uint64_t)size > r->bytes.size - r->at)
		return FLOW_AGAIN;
	*text = flow_slice_make(r->bytes.data + r->at, (uint64_t)size);
	r->at += (uint64_t)size;
	return FLOW_OK;
}

static flow_status
read_entry(struct reading *r, avro_header *header)
{
	flow_slice key, value;
	flow_status status = read_text(r, &key);
	if (status == FLOW_OK)
		status = read_text(r, &value);
	if (status != FLOW_OK)
		return status;
	if (flow_slice_is(key, "avro.schema")) {
		header->schema = value;
	} else if (flow_slice_is(key, "avro.codec")) {
		header->codec = avro_codec_find(value.size == 0 ? flow_slice_of("null") : value);
		if (header->codec < 0)
			return flow_fail(
				r->host, r->error, FLOW_E_UNSUPPORTED,
				"the header names the codec '%.*s'; null, deflate, snappy, zstandard, bzip2 and xz are known",
				(int)(value.size > 40 ? 40 : value.size), value.data);
	}
	return FLOW_OK;
}

static flow_status
read_metadata(struct reading *r, avro_header *header)
{
	for (;;) {
		int64_t count, size;
		flow_status status = read_long(r, &count);
		if (status != FLOW_OK || count == 0)
			return status;
		if (count < 0) {
			status = read_long(r, &size);
			if (status != FLOW_OK)
				return status;
			if (count == INT64_MIN || size < 0)
				return fail(r, "a block of entries with an impossible count or size");
			count = -count;
		}
		if ((uint64_t)count > AVRO_HEADER_MAX)
			return fail(r, "more entries than a header can hold");
		for (; count > 0 && status == FLOW_OK; count--)
			status = read_entry(r, header);
		if (status != FLOW_OK)
			return status;
	}
}

flow_status
avro_header_read(const flow_host *host, flow_slice bytes, avro_header *header, flow_error *error)
{
	struct reading r = { .host = host, .bytes = bytes, .error = error };
	*header = (avro_header){ .codec = AVRO_CODEC_NULL };
	uint64_t seen = bytes.size < 4 ? bytes.size : 4;
	if (seen != 0 && memcmp(bytes.data, MAGIC, seen) != 0)
		return fail(&r, "it does not start with \"Obj\" and 1");
	if (seen < 4)
		return FLOW_AGAIN;
	r.at = 4;
	flow_status status = read_metadata(&r, header);
	if (status == FLOW_AGAIN && bytes.size > AVRO_HEADER_MAX)
		return fail(&r, "it is longer than 16 MiB");
	if (status != FLOW_OK)
		return status;
	if (header->schema.data == NULL)
		return fail(&r, "there is no avro.schema before it");
	if (bytes.size - r.at < AVRO_SYNC_SIZE)
		return FLOW_AGAIN;
	memcpy(header->sync, bytes.data + r.at, AVRO_SYNC_SIZE);
	header->size = r.at + AVRO_SYNC_SIZE;
	return FLOW_OK;
}

static flow_status
put_text(flow_buffer *buffer, flow_slice text)
{
	char size[AVRO_VARINT_MAX];
	flow_status status = flow_buffer_append(buffer, size, (uint64_t)(avro_write_long(size, (int64_t)text.size) - size));
	return status == FLOW_OK ? flow_buffer_append(buffer, text.data, text.size) : status;
}

flow_status
avro_header_write(const avro_header *header, flow_buffer *buffer)
{
	const flow_slice texts[] = { flow_slice_of("avro.codec"), flow_slice_of(avro_codec_name(header->codec)),
								 flow_slice_of("avro.schema"), header->schema };
	flow_status status = flow_buffer_append(buffer, MAGIC "\x04", 5);
	for (size_t i = 0; i < FLOW_COUNT(texts) && status == FLOW_OK; i++)
		status = put_text(buffer, texts[i]);
	if (status == FLOW_OK)
		status = flow_buffer_append(buffer, "", 1);
	return status == FLOW_OK ? flow_buffer_append(buffer, header->sync, AVRO_SYNC_SIZE) : status;
}
