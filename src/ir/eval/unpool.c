/* SPDX-License-Identifier: Apache-2.0 */
/* What puts windows back, and norms of windows: MaxUnpool, Col2Im, LpPool, GlobalLpPool. Sums in double, rounded once. */
#include <math.h>
#include <string.h>

#include "ir/eval/window.h"
#include "kernels/convert.h"

/* -- LpPool, GlobalLpPool -- */

static double power_of(double v, int64_t p) { return p == 1 ? fabs(v) : p == 2 ? v * v : pow(fabs(v), (double)p); }
static double root_of(double v, int64_t p) { return p == 1 ? v : p == 2 ? sqrt(v) : pow(v, 1.0 / (double)p); }

typedef struct norm_job {
  kernel_window g;
  const tensor *x;
  tensor *y;
  int64_t p;
} norm_job;

/* The input cell of tap `tap` of output o in its plane, or -1. */
static int64_t cell_of(const kernel_window *g, int64_t o, int64_t tap) {
  int64_t at = 0, stride = 1;
  for (int axis = WINDOW_AXES - 1; axis >= 0; axis--) {
    int64_t i = o % g->out[axis] * g->stride[axis] - g->begin[axis] + tap % g->kernel[axis] * g->dilation[axis];
    if (i < 0 || i >= g->in[axis]) return -1;
    at += i * stride;
    stride *= g->in[axis];
    o /= g->out[axis];
    tap /= g->kernel[axis];
  }
  return at;
}

static void norm_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const norm_job *j = context;
  int64_t taps = window_volume(j->g.kernel), in = window_volume(j->g.in), out = window_volume(j->g.out);
  for (int64_t plane = (int64_t)begin; plane < (int64_t)end; plane++) {
    for (int64_t o = 0; o < out; o++) {
      double sum = 0.0;
      for (int64_t tap = 0; tap < taps; tap++) {
        int64_t at = cell_of(&j->g, o, tap);
        if (at >= 0) sum += power_of(npuc_tensor_get(j->x, plane * in + at), j->p);
      }
      npuc_tensor_set(j->y, plane * out + o, root_of(sum, j->p));
    }
  }
}

npuc_status npuc_eval_lppool(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  pool_attributes *a = NPUC_ATTRS(pool_attributes, c->node);
  window_fields fields = window_of_pool(a);
  norm_job j = {.x = inputs[0], .y = outputs[0], .p = a->p};
  if (npuc_dtype_kind(j.x->type) != KIND_FLOAT) return npuc_eval_unsupported(c, j.x->type);
  NPUC_TRY(npuc_eval_window(c, &fields, j.x, j.y, a->kernel_shape.values, 1, &j.g));
  if (j.y->bytes) npuc_parallel_for(c->pool, (size_t)(j.g.batch * j.g.channels), 0, norm_body, &j);
  return NPUC_OK;
}

npuc_status npuc_eval_globallppool(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  int64_t p = NPUC_ATTRS(p_attributes, c->node)->p, planes = npuc_tensor_elements(outputs[0]),
          each = planes ? npuc_tensor_elements(x) / planes : 0;
  if (npuc_dtype_kind(x->type) != KIND_FLOAT) return npuc_eval_unsupported(c, x->type);
  for (int64_t plane = 0; plane < planes; plane++) {
    double sum = 0.0;
    for (int64_t i = 0; i < each; i++) sum += power_of(npuc_tensor_get(x, plane * each + i), p);
    npuc_tensor_set(outputs[0], plane, root_of(sum, p));
  }
  return NPUC_OK;
}

/* -- MaxUnpool: indices count in the shape that the attributes give, which is the corner of a larger output -- */

static int64_t moved_index(int64_t index, const shape *from, const shape *to) {
  int64_t at = 0, stride = 1;
  for (int32_t i = to->rank - 1; i >= 0; i--) {
    int64_t place = index % from->dims[i];
    if (place >= to->dims[i]) return -1;
    at += place * stride;
    stride *= to->dims[i];
    index /= from->dims[i];
  }
  return index ? -1 : at;
}

