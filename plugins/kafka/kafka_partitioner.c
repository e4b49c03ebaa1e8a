/* The partition of a record. */
#include "kafka.h"
