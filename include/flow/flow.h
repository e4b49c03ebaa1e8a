/* flow/flow.h - the whole ABI. Where to start: plugin.h, then the header of the component kind that you write. */
#ifndef FLOW_FLOW_H
#define FLOW_FLOW_H

#include "flow/abi.h"
#include "flow/application.h"
#include "flow/batch.h"
#include "flow/component.h"
#include "flow/connector.h"
#include "flow/error.h"
#include "flow/expander.h"
#include "flow/expression.h"
#include "flow/function.h"
#include "flow/host.h"
#include "flow/http.h"
#include "flow/option.h"
#include "flow/plugin.h"
#include "flow/schema.h"
#include "flow/serde.h"
#include "flow/store.h"
#include "flow/system.h"
#include "flow/table.h"
#include "flow/transformer.h"
#include "flow/value.h"

#endif
