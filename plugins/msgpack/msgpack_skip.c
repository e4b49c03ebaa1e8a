/* To the end of an object without looking at what it means: nesting is only a count, so depth costs nothing. */
#include "msgpack_serde.h"
#include "msgpack_wire.h"

flow_status
pack_skip_object(pack_skip *skip, const char *data, uint64_t *size)
{
	const char *at = data, *end = data + *size;
	flow_status status = FLOW_OK;
	while (status == FLOW_OK && (skip->items != 0 || skip->bytes != 0)) {
		uint64_t left = (uint64_t)(end - at);
		uint64_t step = skip->bytes < left ? skip->bytes : left;
		at += step;
		skip->bytes -= step;
		if (skip->bytes != 0)
			status = FLOW_AGAIN;
		if (status != FLOW_OK || skip->items == 0)
			continue;
		pack_item item = { 0 };
		status = pack_read(&at, end, &item);
		if (status != FLOW_OK)
			continue;
		skip->items--;
		skip->bytes = pack_body_size(&item);
		uint64_t children = item.type == PACK_MAP ? 2 * (uint64_t)item.size : item.type == PACK_ARRAY ? item.size : 0;
		skip->items = children > UINT64_MAX - skip->items ? UINT64_MAX : skip->items + children;
	}
	*size = (uint64_t)(at - data);
	return status;
}
