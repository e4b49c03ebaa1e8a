#include "support/system_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "plugin/host_services.h"
#include "support/batch_text.h"

static void *
zeroed(fixture *f, uint64_t size)
{
	void *memory = arena_allocate_zeroed(f->arena, size == 0 ? 1 : size);
	assert_non_null(memory);
	return memory;
}

static fixture_system *
keep_system(const fixture_system *system)
{
	fixture_system *kept = zeroed(system->fixture, sizeof(*kept));
	*kept = *system;
	return kept;
}

static void
close_system(void *owner)
{
	fixture_system *system = owner;
	system->ops->close(system->system);
}

void
fixture_system_open(fixture *f, const char *id, const char *const *assignments, fixture_system *system)
{
	*system = (fixture_system){ .fixture = f, .component = fixture_component(f, FLOW_SYSTEM, id) };
	system->ops = system->component->ops;
	const flow_options *options = fixture_options(f, system->component, "", assignments);
	if (system->ops->open(&host_services, options, &system->system, &f->error) != FLOW_OK)
		fail_msg("%s", error_message(&f->error));
	fixture_on_destroy(f, close_system, keep_system(system));
}

fixture_stream
fixture_input(fixture_system *system, const char *name, const char *const *assignments)
{
	return (fixture_stream){ .system = system, .direction = FLOW_DIRECTION_INPUT, .name = name, .assignments = assignments };
}

fixture_stream
fixture_output(fixture_system *system, const char *name, const char *const *assignments)
{
	return (fixture_stream){ .system = system, .direction = FLOW_DIRECTION_OUTPUT, .name = name, .assignments = assignments };
}

/* --- requests that end with the call ------------------------------------------------------------------------------- */

struct request {
	flow_stream_request request;
	flow_options options;
	char *texts[4];
};

static flow_slice
own_text(struct request *r, int i, const char *text)
{
	r->texts[i] = strdup(text == NULL ? "" : text);
	assert_non_null(r->texts[i]);
	return flow_slice_of(r->texts[i]);
}

/* NULL: the options are wrong. */
static struct request *
make_request(const fixture_stream *stream)
{
	fixture *f = stream->system->fixture;
	const char *scope = stream->direction == FLOW_DIRECTION_INPUT ? "input" : "output";
	const flow_options *options = fixture_try_options(f, stream->system->component, scope, stream->assignments);
	if (options == NULL)
		return NULL;
	struct request *r = calloc(1, sizeof(*r));
	assert_non_null(r);
	r->options = *options;
	r->request = (flow_stream_request){ .struct_size = FLOW_SIZEOF(flow_stream_request),
										.direction = stream->direction,
										.id = own_text(r, 0, stream->name),
										.physical_name = own_text(r, 1, stream->name),
										.options = &r->options,
										.bounded = stream->bounded,
										.offline = stream->offline,
										.job = own_text(r, 2, stream->job == NULL ? "job" : stream->job),
										.instance = own_text(r, 3, stream->instance) };
	return r;
}

static void
end_request(struct request *r)
{
	for (size_t i = 0; i < 4; i++) {
		memset(r->texts[i], '#', strlen(r->texts[i]));
		free(r->texts[i]);
	}
	memset(r, 0xa5, sizeof(*r));
	free(r);
}

static void
release_schema(void *schema)
{
	schema_release(schema);
}

flow_status
fixture_try_describe(const fixture_stream *stream, flow_stream_description *description)
{
	fixture *f = stream->system->fixture;
	struct request *r = make_request(stream);
	if (r == NULL)
		return FLOW_E_CONFIG;
	*description = (flow_stream_description){ .struct_size = FLOW_SIZEOF(flow_stream_description) };
	flow_status status = stream->system->ops->describe(stream->system->system, &r->request, description, &f->error);
	end_request(r);
	if (status == FLOW_OK && description->schema != NULL)
		fixture_on_destroy(f, release_schema, (void *)(uintptr_t)description->schema);
	return status;
}

flow_stream_description
fixture_describe(const fixture_stream *stream)
{
	flow_stream_description description;
	if (fixture_try_describe(stream, &description) != FLOW_OK)
		fail_msg("%s", error_message(&stream->system->fixture->error));
	return description;
}

flow_status
fixture_try_create(const fixture_stream *stream, int32_t partitions)
{
	const fixture_system *system = stream->system;
	struct request *r = make_request(stream);
	if (r == NULL)
		return FLOW_E_CONFIG;
	flow_status status = system->ops->create_stream(system->system, &r->request, partitions, &system->fixture->error);
	end_request(r);
	return status;
}

static void
wake(void *counter)
{
	++*(uint32_t *)counter;
}

/* --- sources ------------------------------------------------------------------------------------------------------- */

static void
close_source(void *owner)
{
	fixture_source_close(owner);
}

