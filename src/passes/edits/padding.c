/* SPDX-License-Identifier: Apache-2.0 */
/* Edits of padding: for compilers whose Pad has no negative entries, or that have no Pad at all. */
#include <string.h>

#include "passes/edits/build.h"

enum { Y, X, PADS, FILL, AXES };

static bool is_constant_mode(const node *n) {
  const char *mode = NPUC_ATTRS(pad_attributes, n)->mode;
  return !mode || strcmp(mode, "constant") == 0;
}

/* Pads by axis of x, begins and ends, whatever axes the node names; false where they are not known. */
static bool pads_of(const match *m, int64_t begins[MAX_RANK], int64_t ends[MAX_RANK]) {
  int32_t rank = m->values[X]->shape.rank, n = rank, count;
  int64_t pads[2 * MAX_RANK], axes[MAX_RANK];
  if (rank < 0 || !npuc_constant_ints(m->values[PADS], pads, 2 * MAX_RANK, &count)) return false;
  for (int32_t i = 0; i < rank; i++) axes[i] = i;
  if (m->values[AXES] && !npuc_constant_ints(m->values[AXES], axes, MAX_RANK, &n)) return false;
  if (count != 2 * n) return false;
  memset(begins, 0, MAX_RANK * sizeof *begins);
  memset(ends, 0, MAX_RANK * sizeof *ends);
  for (int32_t i = 0; i < n; i++) {
    int32_t axis;
    if (!npuc_axis_normalize(axes[i], rank, &axis)) return false;
    begins[axis] = pads[i];
    ends[axis] = pads[i + n];
  }
  return true;
}

/* -- rewrite-negative-pads -- */

static bool has_negative_pads(const match *m) {
  int64_t begins[MAX_RANK], ends[MAX_RANK];
  if (!is_constant_mode(m->root) || !pads_of(m, begins, ends)) return false;
  for (int32_t i = 0; i < m->values[X]->shape.rank; i++) {
    if (begins[i] < 0 || ends[i] < 0) return true;
  }
  return false;
}

static value *positive_pad(rewriter *r, const match *m, const int64_t *begins, const int64_t *ends, int32_t rank) {
  int64_t pads[2 * MAX_RANK];
  bool any = false;
  for (int32_t i = 0; i < rank; i++) {
    pads[i] = begins[i] > 0 ? begins[i] : 0;
    pads[i + rank] = ends[i] > 0 ? ends[i] : 0;
    any = any || pads[i] || pads[i + rank];
  }
  if (!any) return m->values[X];
  value *inputs[] = {m->values[X], npuc_edit_ints_constant(r, "pads", pads, 2 * rank), m->values[FILL]};
  return npuc_edit_make(r, OP_PAD, inputs, m->values[FILL] ? 3 : 2);
}

static void pad_then_slice(rewriter *r, const match *m) {
  int64_t begins[MAX_RANK], ends[MAX_RANK], axes[MAX_RANK], from[MAX_RANK], to[MAX_RANK];
  int32_t rank = m->values[X]->shape.rank, n = 0;
  if (!pads_of(m, begins, ends)) return;
  value *y = positive_pad(r, m, begins, ends, rank);
  for (int32_t i = 0; i < rank; i++) {
    if (begins[i] >= 0 && ends[i] >= 0) continue;
    axes[n] = i;
    from[n] = begins[i] < 0 ? -begins[i] : 0;
    to[n++] = ends[i] < 0 ? ends[i] : INT64_MAX;
  }
  npuc_edit_done(r, m,
                 MAKE(r, OP_SLICE, y, npuc_edit_ints_constant(r, "begin", from, n), npuc_edit_ints_constant(r, "end", to, n),
                      npuc_edit_ints_constant(r, "axis", axes, n)));
}

#define PAD_ROOT NODE(OP_PAD, Y, ANY(X), ANY(PADS), OPTIONAL_INPUT(FILL), OPTIONAL_CONST(AXES))

static const pattern negative_pads = {
    .name = "negative-pads-to-slice",
    .doc = "Pad(x, p) -> Slice(Pad(x, max(p, 0)), -min(p, 0)), of constant mode",
    .parity = PARITY_EXACT,
    .root = PAD_ROOT,
    .where = has_negative_pads,
    .rewrite = pad_then_slice,
};
static const pattern *const negative_patterns[] = {&negative_pads};
PATTERN_SET(npuc_edit_rewrite_negative_pads_patterns, negative_patterns);

/* -- absorb-padding is the pass of that name; the edit's row names its patterns -- */

/* -- replace-pad-with-concat -- */

static bool is_constant_pad(const match *m) { return is_constant_mode(m->root); }

/* A constant block of x's dims, `count` along the axis; filled with the Pad's number. */
static value *block(rewriter *r, const match *m, shape s, int32_t axis, int64_t count) {
  tensor t;
  s.dims[axis] = count;
  r->status = npuc_tensor_create(r->d, m->values[X]->type, &s, &t);
  if (r->status != NPUC_OK) return NULL;
  double fill = m->values[FILL] ? npuc_tensor_get(m->values[FILL]->constant, 0) : 0.0;
  int64_t n = fill == 0.0 ? 0 : npuc_tensor_elements(&t);
  for (int64_t i = 0; i < n; i++) npuc_tensor_set(&t, i, fill);
  return npuc_edit_tensor(r, "pad", &t);
}

static bool can_concat(rewriter *r, const match *m, int64_t *begins, int64_t *ends) {
  if (!pads_of(m, begins, ends)) {
    npuc_edit_refuse(r, "its pads are computed at run time, so their constants cannot be made");
  } else if (!npuc_edit_is_static(m->values[X])) {
    npuc_edit_refuse(r, "it pads a value whose dims are not all known");
  } else if (m->values[FILL] && !m->values[FILL]->constant) {
    npuc_edit_refuse(r, "what it fills with is computed at run time");
  } else if (has_negative_pads(m)) {
    npuc_edit_refuse(r, "it has a negative pad; rewrite-negative-pads makes a Slice of it");
    npuc_fix(r->d, "--edit rewrite-negative-pads --edit replace-pad-with-concat");
  }
  return r->status == NPUC_OK;
}

static void concat_blocks(rewriter *r, const match *m) {
  int64_t begins[MAX_RANK], ends[MAX_RANK];
  if (!can_concat(r, m, begins, ends)) return;
  shape s = m->values[X]->shape;
  value *y = m->values[X];
  for (int32_t axis = 0; axis < s.rank; axis++) {
    value *parts[3];
    int32_t n = 0;
    if (begins[axis]) parts[n++] = block(r, m, s, axis, begins[axis]);
    parts[n++] = y;
    if (ends[axis]) parts[n++] = block(r, m, s, axis, ends[axis]);
    if (r->status != NPUC_OK) return;
    if (n > 1) y = npuc_edit_concat(r, parts, n, axis);
    s.dims[axis] += begins[axis] + ends[axis];
  }
  npuc_edit_done(r, m, y);
}

static const pattern pad_to_concat = {
    .name = "pad-to-concat",
    .doc = "Pad(x, p, c) -> Concat(c.., x, c..) axis by axis; x where p is 0",
    .parity = PARITY_EXACT,
    .root = PAD_ROOT,
    .where = is_constant_pad,
    .rewrite = concat_blocks,
};
static const pattern *const concat_patterns[] = {&pad_to_concat};
PATTERN_SET(npuc_edit_replace_pad_with_concat_patterns, concat_patterns);
