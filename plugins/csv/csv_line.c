/* Cuts one record byte by byte: for header lines, where speed does not matter but the fields must outlive the window. */
#include <stdlib.h>

#include "csv.h"

struct cutter {
	const csv_format *format;
	flow_slice data;
	uint64_t at;
	char *to;
	csv_line *line;
	uint64_t literal;       /* behind the last escaped character, or quote: blanks in front of it stay */
	const char *literal_to; /* .. in what was copied */
};

static int
add_field(struct cutter *c, char *start, int null)
{
	if (c->line->count == c->line->capacity) {
		c->line->capacity = c->line->capacity == 0 ? 64 : c->line->capacity * 2;
		flow_slice *more = (flow_slice *)realloc(c->line->fields, c->line->capacity * sizeof(*more));
		if (more != NULL)
			c->line->fields = more;
		uint8_t *flags = (uint8_t *)realloc(c->line->null, c->line->capacity);
		if (flags != NULL)
			c->line->null = flags;
		if (more == NULL || flags == NULL)
			return CSV_LINE_MEMORY;
	}
	c->line->null[c->line->count] = (uint8_t)null;
	c->line->fields[c->line->count++] = flow_slice_make(start, (uint64_t)(c->to - start));
	return CSV_LINE_WHOLE;
}

/* Copies a quoted field from behind its opening quote; stands behind the closing one afterwards. */
static int
copy_quoted(struct cutter *c, int final)
{
	const csv_format *f = c->format;
	while (c->at < c->data.size) {
		char byte = c->data.data[c->at++];
		if (f->escape != 0 && byte == f->escape && c->at < c->data.size) {
			byte = (char)f->unescaped[(unsigned char)c->data.data[c->at++]];
		} else if (byte == f->quote) {
			c->literal = c->at;
			c->literal_to = c->to;
			if (c->at == c->data.size)
				return final ? CSV_LINE_WHOLE : CSV_LINE_CUT;
			if (c->data.data[c->at] != f->quote)
				return CSV_LINE_WHOLE;
			c->at++;
		}
		c->line->lines += byte == '\n';
		*c->to++ = byte;
	}
	return final ? CSV_LINE_OPEN : CSV_LINE_CUT;
}

static void
copy_plain(struct cutter *c)
{
	const csv_format *f = c->format;
	for (; c->at < c->data.size; c->at++) {
		char byte = c->data.data[c->at];
		if (f->escape != 0 && byte == f->escape && c->at + 1 < c->data.size) {
			*c->to++ = (char)f->unescaped[(unsigned char)c->data.data[++c->at]];
			c->literal = c->at + 1;
			c->literal_to = c->to;
			continue;
		}
		if (byte == f->delimiter || byte == '\n')
			return;
		*c->to++ = byte;
	}
}

/* One field; *last is set when the record ends behind it. */
static int
cut_field(struct cutter *c, int final, int *last)
{
	char *start = c->to;
	while (c->format->trim && c->at < c->data.size && csv_is_blank(c->format, c->data.data[c->at]))
		c->at++;
	uint64_t begin = c->at;
	c->literal = begin;
	c->literal_to = start;
	int quoted = c->at < c->data.size && c->data.data[c->at] == c->format->quote;
	if (quoted) {
		c->at++;
		int result = copy_quoted(c, final);
		if (result != CSV_LINE_WHOLE)
			return result;
	}
	copy_plain(c);
	*last = c->at >= c->data.size || c->data.data[c->at] == '\n';
	if (c->at >= c->data.size && !final)
		return CSV_LINE_CUT;
	if (*last && c->to > start && c->to[-1] == '\r' && c->data.data[c->at - 1] == '\r')
		c->to--;
	uint64_t end = c->at;
	end -= *last && end != begin && c->data.data[end - 1] == '\r';
	while (c->format->trim && end > c->literal && csv_is_blank(c->format, c->data.data[end - 1]))
		end--;
	while (c->format->trim && c->to > c->literal_to && csv_is_blank(c->format, c->to[-1]))
		c->to--;
	return add_field(c, start, !quoted && csv_is_token_text(c->format, c->data.data + begin, end - begin));
}

int
csv_line_cut(const csv_format *format, flow_slice data, int final, csv_line *line)
{
	struct cutter c = { .format = format, .data = data, .line = line };
	if (line->room < data.size + 1) {
		csv_line_release(line);
		line->text = (char *)malloc(data.size + 1);
		if (line->text == NULL)
			return CSV_LINE_MEMORY;
		line->room = data.size + 1;
	}
	line->count = 0;
	line->lines = 0;
	c.to = line->text;
	int last = 0;
	while (!last) {
		int result = cut_field(&c, final, &last);
		if (result != CSV_LINE_WHOLE) {
			csv_line_release(line);
			return result;
		}
		if (!last)
			c.at++;
	}
	if (c.at < data.size) {
		c.at++;
		line->lines++;
	}
	line->size = c.at;
	return CSV_LINE_WHOLE;
}

void
csv_line_release(csv_line *line)
{
	free(line->fields);
	free(line->null);
	free(line->text);
	memset(line, 0, sizeof(*line));
}

int
csv_ends_in_returns(const csv_format *format, flow_slice data)
{
	int quoted = 0;
	int found = 0;
	for (uint64_t i = 0; i < data.size; i++) {
		char c = data.data[i];
		if (c == format->quote)
			quoted = !quoted;
		if (c == '\n')
			return 0;
		found |= c == '\r' && !quoted && i + 1 < data.size && data.data[i + 1] != '\n';
	}
	return found;
}

uint64_t
csv_skip_to_header(const csv_format *format, flow_slice data, uint64_t *lines)
{
	uint64_t at = data.size >= 3 && memcmp(data.data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
	for (;;) {
		const char *start = data.data + at;
		const char *feed = at == data.size ? NULL : (const char *)memchr(start, '\n', data.size - at);
		if (feed == NULL)
			return at;
		int empty = feed == start || (feed == start + 1 && *start == '\r');
		if (!empty && (format->comment == 0 || *start != format->comment))
			return at;
		at = (uint64_t)(feed - data.data) + 1;
		++*lines;
	}
}
