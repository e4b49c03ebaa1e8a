/*
 * A checkpoint record as bytes (state/checkpoint.h). Little-endian: "FLCK", version, epoch, run id, number of key
 * groups, flags, time (since version 2), four counts, the entries, CRC32C of all before it. A text is its size (u32) and its bytes.
 */
#include <string.h>

#include "base/checksum.h"
#include "base/error.h"
#include "state/checkpoint.h"

#define MAGIC "FLCK"
#define VERSION 2u
#define FLAG_FINAL 1u
#define FLAG_FINISHED 2u
#define FLAG_COMMITTED 4u
#define FLAGS_KNOWN 7u

/* The least bytes of an entry: what bounds a count before memory is asked for. */
#define IDENTITY_SIZE 20
#define POSITION_SIZE 20
#define HANDLE_SIZE 12
#define WATERMARK_SIZE 16

struct writer {
	flow_buffer *buffer;
	flow_status status;
};

static void
write_bytes(struct writer *w, const void *data, uint64_t size)
{
	if (w->status == FLOW_OK && data != NULL)
		w->status = flow_buffer_append(w->buffer, data, size);
}

static void
write_number(struct writer *w, uint64_t number, uint32_t size)
{
	unsigned char bytes[8];
	for (uint32_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(number >> (8 * i));
	write_bytes(w, bytes, size);
}

static void
write_text(struct writer *w, flow_slice text)
{
	if (text.size > UINT32_MAX)
		w->status = FLOW_E_LIMIT;
	write_number(w, text.size, 4);
	write_bytes(w, text.data, text.size);
}

static void
write_counts(struct writer *w, const checkpoint *record)
{
	const uint64_t counts[] = { record->identity_count, record->position_count, record->handle_count,
								record->watermark_count };
	for (size_t i = 0; i < FLOW_COUNT(counts); i++) {
		if (counts[i] > UINT32_MAX)
			w->status = FLOW_E_LIMIT;
		write_number(w, counts[i], 4);
	}
}

static void
write_entries(struct writer *w, const checkpoint *record)
{
	for (uint64_t i = 0; i < record->identity_count; i++) {
		const checkpoint_identity *identity = &record->identities[i];
		write_text(w, identity->kind);
		write_text(w, identity->name);
		write_text(w, identity->layout);
		write_number(w, identity->state_id, 4);
		write_number(w, identity->id_count, 4);
	}
	for (uint64_t i = 0; i < record->position_count; i++) {
		const checkpoint_position *position = &record->positions[i];
		write_text(w, position->input);
		write_text(w, position->partition);
		write_text(w, position->position);
		write_text(w, position->decoder);
		write_number(w, position->ended, 4);
	}
	for (uint64_t i = 0; i < record->handle_count; i++) {
		write_text(w, record->handles[i].output);
		write_number(w, record->handles[i].task, 4);
		write_text(w, record->handles[i].bytes);
	}
	for (uint64_t i = 0; i < record->watermark_count; i++) {
		write_text(w, record->watermarks[i].operator_name);
		write_number(w, record->watermarks[i].task, 4);
		write_number(w, (uint64_t)record->watermarks[i].value, 8);
	}
}

flow_status
checkpoint_encode(const checkpoint *record, flow_buffer *buffer)
{
	struct writer w = { buffer, FLOW_OK };
	uint64_t start = buffer->size;
	uint32_t flags = (record->final ? FLAG_FINAL : 0) | (record->finished ? FLAG_FINISHED : 0) |
					 (record->committed ? FLAG_COMMITTED : 0);
	write_bytes(&w, MAGIC, 4);
	write_number(&w, VERSION, 4);
	write_number(&w, record->epoch, 8);
	write_bytes(&w, record->run_id, sizeof(record->run_id));
	write_number(&w, record->group_count, 4);
	write_number(&w, flags, 4);
	write_number(&w, (uint64_t)record->time, 8);
	write_counts(&w, record);
	write_entries(&w, record);
	if (w.status == FLOW_OK)
		write_number(&w, checksum_crc32c(0, buffer->data + start, buffer->size - start), 4);
	return w.status;
}

struct reader {
	const char *start;
	const char *next;
	const char *end;
	arena *memory;
	flow_error *error;
	flow_status status;
};

static void
stop(struct reader *r, const char *what)
{
	if (r->status == FLOW_OK)
		r->status = error_set(r->error, FLOW_E_CORRUPT, "checkpoint record: %s at offset %llu of %llu", what,
							  (unsigned long long)(r->next - r->start), (unsigned long long)(r->end - r->start));
}

static const char *
read_bytes(struct reader *r, uint64_t size, const char *what)
{
	if (r->status != FLOW_OK)
		return NULL;
	if ((uint64_t)(r->end - r->next) < size) {
		stop(r, what);
		return NULL;
	}
	const char *data = r->next;
	r->next += size;
	return data;
}

static uint64_t
read_number(struct reader *r, uint32_t size)
{
	const unsigned char *bytes = (const unsigned char *)read_bytes(r, size, "a number is cut off");
	uint64_t number = 0;
	for (uint32_t i = 0; bytes != NULL && i < size; i++)
		number |= (uint64_t)bytes[i] << (8 * i);
	return number;
}

static uint32_t
read_u32(struct reader *r)
{
	return (uint32_t)read_number(r, 4);
}

static flow_slice
read_text(struct reader *r)
{
	uint64_t size = read_number(r, 4);
	const char *data = read_bytes(r, size, "a text is longer than the record");
	return flow_slice_make(data, data == NULL ? 0 : size);
}

/* Memory for `count` entries, or NULL with a status; a count that the rest cannot hold is damage. */
static void *
make_entries(struct reader *r, uint64_t count, uint64_t least_size, size_t entry_size)
{
	if (r->status != FLOW_OK)
		return NULL;
	if (count > (uint64_t)(r->end - r->next) / least_size) {
		stop(r, "more entries than the record can hold");
		return NULL;
	}
	void *entries = arena_allocate_zeroed(r->memory, (size_t)count * entry_size + 1);
	if (entries == NULL)
		r->status = error_set(r->error, FLOW_E_MEMORY, "checkpoint record: out of memory");
	return entries;
}

static void
read_identities(struct reader *r, checkpoint *record)
{
	checkpoint_identity *entries = make_entries(r, record->identity_count, IDENTITY_SIZE, sizeof(*entries));
	record->identities = entries;
	for (uint64_t i = 0; i < record->identity_count && r->status == FLOW_OK; i++) {
		entries[i].kind = read_text(r);
		entries[i].name = read_text(r);
		entries[i].layout = read_text(r);
		entries[i].state_id = read_u32(r);
		entries[i].id_count = read_u32(r);
	}
}

static void
read_positions(struct reader *r, checkpoint *record)
{
	checkpoint_position *entries = make_entries(r, record->position_count, POSITION_SIZE, sizeof(*entries));
	record->positions = entries;
	for (uint64_t i = 0; i < record->position_count && r->status == FLOW_OK; i++) {
		entries[i].input = read_text(r);
		entries[i].partition = read_text(r);
		entries[i].position = read_text(r);
		if (entries[i].position.size == 0)
			entries[i].position.data = NULL; /* none known yet: reading starts where it would anew */
		entries[i].decoder = read_text(r);
		entries[i].ended = read_u32(r);
	}
}

static void
read_handles(struct reader *r, checkpoint *record)
{
	checkpoint_handle *entries = make_entries(r, record->handle_count, HANDLE_SIZE, sizeof(*entries));
	record->handles = entries;
	for (uint64_t i = 0; i < record->handle_count && r->status == FLOW_OK; i++) {
		entries[i].output = read_text(r);
		entries[i].task = read_u32(r);
		entries[i].bytes = read_text(r);
	}
}

static void
read_watermarks(struct reader *r, checkpoint *record)
{
	checkpoint_watermark *entries = make_entries(r, record->watermark_count, WATERMARK_SIZE, sizeof(*entries));
	record->watermarks = entries;
	for (uint64_t i = 0; i < record->watermark_count && r->status == FLOW_OK; i++) {
		entries[i].operator_name = read_text(r);
		entries[i].task = read_u32(r);
		entries[i].value = (int64_t)read_number(r, 8);
	}
}

static void
read_head(struct reader *r, uint32_t version, checkpoint *record)
{
	record->epoch = read_number(r, 8);
	const char *run_id = read_bytes(r, sizeof(record->run_id), "the run id is cut off");
	if (run_id != NULL)
		memcpy(record->run_id, run_id, sizeof(record->run_id));
	record->group_count = read_u32(r);
	uint32_t flags = read_u32(r);
	if ((flags & ~FLAGS_KNOWN) != 0)
		stop(r, "unknown flags");
	record->final = (flags & FLAG_FINAL) != 0;
	record->finished = (flags & FLAG_FINISHED) != 0;
	record->committed = (flags & FLAG_COMMITTED) != 0;
	if (version >= 2)
		record->time = (int64_t)read_number(r, 8);
	record->identity_count = read_u32(r);
	record->position_count = read_u32(r);
	record->handle_count = read_u32(r);
	record->watermark_count = read_u32(r);
}

/* Magic, version (which it returns) and checksum; leaves the reader behind the version with the checksum cut off. */
static uint32_t
check_envelope(struct reader *r)
{
	const char *magic = read_bytes(r, 4, "cut off");
	if (magic != NULL && memcmp(magic, MAGIC, 4) != 0)
		stop(r, "this is no checkpoint record");
	uint32_t version = read_u32(r);
	if (r->status == FLOW_OK && version > VERSION)
		r->status =
			error_set(r->error, FLOW_E_CONFLICT,
					  "checkpoint record: format %u, this flowd knows up to %u; use a newer flowd", version, VERSION);
	if (r->status == FLOW_OK && (version == 0 || r->end - r->next < 4))
		stop(r, "cut off");
	if (r->status != FLOW_OK)
		return version;
	struct reader tail = *r;
	tail.next = r->end - 4;
	uint32_t expected = read_u32(&tail);
	r->end -= 4;
	if (checksum_crc32c(0, r->start, (size_t)(r->end - r->start)) != expected)
		stop(r, "the checksum does not match");
	return version;
}

flow_status
checkpoint_decode(flow_slice bytes, arena *memory, const checkpoint **record, flow_error *error)
{
	struct reader r = { bytes.data, bytes.data, bytes.data + bytes.size, memory, error, FLOW_OK };
	checkpoint *read = arena_allocate_zeroed(memory, sizeof(*read));
	if (read == NULL)
		return error_set(error, FLOW_E_MEMORY, "checkpoint record: out of memory");
	uint32_t version = check_envelope(&r);
	if (r.status == FLOW_OK)
		read_head(&r, version, read);
	read_identities(&r, read);
	read_positions(&r, read);
	read_handles(&r, read);
	read_watermarks(&r, read);
	if (r.status == FLOW_OK && r.next != r.end)
		stop(&r, "there is more than its counts say");
	if (r.status == FLOW_OK)
		*record = read;
	return r.status;
}
