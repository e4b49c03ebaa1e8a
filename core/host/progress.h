/*
 * host/progress.h - what a run looks like from outside while it goes on: a line on a terminal, plain lines otherwise, and the status
 * file. A thread of its own reads runtime_status; the data path does not know of it.
 */
#ifndef HOST_PROGRESS_H
#define HOST_PROGRESS_H

#include "runtime/runtime.h"

typedef struct progress progress;

/* Starts the thread. `status_file` may be NULL; it is replaced atomically every second, and at the end. `quiet`: no lines. NULL:
 * out of memory, or no thread: the run goes on without. */
progress *progress_start(runtime *run, const plan *p, const char *status_file, int quiet);
/* Ends the thread, clears its line, writes the status file for the last time. NULL is allowed. */
void progress_stop(progress *p);

/* "1,234,567", "3.2 M", "12.3 MB", "1m 23s" for people; `buffer` has 32 bytes and is returned. */
const char *progress_count(uint64_t number, char *buffer);
const char *progress_rate(double per_second, char *buffer);
const char *progress_bytes(double bytes, char *buffer);
const char *progress_duration(int64_t microseconds, char *buffer);

#endif
