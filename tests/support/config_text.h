/*
 * support/config_text.h - configurations from text, for tests: an arena, a folder of its own, files in it, and what was reported.
 *
 * The folder is the current one while the fixture lives, so that messages name files as a user would.
 */
#ifndef SUPPORT_CONFIG_TEXT_H
#define SUPPORT_CONFIG_TEXT_H

#include "config/config.h"

typedef struct config_text {
	arena *arena;
	problems *list;
	config *config;
	char folder[64];
	char before[512]; /* the folder to go back to */
} config_text;

void config_text_open(config_text *t);
void config_text_close(config_text *t); /* removes the folder */
/* Writes a file ("parts/a.conf": folders are made). */
void config_text_write(const char *file, const char *text, size_t size);
/* Writes "flowd.conf" and loads it; returns what config_load says. */
int config_text_load(config_text *t, const char *text);
/* All problems as text, sorted; lives in the arena. */
const char *config_text_problems(config_text *t);

#endif
