#include "graph/job_options.h"

#define OPTION(identifier, ...)                                                                                        \
	static const flow_option identifier = { .struct_size = FLOW_SIZEOF(flow_option), __VA_ARGS__ }
#define SET(identifier, scope_name, text, list)                                                                        \
	const flow_option_set identifier = { FLOW_SIZEOF(flow_option_set), 0, scope_name, text, list }

static const char *const record_error_choices[] = {
	"fail\tthe job stops at the first one",
	"skip\tcounted, and the first ones are logged",
	"dead_letter\twritten to the dead letters",
	NULL,
};

/* --- job ------------------------------------------------------------------------------------------------------------
 * */

OPTION(job_id, .type = FLOW_OPTION_STRING, .name = "id", .example = "\"late-flights-eu\"",
	   .doc = "Id of the job; state and settings are kept under it. Without it: the application's name.");
OPTION(job_instance, .type = FLOW_OPTION_STRING, .name = "instance", .example = "\"2\"",
	   .doc = "Name of this process among several that share one job; stable over restarts.");
OPTION(job_default_system, .type = FLOW_OPTION_REFERENCE, .name = "default_system", .refers_to = "system",
	   .example = "\"local\"",
	   .doc = "The system that carries intermediate streams. It never supplies the system of an input or output.");
OPTION(job_checkpoint_system, .type = FLOW_OPTION_REFERENCE, .name = "checkpoint_system", .refers_to = "system",
	   .example = "\"local\"", .doc = "The system that keeps checkpoints, if not the state directory of the process.");
OPTION(job_changelog_system, .type = FLOW_OPTION_REFERENCE, .name = "changelog_system", .refers_to = "system",
	   .example = "\"local\"", .doc = "The system that keeps changelogs of state, if not the default system.");
OPTION(job_workers, .type = FLOW_OPTION_INT, .name = "workers", .minimum = "1", .maximum = "1024", .example = "2",
	   .doc =
		   "Threads that run tasks. Without it: one for each core, so that plans differ in it, and in `parallelism`, "
		   "between machines.");
OPTION(job_parallelism, .type = FLOW_OPTION_INT, .name = "parallelism", .minimum = "1", .maximum = "32768",
	   .example = "4",
	   .doc = "Tasks of each stage that is partitioned by key, and at most so many of a source. Without it: as many as "
			  "workers.");
OPTION(
	job_max_parallelism, .type = FLOW_OPTION_INT, .name = "max_parallelism", .default_text = "128", .minimum = "1",
	.maximum = "32768",
	.doc =
		"Key groups: keyed state is kept in so many parts, and parallelism can grow up to it. Fixed with the state.");
OPTION(job_checkpoint_interval, .type = FLOW_OPTION_DURATION, .name = "checkpoint_interval", .default_text = "10s",
	   .minimum = "10ms", .doc = "Time from one checkpoint to the next.");
OPTION(
	job_memory, .type = FLOW_OPTION_SIZE, .name = "memory", .default_text = "256MiB", .minimum = "16MiB",
	.doc =
		"Memory of records under way and of state that is not yet in a checkpoint. Sources wait when it is used up.");
OPTION(job_batch_rows, .type = FLOW_OPTION_INT, .name = "batch_rows", .default_text = "1024", .minimum = "1",
	   .maximum = "65536", .doc = "Records in a batch, at most.");
OPTION(job_batch_bytes, .type = FLOW_OPTION_SIZE, .name = "batch_bytes", .default_text = "256KiB", .minimum = "1KiB",
	   .maximum = "64MiB", .doc = "Bytes in a batch; the record that goes beyond it is its last one.");
OPTION(job_record_errors, .type = FLOW_OPTION_ENUM, .name = "record_errors", .default_text = "fail",
	   .choices = record_error_choices,
	   .doc = "What happens to a record that cannot be read, processed or written, where its stream or step does not "
			  "say it.");
OPTION(job_record_errors_logged, .type = FLOW_OPTION_INT, .name = "record_errors_logged", .default_text = "10",
	   .minimum = "0", .maximum = "1000000",
	   .doc = "So many rejected records of each stream and step are logged with their place.");
OPTION(
	job_dead_letters, .type = FLOW_OPTION_REFERENCE, .name = "dead_letters", .refers_to = "output",
	.example = "\"rejected\"",
	.doc =
		"The output that takes rejected records, with reason, place and raw bytes. In the application it may also be "
		"written as a group like an output.");
OPTION(job_deterministic, .type = FLOW_OPTION_BOOL, .name = "deterministic", .default_text = "false",
	   .doc = "One thread, a virtual clock and `seed` decide everything: two runs over the same input are the same.");
