/* Ends of lines: which bytes they are, and which texts can stand before them. */
#include "basic.h"

static uint64_t
find_crlf(const char *text, uint64_t size, uint64_t *content)
{
	for (uint64_t at = 0; at < size;) {
		const char *feed = (const char *)memchr(text + at, '\n', size - at);
		if (feed == NULL)
			return 0;
		if (feed != text && feed[-1] == '\r') {
			*content = (uint64_t)(feed - text) - 1;
			return *content + 2;
		}
		at = (uint64_t)(feed - text) + 1;
	}
	return 0;
}

uint64_t
basic_find_line_end(int line_end, const char *text, uint64_t size, uint64_t *content)
{
	if (size == 0)
		return 0;
	if (line_end == BASIC_CRLF)
		return find_crlf(text, size, content);
	const char *end = (const char *)memchr(text, line_end == BASIC_NUL ? '\0' : '\n', size);
	if (end == NULL)
		return 0;
	uint64_t length = (uint64_t)(end - text);
	*content = length - (line_end == BASIC_ANY && length != 0 && end[-1] == '\r');
	return length + 1;
}

int
basic_is_one_line(int line_end, flow_slice text)
{
	uint64_t content;
	if (line_end == BASIC_ANY && text.size != 0 && text.data[text.size - 1] == '\r')
		return 0; /* it would lose that */
	return basic_find_line_end(line_end, text.data, text.size, &content) == 0;
}

flow_slice
basic_line_end_text(int line_end)
{
	static const flow_slice texts[] = { { "\n", 1 }, { "\r\n", 2 }, { "\n", 1 }, { "\0", 1 } };
	return texts[line_end];
}
