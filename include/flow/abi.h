/*
 * flow/abi.h - versions, calling marks and the few types that everything else in the ABI uses.
 *
 * Rules that hold for every header in this folder:
 *  - C11 (and C++17), no include beyond libc. No enums, bitfields or `long` in structs; sizes are explicit.
 *  - Every struct that crosses the boundary starts with `struct_size` (set it with FLOW_SIZEOF), except the fixed
 *    cells flow_value, flow_slice, flow_decimal, flow_list, flow_map(_entry), flow_header(s) and flow_store_write, which are
 *    frozen per major.
 *  - Structs only grow at their end. A reader uses FLOW_HAS before it touches a member that was added later.
 *    Zero means "absent"; where zero is a legal value a presence flag stands beside it.
 *  - Every function pointer is marked with who may call it and when:
 *      [main]  the planning thread, before any task runs or after all have ended; never concurrently.
 *      [control] the job's one control thread, while tasks run: what it touches together with [task] calls needs a lock.
 *      [task]  the thread that runs the owning task; one call at a time per instance, perhaps another thread later.
 *      [any]   any thread, concurrently.
 *      blocking-ok  the call may block; without this mark it must return quickly (well under a millisecond).
 *  - No call on an instance comes after its close has begun. After a failed open there is no instance and no close.
 *  - A plugin may start threads of its own (block all signals in them); they may use what is marked [any], and end before
 *    the instance's close returns. Memory that never crosses the boundary may come from malloc.
 *  - Memory handed to a call is borrowed until the call returns, unless the comment says otherwise. The module
 *    that allocated frees.
 */
#ifndef FLOW_ABI_H
#define FLOW_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#define FLOW_EXTERN_C extern "C"
extern "C" {
#else
#define FLOW_EXTERN_C
#endif

/* Until the ABI is frozen the major is 0, and the minor of plugin and host must be equal. */
#define FLOW_ABI_MAJOR 0
#define FLOW_ABI_MINOR 4
#define FLOW_ABI_VERSION(major, minor) (((uint32_t)(major) << 16) | (uint32_t)(minor))
#define FLOW_ABI FLOW_ABI_VERSION(FLOW_ABI_MAJOR, FLOW_ABI_MINOR)

/* The one exported name of a plugin. */
#define FLOW_PLUGIN_ENTRY flow_plugin_v0
#define FLOW_PLUGIN_ENTRY_NAME "flow_plugin_v0"
#define FLOW_EXPORT FLOW_EXTERN_C __attribute__((visibility("default")))

#define FLOW_SIZEOF(type) ((uint32_t)sizeof(type))
/* True if the struct that `pointer` points at was built with `member` in it. */
#define FLOW_HAS(pointer, member)                                                                                      \
	((pointer)->struct_size >= offsetof(__typeof__(*(pointer)), member) + sizeof((pointer)->member))
/* True if the (optional) function `member` is there and set. */
#define FLOW_CAN(ops, member) ((ops) != NULL && FLOW_HAS(ops, member) && (ops)->member != NULL)

#define FLOW_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Bytes that somebody else owns. Not NUL-terminated. `data` may be NULL only if `size` is 0. */
typedef struct flow_slice {
	const char *data;
	uint64_t size;
} flow_slice;

static inline flow_slice
flow_slice_of(const char *text)
{
	flow_slice slice = { text, text == NULL ? 0 : strlen(text) };
	return slice;
}

static inline flow_slice
flow_slice_make(const void *data, uint64_t size)
{
	flow_slice slice = { (const char *)data, size };
	return slice;
}

static inline int
flow_slice_equal(flow_slice a, flow_slice b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline int
flow_slice_is(flow_slice a, const char *text)
{
	return flow_slice_equal(a, flow_slice_of(text));
}

#ifdef __cplusplus
}
#endif
#endif
