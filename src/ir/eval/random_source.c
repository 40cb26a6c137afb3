/* SPDX-License-Identifier: Apache-2.0 */
/* Matsumoto, Nishimura: Mersenne Twister, ACM TOMACS 8 (1998); seeding of 2002. */
#include "ir/eval/random_source.h"

#include <math.h>

enum { SHIFTED = 397 };

void npuc_random_seed(random_source *r, uint32_t seed) {
  *r = (random_source){.next = RANDOM_WORDS};
  r->words[0] = seed;
  for (uint32_t i = 1; i < RANDOM_WORDS; i++) r->words[i] = 1812433253u * (r->words[i - 1] ^ (r->words[i - 1] >> 30)) + i;
}

static void twist(random_source *r) {
  for (int i = 0; i < RANDOM_WORDS; i++) {
    uint32_t y = (r->words[i] & 0x80000000u) | (r->words[(i + 1) % RANDOM_WORDS] & 0x7fffffffu);
    r->words[i] = r->words[(i + SHIFTED) % RANDOM_WORDS] ^ (y >> 1) ^ (y & 1u ? 0x9908b0dfu : 0u);
  }
  r->next = 0;
}

static uint32_t word(random_source *r) {
  if (r->next == RANDOM_WORDS) twist(r);
  uint32_t y = r->words[r->next++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

double npuc_random_double(random_source *r) {
  uint32_t high = word(r) >> 5, low = word(r) >> 6;
  return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

double npuc_random_normal(random_source *r) {
  if (r->has_normal) {
    r->has_normal = false;
    return r->normal;
  }
  double x, y, square;
  do {
    x = 2.0 * npuc_random_double(r) - 1.0;
    y = 2.0 * npuc_random_double(r) - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  double f = sqrt(-2.0 * log(square) / square);
  r->normal = f * x;
  r->has_normal = true;
  return f * y;
}

/* As RandomState.binomial(1, p): it inverts for the rarer side. */
bool npuc_random_bernoulli(random_source *r, double p) {
  double u = npuc_random_double(r);
  return p <= 0.5 ? u > 1.0 - p : !(u > 1.0 - (1.0 - p));
}
