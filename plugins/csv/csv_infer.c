/*
 * Types of columns from the first rows: of each column the types that every one of its values has so far, at the end the narrowest.
 *
 * A type is taken only where reading and writing the value gives it back: 007 stays text, and so does +5.
 */
#include <stdio.h>
#include <stdlib.h>

#include "csv.h"
#include "flow_sdk/number.h"
#include "flow_sdk/text.h"
#include "flow_sdk/time.h"

#define INTEGER 1u
#define DECIMAL 2u
#define FLOAT 4u
#define BOOL 8u
#define DATE 16u
#define INSTANT 32u /* a timestamp with a zone */
#define LOCAL 64u
#define TIME 128u
#define UUID 256u
#define EXACT_DIGITS 15 /* a double holds so many digits */

struct column {
	uint32_t kinds;
	int seen; /* a value that is not null */
	int nanoseconds;
};

static int
all_digits(const char *text, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		if (text[i] < '0' || text[i] > '9')
			return 0;
	return size != 0;
}

/* digits [ . digits ] [ e [sign] digits ], without zeros in front. */
static uint32_t
number_kinds(flow_slice text)
{
	int negative = text.size != 0 && text.data[0] == '-';
	const char *at = text.data + negative;
	const char *end = text.data + text.size;
	const char *stop = at;
	while (stop < end && *stop >= '0' && *stop <= '9')
		stop++;
	uint64_t whole = (uint64_t)(stop - at);
	if (whole == 0 || (whole > 1 && *at == '0'))
		return 0;
	int64_t integer;
	if (stop == end) {
		if (negative && whole == 1 && *at == '0')
			return DECIMAL | FLOAT; /* -0 */
		if (flow_parse_int64(text, &integer) != FLOW_OK)
			return whole <= FLOW_DECIMAL_MAX_DIGITS ? DECIMAL : 0;
		return INTEGER | DECIMAL | (whole <= EXACT_DIGITS ? FLOAT : 0);
	}
	const char *behind = stop;
	if (*stop == '.')
		for (behind = stop + 1; behind < end && *behind >= '0' && *behind <= '9'; behind++)
			;
	uint64_t fraction = behind == stop ? 0 : (uint64_t)(behind - stop) - 1;
	if (behind != stop && fraction == 0)
		return 0;
	uint32_t kinds = whole + fraction <= EXACT_DIGITS ? FLOAT : 0;
	if (behind == end)
		return kinds | (whole + fraction <= FLOW_DECIMAL_MAX_DIGITS ? DECIMAL : 0);
	double number;
	if ((*behind != 'e' && *behind != 'E') || flow_parse_float64(text, 0, &number) != FLOW_OK)
		return 0;
	return kinds;
}

static uint32_t
time_kinds(flow_slice text, struct column *column)
{
	flow_value value;
	if (text.size < 8 || text.data[0] < '0' || text.data[0] > '9')
		return 0;
	if (flow_parse_date(text, &value) == FLOW_OK)
		return DATE;
	uint32_t kind = flow_parse_time(text, FLOW_NANOSECONDS, &value) == FLOW_OK           ? TIME
					: flow_parse_timestamp(text, FLOW_NANOSECONDS, 0, &value) == FLOW_OK ? LOCAL
					: flow_parse_timestamp(text, FLOW_NANOSECONDS, 1, &value) == FLOW_OK ? INSTANT
																						 : 0;
	column->nanoseconds |= kind != 0 && value.as.int64 % 1000 != 0;
	if (kind != 0)
		return kind;
	/* years that nanoseconds do not reach */
	if (flow_parse_timestamp(text, FLOW_MICROSECONDS, 0, &value) == FLOW_OK)
		return LOCAL;
	return flow_parse_timestamp(text, FLOW_MICROSECONDS, 1, &value) == FLOW_OK ? INSTANT : 0;
}

static int
is_uuid(flow_slice text)
{
	char bytes[16];
	for (uint64_t i = 0; i < text.size; i++)
		if (text.data[i] >= 'A' && text.data[i] <= 'F')
			return 0;
	return flow_parse_uuid(text, bytes) == FLOW_OK;
}

