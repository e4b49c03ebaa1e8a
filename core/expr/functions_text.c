/* String functions. Positions and lengths count characters (code points). */
#include <string.h>

#include "expr/function.h"
#include "expr/text.h"

static flow_value
string_of(const char *data, uint64_t size)
{
	return flow_string(data, (uint32_t)size);
}

static char *
make_text(frame *f, uint64_t size, flow_status *status)
{
	if (size > STRING_LIMIT) {
		*status = row_fail(f, FLOW_E_LIMIT, "the result has more than %u bytes", STRING_LIMIT);
		return NULL;
	}
	char *text = flow_builder_alloc(f->memory, size + 1);
	*status = text == NULL ? FLOW_E_MEMORY : FLOW_OK;
	return text;
}

static flow_status
length_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)f;
	int bytes = n->function->parameter != 0 || arguments[0]->type == FLOW_BYTES;
	*result = flow_int64((int64_t)(bytes ? arguments[0]->size : text_characters(flow_value_slice(arguments[0]))));
	return FLOW_OK;
}

static flow_status
case_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	flow_status status;
	uint32_t size = arguments[0]->size;
	char first = n->function->parameter != 0 ? 'a' : 'A';
	char *text = make_text(f, size, &status);
	if (text == NULL)
		return status;
	for (uint32_t i = 0; i < size; i++) {
		char c = arguments[0]->as.text[i];
		text[i] = c >= first && c <= first + 25 ? (char)(c ^ 32) : c;
	}
	*result = string_of(text, size);
	return FLOW_OK;
}

/* Is the character at the start of `text` one of `set`? */
static int
in_set(flow_slice text, uint64_t size, flow_slice set)
{
	return text_find(set, flow_slice_make(text.data, size), 0) != UINT64_MAX;
}

static uint64_t
last_character(flow_slice text)
{
	uint64_t at = text.size - 1;
	while (at > 0 && ((unsigned char)text.data[at] & 0xC0) == 0x80)
		at--;
	return at;
}

/* parameter: 1 from the left, 2 from the right, 3 both */
static flow_status
trim_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)f;
	flow_slice text = flow_value_slice(arguments[0]);
	flow_slice set = n->child_count == 2 ? flow_value_slice(arguments[1]) : flow_slice_of(" ");
	while ((n->function->parameter & 1) != 0 && text.size > 0 && in_set(text, text_step(text), set)) {
		uint64_t step = text_step(text);
		text = flow_slice_make(text.data + step, text.size - step);
	}
	while ((n->function->parameter & 2) != 0 && text.size > 0) {
		uint64_t at = last_character(text);
		if (!in_set(flow_slice_make(text.data + at, text.size - at), text.size - at, set))
			break;
		text.size = at;
	}
	*result = string_of(text.data, text.size);
	return FLOW_OK;
}

/* Characters [from, to) counted from 0, cut to what is there. */
static flow_value
cut(flow_slice text, int64_t from, int64_t to)
{
	if (from < 0)
		from = 0;
	if (to <= from)
		return string_of(text.data, 0);
	uint64_t start = text_offset(text, (uint64_t)from);
	flow_slice rest = flow_slice_make(text.data + start, text.size - start);
	return string_of(rest.data, text_offset(rest, (uint64_t)(to - from)));
}

static flow_status
substr_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	int64_t from = arguments[1]->as.int64, to = INT64_MAX;
	if (n->child_count == 3 && arguments[2]->as.int64 < 0)
		return row_fail(f, FLOW_E_ARGUMENT, "the length is negative");
	if (n->child_count == 3 && __builtin_add_overflow(from, arguments[2]->as.int64, &to))
		to = INT64_MAX;
	if (from < -(int64_t)UINT32_MAX)
		from = -(int64_t)UINT32_MAX;
	if (to < -(int64_t)UINT32_MAX)
		to = -(int64_t)UINT32_MAX;
	*result = cut(flow_value_slice(arguments[0]), from - 1, to == INT64_MAX ? to : to - 1);
	return FLOW_OK;
}

