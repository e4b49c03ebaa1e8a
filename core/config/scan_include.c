/* Files of a configuration: finding, reading and nesting them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "config/scan.h"

/* A file that is being scanned, in the file that includes it. */
struct scan_inclusion {
	const scan_inclusion *parent;
	const char *file;
	unsigned line;
	dev_t device;
	ino_t inode;
};

void
scan_set_line(scan_inclusion *from, unsigned line)
{
	if (from != NULL)
		from->line = line;
}

/* "a.conf:1 -> parts/b.conf:2 -> last" */
static const char *
chain(scan *s, const scan_inclusion *from, const char *last)
{
	const char *text = last;
	for (; from != NULL && text != NULL; from = from->parent)
		text = arena_format(s->arena, "%s:%u -> %s", from->file, from->line, text);
	return text == NULL ? "out of memory" : text;
}

static const char *
folder_of(arena *a, const char *file)
{
	const char *slash = strrchr(file, '/');
	if (slash == NULL)
		return "";
	return slash == file ? "/" : arena_copy(a, file, (size_t)(slash - file));
}

static const char *
join(arena *a, const char *folder, const char *name)
{
	if (folder == NULL || folder[0] == '\0' || name[0] == '/')
		return name;
	return arena_format(a, "%s%s%s", folder, strcmp(folder, "/") == 0 ? "" : "/", name);
}

static void
report(scan *s, const scan_inclusion *from, const char *file, const char *problem_text)
{
	s->missing = 1;
	if (from == NULL)
		problems_add(s->list, file, 0, NULL, "cannot read the configuration: %s", problem_text);
	else
		problems_add(s->list, from->file, from->line, NULL, "cannot read the included file \"%s\": %s%s%s", file,
					 problem_text, from->parent == NULL ? "" : "; included by ",
					 from->parent == NULL ? "" : chain(s, from->parent, from->file));
}

/* All bytes of an open file, in the arena; NULL: reported. */
static char *
read_all(scan *s, const scan_inclusion *from, const char *file, int descriptor, size_t *size)
{
	size_t capacity = (size_t)64 * 1024;
	char *bytes = memory_allocate(capacity);
	const char *problem_text = bytes == NULL ? "out of memory" : NULL;
	*size = 0;
	while (problem_text == NULL) {
		if (*size == capacity) {
			char *larger = memory_reallocate(bytes, capacity * 2);
			if (larger == NULL) {
				problem_text = "out of memory";
				break;
			}
			bytes = larger;
			capacity *= 2;
		}
		ssize_t got = read(descriptor, bytes + *size, capacity - *size);
		if (got == 0)
			break;
		if (got < 0 && errno != EINTR)
			problem_text = strerror(errno);
		else if (got > 0)
			*size += (size_t)got;
		if (*size + s->read > SCAN_MAX_SIZE)
			problem_text = "all files of a configuration together may have 16 MiB";
	}
	char *copy = problem_text == NULL ? arena_copy(s->arena, bytes, *size) : NULL;
	memory_release(bytes);
	if (copy == NULL)
		report(s, from, file, problem_text == NULL ? "out of memory" : problem_text);
	s->read += *size;
	return copy;
}

/* Whether the file is already open further up. */
static int
is_loop(scan *s, const scan_inclusion *from, const char *file, const struct stat *status)
{
	const scan_inclusion *outermost = from;
	int found = 0;
	for (const scan_inclusion *i = from; i != NULL; i = i->parent) {
		found = found || (i->device == status->st_dev && i->inode == status->st_ino);
		outermost = i;
	}
	if (!found)
		return 0;
	s->missing = 1;
	problems_add(s->list, outermost->file, outermost->line, NULL, "files include each other in a circle: %s",
				 chain(s, from, file));
	return 1;
}

static void
scan_open(scan *s, const scan_inclusion *from, const char *file, int descriptor)
{
	struct stat status;
	if (fstat(descriptor, &status) != 0) {
		report(s, from, file, strerror(errno));
		return;
	}
	if (S_ISDIR(status.st_mode) || (from != NULL && !S_ISREG(status.st_mode))) {
		report(s, from, file, S_ISDIR(status.st_mode) ? "it is a folder" : "it is no regular file");
		return;
	}
	if (is_loop(s, from, file, &status))
		return;
	size_t size;
	char *text = read_all(s, from, file, descriptor, &size);
	if (text == NULL)
		return;
	scan_inclusion here = { from, file, 1, status.st_dev, status.st_ino };
	scan_source(s, &here, file, text, size);
}

/* Includes never block on a pipe that nobody writes: they are opened so, and must be regular files. */
static int
open_file(const char *file, int included)
{
	return open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | (included ? O_NONBLOCK : 0));
}

int
scan_file(scan *s, const char *file)
{
	s->folder = folder_of(s->arena, file);
	int descriptor = s->folder == NULL ? -1 : open_file(file, 0);
	if (descriptor < 0) {
		report(s, NULL, file, s->folder == NULL ? "out of memory" : strerror(errno));
		return 0;
	}
	scan_open(s, NULL, file, descriptor);
	close(descriptor);
	return scan_finish(s);
}

void
scan_include(scan *s, scan_inclusion *from, const char *named)
{
	if (from == NULL)
		return;
	if (++s->includes > SCAN_MAX_INCLUDES) {
		if (s->includes == SCAN_MAX_INCLUDES + 1)
			report(s, from, named, "a configuration may include 1000 files");
		return;
	}
	const char *folder = folder_of(s->arena, from->file);
	const char *beside = folder == NULL ? NULL : join(s->arena, folder, named);
	const char *below = join(s->arena, s->folder, named);
	if (beside == NULL || below == NULL) {
		report(s, from, named, "out of memory");
		return;
	}
	const char *file = beside;
	int descriptor = open_file(beside, 1);
	if (descriptor < 0 && errno == ENOENT && strcmp(beside, below) != 0) {
		file = below;
		descriptor = open_file(below, 1);
	}
	if (descriptor < 0) {
		const char *why = strerror(errno);
		if (errno == ENOENT && strcmp(beside, below) != 0)
			why = arena_format(s->arena, "neither %s nor %s is there", beside, below);
		report(s, from, named, why == NULL ? "out of memory" : why);
		return;
	}
	scan_open(s, from, file, descriptor);
	close(descriptor);
}
