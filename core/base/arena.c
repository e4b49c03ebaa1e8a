#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define CHUNK_SIZE ((size_t)16 * 1024)
#define ALIGNMENT ((size_t)16)

struct chunk {
	struct chunk *next;
	size_t used;
	size_t size;
	size_t padding; /* keeps `data` 16-byte aligned */
	char data[];
};

struct cleanup {
	struct cleanup *next;
	void (*release)(void *owner);
	void *owner;
};

struct arena {
	struct chunk *chunks; /* the first one is filled */
	struct cleanup *cleanups;
};

arena *
arena_create(void)
{
	return memory_allocate_zeroed(sizeof(arena));
}

void
arena_destroy(arena *a)
{
	if (a == NULL)
		return;
	for (struct cleanup *c = a->cleanups; c != NULL; c = c->next)
		c->release(c->owner);
	for (struct chunk *c = a->chunks, *next; c != NULL; c = next) {
		next = c->next;
		memory_release(c);
	}
	memory_release(a);
}

void *
arena_allocate(arena *a, size_t size)
{
	size = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	if (size == 0)
		size = ALIGNMENT;
	struct chunk *c = a->chunks;
	if (c == NULL || c->size - c->used < size) {
		size_t capacity = size > CHUNK_SIZE / 4 ? size : CHUNK_SIZE;
		struct chunk *fresh = memory_allocate(sizeof(*fresh) + capacity);
		if (fresh == NULL)
			return NULL;
		fresh->used = 0;
		fresh->size = capacity;
		if (capacity == size && c != NULL) { /* a large one of its own: keep filling the current chunk */
			fresh->next = c->next;
			c->next = fresh;
		} else {
			fresh->next = c;
			a->chunks = fresh;
		}
		c = fresh;
	}
	void *memory = c->data + c->used;
	c->used += size;
	return memory;
}

void *
arena_allocate_zeroed(arena *a, size_t size)
{
	void *memory = arena_allocate(a, size);
	if (memory != NULL)
		memset(memory, 0, size);
	return memory;
}

char *
arena_copy(arena *a, const char *text, size_t size)
{
	char *copy = arena_allocate(a, size + 1);
	if (copy == NULL)
		return NULL;
	if (size != 0)
		memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

char *
arena_copy_text(arena *a, const char *text)
{
	return arena_copy(a, text, strlen(text));
}

char *
arena_format_list(arena *a, const char *format, va_list arguments)
{
	va_list again;
	va_copy(again, arguments);
	int size = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (size < 0)
		return NULL;
	char *text = arena_allocate(a, (size_t)size + 1);
	if (text != NULL)
		vsnprintf(text, (size_t)size + 1, format, arguments);
	return text;
}

char *
arena_format(arena *a, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	char *text = arena_format_list(a, format, arguments);
	va_end(arguments);
	return text;
}

int
arena_on_destroy(arena *a, void (*release)(void *owner), void *owner)
{
	struct cleanup *c = arena_allocate(a, sizeof(*c));
	if (c == NULL) {
		release(owner);
		return 0;
	}
	c->release = release;
	c->owner = owner;
	c->next = a->cleanups;
	a->cleanups = c;
	return 1;
}
