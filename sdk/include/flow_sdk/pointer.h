/*
 * flow_sdk/pointer.h - the place of a fault as a JSON pointer, put together from its end while calls return.
 *
 * Threads: one at a time.
 */
#ifndef FLOW_SDK_POINTER_H
#define FLOW_SDK_POINTER_H

#include <stdio.h>

#include "flow/abi.h"

#define FLOW_POINTER_MAX 512 /* longer ones are cut at their beginning */

typedef struct flow_pointer {
	uint32_t at; /* the pointer is text + at */
	char text[FLOW_POINTER_MAX];
} flow_pointer;

static inline void
flow_pointer_reset(flow_pointer *pointer)
{
	pointer->at = FLOW_POINTER_MAX;
}

/* Puts "/name" before what is there. */
static inline void
flow_pointer_before(flow_pointer *pointer, flow_slice name)
{
	for (uint64_t i = name.size; i > 0 && pointer->at > 1; i--)
		pointer->text[--pointer->at] = name.data[i - 1];
	if (pointer->at > 0)
		pointer->text[--pointer->at] = '/';
}

static inline void
flow_pointer_before_index(flow_pointer *pointer, uint64_t index)
{
	char text[24];
	int size = snprintf(text, sizeof(text), "%llu", (unsigned long long)index);
	flow_pointer_before(pointer, flow_slice_make(text, (uint64_t)size));
}

static inline flow_slice
flow_pointer_text(const flow_pointer *pointer)
{
	return flow_slice_make(pointer->text + pointer->at, FLOW_POINTER_MAX - pointer->at);
}

/* As a rejection names it: a field of the record itself by its name, what is deeper by its pointer. */
static inline flow_slice
flow_pointer_field(const flow_pointer *pointer)
{
	flow_slice text = flow_pointer_text(pointer);
	if (text.size > 1 && memchr(text.data + 1, '/', text.size - 1) == NULL)
		return flow_slice_make(text.data + 1, text.size - 1);
	return text;
}

#endif
