#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "flow_sdk/text.h"
#include "flow_sdk/time.h"

#define MESSAGE_MAX 4096
#define LINE_MAX_BYTES (6 * MESSAGE_MAX + 1024) /* every byte of a message escaped as \u00XX, and the rest */
#define WINDOW 10000000                         /* microseconds ... */
#define IN_WINDOW 10                            /* ... in which so many lines of one format are written */
#define REPEAT_SLOTS 64

/* How often a format was used in its current window. */
struct repeats {
	const char *format; /* its address; NULL: unused */
	char text[160];     /* of the last line that was shown, its beginning */
	uint32_t level;
	uint32_t seen;
	uint64_t held_back;
	int64_t since;
};

struct line {
	char text[LINE_MAX_BYTES];
	size_t size;
};

static atomic_uint current_level = FLOW_LOG_INFO;
static uint32_t current_format = LOG_FORMAT_AUTO;
static int current_descriptor = STDERR_FILENO;
static pthread_mutex_t repeats_lock = PTHREAD_MUTEX_INITIALIZER;
static struct repeats repeats[REPEAT_SLOTS];

static const char *const level_names[] = { "none", "error", "warn", "info", "debug", "trace" };
static const char *const format_names[] = { "auto", "text", "logfmt", "json" };

static uint32_t
settled_format(uint32_t format, int descriptor)
{
	if (format != LOG_FORMAT_AUTO)
		return format;
	return isatty(descriptor) ? LOG_FORMAT_TEXT : LOG_FORMAT_LOGFMT;
}

void
log_configure(uint32_t level, uint32_t format, int descriptor)
{
	current_format = settled_format(format, descriptor);
	current_descriptor = descriptor;
	atomic_store(&current_level, level);
}

uint32_t
log_level(void)
{
	return atomic_load_explicit(&current_level, memory_order_relaxed);
}

