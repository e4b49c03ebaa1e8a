#include "base/distance.h"

#include <string.h>

/* Longer words are told apart only by their first so many bytes. */
#define LONGEST 64
/* A word of so many letters may be the beginning of a name. */
#define SHORTENED 3

/* Optimal string alignment: insertions, deletions, replacements, swaps of neighbours. */
unsigned
distance_of(const char *a, const char *b)
{
	size_t length_a = strnlen(a, LONGEST), length_b = strnlen(b, LONGEST);
	unsigned rows[3][LONGEST + 1];
	unsigned *two_above = rows[0], *above = rows[1], *row = rows[2];
	for (size_t j = 0; j <= length_b; j++)
		above[j] = (unsigned)j;
	for (size_t i = 1; i <= length_a; i++) {
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= length_b; j++) {
			unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
			best = above[j] + 1 < best ? above[j] + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two_above[j - 2] + 1 < best)
				best = two_above[j - 2] + 1;
			row[j] = best;
		}
		unsigned *oldest = two_above;
		two_above = above;
		above = row;
		row = oldest;
	}
	return above[length_b];
}

/* The only name that begins with the word. */
static const char *
shortened(const char *word, unsigned length, const char *const *names, size_t count)
{
	const char *only = NULL;
	for (size_t i = 0; i < count; i++) {
		if (names[i] == NULL || strncmp(word, names[i], length) != 0)
			continue;
		if (only != NULL)
			return NULL;
		only = names[i];
	}
	return only;
}

const char *
distance_nearest(const char *word, const char *const *names, size_t count)
{
	unsigned length = (unsigned)strnlen(word, LONGEST), limit = length / 3;
	unsigned best = (limit == 0 ? 1 : limit) + 1;
	const char *nearest = NULL;
	for (size_t i = 0; i < count; i++) {
		unsigned distance = distance_of(word, names[i]);
		if (distance < best && distance < length) { /* something of the word must be left */
			best = distance;
			nearest = names[i];
		}
	}
	return nearest == NULL && length >= SHORTENED ? shortened(word, length, names, count) : nearest;
}
