/* Arithmetic: exact on integers and decimals (what does not fit fails the row), IEEE on float64 (what becomes
 * infinite fails). */
#include <math.h>

#include "base/decimal.h"
#include "expr/node.h"
#include "flow_sdk/number.h"
#include "flow_sdk/time.h"

#define QUOTIENT_DIGITS 16 /* behind those that the operands have */

static const char *
operator_name(uint8_t op)
{
	static const char *const names[] = { "+", "-", "*", "/", "%" };
	return names[op - NODE_ADD];
}

static flow_status
out_of_range(frame *f, uint8_t op, const char *type)
{
	return row_fail(f, FLOW_E_RANGE, "the result of %s does not fit %s", operator_name(op), type);
}

static flow_status
division_by_zero(frame *f)
{
	return row_fail(f, FLOW_E_RANGE, "division by zero");
}

static flow_status
int64_arithmetic(frame *f, uint8_t op, int64_t a, int64_t b, flow_value *result)
{
	int64_t number = 0;
	int overflow = 0;
	switch (op) {
	case NODE_ADD:
		overflow = __builtin_add_overflow(a, b, &number);
		break;
	case NODE_SUBTRACT:
		overflow = __builtin_sub_overflow(a, b, &number);
		break;
	case NODE_MULTIPLY:
		overflow = __builtin_mul_overflow(a, b, &number);
		break;
	default:
		if (b == 0)
			return division_by_zero(f);
		if (b == -1) { /* INT64_MIN / -1 traps */
			overflow = op == NODE_DIVIDE && a == INT64_MIN;
			number = op == NODE_DIVIDE && !overflow ? -a : 0;
			break;
		}
		number = op == NODE_DIVIDE ? a / b : a % b;
	}
	if (overflow)
		return out_of_range(f, op, "int64");
	*result = flow_int64(number);
	return FLOW_OK;
}

/* At least one side is uint64, and so is the result. */
static flow_status
uint64_arithmetic(frame *f, uint8_t op, const flow_value *a, const flow_value *b, flow_value *result)
{
	__int128 x = a->type == FLOW_UINT64 ? (__int128)a->as.uint64 : a->as.int64;
	__int128 y = b->type == FLOW_UINT64 ? (__int128)b->as.uint64 : b->as.int64;
	__int128 number = 0;
	int overflow = 0;
	if ((op == NODE_DIVIDE || op == NODE_REMAINDER) && y == 0)
		return division_by_zero(f);
	if (op == NODE_ADD)
		number = x + y;
	else if (op == NODE_SUBTRACT)
		number = x - y;
	else if (op == NODE_MULTIPLY)
		overflow = __builtin_mul_overflow(x, y, &number);
	else
		number = op == NODE_DIVIDE ? x / y : x % y;
	if (overflow || number < 0 || number > (__int128)UINT64_MAX)
		return out_of_range(f, op, "uint64");
	*result = flow_uint64((uint64_t)number);
	return FLOW_OK;
}

static flow_status
float64_arithmetic(frame *f, uint8_t op, double a, double b, flow_value *result)
{
	double number;
	switch (op) {
	case NODE_ADD:
		number = a + b;
		break;
	case NODE_SUBTRACT:
		number = a - b;
		break;
	case NODE_MULTIPLY:
		number = a * b;
		break;
	default:
		if (b == 0)
			return division_by_zero(f);
		number = op == NODE_DIVIDE ? a / b : fmod(a, b);
	}
	if (!isfinite(number) && isfinite(a) && isfinite(b))
		return out_of_range(f, op, "float64");
	*result = flow_float64(number);
	return FLOW_OK;
}

/* The cell as a decimal: its own, or an integer's over the buffer. */
static flow_decimal
decimal_view(const flow_value *v, char *buffer)
{
	if (v->type == FLOW_DECIMAL)
		return *v->as.decimal;
	flow_decimal decimal = { .digits = buffer };
	if (v->type == FLOW_UINT64) {
		decimal.count = (uint32_t)flow_print_uint64(v->as.uint64, buffer);
		return decimal;
	}
	decimal.negative = v->as.int64 < 0;
	decimal.count = (uint32_t)flow_print_int64(v->as.int64, buffer) - decimal.negative;
	decimal.digits = buffer + decimal.negative;
	return decimal;
}

