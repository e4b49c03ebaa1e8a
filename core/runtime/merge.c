/* Several streams become one: what comes in goes on as it is. Watermarks, barriers and ends are combined by the node. */
#include "runtime/run.h"

static flow_status
merge_process(node *n, uint32_t input, const flow_batch *batch)
{
	(void)input;
	return node_emit(n, 0, batch);
}

const node_driver merge_driver = { .process = merge_process };
