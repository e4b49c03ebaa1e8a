/* Each allocation fails in turn, from opening the serde to the last record: an error each time, and nothing is left or used after. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "support/plugin_fixture.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const char types[] =
	"record(a:int64,b:string,c:decimal(9,2)?,d:list<uuid>,e:map<record(x:int32?)>,f:enum(A,B),g:date?)";
static const char rows[] = "{\"a\":1,\"b\":\"x\",\"c\":\"1.50\",\"d\":[\"123e4567-e89b-12d3-a456-426614174000\"],"
						   "\"e\":{\"k\":{\"x\":1},\"l\":{\"x\":null}},\"f\":\"B\",\"g\":\"2024-01-01\"}\n";

struct trial {
	fixture *f;
	const flow_serde_ops *ops;
	const flow_options *options;
	const flow_batch *batch;
	flow_serde *serde;
	flow_buffer *buffer;
	flow_builder *builder;
};

static flow_status
encode(struct trial *t, flow_status *row)
{
	flow_encoder *encoder = NULL;
	flow_status status = t->ops->encoder_open(t->serde, t->batch->schema, &encoder, &t->f->error);
	if (status != FLOW_OK)
		return status;
	status = t->ops->begin(encoder, t->buffer, &t->f->error);
	if (status == FLOW_OK)
		status = t->ops->encode(encoder, t->batch, 0, t->buffer, NULL, row, &t->f->error);
	t->ops->encoder_close(encoder);
	return status;
}

static flow_status
decode(struct trial *t)
{
	flow_decoder_request request = { .struct_size = FLOW_SIZEOF(request) };
	flow_decoder *decoder = NULL;
	flow_status status = t->ops->decoder_open(t->serde, &request, &decoder, &t->f->error);
	if (status != FLOW_OK)
		return status;
	char *memory = malloc(t->buffer->size + 64);
	memcpy(memory, t->buffer->data, t->buffer->size);
	flow_window window = { .struct_size = FLOW_SIZEOF(window), .final = 1, .data = memory, .size = t->buffer->size };
	status = t->ops->decode(decoder, &window, t->builder, &t->f->error);
	flow_slice state;
	if (status == FLOW_OK)
		status = t->ops->save(decoder, &state, &t->f->error);
	builder_clear(t->builder);
	t->ops->decoder_close(decoder);
	free(memory);
	return status;
}

static flow_status
whole_way(struct trial *t)
{
	flow_status row = FLOW_OK;
	const flow_schema *schema = NULL;
	flow_status status = t->ops->open(&host_services, t->options, 3, &t->serde, &t->f->error);
	if (status != FLOW_OK)
		return status;
	status = encode(t, &row);
	if (status == FLOW_OK)
		status = row;
	if (status == FLOW_OK)
		status =
			t->ops->decoded_schema(t->serde, flow_slice_make(t->buffer->data, t->buffer->size), &schema, &t->f->error);
	if (status == FLOW_OK) {
		status = decode(t);
		const flow_schemas *schemas = host_services.get_service(FLOW_SERVICE_SCHEMAS);
		schemas->release(schema);
	}
	t->ops->close(t->serde);
	return status;
}

static void
each_allocation_that_fails_is_an_error(void **state)
{
	(void)state;
	static const char *const codecs[] = { "codec=null", "codec=deflate", "codec=snappy", "codec=zstandard" };
	for (size_t i = 0; i < FLOW_COUNT(codecs); i++) {
		fixture *f = fixture_create();
		const flow_component *component = fixture_component(f, FLOW_SERDE, "avro");
		struct trial t = { .f = f, .ops = component->ops };
		t.options = fixture_options(f, component, "", OPTIONS(codecs[i]));
		t.batch = fixture_batch(f, fixture_schema(f, types), rows);
		flow_status status = FLOW_E_MEMORY;
		uint64_t n = 0;
		while (status != FLOW_OK) {
			t.buffer = buffer_create();
			t.builder = builder_create(f->pool, 0, 0);
			memory_fail_at(++n, 1);
			status = whole_way(&t);
			memory_fail_at(0, 0);
			builder_destroy(t.builder);
			buffer_destroy(t.buffer);
			assert_true(status <= FLOW_OK);
			assert_true(n < 10000);
		}
		assert_true(n > 20);
		fixture_destroy(f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_that_fails_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
