/* SPDX-License-Identifier: Apache-2.0 */
/* The discrete Fourier transform of any length in double: radix 2 where the length is a power of two, else as a convolution of such transforms
 * (Bluestein): with kn = (k^2 + n^2 - (k - n)^2) / 2 and w[n] = exp(-pi j n^2 / N),  y[k] = w[k] * sum over n of (x[n] w[n]) conj(w[k - n]). */
#ifndef NPUC_IR_EVAL_FOURIER_H
#define NPUC_IR_EVAL_FOURIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct complex64 {
  double re, im;
} complex64;

typedef struct fourier {
  int64_t n, m;      /* m: the power of two that is computed with; n itself when it is one */
  complex64 *roots;  /* [m / 2]: exp(-2 pi j k / m) */
  complex64 *chirp;  /* [n]: w, when m is not n */
  complex64 *kernel; /* [m]: the transform of conj(w) around 0, over m */
} fourier;

/* Bytes of a plan's memory and of one run's; false when they cannot be addressed. */
bool npuc_fourier_sizes(int64_t n, size_t *out_plan, size_t *out_work);
void npuc_fourier_plan(int64_t n, void *memory, fourier *out_plan);
/* x [n] in place; inverse without the division by n. */
void npuc_fourier_run(const fourier *f, bool inverse, complex64 *x, void *work);

#endif
