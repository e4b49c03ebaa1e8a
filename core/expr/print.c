/* A tree as canonical text: keywords and functions in lower case, brackets only where they are needed. Compiling the
 * text again gives the same tree. */
#include <math.h>
#include <string.h>

#include "base/schema.h"
#include "base/units.h"
#include "expr/compiled.h"
#include "expr/function.h"
#include "flow_sdk/number.h"
#include "flow_sdk/time.h"

enum strength {
	ANY_STRENGTH,
	OR_STRENGTH,
	AND_STRENGTH,
	NOT_STRENGTH,
	COMPARISON_STRENGTH,
	CONCAT_STRENGTH,
	SUM_STRENGTH,
	PRODUCT_STRENGTH,
	SIGN_STRENGTH,
	MEMBER_STRENGTH
};

struct printer {
	char *buffer;
	uint64_t size;
	uint64_t length;
};

static void print_node(struct printer *p, const node *n, enum strength needed);

static void
put(struct printer *p, const char *text, uint64_t size)
{
	if (p->size != 0 && p->length < p->size - 1) {
		uint64_t room = p->size - 1 - p->length;
		memcpy(p->buffer + p->length, text, size < room ? size : room);
	}
	p->length += size;
}

static void
put_text(struct printer *p, const char *text)
{
	put(p, text, strlen(text));
}

static void
put_quoted(struct printer *p, flow_slice text, char quote)
{
	put(p, &quote, 1);
	for (uint64_t i = 0; i < text.size; i++) {
		put(p, text.data + i, 1);
		if (text.data[i] == quote)
			put(p, &quote, 1);
	}
	put(p, &quote, 1);
}

static int
needs_quotes(flow_slice name)
{
	static const char *const words[] = { "and",  "or",   "not",      "is",   "in",    "like", "between",
										 "case", "when", "then",     "else", "end",   "true", "false",
										 "null", "cast", "try_cast", "as",   "escape" };
	if (name.size == 0 || (name.data[0] >= '0' && name.data[0] <= '9'))
		return 1;
	for (uint64_t i = 0; i < name.size; i++) {
		char c = name.data[i];
		int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
		if (!plain)
			return 1;
	}
	for (size_t i = 0; i < FLOW_COUNT(words); i++)
		if (strlen(words[i]) == name.size && strncasecmp(words[i], name.data, name.size) == 0)
			return 1;
	return 0;
}

static void
put_name(struct printer *p, flow_slice name)
{
	if (needs_quotes(name))
		put_quoted(p, name, '"');
	else
		put(p, name.data, name.size);
}

static void
put_hex(struct printer *p, const flow_value *v)
{
	static const char digits[] = "0123456789abcdef";
	put_text(p, "x'");
	for (uint32_t i = 0; i < v->size; i++) {
		put(p, &digits[(unsigned char)v->as.text[i] >> 4], 1);
		put(p, &digits[(unsigned char)v->as.text[i] & 15], 1);
	}
	put_text(p, "'");
}

static void
put_decimal(struct printer *p, const flow_decimal *decimal)
{
	char digits[FLOW_NUMBER_TEXT_MAX];
	if (decimal->negative)
		put_text(p, "-");
	put(p, decimal->digits, decimal->count);
	put_text(p, "e"); /* digits and scale as they are: 1.50 is 150e-2 */
	put(p, digits, flow_print_int64(-(int64_t)decimal->scale, digits));
}

/* As people write them where that is short; a point makes it a decimal again. */
static void
put_decimal_plain(struct printer *p, const flow_decimal *decimal)
{
	char text[FLOW_NUMBER_TEXT_MAX + 64];
	int simple = decimal->special == 0 && decimal->count <= FLOW_NUMBER_TEXT_MAX && decimal->scale > 0 &&
				 decimal->scale <= FLOW_NUMBER_TEXT_MAX;
	if (!simple) {
		put_decimal(p, decimal);
		return;
	}
	put(p, text, flow_print_decimal(decimal, text));
}

