/* Decoders: opened, saved, restored, and told the schema of their file. */
#include <stdio.h>
#include <zstd.h>

#include "avro_decoder.h"
#include "flow_sdk/plugin.h"

static flow_status
no_memory(const flow_host *host, flow_error *error)
{
	return flow_fail(host, error, FLOW_E_MEMORY, "avro: out of memory");
}

flow_status
avro_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder, flow_error *error)
{
	const avro_serde *s = (const avro_serde *)serde;
	const flow_host *host = s->host;
	if (s->reader == NULL)
		return flow_fail(host, error, FLOW_E_ARGUMENT,
						 "avro: the schema is not known yet (decoded_schema comes first)");
	struct flow_decoder *d = (struct flow_decoder *)flow_new(host, sizeof(*d) + request->place.size + 1);
	if (d == NULL)
		return no_memory(host, error);
	d->serde = s;
	d->host = host;
	d->state = (avro_state){ .version = AVRO_STATE_VERSION, .last_ordinal = -1 };
	d->decoding.input.host = host;
	d->decoding.depth_limit = s->depth_limit;
	d->place_size = request->place.size;
	if (d->place_size != 0)
		memcpy(d->place, request->place.data, d->place_size);
	int projected = request->fields != NULL && s->reader->kind == FLOW_KIND_RECORD;
	if (projected)
		d->wanted = (uint8_t *)flow_new(host, (uint64_t)s->reader->field_count + 1);
	d->plans = (avro_plan **)flow_new(host, (s->known_count + 1) * sizeof(avro_plan *));
	if (d->plans == NULL || (projected && d->wanted == NULL)) {
		avro_decoder_close(d);
		return no_memory(host, error);
	}
	for (uint64_t i = 0; projected && i < request->field_count; i++)
		if (request->fields[i] < s->reader->field_count)
			d->wanted[request->fields[i]] = 1;
	*decoder = d;
	return FLOW_OK;
}

void
avro_decoder_close(flow_decoder *d)
{
	const flow_host *host = d->host;
	for (uint32_t i = 0; d->plans != NULL && i < d->serde->known_count; i++)
		avro_plan_destroy(d->plans[i]);
	avro_plan_destroy(d->plan);
	avro_codec_destroy(d->codec);
	avro_block_release(d->block);
	host->release(d->plans);
	host->release(d->wanted);
	host->release(d->schema_text);
	host->release(d->saved);
	host->release(d->decoding.input.frames);
	host->release(d);
}

flow_status
avro_decoder_begin(flow_decoder *d, flow_slice text, int codec, flow_error *error)
{
	const flow_host *host = d->host;
	const flow_schemas *schemas = d->serde->schemas;
	const flow_schema *writer = schemas->parse_json(text, error);
	if (writer == NULL) {
		avro_prefix(host, error, "%s: the schema in the header", d->place);
		return FLOW_E_DECODE;
	}
	d->plan = avro_plan_create(host, writer, d->serde->reader, d->wanted, error);
	schemas->release(writer);
	if (d->plan == NULL) {
		avro_prefix(host, error, "%s: its schema cannot be read as the schema of the stream", d->place);
		return FLOW_E_DECODE;
	}
	d->schema_text = (char *)host->allocate(text.size + 1);
	d->codec = codec == AVRO_CODEC_NULL ? NULL : avro_codec_create(host, codec, INT32_MIN);
	if (d->schema_text == NULL || (codec != AVRO_CODEC_NULL && d->codec == NULL))
		return no_memory(host, error);
	memcpy(d->schema_text, text.data, text.size);
	d->schema_text[text.size] = '\0';
	d->state.schema_size = text.size;
	d->state.codec = (uint32_t)codec;
	d->state.has_header = 1;
	return FLOW_OK;
}

/* --- checkpoints ----------------------------------------------------------------------------------------------------- */

#define STATE_MAX ((uint64_t)64 * 1024)

flow_status
avro_save(flow_decoder *d, flow_slice *state, flow_error *error)
{
	const flow_host *host = d->host;
	size_t size = d->state.schema_size == 0 ? 0 : ZSTD_compressBound(d->state.schema_size);
	if (d->saved == NULL || d->saved_capacity < sizeof(avro_state) + size) {
		host->release(d->saved);
		d->saved_capacity = sizeof(avro_state) + size;
		d->saved = (char *)host->allocate(d->saved_capacity);
		if (d->saved == NULL)
			return no_memory(host, error);
	}
	memcpy(d->saved, &d->state, sizeof(d->state));
	if (size != 0)
		size = ZSTD_compress(d->saved + sizeof(avro_state), size, d->schema_text, d->state.schema_size, 3);
	if (ZSTD_isError(size))
		return no_memory(host, error);
	*state = flow_slice_make(d->saved, sizeof(avro_state) + size);
	if (state->size > STATE_MAX)
		return flow_fail(
			host, error, FLOW_E_LIMIT,
			"%s: the schema in its header is too large for a checkpoint (%llu bytes compressed, at most 64 KiB)",
			d->place, (unsigned long long)size);
	return FLOW_OK;
}

static flow_status
restore_schema(flow_decoder *d, const avro_state *s, flow_slice compressed, flow_error *error)
{
	const flow_host *host = d->host;
	char *text = (char *)host->allocate(s->schema_size + 1);
	if (text == NULL)
		return no_memory(host, error);
	size_t size = ZSTD_decompress(text, s->schema_size, compressed.data, compressed.size);
	flow_status status = FLOW_OK;
	if (ZSTD_isError(size) || size != s->schema_size)
		status = flow_fail(host, error, FLOW_E_CORRUPT, "avro: the saved state of %s is damaged", d->place);
	else
		status = avro_decoder_begin(d, flow_slice_make(text, size), (int)s->codec, error);
	host->release(text);
	return status;
}

flow_status
avro_restore(flow_decoder *d, flow_slice state, flow_error *error)
{
	avro_state s;
	int known = state.size >= sizeof(s);
	if (known) {
		memcpy(&s, state.data, sizeof(s));
		known = s.version == AVRO_STATE_VERSION && s.schema_size <= AVRO_HEADER_MAX && s.codec <= AVRO_CODEC_XZ;
	}
	if (!known)
		return flow_fail(d->host, error, FLOW_E_CORRUPT, "avro: the saved state of %s is of another version", d->place);
	flow_slice rest = flow_slice_make(state.data + sizeof(s), state.size - sizeof(s));
	flow_status status = s.has_header ? restore_schema(d, &s, rest, error) : FLOW_OK;
	if (status == FLOW_OK)
		d->state = s;
	return status;
}

/* --- record errors --------------------------------------------------------------------------------------------------- */

flow_status
avro_decoder_reject(flow_decoder *d, flow_builder *builder, flow_slice raw, int64_t ordinal)
{
	const avro_decoding *decoding = &d->decoding;
	char reason[AVRO_REASON_MAX + AVRO_PATH_MAX + 64];
	int path = (int)decoding->path_size;
	snprintf(reason, sizeof(reason), "%s (byte %llu%s%.*s)", decoding->input.reason,
			 (unsigned long long)decoding->fault_offset, path == 0 ? "" : ", field ", path, decoding->path);
	flow_rejection rejection = { .struct_size = FLOW_SIZEOF(flow_rejection),
								 .status = decoding->input.status,
								 .reason = flow_slice_of(reason),
								 .field = flow_slice_make(decoding->path, decoding->path_size),
								 .raw = raw,
								 .ordinal = ordinal };
	return builder->ops->reject(builder, &rejection);
}
