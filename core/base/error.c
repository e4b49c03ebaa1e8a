#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static char out_of_memory[] = "out of memory";

static void
drop_text(char **text)
{
	if (*text != out_of_memory)
		memory_release(*text);
	*text = NULL;
}

static char *
format_text(const char *format, va_list arguments)
{
	va_list again;
	va_copy(again, arguments);
	int size = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (size < 0)
		return out_of_memory;
	char *text = memory_allocate((size_t)size + 1);
	if (text == NULL)
		return out_of_memory;
	vsnprintf(text, (size_t)size + 1, format, arguments);
	return text;
}

static flow_status
set(flow_error *error, flow_status status, const char *format, va_list arguments)
{
	if (error == NULL)
		return status;
	char *text = format_text(format, arguments); /* first: the arguments may point into the old message */
	drop_text(&error->message);
	error->message = text;
	error->status = status;
	error->flags = status_retryable(status) ? FLOW_ERROR_RETRYABLE : 0;
	return status;
}

static void
prefix(flow_error *error, const char *format, va_list arguments)
{
	if (error == NULL)
		return;
	char *before = format_text(format, arguments);
	size_t before_size = strlen(before);
	size_t size = before_size + strlen(error_message(error)) + 3;
	char *text = memory_allocate(size);
	if (text != NULL) {
		snprintf(text, size, "%s: %s", before, error_message(error));
		drop_text(&error->message);
		error->message = text;
	}
	drop_text(&before);
}

static void
flag(flow_error *error, uint32_t flags)
{
	if (error != NULL)
		error->flags |= flags;
}

static void
option(flow_error *error, const char *path)
{
	if (error == NULL)
		return;
	drop_text(&error->option);
	size_t size = strlen(path) + 1;
	error->option = memory_allocate(size);
	if (error->option != NULL)
		memcpy(error->option, path, size);
}

static flow_status
status(const flow_error *error)
{
	return error == NULL ? FLOW_OK : error->status;
}

static flow_error *
create(void)
{
	return memory_allocate_zeroed(sizeof(flow_error));
}

static void
free_error(flow_error *error)
{
	error_clear(error);
	memory_release(error);
}

const flow_error_ops error_ops = {
	.struct_size = FLOW_SIZEOF(flow_error_ops),
	.set = set,
	.prefix = prefix,
	.flag = flag,
	.option = option,
	.status = status,
	.message = error_message,
	.create = create,
	.free = free_error,
};

flow_status
error_set(flow_error *error, flow_status status, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	set(error, status, format, arguments);
	va_end(arguments);
	return status;
}

void
error_prefix(flow_error *error, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	prefix(error, format, arguments);
	va_end(arguments);
}

void
error_move(flow_error *to, flow_error *from)
{
	if (to == NULL) {
		error_clear(from);
		return;
	}
	error_clear(to);
	*to = *from;
	memset(from, 0, sizeof(*from));
}

void
error_clear(flow_error *error)
{
	if (error == NULL)
		return;
	drop_text(&error->message);
	drop_text(&error->option);
	error->status = FLOW_OK;
	error->flags = 0;
}

flow_status
error_settle(flow_error *error, flow_status status, const char *call)
{
	if (status == FLOW_OK)
		return FLOW_OK;
	if (status > 0)
		return error_set(error, FLOW_E_PLUGIN, "the plugin's call %s answers %d, which it may not", call, (int)status);
	if (error != NULL && error->message == NULL)
		error_set(error, status, "%s: %s", call, status_text(status));
	return status;
}

const char *
error_message(const flow_error *error)
{
	return error == NULL || error->message == NULL ? "" : error->message;
}

const char *
status_name(flow_status status)
{
	switch (status) {
#define NAME_CASE(name, value, text, retryable)                                                                        \
	case value:                                                                                                        \
		return #name;
		FLOW_STATUS_LIST(NAME_CASE)
#undef NAME_CASE
	case FLOW_OK:
		return "FLOW_OK";
	case FLOW_AGAIN:
		return "FLOW_AGAIN";
	case FLOW_END:
		return "FLOW_END";
	default:
		return "unknown status";
	}
}

const char *
status_text(flow_status status)
{
	switch (status) {
#define TEXT_CASE(name, value, text, retryable)                                                                        \
	case value:                                                                                                        \
		return text;
		FLOW_STATUS_LIST(TEXT_CASE)
#undef TEXT_CASE
	default:
		return status_name(status);
	}
}

int
status_retryable(flow_status status)
{
	switch (status) {
#define RETRYABLE_CASE(name, value, text, retryable)                                                                   \
	case value:                                                                                                        \
		return retryable;
		/* NOLINTNEXTLINE(bugprone-branch-clone): each has its own answer in the list */
		FLOW_STATUS_LIST(RETRYABLE_CASE)
#undef RETRYABLE_CASE
	default:
		return 0;
	}
}

flow_status
status_of_errno(int number)
{
	switch (number) {
	case 0:
		return FLOW_OK;
	case ENOMEM:
		return FLOW_E_MEMORY;
	case ENOENT:
	case ENOTDIR:
		return FLOW_E_NOT_FOUND;
	case EEXIST:
		return FLOW_E_EXISTS;
	case EACCES:
	case EPERM:
	case EROFS:
		return FLOW_E_DENIED;
	case ENOSPC:
	case EDQUOT:
		return FLOW_E_FULL;
	case EAGAIN:
	case EBUSY:
	case EMFILE:
	case ENFILE:
		return FLOW_E_UNAVAILABLE;
	case ETIMEDOUT:
		return FLOW_E_TIMEOUT;
	default:
		return FLOW_E_IO;
	}
}