static uint32_t
kinds_of(const csv_format *format, flow_slice text, struct column *column)
{
	char plain[256 + 16];
	if (text.size == 0 || text.size > 256)
		return text.size > 256 && text.size <= FLOW_DECIMAL_MAX_DIGITS && all_digits(text.data, text.size) &&
					   text.data[0] != '0'
				   ? DECIMAL
				   : 0;
	if (flow_slice_is(text, "true") || flow_slice_is(text, "false"))
		return BOOL;
	int64_t size = csv_plain_number(format, text, plain);
	uint32_t kinds = size < 0 ? 0 : number_kinds(flow_slice_make(plain, (uint64_t)size));
	if (kinds != 0)
		return kinds;
	return is_uuid(text) ? UUID : time_kinds(text, column);
}

static const char *
narrowest(const csv_format *format, const struct column *c)
{
	if (!c->seen || c->kinds == 0)
		return "string";
	if ((c->kinds & BOOL) != 0)
		return "bool";
	if ((c->kinds & INTEGER) != 0)
		return "int64";
	if ((c->kinds & FLOAT) != 0 && (format->infer == CSV_INFER_FLOAT || (c->kinds & DECIMAL) == 0))
		return "float64";
	if ((c->kinds & DECIMAL) != 0)
		return "decimal";
	if ((c->kinds & DATE) != 0)
		return "date";
	if ((c->kinds & INSTANT) != 0)
		return c->nanoseconds ? "timestamp(ns)" : "timestamp";
	if ((c->kinds & LOCAL) != 0)
		return c->nanoseconds ? "local_timestamp(ns)" : "local_timestamp";
	if ((c->kinds & TIME) != 0)
		return c->nanoseconds ? "time(ns)" : "time";
	return "uuid";
}

/* --- rows ------------------------------------------------------------------------------------------------------------ */

static void
take_row(const csv_format *format, const csv_line *line, struct column *columns, uint32_t count)
{
	for (uint32_t i = 0; i < line->count && i < count; i++) {
		if (line->null[i])
			continue;
		columns[i].kinds &= kinds_of(format, line->fields[i], &columns[i]);
		columns[i].seen = 1;
	}
}

/* Lines between rows: as the reader passes over them. Returns the bytes; *open: such a line is not complete. */
static uint64_t
skip_lines(const csv_format *format, flow_slice rows, uint32_t count, int *open)
{
	uint64_t at = 0;
	while (at < rows.size) {
		const char *line = rows.data + at;
		const char *feed = (const char *)memchr(line, '\n', rows.size - at);
		uint64_t size = feed == NULL ? rows.size - at : (uint64_t)(feed - line);
		int empty = count != 1 && (size == 0 || (size == 1 && *line == '\r'));
		if (!empty && (format->comment == 0 || *line != format->comment))
			return at;
		*open = feed == NULL;
		at += size + (feed != NULL);
	}
	return at;
}

flow_status
csv_infer(const csv_format *format, flow_slice rows, int final, uint32_t count, char (*types)[CSV_TYPE_TEXT])
{
	struct column *columns = (struct column *)calloc(count, sizeof(*columns));
	if (columns == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		columns[i].kinds = ~0u;
	flow_status status = FLOW_OK;
	csv_line line = { 0 };
	for (int open = 0;;) {
		uint64_t skipped = skip_lines(format, rows, count, &open);
		rows = flow_slice_make(rows.data + skipped, rows.size - skipped);
		if (open || rows.size == 0)
			break;
		int cut = csv_line_cut(format, rows, final, &line);
		if (cut != CSV_LINE_WHOLE) {
			status = cut == CSV_LINE_MEMORY ? FLOW_E_MEMORY : FLOW_OK;
			break;
		}
		if (line.count == count || format->fill_short || format->cut_long)
			take_row(format, &line, columns, count);
		rows = flow_slice_make(rows.data + line.size, rows.size - line.size);
	}
	csv_line_release(&line);
	for (uint32_t i = 0; i < count; i++)
		snprintf(types[i], CSV_TYPE_TEXT, "%s", narrowest(format, &columns[i]));
	free(columns);
	return status;
}
