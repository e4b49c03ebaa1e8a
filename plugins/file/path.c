/* What paths mean (file.h). */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

flow_status
path_failed(const flow_host *host, flow_error *error, const char *doing, const char *path, int number)
{
	const char *remedy = "";
	flow_status status = FLOW_E_IO;
	switch (number) {
	case ENOENT:
	case ENOTDIR:
		status = FLOW_E_NOT_FOUND;
		remedy = "; check the path, and that its folder is there";
		break;
	case EACCES:
	case EPERM:
	case EROFS:
		status = FLOW_E_DENIED;
		remedy = "; check owner and permissions";
		break;
	case ENOSPC:
	case EDQUOT:
		status = FLOW_E_FULL;
		remedy = "; make room, then start the job again: it goes on from its last checkpoint";
		break;
	case EMFILE:
	case ENFILE:
		status = FLOW_E_UNAVAILABLE;
		remedy = "; raise the limit of open files (ulimit -n)";
		break;
	default:
		break;
	}
	return flow_fail(host, error, status, "%s: %s: %s%s", path, doing, strerror(number), remedy);
}

static char *
copy_text(const flow_host *host, const char *text, uint64_t size)
{
	char *copy = host->allocate(size + 1);
	if (copy != NULL) {
		memcpy(copy, text, size);
		copy[size] = '\0';
	}
	return copy;
}

static flow_status
add_path(const flow_host *host, struct path_list *list, const char *path, flow_error *error)
{
	for (uint64_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], path) == 0)
			return FLOW_OK; /* named twice: read once */
	char **items = host->reallocate(list->items, (list->count + 1) * sizeof(*items));
	if (items != NULL)
		list->items = items;
	char *copy = items == NULL ? NULL : copy_text(host, path, strlen(path));
	if (copy == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	items[list->count++] = copy;
	return FLOW_OK;
}

static flow_status
add_pattern(const flow_host *host, struct path_list *list, const char *pattern, flow_error *error)
{
	glob_t found = { 0 };
	int result = glob(pattern, 0, NULL, &found);
	flow_status status = FLOW_OK;
	if (result == GLOB_NOMATCH)
		status = flow_fail(host, error, FLOW_E_NOT_FOUND, "%s: no file matches; check the pattern", pattern);
	else if (result != 0)
		status = path_failed(host, error, "cannot look for files", pattern, result == GLOB_NOSPACE ? ENOMEM : errno);
	for (size_t i = 0; status == FLOW_OK && i < found.gl_pathc; i++) {
		struct stat about;
		if (stat(found.gl_pathv[i], &about) == 0 && S_ISDIR(about.st_mode))
			continue;
		status = add_path(host, list, found.gl_pathv[i], error);
	}
	globfree(&found);
	return status;
}

static flow_status
add_one(const flow_host *host, struct path_list *list, const char *path, flow_error *error)
{
	struct stat about;
	if (strcmp(path, "-") == 0)
		return add_path(host, list, path, error);
	if (stat(path, &about) == 0) { /* also names that hold * or [ */
		if (S_ISDIR(about.st_mode))
			return flow_fail(host, error, FLOW_E_ARGUMENT, "%s: is a folder; name its files: \"%s/*\"", path, path);
		return add_path(host, list, path, error);
	}
	if (strpbrk(path, "*?[") != NULL)
		return add_pattern(host, list, path, error);
	return path_failed(host, error, "cannot open", path, errno);
}

flow_status
path_list_read(const flow_host *host, const flow_stream_request *request, struct path_list *list, flow_error *error)
{
	const flow_option_value *paths = flow_option_get(request->options, "path");
	memset(list, 0, sizeof(*list));
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; status == FLOW_OK && i < paths->entry_count; i++)
		status = add_one(host, list, paths->entries[i]->value->text.data, error);
	if (status == FLOW_OK && list->count == 0)
		status = flow_fail(host, error, FLOW_E_NOT_FOUND, "%.*s: no file is named", (int)request->id.size,
		                   request->id.data);
	if (status != FLOW_OK)
		path_list_free(host, list);
	return status;
}

void
path_list_free(const flow_host *host, struct path_list *list)
{
	for (uint64_t i = 0; i < list->count; i++)
		host->release(list->items[i]);
	host->release(list->items);
	memset(list, 0, sizeof(*list));
}

static int
ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);
	return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

uint32_t
path_compression(const flow_stream_request *request, const char *path)
{
	flow_slice option = flow_option_text(request->options, "compression");
	if (flow_slice_is(option, "gzip"))
		return COMPRESSION_GZIP;
	if (flow_slice_is(option, "zstd"))
		return COMPRESSION_ZSTD;
	if (flow_slice_is(option, "none"))
		return COMPRESSION_NONE;
	return ends_with(path, ".gz") ? COMPRESSION_GZIP : ends_with(path, ".zst") ? COMPRESSION_ZSTD : COMPRESSION_NONE;
}

int
path_is_stream(const char *path)
{
	struct stat about;
	return strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode));
}

char *
path_target(const flow_host *host, const flow_stream_request *request, uint32_t task)
{
	flow_slice path = flow_option_text(request->options, "path");
	const char *mark = strstr(path.data, "{task}");
	if (mark == NULL)
		return copy_text(host, path.data, path.size);
	char *target = host->allocate(path.size + 16);
	if (target != NULL)
		snprintf(target, path.size + 16, "%.*s%u%s", (int)(mark - path.data), path.data, task, mark + strlen("{task}"));
	return target;
}

char *
path_temporary(const flow_host *host, const flow_stream_request *request, const char *target)
{
	const char *slash = strrchr(target, '/');
	const char *name = slash == NULL ? target : slash + 1;
	uint64_t size = strlen(target) + request->job.size + request->instance.size + 16;
	char *temporary = host->allocate(size);
	if (temporary != NULL)
		snprintf(temporary, size, "%.*s.%s.%.*s%s%.*s.part", (int)(name - target), target, name, (int)request->job.size,
		         request->job.data, request->instance.size == 0 ? "" : "-", (int)request->instance.size,
		         request->instance.data);
	return temporary;
}

char *
path_folder(const flow_host *host, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (slash == NULL)
		return copy_text(host, ".", 1);
	return copy_text(host, path, slash == path ? 1 : (uint64_t)(slash - path));
}

flow_status
path_sync_folder(const flow_host *host, const char *path, flow_error *error)
{
	char *folder = path_folder(host, path);
	if (folder == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	flow_status status = FLOW_OK;
	int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (descriptor < 0 || fsync(descriptor) != 0)
		status = path_failed(host, error, "cannot sync the folder", folder, errno);
	if (descriptor >= 0)
		close(descriptor);
	host->release(folder);
	return status;
}
