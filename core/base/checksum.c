#include "base/checksum.h"

#include <pthread.h>
#include <string.h>

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

static uint32_t
by_table(uint32_t crc, const unsigned char *data, size_t size)
{
	pthread_once(&table_once, make_table);
	for (size_t i = 0; i < size; i++)
		crc = (crc >> 8) ^ table[(crc ^ data[i]) & 0xff];
	return crc;
}

#if defined(__x86_64__)
static uint32_t __attribute__((target("sse4.2"))) by_instruction(uint32_t crc, const unsigned char *data, size_t size)
{
	uint64_t wide = crc;
	for (; size >= 8; size -= 8, data += 8) {
		uint64_t word;
		memcpy(&word, data, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t)wide;
	for (; size > 0; size--, data++)
		crc = __builtin_ia32_crc32qi(crc, *data);
	return crc;
}
#endif

uint32_t
checksum_crc32c(uint32_t before, const void *data, size_t size)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~by_instruction(~before, data, size);
#endif
	return ~by_table(~before, data, size);
}
