/* What plugins get from flow_host. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "flow/flow.h"
#include "flow_sdk/plugin.h"
#include "plugin/host_services.h"
#include "plugin/metrics.h"

static const flow_host *const host = &host_services;

static void
given_allocations_when_released_then_the_count_is_as_before(void **state)
{
	(void)state;
	int64_t before = host_services_memory();
	char *block = host->allocate(1000);
	assert_non_null(block);
	assert_true(host_services_memory() >= before + 1000);
	block = host->reallocate(block, 100000);
	assert_non_null(block);
	assert_true(host_services_memory() >= before + 100000);
	assert_true(host_services_memory_peak() >= before + 100000);
	host->release(block);
	assert_int_equal(host_services_memory(), before);
	assert_null(host->allocate(0));
	host->release(NULL);
	block = host->reallocate(NULL, 10);
	assert_non_null(block);
	host->release(block);
	assert_int_equal(host_services_memory(), before);
}

static void
given_no_memory_when_allocating_then_null_and_nothing_is_counted(void **state)
{
	(void)state;
	int64_t before = host_services_memory();
	char *block = host->allocate(64);
	memory_fail_at(1, 1);
	assert_null(host->allocate(64));
	assert_null(host->reallocate(block, 4096));
	memory_fail_at(0, 0);
	host->release(block);
	assert_int_equal(host_services_memory(), before);
}

struct listed {
	const char *name;
	const char *labels;
	int64_t value;
	int times;
};

static void
find_metric(void *context, const metric_view *view)
{
	struct listed *wanted = context;
	if (strcmp(view->name, wanted->name) == 0 && strcmp(view->labels, wanted->labels) == 0) {
		wanted->value = view->value;
		wanted->times++;
	}
}

static void
given_a_metric_registered_twice_when_added_to_then_it_is_one(void **state)
{
	(void)state;
	metrics_scope("kafka", "orders");
	flow_metric *first = host->metric(FLOW_METRIC_COUNTER, "records_total", "kind=a", "Records.");
	flow_metric *second = host->metric(FLOW_METRIC_COUNTER, "records_total", "kind=a", "Records.");
	metrics_scope(NULL, NULL);
	flow_metric *other = host->metric(FLOW_METRIC_GAUGE, "records_total", NULL, NULL);
	assert_ptr_equal(first, second);
	assert_ptr_not_equal(first, other);
	host->metric_add(first, 3);
	host->metric_add(second, 4);
	host->metric_set(other, -9);
	struct listed scoped = { "records_total", "plugin=kafka,instance=orders,kind=a", 0, 0 };
	metrics_visit(find_metric, &scoped);
	assert_int_equal(scoped.times, 1);
	assert_int_equal(scoped.value, 7);
	struct listed bare = { "records_total", "", 0, 0 };
	metrics_visit(find_metric, &bare);
	assert_int_equal(bare.value, -9);
}

static void
given_no_memory_when_a_metric_is_registered_then_it_works_unlisted(void **state)
{
	(void)state;
	memory_fail_at(1, 1);
	flow_metric *metric = host->metric(FLOW_METRIC_COUNTER, "starved_total", NULL, NULL);
	memory_fail_at(0, 0);
	assert_non_null(metric);
	host->metric_add(metric, 1);
	struct listed starved = { "starved_total", "", 0, 0 };
	metrics_visit(find_metric, &starved);
	assert_int_equal(starved.times, 0);
}

#define ADDS 20000

static void *
add_many(void *unused)
{
	(void)unused;
	for (int i = 0; i < ADDS; i++)
		host->metric_add(host->metric(FLOW_METRIC_COUNTER, "shared_total", NULL, NULL), i % 2 == 0 ? 2 : 0);
	return NULL;
}

static void
given_several_threads_when_they_count_then_nothing_is_lost(void **state)
{
	(void)state;
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_many, NULL), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	struct listed shared = { "shared_total", "", 0, 0 };
	metrics_visit(find_metric, &shared);
	assert_int_equal(shared.times, 1);
	assert_int_equal(shared.value, 4 * ADDS);
}

static void
given_service_ids_when_asked_then_the_known_ones_are_there(void **state)
{
	(void)state;
	static const int table;
	assert_non_null(host->get_service(FLOW_SERVICE_SCHEMAS));
	assert_non_null(host->get_service(FLOW_SERVICE_BATCHES));
	assert_non_null(host->get_service(FLOW_SERVICE_KEYS));
	assert_non_null(host->get_service(FLOW_SERVICE_MEMORY));
	assert_null(host->get_service("flow.unheard_of/1"));
	host_services_add("flow.unheard_of/1", &table);
	assert_ptr_equal(host->get_service("flow.unheard_of/1"), &table);
}

static void
given_keys_when_encoded_by_a_plugin_then_bytes_live_in_its_memory(void **state)
{
	(void)state;
	const flow_keys *keys = host->get_service(FLOW_SERVICE_KEYS);
	const flow_memory *memories = host->get_service(FLOW_SERVICE_MEMORY);
	flow_builder *memory = memories->open();
	assert_non_null(memory);
	char long_text[5000];
	memset(long_text, 'x', sizeof(long_text));
	flow_value values[] = { flow_int64(5), flow_uint64(5), flow_string(long_text, sizeof(long_text)), flow_null() };
	flow_slice bytes[4];
	flow_error error = { 0 };
	for (int i = 0; i < 3; i++)
		assert_int_equal(keys->encode(&values[i], memory, &bytes[i], &error), FLOW_OK);
	assert_true(flow_slice_equal(bytes[0], bytes[1])); /* all integers are one class */
	assert_true(keys->hash(bytes[0]) == keys->hash(bytes[1]));
	assert_true(bytes[2].size >= sizeof(long_text));
	assert_int_equal(keys->encode(&values[3], memory, &bytes[3], &error), FLOW_E_NULL_KEY);
	error_clear(&error);
	memories->reset(memory);
	memories->close(memory);
}

