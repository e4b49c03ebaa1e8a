/* Parsing Canonical Form of schemas, and its CRC-64-AVRO fingerprint. Made when something is opened, never for records. */
#include <jansson.h>
#include <stdio.h>

#include "avro.h"

struct form {
	const flow_host *host;
	char *text;
	uint64_t size;
	uint64_t capacity;
	int failed; /* out of memory */
};

static void put_schema(struct form *f, const json_t *json, const char *name_space);

static void
put(struct form *f, const char *text, uint64_t size)
{
	if (f->capacity - f->size < size + 1) {
		uint64_t capacity = (f->size + size + 1) * 2;
		char *grown = f->failed ? NULL : (char *)f->host->reallocate(f->text, capacity);
		if (grown == NULL) {
			f->failed = 1;
			return;
		}
		f->text = grown;
		f->capacity = capacity;
	}
	memcpy(f->text + f->size, text, size);
	f->size += size;
	f->text[f->size] = '\0';
}

static void
put_text(struct form *f, const char *text)
{
	put(f, text, strlen(text));
}

/* Names and symbols of parsed schemas hold nothing that JSON escapes. */
static void
put_quoted(struct form *f, const char *text)
{
	put_text(f, "\"");
	put_text(f, text == NULL ? "" : text);
	put_text(f, "\"");
}

static int
is_primitive(const char *name)
{
	static const char *const names[] = { "null", "boolean", "int", "long", "float", "double", "bytes", "string" };
	for (size_t i = 0; i < FLOW_COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return 1;
	return 0;
}

static void
put_name(struct form *f, const char *name, const char *name_space)
{
	put_text(f, "\"");
	if (strchr(name, '.') == NULL && name_space[0] != '\0' && !is_primitive(name)) {
		put_text(f, name_space);
		put_text(f, ".");
	}
	put_text(f, name);
	put_text(f, "\"");
}

static void
put_fields(struct form *f, const json_t *fields, const char *name_space)
{
	size_t i;
	const json_t *field;
	put_text(f, ",\"fields\":[");
	json_array_foreach((json_t *)(uintptr_t)fields, i, field)
	{
		put_text(f, i == 0 ? "{\"name\":" : ",{\"name\":");
		put_quoted(f, json_string_value(json_object_get(field, "name")));
		put_text(f, ",\"type\":");
		put_schema(f, json_object_get(field, "type"), name_space);
		put_text(f, "}");
	}
	put_text(f, "]");
}

static void
put_symbols(struct form *f, const json_t *symbols)
{
	size_t i;
	const json_t *symbol;
	put_text(f, ",\"symbols\":[");
	json_array_foreach((json_t *)(uintptr_t)symbols, i, symbol)
	{
		put_text(f, i == 0 ? "" : ",");
		put_quoted(f, json_string_value(symbol));
	}
	put_text(f, "]");
}

static void
put_named(struct form *f, const json_t *json, const char *type, const char *name_space)
{
	const char *name = json_string_value(json_object_get(json, "name"));
	const json_t *space = json_object_get(json, "namespace");
	if (name == NULL)
		name = "";
	if (json_is_string(space))
		name_space = json_string_value(space);
	char inner[1100] = "";
	const char *dot = strrchr(name, '.');
	if (dot != NULL && (size_t)(dot - name) < sizeof(inner))
		memcpy(inner, name, (size_t)(dot - name));
	put_text(f, "{\"name\":");
	put_name(f, name, name_space);
	if (dot != NULL)
		name_space = inner;
	int is_error = strcmp(type, "error") == 0;
	put_text(f, ",\"type\":");
	put_quoted(f, is_error ? "record" : type);
	if (strcmp(type, "enum") == 0)
		put_symbols(f, json_object_get(json, "symbols"));
	else if (strcmp(type, "record") == 0 || is_error)
		put_fields(f, json_object_get(json, "fields"), name_space);
	else {
		char size[40];
		json_int_t number = json_integer_value(json_object_get(json, "size"));
		snprintf(size, sizeof(size), ",\"size\":%lld", (long long)number);
		put_text(f, size);
	}
	put_text(f, "}");
}

static void
put_object(struct form *f, const json_t *json, const char *name_space)
{
	const json_t *type = json_object_get(json, "type");
	const char *name = json_string_value(type);
	if (name == NULL) {
		put_schema(f, type, name_space);
		return;
	}
	if (strcmp(name, "array") == 0 || strcmp(name, "map") == 0) {
		put_text(f, name[0] == 'a' ? "{\"type\":\"array\",\"items\":" : "{\"type\":\"map\",\"values\":");
		put_schema(f, json_object_get(json, name[0] == 'a' ? "items" : "values"), name_space);
		put_text(f, "}");
	} else if (strcmp(name, "record") == 0 || strcmp(name, "error") == 0 || strcmp(name, "enum") == 0 ||
			   strcmp(name, "fixed") == 0) {
		put_named(f, json, name, name_space);
	} else {
		put_name(f, name, name_space);
	}
}

static void
put_schema(struct form *f, const json_t *json, const char *name_space)
{
	if (json_is_string(json)) {
		put_name(f, json_string_value(json), name_space);
	} else if (json_is_object(json)) {
		put_object(f, json, name_space);
	} else {
		size_t i;
		const json_t *branch;
		put_text(f, "[");
		json_array_foreach((json_t *)(uintptr_t)json, i, branch)
		{
			put_text(f, i == 0 ? "" : ",");
			put_schema(f, branch, name_space);
		}
		put_text(f, "]");
	}
}

flow_slice
avro_canonical_form(const flow_host *host, flow_slice schema_text)
{
	struct form f = { .host = host };
	json_t *json = json_loadb(schema_text.data, schema_text.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (json != NULL)
		put_schema(&f, json, "");
	json_decref(json);
	if (json != NULL && !f.failed)
		return flow_slice_make(f.text, f.size);
	host->release(f.text);
	return flow_slice_make(NULL, 0);
}

#define EMPTY 0xc15d213aa4d7a795u

uint64_t
avro_crc64(const void *data, uint64_t size)
{
	uint64_t crc = EMPTY;
	for (uint64_t i = 0; i < size; i++) {
		crc ^= ((const uint8_t *)data)[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (EMPTY & (0 - (crc & 1)));
	}
	return crc;
}

uint64_t
avro_fingerprint(const flow_host *host, flow_slice schema_text)
{
	flow_slice form = avro_canonical_form(host, schema_text);
	if (form.data == NULL)
		return 0;
	uint64_t crc = avro_crc64(form.data, form.size);
	host->release((void *)(uintptr_t)form.data);
	return crc;
}
