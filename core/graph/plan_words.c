/* The words that plans are printed with, and what is asked about a plan. */
#include "graph/planner.h"

#define WORD(words, number) ((number) < FLOW_COUNT(words) && words[number] != NULL ? words[number] : "?")

const char *
operator_kind_name(uint32_t kind)
{
	static const char *const words[] = { NULL,         "source",       "sink",  "function",   "key_by",
										 "event_time", "dead_letters", "merge", "transformer" };
	return WORD(words, kind);
}

const char *
partitioning_name(uint32_t partitioning)
{
	static const char *const words[] = { NULL, "forward", "key", "shuffle", "global", "broadcast" };
	return WORD(words, partitioning);
}

const char *
stream_kind_name(uint32_t kind)
{
	static const char *const words[] = { "none", "global", "keyed", "non_keyed", "broadcast" };
	return WORD(words, kind);
}

const char *
record_errors_name(uint32_t policy)
{
	static const char *const words[] = { "none", "fail", "skip", "dead_letter" };
	return WORD(words, policy);
}

const char *
delivery_name(uint32_t delivery)
{
	static const char *const words[] = { "none", "at least once", "idempotent", "resumable", "one-phase" };
	return WORD(words, delivery);
}

const flow_schema *
plan_edge_key(const plan *p, const plan_edge *edge)
{
	const plan_operator *from = &p->operators[edge->from];
	int keyed = edge->partitioning == EDGE_FORWARD ? from->stream_kind[edge->output] == FLOW_STREAM_KEYED
												   : edge->partitioning == EDGE_KEY;
	return keyed ? from->key_schema[edge->output] : NULL;
}

const char *
plan_stream_kind(const plan *p, const plan_stream *stream)
{
	if (stream->direction == FLOW_DIRECTION_INPUT)
		return stream_kind_name(stream->broadcast ? FLOW_STREAM_BROADCAST : FLOW_STREAM_NON_KEYED);
	for (uint32_t i = 0; i < p->operator_count; i++)
		if (p->operators[i].stream != PLAN_NONE && &p->streams[p->operators[i].stream] == stream)
			return stream_kind_name(p->operators[i].stream_kind[0]);
	return NULL;
}

const char *
dead_letters_of(const plan *p, const plan_operator *o)
{
	/* A merge hands its records on unseen, and a dead letter that cannot be written has no other place to go. */
	if (p->dead_letters == PLAN_NONE || o->kind == OPERATOR_DEAD_LETTERS || o->kind == OPERATOR_MERGE)
		return NULL;
	int rejected = o->record_errors == RECORD_ERRORS_DEAD_LETTER, late = o->late == RECORD_ERRORS_DEAD_LETTER;
	return rejected && late ? "rejected, late" : rejected ? "rejected" : late ? "late" : NULL;
}
