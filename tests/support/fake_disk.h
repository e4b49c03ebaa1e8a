/*
 * support/fake_disk.h - a disk in memory for tests of crash safety: base/io.h's calls over files of which each knows
 * what was written and what was synced.
 *
 *     fake_disk_start();              // the core's file calls go there
 *     fake_disk_fail(7, ENOSPC);      // the 7th changing call from now on fails, and every later one
 *     ... write a checkpoint ...
 *     fake_disk_crash(LOSE_UNSYNCED); // what was not synced is gone; names that were not synced too
 *     ... read it again ...
 *     fake_disk_stop();
 *
 * A call that changes something is open with O_CREAT or O_TRUNC, write, truncate, sync, rename, unlink and the two of
 * folders. Writes take at most 7 bytes of more than 16 at first, so that every caller meets short ones. Threads: the
 * test's.
 */
#ifndef SUPPORT_FAKE_DISK_H
#define SUPPORT_FAKE_DISK_H

#include <stdint.h>

#define KEEP_UNSYNCED 0 /* kill -9: the system still has everything */
#define LOSE_UNSYNCED 1 /* power failure: only what was synced */
#define TEAR_UNSYNCED 2 /* power failure: names are there, contents that were not synced are zeros */

void fake_disk_start(void); /* empty */
void fake_disk_stop(void);
/* The n-th changing call from now on (1: the next) fails with `number`; with number 0 it is the moment of a crash: it
 * and all later ones do nothing and fail. n = 0: none fails. Returns how many changing calls were made since the last
 * call. */
uint64_t fake_disk_fail(uint64_t n, int number);
/* Syncs say that they worked and do nothing. */
void fake_disk_lose_syncs(int lose);
/* Ends all open files and locks, and leaves what a crash would leave. */
void fake_disk_crash(int how);
/* Content of a file now; NULL: there is none. */
const char *fake_disk_content(const char *path, uint64_t *size);
void fake_disk_put(const char *path, const char *data, uint64_t size);
uint64_t fake_disk_open_files(void);

#endif
