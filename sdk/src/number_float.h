/*
 * number_float.h - what float_shim.cc offers to the kit's C files. Private.
 */
#ifndef NUMBER_FLOAT_H
#define NUMBER_FLOAT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOAT_READ 0
#define FLOAT_MALFORMED 1
#define FLOAT_OUT_OF_RANGE 2

/* "-?digits[.digits][e[+-]digits]", no blank, no plus in front; also "inf" and "nan", which the caller keeps away. */
int float_read(const char *text, uint64_t size, double *number);
/* The fewest digits that read back as the same finite double, without exponent from 1e-4 to below 1e16; returns the length. */
uint64_t float_write(double number, char *buffer, uint64_t size);

#ifdef __cplusplus
}
#endif
#endif
