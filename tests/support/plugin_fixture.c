#include "support/plugin_fixture.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/schema.h"
#include "flow_sdk/manifest.h"
#include "options/problem.h"
#include "plugin/component_options.h"
#include "support/batch_text.h"

fixture *
fixture_create(void)
{
	static const char *const folders[] = { BUILD_FOLDER "/plugins", NULL };
	fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	f->registry = registry_create(folders, &f->error);
	if (f->registry == NULL)
		fail_msg("%s", error_message(&f->error));
	f->arena = arena_create();
	f->pool = batch_pool_create(0);
	assert_true(f->arena != NULL && f->pool != NULL);
	return f;
}

void
fixture_destroy(fixture *f)
{
	arena_destroy(f->arena);
	assert_int_equal(batch_pool_used(f->pool), 0);
	batch_pool_destroy(f->pool);
	registry_destroy(f->registry);
	error_clear(&f->error);
	free(f);
}

void
fixture_on_destroy(fixture *f, void (*release)(void *owner), void *owner)
{
	assert_true(arena_on_destroy(f->arena, release, owner));
}

const flow_component *
fixture_component(fixture *f, uint32_t kind, const char *id)
{
	const flow_component *component = NULL;
	if (registry_component(f->registry, kind, id, &component, &f->error) != FLOW_OK)
		fail_msg("%s", error_message(&f->error));
	return component;
}

const flow_options *
fixture_try_options(fixture *f, const flow_component *component, const char *scope, const char *const *assignments)
{
	problems *list = problems_create(f->arena);
	assert_non_null(list);
	const flow_options *options = component_options(f->arena, component, scope, component->id, assignments, list);
	assert_non_null(options);
	for (size_t i = 0; i < list->count; i++)
		if (!list->items[i]->warning) {
			const problem *p = list->items[i];
			error_set(&f->error, FLOW_E_CONFIG, "%s: %s%s%s", p->path == NULL ? "" : p->path, p->message,
					  p->suggestion == NULL ? "" : ", did you mean ", p->suggestion == NULL ? "" : p->suggestion);
			return NULL;
		}
	return options;
}

const flow_options *
fixture_options(fixture *f, const flow_component *component, const char *scope, const char *const *assignments)
{
	const flow_options *options = fixture_try_options(f, component, scope, assignments);
	if (options == NULL)
		fail_msg("%s", error_message(&f->error));
	return options;
}

static void
release_schema(void *schema)
{
	schema_release(schema);
}

const flow_schema *
fixture_schema(fixture *f, const char *text)
{
	flow_slice slice = flow_slice_of(text);
	const flow_schema *schema =
		strchr("{[\"", text[0]) != NULL ? schema_parse_json(slice, &f->error) : schema_parse_type(slice, &f->error);
	if (schema == NULL)
		fail_msg("%s", error_message(&f->error));
	fixture_on_destroy(f, release_schema, (void *)(uintptr_t)schema);
	return schema;
}

static void
release_batch(void *batch)
{
	batch_release(batch);
}

flow_batch *
fixture_batch(fixture *f, const flow_schema *schema, const char *lines)
{
	flow_batch *batch = batch_parse(f->pool, schema, lines);
	fixture_on_destroy(f, release_batch, batch);
	return batch;
}

static int
remove_one(const char *path, const struct stat *information, int kind, struct FTW *walk)
{
	(void)information;
	(void)kind;
	(void)walk;
	return remove(path);
}

static void
remove_folder(void *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *
fixture_folder(fixture *f)
{
	char *path = arena_copy_text(f->arena, "/tmp/flowd-test-XXXXXX");
	assert_non_null(path);
	assert_non_null(mkdtemp(path));
	fixture_on_destroy(f, remove_folder, path);
	return path;
}