static void
given_cancel_when_asked_then_it_is_told(void **state)
{
	(void)state;
	assert_int_equal(host->cancelled(), 0);
	host_services_cancel(1);
	assert_int_equal(host->cancelled(), 1);
	host_services_cancel(0);
}

static void
given_a_virtual_clock_when_a_plugin_asks_then_it_sees_that_time(void **state)
{
	(void)state;
	clock_use_virtual(1357034400000000);
	assert_int_equal(host->now(), 1357034400000000);
	int64_t start = host->monotonic();
	clock_advance(5);
	assert_int_equal(host->monotonic(), start + 5);
	clock_use_real();
}

static void
given_a_failure_of_a_plugin_when_reported_then_the_error_is_filled(void **state)
{
	(void)state;
	flow_error error = { 0 };
	assert_int_equal(flow_fail(host, &error, FLOW_E_TIMEOUT, "%s: no answer in %d ms", "orders", 30), FLOW_E_TIMEOUT);
	assert_string_equal(host->errors->message(&error), "orders: no answer in 30 ms");
	assert_int_equal(error.flags, FLOW_ERROR_RETRYABLE);
	assert_int_equal(flow_fail(host, NULL, FLOW_E_IO, "nobody listens"), FLOW_E_IO);
	error_clear(&error);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_allocations_when_released_then_the_count_is_as_before),
		cmocka_unit_test(given_no_memory_when_allocating_then_null_and_nothing_is_counted),
		cmocka_unit_test(given_a_metric_registered_twice_when_added_to_then_it_is_one),
		cmocka_unit_test(given_no_memory_when_a_metric_is_registered_then_it_works_unlisted),
		cmocka_unit_test(given_several_threads_when_they_count_then_nothing_is_lost),
		cmocka_unit_test(given_service_ids_when_asked_then_the_known_ones_are_there),
		cmocka_unit_test(given_keys_when_encoded_by_a_plugin_then_bytes_live_in_its_memory),
		cmocka_unit_test(given_cancel_when_asked_then_it_is_told),
		cmocka_unit_test(given_a_virtual_clock_when_a_plugin_asks_then_it_sees_that_time),
		cmocka_unit_test(given_a_failure_of_a_plugin_when_reported_then_the_error_is_filled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
