/* Each allocation fails in turn, from opening the serde to the last record: an error each time, and nothing is left or used after. */
#include "support/serde_trials.h"

static const char types[] =
	"record(a:int64,b:string,c:decimal(9,2)?,d:list<uuid>,e:map<record(x:int32?)>,f:enum(A,B),g:date?)";
static const char rows[] = "{\"a\":1,\"b\":\"x\",\"c\":\"1.50\",\"d\":[\"123e4567-e89b-12d3-a456-426614174000\"],"
						   "\"e\":{\"k\":{\"x\":1},\"l\":{\"x\":null}},\"f\":\"B\",\"g\":\"2024-01-01\"}\n";

static void
each_allocation_that_fails_is_an_error(void **state)
{
	(void)state;
	static const char *const codecs[] = { "codec=null", "codec=deflate", "codec=snappy", "codec=zstandard" };
	for (size_t i = 0; i < FLOW_COUNT(codecs); i++)
		trial_memory("avro", (const char *const[]){ codecs[i], NULL }, types, rows, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_that_fails_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
