/* SPDX-License-Identifier: Apache-2.0 */
/* A float graph that brings its scales with it: QuantizeLinear and DequantizeLinear behind activations, DequantizeLinear behind integer weights (PT2E, QDQ
 * ONNX). */
#ifndef NPUC_QUANT_GIVEN_H
#define NPUC_QUANT_GIVEN_H

#include "quant/quant.h"

bool npuc_quant_has_given(const graph *g);
/* Takes the pairs out of `g`, which becomes the float graph without rounding, and integer weights become the real numbers that they stand for. *out_given:
 * the grid of each value by its id, scale 0 where none was given; in the arena. A pair that is not one 8-bit grid for the whole tensor, read by
 * DequantizeLinear of the same grid alone, stays in the graph: the plan refuses it by name. */
npuc_status npuc_quant_take_given(diag *d, arena *a, graph *g, quant_grid activations, const qparams **out_given) NPUC_MUST_USE;

#endif
