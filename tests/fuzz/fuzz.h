/*
 * fuzz/fuzz.h - the one function of a fuzz target. It returns 0; a mistake of the code under test is a crash, a sanitizer's report
 * or a hang.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
