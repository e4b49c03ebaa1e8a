#include "support/table_behaviour.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/key.h"
#include "base/schema.h"
#include "base/value.h"
#include "flow_sdk/row.h"
#include "support/batch_text.h"

#define ROW "record(id:int64,name:string?,views:int64)"

void
table_case_open_bare(table_case *c)
{
	flow_table_info info = { .struct_size = FLOW_SIZEOF(flow_table_info),
							 .name = flow_slice_of("visits"),
							 .directory = flow_slice_of(c->folder) };
	const flow_options *options = fixture_options(c->fixture, c->component, "", NULL);
	if (c->ops->open(&host_services, options, &info, &c->table, &c->error) != FLOW_OK)
		fail_msg("%s", error_message(&c->error));
	schema_release(info.schema);
	schema_release(info.key_schema);
}

static void
set_schema(table_case *c)
{
	if (c->ops->set_schema(c->table, c->schema, c->key_schema, &c->error) != FLOW_OK)
		fail_msg("%s", error_message(&c->error));
}

table_case *
table_case_open(const char *id)
{
	table_case *c = calloc(1, sizeof(*c));
	c->fixture = fixture_create();
	c->component = fixture_component(c->fixture, FLOW_TABLE, id);
	c->ops = c->component->ops;
	c->folder = arena_format(c->fixture->arena, "%s/tables/visits", fixture_folder(c->fixture));
	c->schema = fixture_schema(c->fixture, ROW);
	c->key_schema = fixture_schema(c->fixture, "int64");
	c->memory = builder_create(c->fixture->pool, 0, 0);
	table_case_open_bare(c);
	set_schema(c);
	return c;
}

void
table_case_reopen(table_case *c)
{
	c->ops->close(c->table);
	table_case_open_bare(c);
	set_schema(c);
}

void
table_case_close(table_case *c)
{
	if (c->table != NULL)
		c->ops->close(c->table);
	builder_destroy(c->memory);
	error_clear(&c->error);
	fixture_destroy(c->fixture);
	free(c);
}

static flow_slice
key_of(table_case *c, int64_t id)
{
	flow_value value = flow_int64(id);
	flow_buffer *buffer = buffer_create();
	assert_int_equal(key_encode(&value, buffer), FLOW_OK);
	const char *bytes = arena_copy(c->fixture->arena, buffer->data, buffer->size);
	flow_slice key = flow_slice_make(bytes, buffer->size);
	buffer_destroy(buffer);
	return key;
}

/* A row of the schema from JSON; it lives with the fixture. */
static flow_value
row_of(table_case *c, const flow_schema *schema, const char *json)
{
	char *line = arena_format(c->fixture->arena, "%s\n", json);
	return fixture_batch(c->fixture, schema, line)->value[0];
}

void
table_case_put(table_case *c, int64_t id, const char *json)
{
	flow_slice key = key_of(c, id);
	flow_value row = strcmp(json, "null") == 0 ? flow_null() : row_of(c, c->schema, json);
	flow_value key_value = flow_int64(id);
	flow_status status;
	assert_int_equal(c->ops->put_many(c->table, &key, &key_value, &row, 1, &status, &c->error), FLOW_OK);
	assert_int_equal(status, FLOW_OK);
}

static const char *
print_row(table_case *c, const flow_value *row)
{
	char *text = value_print(c->schema, row);
	char *kept = arena_copy_text(c->fixture->arena, text);
	free(text);
	return kept;
}

const char *
table_case_get(table_case *c, int64_t id)
{
	flow_slice key = key_of(c, id);
	flow_value row;
	flow_status status;
	assert_int_equal(c->ops->get_many(c->table, &key, NULL, 1, c->memory, &row, &status, &c->error), FLOW_OK);
	if (status == FLOW_E_NOT_FOUND)
		return "not found";
	assert_int_equal(status, FLOW_OK);
	return print_row(c, &row);
}

void
table_puts_gets_and_deletes(table_case *c)
{
	assert_string_equal(table_case_get(c, 1), "not found");
	table_case_put(c, 1, "{\"id\":1,\"name\":\"one\",\"views\":10}");
	table_case_put(c, 2, "{\"id\":2,\"name\":null,\"views\":20}");
	table_case_put(c, 1, "{\"id\":1,\"name\":\"eins\",\"views\":11}");
	assert_string_equal(table_case_get(c, 1), "{\"id\":1,\"name\":\"eins\",\"views\":11}");
	assert_string_equal(table_case_get(c, 2), "{\"id\":2,\"name\":null,\"views\":20}");
	table_case_put(c, 1, "null");
	assert_string_equal(table_case_get(c, 1), "not found");
	table_case_put(c, 3, "null"); /* nothing to delete is fine */
	assert_int_equal(c->ops->flush(c->table, &c->error), FLOW_OK);
}