/* left(s, n), right(s, n); negative: all but n characters of the other side. */
static flow_status
side_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)f;
	flow_slice text = flow_value_slice(arguments[0]);
	int64_t size = (int64_t)text_characters(text), count = arguments[1]->as.int64;
	if (count > size)
		count = size;
	if (count < -size)
		count = -size;
	int left = n->function->parameter == 0;
	if (left)
		*result = cut(text, 0, count >= 0 ? count : size + count);
	else
		*result = cut(text, count >= 0 ? size - count : -count, size);
	return FLOW_OK;
}

static flow_status
position_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)f;
	(void)n;
	flow_slice text = flow_value_slice(arguments[1]);
	uint64_t at = text_find(text, flow_value_slice(arguments[0]), 0);
	*result = flow_int64(at == UINT64_MAX ? 0 : (int64_t)text_characters(flow_slice_make(text.data, at)) + 1);
	return FLOW_OK;
}

/* parameter: 0 start, 1 end, 2 anywhere */
static flow_status
has_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)f;
	flow_slice text = flow_value_slice(arguments[0]), part = flow_value_slice(arguments[1]);
	int has = part.size <= text.size;
	if (has && n->function->parameter == 2)
		has = text_find(text, part, 0) != UINT64_MAX;
	else if (has && part.size != 0)
		has = memcmp(text.data + (n->function->parameter == 0 ? 0 : text.size - part.size), part.data, part.size) == 0;
	*result = flow_bool(has);
	return FLOW_OK;
}

static uint64_t
occurrences(flow_slice text, flow_slice part)
{
	uint64_t count = 0;
	for (uint64_t at = text_find(text, part, 0); at != UINT64_MAX; at = text_find(text, part, at + part.size))
		count++;
	return count;
}

static flow_status
replace_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)n;
	flow_slice text = flow_value_slice(arguments[0]), part = flow_value_slice(arguments[1]);
	flow_slice other = flow_value_slice(arguments[2]);
	uint64_t count = part.size == 0 ? 0 : occurrences(text, part), from = 0, size = 0;
	*result = *arguments[0];
	if (count == 0)
		return FLOW_OK;
	flow_status status;
	char *copy = make_text(f, text.size - count * part.size + count * other.size, &status);
	if (copy == NULL)
		return status;
	while (from <= text.size) {
		uint64_t at = text_find(text, part, from), end = at == UINT64_MAX ? text.size : at;
		memcpy(copy + size, text.data + from, end - from);
		size += end - from;
		if (at == UINT64_MAX)
			break;
		if (other.size != 0)
			memcpy(copy + size, other.data, other.size);
		size += other.size;
		from = at + part.size;
	}
	*result = string_of(copy, size);
	return FLOW_OK;
}

static flow_status
split_part_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)n;
	flow_slice text = flow_value_slice(arguments[0]), mark = flow_value_slice(arguments[1]);
	int64_t number = arguments[2]->as.int64;
	if (number == 0)
		return row_fail(f, FLOW_E_ARGUMENT, "parts are numbered from 1, or from -1 at the end");
	int64_t parts = mark.size == 0 ? 1 : (int64_t)occurrences(text, mark) + 1;
	int64_t wanted = number > 0 ? number : parts + number + 1;
	uint64_t from = 0;
	*result = string_of(text.data, 0);
	if (wanted < 1 || wanted > parts)
		return FLOW_OK;
	for (int64_t i = 1; i < wanted; i++)
		from = text_find(text, mark, from) + mark.size;
	uint64_t end = mark.size == 0 ? UINT64_MAX : text_find(text, mark, from);
	*result = string_of(text.data + from, (end == UINT64_MAX ? text.size : end) - from);
	return FLOW_OK;
}

static flow_status
concat_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	uint64_t size = 0;
	flow_status status;
	for (uint32_t i = 0; i < n->child_count; i++)
		size += arguments[i]->type == FLOW_NULL ? 0 : arguments[i]->size;
	char *text = make_text(f, size, &status);
	if (text == NULL)
		return status;
	size = 0;
	for (uint32_t i = 0; i < n->child_count; i++) {
		if (arguments[i]->type == FLOW_NULL || arguments[i]->size == 0)
			continue;
		memcpy(text + size, arguments[i]->as.text, arguments[i]->size);
		size += arguments[i]->size;
	}
	*result = string_of(text, size);
	return FLOW_OK;
}