/* Results of more digits than a decimal may be written with are refused before they are made: 1e100000 + 1 has
 * 100,001. */
static int
within_digits(uint8_t op, const flow_decimal *a, const flow_decimal *b)
{
	int64_t whole_a = (int64_t)a->count - a->scale, whole_b = (int64_t)b->count - b->scale;
	int64_t fraction = a->scale > b->scale ? a->scale : b->scale, digits;
	if (op == NODE_MULTIPLY)
		digits = (int64_t)a->count + b->count;
	else if (op == NODE_DIVIDE)
		digits = whole_a - whole_b + 1 + fraction + QUOTIENT_DIGITS;
	else
		digits = (whole_a > whole_b ? whole_a : whole_b) + fraction;
	int64_t scale = (int64_t)a->scale + b->scale;
	int64_t written = fraction > 0 ? fraction : 0;
	int64_t quotient = whole_a - whole_b + written;
	return digits <= FLOW_DECIMAL_MAX_DIGITS && scale <= FLOW_DECIMAL_MAX_EXPONENT &&
		   scale >= -FLOW_DECIMAL_MAX_EXPONENT && (op != NODE_REMAINDER || quotient <= FLOW_DECIMAL_MAX_DIGITS) &&
		   (op != NODE_DIVIDE || quotient + QUOTIENT_DIGITS <= FLOW_DECIMAL_MAX_DIGITS);
}

static int
is_zero(const flow_decimal *d)
{
	return d->count == 1 && d->digits[0] == '0';
}

/* The cell's decimal without zeros at its end, as far as `scale` digits stay behind the point. */
static flow_status
drop_zeros(flow_builder *memory, flow_value *v, int32_t scale)
{
	flow_decimal *shorter = flow_builder_alloc(memory, sizeof(*shorter));
	if (shorter == NULL)
		return FLOW_E_MEMORY;
	*shorter = *v->as.decimal;
	if (is_zero(shorter))
		shorter->scale = shorter->scale > scale ? scale : shorter->scale;
	while (shorter->scale > scale && shorter->count > 1 && shorter->digits[shorter->count - 1] == '0') {
		shorter->count--;
		shorter->scale--;
	}
	v->as.decimal = shorter;
	return FLOW_OK;
}

static flow_status
decimal_quotient(frame *f, const flow_decimal *a, const flow_decimal *b, flow_value *result)
{
	int32_t scale = a->scale > b->scale ? a->scale : b->scale;
	if (scale < 0)
		scale = 0;
	flow_status status = decimal_divide(a, b, scale + QUOTIENT_DIGITS, f->memory, result);
	return status == FLOW_OK ? drop_zeros(f->memory, result, scale) : status;
}

/* a - b * trunc(a / b), with the sign of a. */
static flow_status
decimal_remainder(frame *f, const flow_decimal *a, const flow_decimal *b, flow_value *result)
{
	flow_value quotient, product;
	flow_status status = decimal_divide(a, b, 0, f->memory, &quotient);
	if (status == FLOW_OK)
		status = decimal_multiply(quotient.as.decimal, b, f->memory, &product);
	if (status == FLOW_OK)
		status = decimal_subtract(a, product.as.decimal, f->memory, result);
	if (status != FLOW_OK)
		return status;
	const flow_decimal *rest = result->as.decimal;
	if (is_zero(rest) || rest->negative == a->negative)
		return FLOW_OK;
	flow_decimal divisor = *b; /* the quotient was rounded away from zero: one divisor back */
	divisor.negative = a->negative;
	return decimal_add(rest, &divisor, f->memory, result);
}

