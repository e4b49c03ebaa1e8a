/* Aggregates over slots: what is added, and what comes out. Sums of integers and decimals are exact in 128 bits. */
#include "expr/aggregate.h"

#include <math.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/schema.h"
#include "expr/aggregate_number.h"
#include "expr/compiled.h"

/* The slots. All are of 8-byte words; a 128-bit number is two of them, since slots are aligned to 8 bytes only. */
struct count_slot {
	uint64_t count;
};

struct integer_slot {
	struct wide sum;
	uint64_t count;
};

struct float_slot {
	double sum;
	double rest; /* what rounding took from the sum so far */
	uint64_t count;
};

struct decimal_slot {
	struct wide number;
	uint64_t count;
	int64_t scale;
};

struct extreme_slot {
	union {
		int64_t int64;
		uint64_t uint64;
		double float64;
	} as;
	uint64_t count;
};

enum slot_form { COUNT_FORM, INTEGER_FORM, FLOAT_FORM, DECIMAL_FORM, EXTREME_FORM, EXTREME_DECIMAL_FORM };

const char *
aggregate_name(uint32_t kind)
{
	static const char *const names[] = { "", "count", "sum", "avg", "min", "max" };
	return kind < FLOW_COUNT(names) ? names[kind] : "";
}

static uint8_t
argument_kind(const flow_aggregate_call *call)
{
	return call->argument == NULL ? FLOW_KIND_NULL : call->argument->root->type.kind;
}

static enum slot_form
form_of(const flow_aggregate_call *call)
{
	uint8_t kind = argument_kind(call);
	if (call->kind == FLOW_AGGREGATE_COUNT)
		return COUNT_FORM;
	if (call->kind >= FLOW_AGGREGATE_MIN)
		return kind == FLOW_KIND_DECIMAL ? EXTREME_DECIMAL_FORM : EXTREME_FORM;
	return kind_is_float(kind) ? FLOAT_FORM : kind == FLOW_KIND_DECIMAL ? DECIMAL_FORM : INTEGER_FORM;
}

static int
has_extreme(uint8_t kind)
{
	return kind_is_number(kind) || kind == FLOW_KIND_BOOL || kind == FLOW_KIND_DATE || kind == FLOW_KIND_TIME ||
		   kind == FLOW_KIND_TIMESTAMP;
}

static uint8_t
sum_kind(uint8_t kind)
{
	if (kind_is_float(kind))
		return FLOW_KIND_FLOAT64;
	return kind == FLOW_KIND_DECIMAL || kind == FLOW_KIND_UINT64 ? kind : FLOW_KIND_INT64;
}

const flow_schema *
aggregate_type(compiler *c, uint32_t kind, const value_type *argument, uint32_t column)
{
	value_type type = *argument;
	int fits = kind >= FLOW_AGGREGATE_MIN ? has_extreme(argument->kind) : kind_is_number(argument->kind);
	if (kind == FLOW_AGGREGATE_COUNT)
		return schema_of_kind(FLOW_KIND_INT64, 0);
	if (!fits) {
		int dynamic = kind_is_dynamic(argument->kind);
		compile_fail(c, FLOW_E_TYPE, column, "%s() cannot be taken of %s%s", aggregate_name(kind),
					 type_name(c, argument), dynamic ? "; cast it, like cast(x as int64)" : "");
		return NULL;
	}
	if (kind == FLOW_AGGREGATE_SUM)
		type = (value_type){ .kind = sum_kind(argument->kind), .duration = argument->duration };
	else if (kind == FLOW_AGGREGATE_AVG)
		type = (value_type){ .kind = FLOW_KIND_FLOAT64 };
	type.nullable = 1;
	return schema_of_type(&type, c->error);
}

