/*
 * options/utf8.h - which bytes are UTF-8 (RFC 3629: no surrogates, nothing overlong, nothing above U+10FFFF).
 *
 * Threads: [any].
 */
#ifndef OPTIONS_UTF8_H
#define OPTIONS_UTF8_H

#include <stddef.h>

/* How many bytes at the start of `text` are whole, valid characters; `size` if all are. */
size_t utf8_valid_prefix(const char *text, size_t size);

/* Writes `text` with each byte that belongs to no valid character as \xff, for texts that name things which may be any bytes. `to` has room
 * for UTF8_ESCAPED(size). Returns the bytes written. */
#define UTF8_ESCAPED(size) ((size)*4)
size_t utf8_escape(const char *text, size_t size, char *to);

#endif