static flow_status
decimal_arithmetic(frame *f, uint8_t op, const flow_value *x, const flow_value *y, flow_value *result)
{
	char x_digits[FLOW_NUMBER_TEXT_MAX], y_digits[FLOW_NUMBER_TEXT_MAX];
	flow_decimal a = decimal_view(x, x_digits), b = decimal_view(y, y_digits);
	flow_status status;
	if (a.special != 0 || b.special != 0)
		return row_fail(f, FLOW_E_RANGE, "NaN and infinite decimals cannot be calculated with");
	if (!within_digits(op, &a, &b))
		return row_fail(f, FLOW_E_RANGE, "the result of %s has more than %d digits", operator_name(op),
						FLOW_DECIMAL_MAX_DIGITS);
	if (op >= NODE_DIVIDE && is_zero(&b))
		return division_by_zero(f);
	switch (op) {
	case NODE_ADD:
		status = decimal_add(&a, &b, f->memory, result);
		break;
	case NODE_SUBTRACT:
		status = decimal_subtract(&a, &b, f->memory, result);
		break;
	case NODE_MULTIPLY:
		status = decimal_multiply(&a, &b, f->memory, result);
		break;
	case NODE_DIVIDE:
		status = decimal_quotient(f, &a, &b, result);
		break;
	default:
		status = decimal_remainder(f, &a, &b, result);
	}
	return status == FLOW_OK || status == FLOW_E_MEMORY ? status : out_of_range(f, op, "a decimal");
}

static double
number_as_float64(const flow_value *v)
{
	switch (v->type) {
	case FLOW_INT64:
		return (double)v->as.int64;
	case FLOW_UINT64:
		return (double)v->as.uint64;
	case FLOW_DECIMAL:
		return decimal_to_float64(v->as.decimal);
	default:
		return v->as.float64;
	}
}

flow_status
arithmetic_row(frame *f, uint8_t op, const flow_value *a, const flow_value *b, flow_value *result)
{
	if (value_class_of(a) != CLASS_NUMBER || value_class_of(b) != CLASS_NUMBER)
		return row_fail(f, FLOW_E_TYPE, "%s takes numbers, not %s", operator_name(op),
						cell_type_name(value_class_of(a) == CLASS_NUMBER ? b->type : a->type));
	if (a->type == FLOW_INT64 && b->type == FLOW_INT64)
		return int64_arithmetic(f, op, a->as.int64, b->as.int64, result);
	if (a->type == FLOW_FLOAT64 || b->type == FLOW_FLOAT64)
		return float64_arithmetic(f, op, number_as_float64(a), number_as_float64(b), result);
	if (a->type == FLOW_DECIMAL || b->type == FLOW_DECIMAL)
		return decimal_arithmetic(f, op, a, b, result);
	return uint64_arithmetic(f, op, a, b, result);
}

static flow_status
read_two(const node *n, frame *f, slots s, uint32_t target, operand *a, operand *b)
{
	flow_status status = operand_read(n->children[0], f, s, target, a);
	return status == FLOW_OK ? operand_read(n->children[1], f, s, target + 1, b) : status;
}

/* Any pair: nulls, mixed types, what fails. */
static __attribute__((noinline)) flow_status
any_pair(const node *n, frame *f, uint32_t slot, const flow_value *a, const flow_value *b, flow_value *to)
{
	flow_value result = flow_null();
	flow_status status = FLOW_OK;
	if (a->type != FLOW_NULL && b->type != FLOW_NULL)
		status = arithmetic_row(f, n->op, a, b, &result);
	*to = status == FLOW_OK ? result : flow_null();
	return status == FLOW_OK ? status : slot_fail(f, n, slot, status, "%s", f->message);
}

/* Does the pair if it is of the kernel's type and the result fits; else any_pair does it. */
typedef int (*pair_function)(const flow_value *a, const flow_value *b, flow_value *to);

/* The loop over pairs; inlined with a constant function, so that typed arithmetic has no call in it. */
static inline __attribute__((always_inline)) flow_status
pairs(const node *n, frame *f, slots s, uint32_t target, pair_function fast)
{
	operand left, right;
	flow_status status = read_two(n, f, s, target, &left, &right);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *a = &left.cells[slot & left.mask], *b = &right.cells[slot & right.mask];
		if (!fast(a, b, &to[slot]))
			status = any_pair(n, f, slot, a, b, &to[slot]);
	}
	return status;
}

#define INT64_PAIR(name, builtin)                                                                                      \
	static inline int name(const flow_value *a, const flow_value *b, flow_value *to)                                   \
	{                                                                                                                  \
		int64_t number;                                                                                                \
		if (a->type != FLOW_INT64 || b->type != FLOW_INT64 || builtin(a->as.int64, b->as.int64, &number))              \
			return 0;                                                                                                  \
		*to = flow_int64(number);                                                                                      \
		return 1;                                                                                                      \
	}
