/* Any text as a number, decimal, time, size or duration: read or refused; what is read prints to text that reads as the same. */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/batch.h"
#include "base/decimal.h"
#include "base/units.h"
#include "base/value.h"
#include "flow_sdk/number.h"
#include "flow_sdk/time.h"

static void
check_numbers(flow_slice text)
{
	char buffer[FLOW_NUMBER_TEXT_MAX];
	int64_t integer, integer_again;
	double real, real_again;
	if (flow_parse_int64(text, &integer) == FLOW_OK &&
		(flow_parse_int64(flow_slice_make(buffer, flow_print_int64(integer, buffer)), &integer_again) != FLOW_OK ||
		 integer != integer_again))
		abort();
	if (flow_parse_float64(text, 1, &real) != FLOW_OK || real != real)
		return;
	if (flow_parse_float64(flow_slice_make(buffer, flow_print_float64(real, buffer)), 1, &real_again) != FLOW_OK ||
		memcmp(&real, &real_again, sizeof(real)) != 0)
		abort();
}

static void
check_decimal(flow_slice text, flow_builder *memory)
{
	static char buffer[FLOW_DECIMAL_MAX_DIGITS + 64];
	flow_value value, again;
	uint64_t size;
	if (flow_parse_decimal(text, memory, &value) != FLOW_OK)
		return;
	if (flow_parse_decimal(flow_slice_make(buffer, flow_print_decimal(value.as.decimal, buffer)), memory, &again) !=
			FLOW_OK ||
		decimal_compare(value.as.decimal, again.as.decimal) != 0)
		abort();
	if (flow_decimal_to_bytes(value.as.decimal, value.as.decimal->scale, buffer, &size) != FLOW_OK)
		return;
	if (flow_decimal_from_bytes(flow_slice_make(buffer, size), value.as.decimal->scale, memory, &again) != FLOW_OK ||
		decimal_compare(value.as.decimal, again.as.decimal) != 0)
		abort();
}

static void
check_times(flow_slice text)
{
	static const uint8_t units[] = { FLOW_SECONDS, FLOW_MILLISECONDS, FLOW_MICROSECONDS, FLOW_NANOSECONDS };
	char buffer[FLOW_TIME_TEXT_MAX];
	flow_value value, again;
	for (unsigned i = 0; i < 8; i++) {
		uint8_t unit = units[i / 2];
		int zoned = i % 2;
		if (flow_parse_timestamp(text, unit, zoned, &value) == FLOW_OK &&
			(flow_parse_timestamp(flow_slice_make(buffer, flow_print_time(&value, buffer)), unit, zoned, &again) !=
				 FLOW_OK ||
			 !value_equal(&value, &again)))
			abort();
		if (flow_parse_time(text, unit, &value) == FLOW_OK &&
			(flow_parse_time(flow_slice_make(buffer, flow_print_time(&value, buffer)), unit, &again) != FLOW_OK ||
			 !value_equal(&value, &again)))
			abort();
	}
	if (flow_parse_date(text, &value) == FLOW_OK &&
		(flow_parse_date(flow_slice_make(buffer, flow_print_time(&value, buffer)), &again) != FLOW_OK ||
		 !value_equal(&value, &again)))
		abort();
}

static void
check_units(flow_slice text)
{
	char buffer[64];
	int64_t number, again;
	if (units_parse_size(text, &number, NULL) == FLOW_OK &&
		(units_parse_size(flow_slice_of(units_print_size(number, buffer)), &again, NULL) != FLOW_OK || number != again))
		abort();
	if (units_parse_duration(text, &number, NULL) == FLOW_OK &&
		(units_parse_duration(flow_slice_of(units_print_duration(number, buffer)), &again, NULL) != FLOW_OK ||
		 number != again))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	batch_pool *pool = batch_pool_create(0);
	flow_builder *memory = builder_create(pool, 1, 0);
	char *copy = malloc(size + 1); /* of exactly this size, so that reading beyond it is seen */
	if (size != 0)
		memcpy(copy, data, size);
	flow_slice text = flow_slice_make(copy, size);
	check_numbers(text);
	check_decimal(text, memory);
	check_times(text);
	check_units(text);
	free(copy);
	builder_destroy(memory);
	batch_pool_destroy(pool);
	return 0;
}
