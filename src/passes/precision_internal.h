/* SPDX-License-Identifier: Apache-2.0 */
/* What the two conversions share: which ports stay wide, the Casts, the report. */
#ifndef NPUC_PASSES_PRECISION_INTERNAL_H
#define NPUC_PASSES_PRECISION_INTERNAL_H

#include "passes/precision.h"

typedef struct conversion {
  diag *d;
  arena *arena;
  const precision_request *request;
  precision_report *report;
  dtype from;
  size_t kept_capacity;
  bool *keep_found; /* by place in request->keep */
} conversion;

conversion npuc_conversion_begin(diag *d, arena *a, const precision_request *r, dtype from, precision_report *report);
/* E0514 for a --keep that named nothing. */
npuc_status npuc_conversion_end(conversion *c);

/* Why the schema's table keeps this port wide; NULL where it does not. */
const char *npuc_port_kept(const conversion *c, const node *n, int32_t port, bool is_output);
/* Named by the user. */
bool npuc_node_kept(conversion *c, const node *n);
void npuc_conversion_note(conversion *c, const node *n, const char *why);

/* A Cast of v to `to`, behind what makes it, once for each v. */
value *npuc_conversion_cast(conversion *c, graph *g, map *made, value *v, dtype to);
/* Output `index` of the graph becomes a Cast to `to` that has its name. */
void npuc_conversion_port_out(conversion *c, graph *g, size_t index, dtype to);
/* "bf16", "fp16", "int32": behind the names of what was converted. */
const char *npuc_precision_suffix(dtype to);
/* The value's name with that behind it. */
const char *npuc_conversion_name(conversion *c, const value *v, dtype to);

#endif
