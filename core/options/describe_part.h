/* options/describe_part.h - what the two files of describe share. Private to this room. */
#ifndef OPTIONS_DESCRIBE_PART_H
#define OPTIONS_DESCRIBE_PART_H

#include "options/describe.h"

#define DESCRIBE_MAX_DEPTH 8 /* groups within groups */

/* Returns 0 to stop. */
typedef int (*describe_visit)(void *context, const char *path, const flow_option *option);
/* Every option of every set with its members; paths begin with the scope. Returns 0 if a visit stopped it. */
int describe_walk(const describe_subject *subject, describe_visit visit, void *context);

#endif