static void
put_time(struct printer *p, const flow_value *v)
{
	char text[FLOW_TIME_TEXT_MAX];
	put_text(p, v->type == FLOW_DATE    ? "date '"
				: v->type == FLOW_TIME  ? "time '"
				: v->flags & FLOW_ZONED ? "timestamp '"
										: "local_timestamp '");
	put(p, text, flow_print_time(v, text));
	put_text(p, "'");
}

static void
put_uuid(struct printer *p, const flow_value *v)
{
	static const char digits[] = "0123456789abcdef";
	put_text(p, "'");
	for (uint32_t i = 0; i < v->size; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			put_text(p, "-");
		put(p, &digits[(unsigned char)v->as.text[i] >> 4], 1);
		put(p, &digits[(unsigned char)v->as.text[i] & 15], 1);
	}
	put_text(p, "'");
}

static void
put_duration(struct printer *p, int64_t microseconds)
{
	char text[64];
	put_text(p, "interval '");
	put_text(p, units_print_duration(microseconds, text));
	put_text(p, "'");
}

static void
put_constant(struct printer *p, const node *n)
{
	const flow_value *v = &n->constant;
	char text[FLOW_NUMBER_TEXT_MAX];
	switch (v->type) {
	case FLOW_NULL:
		put_text(p, "null");
		break;
	case FLOW_BOOL:
		put_text(p, v->as.int64 != 0 ? "true" : "false");
		break;
	case FLOW_INT64:
		if (n->type.duration)
			put_duration(p, v->as.int64);
		else
			put(p, text, flow_print_int64(v->as.int64, text));
		break;
	case FLOW_UINT64:
		put(p, text, flow_print_uint64(v->as.uint64, text));
		break;
	case FLOW_FLOAT64:
		put(p, text, flow_print_float64(v->as.float64, text));
		break;
	case FLOW_DECIMAL:
		put_decimal_plain(p, v->as.decimal);
		break;
	case FLOW_STRING:
		put_quoted(p, flow_value_slice(v), '\'');
		break;
	case FLOW_BYTES:
		put_hex(p, v);
		break;
	case FLOW_UUID:
		put_uuid(p, v);
		break;
	default:
		put_time(p, v);
	}
}

static const char *
binary_text(uint8_t op)
{
	static const char *const texts[] = { " + ", " - ",  " * ", " / ",  " % ", " || ",
										 " = ", " <> ", " < ", " <= ", " > ", " >= " };
	return texts[op - NODE_ADD];
}

static enum strength
strength_of(const node *n)
{
	switch (n->op) {
	case NODE_OR:
		return OR_STRENGTH;
	case NODE_AND:
		return AND_STRENGTH;
	case NODE_NOT:
		return NOT_STRENGTH;
	case NODE_CONCAT:
		return CONCAT_STRENGTH;
	case NODE_ADD:
	case NODE_SUBTRACT:
		return SUM_STRENGTH;
	case NODE_MULTIPLY:
	case NODE_DIVIDE:
	case NODE_REMAINDER:
		return PRODUCT_STRENGTH;
	case NODE_NEGATE:
		return SIGN_STRENGTH;
	case NODE_CONSTANT:
	case NODE_FIELD:
	case NODE_ENTRY:
	case NODE_MEMBER:
	case NODE_CASE:
	case NODE_CAST:
	case NODE_CALL:
		return MEMBER_STRENGTH;
	default:
		return COMPARISON_STRENGTH;
	}
}

static void
print_list(struct printer *p, const node *n, uint32_t first, const char *between, enum strength needed)
{
	for (uint32_t i = first; i < n->child_count; i++) {
		if (i > first)
			put_text(p, between);
		print_node(p, n->children[i], needed);
	}
}

static void
print_case(struct printer *p, const node *n)
{
	uint32_t last = n->child_count - n->otherwise;
	put_text(p, "case");
	if (n->form) {
		put_text(p, " ");
		print_node(p, n->children[0], ANY_STRENGTH);
	}
	for (uint32_t i = n->form; i + 1 < last; i += 2) {
		put_text(p, " when ");
		print_node(p, n->children[i], ANY_STRENGTH);
		put_text(p, " then ");
		print_node(p, n->children[i + 1], ANY_STRENGTH);
	}
	if (n->otherwise) {
		put_text(p, " else ");
		print_node(p, n->children[last], ANY_STRENGTH);
	}
	put_text(p, " end");
}

