/* SPDX-License-Identifier: Apache-2.0 */
/* What edits build with: nodes before the root, constants named after it, and the constants' small facts. Shapes of what is built are not known before the rewrite has ended (ir/rewrite.h), so edits
 * compute the dims that they need from the values that were matched. */
#ifndef NPUC_PASSES_EDITS_BUILD_H
#define NPUC_PASSES_EDITS_BUILD_H

#include "passes/edits/edits.h"
#include "passes/internal.h"

/* Output 0 of a new node. */
value *npuc_edit_make(rewriter *r, op_id op, value *const *inputs, int32_t n_inputs);
#define MAKE(r, op, ...) npuc_edit_make(r, op, (value *[]){__VA_ARGS__}, (int32_t)(sizeof((value *[]){__VA_ARGS__}) / sizeof(value *)))

/* Constants; `suffix` stands behind the root's name. */
value *npuc_edit_ints_constant(rewriter *r, const char *suffix, const int64_t *values, int64_t n); /* n < 0: a scalar */
value *npuc_edit_scalar(rewriter *r, const char *suffix, dtype type, double number);               /* NULL with r->status set */
/* Takes over `t`. */
value *npuc_edit_tensor(rewriter *r, const char *suffix, tensor *t);

value *npuc_edit_reshape(rewriter *r, value *x, const int64_t *dims, int32_t rank);
value *npuc_edit_expand(rewriter *r, value *x, const shape *to);
value *npuc_edit_transpose(rewriter *r, value *x, const int64_t *perm, int32_t rank);
value *npuc_edit_slice(rewriter *r, value *x, int64_t axis, int64_t begin, int64_t end, int64_t step);
value *npuc_edit_concat(rewriter *r, value *const *parts, int32_t n, int64_t axis);
value *npuc_edit_unsqueeze(rewriter *r, value *x, int64_t axis);
value *npuc_edit_cast(rewriter *r, value *x, dtype to);
value *npuc_edit_reduce_mean(rewriter *r, value *x, const int64_t *axes, int32_t n); /* keeps dims */
/* The same operator with the same attributes on other inputs; all its outputs. */
node *npuc_edit_copy(rewriter *r, const node *n, value *const *inputs, int32_t n_inputs);

/* y stands for output 0 of the root. */
static inline void npuc_edit_done(rewriter *r, const match *m, value *y) {
  if (y && r->status == NPUC_OK) npuc_rewrite_replace(r, m->root->outputs[0], y);
}

/* The rewrite ends with E0510 at the root. */
void npuc_edit_refuse(rewriter *r, const char *format, ...) NPUC_PRINTF(2, 3);

/* What a node gives for constant inputs (whole chains of nodes too); false where something is not constant. An owned tensor. */
bool npuc_edit_evaluate(const value *v, arena *scratch, tensor *out);

bool npuc_edit_is_static(const value *v);
/* No output but the first is read. */
bool npuc_edit_only_first(const node *n);
int64_t npuc_edit_elements(const value *v); /* -1 where not known */

/* -- ports -- */
/* Takes an input that nothing reads out of the list. */
void npuc_edit_drop_input(graph *g, value *v);
/* Moves an input to a place in the list. */
void npuc_edit_move_input(graph *g, value *v, size_t place);
/* An output that is dropped: the value stays. */
void npuc_edit_drop_output(graph *g, size_t index);

#endif
