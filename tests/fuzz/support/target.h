/* SPDX-License-Identifier: Apache-2.0 */
/* What every fuzz target is: one function that takes bytes. libFuzzer calls it (preset "fuzz"); in other builds support/driver.c does. */
#ifndef NPUC_TESTS_FUZZ_TARGET_H
#define NPUC_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
/* A target may have its own: changes bytes[0..n) in place, room for `most`; returns the new length. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned int seed);
/* Called once before the first input, where a target has it; 0 when all is well. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
/* The general one, of libFuzzer or of the driver. */
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t n, size_t most);

/* What holds for every parser: a failure has a record that says why, and none is our own mistake (NPUC_INTERNAL). Ends the process otherwise. */
void fuzz_expect_told(const diag *d, npuc_status status);
/* Ends the process when it does not hold. */
void fuzz_expect(int holds, const char *what);

/* Numbers drawn from an input: the same bytes, the same numbers; zeros when they are used up. */
typedef struct fuzz_bytes {
  const uint8_t *at;
  size_t left;
} fuzz_bytes;
uint8_t fuzz_take(fuzz_bytes *b);
/* Up to `n` bytes, as many as are left; *out_n says how many. */
const uint8_t *fuzz_take_span(fuzz_bytes *b, size_t n, size_t *out_n);

#endif
