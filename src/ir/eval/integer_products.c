/* SPDX-License-Identifier: Apache-2.0 */
/* QConv and QGemm: packs the weights unless the executor has done it, and runs the int8 kernels. */
#include "ir/eval/integer.h"
#include "kernels/conv_i8.h"

/* bias, M, s are inputs 2, 3, 4. */
static size_t scale_bytes(const tensor *const *inputs) {
  return piece_bytes(inputs[2]->bytes) + piece_bytes(inputs[3]->bytes) + piece_bytes(inputs[4]->bytes);
}
static q8_scale take_scale(pieces *p, const tensor *const *inputs) {
  q8_scale scale;
  scale.bias = take_copy(p, inputs[2]);
  scale.m = take_copy(p, inputs[3]);
  scale.s = take_copy(p, inputs[4]);
  return scale;
}

static npuc_status run(const eval_context *c, conv_i8 conv, const tensor *const *inputs) {
  const kernel_set *kernels = npuc_eval_kernels(c);
  size_t rest, packed = c->prepared ? 0 : npuc_conv_i8_packed_elements(kernels, &conv.g) * sizeof(int32_t);
  if (!npuc_conv_i8_scratch(kernels, &conv, npuc_pool_threads(c->pool), &rest)) {
    diag_place place = npuc_eval_place(c);
    return npuc_fail(c->d, NPUC_DIAG_E0602, &place, "a row of the input is beyond 2^31 bytes");
  }
  pieces memory;
  NPUC_TRY(start_pieces(c, scale_bytes(inputs) + piece_bytes(packed) + rest, &memory));
  conv.scale = take_scale(&memory, inputs);
  conv.packed = c->prepared;
  if (!c->prepared) {
    int32_t *weights = take(&memory, packed);
    npuc_conv_i8_pack(kernels, &conv.g, inputs[1]->data, weights);
    conv.packed = weights;
  }
  npuc_conv_i8(kernels, c->pool, &conv, memory.at);
  return NPUC_OK;
}

npuc_status npuc_eval_qconv(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qconv_attributes *a = NPUC_ATTRS(qconv_attributes, c->node);
  const tensor *x = inputs[0];
  if (count_of(outputs[0]) == 0) return NPUC_OK;
  conv_i8 conv = {.g = npuc_q8_window_of(&x->shape, &outputs[0]->shape, &a->kernel_shape, &a->strides, &a->pads, &a->dilations)};
  conv.g.group = a->group;
  conv.x = input_of(x, a->x_zero_point);
  conv.y = OUTPUT_OF(outputs[0], a);
  conv.x_last = x->channels_last || conv.g.channels == 1;
  conv.y_last = outputs[0]->channels_last || window_volume(conv.g.out) == 1;
  return run(c, conv, inputs);
}

npuc_status npuc_eval_qgemm(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qgemm_attributes *a = NPUC_ATTRS(qgemm_attributes, c->node);
  if (count_of(outputs[0]) == 0) return NPUC_OK;
  const dim *x = inputs[0]->shape.dims, *w = inputs[1]->shape.dims;
  conv_i8 conv = {.g = npuc_gemm_i8_window(x[0], x[1], w[0]), .x_last = true, .y_last = true};
  conv.x = input_of(inputs[0], a->x_zero_point);
  conv.y = OUTPUT_OF(outputs[0], a);
  return run(c, conv, inputs);
}