#define FLOAT64_PAIR(name, operation)                                                                                  \
	static inline int name(const flow_value *a, const flow_value *b, flow_value *to)                                   \
	{                                                                                                                  \
		double number = a->as.float64 operation b->as.float64;                                                         \
		if (a->type != FLOW_FLOAT64 || b->type != FLOW_FLOAT64 || !isfinite(number))                                   \
			return 0;                                                                                                  \
		*to = flow_float64(number);                                                                                    \
		return 1;                                                                                                      \
	}
INT64_PAIR(add_int64, __builtin_add_overflow)
INT64_PAIR(subtract_int64, __builtin_sub_overflow)
INT64_PAIR(multiply_int64, __builtin_mul_overflow)
FLOAT64_PAIR(add_float64, +)
FLOAT64_PAIR(subtract_float64, -)
FLOAT64_PAIR(multiply_float64, *)

static inline int
no_fast_pair(const flow_value *a, const flow_value *b, flow_value *to)
{
	(void)a;
	(void)b;
	(void)to;
	return 0;
}

static flow_status
int64_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	switch (n->op) {
	case NODE_ADD:
		return pairs(n, f, s, target, add_int64);
	case NODE_SUBTRACT:
		return pairs(n, f, s, target, subtract_int64);
	case NODE_MULTIPLY:
		return pairs(n, f, s, target, multiply_int64);
	default:
		return pairs(n, f, s, target, no_fast_pair);
	}
}

static flow_status
float64_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	switch (n->op) {
	case NODE_ADD:
		return pairs(n, f, s, target, add_float64);
	case NODE_SUBTRACT:
		return pairs(n, f, s, target, subtract_float64);
	case NODE_MULTIPLY:
		return pairs(n, f, s, target, multiply_float64);
	default:
		return pairs(n, f, s, target, no_fast_pair);
	}
}

static flow_status
generic_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	return pairs(n, f, s, target, no_fast_pair);
}

/* Timestamps and dates to one unit; days are 86,400 seconds. */
static flow_status
instant_in(const flow_value *v, uint8_t unit, int64_t *number)
{
	int64_t seconds;
	if (v->type != FLOW_DATE)
		return flow_convert_unit(v->as.int64, v->unit, unit, number);
	if (__builtin_mul_overflow(v->as.int64, (int64_t)86400, &seconds))
		return FLOW_E_RANGE;
	return flow_convert_unit(seconds, FLOW_SECONDS, unit, number);
}

/* timestamp or date plus or minus a duration (int64 microseconds); the node's type has the unit of the result. */
static flow_status
shift_row(frame *f, const node *n, const flow_value *instant, int64_t microseconds, int subtract, flow_value *result)
{
	int64_t number, amount;
	uint8_t unit = n->type.unit;
	flow_status status = instant_in(instant, unit, &number);
	if (status == FLOW_OK)
		status = flow_convert_unit(microseconds, FLOW_MICROSECONDS, unit, &amount);
	if (status != FLOW_OK ||
		(subtract ? __builtin_sub_overflow(number, amount, &number) : __builtin_add_overflow(number, amount, &number)))
		return out_of_range(f, subtract ? NODE_SUBTRACT : NODE_ADD, "a timestamp");
	*result = flow_timestamp(number, unit, n->type.zoned ? FLOW_ZONED : 0);
	return FLOW_OK;
}

/* date plus or minus days */
static flow_status
days_row(frame *f, const flow_value *date, int64_t days, int subtract, flow_value *result)
{
	int64_t number;
	int overflow = subtract ? __builtin_sub_overflow(date->as.int64, days, &number)
							: __builtin_add_overflow(date->as.int64, days, &number);
	if (overflow || number > INT32_MAX || number < INT32_MIN)
		return out_of_range(f, subtract ? NODE_SUBTRACT : NODE_ADD, "a date");
	*result = flow_cell(FLOW_DATE, number);
	return FLOW_OK;
}