OPTION(job_seed, .type = FLOW_OPTION_INT, .name = "seed", .default_text = "0", .minimum = "0",
	   .doc = "Seed of the deterministic mode.");
OPTION(job_shutdown_deadline, .type = FLOW_OPTION_DURATION, .name = "shutdown_deadline", .default_text = "30s",
	   .minimum = "0",
	   .doc = "After a stop batches under way are finished and a checkpoint is written; after this time the job ends "
			  "anyhow.");
OPTION(job_cpu_affinity, .type = FLOW_OPTION_BOOL, .name = "cpu_affinity", .default_text = "false",
	   .doc = "Binds each worker to one core.");
OPTION(job_state_store, .type = FLOW_OPTION_STRING, .name = "state_store", .default_text = "rocksdb",
	   .doc = "The store of keyed state: its name, or a group { type = \"rocksdb\"; ... } with its options. Jobs "
			  "without keyed "
			  "state load none.");

static const flow_option *const job_list[] = {
	&job_id,
	&job_instance,
	&job_default_system,
	&job_checkpoint_system,
	&job_changelog_system,
	&job_workers,
	&job_parallelism,
	&job_max_parallelism,
	&job_checkpoint_interval,
	&job_memory,
	&job_batch_rows,
	&job_batch_bytes,
	&job_record_errors,
	&job_record_errors_logged,
	&job_dead_letters,
	&job_deterministic,
	&job_seed,
	&job_shutdown_deadline,
	&job_cpu_affinity,
	&job_state_store,
	NULL,
};
SET(job_options, "job", "How the job runs. In an application these stand beside `name`; elsewhere under `job`.",
	job_list);

/* --- application ----------------------------------------------------------------------------------------------------
 * */

OPTION(application_name, .type = FLOW_OPTION_STRING, .name = "name", .flags = FLOW_OPTION_REQUIRED,
	   .example = "\"late-flights\"", .doc = "Name of the application: letters, digits, '-' and '_'.");
OPTION(application_systems, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_GROUP, .name = "systems",
	   .example = "{ files: { type = \"file\"; }; }",
	   .doc = "Where streams live, by name; each has a `type` and its options.");
OPTION(application_inputs, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_GROUP, .name = "inputs",
	   .example = "{ flights: { system = \"files\"; path = \"flights.csv\"; serde = \"csv\"; bounded = true; }; }",
	   .doc = "Streams that are read, by id.");
OPTION(application_outputs, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_GROUP, .name = "outputs",
	   .example = "{ late: { system = \"files\"; path = \"late.jsonl\"; serde = \"json\"; }; }",
	   .doc = "Streams that are written, by id.");
OPTION(application_tables, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_GROUP, .name = "tables",
	   .example = "{ carrier: { type = \"memory\"; }; }",
	   .doc = "Keyed tables, by name; each has a `type` and its options.");
OPTION(application_flow, .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_GROUP, .name = "flow",
	   .flags = FLOW_OPTION_REQUIRED,
	   .example = "( { from = \"flights\"; where = \"dep_delay > 15\"; to = \"late\"; } )",
	   .doc = "The steps: each takes the records of the one before it, or of the one that it names with `from`.");

static const flow_option *const application_list[] = {
	&application_name,
	&application_systems,
	&application_inputs,
	&application_outputs,
	&application_tables,
	&application_flow,
	NULL,
};
SET(application_options, "application",
	"An application: its systems, streams, tables and the flow of records between them.", application_list);

/* --- systems and streams --------------------------------------------------------------------------------------------
 * */

OPTION(system_type, .type = FLOW_OPTION_STRING, .name = "type", .flags = FLOW_OPTION_REQUIRED, .example = "\"file\"",
	   .doc = "The component: see `flowd help system`.");
OPTION(system_serde, .type = FLOW_OPTION_REFERENCE, .name = "serde", .refers_to = "serde", .example = "\"json\"",
	   .doc = "Serde of this system's streams that name none; written as in a stream.");
OPTION(system_stream_defaults, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_ANY, .name = "stream_defaults",
	   .example = "{ offset_default = \"newest\"; }",
	   .doc = "Options of this system's streams, for those that do not set them anywhere.");

static const flow_option *const system_list[] = { &system_type, &system_serde, &system_stream_defaults, NULL };
SET(system_options, "system", "What every system has besides its type's own options.", system_list);

OPTION(stream_system, .type = FLOW_OPTION_REFERENCE, .name = "system", .refers_to = "system",
	   .flags = FLOW_OPTION_REQUIRED, .example = "\"files\"", .doc = "The system that it lives in.");
