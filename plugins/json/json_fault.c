/* What is told of a text that cannot be read: where it is, as JSON pointer and byte, and what is wrong. */
#include <stdio.h>

#include "flow_sdk/cell.h"
#include "json_parser.h"

static uint64_t
put_key(char *to, uint64_t room, const char *key, uint32_t size)
{
	uint64_t at = 0;
	for (uint32_t i = 0; i < size && at + 2 < room; i++) {
		if (key[i] == '~' || key[i] == '/') {
			to[at++] = '~';
			to[at++] = key[i] == '~' ? '0' : '1';
		} else {
			to[at++] = key[i];
		}
	}
	return at;
}

static flow_slice
make_pointer(json_parser *p)
{
	uint64_t size = 0;
	for (uint32_t i = 0; i < p->depth && size + 32 < sizeof(p->pointer); i++) {
		const struct frame *f = &p->frames[i];
		if (f->kind == LIST) {
			size += (uint64_t)sprintf(p->pointer + size, "/%llu", (unsigned long long)f->items);
		} else if (f->key != NULL) {
			p->pointer[size++] = '/';
			size += put_key(p->pointer + size, sizeof(p->pointer) - size, f->key, f->key_size);
		}
	}
	return flow_slice_make(p->pointer, size);
}

/* Returns NULL, for the callers that return a place. */
const char *
json_fault_at(json_parser *p, const char *at, flow_status status, const char *reason)
{
	p->fault->status = status;
	p->fault->reason = reason;
	p->fault->offset = (uint64_t)(at - p->text);
	p->fault->pointer = make_pointer(p);
	return NULL;
}

const char *
json_fault_syntax(json_parser *p, const char *at, const char *expected)
{
	if (at >= p->end)
		snprintf(p->reason, sizeof(p->reason), "the text ends where %s is expected", expected);
	else if ((unsigned char)*at > 0x20 && (unsigned char)*at < 0x7F)
		snprintf(p->reason, sizeof(p->reason), "'%c' where %s is expected", *at, expected);
	else
		snprintf(p->reason, sizeof(p->reason), "byte 0x%02x where %s is expected", (unsigned char)*at, expected);
	return json_fault_at(p, at, FLOW_E_DECODE, p->reason);
}

const char *
json_fault_memory(json_parser *p)
{
	p->fault->status = FLOW_E_MEMORY;
	return NULL;
}

/* A value that its type does not take. A field of the document itself goes by its name. */
const char *
json_fault_type(json_parser *p, const char *at, const json_node *node, flow_status status, const char *what,
				flow_slice text)
{
	char type[96];
	if (status == FLOW_E_MEMORY)
		return json_fault_memory(p);
	flow_type_text(p->host, node->schema, type, sizeof(type));
	int size = (int)(text.size > 64 ? 64 : text.size);
	const char *verb = status == FLOW_E_TYPE ? "is not" : status == FLOW_E_RANGE ? "does not fit" : "cannot be read as";
	snprintf(p->reason, sizeof(p->reason), "%s %.*s%s %s %s", what, size, text.size == 0 ? "" : text.data,
			 text.size > 64 ? "..." : "", verb, type);
	json_fault_at(p, at, status, p->reason);
	if (p->depth == 1 && p->frames[0].kind == RECORD)
		p->fault->pointer = flow_slice_make(p->frames[0].key, p->frames[0].key_size);
	return NULL;
}
