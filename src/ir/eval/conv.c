/* SPDX-License-Identifier: Apache-2.0 */
/* Conv: packs the weights unless the executor has done it, and runs the float32 walk. 16-bit floats are converted whole. */
#include "kernels/conv.h"

#include <math.h>

#include "ir/eval/prepare.h"
#include "ir/eval/window.h"
#include "kernels/convert.h"

static size_t floats(int64_t n) { return ((size_t)n * sizeof(float) + 63) / 64 * 64; }

static const float *as_f32(const tensor *t, char **memory) {
  if (!t) return NULL;
  if (t->type == DTYPE_F32) return t->data;
  int64_t n = npuc_tensor_elements(t);
  float *copy = (float *)(void *)*memory;
  npuc_convert_to_f32(t, 0, n, copy);
  *memory += floats(n);
  return copy;
}

static npuc_status beyond_offsets(const eval_context *c) {
  diag_place place = npuc_eval_place(c);
  return npuc_fail(c->d, NPUC_DIAG_E0602, &place, "one sample of the input or the output is beyond 2^31 elements");
}

static npuc_status run_conv(const eval_context *c, const kernel_window *g, const tensor *x, const tensor *w, const tensor *b, tensor *y) {
  bool converted = x->type != DTYPE_F32, pack = !c->prepared;
  conv_weights weights_of = conv_weights_of(npuc_eval_kernels(c), g);
  size_t packed = pack ? npuc_conv_f32_packed_elements(&weights_of) : 0, rest;
  conv_f32 conv = {.g = *g, .clip_lo = -INFINITY, .clip_hi = INFINITY, .packed = c->prepared};
  if (!npuc_image_planar(g->channels, g->in, NULL, &conv.x_image) || !npuc_image_planar(g->out_channels, g->out, NULL, &conv.y_image) ||
      !npuc_conv_f32_scratch(npuc_eval_kernels(c), &conv, npuc_pool_threads(c->pool), &rest)) {
    return beyond_offsets(c);
  }
  size_t bytes = rest + floats((int64_t)packed);
  if (converted) {
    bytes += floats(npuc_tensor_elements(x)) + floats(npuc_tensor_elements(w)) + floats(g->out_channels) + floats(npuc_tensor_elements(y));
  }
  void *base;
  NPUC_TRY(npuc_eval_scratch(c, bytes, &base));
  char *memory = base;
  conv.x = as_f32(x, &memory);
  conv.bias = as_f32(b, &memory);
  const float *weights = as_f32(w, &memory);
  conv.y = y->data;
  if (converted) {
    conv.y = (float *)(void *)memory;
    memory += floats(npuc_tensor_elements(y));
  }
  if (pack) {
    npuc_conv_f32_pack(&weights_of, weights, (float *)(void *)memory);
    conv.packed = (const float *)(const void *)memory;
    memory += floats((int64_t)packed);
  }
  npuc_conv_f32(npuc_eval_kernels(c), c->pool, &conv, memory);
  if (converted) npuc_convert_from_f32(conv.y, npuc_tensor_elements(y), y, 0);
  return NPUC_OK;
}

npuc_status npuc_eval_conv(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  conv_attributes *a = NPUC_ATTRS(conv_attributes, c->node);
  const tensor *x = inputs[0], *w = inputs[1];
  if (x->type != DTYPE_F32 && x->type != DTYPE_F16 && x->type != DTYPE_BF16) return npuc_eval_unsupported(c, x->type);
  window_fields fields = window_of_conv(a);
  kernel_window g;
  NPUC_TRY(npuc_eval_window(c, &fields, x, outputs[0], w->shape.dims + 2, a->group, &g));
  if (outputs[0]->bytes == 0) return NPUC_OK;
  return run_conv(c, &g, x, w, eval_input(c, inputs, 2), outputs[0]);
}
