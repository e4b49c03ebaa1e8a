/*
 * state/checkpoint_file.h - the file CHECKPOINT of a job without keyed state: magic, sizes, the applied record, the
 * pending one, CRC32C of all before it. For checkpoint.c.
 */
#ifndef STATE_CHECKPOINT_FILE_H
#define STATE_CHECKPOINT_FILE_H

#include "flow/error.h"

/* Puts the file in place of the one before, atomically and synced. An empty slice: there is no such record. */
flow_status checkpoint_file_write(const char *path, flow_slice applied, flow_slice pending, flow_error *error);
/* The two records within the file's bytes. FLOW_E_CORRUPT names the file and what is wrong with it. */
flow_status checkpoint_file_split(const char *path, flow_slice file, flow_slice *applied, flow_slice *pending,
								  flow_error *error);

/* Little-endian numbers of `size` bytes. */
void checkpoint_put_number(char *to, uint64_t number, uint32_t size);
uint64_t checkpoint_get_number(const char *from, uint32_t size);

#endif
