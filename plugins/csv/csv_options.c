/* The options of the csv serde. */
#include "csv.h"
#include "flow_sdk/serde.h"

static const flow_option option_fields = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_TYPE,
	.name = "fields",
	.doc = "Types of columns by name; a '?' behind a type allows null. Columns that are not named here are strings "
		   "(nullable if there is a null_token), or what infer finds. Without a header it names all columns, in their "
		   "order.",
	.example = "{ dep_delay = \"int64?\"; time_hour = \"timestamp\"; }",
};
static const flow_option option_schema = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "schema",
	.condition = "!fields",
	.doc = "The same as an Avro record schema in JSON, which can also say defaults.",
	.example = "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"}]}",
};
static const char *const infer_choices[] = { "none\tthey are strings",
											 "exact\tnumbers with a fraction become decimals, which keep all digits",
											 "float\tnumbers with a fraction become doubles", NULL };
static const flow_option option_infer = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "infer",
	.default_text = "none",
	.choices = infer_choices,
	.doc = "Types of columns that are not declared, from the first rows of the first file (up to 1 MiB); flowd plan "
		   "shows "
		   "them. A later value that does not fit is a record error. Without a null_token empty fields are then null.",
};
static const flow_option option_header = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_BOOL,
	.name = "header",
	.default_text = "true",
	.doc = "The first record of each file holds the names of the columns. Without it, and without fields, columns are "
		   "called "
		   "column1, column2 and so on.",
};
static const flow_option option_rename = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_STRING,
	.name = "rename",
	.condition = "header=true",
	.doc =
		"Fields whose column has another name in the header: the field's name and the header's. Writing does the same.",
	.example = "{ dep_delay = \"Departure delay (min)\"; }",
};
static const char *const missing_choices[] = { "error\tthe file is refused", "null\tits values are null",
											   "default\tits values are the field's default, else null", NULL };
static const flow_option option_missing = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "missing",
	.default_text = "error",
	.choices = missing_choices,
	.condition = "header=true",
	.doc = "A declared column, or one of the first file's, that a header does not have. The order of columns never "
		   "matters.",
};
static const char *const extra_choices[] = { "keep\tthose of the first file are strings; later files have no others",
											 "ignore\tthey are passed over, in every file",
											 "error\tthe file is refused", NULL };
static const flow_option option_extra = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "extra",
	.default_text = "keep",
	.choices = extra_choices,
	.condition = "header=true",
	.doc = "Columns of a header that are not declared.",
};
static const char *const short_choices[] = { "error\tthe record is an error", "null\tthe fields that it lacks are null",
											 NULL };
static const flow_option option_short_rows = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "short_rows",
	.default_text = "error",
	.choices = short_choices,
	.doc = "Records with fewer fields than there are columns.",
};
static const char *const long_choices[] = { "error\tthe record is an error",
											"ignore\tthe fields too many are passed over", NULL };
static const flow_option option_long_rows = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "long_rows",
	.default_text = "error",
	.choices = long_choices,
	.doc = "Records with more fields than there are columns.",
};
static const flow_option option_delimiter = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "delimiter",
	.default_text = ",",
	.doc = "The character between fields: one ASCII character, or \"\\t\" for a tab.",
	.example = "\";\"",
};
static const flow_option option_quote = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "quote",
	.default_text = "\"",
	.doc = "The character around fields that hold delimiters, quotes or line ends; doubled inside of them. \"\": there "
		   "is none, "
		   "and what would need quotes is written with the escape, or refused.",
	.example = "\"'\"",
};
static const flow_option option_escape = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "escape",
	.doc = "A character that takes the next one literally, inside and outside of quotes; with it quotes are written as "
		   "the "
		   "escape and the quote. Absent: no character does.",
	.example = "\"\\\\\"",
};
static const char *const escapes_choices[] = { "literal\tthe next character as it is",
											   "c\tn, r, t, b, f, v, 0 and Z are the control characters that MySQL and "
											   "PostgreSQL mean, others are as they are; an "
											   "escape is a backslash then, and null is \\N, unless told otherwise",
											   NULL };
static const flow_option option_escapes = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "escapes",
	.default_text = "literal",
	.choices = escapes_choices,
	.doc =
		"What an escape and the next character mean. For dumps of MySQL and PostgreSQL: \"c\", a tab as delimiter, no "
		"quote, no header.",
};
static const flow_option option_trim = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_BOOL,
	.name = "trim",
	.default_text = "false",
	.doc =
		"Blanks and tabs around fields are left out, outside of quotes. What is written with blanks at its ends gets "
		"quotes, or escapes, so that it is read again as it is.",
};
static const char *const mark_choices[] = { ".", ",", NULL };
static const flow_option option_decimal_mark = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "decimal_mark",
	.default_text = ".",
	.choices = mark_choices,
	.doc = "What stands in front of the fraction of floats and decimals, read and written.",
};
static const flow_option option_thousands = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "thousands",
	.doc = "A character that may stand between groups of digits in numbers (three digits, or as in 12,34,567). It is "
		   "not written. "
		   "Absent: none.",
	.example = "\".\"",
};
static const flow_option option_comment = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "comment",
	.doc = "Lines that start with this character are passed over. Absent: there are no comments.",
	.example = "\"#\"",
};
static const flow_option option_null_token = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_LIST,
	.element = FLOW_OPTION_STRING,
	.name = "null_token",
	.flags = FLOW_OPTION_OR_ONE,
	.doc = "Texts that mean null where they are a whole field without quotes; the first one is written. Absent: "
		   "nothing means null, "
		   "an empty field is an empty string.",
	.example = "\"NA\"",
};
static const flow_option option_max_record = FLOW_OPTION_MAX_RECORD(
	"16MiB", "The longest record that is read. A quote that is not closed within it is an error, and reading ends.");

static const flow_option *const options[] = {
	&option_fields,     &option_schema,       &option_infer,      &option_header,     &option_rename,
	&option_missing,    &option_extra,        &option_short_rows, &option_long_rows,  &option_delimiter,
	&option_quote,      &option_escape,       &option_escapes,    &option_trim,       &option_comment,
	&option_null_token, &option_decimal_mark, &option_thousands,  &option_max_record, NULL
};
static const flow_option_set option_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "Text with one record a line and fields between delimiters.",
	.options = options,
};
const flow_option_set *const csv_option_sets[] = { &option_set, NULL };