void
fixture_source_close(fixture_source *source)
{
	if (source->source != NULL)
		source->system->ops->source_close(source->source);
	source->source = NULL;
}

fixture_source *
fixture_try_source_open(const fixture_stream *stream, uint32_t start)
{
	fixture_system *system = stream->system;
	fixture *f = system->fixture;
	fixture_source *source = zeroed(f, sizeof(*source));
	source->system = keep_system(system);
	if (fixture_try_describe(stream, &source->description) != FLOW_OK)
		return NULL;
	source->waker = (flow_waker){ FLOW_SIZEOF(flow_waker), 0, wake, &source->wakes };
	source->info = (flow_source_info){ .struct_size = FLOW_SIZEOF(flow_source_info),
									   .start = start == 0 ? FLOW_START_OLDEST : start,
									   .task_count = 1,
									   .waker = &source->waker,
									   .sample = stream->sample };
	struct request *r = make_request(stream);
	assert_non_null(r);
	flow_status status =
		system->ops->source_open(system->system, &r->request, &source->info, &source->source, &f->error);
	end_request(r);
	if (status != FLOW_OK)
		return NULL;
	fixture_on_destroy(f, close_source, source);
	status = system->ops->source_partitions(source->source, &source->partitions, &source->partition_count, &f->error);
	return status == FLOW_OK ? source : NULL;
}

flow_status
fixture_try_assign(fixture_source *source, uint32_t partition, flow_slice position)
{
	return source->system->ops->source_assign(source->source, partition, position, &source->system->fixture->error);
}

fixture_source *
fixture_source_open(const fixture_stream *stream)
{
	fixture *f = stream->system->fixture;
	fixture_source *source = fixture_try_source_open(stream, 0);
	if (source == NULL)
		fail_msg("%s", error_message(&f->error));
	for (uint64_t i = 0; i < source->partition_count; i++)
		if (fixture_try_assign(source, source->partitions[i]->index, flow_slice_make(NULL, 0)) != FLOW_OK)
			fail_msg("%s", error_message(&f->error));
	return source;
}

static void
release_batch(void *batch)
{
	batch_release(batch);
}

flow_status
fixture_source_read(fixture_source *source, const flow_batch **batch, uint32_t *partition)
{
	fixture *f = source->system->fixture;
	flow_builder *builder = builder_create(f->pool, source->batch_rows, source->batch_bytes);
	assert_non_null(builder);
	*batch = NULL;
	flow_status status = source->system->ops->source_read(source->source, builder, &f->error);
	*partition = builder->partition;
	if (status == FLOW_OK) {
		assert_true(builder->row_count > 0);
		batch_head head = { .schema = source->info.decoded ? source->description.schema : NULL,
							.key_schema = builder->key == NULL ? NULL : schema_of_kind(FLOW_KIND_BYTES, 1),
							.input = 0,
							.partition = builder->partition };
		flow_batch *made = builder_finish(builder, &head);
		assert_non_null(made);
		fixture_on_destroy(f, release_batch, made);
		*batch = made;
	} else {
		assert_int_equal(status < 0 ? 0 : builder->row_count, 0);
	}
	builder_destroy(builder);
	return status;
}

static const char *
text_of(fixture *f, const flow_batch *batch)
{
	if ((batch->flags & FLOW_BATCH_STREAM) == 0) {
		char *text = batch_print_all(batch);
		const char *kept = arena_copy_text(f->arena, text);
		free(text);
		return kept;
	}
	const char *text = "";
	for (FLOW_ROWS(batch, i)) {
		const flow_value *piece = &batch->value[flow_row(batch, i)];
		text = arena_format(f->arena, "%s%.*s", text, (int)piece->size, piece->as.text);
	}
	return text;
}

const char *
fixture_source_text(fixture_source *source, uint32_t wanted)
{
	fixture *f = source->system->fixture;
	const char *text = "";
	for (;;) {
		const flow_batch *batch;
		uint32_t partition;
		flow_status status = fixture_source_read(source, &batch, &partition);
		if (status == FLOW_AGAIN)
			return text;
		if (status < 0)
			fail_msg("%s", error_message(&f->error));
		if (status == FLOW_OK && partition == wanted)
			text = arena_format(f->arena, "%s%s", text, text_of(f, batch));
		assert_non_null(text);
	}
}

flow_slice
fixture_position(fixture_source *source, uint32_t partition, int64_t ordinal)
{
	fixture *f = source->system->fixture;
	char *bytes = arena_allocate(f->arena, FLOW_POSITION_MAX);
	uint64_t size = 0;
	assert_non_null(bytes);
	if (source->system->ops->source_position(source->source, partition, ordinal, bytes, FLOW_POSITION_MAX, &size,
											 &f->error) != FLOW_OK)
		fail_msg("%s", error_message(&f->error));
	return flow_slice_make(bytes, size);
}

