/* What paths mean (file.h). */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART_OF_NAME 100 /* bytes of a long name, and of a long job's, that stay in a temporary's */

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
		remedy = "; make room, then start again";
		break;
	case EMFILE:
	case ENFILE:
		status = FLOW_E_UNAVAILABLE;
		remedy = "; raise the limit of open files (ulimit -n)";
		break;
	case EFBIG:
		remedy = "; raise the limit of file sizes (ulimit -f), then start again";
		break;
	case ENAMETOOLONG:
		status = FLOW_E_ARGUMENT;
		remedy = "; choose a shorter one";
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
		if (size != 0)
			memcpy(copy, text, size);
		copy[size] = '\0';
	}
	return copy;
}

/* `known`: how many items may be the same; a pattern gives each path once. */
static flow_status
add_path(const flow_host *host, struct path_list *list, const char *path, uint64_t known, flow_error *error)
{
	for (uint64_t i = 0; i < known; i++)
		if (strcmp(list->items[i], path) == 0)
			return FLOW_OK; /* named twice: read once */
	if (list->count == list->room) {
		uint64_t room = list->room == 0 ? 16 : list->room * 2;
		char **items = host->reallocate(list->items, room * sizeof(*items));
		if (items == NULL)
			return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
		list->items = items;
		list->room = room;
	}
	char *copy = copy_text(host, path, strlen(path));
	if (copy == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	list->items[list->count++] = copy;
	return FLOW_OK;
}

static flow_status
add_found(const flow_host *host, struct path_list *list, const char *pattern, const glob_t *found, flow_error *error)
{
	flow_status status = FLOW_OK;
	uint64_t known = list->count;
	int files = 0;
	for (size_t i = 0; status == FLOW_OK && i < found->gl_pathc; i++) {
		struct stat about;
		if (stat(found->gl_pathv[i], &about) == 0 && S_ISDIR(about.st_mode))
			continue;
		files = 1;
		status = add_path(host, list, found->gl_pathv[i], known, error);
	}
	if (status == FLOW_OK && !files)
		return flow_fail(host, error, FLOW_E_NOT_FOUND, "%s: only folders match; name their files: \"%s/*\"", pattern,
						 pattern);
	return status;
}

static flow_status
add_pattern(const flow_host *host, struct path_list *list, const char *pattern, flow_error *error)
{
	glob_t found = { 0 };
	errno = 0;
	int result = glob(pattern, GLOB_ERR, NULL, &found);
	flow_status status;
	if (result == GLOB_NOMATCH)
		status = flow_fail(host, error, FLOW_E_NOT_FOUND, "%s: no file matches; check the pattern", pattern);
	else if (result != 0)
		status = path_failed(host, error, "cannot look for files", pattern, result == GLOB_NOSPACE ? ENOMEM : errno);
	else
		status = add_found(host, list, pattern, &found, error);
	globfree(&found);
	return status;
}

static flow_status
add_one(const flow_host *host, struct path_list *list, const char *path, flow_error *error)
{
	struct stat about;
	if (strcmp(path, "-") == 0)
		return add_path(host, list, path, list->count, error);
	if (stat(path, &about) == 0) { /* also names that hold * or [ */
		if (S_ISDIR(about.st_mode))
			return flow_fail(host, error, FLOW_E_ARGUMENT, "%s: is a folder; name its files: \"%s/*\"", path, path);
		return add_path(host, list, path, list->count, error);
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
		status =
			flow_fail(host, error, FLOW_E_NOT_FOUND, "%.*s: no file is named", (int)request->id.size, request->id.data);
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
path_compression_option(const flow_stream_request *request)
{
	flow_slice option = flow_option_text(request->options, "compression");
	if (flow_slice_is(option, "gzip"))
		return COMPRESSION_GZIP;
	if (flow_slice_is(option, "zstd"))
		return COMPRESSION_ZSTD;
	return flow_slice_is(option, "none") ? COMPRESSION_NONE : COMPRESSION_AUTO;
}

uint32_t
path_compression(uint32_t option, const char *path)
{
	if (option != COMPRESSION_AUTO)
		return option;
	return ends_with(path, ".gz") ? COMPRESSION_GZIP : ends_with(path, ".zst") ? COMPRESSION_ZSTD : COMPRESSION_NONE;
}

int
path_is_stream(const char *path)
{
	struct stat about;
	return strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode));
}

flow_status
path_names_open(const flow_host *host, const flow_stream_request *request, struct path_names *names, flow_error *error)
{
	flow_slice path = flow_option_text(request->options, "path");
	uint64_t size = request->job.size + request->instance.size + 2;
	names->host = host;
	names->path = copy_text(host, path.data, path.size);
	names->suffix = host->allocate(size);
	names->overwrite = flow_option_bool(request->options, "overwrite", 1);
	if (names->path == NULL || names->suffix == NULL) {
		path_names_close(names);
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	}
	snprintf(names->suffix, size, "%.*s%s%.*s", (int)request->job.size, request->job.data,
			 request->instance.size == 0 ? "" : "-", (int)request->instance.size, request->instance.data);
	for (char *c = names->suffix; *c != '\0'; c++)
		if (*c == '/')
			*c = '_';
	return FLOW_OK;
}

void
path_names_close(struct path_names *names)
{
	names->host->release(names->path);
	names->host->release(names->suffix);
	names->path = names->suffix = NULL;
}

char *
path_target(const struct path_names *names, uint32_t task)
{
	const char *path = names->path, *mark = strstr(path, "{task}");
	uint64_t size = strlen(path);
	if (mark == NULL)
		return copy_text(names->host, path, size);
	char *target = names->host->allocate(size + 16);
	if (target != NULL)
		snprintf(target, size + 16, "%.*s%u%s", (int)(mark - path), path, task, mark + strlen("{task}"));
	return target;
}

/* FNV-1a. */
static uint64_t
name_hash(const char *text, uint64_t hash)
{
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash;
}

/* Names that would be longer than file systems take them are cut; a hash keeps them apart. */
char *
path_temporary(const struct path_names *names, const char *target)
{
	const char *slash = strrchr(target, '/');
	const char *name = slash == NULL ? target : slash + 1;
	uint64_t name_size = strlen(name), suffix_size = strlen(names->suffix);
	uint64_t size = strlen(target) + suffix_size + 40;
	char *temporary = names->host->allocate(size);
	if (temporary == NULL)
		return NULL;
	int folder = (int)(name - target);
	if (name_size + suffix_size + strlen("..") + strlen(".part") <= NAME_MAX) {
		snprintf(temporary, size, "%.*s.%s.%s.part", folder, target, name, names->suffix);
		return temporary;
	}
	uint64_t hash = name_hash(name, name_hash(names->suffix, 14695981039346656037u));
	snprintf(temporary, size, "%.*s.%.*s.%.*s.%016llx.part", folder, target, PART_OF_NAME, name, PART_OF_NAME,
			 names->suffix, (unsigned long long)hash);
	return temporary;
}

static flow_status
exists(const flow_host *host, const char *target, flow_error *error)
{
	return flow_fail(host, error, FLOW_E_EXISTS,
					 "%s: is there already, and overwrite = false; take it away, or name another file", target);
}

flow_status
path_check_free(const struct path_names *names, const char *target, flow_error *error)
{
	struct stat about;
	if (lstat(target, &about) == 0)
		return names->overwrite ? FLOW_OK : exists(names->host, target, error);
	return errno == ENAMETOOLONG ? path_failed(names->host, error, "cannot write", target, errno) : FLOW_OK;
}

flow_status
path_rename(const struct path_names *names, const char *temporary, const char *target, flow_error *error)
{
	int failed = renameat2(AT_FDCWD, temporary, AT_FDCWD, target, names->overwrite ? 0 : RENAME_NOREPLACE) != 0;
	if (failed && (errno == EINVAL || errno == ENOSYS)) { /* the file system cannot tell in one call */
		flow_status status = path_check_free(names, target, error);
		if (status != FLOW_OK)
			return status;
		failed = rename(temporary, target) != 0;
	}
	if (failed && errno == EEXIST)
		return exists(names->host, target, error);
	return failed ? path_failed(names->host, error, "cannot rename the temporary to it", target, errno) : FLOW_OK;
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
path_check_folder(const flow_host *host, const char *path, flow_error *error)
{
	struct stat about;
	char *folder = path_folder(host, path);
	if (folder == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	int there = strstr(folder, "{task}") != NULL || (stat(folder, &about) == 0 && S_ISDIR(about.st_mode));
	flow_status status = FLOW_OK;
	if (!there)
		status = flow_fail(host, error, FLOW_E_NOT_FOUND,
						   "%s: the folder %s is not there; make it, or set make_folders = true for this output", path,
						   folder);
	host->release(folder);
	return status;
}

flow_status
path_lock(const flow_host *host, const char *path, int descriptor, flow_error *error)
{
	if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return FLOW_OK; /* not every file system has locks */
	return flow_fail(
		host, error, FLOW_E_LOCKED,
		"%s: another run of the job, or another output of it, is writing it; end that one, or give one of them another "
		"path or instance",
		path);
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