static int
index_of(const char *const *names, int first, int count, const char *name)
{
	for (int i = first; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

int
log_level_of_name(const char *name)
{
	return index_of(level_names, 1, (int)FLOW_COUNT(level_names), name);
}

int
log_format_of_name(const char *name)
{
	return index_of(format_names, 0, (int)FLOW_COUNT(format_names), name);
}

/* ---- lines ---- */

static void
put(struct line *line, const char *text, size_t size)
{
	size_t room = sizeof(line->text) - 1 - line->size; /* the last byte is for the line's end */
	size = size < room ? size : room;
	memcpy(line->text + line->size, text, size);
	line->size += size;
}

static void
put_text(struct line *line, const char *text)
{
	put(line, text, strlen(text));
}

/* Length of the UTF-8 sequence at `text`, which ends with a NUL; 0: there is none. */
static size_t
utf8_length(const char *text)
{
	unsigned char c = (unsigned char)text[0];
	size_t length = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
	return strnlen(text, length) == length && flow_utf8_check(text, length) == length ? length : 0;
}

/* Control characters never reach the log as they are: they would forge lines or steer the terminal. */
static void
put_escaped(struct line *line, const char *text, int quotes)
{
	char escaped[8];
	for (const char *at = text; *at != '\0';) {
		unsigned char c = (unsigned char)*at;
		size_t length = utf8_length(at);
		if (quotes && (c == '"' || c == '\\'))
			put(line, escaped, (size_t)snprintf(escaped, sizeof(escaped), "\\%c", c));
		else if (c == '\n')
			put_text(line, "\\n");
		else if (c < 0x20 || c == 0x7F)
			put(line, escaped, (size_t)snprintf(escaped, sizeof(escaped), "\\u%04x", c));
		else if (length == 0)
			put_text(line, "\xEF\xBF\xBD");
		else
			put(line, at, length);
		at += length == 0 ? 1 : length;
	}
}

static void
put_time(struct line *line)
{
	char text[FLOW_TIME_TEXT_MAX];
	flow_value now = flow_timestamp(clock_now() / 1000, FLOW_MILLISECONDS, FLOW_ZONED);
	put(line, text, flow_print_time(&now, text));
}

static void
make_text(struct line *line, uint32_t level, const char *component, const char *message)
{
	char name[8];
	put_time(line);
	put(line, name, (size_t)snprintf(name, sizeof(name), " %-5s ", level_names[level]));
	if (component != NULL) {
		put_escaped(line, component, 0);
		put_text(line, ": ");
	}
	put_escaped(line, message, 0);
}

static void
make_logfmt(struct line *line, uint32_t level, const char *component, const char *message)
{
	put_text(line, "time=");
	put_time(line);
	put_text(line, " level=");
	put_text(line, level_names[level]);
	if (component != NULL) {
		int plain = component[strcspn(component, " =\"\\\n\t")] == '\0';
		put_text(line, plain ? " component=" : " component=\"");
		put_escaped(line, component, 1);
		put_text(line, plain ? "" : "\"");
	}
	put_text(line, " message=\"");
	put_escaped(line, message, 1);
	put_text(line, "\"");
}

static void
make_json(struct line *line, uint32_t level, const char *component, const char *message)
{
	put_text(line, "{\"time\":\"");
	put_time(line);
	put_text(line, "\",\"level\":\"");
	put_text(line, level_names[level]);
	if (component != NULL) {
		put_text(line, "\",\"component\":\"");
		put_escaped(line, component, 1);
	}
	put_text(line, "\",\"message\":\"");
	put_escaped(line, message, 1);
	put_text(line, "\"}");
}

static void
write_line(uint32_t level, const char *component, const char *message)
{
	struct line line = { .size = 0 };
	uint32_t format = settled_format(current_format, current_descriptor);
	if (format == LOG_FORMAT_JSON)
		make_json(&line, level, component, message);
	else if (format == LOG_FORMAT_TEXT)
		make_text(&line, level, component, message);
	else
		make_logfmt(&line, level, component, message);
	line.text[line.size++] = '\n';
	for (size_t done = 0; done < line.size;) { /* one call writes it all, but for full pipes and signals */
		ssize_t written = write(current_descriptor, line.text + done, line.size - done);
		if (written <= 0 && errno != EINTR)
			return;
		done += written < 0 ? 0 : (size_t)written;
	}
}

/* ---- repeats ---- */

static void
start_window(struct repeats *slot, uint32_t level, const char *format, int64_t now)
{
	*slot = (struct repeats){ .format = format, .level = level, .since = now };
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a line that is logged has a format */
	size_t size = strnlen(format, sizeof(slot->text) - 1);
	memcpy(slot->text, format, size);
	slot->text[size] = '\0';
}

/* A line that was shown is what those that are held back are like: a format may be no more than "%s: %s". */
static void
remember_line(const char *format, const char *message)
{
	for (size_t i = 0; i < REPEAT_SLOTS; i++) {
		if (repeats[i].format != format || repeats[i].seen != IN_WINDOW)
			continue;
		size_t size = strnlen(message, sizeof(repeats[i].text) - 1);
		memcpy(repeats[i].text, message, size);
		repeats[i].text[size] = '\0';
		return;
	}
}

/* Counts a line; returns 0 if it is to be held back. Slots are few: a format that finds none is not limited. */
static int
count_repeat(uint32_t level, const char *format, int64_t now)
{
	struct repeats *slot = NULL;
	size_t start = (size_t)((uintptr_t)format >> 4) % REPEAT_SLOTS;
	for (size_t i = 0; i < 8 && slot == NULL; i++) {
		struct repeats *r = &repeats[(start + i) % REPEAT_SLOTS];
		if (r->format == NULL || r->format == format || (now - r->since >= WINDOW && r->held_back == 0))
			slot = r;
	}
	if (slot == NULL)
		return 1;
	if (slot->format != format || now - slot->since >= WINDOW)
		start_window(slot, level, format, now);
	if (slot->seen++ < IN_WINDOW)
		return 1;
	slot->held_back++;
	return 0;
}

/* Takes one finished window in which lines were held back; returns 0 if there is none. */
static int
take_held_back(int64_t now, struct repeats *taken)
{
	for (size_t i = 0; i < REPEAT_SLOTS; i++) {
		if (repeats[i].held_back != 0 && now - repeats[i].since >= WINDOW) {
			*taken = repeats[i];
			repeats[i] = (struct repeats){ .format = NULL };
			return 1;
		}
	}
	return 0;
}

static void
report_held_back(int64_t now)
{
	char message[256];
	struct repeats taken;
	for (;;) {
		pthread_mutex_lock(&repeats_lock);
		int found = take_held_back(now, &taken);
		pthread_mutex_unlock(&repeats_lock);
		if (!found)
			return;
		snprintf(message, sizeof(message), "%llu more lines like this one were held back: %s",
				 (unsigned long long)taken.held_back, taken.text);
		write_line(taken.level, NULL, message);
	}
}

void
log_write_list(uint32_t level, const char *component, const char *format, va_list arguments)
{
	if (level == 0 || level > log_level() || level > FLOW_LOG_TRACE)
		return;
	int64_t now = clock_monotonic();
	report_held_back(now);
	pthread_mutex_lock(&repeats_lock);
	int wanted = count_repeat(level, format, now);
	pthread_mutex_unlock(&repeats_lock);
	if (!wanted)
		return;
	char message[MESSAGE_MAX];
	int size = vsnprintf(message, sizeof(message), format, arguments);
	if (size >= (int)sizeof(message))
		memcpy(message + sizeof(message) - 4, "...", 4);
	pthread_mutex_lock(&repeats_lock);
	remember_line(format, size < 0 ? format : message);
	pthread_mutex_unlock(&repeats_lock);
	write_line(level, component, size < 0 ? format : message);
}

void
log_write(uint32_t level, const char *component, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	log_write_list(level, component, format, arguments);
	va_end(arguments);
}
