/* Transactions. */
#include "kafka.h"
