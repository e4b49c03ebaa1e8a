/*
 * config/reader.h - from a scanned text, through libconfig, to a tree of settings with places; and { env } and { file }.
 *
 * Ownership: settings live in the arena. Threads: [main].
 */
#ifndef CONFIG_READER_H
#define CONFIG_READER_H

#include "config/scan.h"
#include "options/setting.h"

/* Parses and converts. Settings get `layer`; `place` is the origin of what has no file ("--set"), else NULL. Duplicate names,
 * integers that do not fit and references that cannot be resolved are problems, and the walk goes on. NULL: the text could not be
 * parsed (reported). */
setting *reader_parse(const scan *s, problems *list, unsigned layer, const char *place);

/* config/reader_reference.c: replaces { env = "NAME"; } and { file = "path"; } by the string that is there, byte for byte. */
void reader_resolve(arena *a, problems *list, const char *folder, setting *s);

#endif
