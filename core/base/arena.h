/*
 * base/arena.h - memory that is freed all at once. For what lives as long as a configuration or a plan; batches have
 * chunks of their own (base/batch.h).
 *
 * Threads: an arena belongs to one thread at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "flow/abi.h"

typedef struct arena arena;

arena *arena_create(void);    /* NULL: out of memory */
void arena_destroy(arena *a); /* NULL is allowed */
/* 16-byte aligned; NULL: out of memory. arena_allocate is not zeroed. */
void *arena_allocate(arena *a, size_t size);
void *arena_allocate_zeroed(arena *a, size_t size);
/* NUL-terminated copies; NULL: out of memory. */
char *arena_copy(arena *a, const char *text, size_t size);
char *arena_copy_text(arena *a, const char *text);
char *arena_format(arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_format_list(arena *a, const char *format, va_list arguments);
/* Calls release(owner) when the arena is destroyed, in reverse order. Returns 0 if out of memory (release was called). */
int arena_on_destroy(arena *a, void (*release)(void *owner), void *owner);

#endif
