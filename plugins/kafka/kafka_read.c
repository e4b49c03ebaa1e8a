/* Messages into batches. */
#include "kafka.h"
