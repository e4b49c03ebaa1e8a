/* Functions of numbers. Exact where the type is exact. */
#include <math.h>

#include "base/decimal.h"
#include "expr/function.h"
#include "flow_sdk/number.h"

enum rounding { ROUND_HALF, ROUND_DOWN, ROUND_UP, ROUND_TO_ZERO };

#define ROUNDING_LIMIT 1000 /* digits that round() may add or take */

static flow_status
no_fit(frame *f, const char *type)
{
	return row_fail(f, FLOW_E_RANGE, "the result does not fit %s", type);
}

static flow_status
check_float64(frame *f, double number, flow_value *result)
{
	*result = flow_float64(number);
	return isfinite(number) ? FLOW_OK : no_fit(f, "float64");
}

static flow_status
decimal_absolute(frame *f, const flow_decimal *from, flow_value *result)
{
	flow_decimal *copy = flow_builder_alloc(f->memory, sizeof(*copy));
	if (copy == NULL)
		return FLOW_E_MEMORY;
	*copy = *from;
	copy->negative = 0;
	*result = flow_cell(FLOW_DECIMAL, 0);
	result->as.decimal = copy;
	return FLOW_OK;
}

static flow_status
abs_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)n;
	*result = *arguments[0];
	switch (arguments[0]->type) {
	case FLOW_INT64:
		if (result->as.int64 == INT64_MIN)
			return no_fit(f, "int64");
		if (result->as.int64 < 0)
			result->as.int64 = -result->as.int64;
		return FLOW_OK;
	case FLOW_FLOAT64:
		result->as.float64 = fabs(result->as.float64);
		return FLOW_OK;
	case FLOW_DECIMAL:
		return decimal_absolute(f, arguments[0]->as.decimal, result);
	default:
		return FLOW_OK;
	}
}

static flow_status
sign_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)n;
	flow_value zero = flow_int64(0);
	if (arguments[0]->type == FLOW_FLOAT64 && isnan(arguments[0]->as.float64))
		return row_fail(f, FLOW_E_RANGE, "NaN has no sign");
	int order = value_order(arguments[0], &zero);
	*result = flow_int64((order > 0) - (order < 0));
	return FLOW_OK;
}

static int
digits_all_zero(const flow_decimal *d)
{
	return d->count == 1 && d->digits[0] == '0';
}

static flow_status
decimal_minus_or_plus_one(frame *f, const flow_decimal *whole, int32_t scale, int minus, flow_value *result)
{
	flow_decimal one = { .digits = "1", .count = 1, .scale = scale };
	return minus ? decimal_subtract(whole, &one, f->memory, result) : decimal_add(whole, &one, f->memory, result);
}

/* Rounds half away from zero, and corrects by one unit where the mode wants the other neighbour. */
static flow_status
decimal_to_scale(frame *f, const flow_decimal *from, int32_t scale, enum rounding mode, flow_value *result)
{
	if (from->special != 0)
		return row_fail(f, FLOW_E_RANGE, "NaN and infinite decimals cannot be rounded");
	if ((int64_t)from->count - from->scale + scale > FLOW_DECIMAL_MAX_DIGITS)
		return row_fail(f, FLOW_E_RANGE, "the result has more than %d digits", FLOW_DECIMAL_MAX_DIGITS);
	flow_status status = decimal_round(from, scale, f->memory, result);
	if (status != FLOW_OK || mode == ROUND_HALF)
		return status == FLOW_OK || status == FLOW_E_MEMORY ? status : no_fit(f, "a decimal");
	const flow_decimal *whole = result->as.decimal;
	int order = decimal_compare(whole, from);
	int negative = from->negative && !digits_all_zero(from);
	int down = mode == ROUND_DOWN || (mode == ROUND_TO_ZERO && !negative);
	if (order > 0 && down)
		return decimal_minus_or_plus_one(f, whole, scale, 1, result);
	if (order < 0 && !down)
		return decimal_minus_or_plus_one(f, whole, scale, 0, result);
	return FLOW_OK;
}