/* --- sinks --------------------------------------------------------------------------------------------------------- */

static void
close_writer(void *owner)
{
	fixture_writer_close(owner);
}

void
fixture_writer_close(fixture_writer *writer)
{
	if (writer->writer != NULL)
		writer->system->ops->writer_close(writer->writer);
	writer->writer = NULL;
}

fixture_writer *
fixture_try_writer_open(const fixture_stream *stream, uint32_t task, const flow_handle *recovered)
{
	fixture_system *system = stream->system;
	fixture *f = system->fixture;
	struct request *r = make_request(stream);
	if (r == NULL)
		return NULL;
	fixture_writer *writer = zeroed(f, sizeof(*writer));
	writer->system = keep_system(system);
	writer->task = task;
	writer->waker = (flow_waker){ FLOW_SIZEOF(flow_waker), 0, wake, &writer->wakes };
	flow_status status = system->ops->writer_open(system->system, &r->request, task, task + 1, recovered,
												  &writer->waker, &writer->writer, &f->error);
	end_request(r);
	if (status != FLOW_OK)
		return NULL;
	fixture_on_destroy(f, close_writer, writer);
	return writer;
}

fixture_writer *
fixture_writer_open(const fixture_stream *stream, uint32_t task, const flow_handle *recovered)
{
	fixture_writer *writer = fixture_try_writer_open(stream, task, recovered);
	if (writer == NULL)
		fail_msg("%s", error_message(&stream->system->fixture->error));
	return writer;
}

const flow_batch *
fixture_raw(fixture *f, const char *const *texts, uint32_t count)
{
	flow_builder *builder = builder_create(f->pool, 0, 0);
	assert_true(builder != NULL && count <= builder->row_capacity);
	builder->flags |= FLOW_BATCH_RAW;
	for (uint32_t i = 0; i < count; i++)
		flow_builder_add(builder, texts[i] == NULL ? flow_null()
												   : flow_bytes(flow_builder_copy(builder, texts[i], strlen(texts[i])),
																(uint32_t)strlen(texts[i])));
	batch_head head = { .input = UINT32_MAX };
	flow_batch *batch = builder_finish(builder, &head);
	assert_non_null(batch);
	builder_destroy(builder);
	fixture_on_destroy(f, release_batch, batch);
	return batch;
}

flow_status
fixture_try_write(fixture_writer *writer, const flow_batch *batch, uint32_t *accepted)
{
	return writer->system->ops->write(writer->writer, batch, 0, accepted, NULL, &writer->system->fixture->error);
}

void
fixture_write(fixture_writer *writer, const char *text)
{
	uint32_t accepted;
	if (fixture_try_write(writer, fixture_raw(writer->system->fixture, &text, 1), &accepted) != FLOW_OK)
		fail_msg("%s", error_message(&writer->system->fixture->error));
	assert_int_equal(accepted, 1);
}

const flow_handle *
fixture_prepare(fixture_writer *writer, uint64_t epoch, int last)
{
	fixture *f = writer->system->fixture;
	flow_slice bytes;
	if (writer->system->ops->prepare(writer->writer, epoch, last, &bytes, &f->error) != FLOW_OK)
		fail_msg("%s", error_message(&f->error));
	flow_handle *handle = zeroed(f, sizeof(*handle));
	*handle = (flow_handle){ FLOW_SIZEOF(flow_handle),
							 writer->task,
							 { arena_copy(f->arena, bytes.data, bytes.size), bytes.size } };
	return handle;
}

static void
close_committer(void *owner)
{
	fixture_committer *committer = owner;
	committer->system->ops->committer_close(committer->committer);
}

fixture_committer *
fixture_committer_open(const fixture_stream *stream)
{
	fixture_system *system = stream->system;
	fixture *f = system->fixture;
	struct request *r = make_request(stream);
	assert_non_null(r);
	fixture_committer *committer = zeroed(f, sizeof(*committer));
	committer->system = keep_system(system);
	if (system->ops->committer_open(system->system, &r->request, &committer->committer, &f->error) != FLOW_OK)
		fail_msg("%s", error_message(&f->error));
	end_request(r);
	fixture_on_destroy(f, close_committer, committer);
	return committer;
}

flow_status
fixture_try_commit(fixture_committer *committer, const flow_handle *handle, int last)
{
	flow_marker marker = { .struct_size = FLOW_SIZEOF(flow_marker), .job = flow_slice_of("job"), .epoch = 1 };
	return committer->system->ops->commit(committer->committer, &handle, 1, &marker, last,
										  &committer->system->fixture->error);
}

flow_status
fixture_try_abort(fixture_committer *committer, const flow_handle *keep)
{
	return committer->system->ops->abort(committer->committer, &keep, keep == NULL ? 0 : 1,
										 &committer->system->fixture->error);
}