static void
print_cast(struct printer *p, const node *n)
{
	char type[512];
	uint64_t size = schema_print(n->target, 1, type, sizeof(type));
	put_text(p, n->attempt ? "try_cast(" : "cast(");
	print_node(p, n->children[0], ANY_STRENGTH);
	put_text(p, " as ");
	put(p, type, size < sizeof(type) ? size : sizeof(type) - 1);
	put_text(p, ")");
}

static void
print_member(struct printer *p, const node *n)
{
	print_node(p, n->children[0], MEMBER_STRENGTH);
	put_text(p, ".");
	put_name(p, n->name);
}

/* in, like, between, is: the operand, and what stands behind it. */
static void
print_predicate(struct printer *p, const node *n)
{
	static const char *const forms[] = { "null", "true", "false" };
	print_node(p, n->children[0], COMPARISON_STRENGTH);
	if (n->op == NODE_IS) {
		put_text(p, n->negated ? " is not " : " is ");
		put_text(p, forms[n->form]);
		return;
	}
	put_text(p, n->negated ? " not" : "");
	if (n->op == NODE_IN) {
		put_text(p, " in (");
		print_list(p, n, 1, ", ", ANY_STRENGTH);
		put_text(p, ")");
	} else if (n->op == NODE_BETWEEN) {
		put_text(p, " between ");
		print_list(p, n, 1, " and ", CONCAT_STRENGTH);
	} else {
		put_text(p, " like ");
		print_list(p, n, 1, " escape ", CONCAT_STRENGTH);
	}
}

static void
print_call(struct printer *p, const node *n)
{
	put(p, n->name.data, n->name.size);
	put_text(p, "(");
	print_list(p, n, 0, ", ", ANY_STRENGTH);
	put_text(p, ")");
}

static void
print_binary(struct printer *p, const node *n)
{
	enum strength own = strength_of(n);
	print_node(p, n->children[0], own);
	put_text(p, binary_text(n->op));
	print_node(p, n->children[1], own + 1);
}

static void
print_bare(struct printer *p, const node *n)
{
	switch (n->op) {
	case NODE_CONSTANT:
		put_constant(p, n);
		break;
	case NODE_FIELD:
	case NODE_ENTRY:
		put_name(p, n->name);
		break;
	case NODE_MEMBER:
		print_member(p, n);
		break;
	case NODE_NEGATE:
		put_text(p, "-");
		print_node(p, n->children[0], MEMBER_STRENGTH);
		break;
	case NODE_NOT:
		put_text(p, "not ");
		print_node(p, n->children[0], NOT_STRENGTH);
		break;
	case NODE_AND:
		print_list(p, n, 0, " and ", NOT_STRENGTH);
		break;
	case NODE_OR:
		print_list(p, n, 0, " or ", AND_STRENGTH);
		break;
	case NODE_CASE:
		print_case(p, n);
		break;
	case NODE_CAST:
		print_cast(p, n);
		break;
	case NODE_CALL:
		print_call(p, n);
		break;
	case NODE_IS:
	case NODE_IN:
	case NODE_LIKE:
	case NODE_BETWEEN:
		print_predicate(p, n);
		break;
	default:
		print_binary(p, n);
	}
}

static void
print_node(struct printer *p, const node *n, enum strength needed)
{
	while (n->op == NODE_CAST && n->implicit)
		n = n->children[0];
	int negative = n->op == NODE_CONSTANT && value_class_of(&n->constant) == CLASS_NUMBER && needed == MEMBER_STRENGTH;
	int brackets = strength_of(n) < needed || negative;
	if (brackets)
		put_text(p, "(");
	print_bare(p, n);
	if (brackets)
		put_text(p, ")");
}

uint64_t
node_print(const node *n, char *buffer, uint64_t size)
{
	struct printer p = { buffer, size, 0 };
	print_node(&p, n, ANY_STRENGTH);
	if (size != 0)
		buffer[p.length < size ? p.length : size - 1] = '\0';
	return p.length;
}
