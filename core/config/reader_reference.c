/* { env = "NAME"; } and { file = "path"; }: values from outside, taken after parsing and never read as syntax. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "config/reader.h"

#define MAX_FILE ((size_t)1024 * 1024)

typedef struct resolver {
	arena *arena;
	problems *list;
	const char *folder;
} resolver;

/* From here on the group is a secret string. Its child stays below it: where a map is meant, that is still readable. */
static void
become_string(setting *s, const char *text, size_t size)
{
	s->kind = SETTING_STRING;
	s->secret = 1;
	s->resolved = 1;
	s->bad = text == NULL;
	s->text = text == NULL ? "" : text;
	s->size = size;
}

static void
report(const resolver *r, setting *s, const char *what, const char *name, const char *why)
{
	problem *item = problems_add(r->list, s->file, s->line, s->path, "%s %s %s", what, name, why);
	if (item != NULL && s->file == NULL)
		item->place = s->origin;
	become_string(s, NULL, 0);
}

static void
resolve_variable(const resolver *r, setting *s, const char *name)
{
	const char *value = getenv(name);
	if (value == NULL) {
		report(r, s, "the environment variable", name, "is not set");
		return;
	}
	size_t size = strlen(value);
	char *copy = arena_copy(r->arena, value, size);
	if (copy == NULL)
		report(r, s, "the environment variable", name, "cannot be kept: out of memory");
	else
		become_string(s, copy, size);
}

/* Reads up to `capacity` bytes; NULL, or why not. */
static const char *
read_file(const char *file, char *bytes, size_t capacity, size_t *size)
{
	int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (descriptor < 0)
		return strerror(errno);
	struct stat status;
	const char *why = fstat(descriptor, &status) != 0 ? strerror(errno)
					  : S_ISREG(status.st_mode)       ? NULL
													  : "it is no regular file";
	*size = 0;
	while (why == NULL) {
		ssize_t got = read(descriptor, bytes + *size, capacity - *size);
		if (got == 0)
			break;
		if (got < 0 && errno != EINTR)
			why = strerror(errno);
		else if (got > 0)
			*size += (size_t)got;
		if (*size == capacity)
			why = "it is larger than 1 MiB";
	}
	close(descriptor);
	return why;
}

static void
resolve_file(const resolver *r, setting *s, const char *name)
{
	const char *file = name;
	if (name[0] != '/' && r->folder[0] != '\0')
		file = arena_format(r->arena, "%s/%s", r->folder, name);
	char *bytes = memory_allocate(MAX_FILE + 1);
	size_t size = 0;
	const char *why = bytes == NULL || file == NULL ? "out of memory" : read_file(file, bytes, MAX_FILE + 1, &size);
	if (why == NULL && size > 0 && bytes[size - 1] == '\n')
		size--;
	char *copy = why == NULL ? arena_copy(r->arena, bytes, size) : NULL;
	memory_release(bytes);
	if (copy != NULL) {
		become_string(s, copy, size);
		return;
	}
	why = arena_format(r->arena, "cannot be read: %s", why == NULL ? "out of memory" : why);
	report(r, s, "the file", file == NULL ? name : file, why == NULL ? "cannot be read" : why);
}

static void
resolve(const resolver *r, setting *s)
{
	const setting *only = s->kind == SETTING_GROUP && s->child_count == 1 ? s->children[0] : NULL;
	if (only != NULL && only->kind == SETTING_STRING && s->path[0] != '\0') {
		if (strcmp(only->name, "env") == 0) {
			resolve_variable(r, s, only->text);
			return;
		}
		if (strcmp(only->name, "file") == 0) {
			resolve_file(r, s, only->text);
			return;
		}
	}
	for (size_t i = 0; i < s->child_count; i++)
		resolve(r, s->children[i]);
}

void
reader_resolve(arena *a, problems *list, const char *folder, setting *s)
{
	resolver r = { a, list, folder };
	resolve(&r, s);
}
