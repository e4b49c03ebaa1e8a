/* Declared fields and types in messages (flow_sdk/cell.h). */
#include <stdio.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"

static void
release_specs(const flow_schemas *schemas, flow_field_spec *specs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		schemas->release(specs[i].schema);
}

static flow_status
parse_specs(const flow_host *host, const flow_schemas *schemas, const flow_option_value *fields, flow_field_spec *specs,
			const flow_field_spec **pointers, flow_error *error)
{
	for (uint64_t i = 0; i < fields->entry_count; i++) {
		const flow_option_entry *entry = fields->entries[i];
		specs[i].struct_size = FLOW_SIZEOF(flow_field_spec);
		specs[i].name = entry->name;
		specs[i].schema = schemas->parse_type(entry->value->text, error);
		pointers[i] = &specs[i];
		if (specs[i].schema == NULL) {
			flow_status status = error == NULL ? FLOW_E_CONFIG : host->errors->status(error);
			release_specs(schemas, specs, (uint32_t)i);
			const char *message = error == NULL ? "" : host->errors->message(error);
			char text[256];
			snprintf(text, sizeof(text), "%s", message);
			return flow_fail(host, error, status, "%.*s: type of field \"%.*s\": %s", (int)entry->value->place.size,
							 entry->value->place.data, (int)entry->name.size, entry->name.data, text);
		}
	}
	return FLOW_OK;
}

const flow_schema *
flow_fields_record(const flow_host *host, const flow_option_value *fields, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	uint64_t count = fields->entry_count;
	const flow_schema *record = NULL;
	flow_field_spec *specs = (flow_field_spec *)flow_new(host, (count + 1) * sizeof(*specs));
	const flow_field_spec **pointers = (const flow_field_spec **)flow_new(host, (count + 1) * sizeof(*pointers));
	if (specs == NULL || pointers == NULL)
		flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	else if (parse_specs(host, schemas, fields, specs, pointers, error) == FLOW_OK) {
		record = schemas->make_record(flow_slice_make(NULL, 0), pointers, (uint32_t)count, error);
		release_specs(schemas, specs, (uint32_t)count);
	}
	host->release(pointers);
	host->release(specs);
	return record;
}

const char *
flow_type_text(const flow_host *host, const flow_schema *schema, char *buffer, uint64_t size)
{
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	if (schemas == NULL || schemas->print(schema, 1, buffer, size) == 0)
		snprintf(buffer, size, "kind %d", schema->kind);
	return buffer;
}
