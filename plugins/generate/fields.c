/* What a field's description means (generate.h). */
#include "generate.h"

#include <stdio.h>
#include <stdlib.h>

#define KEY_SIZE 16

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
	return flow_fail(host, error, FLOW_E_CONFIG,
	                 "%.*s: field %.*s: \"%s\" is none of sequence, int(LEAST,MOST), float(LOW,HIGH), bool, choice(A,B,...), "
	                 "key(NUMBER OF KEYS), string(BYTES), timestamp",
	                 (int)at->place.size, at->place.data, (int)name.size, name.data, at->text.data);
}

static flow_status
read_choices(const flow_host *host, struct field *field, const char *list, flow_error *error)
{
	uint64_t count = 1, size = strlen(list);
	for (const char *c = list; *c != '\0'; c++)
		count += *c == ',';
	field->choices = flow_new(host, count * sizeof(*field->choices));
	field->choice_sizes = flow_new(host, count * sizeof(*field->choice_sizes));
	char *copy = host->allocate(size + 1);
	if (field->choices == NULL || field->choice_sizes == NULL || copy == NULL) {
		host->release(copy);
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	}
	memcpy(copy, list, size + 1);
	copy[size - 1] = '\0'; /* the closing parenthesis */
	for (uint64_t i = 0; i < count; i++) {
		uint64_t length = strcspn(copy, ",");
		field->choices[i] = copy; /* the first one owns the memory of all */
		field->choice_sizes[i] = (uint32_t)length;
		copy += length + 1;
	}
	field->range = count;
	return FLOW_OK;
}

static flow_status
read_field(const flow_host *host, struct field *field, flow_slice name, const flow_option_value *value, flow_error *error)
{
	const char *text = value->text.data;
	long long least, most;
	double low, high;
	unsigned long long number;
	char end;
	field->name = host->allocate(name.size + 1);
	if (field->name == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	memcpy(field->name, name.data, name.size);
	field->name[name.size] = '\0';
	if (strcmp(text, "sequence") == 0) {
		field->kind = FIELD_SEQUENCE;
	} else if (strcmp(text, "bool") == 0) {
		field->kind = FIELD_BOOL;
	} else if (strcmp(text, "timestamp") == 0) {
		field->kind = FIELD_TIMESTAMP;
	} else if (sscanf(text, "int(%lld,%lld%c", &least, &most, &end) == 3 && end == ')' && least <= most) {
		field->kind = FIELD_INT;
		field->least = least;
		field->range = (uint64_t)most - (uint64_t)least + 1;
	} else if (sscanf(text, "float(%lf,%lf%c", &low, &high, &end) == 3 && end == ')' && low <= high) {
		field->kind = FIELD_FLOAT;
		field->low = low;
		field->width = high - low;
	} else if (sscanf(text, "key(%llu%c", &number, &end) == 2 && end == ')' && number > 0) {
		field->kind = FIELD_KEY;
		field->range = number;
	} else if (sscanf(text, "string(%llu%c", &number, &end) == 2 && end == ')' && number <= 1 << 20) {
		field->kind = FIELD_STRING;
		field->range = number;
	} else if (strncmp(text, "choice(", 7) == 0 && text[value->text.size - 1] == ')') {
		field->kind = FIELD_CHOICE;
		return read_choices(host, field, text + 7, error);
	} else {
		return bad_field(host, value, name, error);
	}
	return FLOW_OK;
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
		if (field->choices != NULL)
			fields->host->release(field->choices[0]);
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
		specs[i] = (flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec),
			                          .name = flow_slice_of(fields->items[i].name),
			                          .schema = schemas->parse_type(flow_slice_of(type_text(fields->items[i].kind)), error) };
		pointers[i] = &specs[i];
		good = specs[i].schema != NULL;
	}
	if (good)
		schema = schemas->make_record(flow_slice_of("generated"), pointers, fields->count, error);
	for (uint32_t i = 0; specs != NULL && i < fields->count; i++)
		if (specs[i].schema != NULL)
			schemas->release(specs[i].schema);
	host->release(specs);
	host->release(pointers);
	if (!good && host->errors->status(error) == FLOW_OK)
		flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	return schema;
}

int64_t
fields_event_time(const struct fields *fields, uint64_t number)
{
	return fields->start + (int64_t)number * fields->step;
}

static void
print_key(uint64_t key, char *text)
{
	memcpy(text, "key-000000000000", KEY_SIZE);
	for (int i = KEY_SIZE - 1; key != 0 && i >= 4; i--, key /= 10)
		text[i] = (char)('0' + key % 10);
}

int
fields_fill(const struct fields *fields, uint64_t number, flow_builder *builder, flow_value *cells)
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
			cells[i] = flow_timestamp(fields_event_time(fields, number), FLOW_MICROSECONDS, FLOW_ZONED);
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