static double
round_whole(double number, enum rounding mode)
{
	switch (mode) {
	case ROUND_DOWN:
		return floor(number);
	case ROUND_UP:
		return ceil(number);
	case ROUND_TO_ZERO:
		return trunc(number);
	default:
		return round(number);
	}
}

/* Floats are rounded at the digits of their shortest text: round(2.675, 2) is 2.68. */
static flow_status
float64_to_scale(frame *f, double number, int32_t scale, enum rounding mode, flow_value *result)
{
	flow_value decimal = flow_null(), rounded = flow_null();
	*result = flow_float64(number);
	if (!isfinite(number))
		return FLOW_OK;
	if (scale == 0) {
		*result = flow_float64(round_whole(number, mode));
		return FLOW_OK;
	}
	flow_status status = decimal_from_float64(number, f->memory, &decimal);
	if (status == FLOW_OK)
		status = decimal_to_scale(f, decimal.as.decimal, scale, mode, &rounded);
	return status == FLOW_OK ? check_float64(f, decimal_to_float64(rounded.as.decimal), result) : status;
}

/* Integers have nothing behind the point; a negative scale goes by way of a decimal. */
static flow_status
integer_to_scale(frame *f, const flow_value *from, int32_t scale, enum rounding mode, flow_value *result)
{
	flow_value decimal = flow_null(), rounded = flow_null();
	*result = *from;
	if (scale >= 0)
		return FLOW_OK;
	int is_signed = from->type == FLOW_INT64;
	flow_status status = is_signed ? decimal_from_int64(from->as.int64, f->memory, &decimal)
								   : decimal_from_uint64(from->as.uint64, f->memory, &decimal);
	if (status == FLOW_OK)
		status = decimal_to_scale(f, decimal.as.decimal, scale, mode, &rounded);
	if (status != FLOW_OK)
		return status;
	status = is_signed ? decimal_to_int64(rounded.as.decimal, &result->as.int64)
					   : decimal_to_uint64(rounded.as.decimal, &result->as.uint64);
	return status == FLOW_OK ? status : no_fit(f, is_signed ? "int64" : "uint64");
}

static flow_status
round_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	int64_t scale = n->child_count == 2 ? arguments[1]->as.int64 : 0;
	enum rounding mode = (enum rounding)n->function->parameter;
	if (scale > ROUNDING_LIMIT || scale < -ROUNDING_LIMIT)
		return row_fail(f, FLOW_E_RANGE, "the number of digits must be between -%d and %d", ROUNDING_LIMIT,
						ROUNDING_LIMIT);
	switch (arguments[0]->type) {
	case FLOW_DECIMAL:
		return decimal_to_scale(f, arguments[0]->as.decimal, (int32_t)scale, mode, result);
	case FLOW_FLOAT64:
		return float64_to_scale(f, arguments[0]->as.float64, (int32_t)scale, mode, result);
	default:
		return integer_to_scale(f, arguments[0], (int32_t)scale, mode, result);
	}
}

static flow_status
power_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)n;
	double base = arguments[0]->as.float64, exponent = arguments[1]->as.float64, number = pow(base, exponent);
	if (isnan(number) && !isnan(base) && !isnan(exponent))
		return row_fail(f, FLOW_E_RANGE, "a negative number has no such power");
	*result = flow_float64(number);
	return isinf(number) && isfinite(base) && isfinite(exponent) ? no_fit(f, "float64") : FLOW_OK;
}

enum real_function { REAL_SQRT, REAL_EXP, REAL_LN, REAL_LOG10 };

static flow_status
real_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	double x = arguments[0]->as.float64, number;
	enum real_function which = (enum real_function)n->function->parameter;
	if (which == REAL_SQRT && x < 0)
		return row_fail(f, FLOW_E_RANGE, "the number is negative");
	if ((which == REAL_LN || which == REAL_LOG10) && x <= 0)
		return row_fail(f, FLOW_E_RANGE, "the number is not above zero");
	number = which == REAL_SQRT ? sqrt(x) : which == REAL_EXP ? exp(x) : which == REAL_LN ? log(x) : log10(x);
	*result = flow_float64(number);
	return isinf(number) && isfinite(x) ? no_fit(f, "float64") : FLOW_OK;
}

