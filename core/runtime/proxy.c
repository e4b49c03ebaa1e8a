/* The checking proxy: the watched copy of the plan, and what is checked at every call. */
#include "runtime/proxy.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "options/utf8.h"

void
checked_init(checked *c, runtime *run, const char *kind, const char *id)
{
	c->run = run;
	c->kind = kind;
	c->id = id;
}

flow_status
checked_violation(checked *c, flow_error *error, const char *format, ...)
{
	char text[896];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	runtime *run = c->run;
	log_error("check-plugins", "%s %s: %s", c->kind, c->id, text);
	pthread_mutex_lock(&run->status_lock);
	if (run->violation[0] == '\0')
		snprintf(run->violation, sizeof(run->violation), "%s %s: %s", c->kind, c->id, text);
	pthread_mutex_unlock(&run->status_lock);
	return error_set(error, FLOW_E_PLUGIN, "%s %s breaks its contract: %s", c->kind, c->id, text);
}

void
checked_enter(checked *c, const char *call)
{
	if (atomic_exchange(&c->inside, 1) != 0)
		checked_violation(c, NULL, "%s is called while another call is under way", call);
	if (atomic_load(&c->closed))
		checked_violation(c, NULL, "%s is called after close", call);
	c->thread = pthread_self();
}

void
checked_leave_quietly(checked *c)
{
	atomic_store(&c->inside, 0);
}

static int
is_listed(flow_status status)
{
	return strcmp(status_name(status), "") != 0 && status > -1000;
}

flow_status
checked_leave(checked *c, const char *call, flow_status status, uint32_t allowed, flow_error *error)
{
	checked_leave_quietly(c);
	if (status > 0 && (status > 31 || (allowed & (1u << status)) == 0))
		return checked_violation(c, error, "%s returns %d, which it may not", call, status);
	if (status < 0 && !is_listed(status))
		return checked_violation(c, error, "%s returns %d, which is no status", call, status);
	/* The host's own failures, which plugins hand on, have their text in the task. */
	if (status < 0 && status != FLOW_E_MEMORY && error != NULL && error->message == NULL)
		return checked_violation(c, error, "%s fails (%s) without saying why", call, status_name(status));
	return status;
}

int
checked_is_inside(const checked *c)
{
	return atomic_load(&c->inside) && pthread_equal(c->thread, pthread_self());
}

/* --- values --------------------------------------------------------------------------------------------------------- */

static uint8_t
type_of_kind(uint8_t kind)
{
	static const uint8_t types[] = {
		[FLOW_KIND_BOOL] = FLOW_BOOL,       [FLOW_KIND_INT32] = FLOW_INT64,
		[FLOW_KIND_INT64] = FLOW_INT64,     [FLOW_KIND_UINT64] = FLOW_UINT64,
		[FLOW_KIND_FLOAT32] = FLOW_FLOAT64, [FLOW_KIND_FLOAT64] = FLOW_FLOAT64,
		[FLOW_KIND_DECIMAL] = FLOW_DECIMAL, [FLOW_KIND_STRING] = FLOW_STRING,
		[FLOW_KIND_BYTES] = FLOW_BYTES,     [FLOW_KIND_FIXED] = FLOW_BYTES,
		[FLOW_KIND_ENUM] = FLOW_STRING,     [FLOW_KIND_DATE] = FLOW_DATE,
		[FLOW_KIND_TIME] = FLOW_TIME,       [FLOW_KIND_TIMESTAMP] = FLOW_TIMESTAMP,
		[FLOW_KIND_UUID] = FLOW_UUID,       [FLOW_KIND_LIST] = FLOW_LIST,
		[FLOW_KIND_MAP] = FLOW_MAP,         [FLOW_KIND_RECORD] = FLOW_RECORD,
	};
	return kind < FLOW_COUNT(types) ? types[kind] : FLOW_NULL;
}

static const char *
check_list(const flow_schema *schema, const flow_list *list)
{
	const char *wrong = NULL;
	for (uint64_t i = 0; wrong == NULL && i < list->count; i++)
		wrong = checked_value(schema->element, &list->items[i]);
	return wrong;
}

static const char *
check_map(const flow_schema *schema, const flow_map *map)
{
	const char *wrong = NULL;
	for (uint64_t i = 0; wrong == NULL && i < map->count; i++) {
		if (map->entries[i].key.type != FLOW_STRING)
			return "a map's key is no string";
		wrong = checked_value(schema->element, &map->entries[i].value);
	}
	return wrong;
}

