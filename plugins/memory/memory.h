/*
 * The memory plugin: a table (and a system) that live in the process and end with it.
 */
#ifndef MEMORY_MEMORY_H
#define MEMORY_MEMORY_H

#include "flow/flow.h"

extern const flow_component table_component;
extern const flow_component system_component;

#endif
