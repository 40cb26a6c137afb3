/* SPDX-License-Identifier: Apache-2.0 */
/* ConvInteger and QLinearConv. Zero points are subtracted first, into int32 copies, so that padding is 0; sums are exact modulo 2^32; a quantized
 * result is rounded once, from double. Units are rows of outputs: [sample, output channel, depth, row]. */
#include <math.h>
#include <string.h>

#include "ir/eval/window.h"
#include "kernels/convert.h"

typedef struct int_conv {
  kernel_window g;
  const int32_t *x, *w; /* without zero points: as x; [M, channels of a group, taps] */
  uint32_t *rows;       /* [workers, out width]: sums */
  tensor *y;
  const tensor *bias, *x_scale, *w_scale, *y_scale, *y_zero; /* scales NULL: sums are the result */
  int64_t lo, hi;
} int_conv;

/* sums[o] += weight * x[o * stride + offset] where that lies inside the row. */
static void add_tap(const kernel_window *g, const int32_t *row, int64_t tap, int32_t weight, uint32_t *sums) {
  int64_t first, last, offset = tap * g->dilation[2] - g->begin[2];
  window_inside(g, 2, tap, &first, &last);
  for (int64_t o = first; o < last; o++) sums[o] += (uint32_t)weight * (uint32_t)row[o * g->stride[2] + offset];
}

/* The sums of row (sample n, channel m, output depth d, output row h). */
static void sum_row(const int_conv *j, int64_t n, int64_t m, int64_t d, int64_t h, uint32_t *sums) {
  const kernel_window *g = &j->g;
  int64_t channels = g->channels / g->group, first = m / (g->out_channels / g->group) * channels, taps = window_volume(g->kernel);
  memset(sums, 0, (size_t)g->out[2] * sizeof *sums);
  for (int64_t k = 0; k < channels * taps; k++) {
    int64_t tap = k % taps, kw = tap % g->kernel[2], kh = tap / g->kernel[2] % g->kernel[1], kd = tap / g->kernel[2] / g->kernel[1];
    int64_t z = d * g->stride[0] - g->begin[0] + kd * g->dilation[0], y = h * g->stride[1] - g->begin[1] + kh * g->dilation[1];
    int32_t weight = j->w[m * channels * taps + k];
    if (z < 0 || z >= g->in[0] || y < 0 || y >= g->in[1] || weight == 0) continue;
    const int32_t *row = j->x + (((n * g->channels + first + k / taps) * g->in[0] + z) * g->in[1] + y) * g->in[2];
    add_tap(g, row, kw, weight, sums);
  }
}

static void store_row(const int_conv *j, int64_t m, int64_t at, const uint32_t *sums) {
  int64_t width = j->g.out[2], bias = j->bias ? npuc_tensor_get_int(j->bias, m) : 0;
  if (!j->x_scale) {
    memcpy((int32_t *)j->y->data + at, sums, (size_t)width * sizeof *sums);
    return;
  }
  int64_t per = npuc_tensor_elements(j->w_scale) == 1 ? 0 : m, zero = npuc_tensor_get_int(j->y_zero, 0);
  double scale = npuc_tensor_get(j->x_scale, 0) * npuc_tensor_get(j->w_scale, per) / npuc_tensor_get(j->y_scale, 0);
  for (int64_t o = 0; o < width; o++) {
    double v = rint((double)(int32_t)(sums[o] + (uint32_t)bias) * scale) + (double)zero;
    npuc_tensor_set(j->y, at + o, v < (double)j->lo ? (double)j->lo : v > (double)j->hi ? (double)j->hi : v);
  }
}

static void body(void *context, size_t begin, size_t end, size_t worker) {
  const int_conv *j = context;
  const kernel_window *g = &j->g;
  uint32_t *sums = j->rows + worker * (size_t)g->out[2];
  for (int64_t u = (int64_t)begin; u < (int64_t)end; u++) {
    int64_t h = u % g->out[1], d = u / g->out[1] % g->out[0], m = u / g->out[1] / g->out[0] % g->out_channels;
    sum_row(j, u / g->out[1] / g->out[0] / g->out_channels, m, d, h, sums);
    store_row(j, m, u * g->out[2], sums);
  }
}

/* t - zero as int32; zero has one element, or one for each of t's first axis. */
static npuc_status without_zero(const eval_context *c, const tensor *t, const tensor *zero, int32_t *out) {
  int64_t n = npuc_tensor_elements(t), zeros = zero ? npuc_tensor_elements(zero) : 1,
          per = zeros > 1 && zeros == t->shape.dims[0] ? n / zeros : n;
  if (zeros != 1 && zeros != t->shape.dims[0]) {
    diag_place place = npuc_eval_place(c);
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "%lld zero points for %lld channels", (long long)zeros, (long long)t->shape.dims[0]);
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t z = zero ? npuc_tensor_get_int(zero, zeros > 1 ? i / per : 0) : 0;
    out[i] = (int32_t)(npuc_tensor_get_int(t, i) - z);
  }
  return NPUC_OK;
}

static npuc_status run(const eval_context *c, int_conv *j, const tensor *x, const tensor *x_zero, const tensor *w, const tensor *w_zero) {
  conv_attributes *a = NPUC_ATTRS(conv_attributes, c->node);
  window_fields fields = window_of_conv(a);
  if (j->y->bytes == 0) return NPUC_OK;
  NPUC_TRY(npuc_eval_window(c, &fields, x, j->y, w->shape.dims + 2, a->group, &j->g));
  size_t n_x = (size_t)npuc_tensor_elements(x), n_w = (size_t)npuc_tensor_elements(w);
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, (n_x + n_w + (size_t)j->g.out[2] * npuc_pool_threads(c->pool)) * sizeof(int32_t), &memory));
  int32_t *copy = memory;
  NPUC_TRY(without_zero(c, x, x_zero, copy));
  NPUC_TRY(without_zero(c, w, w_zero, copy + n_x));
  j->x = copy;
  j->w = copy + n_x;
  j->rows = (uint32_t *)(copy + n_x + n_w);
  npuc_parallel_for(c->pool, (size_t)(j->g.batch * j->g.out_channels * j->g.out[0] * j->g.out[1]), 0, body, j);
  return NPUC_OK;
}

npuc_status npuc_eval_convinteger(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  int_conv j = {.y = outputs[0]};
  return run(c, &j, inputs[0], eval_input(c, inputs, 2), inputs[1], eval_input(c, inputs, 3));
}

npuc_status npuc_eval_qlinearconv(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  int_conv j = {.y = outputs[0],
                .bias = eval_input(c, inputs, 8),
                .x_scale = inputs[1],
                .w_scale = inputs[4],
                .y_scale = inputs[6],
                .y_zero = inputs[7]};
  if (!npuc_dtype_range(outputs[0]->type, &j.lo, &j.hi)) return npuc_eval_unsupported(c, outputs[0]->type);
  return run(c, &j, inputs[0], inputs[2], inputs[3], inputs[5]);
}
