/* Records to a producer. */
#include "kafka.h"

struct flow_writer {
	const flow_host *host;
};

flow_status
kafka_describe_output(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
					  flow_error *error)
{
	(void)system;
	(void)request;
	(void)error;
	description->delivery = FLOW_DELIVERY_AT_LEAST_ONCE;
	return FLOW_OK;
}

flow_status
kafka_writer_open(flow_system *system, const flow_stream_request *request, uint32_t task, uint32_t task_count,
				  const flow_handle *recovered, const flow_waker *waker, flow_writer **writer, flow_error *error)
{
	(void)request;
	(void)task;
	(void)task_count;
	(void)recovered;
	(void)waker;
	(void)writer;
	return flow_fail(system->host, error, FLOW_E_UNSUPPORTED, "topics cannot be written yet");
}

flow_status
kafka_writer_write(flow_writer *writer, const flow_batch *batch, uint32_t first, uint32_t *accepted,
				   flow_status *statuses, flow_error *error)
{
	(void)batch;
	(void)first;
	(void)statuses;
	*accepted = 0;
	return flow_fail(writer->host, error, FLOW_E_UNSUPPORTED, "topics cannot be written yet");
}

flow_status
kafka_writer_flush(flow_writer *writer, flow_error *error)
{
	(void)writer;
	(void)error;
	return FLOW_OK;
}

void
kafka_writer_close(flow_writer *writer)
{
	(void)writer;
}
