#include "state/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/io.h"

#define FORMAT_VERSION 1
#define FORMAT_LIMIT ((uint64_t)64 * 1024)
#define TITLE "flowd state directory"
#define SUM_LINE "sum %08x\n"
#define SUM_SIZE 13 /* bytes of it */

static flow_status
out_of_memory(flow_error *error)
{
	return error_set(error, FLOW_E_MEMORY, "state directory: out of memory");
}

static flow_status
make_paths(state_directory *d, const char *path, const char *job, flow_error *error)
{
	d->memory = arena_create();
	if (d->memory == NULL)
		return out_of_memory(error);
	d->path = arena_copy_text(d->memory, path);
	d->lock_path = arena_format(d->memory, "%s/LOCK", path);
	d->format_path = arena_format(d->memory, "%s/FORMAT", path);
	d->checkpoint_path = arena_format(d->memory, "%s/CHECKPOINT", path);
	d->store_path = arena_format(d->memory, "%s/store", path);
	d->tables_path = arena_format(d->memory, "%s/tables", path);
	d->job = arena_copy_text(d->memory, job == NULL ? "" : job);
	if (d->path == NULL || d->lock_path == NULL || d->format_path == NULL || d->checkpoint_path == NULL ||
		d->store_path == NULL || d->tables_path == NULL || d->job == NULL)
		return out_of_memory(error);
	if (strpbrk(d->job, "\r\n") != NULL)
		return error_set(error, FLOW_E_ARGUMENT, "state directory %s: the job's name has a line break", path);
	if (job == NULL && io_calls()->exists(d->format_path) == 0)
		return error_set(error, FLOW_E_NOT_FOUND, "state directory %s: there is no state of a job", path);
	d->any_job = job == NULL;
	return FLOW_OK;
}

/* The digits that the owner left in LOCK. */
static flow_status
fail_locked(state_directory *d, int file, flow_error *error)
{
	char text[32] = { 0 };
	ssize_t size = io_calls()->read(file, text, sizeof(text) - 1);
	long pid = size > 0 ? strtol(text, NULL, 10) : 0;
	if (pid > 0)
		return error_set(error, FLOW_E_LOCKED,
						 "state directory %s: process %ld is using it; end that one or choose another with --state-dir",
						 d->path, pid);
	return error_set(error, FLOW_E_LOCKED,
					 "state directory %s: another process is using it; end that one or choose another with --state-dir",
					 d->path);
}

static flow_status
take_lock(state_directory *d, flow_error *error)
{
	const io_ops *io = io_calls();
	int file = io->open(d->lock_path, O_RDWR | O_CREAT, 0644);
	if (file < 0)
		return error_set(error, status_of_errno(errno), "state directory %s: cannot open its LOCK: %s", d->path,
						 strerror(errno));
	flow_status status = FLOW_OK;
	if (io->lock(file) != 0)
		status = errno == EWOULDBLOCK ? fail_locked(d, file, error)
									  : error_set(error, status_of_errno(errno),
												  "state directory %s: cannot lock it: %s", d->path, strerror(errno));
	char text[32];
	int size = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	if (status == FLOW_OK && (io->truncate(file, 0) != 0 || io_write_all(file, text, (size_t)size) != 0))
		status = error_set(error, status_of_errno(errno), "state directory %s: cannot write its LOCK: %s", d->path,
						   strerror(errno));
	if (status == FLOW_OK)
		d->lock = file;
	else
		io->close(file);
	return status;
}

static flow_status
damaged(const state_directory *d, unsigned line, flow_error *error)
{
	return error_set(error, FLOW_E_CORRUPT,
					 "%s:%u: this is not what flowd wrote; restore the directory, or discard its state with --fresh",
					 d->format_path, line);
}

/* The value of line "name value"; NULL: it does not say that. Cuts the line out of *text. */
static const char *
take_line(char **text, const char *name)
{
	char *line = *text;
	char *end = strchr(line, '\n');
	size_t size = strlen(name);
	if (end == NULL || strncmp(line, name, size) != 0 || line[size] != ' ')
		return NULL;
	*end = '\0';
	*text = end + 1;
	return line + size + 1;
}

static int
digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int
parse_run_id(const char *text, uint8_t *run_id)
{
	if (strlen(text) != (size_t)RUN_ID_SIZE * 2)
		return 0;
	for (size_t i = 0; i < RUN_ID_SIZE; i++) {
		int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return 0;
		run_id[i] = (uint8_t)(high * 16 + low);
	}
	return 1;
}

/* The last line is the checksum of all before it. Cuts it off. */
static int
checksum_is_right(char *text)
{
	size_t size = strlen(text);
	const char *last = size < SUM_SIZE ? NULL : text + size - SUM_SIZE;
	char expected[SUM_SIZE + 1];
	if (last == NULL)
		return 0;
	snprintf(expected, sizeof(expected), SUM_LINE, (unsigned)checksum_crc32c(0, text, size - SUM_SIZE));
	if (strcmp(last, expected) != 0)
		return 0;
	text[size - SUM_SIZE] = '\0';
	return 1;
}

