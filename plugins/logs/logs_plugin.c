/* The logs plugin: options, opening, and the tables of its two serdes. */
#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/serde.h"
#include "logs.h"

/* --- options --------------------------------------------------------------------------------------------------------- */

static const flow_option option_max_record =
	FLOW_OPTION_MAX_RECORD("1MiB", "The longest line that is read; a longer one is a record error.");

static const flow_option option_fields = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_TYPE,
	.name = "fields",
	.doc = "The keys of the lines and their types; a '?' behind a type allows a key that is not there. Values are "
		   "converted "
		   "exactly, or the record is an error. Without fields a record is a map of texts.",
	.example = "{ ts = \"timestamp\"; level = \"string\"; status = \"int64?\"; }",
};
static const char *const extra_choices[] = { "ignore\tthey are left out", "error\tthe record is an error", NULL };
static const flow_option option_extra = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "extra",
	.default_text = "ignore",
	.choices = extra_choices,
	.doc = "Keys that are not declared.",
};
static const char *const duplicate_choices[] = { "error\tthe record is an error", "last\tthe last one counts", NULL };
static const flow_option option_duplicates = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "duplicates",
	.default_text = "error",
	.choices = duplicate_choices,
	.doc = "The same key twice in a line.",
};

static const flow_option option_pattern = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.flags = FLOW_OPTION_REQUIRED,
	.name = "pattern",
	.doc = "A regular expression as PCRE2 has them. Its named groups, (?<name>...), are the fields. %{NAME} stands for "
		   "a pattern "
		   "of that name, %{NAME:field} for a field that it matches, %{NAME:field:type} for one of that type.",
	.example = "\"%{COMBINEDAPACHELOG}\"",
};
static const flow_option option_patterns = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_STRING,
	.name = "patterns",
	.doc = "Patterns of one's own, by name; they go before those that are known.",
	.example = "{ ORDER = \"[A-Z]{2}[0-9]{6}\"; }",
};
static const flow_option option_types = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_TYPE,
	.name = "fields",
	.doc = "Types of fields; the others are texts, or null where their group took no part. Values are converted "
		   "exactly, or the "
		   "record is an error.",
	.example = "{ response = \"int32?\"; bytes = \"int64?\"; timestamp = \"timestamp\"; }",
};
static const flow_option option_times = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_STRING,
	.name = "times",
	.doc = "How timestamps, dates and times stand in the text, if not as RFC 3339 says: %Y %y %m %b %d %a %H %I %p %M "
		   "%S %f (fraction) %z "
		   "%s (seconds since 1970) and the characters between them.",
	.example = "{ timestamp = \"%d/%b/%Y:%H:%M:%S %z\"; }",
};
static const char *const match_choices[] = { "whole\tthe pattern is the whole line",
											 "anywhere\tthe first place where it fits", NULL };
static const flow_option option_match = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "match",
	.default_text = "whole",
	.choices = match_choices,
	.doc = "Where in a line the pattern has to fit.",
};
static const char *const unmatched_choices[] = { "error\tthe record is an error",
												 "null\ta record whose fields are all null",
												 "raw\tthe same, and the line in a field `raw`", NULL };
static const flow_option option_unmatched = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "unmatched",
	.default_text = "error",
	.choices = unmatched_choices,
	.doc = "Lines that the pattern does not fit.",
};
static const flow_option option_match_limit = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "match_limit",
	.default_text = "1000000",
	.minimum = "100",
	.maximum = "1000000000",
	.doc = "How many steps the search may take in one line; a line that takes more is a record error. Patterns with "
		   "repeats "
		   "within repeats can take longer than anybody waits.",
};

static const flow_option *const logfmt_table[] = { &option_fields, &option_extra, &option_duplicates,
												   &option_max_record, NULL };
static const flow_option_set logfmt_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "Lines, or records, of key=value pairs.",
	.options = logfmt_table,
};
static const flow_option_set *const logfmt_sets[] = { &logfmt_set, NULL };
static const flow_option *const regex_table[] = { &option_pattern,     &option_patterns,   &option_types,
												  &option_times,       &option_match,      &option_unmatched,
												  &option_match_limit, &option_max_record, NULL };
static const flow_option_set regex_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "Lines, or records, that a regular expression takes apart.",
	.options = regex_table,
};
static const flow_option_set *const regex_sets[] = { &regex_set, NULL };

