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
	const flow_stream_request *request;
};

flow_status
committer_open(flow_system *system, const flow_stream_request *request, flow_committer **result, flow_error *error)
{
	flow_committer *committer = flow_new(system->host, sizeof(*committer));
	if (committer == NULL)
		return flow_fail(system->host, error, FLOW_E_MEMORY, "out of memory");
	committer->host = system->host;
	committer->request = request;
	*result = committer;
	return FLOW_OK;
}

void
committer_close(flow_committer *committer)
{
	committer->host->release(committer);
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
		return flow_fail(host, error, FLOW_E_NOT_FOUND,
		                 "%s: the temporary with the job's output is gone; it cannot be finished. Start anew with --fresh",
		                 temporary);
	}
	if ((uint64_t)about.st_size < length)
		return flow_fail(host, error, FLOW_E_CORRUPT, "%s: has %llu bytes, but the checkpoint knows of %llu", temporary,
		                 (unsigned long long)about.st_size, (unsigned long long)length);
	if ((uint64_t)about.st_size > length && truncate(temporary, (off_t)length) != 0)
		return path_failed(host, error, "cannot cut back", temporary, errno);
	if (rename(temporary, target) != 0)
		return path_failed(host, error, "cannot rename the temporary to it", target, errno);
	return path_sync_folder(host, target, error);
}

flow_status
committer_commit(flow_committer *committer, const flow_handle *const *handles, uint64_t count, const flow_marker *marker,
                 int last, flow_error *error)
{
	(void)marker;
	const flow_host *host = committer->host;
	if (!last)
		return FLOW_OK; /* the temporary grows on; only the end shows it */
	for (uint64_t i = 0; i < count; i++) {
		char *target = path_target(host, committer->request, handles[i]->task);
		char *temporary = target == NULL ? NULL : path_temporary(host, committer->request, target);
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
		char *target = path_target(committer->host, committer->request, keep[i]->task);
		char *temporary = target == NULL ? NULL : path_temporary(committer->host, committer->request, target);
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
	flow_slice path = flow_option_text(committer->request->options, "path");
	const char *mark = strstr(path.data, "{task}");
	char *target = host->allocate(path.size + 1);
	if (target == NULL)
		return NULL;
	if (mark == NULL)
		memcpy(target, path.data, path.size + 1);
	else
		snprintf(target, path.size + 1, "%.*s%s%s", (int)(mark - path.data), path.data, all_tasks,
		         mark + strlen("{task}"));
	char *temporary = path_temporary(host, committer->request, target);
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

flow_status
committer_abort(flow_committer *committer, const flow_handle *const *keep, uint64_t count, flow_error *error)
{
	const flow_host *host = committer->host;
	flow_slice path = flow_option_text(committer->request->options, "path");
	if (path_is_stream(path.data))
		return FLOW_OK;
	char *pattern = temporaries_pattern(committer);
	if (pattern == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	glob_t found = { 0 };
	flow_status status = FLOW_OK;
	if (glob(pattern, GLOB_PERIOD, NULL, &found) == 0) {
		for (size_t i = 0; status == FLOW_OK && i < found.gl_pathc; i++)
			if (!is_kept(committer, found.gl_pathv[i], keep, count) && unlink(found.gl_pathv[i]) != 0 && errno != ENOENT)
				status = path_failed(host, error, "cannot remove the temporary", found.gl_pathv[i], errno);
	}
	globfree(&found);
	host->release(pattern);
	return status;
}
