/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: the Mersenne Twister MT19937 and what NumPy's RandomState makes of it, which ONNX's reference uses, so that a seed means the
 * same there and here. Without a seed the seed is 0: a network gives the same every time it runs. */
#ifndef NPUC_IR_EVAL_RANDOM_SOURCE_H
#define NPUC_IR_EVAL_RANDOM_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

enum { RANDOM_WORDS = 624 };

typedef struct random_source {
  uint32_t words[RANDOM_WORDS];
  int next;
  bool has_normal; /* normals come in pairs: the second waits here */
  double normal;
} random_source;

void npuc_random_seed(random_source *r, uint32_t seed);
/* 53 bits, in [0, 1). */
double npuc_random_double(random_source *r);
/* Mean 0, deviation 1: Marsaglia's polar method. */
double npuc_random_normal(random_source *r);
/* true with probability p. */
bool npuc_random_bernoulli(random_source *r, double p);

#endif
