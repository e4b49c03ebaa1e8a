/*
 * base/distance.h - "did you mean": the nearest of some names.
 */
#ifndef BASE_DISTANCE_H
#define BASE_DISTANCE_H

#include <stddef.h>

/* Edit distance with transpositions. */
unsigned distance_of(const char *a, const char *b);
/* The nearest of `count` names if it is near enough to be meant (at most a third of the length, at least 1), else the only
 * one that begins with the word, else NULL. */
const char *distance_nearest(const char *word, const char *const *names, size_t count);

#endif