static flow_status
parse_format(state_directory *d, char *text, flow_error *error)
{
	char *start = text;
	if (strncmp(text, TITLE "\n", sizeof(TITLE)) != 0)
		return damaged(d, 1, error);
	text += sizeof(TITLE);
	long number = strncmp(text, "format ", 7) == 0 ? strtol(text + 7, NULL, 10) : 0;
	if (number < 1)
		return damaged(d, 2, error);
	if (number > FORMAT_VERSION)
		return error_set(
			error, FLOW_E_CONFLICT,
			"state directory %s: format %ld, this flowd knows up to %d; use a newer flowd or another directory",
			d->path, number, FORMAT_VERSION);
	if (!checksum_is_right(start))
		return damaged(d, 6, error);
	take_line(&text, "format");
	const char *job = take_line(&text, "job");
	if (job == NULL)
		return damaged(d, 3, error);
	if (d->any_job)
		d->job = job;
	else if (strcmp(job, d->job) != 0)
		return error_set(error, FLOW_E_CONFLICT,
						 "state directory %s: it belongs to job '%s', not to '%s'; choose another with --state-dir",
						 d->path, job, d->job);
	const char *run = take_line(&text, "run");
	if (run == NULL || !parse_run_id(run, d->run_id))
		return damaged(d, 4, error);
	d->store = take_line(&text, "store");
	return d->store == NULL || *text != '\0' ? damaged(d, 5, error) : FLOW_OK;
}

static flow_status
read_format(state_directory *d, int fresh, flow_error *error)
{
	d->is_new = 1;
	int there = io_calls()->exists(d->format_path);
	if (there < 0)
		return error_set(error, status_of_errno(errno), "%s: %s", d->format_path, strerror(errno));
	if (there == 0) {
		if (!fresh && (io_calls()->exists(d->checkpoint_path) > 0 || io_calls()->exists(d->store_path) > 0))
			return error_set(
				error, FLOW_E_CORRUPT,
				"state directory %s: FORMAT is missing beside state; restore the directory, or discard its state "
				"with --fresh",
				d->path);
		return FLOW_OK;
	}
	flow_slice content;
	flow_status status = io_read_file(d->format_path, FORMAT_LIMIT, d->memory, &content, error);
	if (status == FLOW_OK)
		status = parse_format(d, (char *)(uintptr_t)content.data, error);
	if (status == FLOW_E_CORRUPT && fresh) {
		error_clear(error);
		return FLOW_OK;
	}
	d->is_new = status != FLOW_OK;
	return status;
}

flow_status
state_directory_open(state_directory *d, const char *path, const char *job, int fresh, flow_error *error)
{
	*d = (state_directory){ .lock = -1, .store = "none" };
	flow_status status = make_paths(d, path, job, error);
	if (status == FLOW_OK)
		status = io_make_directories(path, error);
	if (status == FLOW_OK)
		status = take_lock(d, error);
	if (status == FLOW_OK)
		status = read_format(d, fresh, error);
	if (status != FLOW_OK)
		state_directory_close(d);
	return status;
}

void
state_directory_close(state_directory *d)
{
	if (d->lock >= 0)
		io_calls()->close(d->lock);
	d->lock = -1;
	arena_destroy(d->memory);
	d->memory = NULL;
}

flow_status
state_directory_new_run(state_directory *d, flow_error *error)
{
	if (getrandom(d->run_id, RUN_ID_SIZE, 0) == RUN_ID_SIZE)
		return FLOW_OK;
	return error_set(error, FLOW_E_IO, "state directory %s: the system gives no random numbers: %s", d->path,
					 strerror(errno));
}

flow_status
state_directory_save(state_directory *d, const char *store, flow_error *error)
{
	char run[RUN_ID_SIZE * 2 + 1];
	for (size_t i = 0; i < RUN_ID_SIZE; i++)
		snprintf(run + 2 * i, 3, "%02x", d->run_id[i]);
	const char *kept = arena_copy_text(d->memory, store);
	char *text =
		arena_format(d->memory, TITLE "\nformat %d\njob %s\nrun %s\nstore %s\n", FORMAT_VERSION, d->job, run, store);
	if (kept == NULL || text == NULL)
		return out_of_memory(error);
	text = arena_format(d->memory, "%s" SUM_LINE, text, (unsigned)checksum_crc32c(0, text, strlen(text)));
	if (text == NULL)
		return out_of_memory(error);
	flow_status status = io_replace_file(d->format_path, flow_slice_of(text), error);
	if (status != FLOW_OK)
		return status;
	d->store = kept;
	d->is_new = 0;
	return FLOW_OK;
}

/* Moves a folder aside in one step before it is taken apart: half of a store is worse than none. */
static flow_status
put_aside(const state_directory *d, const char *path, flow_error *error)
{
	flow_status status = state_directory_sweep(d, error);
	char *aside = arena_format(d->memory, "%s.old", path);
	if (status != FLOW_OK || aside == NULL)
		return status != FLOW_OK ? status : out_of_memory(error);
	if (io_calls()->rename(path, aside) != 0 && errno != ENOENT)
		return error_set(error, status_of_errno(errno), "%s: cannot put it aside: %s", path, strerror(errno));
	return io_sync_directory(d->path, error);
}

flow_status
state_directory_sweep(const state_directory *d, flow_error *error)
{
	const char *paths[] = { d->store_path, d->tables_path };
	for (size_t i = 0; i < FLOW_COUNT(paths); i++) {
		char *aside = arena_format(d->memory, "%s.old", paths[i]);
		if (aside == NULL)
			return out_of_memory(error);
		flow_status status = io_calls()->exists(aside) == 0 ? FLOW_OK : io_remove_tree(aside, error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

flow_status
state_directory_clear(const state_directory *d, flow_error *error)
{
	flow_status status = io_remove_tree(d->checkpoint_path, error);
	if (status == FLOW_OK)
		status = put_aside(d, d->store_path, error);
	if (status == FLOW_OK)
		status = put_aside(d, d->tables_path, error);
	return status == FLOW_OK ? state_directory_sweep(d, error) : status;
}
