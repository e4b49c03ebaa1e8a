#include "support/config_text.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
require(int condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	abort();
}

void
config_text_open(config_text *t)
{
	memset(t, 0, sizeof(*t));
	strcpy(t->folder, "/tmp/flowd-test-XXXXXX");
	require(getcwd(t->before, sizeof(t->before)) != NULL, "getcwd");
	require(mkdtemp(t->folder) != NULL, "mkdtemp");
	require(chdir(t->folder) == 0, "chdir");
	t->arena = arena_create();
	t->list = problems_create(t->arena);
	t->config = config_create(t->arena, t->list);
	require(t->config != NULL, "config_create");
}

static int
remove_one(const char *path, const struct stat *status, int flag, struct FTW *walk)
{
	(void)status;
	(void)flag;
	(void)walk;
	return remove(path);
}

void
config_text_close(config_text *t)
{
	arena_destroy(t->arena);
	require(chdir(t->before) == 0, "chdir");
	require(nftw(t->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0, "nftw");
}

void
config_text_write(const char *file, const char *text, size_t size)
{
	char folder[256];
	const char *slash = strrchr(file, '/');
	if (slash != NULL) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - file), file);
		mkdir(folder, 0700);
	}
	FILE *to = fopen(file, "wb");
	require(to != NULL, file);
	require(fwrite(text, 1, size, to) == size && fclose(to) == 0, file);
}

int
config_text_load(config_text *t, const char *text)
{
	config_text_write("flowd.conf", text, strlen(text));
	return config_load(t->config, "flowd.conf");
}

const char *
config_text_problems(config_text *t)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	require(to != NULL, "open_memstream");
	problems_sort(t->list);
	problems_print(t->list, to, 0);
	fclose(to);
	const char *copy = arena_copy(t->arena, text, size);
	free(text);
	return copy;
}
