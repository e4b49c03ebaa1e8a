/* The committer: the temporary becomes the target once, at the end (file.h). */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct flow_committer {
	const flow_host *host;
	struct path_names names;
};

flow_status
committer_open(flow_system *system, const flow_stream_request *request, flow_committer **result, flow_error *error)
{
	flow_committer *committer = flow_new(system->host, sizeof(*committer));
	if (committer == NULL)
		return flow_fail(system->host, error, FLOW_E_MEMORY, "out of memory");
	committer->host = system->host;
	flow_status status = path_names_open(system->host, request, &committer->names, error);
	if (status != FLOW_OK)
		system->host->release(committer);
	else
		*result = committer;
	return status;
}

void
committer_close(flow_committer *committer)
{
	path_names_close(&committer->names);
	committer->host->release(committer);
}

/* Drops what was written behind the checkpoint, durably: a crash must not bring it back under the target's name. */
static flow_status
cut_back(flow_committer *committer, const char *temporary, uint64_t length, flow_error *error)
{
	int descriptor = open(temporary, O_WRONLY | O_CLOEXEC);
	int failed = descriptor < 0 || ftruncate(descriptor, (off_t)length) != 0 || fsync(descriptor) != 0;
	flow_status status = failed ? path_failed(committer->host, error, "cannot cut back", temporary, errno) : FLOW_OK;
	if (descriptor >= 0)
		close(descriptor);
	return status;
}

/* Renames; if the temporary is gone and the target has the right size, an earlier call did it. */
static flow_status
publish(flow_committer *committer, const char *temporary, const char *target, uint64_t length, flow_error *error)
{
	const flow_host *host = committer->host;
	struct stat about;
	if (stat(temporary, &about) != 0) {
		if (errno == ENOENT && stat(target, &about) == 0 && (uint64_t)about.st_size == length)
			return FLOW_OK;
		return flow_fail(
			host, error, FLOW_E_NOT_FOUND,
			"%s: the temporary with the job's output is gone; it cannot be finished. Start anew with --fresh",
			temporary);
	}
	if ((uint64_t)about.st_size < length)
		return flow_fail(host, error, FLOW_E_CORRUPT, "%s: has %llu bytes, but the checkpoint knows of %llu", temporary,
						 (unsigned long long)about.st_size, (unsigned long long)length);
	if ((uint64_t)about.st_size > length) {
		flow_status status = cut_back(committer, temporary, length, error);
		if (status != FLOW_OK)
			return status;
	}
	flow_status status = path_rename(&committer->names, temporary, target, error);
	return status == FLOW_OK ? path_sync_folder(host, target, error) : status;
}

flow_status
committer_commit(flow_committer *committer, const flow_handle *const *handles, uint64_t count,
				 const flow_marker *marker, int last, flow_error *error)
{
	(void)marker;
	const flow_host *host = committer->host;
	if (!last)
		return FLOW_OK; /* the temporary grows on; only the end shows it */
	for (uint64_t i = 0; i < count; i++) {
		char *target = path_target(&committer->names, handles[i]->task);
		char *temporary = target == NULL ? NULL : path_temporary(&committer->names, target);
		uint64_t length = handle_length(handles[i]->bytes);
		flow_status status = FLOW_OK;
		if (temporary == NULL)
			status = flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
		else if (length == UINT64_MAX)
			status = flow_fail(host, error, FLOW_E_CORRUPT, "%s: the handle is not one of a file", target);
		else if (!path_is_stream(target))
			status = publish(committer, temporary, target, length, error);
		host->release(target);
		host->release(temporary);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

static int
is_kept(flow_committer *committer, const char *path, const flow_handle *const *keep, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		char *target = path_target(&committer->names, keep[i]->task);
		char *temporary = target == NULL ? NULL : path_temporary(&committer->names, target);
		int kept = temporary == NULL || strcmp(temporary, path) == 0; /* no memory: rather keep */
		committer->host->release(target);
		committer->host->release(temporary);
		if (kept)
			return 1;
	}
	return 0;
}

/* A glob pattern that matches the temporaries of all tasks: the path's own characters are taken literally. */
static char *
temporaries_pattern(flow_committer *committer)
{
	static const char all_tasks[] = "\001"; /* stands for the task until the rest is escaped */
	const flow_host *host = committer->host;
	const char *path = committer->names.path, *mark = strstr(path, "{task}");
	uint64_t size = strlen(path) + 1;
	char *target = host->allocate(size);
	if (target == NULL)
		return NULL;
	if (mark == NULL)
		memcpy(target, path, size);
	else
		snprintf(target, size, "%.*s%s%s", (int)(mark - path), path, all_tasks, mark + strlen("{task}"));
	char *temporary = path_temporary(&committer->names, target);
	host->release(target);
	char *pattern = temporary == NULL ? NULL : host->allocate(strlen(temporary) * 2 + 16);
	if (pattern != NULL) {
		char *to = pattern;
		for (const char *from = temporary; *from != '\0'; from++) {
			if (*from == all_tasks[0]) {
				*to++ = '*';
				continue;
			}
			if (strchr("*?[\\", *from) != NULL)
				*to++ = '\\';
			*to++ = *from;
		}
		*to = '\0';
	}
	host->release(temporary);
	return pattern;
}

/* Only what nobody writes: a second run of the job must not take the first one's output away. */
static flow_status
remove_temporary(flow_committer *committer, const char *path, flow_error *error)
{
	const flow_host *host = committer->host;
	int descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	flow_status status = descriptor < 0 ? FLOW_OK : path_lock(host, path, descriptor, error);
	if (status == FLOW_OK && unlink(path) != 0 && errno != ENOENT)
		status = path_failed(host, error, "cannot remove the temporary", path, errno);
	if (descriptor >= 0)
		close(descriptor);
	return status;
}

flow_status
committer_abort(flow_committer *committer, const flow_handle *const *keep, uint64_t count, flow_error *error)
{
	const flow_host *host = committer->host;
	if (path_is_stream(committer->names.path))
		return FLOW_OK;
	char *pattern = temporaries_pattern(committer);
	if (pattern == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	glob_t found = { 0 };
	flow_status status = FLOW_OK;
	if (glob(pattern, GLOB_PERIOD, NULL, &found) == 0) {
		for (size_t i = 0; status == FLOW_OK && i < found.gl_pathc; i++)
			if (!is_kept(committer, found.gl_pathv[i], keep, count))
				status = remove_temporary(committer, found.gl_pathv[i], error);
	}
	globfree(&found);
	host->release(pattern);
	return status;
}
