/*
 * base/log.h - one line per event, to stderr: text on a terminal, logfmt otherwise, or JSON.
 *
 * Repeats of the same format string beyond 10 in 10 s are held back and counted. Values of sensitive options never reach
 * this room. Threads: [any]; settings [main].
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>
#include <stdint.h>

#include "flow/host.h"

#define LOG_FORMAT_AUTO 0
#define LOG_FORMAT_TEXT 1
#define LOG_FORMAT_LOGFMT 2
#define LOG_FORMAT_JSON 3

void log_configure(uint32_t level, uint32_t format, int descriptor);
uint32_t log_level(void);
/* -1: no such name. "error", "warn", "info", "debug", "trace"; "auto", "text", "logfmt", "json". */
int log_level_of_name(const char *name);
int log_format_of_name(const char *name);

void log_write_list(uint32_t level, const char *component, const char *format, va_list arguments);
void log_write(uint32_t level, const char *component, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define log_error(...) log_write(FLOW_LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(FLOW_LOG_WARN, __VA_ARGS__)
#define log_info(...) log_write(FLOW_LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(FLOW_LOG_DEBUG, __VA_ARGS__)

#endif