/* `count` characters of `fill`, again and again. */
static char *
write_fill(char *to, flow_slice fill, uint64_t count)
{
	uint64_t at = 0;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t step = text_step(flow_slice_make(fill.data + at, fill.size - at));
		memcpy(to, fill.data + at, step);
		to += step;
		at = at + step >= fill.size ? 0 : at + step;
	}
	return to;
}

static flow_status
pad_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	flow_slice text = flow_value_slice(arguments[0]);
	flow_slice fill = n->child_count == 3 ? flow_value_slice(arguments[2]) : flow_slice_of(" ");
	int64_t have = (int64_t)text_characters(text), wanted = arguments[1]->as.int64;
	if (wanted <= have || fill.size == 0) {
		*result = cut(text, 0, wanted < have ? wanted : have);
		return FLOW_OK;
	}
	flow_status status;
	if (wanted > STRING_LIMIT)
		return row_fail(f, FLOW_E_LIMIT, "the result has more than %u bytes", STRING_LIMIT);
	uint64_t missing = (uint64_t)(wanted - have);
	char *copy = make_text(f, text.size + 4 * missing, &status), *end = copy;
	if (copy == NULL)
		return status;
	if (n->function->parameter == 0)
		end = write_fill(end, fill, missing);
	if (text.size != 0)
		memcpy(end, text.data, text.size);
	end += text.size;
	if (n->function->parameter != 0)
		end = write_fill(end, fill, missing);
	*result = string_of(copy, (uint64_t)(end - copy));
	return FLOW_OK;
}

/* a || b: two strings, or two bytes. */
static flow_status
join_row(frame *f, const flow_value *a, const flow_value *b, flow_value *result)
{
	if (a->type != b->type || (a->type != FLOW_STRING && a->type != FLOW_BYTES))
		return row_fail(f, FLOW_E_TYPE, "|| takes two strings or two bytes, not %s and %s", cell_type_name(a->type),
						cell_type_name(b->type));
	flow_status status;
	char *text = make_text(f, (uint64_t)a->size + b->size, &status);
	if (text == NULL)
		return status;
	if (a->size != 0)
		memcpy(text, a->as.text, a->size);
	if (b->size != 0)
		memcpy(text + a->size, b->as.text, b->size);
	*result = flow_text(a->type, text, a->size + b->size);
	return FLOW_OK;
}

flow_status
concat_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand left, right;
	flow_status status = operand_read(n->children[0], f, s, target, &left);
	if (status == FLOW_OK)
		status = operand_read(n->children[1], f, s, target + 1, &right);
	flow_value *to = frame_register(f, target);
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *a = &left.cells[slot & left.mask], *b = &right.cells[slot & right.mask];
		flow_value result = flow_null();
		flow_status row_status = FLOW_OK;
		if (a->type != FLOW_NULL && b->type != FLOW_NULL)
			row_status = join_row(f, a, b, &result);
		if (row_status != FLOW_OK)
			status = slot_fail(f, n, slot, row_status, "%s", f->message == NULL ? "failed" : f->message);
		to[slot] = row_status == FLOW_OK ? result : flow_null();
	}
	return status;
}

/* Rows of the table below. */
#define TEXT(function_name, text, description, sample, argument_classes, least, most, kind, function_row, number)      \
	{                                                                                                                  \
		.name = function_name, .group = "Strings", .signature = text, .doc = description, .example = sample,           \
		.classes = argument_classes, .minimum = least, .maximum = most, .result = kind, .row = function_row,           \
		.parameter = number                                                                                            \
	}

