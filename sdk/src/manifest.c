/* Writes a plugin's tables as JSON (flow_sdk/manifest.h). */
#include <stdio.h>
#include <string.h>

#include "flow_sdk/manifest.h"

#define MEMBER_DEPTH 8 /* groups within groups */

static const char digest_member[] = ",\"digest\":\"";

/* A text that counts on beyond its room, and its digest so far (FNV-1a, 64 bits: it guards against mistakes, not attacks). */
struct text {
	char *buffer;
	uint64_t size;
	uint64_t length;
	uint64_t digest;
};

static uint64_t
digest_add(uint64_t digest, const char *data, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		digest = (digest ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
	return digest;
}

#define DIGEST_START UINT64_C(0xcbf29ce484222325)

static void
put(struct text *text, const char *data, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		if (text->length + i + 1 < text->size)
			text->buffer[text->length + i] = data[i];
	text->length += size;
	text->digest = digest_add(text->digest, data, size);
}

static void
put_text(struct text *text, const char *plain)
{
	put(text, plain, strlen(plain));
}

static void
put_number(struct text *text, uint64_t number)
{
	char digits[24];
	put(text, digits, (uint64_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number));
}

static void
put_string(struct text *text, const char *string)
{
	if (string == NULL) {
		put_text(text, "null");
		return;
	}
	put_text(text, "\"");
	for (; *string != '\0'; string++) {
		unsigned char c = (unsigned char)*string;
		char escaped[8];
		if (c == '"' || c == '\\')
			put(text, escaped, (uint64_t)snprintf(escaped, sizeof(escaped), "\\%c", c));
		else if (c < 0x20 || c == 0x7f)
			put(text, escaped, (uint64_t)snprintf(escaped, sizeof(escaped), "\\u%04x", c));
		else
			put(text, string, 1);
	}
	put_text(text, "\"");
}

/* `,"name":"value"`, or nothing where there is no value. */
static void
put_member(struct text *text, const char *name, const char *value)
{
	if (value == NULL)
		return;
	put_text(text, ",");
	put_string(text, name);
	put_text(text, ":");
	put_string(text, value);
}

static void
put_true(struct text *text, const char *name, int truth)
{
	if (!truth)
		return;
	put_text(text, ",");
	put_string(text, name);
	put_text(text, ":true");
}

static void
put_strings(struct text *text, const char *name, const char *const *strings)
{
	if (strings == NULL)
		return;
	put_text(text, ",");
	put_string(text, name);
	put_text(text, ":[");
	for (size_t i = 0; strings[i] != NULL; i++) {
		put_text(text, i == 0 ? "" : ",");
		put_string(text, strings[i]);
	}
	put_text(text, "]");
}

static void put_options(struct text *text, const flow_option *const *options, int depth);

static void
put_option(struct text *text, const flow_option *option, int depth)
{
	put_text(text, "{\"name\":");
	put_string(text, option->name);
	put_member(text, "type", flow_option_type_name(option->type));
	if (option->type == FLOW_OPTION_LIST || option->type == FLOW_OPTION_MAP)
		put_member(text, "element", flow_option_type_name(option->element));
	put_true(text, "required", (option->flags & FLOW_OPTION_REQUIRED) != 0);
	put_true(text, "reloadable", (option->flags & FLOW_OPTION_RELOADABLE) != 0);
	put_true(text, "primary", (option->flags & FLOW_OPTION_PRIMARY) != 0);
	put_true(text, "by_connector", (option->flags & FLOW_OPTION_BY_CONNECTOR) != 0);
	put_true(text, "or_one", (option->flags & FLOW_OPTION_OR_ONE) != 0);
	put_true(text, "address_host", (option->flags & FLOW_OPTION_ADDRESS_HOST) != 0);
	put_true(text, "address_path", (option->flags & FLOW_OPTION_ADDRESS_PATH) != 0);
	put_member(text, "doc", option->doc);
	put_member(text, "example", option->example);
	put_member(text, "default", option->default_text);
	put_member(text, "minimum", option->minimum);
	put_member(text, "maximum", option->maximum);
	put_strings(text, "choices", option->choices);
	put_member(text, "refers_to", option->refers_to);
	put_member(text, "condition", option->condition);
	put_member(text, "since", option->since);
	put_true(text, "validated", option->validate != NULL);
	if (option->members != NULL && depth > 0) {
		put_text(text, ",\"members\":");
		put_options(text, option->members, depth - 1);
	}
	put_text(text, "}");
}

static void
put_options(struct text *text, const flow_option *const *options, int depth)
{
	put_text(text, "[");
	for (size_t i = 0; options != NULL && options[i] != NULL; i++) {
		put_text(text, i == 0 ? "" : ",");
		put_option(text, options[i], depth);
	}
	put_text(text, "]");
}

static void
put_flags(struct text *text, const flow_component *component)
{
	put_text(text, ",\"flags\":");
	put_number(text, component->flags);
	put_text(text, ",\"properties\":[");
	const char *separator = "";
	for (uint32_t bit = 0; bit < 32; bit++) {
		uint32_t flag = component->flags & ((uint32_t)1 << bit);
		const char *name = flag == 0 ? NULL : flow_kind_flag_name(component->kind, flag);
		if (name == NULL)
			continue;
		put_text(text, separator);
		put_string(text, name);
		separator = ",";
	}
	put_text(text, "]");
}

static void
put_component(struct text *text, const flow_component *component)
{
	put_text(text, "{\"kind\":");
	put_string(text, flow_kind_name(component->kind));
	put_member(text, "id", component->id);
	put_flags(text, component);
	put_member(text, "doc", component->doc);
	put_strings(text, "capabilities", component->capabilities);
	put_strings(text, "served", component->served);
	put_text(text, ",\"options\":[");
	const flow_option_set *const *sets = component->option_sets;
	for (size_t i = 0; sets != NULL && sets[i] != NULL; i++) {
		put_text(text, i == 0 ? "{\"scope\":" : ",{\"scope\":");
		put_string(text, sets[i]->scope);
		put_member(text, "doc", sets[i]->doc);
		put_text(text, ",\"options\":");
		put_options(text, sets[i]->options, MEMBER_DEPTH);
		put_text(text, "}");
	}
	put_text(text, "]}");
}

uint64_t
flow_manifest_write(const flow_plugin *plugin, char *buffer, uint64_t size)
{
	struct text text = { .buffer = buffer, .size = size, .digest = DIGEST_START };
	put_text(&text, "{\"manifest\":");
	put_number(&text, FLOW_MANIFEST_FORM);
	put_text(&text, ",\"abi\":");
	put_number(&text, plugin->abi);
	put_member(&text, "id", plugin->id);
	put_member(&text, "version", plugin->version);
	put_member(&text, "license", plugin->license);
	put_text(&text, ",\"components\":[");
	for (size_t i = 0; plugin->components != NULL && plugin->components[i] != NULL; i++) {
		put_text(&text, i == 0 ? "" : ",");
		put_component(&text, plugin->components[i]);
	}
	put_text(&text, "]");
	char digest[FLOW_MANIFEST_DIGEST_SIZE + 1];
	snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)text.digest);
	put_text(&text, digest_member);
	put_text(&text, digest);
	put_text(&text, "\"}");
	if (size > 0)
		buffer[text.length < size ? text.length : size - 1] = '\0';
	return text.length;
}

const char *
flow_manifest_digest(flow_slice manifest)
{
	uint64_t tail = sizeof(digest_member) - 1 + FLOW_MANIFEST_DIGEST_SIZE + 2;
	if (manifest.size < tail)
		return NULL;
	const char *member = manifest.data + manifest.size - tail;
	const char *digest = member + sizeof(digest_member) - 1;
	if (memcmp(member, digest_member, sizeof(digest_member) - 1) != 0 ||
		memcmp(digest + FLOW_MANIFEST_DIGEST_SIZE, "\"}", 2) != 0)
		return NULL;
	char expected[FLOW_MANIFEST_DIGEST_SIZE + 1];
	snprintf(expected, sizeof(expected), "%016llx",
			 (unsigned long long)digest_add(DIGEST_START, manifest.data, manifest.size - tail));
	return memcmp(digest, expected, FLOW_MANIFEST_DIGEST_SIZE) == 0 ? digest : NULL;
}
