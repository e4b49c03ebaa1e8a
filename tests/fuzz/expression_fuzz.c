/* Expressions: any text, compiled against records of all kinds, evaluated, selected, printed and compiled again;
 * then as an aggregate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/batch.h"
#include "base/error.h"
#include "base/schema.h"
#include "expr/expression.h"
#include "fuzz/fuzz.h"

#define ROWS 3
#define FIELDS 12

static batch_pool *pool;
static flow_builder *memory;
static const flow_schema *schema;
static const flow_batch *batch;

static flow_value
map_of(flow_builder *builder, flow_value value)
{
	flow_map *map = flow_builder_alloc(builder, sizeof(*map));
	flow_map_entry *entry = flow_builder_alloc(builder, sizeof(*entry));
	if (map == NULL || entry == NULL)
		abort();
	*entry = (flow_map_entry){ flow_string("k", 1), value };
	*map = (flow_map){ entry, 1 };
	flow_value cell = flow_cell(FLOW_MAP, 0);
	cell.as.map = map;
	return cell;
}

static flow_value
decimal_of(flow_builder *builder, const char *digits, int32_t scale)
{
	flow_decimal *decimal = flow_builder_alloc(builder, sizeof(*decimal));
	if (decimal == NULL)
		abort();
	*decimal = (flow_decimal){ .digits = digits, .count = (uint32_t)strlen(digits), .scale = scale };
	flow_value cell = flow_cell(FLOW_DECIMAL, 0);
	cell.as.decimal = decimal;
	return cell;
}

static void
add_row(flow_builder *builder, int row)
{
	static const int64_t numbers[ROWS] = { 1, INT64_MIN, 9007199254740993 };
	flow_value *cells = flow_builder_cells(builder, FIELDS);
	if (cells == NULL)
		abort();
	cells[0] = flow_int64(numbers[row]);
	cells[1] = row == 1 ? flow_null() : flow_int64(row);
	cells[2] = flow_uint64(UINT64_MAX - (uint64_t)row);
	cells[3] = flow_float64(row == 2 ? 0.0 / 0.0 : 1.5 * row);
	cells[4] = decimal_of(builder, row == 0 ? "0" : "123456789012345678901234567890", 2 * row - 3);
	cells[5] = row == 1 ? flow_null()
						: flow_string("Gr\xc3\xbc\xc3\x9f"
									  "e, 5",
									  10);
	cells[6] = flow_bytes("\xff\x00", 2);
	cells[7] = flow_bool(row & 1);
	cells[8] = flow_cell(FLOW_DATE, 15706 * row);
	cells[9] = flow_timestamp(numbers[row] / 7, FLOW_MILLISECONDS, FLOW_ZONED);
	cells[10] = map_of(builder, flow_int64(row));
	cells[11] = row == 0 ? map_of(builder, flow_float64(2.5)) : row == 1 ? flow_string("7", 1) : flow_int64(7);
	flow_builder_add(builder, flow_record(cells, FIELDS));
}

static void
start(void)
{
	static const char type[] = "record(i:int64,n:int64?,u:uint64,f:float64,d:decimal,s:string?,b:bytes,t:bool,y:date,"
							   "z:timestamp(ms),m:map<int64>,a:any)";
	pool = batch_pool_create(0);
	memory = pool == NULL ? NULL : builder_create(pool, 16, 0);
	flow_builder *builder = pool == NULL ? NULL : builder_create(pool, 16, 0);
	schema = schema_parse_type(flow_slice_of(type), NULL);
	if (memory == NULL || builder == NULL || schema == NULL)
		abort();
	for (int row = 0; row < ROWS; row++)
		add_row(builder, row);
	batch_head head = { .schema = schema };
	batch = builder_finish(builder, &head);
	builder_destroy(builder);
}

static void
evaluate(const flow_expression *expression)
{
	flow_value results[ROWS];
	flow_status statuses[ROWS] = { 0 };
	flow_slice reasons[ROWS];
	uint32_t selection[ROWS], count = 0;
	expressions_service.evaluate(expression, batch, memory, results, statuses, reasons, NULL);
	expressions_service.evaluate(expression, batch, memory, results, NULL, NULL, NULL);
	expressions_service.select(expression, batch, memory, selection, &count, statuses, reasons, NULL);
	if (count > ROWS)
		abort();
	builder_clear(memory);
}

/* The canonical text must be accepted, and be its own canonical text. */
static void
print_again(const flow_expression *expression)
{
	uint64_t size = expression_print(expression, NULL, 0) + 1;
	char *first = malloc(size), *second = malloc(size);
	flow_expression *again = NULL;
	if (first == NULL || second == NULL)
		abort();
	expression_print(expression, first, size);
	flow_status status =
		expressions_service.compile(flow_slice_of(first), schema, (flow_slice){ NULL, 0 }, &again, NULL);
	if (status != FLOW_OK && status != FLOW_E_LIMIT && strlen(first) == size - 1)
		abort();
	if (again != NULL && (expression_print(again, second, size) != size - 1 || strcmp(first, second) != 0))
		abort();
	expressions_service.release(again);
	free(first);
	free(second);
}

static void
aggregate(flow_slice text)
{
	flow_aggregate_call call = { .struct_size = FLOW_SIZEOF(flow_aggregate_call) };
	uint64_t slot[8] = { 0 };
	void *slots[ROWS] = { slot, slot, slot };
	uint32_t rows[ROWS] = { 0, 1, 2 };
	flow_value values[ROWS], result;
	flow_status statuses[ROWS] = { 0 };
	flow_slice reasons[ROWS];
	if (expressions_service.aggregate(text, schema, (flow_slice){ NULL, 0 }, &call, NULL) != FLOW_OK)
		return;
	if (call.argument != NULL)
		expressions_service.evaluate(call.argument, batch, memory, values, statuses, reasons, NULL);
	expressions_service.aggregate_add(&call, call.argument == NULL ? NULL : values, rows, ROWS, slots, 0, statuses,
									  NULL);
	expressions_service.aggregate_result(&call, slot, memory, &result, NULL);
	expressions_service.release(call.argument);
	schema_release(call.result);
	builder_clear(memory);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	flow_slice text = flow_slice_make(data, size);
	flow_expression *expression = NULL;
	if (batch == NULL)
		start();
	flow_error error = { 0 };
	if (expressions_service.compile(text, schema, flow_slice_of("fuzz"), &expression, &error) == FLOW_OK) {
		evaluate(expression);
		if (memchr(data, 0, size) == NULL)
			print_again(expression);
		expressions_service.release(expression);
	}
	error_clear(&error);
	aggregate(text);
	return 0;
}
