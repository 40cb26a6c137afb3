/* SPDX-License-Identifier: Apache-2.0 */
/* absorb-padding: Pad of zeros before a window goes into the window's own pads.
 *
 * Only where nothing else reads the padded value (else the Pad stays and the work is done twice), where no pad touches the batch or
 * channel axis, and where no pad is negative. A maximum pool is left alone: its own padding is minus infinity, not zero. */
#include <string.h>

#include "passes/internal.h"

enum { Y, PAD, X, PADS, FILL, AXES, W, B };

/* Spatial pads of the Pad node, begins then ends; false where it is not of the kind that a window can take over. */
static bool spatial_pads(const match *m, int64_t begins[MAX_RANK], int64_t ends[MAX_RANK]) {
  const node *pad = m->nodes[PAD];
  const char *mode = NPUC_ATTRS(pad_attributes, pad)->mode;
  int32_t rank = m->values[X]->shape.rank, n, count;
  int64_t pads[2 * MAX_RANK], axes[MAX_RANK];
  if ((mode && strcmp(mode, "constant") != 0) || rank < 3) return false;
  const value *fill = m->values[FILL];
  if (fill && (npuc_tensor_elements(fill->constant) != 1 || npuc_tensor_get(fill->constant, 0) != 0)) return false;
  if (!npuc_constant_ints(m->values[PADS], pads, 2 * MAX_RANK, &count)) return false;
  n = rank;
  for (int32_t i = 0; i < rank; i++) axes[i] = i;
  if (m->values[AXES] && !npuc_constant_ints(m->values[AXES], axes, MAX_RANK, &n)) return false;
  if (count != 2 * n) return false;
  memset(begins, 0, MAX_RANK * sizeof *begins);
  memset(ends, 0, MAX_RANK * sizeof *ends);
  for (int32_t i = 0; i < n; i++) {
    int32_t axis;
    if (pads[i] < 0 || pads[i + n] < 0 || !npuc_axis_normalize(axes[i], rank, &axis)) return false;
    if (axis < 2 && (pads[i] || pads[i + n])) return false;
    if (axis < 2) continue;
    begins[axis - 2] = pads[i];
    ends[axis - 2] = pads[i + n];
  }
  return true;
}

static bool is_explicit(const char *auto_pad) { return !auto_pad || strcmp(auto_pad, "NOTSET") == 0 || strcmp(auto_pad, "VALID") == 0; }

static bool conv_takes(const match *m) {
  int64_t begins[MAX_RANK], ends[MAX_RANK];
  return is_explicit(NPUC_ATTRS(conv_attributes, m->root)->auto_pad) && spatial_pads(m, begins, ends);
}

/* The pool counts its own padding exactly when count_include_pad says so; the Pad's cells always counted. ceil_mode drops windows by
 * where the padding begins, so it must be off. The pads must stay smaller than the window. */
static bool pool_takes(const match *m) {
  const pool_attributes *a = NPUC_ATTRS(pool_attributes, m->root);
  int64_t begins[MAX_RANK], ends[MAX_RANK];
  if (!is_explicit(a->auto_pad) || a->ceil_mode || !spatial_pads(m, begins, ends)) return false;
  int32_t spatial = m->values[X]->shape.rank - 2;
  if (a->kernel_shape.count != spatial) return false;
  for (int32_t i = 0; i < spatial; i++) {
    int64_t own_begin = a->pads.count ? a->pads.values[i] : 0, own_end = a->pads.count ? a->pads.values[i + spatial] : 0;
    if ((own_begin || own_end) && !a->count_include_pad) return false;
    if (own_begin + begins[i] >= a->kernel_shape.values[i] || own_end + ends[i] >= a->kernel_shape.values[i]) return false;
  }
  return true;
}

static void add_pads(rewriter *r, const match *m, int_list *pads) {
  int64_t begins[MAX_RANK], ends[MAX_RANK];
  if (!spatial_pads(m, begins, ends)) return;
  int32_t spatial = m->values[X]->shape.rank - 2;
  int64_t *sum = NPUC_NEW_ARRAY(r->graph->module->arena, 2 * (size_t)spatial, int64_t);
  for (int32_t i = 0; i < spatial; i++) {
    sum[i] = begins[i] + (pads->count ? pads->values[i] : 0);
    sum[i + spatial] = ends[i] + (pads->count ? pads->values[i + spatial] : 0);
  }
  *pads = (int_list){sum, 2 * spatial};
}

static void absorb_into_conv(rewriter *r, const match *m) {
  value *inputs[] = {m->values[X], m->values[W], m->values[B]};
  node *conv = npuc_rewrite_node(r, OP_CONV, inputs, m->values[B] ? 3 : 2, 1);
  conv->attributes = npuc_attributes_clone(r->graph->module, m->root->op, m->root->attributes);
  conv_attributes *a = conv->attributes;
  if (a->auto_pad && strcmp(a->auto_pad, "VALID") == 0) a->pads.count = 0;
  a->auto_pad = "NOTSET";
  add_pads(r, m, &a->pads);
  npuc_rewrite_replace(r, m->root->outputs[0], conv->outputs[0]);
}

static void absorb_into_pool(rewriter *r, const match *m) {
  node *pool = npuc_rewrite_node(r, OP_AVERAGEPOOL, (value *[]){m->values[X]}, 1, 1);
  pool->attributes = npuc_attributes_clone(r->graph->module, m->root->op, m->root->attributes);
  pool_attributes *a = pool->attributes;
  if (a->auto_pad && strcmp(a->auto_pad, "VALID") == 0) a->pads.count = 0;
  a->auto_pad = "NOTSET";
  a->count_include_pad = 1;
  add_pads(r, m, &a->pads);
  npuc_rewrite_replace(r, m->root->outputs[0], pool->outputs[0]);
}

#define PADDED ONE_USE(OP_PAD, PAD, ANY(X), CONST(PADS), OPTIONAL_CONST(FILL), OPTIONAL_CONST(AXES))

static const pattern pad_into_conv = {
    .name = "pad-into-conv",
    .doc = "Conv(Pad(x, p), w, b) -> Conv(x, w, b) with pads + p",
    .parity = PARITY_EXACT,
    .root = NODE(OP_CONV, Y, PADDED, ANY(W), OPTIONAL_INPUT(B)),
    .where = conv_takes,
    .rewrite = absorb_into_conv,
};

static const pattern pad_into_average_pool = {
    .name = "pad-into-average-pool",
    .doc = "AveragePool(Pad(x, p)) -> AveragePool(x) with pads + p, which count",
    .parity = PARITY_EXACT,
    .root = NODE(OP_AVERAGEPOOL, Y, PADDED),
    .where = pool_takes,
    .rewrite = absorb_into_pool,
};

static const pattern *const patterns[] = {&pad_into_conv, &pad_into_average_pool};
PATTERN_SET(npuc_padding_patterns, patterns);

npuc_status npuc_pass_absorb_padding(pass_context *c, graph *g, bool *out_changed) {
  return npuc_pass_rewrite(c, g, npuc_padding_patterns, out_changed);
}
