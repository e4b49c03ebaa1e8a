/* What a field's description means (generate.h). */
#include "generate.h"

#include <math.h>
#include <stdlib.h>

#include "flow_sdk/number.h"

#define KEY_SIZE 16
#define MOST_KEYS UINT64_C(1000000000000) /* as many as the key's 12 digits tell apart */
#define MOST_TEXT (1 << 20)

/* SplitMix64: every output of a counter is well mixed, so values need no state. */
static uint64_t
mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t
below(uint64_t random, uint64_t range)
{
	return range == 0 ? random : (uint64_t)(((unsigned __int128)random * range) >> 64);
}

static flow_status
bad_field(const flow_host *host, const flow_option_value *at, flow_slice name, flow_error *error)
{
	return flow_fail(
		host, error, FLOW_E_CONFIG,
		"%.*s: field %.*s: \"%s\" is none of sequence, int(LEAST,MOST), float(LOW,HIGH), bool, choice(A,B,...), "
		"key(NUMBER OF KEYS), string(BYTES), timestamp",
		(int)at->place.size, at->place.data, (int)name.size, name.data, at->text.data);
}

/* The text inside `word(...)`; data NULL: the text is something else. */
static flow_slice
arguments_of(flow_slice text, const char *word)
{
	uint64_t size = strlen(word);
	if (text.size < size + 2 || memcmp(text.data, word, size) != 0 || text.data[size] != '(' ||
		text.data[text.size - 1] != ')')
		return flow_slice_make(NULL, 0);
	return flow_slice_make(text.data + size + 1, text.size - size - 2);
}

static flow_slice
trim(flow_slice text)
{
	for (; text.size != 0 && text.data[0] == ' '; text.size--)
		text.data++;
	while (text.size != 0 && text.data[text.size - 1] == ' ')
		text.size--;
	return text;
}

/* Cuts the text up to the next comma off the front. */
static flow_slice
next_argument(flow_slice *list)
{
	const char *comma = memchr(list->data, ',', list->size);
	uint64_t size = comma == NULL ? list->size : (uint64_t)(comma - list->data);
	flow_slice argument = trim(flow_slice_make(list->data, size));
	list->data += size + (comma != NULL);
	list->size -= size + (comma != NULL);
	return argument;
}

static flow_status
read_choices(const flow_host *host, struct field *field, flow_slice list, flow_error *error)
{
	uint64_t count = 1;
	for (uint64_t i = 0; i < list.size; i++)
		count += list.data[i] == ',';
	field->choices = flow_new(host, count * sizeof(*field->choices));
	field->choice_sizes = flow_new(host, count * sizeof(*field->choice_sizes));
	char *copy = host->allocate(list.size + 1);
	if (field->choices == NULL || field->choice_sizes == NULL || copy == NULL) {
		host->release(copy);
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	}
	field->choice_text = copy;
	for (uint64_t i = 0; i < count; i++) {
		flow_slice choice = next_argument(&list);
		if (choice.size != 0)
			memcpy(copy, choice.data, choice.size);
		field->choices[i] = copy;
		field->choice_sizes[i] = (uint32_t)choice.size;
		copy += choice.size;
	}
	field->range = count;
	return FLOW_OK;
}

static int
read_int_range(struct field *field, flow_slice arguments)
{
	int64_t least, most;
	if (flow_parse_int64(next_argument(&arguments), &least) != FLOW_OK ||
		flow_parse_int64(trim(arguments), &most) != FLOW_OK || least > most)
		return 0;
	field->kind = FIELD_INT;
	field->least = least;
	field->range = (uint64_t)most - (uint64_t)least + 1;
	return 1;
}

static int
read_float_range(struct field *field, flow_slice arguments)
{
	double low, high;
	if (flow_parse_float64(next_argument(&arguments), 0, &low) != FLOW_OK ||
		flow_parse_float64(trim(arguments), 0, &high) != FLOW_OK || low > high || !isfinite(high - low))
		return 0;
	field->kind = FIELD_FLOAT;
	field->low = low;
	field->width = high - low;
	return 1;
}

static int
read_size(struct field *field, uint32_t kind, flow_slice argument, uint64_t least, uint64_t most)
{
	field->kind = kind;
	return flow_parse_uint64(trim(argument), &field->range) == FLOW_OK && field->range >= least && field->range <= most;
}

/* 0: no such content. */
static int
read_content(struct field *field, flow_slice text)
{
	flow_slice arguments;
	if (flow_slice_is(text, "sequence"))
		field->kind = FIELD_SEQUENCE;
	else if (flow_slice_is(text, "bool"))
		field->kind = FIELD_BOOL;
	else if (flow_slice_is(text, "timestamp"))
		field->kind = FIELD_TIMESTAMP;
	else if ((arguments = arguments_of(text, "int")).data != NULL)
		return read_int_range(field, arguments);
	else if ((arguments = arguments_of(text, "float")).data != NULL)
		return read_float_range(field, arguments);
	else if ((arguments = arguments_of(text, "key")).data != NULL)
		return read_size(field, FIELD_KEY, arguments, 1, MOST_KEYS);
	else if ((arguments = arguments_of(text, "string")).data != NULL)
		return read_size(field, FIELD_STRING, arguments, 0, MOST_TEXT);
	else
		return 0;
	return 1;
}

