/*
 * transfer/transfer_options.h - the option tables of links and transfers: what stands there whatever the connector is. `flowd help` and
 * the reference documents are made from them.
 *
 * A connector's own options stand beside these (its scopes "link", "from" and "to") and are judged by its tables, not here.
 */
#ifndef TRANSFER_TRANSFER_OPTIONS_H
#define TRANSFER_TRANSFER_OPTIONS_H

#include "flow/option.h"

extern const flow_option_set link_options;          /* links.<name> */
extern const flow_option_set transfer_options;      /* transfers.<name> */
extern const flow_option_set transfer_from_options; /* transfers.<name>.from */
extern const flow_option_set transfer_to_options;   /* transfers.<name>.to */

#endif
