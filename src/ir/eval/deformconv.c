/* SPDX-License-Identifier: Apache-2.0 */
/* DeformConv: for each output place the taps of all channels are interpolated into a column, which is multiplied by the weights. In double,
 * over channels, then taps; rounded once. */
#include <math.h>

#include "ir/eval/window.h"
#include "kernels/convert.h"

typedef struct deform_job {
  kernel_window g;
  const tensor *x, *w, *offset, *bias, *mask; /* the last two may be NULL */
  tensor *y;
  int32_t spatial;
  int64_t offset_group, taps, in_plane, out_plane;
  double *columns; /* [workers, channels, taps] */
} deform_job;

/* X at a place between cells; cells outside are 0. */
static double between(const deform_job *j, int64_t plane, const double *place) {
  double result = 0.0;
  for (unsigned corner = 0; corner < 1u << j->spatial; corner++) {
    double weight = 1.0;
    int64_t at = 0;
    for (int32_t i = 0; i < j->spatial && at >= 0; i++) {
      int64_t size = j->x->shape.dims[2 + i];
      double low = floor(place[i]), rest = place[i] - low, cell = low + (corner >> i & 1);
      weight *= corner >> i & 1 ? rest : 1.0 - rest;
      at = cell >= 0.0 && cell < (double)size ? at * size + (int64_t)cell : -1;
    }
    if (at >= 0 && weight != 0.0) result += weight * npuc_tensor_get(j->x, plane * j->in_plane + at);
  }
  return result;
}

/* Where tap `tap` of offset group `og` lies for output place o of sample n. */
static void place_of(const deform_job *j, int64_t n, int64_t og, int64_t tap, int64_t o, double *place) {
  int64_t tap_rest = tap, o_rest = o;
  for (int32_t i = j->spatial - 1; i >= 0; i--) {
    int32_t axis = WINDOW_AXES - j->spatial + i;
    int64_t k = tap_rest % j->g.kernel[axis], at = o_rest % j->g.out[axis];
    int64_t channel = ((n * j->offset_group + og) * j->taps + tap) * j->spatial + i;
    place[i] = (double)(at * j->g.stride[axis] - j->g.begin[axis] + k * j->g.dilation[axis]) +
               npuc_tensor_get(j->offset, channel * j->out_plane + o);
    tap_rest /= j->g.kernel[axis];
    o_rest /= j->g.out[axis];
  }
}

static void fill_column(const deform_job *j, int64_t n, int64_t o, double *column) {
  int64_t each = j->g.channels / j->offset_group;
  for (int64_t og = 0; og < j->offset_group; og++) {
    for (int64_t tap = 0; tap < j->taps; tap++) {
      double place[WINDOW_AXES], mask = 1.0;
      place_of(j, n, og, tap, o, place);
      if (j->mask) mask = npuc_tensor_get(j->mask, ((n * j->offset_group + og) * j->taps + tap) * j->out_plane + o);
      for (int64_t c = og * each; c < (og + 1) * each; c++) column[c * j->taps + tap] = mask * between(j, n * j->g.channels + c, place);
    }
  }
}

static void body(void *context, size_t begin, size_t end, size_t worker) {
  const deform_job *j = context;
  int64_t channels = j->g.channels / j->g.group, outs = j->g.out_channels, depth = channels * j->taps;
  double *column = j->columns + (int64_t)worker * j->g.channels * j->taps;
  for (int64_t u = (int64_t)begin; u < (int64_t)end; u++) {
    int64_t n = u / j->out_plane, o = u % j->out_plane;
    fill_column(j, n, o, column);
    for (int64_t m = 0; m < outs; m++) {
      const double *from = column + m / (outs / j->g.group) * depth;
      double sum = j->bias ? npuc_tensor_get(j->bias, m) : 0.0;
      for (int64_t k = 0; k < depth; k++) sum += from[k] * npuc_tensor_get(j->w, m * depth + k);
      npuc_convert_from_f64(&sum, 1, j->y, (n * outs + m) * j->out_plane + o);
    }
  }
}

npuc_status npuc_eval_deformconv(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  deformconv_attributes *a = NPUC_ATTRS(deformconv_attributes, c->node);
  window_fields fields = {NULL, &a->kernel_shape, &a->strides, &a->pads, &a->dilations, 0};
  const tensor *x = inputs[0];
  deform_job j = {
      .x = x, .w = inputs[1], .offset = inputs[2], .bias = eval_input(c, inputs, 3), .mask = eval_input(c, inputs, 4), .y = outputs[0]};
  if (outputs[0]->bytes == 0) return NPUC_OK;
  NPUC_TRY(npuc_eval_window(c, &fields, x, j.y, j.w->shape.dims + 2, a->group, &j.g));
  j.spatial = x->shape.rank - 2;
  j.offset_group = a->offset_group;
  j.taps = window_volume(j.g.kernel);
  j.in_plane = window_volume(j.g.in);
  j.out_plane = window_volume(j.g.out);
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, (size_t)(j.g.channels * j.taps) * npuc_pool_threads(c->pool) * sizeof(double), &memory));
  j.columns = memory;
  npuc_parallel_for(c->pool, (size_t)(j.g.batch * j.out_plane), 0, body, &j);
  return NPUC_OK;
}