void
table_answers_each_row_of_a_call(table_case *c)
{
	enum { COUNT = 500 };
	flow_slice keys[COUNT];
	flow_value rows[COUNT];
	flow_status statuses[COUNT];
	for (int i = 0; i < COUNT; i++) { /* every key twice, the last wins; every fifth row deletes */
		int id = i % 250;
		keys[i] = key_of(c, id);
		rows[i] = id % 5 == 0 && i >= 250
					  ? flow_null()
					  : row_of(c, c->schema,
							   arena_format(c->fixture->arena, "{\"id\":%d,\"name\":\"x\",\"views\":%d}", id, i));
	}
	assert_int_equal(c->ops->put_many(c->table, keys, NULL, rows, COUNT, statuses, &c->error), FLOW_OK);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(statuses[i], FLOW_OK);
	assert_int_equal(c->ops->get_many(c->table, keys, NULL, COUNT, c->memory, rows, statuses, &c->error), FLOW_OK);
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(statuses[i], i % 5 == 0 ? FLOW_E_NOT_FOUND : FLOW_OK);
		if (statuses[i] == FLOW_OK)
			assert_int_equal(rows[i].as.record[2].as.int64, i % 250 + 250);
		else
			assert_true(flow_is_null(rows[i]));
	}
	assert_int_equal(c->ops->delete_many(c->table, keys, NULL, COUNT, statuses, &c->error), FLOW_OK);
	for (int i = 0; i < COUNT; i++) /* gone already: deleted above, or by the first of the two */
		assert_int_equal(statuses[i], i % 5 == 0 || i >= 250 ? FLOW_E_NOT_FOUND : FLOW_OK);
}

void
table_keeps_every_type(table_case *c)
{
	const flow_schema *schema = fixture_schema(
		c->fixture, "record(a:bool,b:int64,c:uint64,d:float64,e:decimal,f:string,g:bytes,h:date,i:time(ms),"
					"j:timestamp(ns),k:local_timestamp,l:uuid,m:list<int64?>,n:map<string?>,o:record(p:string?))");
	const char *json =
		"{\"a\":true,\"b\":-9223372036854775808,\"c\":1,\"d\":0.1,\"e\":\"-1.50\",\"f\":\"\",\"g\":\"\\u0001\\u00ff\","
		"\"h\":\"1969-12-31\",\"i\":\"23:59:59.999\",\"j\":\"2013-01-01T10:00:00.123456789Z\",\"k\":\"2013-01-01T10:00:"
		"00\","
		"\"l\":\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\",\"m\":[1,null,3],\"n\":{\"y\":\"1\",\"x\":null},\"o\":{\"p\":"
		"null}}";
	flow_value row = row_of(c, schema, json), back;
	flow_value cells[15];
	flow_slice key = key_of(c, 7);
	memcpy(cells, row.as.record, sizeof(cells));
	cells[2] = flow_uint64(UINT64_MAX); /* the notation of tests has no such number */
	row = flow_record(cells, 15);
	flow_status status;
	assert_int_equal(c->ops->put_many(c->table, &key, NULL, &row, 1, &status, &c->error), FLOW_OK);
	assert_int_equal(status, FLOW_OK);
	assert_int_equal(c->ops->get_many(c->table, &key, NULL, 1, c->memory, &back, &status, &c->error), FLOW_OK);
	assert_int_equal(status, FLOW_OK);
	assert_true(value_equal(&row, &back));
}

/* One update: sets views, or views and name. */
static flow_status
update_in_mode(table_case *c, int64_t id, uint32_t mode, const char *type, const char *json, const char *default_json)
{
	const flow_schema *schema = fixture_schema(c->fixture, type);
	flow_value change = row_of(c, schema, json), row;
	flow_table_update update = {
		.struct_size = FLOW_SIZEOF(flow_table_update), .mode = mode, .update_schema = schema, .update = &change
	};
	if (default_json != NULL) {
		row = row_of(c, c->schema, default_json);
		update.default_value = &row;
	}
	const flow_table_update *updates = &update;
	flow_slice key = key_of(c, id);
	flow_status status;
	assert_int_equal(c->ops->update_many(c->table, &key, NULL, &updates, 1, &status, &c->error), FLOW_OK);
	return status;
}

void
table_updates_with_and_without_defaults(table_case *c)
{
	const char *zero = "{\"id\":1,\"name\":\"new\",\"views\":100}";
	assert_int_equal(update_in_mode(c, 1, FLOW_UPDATE_ONLY, "record(views:int64)", "{\"views\":1}", zero),
					 FLOW_E_NOT_FOUND);
	assert_int_equal(update_in_mode(c, 1, FLOW_UPDATE_WITH_DEFAULTS, "record(views:int64)", "{\"views\":1}", NULL),
					 FLOW_E_NOT_FOUND);
	assert_string_equal(table_case_get(c, 1), "not found");
	assert_int_equal(update_in_mode(c, 1, FLOW_UPDATE_WITH_DEFAULTS, "record(views:int64)", "{\"views\":2}", zero),
					 FLOW_OK);
	assert_string_equal(table_case_get(c, 1), "{\"id\":1,\"name\":\"new\",\"views\":2}");
	assert_int_equal(update_in_mode(c, 1, FLOW_UPDATE_WITH_DEFAULTS, "record(name:string?,views:int64)",
									"{\"name\":null,\"views\":3}", zero),
					 FLOW_OK);
	assert_string_equal(table_case_get(c, 1), "{\"id\":1,\"name\":null,\"views\":3}");
}

