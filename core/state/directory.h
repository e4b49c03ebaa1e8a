/*
 * state/directory.h - the state directory itself: its paths, its LOCK and its FORMAT file. For checkpoint.c.
 *
 * Threads: the control thread.
 */
#ifndef STATE_DIRECTORY_H
#define STATE_DIRECTORY_H

#include "base/arena.h"
#include "flow/error.h"

#define RUN_ID_SIZE 16

typedef struct state_directory {
	arena *memory;
	const char *path;
	const char *lock_path;
	const char *format_path;
	const char *checkpoint_path;
	const char *store_path;
	const char *tables_path;
	const char *job;
	uint32_t any_job; /* what FORMAT says is right */
	int lock;         /* descriptor; -1: not held */
	/* From FORMAT. */
	uint32_t is_new; /* there was none */
	uint8_t run_id[RUN_ID_SIZE];
	const char *store; /* id of the store component; "none": jobs without keyed state */
} state_directory;

/* Makes the folder, takes the lock, reads FORMAT or finds that there is none. `job` NULL: whatever job it is of;
 * FLOW_E_NOT_FOUND if of none. With `fresh` a FORMAT that cannot be read counts as none; one of another job or of a
 * newer flowd is refused even so. After a failure nothing is held. */
flow_status state_directory_open(state_directory *directory, const char *path, const char *job, int fresh,
								 flow_error *error);
void state_directory_close(state_directory *directory);
/* A random run id into the struct; FORMAT is written by state_directory_save. */
flow_status state_directory_new_run(state_directory *directory, flow_error *error);
flow_status state_directory_save(state_directory *directory, const char *store, flow_error *error);
/* Removes all that belongs to a job's state but LOCK and FORMAT; after a crash on the way nothing is half there. The
 * store and local tables must be closed. */
flow_status state_directory_clear(const state_directory *directory, flow_error *error);
/* Removes what a crash during state_directory_clear left behind. */
flow_status state_directory_sweep(const state_directory *directory, flow_error *error);

#endif