uint64_t
aggregate_size(const flow_aggregate_call *call, const char **layout)
{
	static const struct {
		uint64_t size;
		const char *layout;
	} forms[] = {
		{ sizeof(struct count_slot), "count/1" },     { sizeof(struct integer_slot), "integer-sum/1" },
		{ sizeof(struct float_slot), "float-sum/1" }, { sizeof(struct decimal_slot), "decimal-sum/1" },
		{ sizeof(struct extreme_slot), "extreme/1" }, { sizeof(struct decimal_slot), "decimal-extreme/1" },
	};
	enum slot_form form = form_of(call);
	if (layout != NULL)
		*layout = forms[form].layout;
	return forms[form].size;
}

/* What the loops below share. */
struct rows {
	const flow_value *values;
	const uint32_t *rows;
	uint32_t count;
	void *const *slots;
	uint64_t offset;
	flow_status *statuses;
	flow_error *error;
	int sign; /* min -1, max 1 */
};

#define SLOT(type, r, i) ((struct type *)(void *)((char *)(r)->slots[i] + (r)->offset))

static flow_status
row_refused(const struct rows *r, uint32_t i, const char *reason)
{
	if (r->statuses == NULL)
		return error_set(r->error, FLOW_E_RANGE, "%s", reason);
	r->statuses[r->rows[i]] = FLOW_E_RANGE;
	return FLOW_OK;
}

static flow_status
add_counts(const struct rows *r)
{
	if (r->values == NULL) {
		for (uint32_t i = 0; i < r->count; i++)
			SLOT(count_slot, r, i)->count++;
		return FLOW_OK;
	}
	for (uint32_t i = 0; i < r->count; i++)
		SLOT(count_slot, r, i)->count += r->values[r->rows[i]].type != FLOW_NULL;
	return FLOW_OK;
}

/* 2^63 additions of 64-bit numbers fit 128 bits, so no row can fail. */
static flow_status
add_integers(const struct rows *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const flow_value *v = &r->values[r->rows[i]];
		struct integer_slot *slot = SLOT(integer_slot, r, i);
		if (v->type != FLOW_INT64 && v->type != FLOW_UINT64)
			continue;
		__int128 number = v->type == FLOW_INT64 ? (__int128)v->as.int64 : (__int128)v->as.uint64;
		slot->sum = wide_make(wide_number(slot->sum) + number);
		slot->count++;
	}
	return FLOW_OK;
}

/* Neumaier's sum: as exact as with twice the digits. */
static flow_status
add_floats(const struct rows *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const flow_value *v = &r->values[r->rows[i]];
		struct float_slot *slot = SLOT(float_slot, r, i);
		if (v->type != FLOW_FLOAT64)
			continue;
		double x = v->as.float64, sum = slot->sum + x;
		if (!isfinite(sum)) {
			if (isfinite(x) && isfinite(slot->sum)) {
				if (row_refused(r, i, "a sum does not fit float64") != FLOW_OK)
					return FLOW_E_RANGE;
				continue;
			}
			slot->rest = 0;
		} else {
			slot->rest += fabs(slot->sum) >= fabs(x) ? (slot->sum - sum) + x : (x - sum) + slot->sum;
		}
		slot->sum = sum;
		slot->count++;
	}
	return FLOW_OK;
}

static int
decimal_cell(const flow_value *v, __int128 *number)
{
	return v->as.decimal->special == 0 && decimal_to_int128(v->as.decimal, number) == FLOW_OK;
}

static int
add_decimal(struct decimal_slot *slot, __int128 number, int64_t scale)
{
	__int128 sum = wide_number(slot->number);
	int64_t sum_scale = slot->count == 0 ? scale : slot->scale;
	if (sum_scale < scale ? !wide_rescale(&sum, scale - sum_scale) : !wide_rescale(&number, sum_scale - scale))
		return 0;
	if (!wide_add(&sum, number))
		return 0;
	slot->number = wide_make(sum);
	slot->scale = sum_scale < scale ? scale : sum_scale;
	slot->count++;
	return 1;
}

static flow_status
add_decimals(const struct rows *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const flow_value *v = &r->values[r->rows[i]];
		__int128 number;
		if (v->type != FLOW_DECIMAL)
			continue;
		if (decimal_cell(v, &number) && add_decimal(SLOT(decimal_slot, r, i), number, v->as.decimal->scale))
			continue;
		if (row_refused(r, i, "a decimal, or the sum with it, has more than 38 digits") != FLOW_OK)
			return FLOW_E_RANGE;
	}
	return FLOW_OK;
}

