/*
 * msgpack-c's packer, made to write at a pointer: its template with an append of ours, instead of a call through a pointer for each
 * piece. Whoever packs has made room before.
 *
 *     msgpack_pack_int64(&at, 5); msgpack_pack_str(&at, size); msgpack_pack_str_body(&at, text, size);
 */
#ifndef MSGPACK_PACKER_H
#define MSGPACK_PACKER_H

#include <msgpack/pack_define.h>
#include <msgpack/timestamp.h>
#include <string.h>

#define msgpack_pack_inline_func(name) static inline int msgpack_pack##name
#define msgpack_pack_inline_func_cint(name) static inline int msgpack_pack##name
#define msgpack_pack_inline_func_fixint(name) static inline int msgpack_pack_fix##name
#define msgpack_pack_user char **
#define msgpack_pack_append_buffer(user, bytes, count)                                                                 \
	do {                                                                                                               \
		memcpy(*(user), bytes, count);                                                                                 \
		*(user) += (count);                                                                                            \
		return 0;                                                                                                      \
	} while (0)

#include <msgpack/pack_template.h>

#endif