OPTION(stream_serde, .type = FLOW_OPTION_REFERENCE, .name = "serde", .refers_to = "serde",
	   .example = "{ key = \"string\"; value = \"json\"; }",
	   .doc =
		   "How its records are read or written: the name of a serde; a group { type = \"csv\"; ... } with the serde's "
		   "options; or { key = ...; value = ...; } with either form in both. A serde without these two is "
		   "that of the values: keys are neither read nor written. Only the application sets it.");
OPTION(stream_physical_name, .type = FLOW_OPTION_STRING, .name = "physical_name", .example = "\"flights-2013\"",
	   .doc = "What the system calls it (a topic's name, say). Without it: the stream's id.");
OPTION(stream_record_errors, .type = FLOW_OPTION_ENUM, .name = "record_errors", .choices = record_error_choices,
	   .doc = "What happens to a record of it that cannot be read or written. Without it: as the job says.");
OPTION(input_bounded, .type = FLOW_OPTION_BOOL, .name = "bounded", .default_text = "false",
	   .doc = "It ends: with what is there when the job starts.");
OPTION(input_bootstrap, .type = FLOW_OPTION_BOOL, .name = "bootstrap", .default_text = "false",
	   .doc = "It is read to its end before inputs that are not bootstrap inputs start.");
OPTION(input_priority, .type = FLOW_OPTION_INT, .name = "priority", .default_text = "-1", .minimum = "-1",
	   .maximum = "2147483647", .doc = "Inputs with a higher one are read first; -1: none.");
static const char *const offset_choices[] = {
	"oldest\tfrom the first record that is there",
	"newest\tbehind what is there when the job starts",
	NULL,
};
OPTION(input_offset_default, .type = FLOW_OPTION_ENUM, .name = "offset_default", .default_text = "oldest",
	   .choices = offset_choices, .doc = "Where reading starts when no position is known.");
OPTION(input_reset_offset, .type = FLOW_OPTION_BOOL, .name = "reset_offset", .default_text = "false",
	   .doc = "Forget the position of the last run and start where offset_default says.");
OPTION(input_delete_committed, .type = FLOW_OPTION_BOOL, .name = "delete_committed_messages", .default_text = "false",
	   .doc = "Records that were used and are behind a checkpoint may be deleted in their system.");
OPTION(input_broadcast, .type = FLOW_OPTION_BOOL, .name = "broadcast", .default_text = "false",
	   .doc = "Every task reads all of it.");
OPTION(input_transformer, .type = FLOW_OPTION_REFERENCE, .name = "transformer", .refers_to = "transformer",
	   .example = "\"envelope\"",
	   .doc =
		   "A component that changes its records before anything else sees them: its name, or a group { type = "
		   "\"envelope\"; ... } with its options. It takes the place of one that its system has; \"none\": neither.");

static const flow_option *const input_list[] = {
	&stream_system,
	&stream_serde,
	&stream_physical_name,
	&input_bounded,
	&input_bootstrap,
	&input_priority,
	&input_offset_default,
	&input_reset_offset,
	&input_delete_committed,
	&input_broadcast,
	&stream_record_errors,
	&input_transformer,
	NULL,
};
SET(input_options, "input", "What every input has besides its system's own options.", input_list);

static const char *const delivery_choices[] = {
	"best\tthe best that the system can do",
	"at_least_once\ta record may come twice after a failure",
	NULL,
};
OPTION(
	output_delivery, .type = FLOW_OPTION_ENUM, .name = "delivery", .default_text = "best", .choices = delivery_choices,
	.doc =
		"What the job promises for its records. A job can have one output whose system commits by transaction; declare "
		"the others at_least_once.");

OPTION(
	output_partition, .type = FLOW_OPTION_EXPRESSION, .name = "partition", .example = "\"user_id % 4\"",
	.doc =
		"The partition that each record is written to: a whole number, of which 0 is the first. A record for which it "
		"is "
		"null, negative or beyond the last one is a record error. Only with systems that let the job choose (kafka); "
		"without it the system chooses.");

static const flow_option *const output_list[] = {
	&stream_system,        &stream_serde, &stream_physical_name, &output_delivery, &output_partition,
	&stream_record_errors, NULL,
};
SET(output_options, "output", "What every output has besides its system's own options.", output_list);

OPTION(intermediate_system, .type = FLOW_OPTION_REFERENCE, .name = "system", .refers_to = "system",
	   .example = "\"local\"", .doc = "The system that carries it. Without it: the job's default system.");
