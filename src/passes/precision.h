/* SPDX-License-Identifier: Apache-2.0 */
/* Narrower types for a whole model: float32 to bfloat16 or float16, int64 to int32, int16 or int8.
 *
 * Every value of the wide type becomes narrow, but where an operator does not take the narrower type (precision.def), where it would harm (scales of quantization, the mean that LayerNormalization
 * gives), and where the user says so; Casts stand between. What a constant cannot hold is an error, never another number: float16 ends at 65504, and an integer's range is proved (ranges.h). */
#ifndef NPUC_PASSES_PRECISION_H
#define NPUC_PASSES_PRECISION_H

#include "base/map.h"
#include "ir/op.h"

typedef struct value_range {
  const char *name;
  int64_t lo, hi;
} value_range;

typedef struct precision_request {
  dtype to;                /* BF16, F16; I32, I16, I8 */
  bool convert_ports;      /* inputs and outputs of the model too; else a Cast behind and before them */
  bool clamp;              /* floats: finite constants beyond the type become its largest (reported) */
  bool truncate;           /* bfloat16: cut instead of rounding to nearest even */
  const char *const *keep; /* names of nodes, or operators, that stay wide */
  size_t n_keep;
  const value_range *ranges; /* integers: what the user vouches for */
  size_t n_ranges;
} precision_request;

typedef struct kept_node {
  const char *node, *op, *why;
} kept_node;

typedef struct precision_report {
  size_t values, constants, casts; /* made narrow; made narrow; inserted */
  size_t clamped, vanished;        /* constants with elements at the type's end; that became 0 though they were not */
  kept_node *kept;                 /* nodes with a port that stays wide */
  size_t n_kept;
} precision_report;

/* Each of `keep` must name something: E0514. The report is in `a`. */
npuc_status npuc_convert_floats(diag *d, arena *a, module *m, const precision_request *r, precision_report *out_report) NPUC_MUST_USE;
npuc_status npuc_narrow_integers(diag *d, arena *a, module *m, const precision_request *r, precision_report *out_report) NPUC_MUST_USE;

#endif
