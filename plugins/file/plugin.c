/* The plugin's root: options, planning, and the table of the system `file`. */
#include "file.h"

#include <sys/stat.h>

static const char *const compressions[] = { "auto\tby the suffix: .gz and .zst", "none", "gzip", "zstd", NULL };

static const flow_option input_path = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_LIST,
	.element = FLOW_OPTION_PATH,
	.flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_OR_ONE | FLOW_OPTION_ADDRESS_PATH,
	.name = "path",
	.doc = "The file, or several, or patterns with * ? and [ ]; \"-\" is standard input. Each file is a partition; "
		   "files of "
		   "a pattern are read in the order of their names.",
	.example = "\"data/flights.csv\"",
};
static const flow_option input_compression = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "compression",
	.doc = "How the files are compressed.",
	.default_text = "auto",
	.choices = compressions,
};
static const flow_option input_chunk = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_SIZE,
	.name = "chunk",
	.doc = "How much is read at a time.",
	.default_text = "128KiB",
	.minimum = "1B",
	.maximum = "64MiB",
};
static const flow_option *const input_list[] = { &input_path, &input_compression, &input_chunk, NULL };
static const flow_option_set input_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "input",
	.doc = "Inputs from files.",
	.options = input_list,
};

static const flow_option output_path = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_PATH,
	.flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_ADDRESS_PATH,
	.name = "path",
	.doc =
		"The file. It is written as a temporary beside it and renamed once, when the job has finished, over what was "
		"there; "
		"\"-\" is standard output. \"{task}\" in it is the number of the task: then several tasks write, a file each.",
	.example = "\"out/late-flights.jsonl\"",
};
static const flow_option output_compression = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "compression",
	.doc = "How the file is compressed. Members (gzip) or frames (zstd) end at each checkpoint.",
	.default_text = "auto",
	.choices = compressions,
};
static const flow_option output_level = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "level",
	.doc = "Compression level: gzip 1 to 9, zstd 1 to 19; more is smaller and slower.",
	.default_text = "1",
	.minimum = "1",
	.maximum = "19",
};
static const flow_option output_folders = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_BOOL,
	.name = "make_folders",
	.doc = "Make the folders of the path where they are missing; else that is an error.",
	.default_text = "false",
};
static const flow_option output_overwrite = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_BOOL,
	.name = "overwrite",
	.doc = "Whether a file that is there already is replaced. Without it that is an error, when the job starts and "
		   "when it has finished.",
	.default_text = "true",
};
static const flow_option *const output_list[] = { &output_path,    &output_compression, &output_level,
												  &output_folders, &output_overwrite,   NULL };
static const flow_option_set output_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "output",
	.doc = "Outputs to files.",
	.options = output_list,
};

static const flow_option_set *const option_sets[] = { &input_set, &output_set, NULL };

static flow_status
system_open(const flow_host *host, const flow_options *options, flow_system **system, flow_error *error)
{
	(void)options;
	*system = flow_new(host, sizeof(**system));
	if (*system == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	(*system)->host = host;
	return FLOW_OK;
}

static void
system_close(flow_system *system)
{
	while (system->held != NULL) {
		struct reader *reader = reader_take_held(system, NULL);
		reader_close(reader);
	}
	system->host->release(system);
}

static flow_status
describe_input(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
			   flow_error *error)
{
	description->bounded = 1;
	const flow_option_value *paths = flow_option_get(request->options, "path");
	description->sample = 1; /* but pipes are left alone offline */
	for (uint64_t i = 0; request->offline && i < paths->entry_count; i++)
		description->sample &= !path_is_stream(paths->entries[i]->value->text.data);
	description->partition_count = FLOW_PARTITIONS_UNKNOWN;
	struct path_list list;
	flow_status status = path_list_read(system->host, request, &list, error);
	if (status != FLOW_OK) {
		system->host->errors->option(error, "path");
		return status;
	}
	if (request->offline) { /* files may come and go until the job runs */
		path_list_free(system->host, &list);
		return FLOW_OK;
	}
	description->partition_count = (int32_t)list.count;
	path_list_free(system->host, &list);
	return FLOW_OK;
}

static flow_status
describe(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
		 flow_error *error)
{
	if (request->direction == FLOW_DIRECTION_INPUT)
		return describe_input(system, request, description, error);
	const char *path = flow_option_text(request->options, "path").data;
	if (path == NULL)
		return flow_fail(system->host, error, FLOW_E_CONFIG, "an output needs a path");
	int several = strstr(path, "{task}") != NULL;
	description->delivery = path_is_stream(path) ? FLOW_DELIVERY_AT_LEAST_ONCE : FLOW_DELIVERY_RESUMABLE;
	description->max_writers = several ? 0 : 1;
	description->partition_count = several ? FLOW_PARTITIONS_UNKNOWN : 1;
	if (path_is_stream(path) || flow_option_bool(request->options, "make_folders", 0))
		return FLOW_OK;
	flow_status status = path_check_folder(system->host, path, error);
	if (status != FLOW_OK)
		system->host->errors->option(error, "path");
	return status;
}

static const flow_system_ops system_ops = {
	.struct_size = FLOW_SIZEOF(flow_system_ops),
	.open = system_open,
	.close = system_close,
	.describe = describe,
	.source_open = source_open,
	.source_partitions = source_partitions,
	.source_assign = source_assign,
	.source_revoke = source_revoke,
	.source_pause = source_pause,
	.source_read = source_read,
	.source_position = source_position,
	.source_remaining = source_remaining,
	.source_close = source_close,
	.writer_open = writer_open,
	.write = writer_write,
	.flush = writer_flush,
	.prepare = writer_prepare,
	.writer_close = writer_close,
	.committer_open = committer_open,
	.commit = committer_commit,
	.abort = committer_abort,
	.committer_close = committer_close,
};

static const char *const served[] = { "file", ".gz", ".zst", NULL };

static const flow_component file_system = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SYSTEM,
	.flags = FLOW_SYSTEM_HAS_INPUTS | FLOW_SYSTEM_HAS_OUTPUTS | FLOW_SYSTEM_BYTE_STREAMS | FLOW_SYSTEM_ALWAYS_BOUNDED,
	.id = "file",
	.doc = "Files, one or many, plain or compressed; standard input and output.",
	.option_sets = option_sets,
	.ops = &system_ops,
	.served = served,
};

static const flow_component *const components[] = { &file_system, NULL };

FLOW_DEFINE_PLUGIN("file", "0.1.0", "Apache-2.0", components, NULL, NULL)
