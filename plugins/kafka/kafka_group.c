/* Partitions from a consumer group. */
#include "kafka.h"