OPTION(intermediate_partitions, .type = FLOW_OPTION_INT, .name = "partitions", .minimum = "1", .maximum = "32768",
	   .example = "8",
	   .doc = "Its partitions. Without it: as many as the streams that it is joined with, else as the largest input or "
			  "output.");
OPTION(
	intermediate_serde, .type = FLOW_OPTION_REFERENCE, .name = "serde", .refers_to = "serde",
	.example = "{ key = \"string\"; value = \"json\"; }",
	.doc =
		"How its records are written and read again: { key = ...; value = ...; }, since they have keys; each is the "
		"name of a serde or a group { type = \"json\"; ... } with its options. Configuration may set it. Without it: "
		"that of its system, which must have both too.");
static const flow_option *const intermediate_list[] = {
	&intermediate_system, &intermediate_serde, &stream_physical_name, &intermediate_partitions, NULL,
};
SET(intermediate_options, "intermediate",
	"What every intermediate stream has besides its system's own options for outputs. They stand under streams.<name>, "
	"where the "
	"name is that of the job, '-' and the operator's: `flowd plan` prints it.",
	intermediate_list);

/* --- tables and steps -----------------------------------------------------------------------------------------------
 * */

OPTION(table_type, .type = FLOW_OPTION_STRING, .name = "type", .flags = FLOW_OPTION_REQUIRED, .example = "\"rocksdb\"",
	   .doc = "The component: see `flowd help table`.");
static const flow_option *const table_list[] = { &table_type, NULL };
SET(table_options, "table", "What every table has besides its type's own options.", table_list);

OPTION(step_name, .type = FLOW_OPTION_STRING, .name = "name", .example = "\"counts\"",
	   .doc = "Name of the step, unique among steps and inputs. A step that keeps state must have one: its state is "
			  "kept under it.");
OPTION(step_from, .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_REFERENCE, .flags = FLOW_OPTION_OR_ONE,
	   .name = "from", .refers_to = "input", .example = "\"flights\"",
	   .doc = "The input or the named step whose records it takes; of several, in a list, the records come as one "
			  "stream, as they "
			  "arrive. `NAME.second` is the second output of a step. Without it: the step before.");
OPTION(step_connect, .type = FLOW_OPTION_REFERENCE, .name = "connect", .refers_to = "input", .example = "\"rates\"",
	   .doc = "The second input of a function that takes two, named as in `from`.");
OPTION(step_to, .type = FLOW_OPTION_REFERENCE, .name = "to", .refers_to = "output", .example = "\"late\"",
	   .doc = "The output that its records are written to; they are passed on as well.");
OPTION(step_key_by, .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_EXPRESSION, .flags = FLOW_OPTION_OR_ONE,
	   .name = "key_by", .example = "\"carrier\"",
	   .doc = "An expression, or several: the key of the records from here on. Records of one key meet in one task.");
OPTION(step_shuffle, .type = FLOW_OPTION_BOOL, .name = "shuffle",
	   .doc = "Spreads records evenly over the tasks behind it.");
OPTION(step_global, .type = FLOW_OPTION_BOOL, .name = "global", .doc = "Brings all records together in one task.");
OPTION(step_broadcast, .type = FLOW_OPTION_BOOL, .name = "broadcast",
	   .doc = "Gives every record to every task behind it.");
OPTION(step_record_errors, .type = FLOW_OPTION_ENUM, .name = "record_errors", .choices = record_error_choices,
	   .doc = "What happens to a record that the step cannot process. Without it: as the job says.");
OPTION(step_late_records, .type = FLOW_OPTION_ENUM, .name = "late_records", .choices = record_error_choices,
	   .doc = "What happens to a record that comes too late. Without it: a bounded job fails; an unbounded one writes "
			  "it to the "
			  "dead letters where there are any, and else skips it.");

static const flow_option *const step_list[] = {
	&step_name,   &step_from,      &step_connect,       &step_to,           &step_key_by, &step_shuffle,
	&step_global, &step_broadcast, &step_record_errors, &step_late_records, NULL,
};
SET(step_options, "step",
	"One step of a flow. In this order: takes records (`from`), partitions them (`key_by`, `shuffle`, `global`, "
	"`broadcast`), "
	"applies one function, which stands under its own name, and writes (`to`).",
	step_list);

static const flow_option *const operator_list[] = { &step_record_errors, &step_late_records, NULL };
SET(operator_options, "operator",
	"What every named step has under operators.<name> besides its function's own options.", operator_list);

const flow_option_set *const host_option_sets[] = {
	&application_options,  &job_options,   &system_options, &input_options,    &output_options,
	&intermediate_options, &table_options, &step_options,   &operator_options, NULL,
};
