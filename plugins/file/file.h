/*
 * file.h - the parts of the plugin `file`: a system whose streams are files.
 *
 * path.c        what a path option means: patterns, "-", compression by suffix, the name of the temporary
 * reader.c      one file as a byte stream, decompressed
 * source.c      the system's source: a partition per file
 * compressor.c  bytes into a file, compressed in members or frames that end where they are asked to
 * writer.c      the system's writer: one growing temporary beside the target
 * committer.c   renames it once, at the end; removes what nobody needs
 */
#ifndef FILE_FILE_H
#define FILE_FILE_H

#include "flow/flow.h"
#include "flow_sdk/plugin.h"

#define COMPRESSION_NONE 0
#define COMPRESSION_GZIP 1
#define COMPRESSION_ZSTD 2
#define COMPRESSION_AUTO 3

struct reader;

struct flow_system {
	const flow_host *host;
	struct reader
		*held; /* pipes whose first bytes were looked at while planning; whoever opens them next goes on with these */
};

/* path.c ---------------------------------------------------------------------------------------------------------- */

/* Paths that an input names, patterns resolved, sorted within each pattern. Owned by the caller: path_list_free. */
struct path_list {
	char **items;
	uint64_t count;
	uint64_t room;
};

/* FLOW_E_NOT_FOUND: a path or pattern matches nothing. */
flow_status path_list_read(const flow_host *host, const flow_stream_request *request, struct path_list *list,
						   flow_error *error);
void path_list_free(const flow_host *host, struct path_list *list);
/* What the option `compression` says; COMPRESSION_AUTO: look at the path. */
uint32_t path_compression_option(const flow_stream_request *request);
uint32_t path_compression(uint32_t option, const char *path);
/* "-", or something that is there and is no regular file: no temporary, nothing to resume. */
int path_is_stream(const char *path);

/* The names of an output's files, kept beyond the call that had the request. */
struct path_names {
	const flow_host *host;
	char *path;
	char *suffix;  /* of temporaries: job and instance */
	int overwrite; /* what is there under the path may be replaced */
};

flow_status path_names_open(const flow_host *host, const flow_stream_request *request, struct path_names *names,
							flow_error *error);
void path_names_close(struct path_names *names);
/* The target of one task ("{task}" replaced), and its temporary beside it. From host memory; NULL: out of memory. */
char *path_target(const struct path_names *names, uint32_t task);
char *path_temporary(const struct path_names *names, const char *target);
/* The folder that a path lies in ("." if none), from host memory. */
char *path_folder(const flow_host *host, const char *path);
/* FLOW_E_NOT_FOUND: the folder that an output's path lies in is not there. Not asked where its name has the number of a task. */
flow_status path_check_folder(const flow_host *host, const char *path, flow_error *error);
/* Something is there that may not be replaced: FLOW_E_EXISTS. */
flow_status path_check_free(const struct path_names *names, const char *target, flow_error *error);
/* rename(2), or, where what is there may not be replaced, one that fails then: FLOW_E_EXISTS. */
flow_status path_rename(const struct path_names *names, const char *temporary, const char *target, flow_error *error);
/* fsync of the folder, so that a name in it is durable. */
flow_status path_sync_folder(const flow_host *host, const char *path, flow_error *error);
/* Keeps other writers away from an open temporary, until it is closed: FLOW_E_LOCKED. */
flow_status path_lock(const flow_host *host, const char *path, int descriptor, flow_error *error);
/* A failed call on a path: text and status from errno, with what to do about it. */
flow_status path_failed(const flow_host *host, flow_error *error, const char *doing, const char *path, int number);

/* reader.c -------------------------------------------------------------------------------------------------------- */

flow_status reader_open(const flow_host *host, const char *path, uint32_t compression, struct reader **reader,
						flow_error *error);
/* Goes to `offset` of the decompressed stream, READER_END: to its end. FLOW_E_POSITION_LOST: the file is shorter. */
#define READER_END UINT64_MAX
flow_status reader_seek(struct reader *reader, uint64_t offset, flow_error *error);
/* Up to `capacity` bytes; *size 0: the end. A cut or damaged compressed file is FLOW_E_CORRUPT with its place. FLOW_AGAIN: a pipe
 * gave nothing for 100 ms. */
