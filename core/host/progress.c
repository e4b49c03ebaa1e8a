#include "host/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "host/report.h"

#define TERMINAL_PERIOD_MS 200
#define LINE_PERIOD_MS 5000
#define STATUS_PERIOD_MS 1000

struct progress {
	runtime *run;
	const plan *plan;
	const char *status_file;
	int terminal;
	int quiet;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int ending;
};

const char *
progress_count(uint64_t number, char *buffer)
{
	char plain[24];
	int size = snprintf(plain, sizeof(plain), "%llu", (unsigned long long)number), used = 0;
	for (int i = 0; i < size; i++) {
		if (i > 0 && (size - i) % 3 == 0)
			buffer[used++] = ',';
		buffer[used++] = plain[i];
	}
	buffer[used] = '\0';
	return buffer;
}

static const char *
with_prefix(double number, const char *unit, char *buffer)
{
	static const char prefixes[] = " kMGT";
	size_t i = 0;
	for (; number >= 999.5 && i < 4; i++)
		number /= 1000;
	if (i == 0)
		snprintf(buffer, 32, "%.0f%s%s", number, unit[0] == '\0' ? "" : " ", unit);
	else
		snprintf(buffer, 32, number < 99.95 ? "%.1f %c%s" : "%.0f %c%s", number, prefixes[i], unit);
	return buffer;
}

const char *
progress_rate(double per_second, char *buffer)
{
	return with_prefix(per_second, "", buffer);
}

const char *
progress_bytes(double bytes, char *buffer)
{
	return with_prefix(bytes, "B", buffer);
}

const char *
progress_duration(int64_t microseconds, char *buffer)
{
	long long seconds = microseconds / 1000000;
	if (seconds < 60)
		snprintf(buffer, 32, "%.2f s", (double)microseconds / 1e6);
	else if (seconds < 3600)
		snprintf(buffer, 32, "%lldm %llds", seconds / 60, seconds % 60);
	else
		snprintf(buffer, 32, "%lldh %lldm", seconds / 3600, seconds / 60 % 60);
	return buffer;
}

static void
print_line(progress *p, const runtime_status_report *report)
{
	char count[32], rate[32], left[32], text[160];
	double seconds = report->elapsed > 0 ? (double)report->elapsed / 1e6 : 1e-6;
	int used =
		snprintf(text, sizeof(text), "%s: %s records in, %s/s", p->plan->job, progress_count(report->records_in, count),
				 progress_rate((double)report->records_in / seconds, rate));
	if (report->remaining_bytes > 0 && report->bytes_in > 0) {
		double all = (double)report->bytes_in + (double)report->remaining_bytes;
		double rest = seconds * (double)report->remaining_bytes / (double)report->bytes_in;
		used += snprintf(text + used, sizeof(text) - (size_t)used, ", %.0f%%, %s left",
						 100.0 * (double)report->bytes_in / all, progress_duration((int64_t)(rest * 1e6), left));
	}
	if (report->rejected != 0)
		snprintf(text + used, sizeof(text) - (size_t)used, ", %llu rejected", (unsigned long long)report->rejected);
	if (p->terminal)
		fprintf(stderr, "\r\033[K%s", text);
	else
		log_info(NULL, "%s", text);
}

/* Written beside it and renamed, so that a reader never sees half. */
static void
write_status_file(progress *p, const runtime_status_report *report, uint32_t outcome)
{
	char temporary[4096];
	json_t *json = report_json(p->plan, report, outcome);
	char *text = json == NULL ? NULL : json_dumps(json, JSON_INDENT(2));
	json_decref(json);
	if (text == NULL || snprintf(temporary, sizeof(temporary), "%s.part", p->status_file) >= (int)sizeof(temporary)) {
		free(text);
		return;
	}
	int descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t size = strlen(text);
	int good = descriptor >= 0 && write(descriptor, text, size) == (ssize_t)size && write(descriptor, "\n", 1) == 1;
	if (descriptor >= 0)
		close(descriptor);
	if (!good || rename(temporary, p->status_file) != 0)
		log_warn(NULL, "%s: cannot write the status file: %s", p->status_file, strerror(errno));
	free(text);
}

/* Waits; 1 when it is time to end. */
static int
wait_for_end(progress *p, int64_t milliseconds)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += milliseconds / 1000;
	until.tv_nsec += milliseconds % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&p->lock);
	while (!p->ending && pthread_cond_timedwait(&p->changed, &p->lock, &until) != ETIMEDOUT)
		;
	int ending = p->ending;
	pthread_mutex_unlock(&p->lock);
	return ending;
}

static void *
follow(void *opaque)
{
	progress *p = opaque;
	int64_t period = p->terminal ? TERMINAL_PERIOD_MS : STATUS_PERIOD_MS;
	int64_t since_status = STATUS_PERIOD_MS, since_line = 0;
	if (p->status_file != NULL) { /* it is there as soon as the job runs */
		runtime_status_report first;
		runtime_status(p->run, &first);
		write_status_file(p, &first, 0);
		since_status = 0;
	}
	while (!wait_for_end(p, period)) {
		runtime_status_report report;
		runtime_status(p->run, &report);
		since_status += period;
		since_line += period;
		if (!p->quiet && since_line >= (p->terminal ? TERMINAL_PERIOD_MS : LINE_PERIOD_MS)) {
			print_line(p, &report);
			since_line = 0;
		}
		if (p->status_file != NULL && since_status >= STATUS_PERIOD_MS) {
			write_status_file(p, &report, 0);
			since_status = 0;
		}
	}
	return NULL;
}

progress *
progress_start(runtime *run, const plan *of, const char *status_file, int quiet)
{
	progress *p = memory_allocate_zeroed(sizeof(*p));
	if (p == NULL)
		return NULL;
	p->run = run;
	p->plan = of;
	p->status_file = status_file;
	p->quiet = quiet;
	p->terminal = !quiet && isatty(STDERR_FILENO);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	if (pthread_create(&p->thread, NULL, follow, p) == 0)
		return p;
	memory_release(p);
	return NULL;
}

void
progress_stop(progress *p)
{
	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->ending = 1;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	if (p->terminal)
		fprintf(stderr, "\r\033[K");
	if (p->status_file != NULL) {
		runtime_status_report report;
		runtime_status(p->run, &report);
		write_status_file(p, &report, report.state >= 10 ? report.state - 10 : 0);
	}
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->changed);
	memory_release(p);
}
