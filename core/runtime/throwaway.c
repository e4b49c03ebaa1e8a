/*
 * The folder for the state of a run that nobody goes on with: gone when the run ends, and if it is killed, when the next one starts.
 * Whoever uses a folder holds its lock.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/memory.h"
#include "runtime/run.h"

#define PREFIX "flowd-throwaway-state-" /* nobody else calls a folder so: what is removed is ours */
#define PATTERN PREFIX "XXXXXX"

static const char *
temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");
	return folder == NULL || folder[0] == '\0' ? "/tmp" : folder;
}

/* Locked, and still what the path names; -1: it is in use, gone, or not ours. */
static int
lock_folder(const char *path)
{
	struct stat held, named;
	int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (descriptor < 0)
		return -1;
	if (fstat(descriptor, &held) == 0 && held.st_uid == geteuid() && flock(descriptor, LOCK_EX | LOCK_NB) == 0 &&
		lstat(path, &named) == 0 && named.st_ino == held.st_ino && named.st_dev == held.st_dev)
		return descriptor;
	close(descriptor);
	return -1;
}

/* What killed runs left behind. */
static void
remove_abandoned(const char *folder)
{
	DIR *names = opendir(folder);
	for (const struct dirent *entry; names != NULL && (entry = readdir(names)) != NULL;) {
		char path[4096];
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 || strlen(entry->d_name) != strlen(PATTERN) ||
			snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= (int)sizeof(path))
			continue;
		int descriptor = lock_folder(path);
		if (descriptor < 0)
			continue;
		io_remove_tree(path, NULL);
		close(descriptor);
	}
	if (names != NULL)
		closedir(names);
}

flow_status
throwaway_open(runtime *run, flow_error *error)
{
	char path[4096];
	remove_abandoned(temporary_folder());
	/* Another run that starts may take a folder away before it is locked. */
	for (int tries = 0; run->throwaway_lock < 0 && tries < 100; tries++) {
		snprintf(path, sizeof(path), "%s/" PATTERN, temporary_folder());
		if (mkdtemp(path) == NULL)
			return error_set(error, status_of_errno(errno),
							 "%s: cannot make a folder for the state of this run: %s; set TMPDIR to a folder where "
							 "one can be made",
							 path, strerror(errno));
		run->throwaway_lock = lock_folder(path);
	}
	if (run->throwaway_lock < 0)
		return error_set(error, FLOW_E_UNAVAILABLE, "%s: cannot lock it for the state of this run", path);
	memory_release(run->state_directory);
	run->state_directory = memory_copy_text(path, strlen(path));
	return run->state_directory == NULL ? error_set(error, FLOW_E_MEMORY, "out of memory") : FLOW_OK;
}

void
throwaway_close(runtime *run)
{
	if (run->throwaway_lock < 0)
		return;
	io_remove_tree(run->state_directory, NULL);
	close(run->throwaway_lock);
	run->throwaway_lock = -1;
}
