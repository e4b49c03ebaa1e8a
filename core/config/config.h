/*
 * config/config.h - configuration files in libconfig syntax, layers with provenance, and the effective value of each key.
 *
 * A file's top-level groups are `systems`, `streams`, `tables`, `operators`, `job` (layer 3), `application` (a notation for
 * descriptors, layer 4, read by core/graph), `jobs.<job-id>` (layer 6), `links` and `transfers` (read by core/transfer).
 * One key space: systems.<name>.*, streams.<id>.*, tables.<name>.*, operators.<name>.*, job.*.
 *
 * Ownership: everything lives in the configuration's arena. Threads: [main] until loaded, then read-only.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/arena.h"
#include "flow/error.h"
#include "options/problem.h"
#include "options/setting.h"

typedef struct config config;

config *config_create(arena *a, problems *list);
arena *config_arena(config *c);
problems *config_problems(config *c);

/* Loads a file with its @includes (layer 3 and up). Problems: syntax (one; the parser stops there), include loops with their
 * chain, integers beyond 64 bits or beyond 32 bits without L that libconfig would wrap, duplicate names with both lines,
 * unknown top-level groups, { env } and { file } that cannot be resolved. Returns 0 if the file could not be parsed. Later files
 * override earlier ones key by key. */
int config_load(config *c, const char *file);
/* Layer 7: "path.to.key=value"; the value is a libconfig value (without comments), or, where that does not parse, a string.
 * A segment with dots is quoted: streams.x."a.b"=1. Returns 0 if it could not be read (a problem was added). */
int config_set_command(config *c, const char *assignment);
/* A value as config_set_command reads it, of layer 7, for whoever puts it where it belongs. `path` is what messages call it. NULL: out
 * of memory (a problem was added). */
setting *config_value(config *c, const char *path, const char *text);
/* Adds a setting (made in the arena; its layer and origin set) under a key path of the key space: descriptors and the planner.
 * Planner settings are dropped where layers 3 or 4 have the key. The setting is copied: one may be put under several keys. */
void config_put(config *c, const char *const *key, size_t key_length, setting *value);

/* Takes a thing out of one layer again: what a logical stream had, once it is expanded. Nothing there is fine. Files stay as they are. */
void config_remove(config *c, uint8_t layer, const char *section, const char *name);

/* The raw group as written, for notations: "application", "links", "transfers"; NULL: none. */
const setting *config_root(const config *c, const char *name);
/* Files that were loaded, in order (for relative paths, watching). */
size_t config_file_count(const config *c);
const char *config_file(const config *c, size_t index);

/* Names that any layer has under "systems", "streams", "tables", "operators"; sorted; NULL-terminated. */
const char *const *config_names(config *c, const char *section);
/* Layer 6 is read only after the job's id is known. */
void config_use_job(config *c, const char *job_id);
/* The effective group of one thing: for each key the setting of the highest layer, `overrode` chained below it. `section`
 * "job" has no name (NULL). NULL: nobody set anything. */
setting *config_effective(config *c, const char *section, const char *name);

/* `flowd explain KEY`: the effective setting by its dotted path ("streams.flights.bootstrap"); outside of the key space
 * ("links.shop.url") what the files say. NULL: nobody set it. */
const setting *config_explain(config *c, const char *path);
/* As written in a file; secrets as ********. Lives in `a`. */
char *setting_print(arena *a, const setting *s);

#endif