static flow_status
read_field(const flow_host *host, struct field *field, flow_slice name, const flow_option_value *value,
		   flow_error *error)
{
	field->name = host->allocate(name.size + 1);
	if (field->name == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	memcpy(field->name, name.data, name.size);
	field->name[name.size] = '\0';
	flow_slice choices = arguments_of(value->text, "choice");
	if (choices.data != NULL) {
		field->kind = FIELD_CHOICE;
		return read_choices(host, field, choices, error);
	}
	return read_content(field, value->text) ? FLOW_OK : bad_field(host, value, name, error);
}

flow_status
fields_read(const flow_host *host, const flow_options *options, struct fields *fields, flow_error *error)
{
	const flow_option_value *list = flow_option_get(options, "fields");
	memset(fields, 0, sizeof(*fields));
	fields->host = host;
	fields->seed = (uint64_t)flow_option_int(options, "seed", 1);
	fields->start = flow_option_int(options, "start", 0);
	fields->step = flow_option_int(options, "step", 1000);
	fields->items = flow_new(host, (list->entry_count + 1) * sizeof(*fields->items));
	if (fields->items == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	for (uint64_t i = 0; i < list->entry_count; i++) {
		fields->count++;
		flow_status status =
			read_field(host, &fields->items[i], list->entries[i]->name, list->entries[i]->value, error);
		if (status != FLOW_OK) {
			fields_free(fields);
			return status;
		}
	}
	return FLOW_OK;
}

void
fields_free(struct fields *fields)
{
	for (uint32_t i = 0; i < fields->count; i++) {
		struct field *field = &fields->items[i];
		fields->host->release(field->name);
		fields->host->release(field->choice_text);
		fields->host->release(field->choices);
		fields->host->release(field->choice_sizes);
	}
	fields->host->release(fields->items);
	fields->items = NULL;
	fields->count = 0;
}

static const char *
type_text(uint32_t kind)
{
	switch (kind) {
	case FIELD_FLOAT:
		return "float64";
	case FIELD_BOOL:
		return "bool";
	case FIELD_CHOICE:
	case FIELD_KEY:
	case FIELD_STRING:
		return "string";
	case FIELD_TIMESTAMP:
		return "timestamp";
	default:
		return "int64";
	}
}

const flow_schema *
fields_schema(const struct fields *fields, flow_error *error)
{
	const flow_host *host = fields->host;
	const flow_schemas *schemas = host->get_service(FLOW_SERVICE_SCHEMAS);
	flow_field_spec *specs = flow_new(host, ((uint64_t)fields->count + 1) * sizeof(*specs));
	const flow_field_spec **pointers = flow_new(host, ((uint64_t)fields->count + 1) * sizeof(*pointers));
	const flow_schema *schema = NULL;
	int good = schemas != NULL && specs != NULL && pointers != NULL;
	for (uint32_t i = 0; good && i < fields->count; i++) {
		specs[i] =
			(flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec),
							   .name = flow_slice_of(fields->items[i].name),
							   .schema = schemas->parse_type(flow_slice_of(type_text(fields->items[i].kind)), error) };
		pointers[i] = &specs[i];
		good = specs[i].schema != NULL;
	}
	if (good)
		schema = schemas->make_record(flow_slice_of("generated"), pointers, fields->count, error);
	for (uint32_t i = 0; specs != NULL && schemas != NULL && i < fields->count; i++)
		if (specs[i].schema != NULL)
			schemas->release(specs[i].schema);
	host->release(specs);
	host->release(pointers);
	if (!good && host->errors->status(error) == FLOW_OK)
		flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	return schema;
}

int
fields_event_time(const struct fields *fields, uint64_t number, int64_t *time)
{
	return number <= INT64_MAX && !__builtin_mul_overflow((int64_t)number, fields->step, time) &&
		   !__builtin_add_overflow(*time, fields->start, time);
}

static void
print_key(uint64_t key, char *text)
{
	static const char head[4] = { 'k', 'e', 'y', '-' };
	memcpy(text, head, sizeof(head));
	for (int i = KEY_SIZE - 1; i >= 4; i--, key /= 10)
		text[i] = (char)('0' + key % 10);
}

int
fields_fill(const struct fields *fields, uint64_t number, int64_t time, flow_builder *builder, flow_value *cells)
{
	for (uint32_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->items[i];
		uint64_t random = mix(mix(fields->seed ^ ((uint64_t)i << 56)) ^ number);
		char *text;
		switch (field->kind) {
		case FIELD_SEQUENCE:
			cells[i] = flow_int64((int64_t)number);
			break;
		case FIELD_INT:
			cells[i] = flow_int64((int64_t)((uint64_t)field->least + below(random, field->range)));
			break;
		case FIELD_FLOAT:
			cells[i] = flow_float64(field->low + field->width * ((double)(random >> 11) * 0x1p-53));
			break;
		case FIELD_BOOL:
			cells[i] = flow_bool((int)(random & 1));
			break;
		case FIELD_TIMESTAMP:
			cells[i] = flow_timestamp(time, FLOW_MICROSECONDS, FLOW_ZONED);
			break;
		case FIELD_CHOICE: {
			uint64_t choice = below(random, field->range);
			text = (char *)(uintptr_t)flow_builder_copy(builder, field->choices[choice], field->choice_sizes[choice]);
			if (text == NULL)
				return 0;
			cells[i] = flow_string(text, field->choice_sizes[choice]);
			break;
		}
		case FIELD_KEY:
			text = flow_builder_alloc(builder, KEY_SIZE);
			if (text == NULL)
				return 0;
			print_key(below(random, field->range), text);
			cells[i] = flow_string(text, KEY_SIZE);
			break;
		default:
			text = flow_builder_alloc(builder, field->range + 1);
			if (text == NULL)
				return 0;
			for (uint64_t k = 0; k < field->range; k++) {
				if (k % 8 == 0 && k != 0)
					random = mix(random);
				text[k] = (char)('a' + (random >> (k % 8 * 8) & 0xff) % 26);
			}
			cells[i] = flow_string(text, (uint32_t)field->range);
			break;
		}
	}
	return 1;
}
