/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded numbers for tests: the same on every machine. */
#ifndef NPUC_TESTS_SUPPORT_RANDOM_H
#define NPUC_TESTS_SUPPORT_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* splitmix64 */
static inline uint64_t random_next(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
/* [-1, 1) */
static inline float random_float(uint64_t *state) { return (float)((int64_t)(random_next(state) >> 40) - (1 << 23)) / (float)(1 << 23); }
static inline void random_floats(uint64_t *state, float *out, size_t n, float scale) {
  for (size_t i = 0; i < n; i++) out[i] = scale * random_float(state);
}
static inline void random_bytes(uint64_t *state, void *out, size_t n) {
  for (size_t i = 0; i < n; i++) ((uint8_t *)out)[i] = (uint8_t)random_next(state);
}

#endif
