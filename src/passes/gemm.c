/* SPDX-License-Identifier: Apache-2.0 */
/* form-gemm: Add(MatMul(x, w), c) of matrices is one Gemm. */
#include "passes/internal.h"

enum { Y, PRODUCT, X, W, C };

/* c broadcasts to the product in one direction: it makes the result no larger. */
static bool are_matrices(const match *m) {
  const value *product = m->nodes[PRODUCT]->outputs[0], *c = m->values[C];
  if (!npuc_has_rank(m->values[X], 2) || !npuc_has_rank(m->values[W], 2) || c->shape.rank < 0 || c->shape.rank > 2) return false;
  if (!npuc_is_wide_float(product) || c->type != product->type) return false;
  for (int32_t i = 1; i <= c->shape.rank; i++) {
    dim given = c->shape.dims[c->shape.rank - i];
    if (given != 1 && (given == DIM_UNKNOWN || given != product->shape.dims[2 - i])) return false;
  }
  return true;
}

static void form(rewriter *r, const match *m) {
  node *gemm = npuc_rewrite_node(r, OP_GEMM, (value *[]){m->values[X], m->values[W], m->values[C]}, 3, 1);
  npuc_rewrite_replace(r, m->root->outputs[0], gemm->outputs[0]);
}

static const pattern matmul_add = {
    .name = "matmul-add-to-gemm",
    .doc = "Add(MatMul(x, w), c) -> Gemm(x, w, c), of matrices",
    .parity = PARITY_REASSOCIATING,
    .root = NODE(OP_ADD, Y, ONE_USE(OP_MATMUL, PRODUCT, ANY(X), ANY(W)), ANY(C)),
    .where = are_matrices,
    .rewrite = form,
};

static const pattern *const patterns[] = {&matmul_add};
PATTERN_SET(npuc_gemm_patterns, patterns);

npuc_status npuc_pass_form_gemm(pass_context *c, graph *g, bool *out_changed) {
  return npuc_pass_rewrite(c, g, npuc_gemm_patterns, out_changed);
}
