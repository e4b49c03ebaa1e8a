#include "expr/text.h"

/* Length of the valid sequence at `p` (with `left` bytes), 0: not valid. */
static unsigned
sequence_length(const unsigned char *p, uint64_t left)
{
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xC2 || p[0] > 0xF4)
		return 0;
	unsigned length = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
	if (length > left)
		return 0;
	for (unsigned i = 1; i < length; i++)
		if ((p[i] & 0xC0) != 0x80)
			return 0;
	if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) ||
		(p[0] == 0xF4 && p[1] > 0x8F))
		return 0;
	return length;
}

uint64_t
text_valid_prefix(flow_slice text)
{
	const unsigned char *bytes = (const unsigned char *)text.data;
	uint64_t at = 0;
	while (at < text.size) {
		unsigned length = sequence_length(bytes + at, text.size - at);
		if (length == 0)
			break;
		at += length;
	}
	return at;
}

static int
is_lead(char byte)
{
	return ((unsigned char)byte & 0xC0) != 0x80;
}

uint64_t
text_characters(flow_slice text)
{
	uint64_t count = 0;
	for (uint64_t i = 0; i < text.size; i++)
		count += (uint64_t)is_lead(text.data[i]);
	return count;
}

uint64_t
text_step(flow_slice text)
{
	uint64_t step = 1;
	while (step < text.size && !is_lead(text.data[step]))
		step++;
	return step;
}

uint64_t
text_offset(flow_slice text, uint64_t character)
{
	uint64_t at = 0;
	while (at < text.size && character > 0) {
		at += text_step(flow_slice_make(text.data + at, text.size - at));
		character--;
	}
	return at;
}

uint64_t
text_find(flow_slice text, flow_slice needle, uint64_t from)
{
	if (needle.size == 0)
		return from <= text.size ? from : UINT64_MAX;
	if (from >= text.size)
		return UINT64_MAX;
	const char *found = memmem(text.data + from, text.size - from, needle.data, needle.size);
	return found == NULL ? UINT64_MAX : (uint64_t)(found - text.data);
}

static int
starts_with(flow_slice text, uint64_t at, flow_slice what)
{
	return what.size != 0 && text.size - at >= what.size && memcmp(text.data + at, what.data, what.size) == 0;
}

int
like_pattern_valid(flow_slice pattern, flow_slice escape)
{
	for (uint64_t at = 0; at < pattern.size;) {
		if (!starts_with(pattern, at, escape)) {
			at++;
			continue;
		}
		at += escape.size;
		if (at >= pattern.size ||
			(pattern.data[at] != '%' && pattern.data[at] != '_' && !starts_with(pattern, at, escape)))
			return 0;
		at += starts_with(pattern, at, escape) ? escape.size : 1;
	}
	return 1;
}

/* One element of the pattern at *at against the text at *position: 1 both moved on, 0 no match. */
static int
match_one(flow_slice text, uint64_t *position, flow_slice pattern, uint64_t *at, flow_slice escape)
{
	if (*position >= text.size)
		return 0;
	uint64_t next = *at;
	int escaped = starts_with(pattern, next, escape);
	if (escaped)
		next += escape.size;
	if (!escaped && pattern.data[next] == '_') {
		*position += text_step(flow_slice_make(text.data + *position, text.size - *position));
		*at = next + 1;
		return 1;
	}
	if (next >= pattern.size || text.data[*position] != pattern.data[next])
		return 0;
	*position += 1;
	*at = next + 1;
	return 1;
}

/* Greedy with one place to go back to (the last %): time is at most the product of both lengths. */
int
like_matches(flow_slice text, flow_slice pattern, flow_slice escape)
{
	uint64_t position = 0, at = 0, star = UINT64_MAX, star_position = 0;
	while (position < text.size || at < pattern.size) {
		int percent = at < pattern.size && pattern.data[at] == '%' && !starts_with(pattern, at, escape);
		if (percent) {
			star = ++at;
			star_position = position;
			continue;
		}
		if (at < pattern.size && match_one(text, &position, pattern, &at, escape))
			continue;
		if (star == UINT64_MAX || star_position >= text.size)
			return 0;
		star_position += text_step(flow_slice_make(text.data + star_position, text.size - star_position));
		position = star_position;
		at = star;
	}
	return 1;
}