/* int64 and all that is stored as one. */
static void
extreme_int64(const struct rows *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const flow_value *v = &r->values[r->rows[i]];
		struct extreme_slot *slot = SLOT(extreme_slot, r, i);
		if (v->type == FLOW_NULL)
			continue;
		int wins = r->sign > 0 ? v->as.int64 > slot->as.int64 : v->as.int64 < slot->as.int64;
		if (wins || slot->count == 0)
			slot->as.int64 = v->as.int64;
		slot->count++;
	}
}

static void
extreme_uint64(const struct rows *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const flow_value *v = &r->values[r->rows[i]];
		struct extreme_slot *slot = SLOT(extreme_slot, r, i);
		if (v->type != FLOW_UINT64)
			continue;
		int wins = r->sign > 0 ? v->as.uint64 > slot->as.uint64 : v->as.uint64 < slot->as.uint64;
		if (wins || slot->count == 0)
			slot->as.uint64 = v->as.uint64;
		slot->count++;
	}
}

static void
extreme_float64(const struct rows *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const flow_value *v = &r->values[r->rows[i]];
		struct extreme_slot *slot = SLOT(extreme_slot, r, i);
		if (v->type != FLOW_FLOAT64)
			continue;
		if (slot->count == 0 || float64_order(v->as.float64, slot->as.float64) * r->sign > 0)
			slot->as.float64 = v->as.float64;
		slot->count++;
	}
}

static flow_status
extreme_decimal(const struct rows *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const flow_value *v = &r->values[r->rows[i]];
		struct decimal_slot *slot = SLOT(decimal_slot, r, i);
		__int128 number;
		if (v->type != FLOW_DECIMAL)
			continue;
		if (!decimal_cell(v, &number)) {
			if (row_refused(r, i, "a decimal has more than 38 digits") != FLOW_OK)
				return FLOW_E_RANGE;
			continue;
		}
		int order = wide_order(number, v->as.decimal->scale, wide_number(slot->number), (int32_t)slot->scale);
		if (slot->count == 0 || order * r->sign > 0) {
			slot->number = wide_make(number);
			slot->scale = v->as.decimal->scale;
		}
		slot->count++;
	}
	return FLOW_OK;
}

static flow_status
add_extremes(const flow_aggregate_call *call, const struct rows *r)
{
	uint8_t kind = argument_kind(call);
	if (kind == FLOW_KIND_UINT64)
		extreme_uint64(r);
	else if (kind_is_float(kind))
		extreme_float64(r);
	else
		extreme_int64(r);
	return FLOW_OK;
}

flow_status
aggregate_add(const flow_aggregate_call *call, const flow_value *values, const uint32_t *rows, uint32_t count,
			  void *const *targets, uint64_t offset, flow_status *statuses, flow_error *error)
{
	struct rows r = {
		values, rows, count, targets, offset, statuses, error, call->kind == FLOW_AGGREGATE_MAX ? 1 : -1
	};
	switch (form_of(call)) {
	case COUNT_FORM:
		return add_counts(&r);
	case INTEGER_FORM:
		return add_integers(&r);
	case FLOAT_FORM:
		return add_floats(&r);
	case DECIMAL_FORM:
		return add_decimals(&r);
	case EXTREME_DECIMAL_FORM:
		return extreme_decimal(&r);
	default:
		return add_extremes(call, &r);
	}
}

static flow_status
no_memory(flow_error *error)
{
	return error_set(error, FLOW_E_MEMORY, "out of memory while an aggregate was read");
}