/* The difference of two dates in days, of two timestamps in microseconds. */
static flow_status
difference_row(frame *f, const flow_value *a, const flow_value *b, flow_value *result)
{
	int64_t x, y, number;
	int days = a->type == FLOW_DATE && b->type == FLOW_DATE;
	x = a->as.int64;
	y = b->as.int64;
	if (!days && (instant_in(a, FLOW_MICROSECONDS, &x) != FLOW_OK || instant_in(b, FLOW_MICROSECONDS, &y) != FLOW_OK))
		return out_of_range(f, NODE_SUBTRACT, "int64");
	if (__builtin_sub_overflow(x, y, &number))
		return out_of_range(f, NODE_SUBTRACT, "int64");
	*result = flow_int64(number);
	return FLOW_OK;
}

static int
is_instant(const flow_value *v)
{
	return v->type == FLOW_DATE || v->type == FLOW_TIMESTAMP;
}

static flow_status
instant_row(frame *f, const node *n, const flow_value *a, const flow_value *b, flow_value *result)
{
	int subtract = n->op == NODE_SUBTRACT;
	if (is_instant(a) && is_instant(b))
		return difference_row(f, a, b, result);
	const flow_value *instant = is_instant(a) ? a : b, *amount = is_instant(a) ? b : a;
	if (!is_instant(instant) || amount->type != FLOW_INT64)
		return row_fail(f, FLOW_E_TYPE, "%s and %s cannot be added", cell_type_name(a->type), cell_type_name(b->type));
	if (n->type.kind == FLOW_KIND_DATE)
		return days_row(f, instant, amount->as.int64, subtract, result);
	return shift_row(f, n, instant, amount->as.int64, subtract, result);
}

static flow_status
instant_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand left, right;
	flow_status status = read_two(n, f, s, target, &left, &right);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *a = &left.cells[slot & left.mask], *b = &right.cells[slot & right.mask];
		flow_value result = flow_null();
		flow_status row_status = FLOW_OK;
		if (a->type != FLOW_NULL && b->type != FLOW_NULL)
			row_status = instant_row(f, n, a, b, &result);
		if (row_status != FLOW_OK)
			status = slot_fail(f, n, slot, row_status, "%s", f->message);
		to[slot] = row_status == FLOW_OK ? result : flow_null();
	}
	return status;
}

static int
kind_has_instant(const node *n)
{
	uint8_t kind = n->type.kind;
	return kind == FLOW_KIND_DATE || kind == FLOW_KIND_TIMESTAMP;
}

static int
all_of_kind(const node *n, uint8_t wide, uint8_t narrow)
{
	for (uint32_t i = 0; i < n->child_count; i++)
		if (n->children[i]->type.kind != wide && n->children[i]->type.kind != narrow)
			return 0;
	return 1;
}

kernel
arithmetic_choose(const node *n)
{
	if (kind_has_instant(n->children[0]) || kind_has_instant(n->children[1]))
		return instant_kernel;
	if (all_of_kind(n, FLOW_KIND_FLOAT64, FLOW_KIND_FLOAT32))
		return float64_kernel;
	if (all_of_kind(n, FLOW_KIND_INT64, FLOW_KIND_INT32))
		return int64_kernel;
	return generic_kernel;
}

static flow_status
negate_row(frame *f, const flow_value *v, flow_value *result)
{
	flow_value zero = flow_int64(0);
	switch (v->type) {
	case FLOW_FLOAT64:
		*result = flow_float64(-v->as.float64);
		return FLOW_OK;
	case FLOW_UINT64: {
		flow_status status = v->as.uint64 > (uint64_t)INT64_MAX + 1 ? FLOW_E_RANGE : FLOW_OK;
		*result = flow_int64((int64_t)(0 - v->as.uint64));
		return status == FLOW_OK ? status : out_of_range(f, NODE_SUBTRACT, "int64");
	}
	default:
		return arithmetic_row(f, NODE_SUBTRACT, &zero, v, result);
	}
}

flow_status
negate_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand from;
	flow_status status = operand_read(n->children[0], f, s, target, &from);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *v = &from.cells[slot & from.mask];
		flow_value result = flow_null();
		flow_status row_status = v->type == FLOW_NULL ? FLOW_OK : negate_row(f, v, &result);
		if (row_status != FLOW_OK)
			status = slot_fail(f, n, slot, row_status, "%s", f->message);
		to[slot] = row_status == FLOW_OK ? result : flow_null();
	}
	return status;
}
