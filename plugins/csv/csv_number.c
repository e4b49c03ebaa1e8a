/* Numbers as people write them: another decimal mark, separators between thousands. */
#include "csv.h"

int
csv_is_local(const csv_format *format, const flow_schema *schema)
{
	switch (schema->kind) {
	case FLOW_KIND_FLOAT32:
	case FLOW_KIND_FLOAT64:
	case FLOW_KIND_DECIMAL:
		return format->decimal_mark != '.' || format->thousands.size != 0;
	case FLOW_KIND_INT32:
	case FLOW_KIND_INT64:
	case FLOW_KIND_UINT64:
		return format->thousands.size != 0;
	default:
		return 0;
	}
}

/* Groups of digits: the last one has three, those between two (as in India) or three, the first one up to three. */
struct groups {
	int count;  /* groups that are complete */
	int digits; /* in the one under way */
};

static int
end_group(struct groups *g, int last)
{
	int good = g->count == 0 && last ? 1
			   : g->count == 0       ? g->digits >= 1 && g->digits <= 3
			   : last                ? g->digits == 3
									 : g->digits == 2 || g->digits == 3;
	g->count++;
	g->digits = 0;
	return good;
}

int64_t
csv_plain_number(const csv_format *format, flow_slice text, char *plain)
{
	const flow_slice separator = format->thousands;
	const char *at = text.data;
	const char *end = text.data + text.size;
	char *to = plain;
	struct groups g = { 0 };
	if (at < end && (*at == '-' || *at == '+'))
		*to++ = *at++;
	while (at < end) {
		if (*at >= '0' && *at <= '9') {
			*to++ = *at++;
			g.digits++;
		} else if (separator.size != 0 && (uint64_t)(end - at) > separator.size &&
				   memcmp(at, separator.data, separator.size) == 0) {
			if (!end_group(&g, 0))
				return -1;
			at += separator.size;
		} else {
			break;
		}
	}
	if (!end_group(&g, 1))
		return -1;
	if (at < end && *at == format->decimal_mark) {
		*to++ = '.';
		at++;
	}
	for (; at < end; at++) { /* fraction and exponent, or words */
		if (*at == '.')
			return -1;
		*to++ = *at;
	}
	return to - plain;
}
