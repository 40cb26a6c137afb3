/* SPDX-License-Identifier: Apache-2.0 */
/* The table of passes and the pipelines made of them. */
#ifndef NPUC_PASSES_PIPELINES_H
#define NPUC_PASSES_PIPELINES_H

#include "passes/internal.h"

typedef struct pass_info {
  const char *name, *summary;
  unsigned requires, breaks; /* GRAPH_ properties */
  parity parity;
  pass_function *run;
} pass_info;

/* In the order of passes.def. */
const pass_info *npuc_pass_table(size_t *out_count);
const pass_info *npuc_pass_find(const char *name);

typedef struct pipeline_step {
  const char *pass;
  const char *reason; /* why it stands here */
} pipeline_step;

/* NULL when there is no such pipeline. */
const pipeline_step *npuc_pipeline(const char *name, size_t *out_count);

/* Which patterns a pass tries, by its name (legalize has three sets); for documentation and tests. */
typedef struct pass_patterns {
  const char *pass;
  const pattern_set *set;
} pass_patterns;
const pass_patterns *npuc_pass_patterns(size_t *out_count);

#endif