void
table_applies_updates_of_one_key_in_order(table_case *c)
{
	enum { COUNT = 6 };
	const flow_schema *views = fixture_schema(c->fixture, "record(views:int64)");
	const flow_schema *name = fixture_schema(c->fixture, "record(name:string?)");
	flow_value start = row_of(c, c->schema, "{\"id\":4,\"name\":\"a\",\"views\":0}");
	flow_value changes[COUNT] = { row_of(c, views, "{\"views\":1}"),      row_of(c, name, "{\"name\":\"b\"}"),
								  row_of(c, views, "{\"views\":2}"),      row_of(c, views, "{\"views\":9}"),
								  row_of(c, name, "{\"name\":\"last\"}"), row_of(c, views, "{\"views\":7}") };
	const int64_t ids[COUNT] = { 4, 4, 4, 5, 4, 4 };
	flow_table_update updates[COUNT];
	const flow_table_update *pointers[COUNT];
	flow_slice keys[COUNT];
	flow_status statuses[COUNT];
	for (int i = 0; i < COUNT; i++) {
		updates[i] = (flow_table_update){ .struct_size = FLOW_SIZEOF(flow_table_update),
										  .mode = FLOW_UPDATE_WITH_DEFAULTS,
										  .update_schema = i == 1 || i == 4 ? name : views,
										  .update = &changes[i],
										  .default_value = ids[i] == 4 ? &start : NULL };
		pointers[i] = &updates[i];
		keys[i] = key_of(c, ids[i]);
	}
	assert_int_equal(c->ops->update_many(c->table, keys, NULL, pointers, COUNT, statuses, &c->error), FLOW_OK);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(statuses[i], ids[i] == 4 ? FLOW_OK : FLOW_E_NOT_FOUND);
	assert_string_equal(table_case_get(c, 4), "{\"id\":4,\"name\":\"last\",\"views\":7}");
}

void
table_refuses_updates_that_do_not_fit(table_case *c)
{
	table_case_put(c, 1, "{\"id\":1,\"name\":\"one\",\"views\":10}");
	assert_int_equal(update_in_mode(c, 1, FLOW_UPDATE_ONLY, "record(vews:int64)", "{\"vews\":1}", NULL), FLOW_E_TYPE);
	assert_non_null(strstr(error_message(&c->error), "visits"));
	assert_string_equal(table_case_get(c, 1), "{\"id\":1,\"name\":\"one\",\"views\":10}");
	flow_value deep = flow_int64(1);
	flow_list lists[FLOW_ROW_DEPTH + 2];
	flow_value cells[FLOW_ROW_DEPTH + 2];
	for (int i = 0; i < FLOW_ROW_DEPTH + 2; i++) {
		cells[i] = deep;
		lists[i] = (flow_list){ &cells[i], 1 };
		deep = flow_cell(FLOW_LIST, 0);
		deep.as.list = &lists[i];
	}
	flow_slice key = key_of(c, 2);
	flow_status status = FLOW_OK;
	c->ops->put_many(c->table, &key, NULL, &deep, 1, &status, &c->error);
	assert_int_equal(status, FLOW_E_LIMIT);
	assert_string_equal(table_case_get(c, 2), "not found");
}

/* Threads that add one to the views of the same keys, by get and put of their own keys and updates of a common one. */
struct worker {
	table_case *table;
	flow_slice key;
	flow_value row;
	pthread_t thread;
};

#define ROUNDS 200

static void *
work(void *self)
{
	struct worker *w = self;
	table_case *c = w->table;
	batch_pool *pool = batch_pool_create(0);
	flow_builder *memory = builder_create(pool, 0, 0);
	intptr_t wrong = 0;
	for (int i = 0; i < ROUNDS; i++) {
		flow_value fields[3] = { w->row.as.record[0], w->row.as.record[1], flow_int64(i) };
		flow_value row = flow_record(fields, 3), back;
		flow_status status;
		wrong += c->ops->put_many(c->table, &w->key, NULL, &row, 1, &status, NULL) != FLOW_OK || status != FLOW_OK;
		wrong += c->ops->get_many(c->table, &w->key, NULL, 1, memory, &back, &status, NULL) != FLOW_OK ||
				 status != FLOW_OK || back.as.record[2].as.int64 != i;
	}
	builder_destroy(memory);
	batch_pool_destroy(pool);
	return (void *)wrong;
}

void
table_serves_threads(table_case *c)
{
	struct worker workers[4];
	for (int i = 0; i < 4; i++) {
		workers[i] = (struct worker){ .table = c, .key = key_of(c, i) };
		workers[i].row =
			row_of(c, c->schema, arena_format(c->fixture->arena, "{\"id\":%d,\"name\":\"w\",\"views\":0}", i));
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		void *wrong;
		pthread_join(workers[i].thread, &wrong);
		assert_null(wrong);
		assert_string_equal(table_case_get(c, i),
							arena_format(c->fixture->arena, "{\"id\":%d,\"name\":\"w\",\"views\":%d}", i, ROUNDS - 1));
	}
}
