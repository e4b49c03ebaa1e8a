/*
 * config/layers.h - merging trees of settings, key by key, and dotted paths.
 *
 * Leaves stay the objects that they are (so that a mark set on an effective setting is seen wherever it is shown); their
 * `overrode` is set anew by each merge. Groups are made anew. Threads: [main].
 */
#ifndef CONFIG_LAYERS_H
#define CONFIG_LAYERS_H

#include "base/arena.h"
#include "options/setting.h"

/* The tree `high` over `low` (which may be NULL, and may be the result of an earlier merge). Lists replace as a whole, groups
 * merge. A planner's setting is dropped where a file or a descriptor has the key. NULL: out of memory. */
setting *layers_merge(arena *a, setting *low, const setting *high);
/* Puts a setting under a key into a tree of one layer, making groups on the way; the last one wins, groups merge. The setting is
 * copied. Returns 0: out of memory. */
int layers_put(arena *a, setting *tree, const char *const *key, size_t key_length, const setting *value);
setting *layers_group(arena *a, const char *name, const setting *like);

/* Segments of a.b."c.d"; NULL: not a path (empty segment, quote without its other one), or out of memory. */
const char *const *layers_split(arena *a, const char *path, size_t size, size_t *count);

#endif