static int
type_same(compiler *c, node *n)
{
	uint8_t nullable = n->type.nullable;
	(void)c;
	n->type = n->children[0]->type;
	n->type.nullable = nullable;
	n->type.duration = 0;
	if (n->type.kind == FLOW_KIND_INT32)
		n->type.kind = FLOW_KIND_INT64;
	if (n->type.kind == FLOW_KIND_FLOAT32)
		n->type.kind = FLOW_KIND_FLOAT64;
	n->type.schema = NULL;
	return 1;
}

#define MATH(function_name, text, description, sample, argument_classes, least, most, function_row, number)            \
	{                                                                                                                  \
		.name = function_name, .group = "Numbers", .signature = text, .doc = description, .example = sample,           \
		.classes = argument_classes, .minimum = least, .maximum = most, .type = type_same, .row = function_row,        \
		.parameter = number                                                                                            \
	}
#define REAL(function_name, text, description, sample, most, function_row, number)                                     \
	{                                                                                                                  \
		.name = function_name, .group = "Numbers", .signature = text, .doc = description, .example = sample,           \
		.classes = "f", .minimum = most, .maximum = most, .result = FLOW_KIND_FLOAT64, .row = function_row,            \
		.parameter = number                                                                                            \
	}

/* mod is the operator %; the parser makes it one, and the row here only documents it. */
const function math_functions[] = {
	MATH("abs", "abs(x)", "Without its sign. The smallest int64 fails.", "abs(-5) = 5", "n", 1, 1, abs_row, 0),
	MATH("ceil", "ceil(x)", "The nearest whole number that is not below x.", "ceil(1.2) = 2", "n", 1, 1, round_row,
		 ROUND_UP),
	MATH("floor", "floor(x)", "The nearest whole number that is not above x.", "floor(-1.2) = -2", "n", 1, 1, round_row,
		 ROUND_DOWN),
	MATH("round", "round(x [, digits])",
		 "To `digits` digits behind the point (none), half away from zero; negative: before the point. Floats are "
		 "rounded at "
		 "the digits of their shortest text.",
		 "round(2.675, 2) = 2.68", "ni", 1, 2, round_row, ROUND_HALF),
	MATH("trunc", "trunc(x [, digits])", "Towards zero, to `digits` digits behind the point (none).",
		 "trunc(-1.29, 1) = -1.2", "ni", 1, 2, round_row, ROUND_TO_ZERO),
	{ .name = "sign",
	  .group = "Numbers",
	  .signature = "sign(x) -> int64",
	  .doc = "-1, 0 or 1.",
	  .example = "sign(-0.5) = -1",
	  .classes = "n",
	  .minimum = 1,
	  .maximum = 1,
	  .result = FLOW_KIND_INT64,
	  .row = sign_row },
	{ .name = "mod",
	  .group = "Numbers",
	  .signature = "mod(x, y)",
	  .doc = "x % y: what x / y (without digits behind the point) leaves, with the sign of x.",
	  .example = "mod(-7, 3) = -1",
	  .classes = "nn",
	  .minimum = 2,
	  .maximum = 2 },
	REAL("power", "power(x, y) -> float64", "x to the power of y.", "power(2, 10) = 1024", 2, power_row, 0),
	REAL("sqrt", "sqrt(x) -> float64", "The square root; of a negative number it fails.", "sqrt(2.25) = 1.5", 1,
		 real_row, REAL_SQRT),
	REAL("exp", "exp(x) -> float64", "e to the power of x.", "exp(0) = 1", 1, real_row, REAL_EXP),
	REAL("ln", "ln(x) -> float64", "The natural logarithm; x must be above zero.", "ln(1) = 0", 1, real_row, REAL_LN),
	REAL("log10", "log10(x) -> float64", "The logarithm to base 10; x must be above zero.", "log10(1000) = 3", 1,
		 real_row, REAL_LOG10),
	{ .name = NULL },
};
