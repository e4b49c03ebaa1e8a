/*
 * base/io.h - files, behind one table of calls so that tests can inject every fault a disk has: a full one, a short
 * write, a failed or lost sync, a crash between any two calls.
 *
 * The calls are those of POSIX: -1 and errno on failure, descriptors are ints. Code of the core that must survive a
 * crash uses io_calls() and the helpers below, never open() and rename() themselves.
 *
 * Threads: all are [any]; io_use only while nothing else does I/O. Errors: the helpers name the path and the reason.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "flow/error.h"

typedef struct io_ops {
	int (*open)(const char *path, int flags, int mode); /* O_CLOEXEC is added */
	ssize_t (*read)(int descriptor, void *data, size_t size);
	ssize_t (*write)(int descriptor, const void *data, size_t size); /* may write less */
	int (*truncate)(int descriptor, int64_t size);
	int64_t (*size)(int descriptor);
	int (*sync)(int descriptor); /* also of folders */
	int (*close)(int descriptor);
	int (*rename)(const char *from, const char *to);
	int (*unlink)(const char *path);
	int (*make_directory)(const char *path, int mode);
	int (*remove_directory)(const char *path);
	int (*lock)(int descriptor); /* exclusive, without waiting; EWOULDBLOCK: somebody else has it. Ends with close */
	int (*exists)(const char *path); /* 1 or 0; -1: cannot tell */
	/* The names in a folder, each with a NUL behind it, into `memory`; NULL and errno on failure. Without "." and "..".
	 * */
	char *(*list)(const char *path, arena *memory, size_t *count);
} io_ops;

const io_ops *io_calls(void);
/* Tests: all calls go there from now on; NULL: to the system again. */
void io_use(const io_ops *ops);

/* The whole file, NUL-terminated behind its size, in `memory`. FLOW_E_LIMIT over `limit` bytes. */
flow_status io_read_file(const char *path, uint64_t limit, arena *memory, flow_slice *content, flow_error *error);
/* Writes all bytes, however many calls it takes. -1 and errno on failure. */
int io_write_all(int descriptor, const void *data, size_t size);
/* The file has this content or, on failure and after a crash, what it had before: written beside it ("<path>.new"),
 * synced, renamed, and the folder synced. A failure of that last sync is a failure: the outcome is then unknown. */
flow_status io_replace_file(const char *path, flow_slice content, flow_error *error);
/* The folder and its parents; each new one is synced into its parent. */
flow_status io_make_directories(const char *path, flow_error *error);
/* Makes names in the folder durable: after create, rename and unlink. */
flow_status io_sync_directory(const char *path, flow_error *error);
/* A file or a folder with all that is in it; FLOW_OK if there is none. Links are removed, not followed. */
flow_status io_remove_tree(const char *path, flow_error *error);
/* The folder part of a path in `memory` ("." if there is none); NULL: out of memory. */
char *io_directory_of(const char *path, arena *memory);

#endif