/* --- opening --------------------------------------------------------------------------------------------------------- */

static void
logs_close(flow_serde *serde)
{
	logs_serde *s = (logs_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	s->form->close(s);
	schemas->release(s->schema);
	s->host->release(s);
}

static flow_status
logfmt_open(logs_serde *s, const flow_options *from, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_option_value *fields = flow_option_get(from, "fields");
	logfmt_options *options = (logfmt_options *)flow_new(s->host, sizeof(*options));
	s->own = options;
	if (options == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	options->extra_is_error = flow_option_choice(from, &option_extra);
	options->last_duplicate = flow_option_choice(from, &option_duplicates);
	if (fields == NULL || fields->entry_count == 0) {
		s->schema = schemas->parse_type(flow_slice_of("map<string?>"), error);
		return s->schema != NULL ? FLOW_OK : FLOW_E_CONFIG;
	}
	s->schema = flow_fields_record(s->host, fields, error);
	if (s->schema == NULL)
		return FLOW_E_CONFIG;
	options->index = flow_field_index_create(s->host, s->schema);
	if (options->index == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	return logfmt_check_encodable((flow_serde *)s, s->schema,
								  error); /* what has no text cannot be read from one either */
}

static flow_status
open_form(const flow_host *host, const flow_options *from, const logs_form *form,
		  flow_status (*open)(logs_serde *s, const flow_options *from, flow_error *error), flow_serde **serde,
		  flow_error *error)
{
	logs_serde *s = (logs_serde *)flow_new(host, sizeof(*s));
	if (s == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	s->host = host;
	s->form = form;
	s->max_record = (uint64_t)flow_option_int(from, "max_record", (int64_t)1 << 20);
	flow_status status = open(s, from, error);
	if (status != FLOW_OK) {
		logs_close((flow_serde *)s);
		return status;
	}
	*serde = (flow_serde *)s;
	return FLOW_OK;
}

static flow_status
open_logfmt(const flow_host *host, const flow_options *from, uint32_t use, flow_serde **serde, flow_error *error)
{
	(void)use;
	return open_form(host, from, &logfmt_form, logfmt_open, serde, error);
}

static flow_status
open_regex(const flow_host *host, const flow_options *from, uint32_t use, flow_serde **serde, flow_error *error)
{
	if ((use & FLOW_SERDE_ENCODES) != 0 && (use & FLOW_SERDE_DECODES) == 0)
		return flow_fail(host, error, FLOW_E_UNSUPPORTED, "regex reads only; write with logfmt, csv or json");
	return open_form(host, from, &regex_form, regex_open, serde, error);
}

static flow_status
logs_decoded_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	const logs_serde *s = (const logs_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	(void)sample;
	(void)error;
	*schema = schemas->retain(s->schema);
	return FLOW_OK;
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

#define READING                                                                                                        \
	.close = logs_close, .decoded_schema = logs_decoded_schema, .decoder_open = logs_decoder_open,                     \
	.decode = logs_decode, .decode_rows = logs_decode_rows, .save = logs_save, .restore = logs_restore,                \
	.decoder_close = logs_decoder_close

static const flow_serde_ops logfmt_ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.open = open_logfmt,
	READING,
	.check_encodable = logfmt_check_encodable,
	.encoder_open = logfmt_encoder_open,
	.encode = logfmt_encode,
	.encoder_close = logfmt_encoder_close,
};
static const flow_serde_ops regex_ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.open = open_regex,
	READING,
};

static const char *const served_by_logfmt[] = { "logfmt", NULL };

static const flow_component logfmt_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SERDE,
	.flags = FLOW_SERDE_STREAM | FLOW_SERDE_RECORD,
	.id = "logfmt",
	.doc = "Lines of key=value pairs, as logs have them.",
	.option_sets = logfmt_sets,
	.ops = &logfmt_ops,
	.served = served_by_logfmt,
};
static const flow_component regex_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SERDE,
	.flags = FLOW_SERDE_STREAM | FLOW_SERDE_RECORD,
	.id = "regex",
	.doc =
		"Lines that a regular expression takes apart; the usual patterns of logs are known by their names. Reads only.",
	.option_sets = regex_sets,
	.ops = &regex_ops,
};
static const flow_component *const components[] = { &logfmt_component, &regex_component, NULL };

FLOW_DEFINE_PLUGIN("logs", "0.1.0", "Apache-2.0", components, NULL, NULL)
