/* Records: each one datum, bare or as a single object with the fingerprint of its schema. */
#include <stdio.h>

#include "avro_decoder.h"
#include "flow_sdk/plugin.h"

static flow_status
refuse(flow_decoder *d, flow_status status, const char *reason)
{
	d->decoding.input.status = status;
	d->decoding.input.reason = reason;
	d->decoding.fault_offset = 0;
	d->decoding.path_size = 0;
	return status;
}

/* The plan of a known schema. NULL: out of memory, or the two schemas do not go together, which open has checked. */
static avro_plan *
plan_of(flow_decoder *d, uint32_t known, flow_error *error)
{
	if (d->plans[known] == NULL)
		d->plans[known] = avro_plan_create(d->host, d->serde->known[known].schema, d->serde->reader, d->wanted, error);
	return d->plans[known];
}

/* Which of the known schemas the record was written with; behind its head. */
static flow_status
find_schema(flow_decoder *d, flow_slice *bytes, uint32_t *known)
{
	*known = 0;
	if (!d->serde->single_object)
		return FLOW_OK;
	if (bytes->size < AVRO_OBJECT_HEAD || memcmp(bytes->data, "\xC3\x01", 2) != 0)
		return refuse(d, FLOW_E_DECODE, "no single object: it does not start with C3 01 and a fingerprint");
	uint64_t fingerprint = 0;
	for (int i = 7; i >= 0; i--)
		fingerprint = fingerprint << 8 | (uint8_t)bytes->data[2 + i];
	*bytes = flow_slice_make(bytes->data + AVRO_OBJECT_HEAD, bytes->size - AVRO_OBJECT_HEAD);
	while (*known < d->serde->known_count && d->serde->known[*known].fingerprint != fingerprint)
		++*known;
	if (*known < d->serde->known_count)
		return FLOW_OK;
	snprintf(d->damage, sizeof(d->damage),
			 "no schema with the fingerprint %016llx is known (option writer_schema_file)",
			 (unsigned long long)fingerprint);
	return refuse(d, FLOW_E_DECODE, d->damage);
}

/* The datum with the padding that reading needs. FLOW_E_DECODE and others: it is told in d->decoding. */
static flow_status
decode_datum(flow_decoder *d, flow_slice bytes, const avro_plan *plan, flow_builder *builder, flow_value *value)
{
	avro_decoding *decoding = &d->decoding;
	char *copy = (char *)flow_builder_alloc(builder, bytes.size + AVRO_PADDING);
	if (copy == NULL)
		return FLOW_E_MEMORY;
	if (bytes.size != 0)
		memcpy(copy, bytes.data, bytes.size);
	memset(copy + bytes.size, 0, AVRO_PADDING);
	decoding->builder = builder;
	decoding->input.start = decoding->input.at = copy;
	decoding->input.end = copy + bytes.size;
	flow_status status = avro_decode_value(decoding, plan, value);
	if (status != FLOW_OK || decoding->input.at == decoding->input.end)
		return status;
	uint64_t behind = (uint64_t)(decoding->input.at - copy);
	snprintf(d->damage, sizeof(d->damage), "%llu bytes behind the end of the record",
			 (unsigned long long)(bytes.size - behind));
	refuse(d, FLOW_E_DECODE, d->damage);
	decoding->fault_offset = behind;
	return FLOW_E_DECODE;
}

static flow_status
decode_row(flow_decoder *d, const flow_batch *raw, uint32_t row, flow_builder *builder, uint32_t *source_rows,
		   flow_error *error)
{
	const flow_value *cell = &raw->value[row];
	flow_value *value = &builder->value[builder->row_count]; /* a copy would wait for the parts of the cell */
	*value = flow_null();
	if (cell->type != FLOW_NULL) {
		flow_slice bytes = flow_value_slice(cell);
		uint32_t known;
		flow_status status = find_schema(d, &bytes, &known);
		if (status == FLOW_OK) {
			const avro_plan *plan = plan_of(d, known, error);
			if (plan == NULL)
				return FLOW_E_CONFIG;
			status = decode_datum(d, bytes, plan, builder, value);
		}
		if (status == FLOW_E_MEMORY)
			return flow_fail(d->host, error, status, "avro: out of memory while reading records");
		if (status != FLOW_OK)
			return avro_decoder_reject(d, builder, flow_value_slice(cell),
									   raw->ordinal == NULL ? -1 : raw->ordinal[row]);
	}
	source_rows[builder->row_count++] = row;
	return FLOW_OK;
}

flow_status
avro_decode_rows(flow_decoder *d, const flow_batch *raw, uint32_t first, uint32_t *next, flow_builder *builder,
				 uint32_t *source_rows, flow_error *error)
{
	flow_status status = FLOW_OK;
	uint32_t i = first;
	if (d->serde->known_count == 0)
		return flow_fail(d->host, error, FLOW_E_CONFIG,
						 "avro: records need the schema that they were written with (option schema or schema_file)");
	for (; status == FLOW_OK && i < raw->selected_count && !flow_builder_full(builder); i++)
		status = decode_row(d, raw, flow_row(raw, i), builder, source_rows, error);
	*next = i;
	return status;
}
