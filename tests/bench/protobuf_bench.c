/*
 * What a record costs in the protobuf serde, beside libprotobuf's dynamic messages alone in the same run.
 *
 *     protobuf_bench [seconds [name]]      about so long for each measurement (default 1), of those with that in their name
 *
 * Messages of six fields (bench/six_fields.h). libprotobuf parses each into one message, and writes one that is filled; it looks at
 * no field of it.
 */
#include "bench/six_fields.h"
#include "protobuf_shim.h"

#define SET SOURCE_FOLDER "/plugins/protobuf/tests/types.desc"
#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

struct bench {
	fixture *f;
	fixture_serde serde;
	flow_batch **batches;
	uint32_t batch_count;
	flow_buffer *out;
	fixture_bytes *messages; /* of one batch, with their lengths */
	fixture_bytes *records;  /* likewise, without */
	proto_message *message;
	uint64_t sum; /* so that nothing is left out */
};

static void
our_encode(void *context)
{
	struct bench *b = context;
	static flow_status statuses[FLOW_BATCH_ROWS];
	flow_encoder *encoder = NULL;
	b->serde.ops->encoder_open(b->serde.serde, b->batches[0]->schema, &encoder, NULL);
	buffer_reset(b->out);
	b->serde.ops->encode(encoder, b->batches[0], 0, b->out, NULL, statuses, NULL);
	b->sum += b->out->size;
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
	flow_window window = {
		.struct_size = FLOW_SIZEOF(window), .final = 1, .data = b->messages->data, .size = b->messages->size
	};
	if (b->serde.ops->decode(decoder, &window, builder, &b->f->error) != FLOW_OK)
		fail_msg("%s", error_message(&b->f->error));
	b->sum += builder->row_count;
	builder_clear(builder);
	b->serde.ops->decoder_close(decoder);
	builder_destroy(builder);
}

static void
their_parse(void *context)
{
	struct bench *b = context;
	for (uint32_t i = 0; i < FLOW_BATCH_ROWS; i++) {
		uint64_t from = i == 0 ? 0 : b->records->ends[i - 1];
		b->sum +=
			(uint64_t)(proto_parse(b->message, b->records->data + from, b->records->ends[i] - from, 100) == PROTO_OK);
	}
}

static void
their_write(void *context)
{
	struct bench *b = context;
	char to[256];
	for (uint32_t i = 0; i < FLOW_BATCH_ROWS; i++) {
		uint64_t size = 0;
		proto_size(b->message, &size);
		proto_write(b->message, to, size);
		b->sum += size;
	}
}

static void
open_message(struct bench *b)
{
	char problem[200], *bytes = malloc(1 << 20);
	proto_set *set = NULL;
	FILE *file = fopen(SET, "rb");
	assert_non_null(file);
	uint64_t size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	if (proto_set_open(bytes, size, &set, problem, sizeof(problem)) != PROTO_OK)
		fail_msg("%s", problem);
	b->message = proto_message_new(set, proto_find(set, "flow.test.Six"));
	assert_non_null(b->message);
	free(bytes);
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	pairs_only = argc > 2 ? argv[2] : "";
	struct bench b = { .f = fixture_create() };
	fixture_serde_open(b.f, "protobuf", OPTIONS("descriptor_set=\"" SET "\"", "message=flow.test.Six"), &b.serde);
	b.batches = six_batches(b.f, six_records(), fixture_decoded_schema(&b.serde, NULL, 0), &b.batch_count);
	b.out = buffer_create();
	b.messages = fixture_encode(&b.serde, b.batches[0], 0);
	b.records = fixture_encode(&b.serde, b.batches[0], 1);
	open_message(&b);
	pairs_measure("decode six fields", &b, our_decode, their_parse, FLOW_BATCH_ROWS, seconds, 0);
	pairs_measure("encode six fields", &b, our_encode, their_write, FLOW_BATCH_ROWS, seconds, 0);
	return b.sum == 0;
}
