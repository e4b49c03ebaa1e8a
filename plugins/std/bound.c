/* What all functions of the plugin share (std.h). */
#include "std.h"

static flow_status
find(const flow_host *host, const char *id, const void **service, flow_error *error)
{
	*service = host->get_service(id);
	return *service != NULL ? FLOW_OK : flow_fail(host, error, FLOW_E_UNSUPPORTED, "this host has no service %s", id);
}

flow_status
services_find(const flow_host *host, struct services *services, flow_error *error)
{
	const void *found;
	services->host = host;
	flow_status status = find(host, FLOW_SERVICE_EXPRESSIONS, &found, error);
	services->expressions = found;
	if (status == FLOW_OK)
		status = find(host, FLOW_SERVICE_SCHEMAS, &found, error);
	services->schemas = found;
	return status;
}

flow_status
bound_check_record(const struct services *services, const flow_options *options, const flow_function_input *input,
				   int any_allowed, flow_error *error)
{
	uint8_t kind = input->schema->kind;
	if (kind == FLOW_KIND_RECORD || (any_allowed && kind == FLOW_KIND_ANY))
		return FLOW_OK;
	char text[128];
	services->schemas->print(input->schema, 1, text, sizeof(text));
	return flow_fail(services->host, error, FLOW_E_TYPE,
					 "%.*s: the input must be records with fields, but is %s; declare the fields of the input%s",
					 (int)options->place.size, options->place.data, text,
					 kind == FLOW_KIND_ANY ? ", or make records with select" : "");
}

void
bound_mark_reads(const struct services *services, const flow_expression *expression, uint8_t *reads)
{
	if (expression != NULL && reads != NULL)
		services->expressions->fields(expression, reads);
}

flow_status
bound_reject_failed(flow_context *context, const flow_batch *batch, const flow_status *statuses,
					const flow_slice *reasons, uint32_t *rows, uint32_t *count, flow_error *error)
{
	*count = 0;
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		if (statuses[row] >= 0) {
			rows[(*count)++] = row;
			continue;
		}
		flow_status status = context->ops->reject(context, batch, row, statuses[row], reasons[row], error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

int
bound_status_arrays(flow_builder *memory, const flow_batch *batch, flow_status **statuses, flow_slice **reasons)
{
	uint64_t rows = batch->row_count == 0 ? 1 : batch->row_count;
	*statuses = flow_builder_alloc(memory, rows * sizeof(**statuses));
	*reasons = flow_builder_alloc(memory, rows * sizeof(**reasons));
	if (*statuses == NULL || *reasons == NULL)
		return 0;
	memset(*statuses, 0, rows * sizeof(**statuses));
	return 1;
}