const function text_functions[] = {
	TEXT("length", "length(s) -> int64", "Characters of a string, bytes of a bytes value.", "length('Grüße') = 5", "x",
		 1, 1, FLOW_KIND_INT64, length_row, 0),
	TEXT("byte_length", "byte_length(s) -> int64", "Bytes of a string or bytes value.", "byte_length('Grüße') = 7", "x",
		 1, 1, FLOW_KIND_INT64, length_row, 1),
	TEXT("lower", "lower(s) -> string", "ASCII letters in lower case; all others stay as they are.",
		 "lower('ÄBc') = 'Äbc'", "s", 1, 1, FLOW_KIND_STRING, case_row, 0),
	TEXT("upper", "upper(s) -> string", "ASCII letters in upper case; all others stay as they are.",
		 "upper('abc') = 'ABC'", "s", 1, 1, FLOW_KIND_STRING, case_row, 1),
	TEXT("trim", "trim(s [, characters]) -> string", "Without blanks, or without any of the characters, at both ends.",
		 "trim('xxaxx', 'x') = 'a'", "ss", 1, 2, FLOW_KIND_STRING, trim_row, 3),
	TEXT("ltrim", "ltrim(s [, characters]) -> string", "The same at the start.", "ltrim('  a ') = 'a '", "ss", 1, 2,
		 FLOW_KIND_STRING, trim_row, 1),
	TEXT("rtrim", "rtrim(s [, characters]) -> string", "The same at the end.", "rtrim(' a  ') = ' a'", "ss", 1, 2,
		 FLOW_KIND_STRING, trim_row, 2),
	TEXT("substr", "substr(s, start [, length]) -> string",
		 "The characters from `start`, counted from 1. Positions before 1 count but hold nothing. A negative length "
		 "fails.",
		 "substr('abcdef', 2, 3) = 'bcd'", "sii", 2, 3, FLOW_KIND_STRING, substr_row, 0),
	TEXT("substring", "substring(s, start [, length]) -> string", "The same as substr.", "substring('abc', 2) = 'bc'",
		 "sii", 2, 3, FLOW_KIND_STRING, substr_row, 0),
	TEXT("position", "position(part in s) -> int64",
		 "Position of the first character of `part` in s, from 1; 0: not there. position(part, s) is the same.",
		 "position('c' in 'abc') = 3", "ss", 2, 2, FLOW_KIND_INT64, position_row, 0),
	TEXT("replace", "replace(s, part, other) -> string", "Every `part` in s replaced; an empty part is nowhere.",
		 "replace('a-b-c', '-', '') = 'abc'", "sss", 3, 3, FLOW_KIND_STRING, replace_row, 0),
	TEXT("split_part", "split_part(s, mark, number) -> string",
		 "The part with the number, from 1, or from -1 at the end, where s is split at each mark; '' if there is none.",
		 "split_part('a,b,c', ',', -1) = 'c'", "ssi", 3, 3, FLOW_KIND_STRING, split_part_row, 0),
	TEXT("starts_with", "starts_with(s, part) -> bool", "Does s start with part?", "starts_with('abc', 'ab') = true",
		 "ss", 2, 2, FLOW_KIND_BOOL, has_row, 0),
	TEXT("ends_with", "ends_with(s, part) -> bool", "Does s end with part?", "ends_with('abc', 'ab') = false", "ss", 2,
		 2, FLOW_KIND_BOOL, has_row, 1),
	TEXT("contains", "contains(s, part) -> bool", "Does part stand in s?", "contains('abc', 'b') = true", "ss", 2, 2,
		 FLOW_KIND_BOOL, has_row, 2),
	{ .name = "concat",
	  .group = "Strings",
	  .signature = "concat(x, ...) -> string",
	  .doc = "The texts of all arguments, as cast gives them; nulls are left out.",
	  .example = "concat('a', null, 1) = 'a1'",
	  .classes = "o",
	  .minimum = 1,
	  .maximum = ARGUMENT_LIMIT,
	  .result = FLOW_KIND_STRING,
	  .takes_null = 1,
	  .row = concat_row },
	TEXT("left", "left(s, n) -> string", "The first n characters; negative: all but the last -n.",
		 "left('abc', -1) = 'ab'", "si", 2, 2, FLOW_KIND_STRING, side_row, 0),
	TEXT("right", "right(s, n) -> string", "The last n characters; negative: all but the first -n.",
		 "right('abc', 2) = 'bc'", "si", 2, 2, FLOW_KIND_STRING, side_row, 1),
	TEXT("lpad", "lpad(s, n [, fill]) -> string",
		 "Filled up to n characters at the start, with blanks or with `fill`; cut to n if s is longer.",
		 "lpad('7', 3, '0') = '007'", "sis", 2, 3, FLOW_KIND_STRING, pad_row, 0),
	TEXT("rpad", "rpad(s, n [, fill]) -> string", "The same at the end.", "rpad('7', 3, '-') = '7--'", "sis", 2, 3,
		 FLOW_KIND_STRING, pad_row, 1),
	{ .name = NULL },
};
