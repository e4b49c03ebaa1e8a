#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

#define FILE_MODE 0644
#define DIRECTORY_MODE 0755
#define DEEPEST_TREE 64

static int
real_open(const char *path, int flags, int mode)
{
	return open(path, flags | O_CLOEXEC, mode);
}

static int
real_truncate(int descriptor, int64_t size)
{
	return ftruncate(descriptor, size);
}

static int64_t
real_size(int descriptor)
{
	struct stat status;
	return fstat(descriptor, &status) != 0 ? -1 : (int64_t)status.st_size;
}

static int
real_make_directory(const char *path, int mode)
{
	return mkdir(path, (mode_t)mode);
}

static int
real_lock(int descriptor)
{
	return flock(descriptor, LOCK_EX | LOCK_NB);
}

static int
real_exists(const char *path)
{
	struct stat status;
	if (lstat(path, &status) == 0)
		return 1;
	return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

/* Appends one name to the text that grows; the old text stays behind in the arena. */
static char *
append_name(arena *memory, char *names, size_t *size, size_t *capacity, const char *name)
{
	size_t more = strlen(name) + 1;
	if (*capacity - *size < more) {
		size_t wanted = (*capacity + more) * 2;
		char *larger = arena_allocate(memory, wanted);
		if (larger == NULL)
			return NULL;
		memcpy(larger, names, *size);
		names = larger;
		*capacity = wanted;
	}
	memcpy(names + *size, name, more);
	*size += more;
	return names;
}

static char *
real_list(const char *path, arena *memory, size_t *count)
{
	*count = 0;
	DIR *folder = opendir(path);
	if (folder == NULL)
		return NULL;
	size_t size = 0, capacity = 1024;
	char *names = arena_allocate(memory, capacity);
	const struct dirent *entry = NULL;
	while (names != NULL && (errno = 0, entry = readdir(folder)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		names = append_name(memory, names, &size, &capacity, entry->d_name);
		(*count)++;
	}
	int failure = names == NULL ? ENOMEM : errno;
	closedir(folder);
	errno = failure;
	return failure == 0 ? names : NULL;
}

static const io_ops real_calls = {
	.open = real_open,
	.read = read,
	.write = write,
	.truncate = real_truncate,
	.size = real_size,
	.sync = fsync,
	.close = close,
	.rename = rename,
	.unlink = unlink,
	.make_directory = real_make_directory,
	.remove_directory = rmdir,
	.lock = real_lock,
	.exists = real_exists,
	.list = real_list,
};

static const io_ops *calls = &real_calls;

const io_ops *
io_calls(void)
{
	return calls;
}

void
io_use(const io_ops *ops)
{
	calls = ops == NULL ? &real_calls : ops;
}

static flow_status
fail(flow_error *error, const char *path, const char *action)
{
	int number = errno;
	return error_set(error, status_of_errno(number), "%s: cannot %s: %s", path, action, strerror(number));
}

static flow_status
read_open_file(int file, const char *path, uint64_t limit, arena *memory, flow_slice *content, flow_error *error)
{
	int64_t size = calls->size(file);
	if (size < 0)
		return fail(error, path, "tell its size");
	if ((uint64_t)size > limit)
		return error_set(error, FLOW_E_LIMIT, "%s: %lld bytes, more than the %llu that are allowed", path,
						 (long long)size, (unsigned long long)limit);
	char *data = arena_allocate(memory, (size_t)size + 1);
	if (data == NULL)
		return error_set(error, FLOW_E_MEMORY, "%s: no memory for its %lld bytes", path, (long long)size);
	size_t used = 0;
	while (used < (size_t)size) {
		ssize_t got = calls->read(file, data + used, (size_t)size - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(error, path, "read");
		if (got == 0)
			break;
		used += (size_t)got;
	}
	data[used] = '\0';
	*content = flow_slice_make(data, used);
	return FLOW_OK;
}

flow_status
io_read_file(const char *path, uint64_t limit, arena *memory, flow_slice *content, flow_error *error)
{
	int file = calls->open(path, O_RDONLY, 0);
	if (file < 0)
		return fail(error, path, "open");
	flow_status status = read_open_file(file, path, limit, memory, content, error);
	calls->close(file);
	return status;
}

int
io_write_all(int descriptor, const void *data, size_t size)
{
	const char *next = data;
	while (size > 0) {
		ssize_t written = calls->write(descriptor, next, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -1;
		if (written == 0) { /* would loop for ever */
			errno = EIO;
			return -1;
		}
		next += written;
		size -= (size_t)written;
	}
	return 0;
}

static flow_status
write_new_file(const char *path, flow_slice content, flow_error *error)
{
	int file = calls->open(path, O_WRONLY | O_CREAT | O_TRUNC, FILE_MODE);
	if (file < 0)
		return fail(error, path, "create");
	flow_status status = FLOW_OK;
	if (io_write_all(file, content.data, content.size) != 0)
		status = fail(error, path, "write");
	else if (calls->sync(file) != 0)
		status = fail(error, path, "sync");
	if (calls->close(file) != 0 && status == FLOW_OK)
		status = fail(error, path, "close");
	if (status != FLOW_OK)
		calls->unlink(path);
	return status;
}

static flow_status
replace_file(const char *path, flow_slice content, arena *memory, flow_error *error)
{
	char *fresh = arena_format(memory, "%s.new", path);
	char *folder = io_directory_of(path, memory);
	if (fresh == NULL || folder == NULL)
		return error_set(error, FLOW_E_MEMORY, "%s: out of memory", path);
	flow_status status = write_new_file(fresh, content, error);
	if (status != FLOW_OK)
		return status;
	if (calls->rename(fresh, path) != 0) {
		status = fail(error, path, "put the new version in its place");
		calls->unlink(fresh);
		return status;
	}
	return io_sync_directory(folder, error);
}

flow_status
io_replace_file(const char *path, flow_slice content, flow_error *error)
{
	arena *memory = arena_create();
	if (memory == NULL)
		return error_set(error, FLOW_E_MEMORY, "%s: out of memory", path);
	flow_status status = replace_file(path, content, memory, error);
	arena_destroy(memory);
	return status;
}

flow_status
io_sync_directory(const char *path, flow_error *error)
{
	int folder = calls->open(path, O_RDONLY | O_DIRECTORY, 0);
	if (folder < 0)
		return fail(error, path, "open the folder");
	flow_status status = calls->sync(folder) == 0 ? FLOW_OK : fail(error, path, "sync the folder");
	calls->close(folder);
	return status;
}

char *
io_directory_of(const char *path, arena *memory)
{
	size_t size = strlen(path);
	while (size > 1 && path[size - 1] == '/')
		size--;
	while (size > 0 && path[size - 1] != '/')
		size--;
	while (size > 1 && path[size - 1] == '/')
		size--;
	return size == 0 ? arena_copy_text(memory, ".") : arena_copy(memory, path, size);
}

/* Parents first: walks up to one that exists. */
static flow_status
make_directories(const char *path, arena *memory, flow_error *error)
{
	int there = calls->exists(path);
	if (there > 0)
		return FLOW_OK;
	if (there < 0)
		return fail(error, path, "look at the folder");
	char *parent = io_directory_of(path, memory);
	if (parent == NULL)
		return error_set(error, FLOW_E_MEMORY, "%s: out of memory", path);
	if (strcmp(parent, path) != 0) {
		flow_status status = make_directories(parent, memory, error);
		if (status != FLOW_OK)
			return status;
	}
	if (calls->make_directory(path, DIRECTORY_MODE) != 0 && errno != EEXIST)
		return fail(error, path, "create the folder");
	return io_sync_directory(parent, error);
}

flow_status
io_make_directories(const char *path, flow_error *error)
{
	arena *memory = arena_create();
	if (memory == NULL)
		return error_set(error, FLOW_E_MEMORY, "%s: out of memory", path);
	flow_status status = make_directories(path, memory, error);
	arena_destroy(memory);
	return status;
}

static flow_status remove_tree(const char *path, uint32_t depth, arena *memory, flow_error *error);

static flow_status
remove_content(const char *path, uint32_t depth, arena *memory, flow_error *error)
{
	size_t count = 0;
	const char *name = calls->list(path, memory, &count);
	if (name == NULL)
		return fail(error, path, "list the folder");
	for (; count > 0; count--, name += strlen(name) + 1) {
		char *inner = arena_format(memory, "%s/%s", path, name);
		if (inner == NULL)
			return error_set(error, FLOW_E_MEMORY, "%s: out of memory", path);
		flow_status status = remove_tree(inner, depth + 1, memory, error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

static flow_status
remove_tree(const char *path, uint32_t depth, arena *memory, flow_error *error)
{
	if (calls->unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR)
		return FLOW_OK;
	if (errno != EISDIR && errno != EPERM)
		return fail(error, path, "remove");
	if (depth > DEEPEST_TREE)
		return error_set(error, FLOW_E_LIMIT, "%s: folders nested deeper than %d", path, DEEPEST_TREE);
	flow_status status = remove_content(path, depth, memory, error);
	if (status == FLOW_OK && calls->remove_directory(path) != 0 && errno != ENOENT)
		status = fail(error, path, "remove the folder");
	return status;
}

flow_status
io_remove_tree(const char *path, flow_error *error)
{
	arena *memory = arena_create();
	if (memory == NULL)
		return error_set(error, FLOW_E_MEMORY, "%s: out of memory", path);
	flow_status status = remove_tree(path, 0, memory, error);
	arena_destroy(memory);
	return status;
}