static flow_status
integer_result(const flow_aggregate_call *call, const struct integer_slot *slot, flow_builder *memory,
			   flow_value *value, flow_error *error)
{
	__int128 sum = wide_number(slot->sum);
	*value = flow_null();
	if (slot->count == 0)
		return FLOW_OK;
	if (call->kind == FLOW_AGGREGATE_AVG) {
		double mean;
		flow_status status = wide_mean(sum, 0, slot->count, memory, &mean);
		*value = flow_float64(mean);
		return status == FLOW_OK ? status : no_memory(error);
	}
	int is_unsigned = argument_kind(call) == FLOW_KIND_UINT64;
	if (is_unsigned ? sum > (__int128)UINT64_MAX : sum > INT64_MAX || sum < INT64_MIN)
		return error_set(error, FLOW_E_RANGE, "the sum of %llu values does not fit %s; cast the argument to decimal",
						 (unsigned long long)slot->count, is_unsigned ? "uint64" : "int64");
	*value = is_unsigned ? flow_uint64((uint64_t)sum) : flow_int64((int64_t)sum);
	return FLOW_OK;
}

static void
float_result(const flow_aggregate_call *call, const struct float_slot *slot, flow_value *value)
{
	double sum = slot->sum + slot->rest, count = (double)slot->count;
	*value = slot->count == 0 ? flow_null() : flow_float64(sum);
	if (slot->count == 0 || call->kind == FLOW_AGGREGATE_SUM)
		return;
	double rest = isfinite(sum) ? (slot->sum - sum) + slot->rest : 0, mean = sum / count;
	if (isfinite(mean))
		mean += (fma(-mean, count, sum) + rest) / count; /* what the division left, and the sum's own rest */
	*value = flow_float64(mean);
}

static flow_status
decimal_result(const flow_aggregate_call *call, const struct decimal_slot *slot, flow_builder *memory,
			   flow_value *value, flow_error *error)
{
	flow_status status;
	double mean;
	*value = flow_null();
	if (slot->count == 0)
		return FLOW_OK;
	if (call->kind == FLOW_AGGREGATE_AVG) {
		status = wide_mean(wide_number(slot->number), (int32_t)slot->scale, slot->count, memory, &mean);
		*value = flow_float64(mean);
	} else {
		status = decimal_from_int128(wide_number(slot->number), (int32_t)slot->scale, memory, value);
	}
	return status == FLOW_OK ? status : no_memory(error);
}

static void
extreme_result(const flow_aggregate_call *call, const struct extreme_slot *slot, flow_value *value)
{
	const value_type *type = &call->argument->root->type;
	*value = flow_null();
	if (slot->count == 0)
		return;
	switch (type->kind) {
	case FLOW_KIND_UINT64:
		*value = flow_uint64(slot->as.uint64);
		break;
	case FLOW_KIND_FLOAT32:
	case FLOW_KIND_FLOAT64:
		*value = flow_float64(slot->as.float64);
		break;
	case FLOW_KIND_BOOL:
		*value = flow_bool(slot->as.int64 != 0);
		break;
	case FLOW_KIND_DATE:
		*value = flow_cell(FLOW_DATE, slot->as.int64);
		break;
	case FLOW_KIND_TIME:
		*value = flow_cell(FLOW_TIME, slot->as.int64);
		value->unit = type->unit;
		break;
	case FLOW_KIND_TIMESTAMP:
		*value = flow_timestamp(slot->as.int64, type->unit, type->zoned ? FLOW_ZONED : 0);
		break;
	default:
		*value = flow_int64(slot->as.int64);
	}
}

flow_status
aggregate_result(const flow_aggregate_call *call, const void *slot, flow_builder *memory, flow_value *value,
				 flow_error *error)
{
	switch (form_of(call)) {
	case COUNT_FORM:
		*value = flow_int64((int64_t)((const struct count_slot *)slot)->count);
		return FLOW_OK;
	case INTEGER_FORM:
		return integer_result(call, slot, memory, value, error);
	case FLOAT_FORM:
		float_result(call, slot, value);
		return FLOW_OK;
	case EXTREME_FORM:
		extreme_result(call, slot, value);
		return FLOW_OK;
	default:
		return decimal_result(call, slot, memory, value, error);
	}
}
