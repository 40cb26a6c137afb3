/* SPDX-License-Identifier: Apache-2.0 */
/* Multiply-accumulates of a graph whose dims are symbols. */
#ifndef NPUC_STAGES_MACS_H
#define NPUC_STAGES_MACS_H

#include "ir/graph.h"

/* Of part `index`: "2722432 N", "512 S^2 + 1024 S" where its inputs have one symbol and the count is a polynomial in it; "unknown (give --dim A=N --dim B=N)"
 * otherwise; NULL for a graph without symbols. In `a`. */
const char *npuc_macs_formula(arena *a, const module *m, size_t index);

#endif
