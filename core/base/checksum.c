#include "base/checksum.h"

#include <pthread.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */

static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void
make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t value = i;
		for (int bit = 0; bit < 8; bit++)
			value = (value >> 1) ^ ((value & 1) != 0 ? POLYNOMIAL : 0);
		table[i] = value;
	}
}

uint32_t
checksum_crc32c(uint32_t before, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint32_t crc = ~before;
	pthread_once(&table_once, make_table);
	for (size_t i = 0; i < size; i++)
		crc = (crc >> 8) ^ table[(crc ^ bytes[i]) & 0xff];
	return ~crc;
}
