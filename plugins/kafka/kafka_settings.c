/* What an input's options say. */
#include <stdio.h>

#include "flow_sdk/number.h"
#include "kafka_source.h"

void
kafka_settings_free(struct kafka_input_settings *settings)
{
	const flow_host *host = settings->host;
	host->release(settings->topic);
	host->release(settings->pattern);
	host->release(settings->group);
	host->release(settings->type_header);
	if (settings->has_expression)
		regfree(&settings->expression);
	for (uint64_t i = 0; i < settings->start_count; i++)
		host->release(settings->starts[i].id);
	host->release(settings->starts);
	memset(settings, 0, sizeof(*settings));
}

int
kafka_settings_match(const struct kafka_input_settings *settings, const char *topic)
{
	if (settings->pattern == NULL)
		return strcmp(settings->topic, topic) == 0;
	/* Topics of the brokers themselves are never meant. */
	return strncmp(topic, "__", 2) != 0 && regexec(&settings->expression, topic, 0, NULL, 0) == 0;
}

static flow_status
wrong(const flow_host *host, flow_error *error, const char *option, const char *text)
{
	flow_fail(host, error, FLOW_E_CONFIG, "%s: %s", option, text);
	host->errors->option(error, option);
	return FLOW_E_CONFIG;
}

static flow_status
read_pattern(struct kafka_input_settings *settings, flow_slice pattern, flow_error *error)
{
	const flow_host *host = settings->host;
	settings->pattern = host->allocate(pattern.size + 5);
	if (settings->pattern == NULL)
		return kafka_no_memory(host, error);
	snprintf(settings->pattern, pattern.size + 5, "^(%.*s)$", (int)pattern.size, pattern.data);
	int number = regcomp(&settings->expression, settings->pattern, REG_EXTENDED | REG_NOSUB);
	if (number == 0) {
		settings->has_expression = 1;
		return FLOW_OK;
	}
	char text[KAFKA_ERROR_SIZE];
	regerror(number, &settings->expression, text, sizeof(text));
	return wrong(host, error, "pattern", text);
}

static flow_status
read_starts(struct kafka_input_settings *settings, const flow_option_value *map, flow_error *error)
{
	const flow_host *host = settings->host;
	if (map == NULL || map->entry_count == 0)
		return FLOW_OK;
	settings->starts = flow_new(host, map->entry_count * sizeof(*settings->starts));
	if (settings->starts == NULL)
		return kafka_no_memory(host, error);
	for (uint64_t i = 0; i < map->entry_count; i++) {
		uint64_t number;
		flow_slice id = map->entries[i]->name;
		if (settings->pattern == NULL && flow_parse_uint64(id, &number) != FLOW_OK)
			return wrong(host, error, "start_offsets",
						 "its names are numbers of partitions: { name = \"0\"; value = 1200; }");
		if (map->entries[i]->value->integer < 0)
			return wrong(host, error, "start_offsets", "offsets start at 0");
		settings->starts[i].id = kafka_copy(host, id);
		settings->starts[i].offset = map->entries[i]->value->integer;
		settings->start_count++;
		if (settings->starts[i].id == NULL)
			return kafka_no_memory(host, error);
	}
	return FLOW_OK;
}

flow_status
kafka_settings_read(const flow_host *host, const flow_stream_request *request, struct kafka_input_settings *settings,
					flow_error *error)
{
	const flow_options *options = request->options;
	flow_slice pattern = flow_option_text(options, "pattern"), group = flow_option_text(options, "group");
	flow_slice reset = flow_option_text(options, "offset_reset"),
			   type = flow_option_text(options, "timestamp_type_header");
	const flow_option_value *timestamp = flow_option_get(options, "start_timestamp");
	memset(settings, 0, sizeof(*settings));
	settings->host = host;
	settings->by_group = flow_slice_is(flow_option_text(options, "assignment"), "group");
	settings->eager = flow_slice_is(flow_option_text(options, "rebalance"), "eager");
	settings->uncommitted = flow_slice_is(flow_option_text(options, "isolation"), "read_uncommitted");
	settings->start_timestamp = timestamp == NULL ? KAFKA_UNKNOWN : timestamp->integer / 1000;
	settings->reset = flow_slice_is(reset, "oldest")   ? FLOW_START_OLDEST
					  : flow_slice_is(reset, "newest") ? FLOW_START_NEWEST
													   : 0;
	settings->anew = flow_option_bool(options, "reset_offset", 0);
	settings->headers = flow_option_bool(options, "headers", 1);
	settings->bounded = request->bounded != 0;
	flow_status status = FLOW_OK;
	if (pattern.data != NULL)
		status = read_pattern(settings, pattern, error);
	else
		settings->topic = kafka_copy(host, request->physical_name);
	if (group.data != NULL)
		settings->group = kafka_copy(host, group);
	if (type.data != NULL)
		settings->type_header = kafka_copy(host, type);
	if ((type.data != NULL && settings->type_header == NULL) || (pattern.data == NULL && settings->topic == NULL) ||
		(group.data != NULL && settings->group == NULL))
		status = kafka_no_memory(host, error);
	else if (type.data != NULL && type.size == 0)
		status = wrong(host, error, "timestamp_type_header", "a header needs a name; without the option there is none");
	if (status == FLOW_OK)
		status = read_starts(settings, flow_option_get(options, "start_offsets"), error);
	if (status != FLOW_OK)
		kafka_settings_free(settings);
	return status;
}
