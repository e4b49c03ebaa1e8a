/*
 * The end of clients, each in a thread of its own: one may wait for ever, and members of a group that leave at the same time need each
 * other's answers.
 *
 * A member leaves before its client is closed, since closing (librdkafka 2.0.2) does not always do so: a cooperative member without
 * partitions says nothing, and one whose first question is under way stays in the group as a name that nobody comes with. Either way
 * the others wait for it until its session is over. So it is waited for until the member has a name, and unsubscribed: librdkafka
 * finishes a rebalance that is under way first, which is answered here, and then tells the group. The name is gone when that is done.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "kafka.h"

/* Milliseconds. */
#define PATIENCE 10000      /* all together */
#define NAME_PATIENCE 1000  /* brokers may be away */
#define LEAVE_PATIENCE 4000 /* others may hold a rebalance up; closing waits for 5 s on top */
#define STEP 20

struct kafka_leaving {
	struct kafka_leaving *next; /* of the system */
	const flow_host *host;
	struct kafka_owner *owner;
	char *component; /* of the owner; NULL: not its own */
	rd_kafka_t *client;
	pthread_t thread;
	int started;
	int64_t until; /* monotonic */
	int done;      /* eventfd */
	int kept;      /* the client was closed, but must not be destroyed */
};

/* --- a member ------------------------------------------------------------------------------------------------------- */

static int
has_name(const struct kafka_leaving *leaving)
{
	char *name = rd_kafka_memberid(leaving->client);
	int named = name != NULL && name[0] != '\0';
	rd_kafka_mem_free(leaving->client, name);
	return named;
}

static int
has_no_name(const struct kafka_leaving *leaving)
{
	return !has_name(leaving);
}

static int
has_joined(const struct kafka_leaving *leaving)
{
	return atomic_load(&leaving->owner->joined);
}

/* Answers the group meanwhile. */
static void
serve_until(const struct kafka_leaving *leaving, int (*reached)(const struct kafka_leaving *), int patience)
{
	int64_t until = leaving->host->monotonic() + patience * 1000LL;
	while (!reached(leaving) && leaving->host->monotonic() < until) {
		rd_kafka_message_t *message = rd_kafka_consumer_poll(leaving->client, STEP);
		if (message != NULL)
			rd_kafka_message_destroy(message);
	}
}

/* The state of the cooperative assignor (librdkafka 2.0.2) comes with the first assignment, and destroying a client in between ends
 * the process. Unsubscribed, no assignor comes any more. */
static int
may_be_destroyed(const struct kafka_leaving *leaving)
{
	if (leaving->owner->eager || has_joined(leaving))
		return 1;
	if (leaving->owner->lasting)
		return 0;
	const char *protocol = rd_kafka_rebalance_protocol(leaving->client);
	return !has_name(leaving) && protocol != NULL && strcmp(protocol, "NONE") == 0;
}

static void
leave_group(struct kafka_leaving *leaving)
{
	char text[KAFKA_ERROR_SIZE];
	if (rd_kafka_fatal_error(leaving->client, text, sizeof(text)) == RD_KAFKA_RESP_ERR_NO_ERROR) {
		serve_until(leaving, has_name, NAME_PATIENCE);
		if (leaving->owner->lasting) { /* it keeps its place while its process is started anew */
			serve_until(leaving, has_joined, has_name(leaving) ? LEAVE_PATIENCE : 0);
		} else {
			rd_kafka_unsubscribe(leaving->client);
			serve_until(leaving, has_no_name, LEAVE_PATIENCE);
		}
	}
	leaving->kept = !may_be_destroyed(leaving);
}

/* --- any client ------------------------------------------------------------------------------------------------------ */

static void *
leave_main(void *argument)
{
	struct kafka_leaving *leaving = argument;
	uint64_t one = 1;
	if (leaving->owner->member)
		leave_group(leaving);
	if (rd_kafka_type(leaving->client) == RD_KAFKA_CONSUMER)
		rd_kafka_consumer_close(leaving->client);
	if (!leaving->kept)
		rd_kafka_destroy_flags(leaving->client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	return write(leaving->done, &one, sizeof(one)) < 0 ? argument : NULL;
}

static struct kafka_leaving *
begin(struct kafka_owner *owner, rd_kafka_t *client, char *component)
{
	const flow_host *host = owner->system->host;
	struct kafka_leaving *leaving = flow_new(host, sizeof(*leaving));
	atomic_store(&owner->closing, 1);
	if (leaving == NULL)
		return NULL;
	leaving->host = host;
	leaving->owner = owner;
	leaving->component = component;
	leaving->client = client;
	leaving->until = host->monotonic() + PATIENCE * 1000LL;
	leaving->done = eventfd(0, EFD_CLOEXEC);
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	leaving->started = leaving->done >= 0 && pthread_create(&leaving->thread, NULL, leave_main, leaving) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return leaving;
}

static int
ended_in_time(const struct kafka_leaving *leaving)
{
	struct pollfd ready = { .fd = leaving->done, .events = POLLIN };
	int ended;
	do {
		int64_t left = (leaving->until - leaving->host->monotonic()) / 1000;
		ended = poll(&ready, 1, left < 0 ? 0 : (int)left);
	} while (ended < 0 && errno == EINTR); /* a signal ends no wait */
	if (ended > 0)
		pthread_join(leaving->thread, NULL);
	else
		pthread_detach(leaving->thread);
	return ended > 0;
}

/* 0: the client is left behind; so is all that it may use still. */
static int
finish(struct kafka_leaving *leaving)
{
	const flow_host *host = leaving->host;
	struct kafka_owner *owner = leaving->owner;
	if (!leaving->started || !ended_in_time(leaving)) {
		flow_say(host, FLOW_LOG_WARN, owner->component, "the client does not end within %d ms; it is left behind",
				 PATIENCE);
		return 0;
	}
	int whole = !leaving->kept;
	close(leaving->done);
	if (whole) {
		kafka_owner_close(owner);
		host->release(owner);
		host->release(leaving->component);
	} else {
		flow_say(host, FLOW_LOG_DEBUG, owner->component,
				 "it has left group before it was given anything: its client is left behind");
	}
	host->release(leaving);
	return whole;
}

int
kafka_client_leave(struct kafka_owner *owner, rd_kafka_t *client)
{
	struct kafka_leaving *leaving = begin(owner, client, NULL);
	return leaving != NULL && finish(leaving);
}

void
kafka_client_leave_soon(struct kafka_owner *owner, rd_kafka_t *client, char *component)
{
	flow_system *system = owner->system;
	struct kafka_leaving *leaving = begin(owner, client, component);
	if (leaving == NULL)
		return;
	leaving->next = system->leaving;
	system->leaving = leaving;
}

void
kafka_client_await_left(flow_system *system)
{
	while (system->leaving != NULL) {
		struct kafka_leaving *leaving = system->leaving;
		system->leaving = leaving->next;
		finish(leaving);
	}
}