static const char *
check_record(const flow_schema *schema, const flow_value *value)
{
	if (value->size != schema->field_count)
		return "a record has another number of fields than its schema";
	const char *wrong = NULL;
	for (uint32_t i = 0; wrong == NULL && i < value->size; i++)
		if (!flow_is_null(value->as.record[i])) /* fields that nobody reads may be left null */
			wrong = checked_value(schema->fields[i]->schema, &value->as.record[i]);
	return wrong;
}

const char *
checked_value(const flow_schema *schema, const flow_value *value)
{
	if (value->type > FLOW_RECORD)
		return "a value has no type";
	if (schema == NULL || schema->kind == FLOW_KIND_ANY || flow_is_null(*value))
		return NULL;
	if (schema->kind == FLOW_KIND_UNION)
		return value->branch < schema->branch_count ? checked_value(schema->branches[value->branch], value)
													: "a union has no such branch";
	if (value->type != type_of_kind(schema->kind))
		return "a value has another type than its schema";
	switch (value->type) {
	case FLOW_STRING:
		return utf8_valid_prefix(value->as.text, value->size) == value->size ? NULL : "a string is not valid UTF-8";
	case FLOW_TIME:
	case FLOW_TIMESTAMP:
		return value->unit == schema->unit ? NULL : "a time has another unit than its schema";
	case FLOW_LIST:
		return check_list(schema, value->as.list);
	case FLOW_MAP:
		return check_map(schema, value->as.map);
	case FLOW_RECORD:
		return check_record(schema, value);
	default:
		return NULL;
	}
}

flow_status
checked_room(checked *c, const char *call, const flow_builder *builder, flow_error *error)
{
	if (builder->row_count <= builder->row_capacity)
		return FLOW_OK;
	return checked_violation(c, error, "%s added more rows than the builder has room for", call);
}

flow_status
checked_rows(checked *c, const char *call, const flow_builder *builder, uint32_t from, const flow_schema *schema,
			 flow_error *error)
{
	flow_status status = checked_room(c, call, builder, error);
	if (status < 0)
		return status;
	for (uint32_t row = from; row < builder->row_count; row++) {
		const char *wrong = checked_value(schema, &builder->value[row]);
		if (wrong != NULL)
			return checked_violation(c, error, "%s, row %u: %s", call, row, wrong);
	}
	return FLOW_OK;
}

/* --- the copy ------------------------------------------------------------------------------------------------------- */

static void *
copy_array(arena *memory, const void *from, uint32_t count, size_t size)
{
	void *copy = arena_allocate(memory, (count + 1) * size);
	if (copy != NULL && count != 0)
		memcpy(copy, from, count * size);
	return copy;
}

static flow_status
wrap_all(runtime *run, arena *memory, plan *copy)
{
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < copy->system_count; i++)
		status = proxy_wrap_system(run, memory, &copy->systems[i]);
	for (uint32_t i = 0; status == FLOW_OK && i < copy->stream_count; i++) {
		status = proxy_wrap_serde(run, memory, &copy->streams[i].value);
		if (status == FLOW_OK)
			status = proxy_wrap_serde(run, memory, &copy->streams[i].key);
	}
	for (uint32_t i = 0; status == FLOW_OK && i < copy->operator_count; i++)
		if (copy->operators[i].kind == OPERATOR_FUNCTION || copy->operators[i].kind == OPERATOR_TRANSFORMER)
			status = proxy_wrap_function(run, memory, &copy->operators[i]);
	return status;
}

flow_status
proxy_install(runtime *run, flow_error *error)
{
	arena *memory = run->proxies = arena_create();
	plan *copy = memory == NULL ? NULL : copy_array(memory, run->plan, 1, sizeof(*copy));
	if (copy == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	copy->systems = copy_array(memory, copy->systems, copy->system_count, sizeof(*copy->systems));
	copy->streams = copy_array(memory, copy->streams, copy->stream_count, sizeof(*copy->streams));
	copy->operators = copy_array(memory, copy->operators, copy->operator_count, sizeof(*copy->operators));
	if (copy->systems == NULL || copy->streams == NULL || copy->operators == NULL ||
		wrap_all(run, memory, copy) != FLOW_OK)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	run->plan = copy;
	batch_pool_overwrite(run->pool);
	return FLOW_OK;
}

flow_status
proxy_verdict(runtime *run, flow_error *error)
{
	if (run->violation[0] == '\0')
		return FLOW_OK;
	return error_set(error, FLOW_E_PLUGIN, "a plugin breaks its contract: %s", run->violation);
}
