/*
 * base/checksum.h - CRC32C (Castagnoli), the checksum of what flowd writes for itself.
 *
 * Threads: [any].
 */
#ifndef BASE_CHECKSUM_H
#define BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* `before` is 0 for the first piece, the last result for pieces that follow. */
uint32_t checksum_crc32c(uint32_t before, const void *data, size_t size);

#endif