npuc_status npuc_eval_maxunpool(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  unpool_attributes *a = NPUC_ATTRS(unpool_attributes, c->node);
  int_list none = {0};
  window_fields fields = {NULL, &a->kernel_shape, &a->strides, &a->pads, &none, 0};
  const tensor *x = inputs[0];
  tensor *y = outputs[0];
  diag_place place = npuc_eval_place(c);
  shape from = x->shape;
  bool fits = y->shape.rank == from.rank && npuc_tensor_elements(inputs[1]) == npuc_tensor_elements(x);
  for (int32_t i = 2; fits && i < from.rank; i++) {
    window_axis w = npuc_window_axis(&fields, i - 2, a->kernel_shape.values[i - 2]);
    from.dims[i] = (x->shape.dims[i] - 1) * w.stride + w.kernel - w.begin - w.end;
    fits = from.dims[i] > 0;
  }
  if (!fits) return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "X, I and the output's shape do not fit together");
  if (y->bytes) memset(y->data, 0, y->bytes);
  for (int64_t i = 0; i < npuc_tensor_elements(x); i++) {
    int64_t index = npuc_tensor_get_int(inputs[1], i), to = index < 0 ? -1 : moved_index(index, &from, &y->shape);
    if (to < 0) return npuc_fail(c->d, NPUC_DIAG_E0603, &place, "index %lld lies outside the output", (long long)index);
    npuc_tensor_set(y, to, npuc_tensor_get(x, i));
  }
  return NPUC_OK;
}

/* -- Col2Im -- */

typedef struct fold_job {
  const tensor *x;
  tensor *y;
  int32_t spatial;
  window_axis axes[MAX_RANK];
  int64_t blocks[MAX_RANK], taps, places, plane;
} fold_job;

static void fold_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const fold_job *j = context;
  for (int64_t u = (int64_t)begin; u < (int64_t)end; u++) {
    int64_t image = u / j->plane, cell = u % j->plane;
    double sum = 0.0;
    for (int64_t tap = 0; tap < j->taps; tap++) { /* the block that has this cell under tap `tap`, if any */
      int64_t place = 0, stride = 1, tap_rest = tap, cell_rest = cell;
      for (int32_t i = j->spatial - 1; i >= 0 && place >= 0; i--) {
        const window_axis *a = &j->axes[i];
        int64_t size = j->y->shape.dims[2 + i], from = cell_rest % size + a->begin - tap_rest % a->kernel * a->dilation;
        place = from < 0 || from % a->stride || from / a->stride >= j->blocks[i] ? -1 : place + from / a->stride * stride;
        stride *= j->blocks[i];
        cell_rest /= size;
        tap_rest /= a->kernel;
      }
      if (place >= 0) sum += npuc_tensor_get(j->x, (image * j->taps + tap) * j->places + place);
    }
    npuc_convert_from_f64(&sum, 1, j->y, u);
  }
}

npuc_status npuc_eval_col2im(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  col2im_attributes *a = NPUC_ATTRS(col2im_attributes, c->node);
  int_list none = {0};
  window_fields fields = {NULL, &none, &a->strides, &a->pads, &a->dilations, 0};
  fold_job j = {.x = inputs[0], .y = outputs[0], .spatial = outputs[0]->shape.rank - 2, .taps = 1, .places = 1, .plane = 1};
  bool fits = npuc_tensor_elements(inputs[2]) == j.spatial;
  for (int32_t i = 0; fits && i < j.spatial; i++) {
    j.axes[i] = npuc_window_axis(&fields, i, npuc_tensor_get_int(inputs[2], i));
    fits = j.axes[i].kernel > 0 && npuc_window_output(&j.axes[i], j.y->shape.dims[2 + i], false, &j.blocks[i]) &&
           !__builtin_mul_overflow(j.taps, j.axes[i].kernel, &j.taps) && !__builtin_mul_overflow(j.places, j.blocks[i], &j.places);
    j.plane *= j.y->shape.dims[2 + i];
  }
  if (!fits || j.x->shape.dims[1] != j.taps * j.y->shape.dims[1] || j.x->shape.dims[2] != j.places) {
    diag_place place = npuc_eval_place(c);
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place,
                     "blocks and image do not fit: [N, %lld, %lld] given, blocks of %lld taps at %lld places",
                     (long long)j.x->shape.dims[1], (long long)j.x->shape.dims[2], (long long)j.taps, (long long)j.places);
  }
  if (npuc_dtype_kind(j.y->type) != KIND_FLOAT) return npuc_eval_unsupported(c, j.y->type);
  if (j.y->bytes) npuc_parallel_for(c->pool, (size_t)npuc_tensor_elements(j.y), 1024, fold_body, &j);
  return NPUC_OK;
}
