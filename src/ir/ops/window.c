/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows, see window.h. */
#include "ir/ops/window.h"

#include <string.h>

/* Larger values than any tensor's; keeps the arithmetic below inside int64. */
static const int64_t LARGEST = INT64_C(1) << 31;

static bool is_pad(const window_fields *w, const char *mode) { return w->auto_pad && strcmp(w->auto_pad, mode) == 0; }
static bool is_same(const window_fields *w) { return is_pad(w, "SAME_UPPER") || is_pad(w, "SAME_LOWER"); }

window_axis npuc_window_axis(const window_fields *w, int32_t axis, int64_t kernel) {
  window_axis a = {.kernel = kernel, .stride = 1, .dilation = 1};
  if (axis < w->strides->count) a.stride = w->strides->values[axis];
  if (axis < w->dilations->count) a.dilation = w->dilations->values[axis];
  int32_t spatial = w->pads->count / 2;
  if (axis < spatial && !is_pad(w, "VALID")) {
    a.begin = w->pads->values[axis];
    a.end = w->pads->values[axis + spatial];
  }
  return a;
}

static int64_t span_of(const window_axis *a) { return a->dilation * (a->kernel - 1) + 1; }

bool npuc_window_output(const window_axis *a, int64_t input, bool ceil_mode, int64_t *out_output) {
  int64_t room = a->begin + input + a->end - span_of(a) + (ceil_mode ? a->stride - 1 : 0);
  if (room < 0) return false;
  int64_t output = room / a->stride + 1;
  if (ceil_mode && (output - 1) * a->stride >= a->begin + input) output--;
  *out_output = output;
  return true;
}

void npuc_window_same(window_axis *a, int64_t input, bool upper) {
  int64_t output = (input + a->stride - 1) / a->stride;
  int64_t total = (output - 1) * a->stride + span_of(a) - input;
  if (total < 0) total = 0;
  int64_t small = total / 2;
  a->begin = upper ? small : total - small;
  a->end = total - a->begin;
}

static npuc_status verify_list(diag *d, const node *n, const char *name, const int_list *list, int32_t wanted, int64_t least) {
  if (list->count == 0) return NPUC_OK;
  if (wanted >= 0 && list->count != wanted) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, name, "%d values wanted, %d given", wanted, list->count);
  }
  for (int32_t i = 0; i < list->count; i++) {
    if (list->values[i] < least || list->values[i] > LARGEST) {
      return npuc_op_fail(d, n, NPUC_DIAG_E0440, name, "value %d is %lld; at least %lld wanted", i, (long long)list->values[i],
                          (long long)least);
    }
  }
  return NPUC_OK;
}

npuc_status npuc_window_verify(diag *d, const node *n, const window_fields *w, int32_t spatial) {
  static const char *const modes[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  bool known = w->auto_pad == NULL;
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) known = known || is_pad(w, modes[i]);
  if (!known) {
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "auto_pad", "\"%s\" is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID", w->auto_pad);
  }
  if (spatial < 0) spatial = w->kernel_shape->count ? w->kernel_shape->count : -1;
  NPUC_TRY(verify_list(d, n, "kernel_shape", w->kernel_shape, spatial, 1));
  NPUC_TRY(verify_list(d, n, "strides", w->strides, spatial, 1));
  NPUC_TRY(verify_list(d, n, "dilations", w->dilations, spatial, 1));
  NPUC_TRY(verify_list(d, n, "pads", w->pads, spatial < 0 ? -1 : 2 * spatial, 0));
  if (w->pads->count % 2)
    return npuc_op_fail(d, n, NPUC_DIAG_E0440, "pads", "%d values given: begins and ends come in pairs", w->pads->count);
  return NPUC_OK;
}

/* A symbolic input keeps its symbol where the window keeps the size, else the output's dim is free. */
static dim symbolic_output(infer_context *c, const window_fields *w, const window_axis *a, dim input, int32_t axis) {
  bool keeps = a->stride == 1 && (is_same(w) || a->begin + a->end == span_of(a) - 1);
  return keeps && input != DIM_UNKNOWN ? input : npuc_infer_free_dim(c, 0, axis);
}

npuc_status npuc_window_infer(infer_context *c, const window_fields *w, const shape *x, const int64_t *kernel, shape *out_shape) {
  int32_t spatial = x->rank - 2;
  NPUC_TRY(npuc_window_verify(c->d, c->node, w, spatial));
  for (int32_t i = 0; i < spatial; i++) {
    if (kernel[i] < 1) { /* unknown kernel */
      out_shape->dims[i + 2] = npuc_infer_free_dim(c, 0, i + 2);
      continue;
    }
    window_axis a = npuc_window_axis(w, i, kernel[i]);
    dim input = x->dims[i + 2];
    if (!dim_is_number(input)) {
      out_shape->dims[i + 2] = symbolic_output(c, w, &a, input, i + 2);
    } else if (is_same(w)) {
      out_shape->dims[i + 2] = (input + a.stride - 1) / a.stride;
    } else if (input > LARGEST || !npuc_window_output(&a, input, w->ceil_mode != 0, &out_shape->dims[i + 2])) {
      return npuc_op_fail(c->d, c->node, NPUC_DIAG_E0441, "kernel_shape",
                          "axis %d: a window of %lld cells does not fit into %lld cells with padding %lld and %lld", i + 2,
                          (long long)span_of(&a), (long long)input, (long long)a.begin, (long long)a.end);
    }
  }
  return NPUC_OK;
}

static void fill_list(node *n, int_list *list, int32_t count, int64_t with) {
  if (list->count) return;
  list->values = NPUC_NEW_ARRAY(n->owner->module->arena, (size_t)count, int64_t);
  list->count = count;
  for (int32_t i = 0; i < count; i++) list->values[i] = with;
}

npuc_status npuc_window_complete(node *n, const window_fields *w, const shape *x, const int64_t *kernel, const char **auto_pad) {
  int32_t spatial = x->rank - 2;
  if (spatial < 1) return NPUC_OK;
  bool kernel_known = true, input_known = true;
  for (int32_t i = 0; i < spatial; i++) {
    kernel_known = kernel_known && kernel[i] > 0;
    input_known = input_known && dim_is_number(x->dims[i + 2]);
  }
  fill_list(n, w->strides, spatial, 1);
  fill_list(n, w->dilations, spatial, 1);
  if (!kernel_known) return NPUC_OK;
  if (w->kernel_shape->count == 0) {
    fill_list(n, w->kernel_shape, spatial, 1);
    memcpy(w->kernel_shape->values, kernel, (size_t)spatial * sizeof *kernel);
  }
  bool same = is_same(w), upper = is_pad(w, "SAME_UPPER");
  if (same && !input_known) return NPUC_OK;
  int64_t *pads = NPUC_NEW_ARRAY(n->owner->module->arena, 2 * (size_t)spatial, int64_t);
  for (int32_t i = 0; i < spatial; i++) {
    window_axis a = npuc_window_axis(w, i, kernel[i]);
    if (same) npuc_window_same(&a, x->dims[i + 2], upper);
    pads[i] = a.begin;
    pads[i + spatial] = a.end;
  }
  *w->pads = (int_list){pads, 2 * spatial};
  *auto_pad = "NOTSET";
  return NPUC_OK;
}
