/* Which partitions an input has. */
#include "kafka.h"

void
kafka_topics_stop(flow_system *system)
{
	(void)system;
}
