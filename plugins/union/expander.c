/* From the members of a union to inputs, and one step that merges them. */
#include "union.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT_MAX 4096
#define DIGITS_MAX 9

/* "{first..last}" in a text. */
struct range {
	uint64_t begin, end; /* of the braces in the text */
	long first, last;
	int width; /* digits, with leading zeros; 0: none */
};

static int
read_number(const char **at, long *number, int *width)
{
	const char *start = *at;
	*number = 0;
	while (**at >= '0' && **at <= '9' && *at - start < DIGITS_MAX)
		*number = *number * 10 + (*(*at)++ - '0');
	*width = start[0] == '0' && *at - start > 1 ? (int)(*at - start) : 0;
	return *at != start;
}

static int
find_range(const char *text, struct range *found)
{
	for (const char *brace = strchr(text, '{'); brace != NULL; brace = strchr(brace + 1, '{')) {
		const char *at = brace + 1;
		int width;
		if (!read_number(&at, &found->first, &found->width) || at[0] != '.' || at[1] != '.')
			continue;
		at += 2;
		if (!read_number(&at, &found->last, &width) || at[0] != '}')
			continue;
		found->begin = (uint64_t)(brace - text);
		found->end = (uint64_t)(at + 1 - text);
		return 1;
	}
	return 0;
}

/* The text of member `index` of its range. */
static const char *
range_text(const char *text, uint64_t index, char buffer[TEXT_MAX])
{
	struct range found;
	if (!find_range(text, &found))
		return text;
	snprintf(buffer, TEXT_MAX, "%.*s%0*ld%s", (int)found.begin, text, found.width, found.first + (long)index,
			 text + found.end);
	return buffer;
}

struct expanding {
	const flow_host *host;
	const flow_stream_request *request;
	const flow_graph_ops *ops;
	flow_graph *graph;
	flow_error *error;
	flow_descriptor *first;  /* member */
	flow_descriptor *merged; /* the step, once there are two */
	uint64_t count;
};

static const char *
place_of(const flow_option_value *value)
{
	return value->place.size == 0 ? FLOW_HERE : value->place.data;
}

/* How many members a text stands for; 0: it is wrong, reported. Ranges of one member have one length. */
static uint64_t
text_members(const struct expanding *e, const flow_option_value *value, uint64_t before)
{
	struct range found;
	if (value->type != FLOW_OPTION_STRING || !find_range(value->text.data, &found))
		return before;
	long count = found.last - found.first + 1;
	if (value->text.size >= TEXT_MAX - DIGITS_MAX || count < 1 || count > UNION_MEMBERS_MAX) {
		flow_fail(e->host, e->error, FLOW_E_CONFIG, "%s: \"%.200s\" is no range of 1 to %d members", place_of(value),
				  value->text.data, UNION_MEMBERS_MAX);
		return 0;
	}
	if (before != 1 && before != (uint64_t)count) {
		flow_fail(e->host, e->error, FLOW_E_CONFIG,
				  "%s: \"%.200s\" stands for %ld members, but another range of this one for "
				  "%llu",
				  place_of(value), value->text.data, count, (unsigned long long)before);
		return 0;
	}
	return (uint64_t)count;
}

static uint64_t
count_members(const struct expanding *e, const flow_option_value *member)
{
	uint64_t count = 1;
	for (uint64_t i = 0; i < member->entry_count && count != 0; i++) {
		const flow_option_value *value = member->entries[i]->value;
		count = text_members(e, value, count);
		for (uint64_t k = 0; k < value->entry_count && count != 0; k++)
			count = text_members(e, value->entries[k]->value, count);
	}
	return count;
}

static void
set_property(const struct expanding *e, flow_descriptor *input, const char *name, const flow_option_value *value,
			 uint64_t index)
{
	char buffer[TEXT_MAX];
	const char *place = place_of(value);
	switch (value->type) {
	case FLOW_OPTION_INT:
		e->ops->set_int(input, name, value->integer, place);
		break;
	case FLOW_OPTION_FLOAT:
		e->ops->set_float(input, name, value->number, place);
		break;
	case FLOW_OPTION_BOOL:
		e->ops->set_bool(input, name, value->integer != 0, place);
		break;
	default:
		e->ops->set_text(input, name, range_text(value->text.data, index, buffer), place);
		break;
	}
}

static void
add_to_union(struct expanding *e, flow_descriptor *input, const char *place)
{
	if (e->count++ == 0) {
		e->first = input;
		return;
	}
	if (e->merged == NULL)
		e->merged = e->ops->step(e->graph, e->first, e->request->id.data, place);
	e->ops->merge(e->merged, input, place);
}

static flow_status
add_member(struct expanding *e, const flow_option_value *member, uint64_t index)
{
	char id[TEXT_MAX];
	const flow_option_value *system = flow_entries_find(member->entries, member->entry_count, flow_slice_of("system"));
	const flow_option_value *name =
		flow_entries_find(member->entries, member->entry_count, flow_slice_of("physical_name"));
	const flow_option_value *properties =
		flow_entries_find(member->entries, member->entry_count, flow_slice_of("properties"));
	if (system == NULL)
		return FLOW_OK; /* reported: it is required */
	if (e->count >= UNION_MEMBERS_MAX || e->request->id.size > TEXT_MAX - 32)
		return flow_fail(e->host, e->error, FLOW_E_LIMIT, "a union has at most %d members", UNION_MEMBERS_MAX);
	snprintf(id, sizeof(id), "%s-%llu", e->request->id.data, (unsigned long long)e->count + 1);
	const char *place = place_of(member);
	flow_descriptor *input = e->ops->descriptor(e->graph, FLOW_DESCRIBE_INPUT, id, place);
	e->ops->inherit(input, place);
	e->ops->set_system(input, system->text.data, place_of(system));
	if (name != NULL)
		set_property(e, input, "physical_name", name, index);
	for (uint64_t i = 0; properties != NULL && i < properties->entry_count; i++)
		set_property(e, input, properties->entries[i]->name.data, properties->entries[i]->value, index);
	add_to_union(e, input, place);
	return FLOW_OK;
}

flow_status
union_expand(const flow_host *host, const flow_options *options, const flow_stream_request *request,
			 const flow_graph_ops *ops, flow_graph *graph, flow_descriptor **result, flow_error *error)
{
	struct expanding e = { .host = host, .request = request, .ops = ops, .graph = graph, .error = error };
	const flow_option_value *members = flow_option_get(options, "members");
	if (members == NULL || members->entry_count == 0)
		return flow_fail(host, error, FLOW_E_CONFIG, "a union without members has no records");
	for (uint64_t i = 0; i < members->entry_count; i++) {
		const flow_option_value *member = members->entries[i]->value;
		uint64_t count = count_members(&e, member);
		flow_status status = count == 0 ? FLOW_E_CONFIG : FLOW_OK;
		for (uint64_t k = 0; k < count && status == FLOW_OK; k++)
			status = add_member(&e, member, k);
		if (status != FLOW_OK)
			return status;
	}
	if (e.count == 0)
		return flow_fail(host, error, FLOW_E_CONFIG, "no member of the union is usable");
	*result = e.merged != NULL ? e.merged : e.first;
	return FLOW_OK;
}
