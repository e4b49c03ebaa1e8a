/*
 * transfer/transfer_check.h - what is wrong with the groups `links` and `transfers` of a configuration.
 *
 * Their shape is checked (options of transfer_options.h, references to links), not the options of connectors.
 * Problems go to the configuration's list. Threads: [main].
 */
#ifndef TRANSFER_TRANSFER_CHECK_H
#define TRANSFER_TRANSFER_CHECK_H

#include "config/config.h"

/* Adds what is wrong to the problems. Returns 0: out of memory, which was reported too. */
int transfers_check(config *c);
/* Where the configuration has transfers, adds that this version does not run them; NULL: it has none. Whether that is an error is
 * the caller's: problems_warn. */
problem *transfers_report_idle(config *c);

#endif
