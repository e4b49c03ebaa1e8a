/*
 * support/runtime_world.h - a small world for tests of the runtime: a system whose streams are texts in memory and whose outputs keep
 * what was committed, as each kind of delivery would; a serde of lines; an ordered store; and plans made by hand.
 *
 * What an output has committed survives a run that "crashes" (runtime_crash_point): it belongs to the world, not to the writers.
 * Threads: the test's; what tasks touch together is locked.
 */
#ifndef SUPPORT_RUNTIME_WORLD_H
#define SUPPORT_RUNTIME_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "flow/flow.h"
#include "runtime/runtime.h"

/* --- streams -------------------------------------------------------------------------------------------------------- */

/* Forgets everything. */
void world_reset(void);
/* An input whose partitions are texts of lines "k,v,t". `piece` 0: records, one a line; else pieces of so many bytes. */
void world_input(const char *id, uint32_t partitions, uint32_t piece);
void world_add(const char *id, uint32_t partition, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* `count` lines "i % keys,i,i" over all partitions, round robin. */
void world_fill(const char *id, uint32_t count, uint32_t keys);
/* Unbounded: the end never comes. Blocking: its reads wait. */
void world_unbounded(const char *id);
void world_blocking(const char *id);
/* People know its partitions by numbers from `first` on. */
void world_number_partitions(const char *id, uint32_t first);
/* Reading stops (AGAIN) after so many rows until world_release, which wakes it. */
void world_hold_back(const char *id, uint64_t rows);
void world_release(const char *id);
void world_release_to(const char *id, uint64_t rows); /* stops again there */
uint64_t world_rows_read(const char *id);
uint64_t world_serviced(const char *id); /* reads while partitions were paused */

/* Its partitions (at most 8) come from a group, and none until a task is given one. One that is taken from a task can be given to
 * another when it was released. */
void world_group(const char *id);
void world_give(const char *id, uint32_t task, uint32_t partition);
void world_take(const char *id, uint32_t task, uint32_t partition);
int64_t world_group_position(const char *id, uint32_t partition); /* record that the group goes on with; -1: none */
uint32_t world_released(const char *id, uint32_t partition);      /* so often */
uint32_t world_group_faults(const char *id); /* positions that went back, or were set by who did not have the partition */

/* What the outputs show: sorted lines. Valid until the next call. */
const char *world_output(const char *id);
/* In the order of writing. */
const char *world_output_raw(const char *id);
/* Of all its records in the order of writing, a line "name=value" each. */
const char *world_output_headers(const char *id);
uint64_t world_output_lines(const char *id);
/* The output's next `count` writes answer AGAIN and wake right after; or block until world_open_output. */
void world_stutter(const char *id, uint32_t count);
void world_block_output(const char *id);
void world_open_output(const char *id);
/* The next commit: answers with this status; `done` 1: after it has taken effect. */
void world_fail_commit(const char *id, flow_status status, int done);
void world_fail_write(const char *id, flow_status status);
/* The write, or `prepare`, behind so many. */
void world_fail_later(const char *id, flow_status status, int prepare, uint64_t calls);
void world_fail_always(const char *id, flow_status status); /* each write */
void world_fail_reopen(const char *id, flow_status status, uint32_t times); /* opening a writer again */
/* Records are accepted and wait, and a flush waits for them, until each is acknowledged, in any order. */
void world_acknowledges(const char *id, int acknowledges);
void world_acknowledge(const char *id, const char *record);
uint32_t world_waiting(const char *id, uint32_t *flushes); /* so many; and flushes that have begun */
/* The record is accepted, and refused afterwards: failed_row tells. */
void world_refuse(const char *id, const char *record);
uint64_t world_commits(const char *id);

extern const flow_component world_system;
extern const flow_component world_serde;
extern const flow_component world_store;

/* --- functions ------------------------------------------------------------------------------------------------------ */

extern const flow_component world_pass;  /* hands its input on */
extern const flow_component world_odd;   /* rejects records whose v is odd */
extern const flow_component world_count; /* keyed: at the end (k, count, 0) for each key */
extern const flow_component
	world_window; /* keyed, event time: sums of v over tumbling windows of 100 microseconds: (k, sum, start) */
extern const flow_component world_rekey; /* keyed output that breaks the rule: every key becomes k + 1 */
extern const flow_component world_put;   /* counts its records (bootstrap): world_puts */
extern const flow_component world_saw;   /* emits (k, world_puts at that time, 0) */
extern const flow_component world_split; /* two outputs: even v, odd v */
extern const flow_component world_side;  /* two inputs: passes on the first, counts the second as world_puts */
uint64_t world_puts(void);
/* Calls of the functions of this run, in order, without those of records: "open end close". */
const char *world_calls(void);

/* --- plans ---------------------------------------------------------------------------------------------------------- */

typedef struct maker maker;

maker *maker_create(void);
void maker_destroy(maker *m);
void maker_option(maker *m, const char *name, int64_t value);
uint32_t maker_source(maker *m, const char *id, uint32_t tasks);
plan_stream *maker_stream(maker *m, uint32_t operator_index);
plan_operator *maker_operator(maker *m, uint32_t operator_index);
/* Behind `from`, by `partitioning`; EDGE_FORWARD with as many tasks: in the same stage. */
uint32_t maker_key_by(maker *m, uint32_t from);
uint32_t maker_event_time(maker *m, uint32_t from, int64_t out_of_order);
uint32_t maker_function(maker *m, uint32_t from, const flow_component *function, const char *name,
						uint32_t partitioning, uint32_t tasks);
uint32_t maker_sink(maker *m, uint32_t from, const char *id, uint32_t delivery, uint32_t partitioning, uint32_t tasks);
void maker_connect(maker *m, uint32_t from, uint32_t to, uint32_t input, uint32_t partitioning);
/* The second output of `from` to a sink that is there. */
void maker_connect_second(maker *m, uint32_t from, uint32_t to);
void maker_dead_letters(maker *m, const char *id);
const plan *maker_plan(maker *m);

/* Runs a plan in a new folder, or in that of the last run if `again`; the outcome, or RUN_FAILED with world_error(). */
typedef struct world_run_request {
	int again;
	uint64_t limit, output_limit;
	uint32_t throwaway;
	int dry_sink, fresh, deterministic, check_plugins;
	uint64_t seed;
	const char *const *drop_states;
	void (*during)(runtime *run); /* in a thread of its own while it runs */
} world_run_request;
uint32_t world_run(maker *m, const world_run_request *request);
const char *world_error(void);
const runtime_status_report *world_report(void);

#endif
