/* The writer: one growing temporary beside the target; a handle is its synced length (file.h). */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct flow_writer {
	const flow_host *host;
	struct path_names names;
	char *target;
	char *temporary; /* NULL: a stream (standard output, a pipe) */
	int descriptor;
	uint32_t compression;
	struct compressor *compressor;
	int folder_synced; /* the temporary's name is durable */
	unsigned char handle[HANDLE_SIZE];
};

uint64_t
handle_length(flow_slice bytes)
{
	if (bytes.size != HANDLE_SIZE)
		return UINT64_MAX;
	uint64_t length = 0;
	for (int i = 0; i < HANDLE_SIZE; i++)
		length = length << 8 | (unsigned char)bytes.data[i];
	return length;
}

void
handle_make(uint64_t length, unsigned char bytes[HANDLE_SIZE])
{
	for (int i = HANDLE_SIZE - 1; i >= 0; i--, length >>= 8)
		bytes[i] = (unsigned char)length;
}

static flow_status
make_folders(const flow_host *host, char *path, flow_error *error)
{
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int failed = mkdir(path, 0777) != 0 && errno != EEXIST;
		flow_status status = failed ? path_failed(host, error, "cannot make the folder", path, errno) : FLOW_OK;
		*slash = '/';
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

static flow_status
check_target(const flow_writer *writer, flow_error *error)
{
	struct stat about;
	if (stat(writer->target, &about) == 0 && S_ISDIR(about.st_mode))
		return flow_fail(writer->host, error, FLOW_E_ARGUMENT, "%s: is a folder; name a file in it", writer->target);
	return FLOW_OK;
}

/* Cuts the temporary back to what the checkpoint knows. */
static flow_status
go_on_from(flow_writer *writer, const flow_handle *recovered, uint64_t *length, flow_error *error)
{
	const flow_host *host = writer->host;
	struct stat about;
	*length = handle_length(recovered->bytes);
	if (*length == UINT64_MAX)
		return flow_fail(host, error, FLOW_E_CORRUPT, "%s: the checkpoint's handle is not one of a file",
						 writer->target);
	if (fstat(writer->descriptor, &about) != 0)
		return path_failed(host, error, "cannot look at", writer->temporary, errno);
	if ((uint64_t)about.st_size < *length)
		return flow_fail(
			host, error, FLOW_E_CORRUPT,
			"%s: has %llu bytes, but the checkpoint knows of %llu; it was changed by somebody else. Start anew "
			"with --fresh",
			writer->temporary, (unsigned long long)about.st_size, (unsigned long long)*length);
	if (ftruncate(writer->descriptor, (off_t)*length) != 0 || lseek(writer->descriptor, 0, SEEK_END) < 0)
		return path_failed(host, error, "cannot cut back", writer->temporary, errno);
	return FLOW_OK;
}

static flow_status
open_temporary(flow_writer *writer, const flow_stream_request *request, const flow_handle *recovered, uint64_t *length,
			   flow_error *error)
{
	const flow_host *host = writer->host;
	writer->temporary = path_temporary(&writer->names, writer->target);
	if (writer->temporary == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	flow_status status = check_target(writer, error);
	if (status == FLOW_OK && recovered == NULL)
		status = path_check_free(&writer->names, writer->target, error);
	if (status == FLOW_OK && flow_option_bool(request->options, "make_folders", 0))
		status = make_folders(host, writer->target, error);
	if (status != FLOW_OK)
		return status;
	int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (recovered == NULL ? O_CREAT : 0);
	writer->descriptor = open(writer->temporary, flags, 0666);
	if (writer->descriptor < 0 && errno == ENOENT && recovered == NULL) {
		status = path_check_folder(host, writer->target, error);
		return status != FLOW_OK ? status : path_failed(host, error, "cannot open", writer->temporary, ENOENT);
	}
	if (writer->descriptor < 0 && errno == ENOENT)
		return flow_fail(
			host, error, FLOW_E_NOT_FOUND,
			"%s: the temporary with the job's output is gone; it cannot be gone on with. Start anew with --fresh",
			writer->temporary);
	if (writer->descriptor < 0)
		return path_failed(host, error, "cannot open", writer->temporary, errno);
	status = path_lock(host, writer->temporary, writer->descriptor, error);
	if (status == FLOW_OK && recovered != NULL)
		return go_on_from(writer, recovered, length, error);
	*length = 0;
	if (status == FLOW_OK && ftruncate(writer->descriptor, 0) != 0)
		status = path_failed(host, error, "cannot empty", writer->temporary, errno);
	return status;
}

/* A pipe without a reader is waited for, as long as the job is not to end. */
static flow_status
open_stream(flow_writer *writer, flow_error *error)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct stat about;
	int pipe = stat(writer->target, &about) == 0 && S_ISFIFO(about.st_mode);
	while ((writer->descriptor = open(writer->target, O_WRONLY | O_CLOEXEC | O_NONBLOCK)) < 0 && errno == ENXIO &&
		   pipe) {
		if (writer->host->cancelled())
			return flow_fail(writer->host, error, FLOW_E_CANCELLED, "%s: nobody reads it, and the job is to end",
							 writer->target);
		nanosleep(&pause, NULL);
	}
	if (writer->descriptor < 0 || fcntl(writer->descriptor, F_SETFL, O_WRONLY) != 0)
		return path_failed(writer->host, error, "cannot open", writer->target, errno);
	return FLOW_OK;
}

static flow_status
open_target(flow_writer *writer, const flow_stream_request *request, uint32_t task, const flow_handle *recovered,
			uint64_t *length, flow_error *error)
{
	flow_status status = path_names_open(writer->host, request, &writer->names, error);
	if (status != FLOW_OK)
		return status;
	writer->target = path_target(&writer->names, task);
	if (writer->target == NULL)
		return flow_fail(writer->host, error, FLOW_E_MEMORY, "out of memory");
	if (strcmp(writer->target, "-") == 0)
		writer->descriptor = STDOUT_FILENO;
	else if (path_is_stream(writer->target))
		return open_stream(writer, error);
	else
		return open_temporary(writer, request, recovered, length, error);
	return FLOW_OK;
}

flow_status
writer_open(flow_system *system, const flow_stream_request *request, uint32_t task, uint32_t task_count,
			const flow_handle *recovered, const flow_waker *waker, flow_writer **result, flow_error *error)
{
	(void)task_count;
	(void)waker;
	const flow_host *host = system->host;
	flow_writer *writer = flow_new(host, sizeof(*writer));
	if (writer == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	writer->host = host;
	writer->descriptor = -1;
	uint64_t length = 0;
	flow_status status = open_target(writer, request, task, recovered, &length, error);
	if (status == FLOW_OK) {
		writer->compression = path_compression(path_compression_option(request), writer->target);
		status =
			compressor_open(host, writer->temporary != NULL ? writer->temporary : writer->target, writer->descriptor,
							writer->compression, (int)flow_option_int(request->options, "level", 1), length,
							&writer->compressor, error);
	}
	if (status != FLOW_OK)
		writer_close(writer);
	else
		*result = writer;
	return status;
}

void
writer_close(flow_writer *writer)
{
	compressor_close(writer->compressor);
	if (writer->descriptor >= 0 && writer->descriptor != STDOUT_FILENO)
		close(writer->descriptor);
	if (writer->names.host != NULL)
		path_names_close(&writer->names);
	writer->host->release(writer->target);
	writer->host->release(writer->temporary);
	writer->host->release(writer);
}

flow_status
writer_write(flow_writer *writer, const flow_batch *batch, uint32_t first, uint32_t *accepted, flow_status *statuses,
			 flow_error *error)
{
	*accepted = 0;
	for (uint32_t i = first; i < batch->selected_count; i++) {
		const flow_value *value = &batch->value[flow_row(batch, i)];
		if (value->type == FLOW_BYTES || value->type == FLOW_STRING) {
			flow_status status = compressor_write(writer->compressor, value->as.text, value->size, error);
			if (status != FLOW_OK)
				return status;
		} else if (statuses != NULL) {
			statuses[i] = FLOW_E_TYPE; /* a file has no place for a record without value */
		}
		++*accepted;
	}
	return FLOW_OK;
}

flow_status
writer_flush(flow_writer *writer, flow_error *error)
{
	flow_status status = compressor_end(writer->compressor, error);
	return status == FLOW_OK && writer->temporary != NULL ? compressor_sync(writer->compressor, error) : status;
}

flow_status
writer_prepare(flow_writer *writer, uint64_t epoch, int last, flow_slice *handle, flow_error *error)
{
	(void)epoch;
	if (last && compressor_size(writer->compressor) == 0)
		compressor_begin(writer->compressor);
	flow_status status = writer_flush(writer, error);
	if (status == FLOW_OK && writer->temporary != NULL && !writer->folder_synced) {
		status = path_sync_folder(writer->host, writer->temporary, error);
		writer->folder_synced = status == FLOW_OK;
	}
	if (status != FLOW_OK)
		return status;
	handle_make(compressor_size(writer->compressor), writer->handle);
	*handle = flow_slice_make(writer->handle, HANDLE_SIZE);
	return FLOW_OK;
}