flow_status reader_read(struct reader *reader, char *buffer, uint64_t capacity, uint64_t *size, flow_error *error);
/* What is read from here on is kept, and read again after reader_hold. */
void reader_keep(struct reader *reader);
/* Takes the reader out of use until somebody opens its path again. */
void reader_hold(flow_system *system, struct reader *reader);
/* The one that is held for the path, at its start; NULL: none. */
struct reader *reader_take_held(flow_system *system, const char *path);
uint64_t reader_offset(const struct reader *reader);      /* in the decompressed stream */
uint64_t reader_file_offset(const struct reader *reader); /* in the file */
void reader_close(struct reader *reader);

/* compressor.c ---------------------------------------------------------------------------------------------------- */

struct compressor;

flow_status compressor_open(const flow_host *host, const char *path, int descriptor, uint32_t compression, int level,
							uint64_t size, struct compressor **compressor, flow_error *error);
/* What a plain regular file has got of a write that fails is taken back, so that it can be tried again; where that cannot be, the
 * error is fatal. */
flow_status compressor_write(struct compressor *compressor, const char *data, uint64_t size, flow_error *error);
/* Begins a member or frame: an empty compressed file is one of its kind too. */
void compressor_begin(struct compressor *compressor);
/* Ends the member or frame: everything so far is in the file, and can be read by itself. */
flow_status compressor_end(struct compressor *compressor, flow_error *error);
/* What is in the file has reached the disk. */
flow_status compressor_sync(struct compressor *compressor, flow_error *error);
uint64_t compressor_size(const struct compressor *compressor); /* bytes in the file */
void compressor_close(struct compressor *compressor);          /* not the descriptor */

/* source.c, writer.c, committer.c: the system's functions ---------------------------------------------------------- */

flow_status source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info,
						flow_source **source, flow_error *error);
flow_status source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count,
							  flow_error *error);
flow_status source_assign(flow_source *source, uint32_t partition, flow_slice position, flow_error *error);
flow_status source_revoke(flow_source *source, uint32_t partition, flow_error *error);
void source_pause(flow_source *source, uint32_t partition, int paused);
flow_status source_read(flow_source *source, flow_builder *builder, flow_error *error);
flow_status source_position(flow_source *source, uint32_t partition, int64_t ordinal, void *bytes, uint64_t capacity,
							uint64_t *size, flow_error *error);
void source_remaining(flow_source *source, int64_t *records, int64_t *bytes);
void source_close(flow_source *source);

flow_status writer_open(flow_system *system, const flow_stream_request *request, uint32_t task, uint32_t task_count,
						const flow_handle *recovered, const flow_waker *waker, flow_writer **writer, flow_error *error);
flow_status writer_write(flow_writer *writer, const flow_batch *batch, uint32_t first, uint32_t *accepted,
						 flow_status *statuses, flow_error *error);
flow_status writer_flush(flow_writer *writer, flow_error *error);
flow_status writer_prepare(flow_writer *writer, uint64_t epoch, int last, flow_slice *handle, flow_error *error);
void writer_close(flow_writer *writer);

/* What a prepared handle says: so many bytes of the temporary are synced. */
#define HANDLE_SIZE 8
uint64_t handle_length(flow_slice bytes); /* UINT64_MAX: not one of ours */
void handle_make(uint64_t length, unsigned char bytes[HANDLE_SIZE]);

flow_status committer_open(flow_system *system, const flow_stream_request *request, flow_committer **committer,
						   flow_error *error);
flow_status committer_commit(flow_committer *committer, const flow_handle *const *handles, uint64_t count,
							 const flow_marker *marker, int last, flow_error *error);
flow_status committer_abort(flow_committer *committer, const flow_handle *const *keep, uint64_t count,
							flow_error *error);
void committer_close(flow_committer *committer);

#endif
