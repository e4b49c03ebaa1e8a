/*
 * kill -9 at random moments of a process that writes one epoch after the other into a real RocksDB: what comes back is
 * one whole epoch, not older than what was reported.
 *
 * In epoch N every key's slot holds N, so a mixture of two epochs shows. Every third epoch is pending before it is
 * applied.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/key.h"
#include "base/schema.h"
#include "state/checkpoint.h"
#include "support/keyed_batch.h"
#include "support/plugin_fixture.h"

#define KEYS 400
#define GROUPS 32

static const flow_state_declaration slot = {
	.struct_size = FLOW_SIZEOF(flow_state_declaration), .kind = FLOW_STATE_SLOT, .slot_size = 16, .name = "slot"
};
static const flow_state_declaration *const declarations[] = { &slot };

struct job {
	fixture *fixture;
	const flow_component *component;
	const flow_options *options;
	const char *folder;
	checkpoint_store *store;
	task_state *state;
	flow_batch *batch;
	uint32_t rows[KEYS];
	flow_error error;
};

static void
must(struct job *j, flow_status status)
{
	if (status != FLOW_OK) {
		fprintf(stderr, "%s\n", error_message(&j->error));
		abort();
	}
}

static void
find_store(struct job *j)
{
	const char *const assignments[] = { "write_buffer=1MiB", NULL };
	j->component = fixture_component(j->fixture, FLOW_STORE, "rocksdb");
	j->options = fixture_options(j->fixture, j->component, "", assignments);
}

static void
open_job(struct job *j)
{
	checkpoint_store_request request = {
		.directory = j->folder, .job = "job", .store = j->component, .store_options = j->options, .host = &host_services
	};
	must(j, checkpoint_store_open(&request, &j->store, &j->error));
	task_state_request state = { .pool = j->fixture->pool,
								 .backend = checkpoint_store_backend(j->store),
								 .state_id = 1,
								 .states = declarations,
								 .state_count = 1,
								 .last_group = GROUPS - 1,
								 .group_count = GROUPS,
								 .restored = 1 };
	must(j, checkpoint_fold(j->store, &j->error));
	must(j, task_state_create(&state, &j->state, &j->error));
	flow_value keys[KEYS];
	for (uint32_t i = 0; i < KEYS; i++) {
		keys[i] = flow_int64(i);
		j->rows[i] = i;
	}
	j->batch = keyed_batch(j->fixture->pool, schema_of_kind(FLOW_KIND_INT64, 0), keys, KEYS);
}

static void
close_job(struct job *j)
{
	batch_release(j->batch);
	task_state_destroy(j->state);
	checkpoint_store_close(j->store);
	j->state = NULL;
	j->store = NULL;
}

static uint64_t
applied_epoch(struct job *j)
{
	const checkpoint *applied, *pending;
	must(j, checkpoint_load(j->store, &applied, &pending, &j->error));
	return applied == NULL ? 0 : applied->epoch;
}

static void
write_epoch(struct job *j, uint64_t epoch)
{
	void *slots[KEYS];
	state_delta *delta;
	checkpoint record = { .epoch = epoch, .group_count = GROUPS };
	must(j, task_state_slots(j->state, 0, j->batch, j->rows, KEYS, NULL, 1, slots, NULL, &j->error));
	for (uint32_t i = 0; i < KEYS; i++)
		memcpy(slots[i], (const uint64_t[]){ epoch, i * epoch }, 16);
	must(j, task_state_freeze(j->state, &delta, &j->error));
	must(j, checkpoint_write(j->store, &record, &delta, 1, epoch % 3 == 0, &j->error));
	if (epoch % 3 == 0)
		must(j, checkpoint_apply(j->store, &j->error));
}

/* The other process: writes epochs and says so, until it is killed. It is started anew, not forked off: threads of
 * RocksDB do not survive a fork. */
static int
work(char *folder)
{
	struct job job = { .fixture = fixture_create(), .folder = folder };
	find_store(&job);
	open_job(&job);
	for (uint64_t epoch = applied_epoch(&job) + 1;; epoch++) {
		write_epoch(&job, epoch);
		if (write(STDOUT_FILENO, &epoch, sizeof(epoch)) != sizeof(epoch))
			return 1;
	}
}

/* Lets the other process say `epochs` of them, and a part of a further one, and kills it. Returns the last one said. */
static uint64_t
work_and_kill(struct job *j, uint32_t epochs, uint32_t microseconds)
{
	int pipes[2];
	uint64_t last = 0, said;
	assert_int_equal(pipe(pipes), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(pipes[1], STDOUT_FILENO);
		execl("/proc/self/exe", "checkpoint_kill_test", j->folder, NULL);
		_exit(1);
	}
	close(pipes[1]);
	for (uint32_t i = 0; i < epochs; i++) {
		assert_int_equal(read(pipes[0], &said, sizeof(said)), sizeof(said));
		last = said;
	}
	/* The moment of death is the point of this test: somewhere within an epoch. */
	struct timespec moment = { 0, (long)microseconds * 1000 };
	ppoll(NULL, 0, &moment, NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	while (read(pipes[0], &said, sizeof(said)) == sizeof(said))
		last = said;
	close(pipes[0]);
	return last;
}

static void
check(struct job *j, uint64_t reported)
{
	void *slots[KEYS];
	const checkpoint *applied, *pending;
	open_job(j);
	must(j, checkpoint_load(j->store, &applied, &pending, &j->error));
	uint64_t epoch = applied == NULL ? 0 : applied->epoch;
	assert_true(epoch == reported || epoch == reported + 1);
	if (pending != NULL)
		assert_int_equal(pending->epoch, epoch + 1);
	must(j, task_state_slots(j->state, 0, j->batch, j->rows, KEYS, NULL, 0, slots, NULL, &j->error));
	for (uint32_t i = 0; i < KEYS; i++) {
		if (epoch == 0) {
			assert_null(slots[i]);
			continue;
		}
		assert_non_null(slots[i]);
		assert_int_equal(((uint64_t *)slots[i])[0], epoch);
		assert_int_equal(((uint64_t *)slots[i])[1], i * epoch);
	}
	if (pending != NULL)
		must(j, checkpoint_drop(j->store, &j->error));
	close_job(j);
}

static void
given_a_process_killed_at_random_moments_then_one_whole_epoch_is_there(void **state)
{
	struct job job = { .fixture = fixture_create() };
	int kills = getenv("FLOWD_SOAK") == NULL ? 10 : 200;
	(void)state;
	find_store(&job);
	job.folder = arena_format(job.fixture->arena, "%s/job", fixture_folder(job.fixture));
	srand(7);
	for (int i = 0; i < kills; i++) {
		uint64_t reported = work_and_kill(&job, (uint32_t)(rand() % 12) + 1, (uint32_t)(rand() % 3000));
		check(&job, reported);
	}
	fixture_destroy(job.fixture);
}

int
main(int argument_count, char **arguments)
{
	if (argument_count > 1)
		return work(arguments[1]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_a_process_killed_at_random_moments_then_one_whole_epoch_is_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
