/*
 * What a record costs in the msgpack serde, beside msgpack-c doing the same in the same run.
 *
 *     msgpack_bench [seconds [name]]      about so long for each measurement (default 1), of those with that in their name
 *
 * Records of six fields (bench/six_fields.h), as maps by name and as arrays. msgpack-c writes into its sbuffer, and reads into trees
 * of objects; it compares no names.
 */
#include <msgpack.h>

#include "bench/six_fields.h"

#define FIELDS                                                                                                         \
	"fields.id=int64", "fields.name=string", "fields.price=float64", "fields.count=int32", "fields.time=int64",        \
		"fields.note=string?"
#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const char *const names[] = { "id", "name", "price", "count", "time", "note" };

struct bench {
	fixture *f;
	struct record *records;
	fixture_serde serde;
	flow_batch **batches;
	uint32_t batch_count;
	flow_buffer *out;
	uint64_t *ends;
	msgpack_sbuffer packed; /* msgpack-c's objects, one behind another */
	uint64_t *offsets;
	int as_arrays;
	uint64_t sum; /* so that nothing is left out */
};

/* --- msgpack-c --------------------------------------------------------------------------------------------------------- */

static void
put_name(const struct bench *b, msgpack_packer *packer, int field)
{
	if (!b->as_arrays)
		msgpack_pack_str_with_body(packer, names[field], strlen(names[field]));
}

static void
put_record(const struct bench *b, msgpack_packer *packer, const struct record *r)
{
	if (b->as_arrays)
		msgpack_pack_array(packer, 6);
	else
		msgpack_pack_map(packer, 6);
	put_name(b, packer, 0);
	msgpack_pack_int64(packer, r->id);
	put_name(b, packer, 1);
	msgpack_pack_str_with_body(packer, r->name, strlen(r->name));
	put_name(b, packer, 2);
	msgpack_pack_double(packer, r->price);
	put_name(b, packer, 3);
	msgpack_pack_int32(packer, r->count);
	put_name(b, packer, 4);
	msgpack_pack_int64(packer, r->time);
	put_name(b, packer, 5);
	if (r->has_note)
		msgpack_pack_str_with_body(packer, r->note, strlen(r->note));
	else
		msgpack_pack_nil(packer);
}

static void
their_encode(void *context)
{
	struct bench *b = context;
	msgpack_packer packer;
	msgpack_packer_init(&packer, &b->packed, msgpack_sbuffer_write);
	msgpack_sbuffer_clear(&b->packed);
	for (uint32_t i = 0; i < RECORDS; i++) {
		b->offsets[i] = b->packed.size;
		put_record(b, &packer, &b->records[i]);
	}
	b->offsets[RECORDS] = b->packed.size;
	b->sum += b->packed.size;
}

static void
their_decode(void *context)
{
	struct bench *b = context;
	msgpack_unpacked result;
	msgpack_unpacked_init(&result);
	for (size_t at = 0; msgpack_unpack_next(&result, b->packed.data, b->packed.size, &at) == MSGPACK_UNPACK_SUCCESS;)
		b->sum += b->as_arrays ? result.data.via.array.ptr[0].via.u64 : result.data.via.map.ptr[0].val.via.u64;
	msgpack_unpacked_destroy(&result);
}

/* --- ours ------------------------------------------------------------------------------------------------------------ */

static void
our_encode(void *context)
{
	struct bench *b = context;
	static flow_status statuses[FLOW_BATCH_ROWS];
	flow_encoder *encoder = NULL;
	b->serde.ops->encoder_open(b->serde.serde, b->batches[0]->schema, &encoder, NULL);
	for (uint32_t i = 0; i < b->batch_count; i++) {
		buffer_reset(b->out);
		b->serde.ops->encode(encoder, b->batches[i], 0, b->out, b->ends, statuses, NULL);
		b->sum += b->out->size;
	}
	b->serde.ops->encoder_close(encoder);
}

static void
our_decode(void *context)
{
	struct bench *b = context;
	flow_decoder_request request = { .struct_size = FLOW_SIZEOF(request) };
	flow_decoder *decoder = NULL;
	flow_builder *builder = builder_create(b->f->pool, 0, 0);
	b->serde.ops->decoder_open(b->serde.serde, &request, &decoder, NULL);
	batch_head head = { .schema = b->batches[0]->schema };
	for (uint64_t at = 0; at < b->packed.size;) {
		flow_window window = { .struct_size = FLOW_SIZEOF(window),
							   .final = 1,
							   .data = b->packed.data + at,
							   .size = b->packed.size - at,
							   .offset = (int64_t)at };
		if (b->serde.ops->decode(decoder, &window, builder, &b->f->error) != FLOW_OK)
			fail_msg("%s", error_message(&b->f->error));
		at += window.consumed;
		flow_batch *batch = builder_finish(builder, &head);
		b->sum += (uint64_t)flow_batch_field(batch, 0, 0)->as.int64;
		batch_release(batch);
	}
	b->serde.ops->decoder_close(decoder);
	builder_destroy(builder);
}

/* Before anything is measured: both write the same bytes. */
static void
check_agreement(struct bench *b)
{
	static flow_status statuses[FLOW_BATCH_ROWS];
	flow_encoder *encoder = NULL;
	b->serde.ops->encoder_open(b->serde.serde, b->batches[0]->schema, &encoder, NULL);
	uint64_t at = 0;
	for (uint32_t i = 0; i < b->batch_count; i++) {
		buffer_reset(b->out);
		b->serde.ops->encode(encoder, b->batches[i], 0, b->out, b->ends, statuses, NULL);
		assert_memory_equal(b->out->data, b->packed.data + at, b->out->size);
		at += b->out->size;
	}
	assert_int_equal(at, b->packed.size);
	b->serde.ops->encoder_close(encoder);
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	pairs_only = argc > 2 ? argv[2] : "";
	static const char *const forms[] = { "maps", "arrays" };
	for (int form = 0; form < 2; form++) {
		struct bench b = { .f = fixture_create(), .records = six_records(), .as_arrays = form };
		char name[48];
		fixture_serde_open(b.f, "msgpack", form ? OPTIONS("records=array", FIELDS) : OPTIONS(FIELDS), &b.serde);
		b.batches = six_batches(b.f, b.records, fixture_decoded_schema(&b.serde, NULL, 0), &b.batch_count);
		b.out = buffer_create();
		b.ends = calloc(FLOW_BATCH_ROWS, sizeof(*b.ends));
		b.offsets = calloc(RECORDS + 1, sizeof(*b.offsets));
		msgpack_sbuffer_init(&b.packed);
		their_encode(&b);
		check_agreement(&b);
		snprintf(name, sizeof(name), "encode six fields, %s", forms[form]);
		pairs_measure(name, &b, our_encode, their_encode, RECORDS, seconds, 1 / 1.3);
		snprintf(name, sizeof(name), "decode six fields, %s", forms[form]);
		pairs_measure(name, &b, our_decode, their_decode, RECORDS, seconds, 1 / 1.3);
	}
	return 0;
}
