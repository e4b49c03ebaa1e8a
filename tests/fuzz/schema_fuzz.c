/* Any text as a schema, in Avro's JSON and in the short form: read or refused; what is read prints to text that reads as equal. */
#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/schema.h"

static const flow_schema *
read_again(const flow_schema *schema)
{
	uint64_t size = schema_print(schema, 0, NULL, 0);
	char *text = malloc(size + 1);
	schema_print(schema, 0, text, size + 1);
	const flow_schema *again = schema_parse_json(flow_slice_make(text, size), NULL);
	free(text);
	return again;
}

/* With another nullability the remembered text is gone: it is printed from what was understood. */
static void
check(const flow_schema *schema)
{
	const flow_schema *other = schema_with_nullable(schema, !flow_schema_nullable(schema));
	const flow_schema *again = read_again(other);
	if (again == NULL || !schema_equal(other, again) || other->fingerprint != again->fingerprint)
		abort();
	char text[100];
	schema_print(schema, 1, text, sizeof(text));
	schema_release(again);
	schema_release(other);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	flow_error error = { 0 };
	flow_slice text = flow_slice_make(data, size);
	const flow_schema *schema = schema_parse_json(text, &error);
	if (schema != NULL)
		check(schema);
	schema_release(schema);
	error_clear(&error);
	schema = schema_parse_type(text, &error);
	if (schema != NULL)
		check(schema);
	schema_release(schema);
	error_clear(&error);
	return 0;
}
