/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at every value while the float graph and the integer module run on the same samples. */
#ifndef NPUC_STAGES_OBSERVE_H
#define NPUC_STAGES_OBSERVE_H

#include "stages/stages.h"

/* Over the first samples of the baseline, sets of `report`:
 *   parity      {samples, steepest, nodes: [{node, op, value, sqnr_db, cosine, max_abs, rmse, fall_db}]}: values that both graphs have by name, in order of execution. fall_db: how
 *               far a value is below the weakest of its inputs; steepest: the value that falls most.
 *   histograms  [{tensor, node, kind, dtype, scale, zero_point, lo, hi, clipped, count, min, max, from, width, bins}]: float activations and weights, with what the integers cover
 *   memory      {executor: ...}: the integer module's plan */
npuc_status npuc_observe_graphs(build *b, const graph *floats, const graph *integers, json_t *report) NPUC_MUST_USE;

#endif
