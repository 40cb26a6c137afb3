/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of the integer pools and softmaxes, by the reference kernels. */
#include "ir/eval/integer.h"

/* Fills the last `spatial` of the three axes; the others are of size 1. */
q8_window npuc_q8_window_of(const shape *x, const shape *y, const int_list *kernel, const int_list *strides, const int_list *pads,
                            const int_list *dilations) {
  q8_window g = {.batch = x->dims[0], .channels = x->dims[1], .out_channels = y->dims[1], .group = 1};
  int32_t spatial = x->rank - 2;
  for (int32_t i = 0; i < Q8_SPATIAL; i++) {
    int32_t a = i - (Q8_SPATIAL - spatial);
    bool real = a >= 0;
    g.in[i] = real ? x->dims[2 + a] : 1;
    g.out[i] = real ? y->dims[2 + a] : 1;
    g.kernel[i] = real ? kernel->values[a] : 1;
    g.stride[i] = real && a < strides->count ? strides->values[a] : 1;
    g.begin[i] = real && a < pads->count ? pads->values[a] : 0;
    g.end[i] = real && a + spatial < pads->count ? pads->values[a + spatial] : 0;
    g.dilation[i] = real && a < dilations->count ? dilations->values[a] : 1;
  }
  return g;
}

npuc_status npuc_eval_qglobalaveragepool(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qunary_attributes *a = NPUC_ATTRS(qunary_attributes, c->node);
  q8_input x = input_of(inputs[0], a->x_zero_point);
  q8_output y = OUTPUT_OF(outputs[0], a);
  int32_t m = int_at(inputs[1], 0), s = int_at(inputs[2], 0);
  int64_t maps = count_of(outputs[0]);
  if (maps) npuc_ref_qglobalaveragepool(maps, count_of(inputs[0]) / maps, &x, &(q8_scale){.m = &m, .s = &s}, &y);
  return NPUC_OK;
}

npuc_status npuc_eval_qaveragepool(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qpool_attributes *a = NPUC_ATTRS(qpool_attributes, c->node);
  q8_window g = npuc_q8_window_of(&inputs[0]->shape, &outputs[0]->shape, &a->kernel_shape, &a->strides, &a->pads, &a->dilations);
  q8_input x = input_of(inputs[0], a->x_zero_point);
  q8_output y = OUTPUT_OF(outputs[0], a);
  size_t bytes = 0;
  for (int i = 1; i < 4; i++) bytes += piece_bytes(inputs[i]->bytes);
  pieces rest;
  NPUC_TRY(start_pieces(c, bytes, &rest));
  q8_scale scale = {.m = take_copy(&rest, inputs[1]), .s = take_copy(&rest, inputs[2])};
  if (npuc_ref_qaveragepool(&g, a->count_include_pad != 0, &x, take_copy(&rest, inputs[3]), count_of(inputs[3]), &scale, &y))
    return NPUC_OK;
  return npuc_fail(c->d, NPUC_DIAG_E0714, &(diag_place){.node = c->node->name, .op = c->node->op->type, .attribute = "counts"},
                   "a window's number of cells is not in counts");
}

static q8_axis axis_of(const tensor *x, int64_t axis) {
  q8_axis g = {.outer = 1, .n = 1, .inner = 1};
  int32_t normal = 0;
  if (!npuc_axis_normalize(axis, x->shape.rank, &normal)) return g;
  g.n = x->shape.dims[normal];
  for (int32_t i = 0; i < normal; i++) g.outer *= x->shape.dims[i];
  for (int32_t i = normal + 1; i < x->shape.rank; i++) g.inner *= x->shape.dims[i];
  return g;
}

npuc_status npuc_eval_qsoftmax(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qsoftmax_attributes *a = NPUC_ATTRS(qsoftmax_attributes, c->node);
  q8_axis g = axis_of(inputs[0], a->axis);
  q8_input x = input_of(inputs[0], 0);
  q8_output y = OUTPUT_OF(outputs[0], a);
  pieces rest;
  NPUC_TRY(start_pieces(c, piece_bytes(inputs[1]->bytes), &rest));
  if (count_of(inputs[0])) npuc_ref_qsoftmax(&g, &x, take_copy(&rest, inputs[1]), int_at(inputs[2], 0), &y);
  return NPUC_OK;
}

npuc_status npuc_eval_qlogsoftmax(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qsoftmax_attributes *a = NPUC_ATTRS(qsoftmax_attributes, c->node);
  q8_axis g = axis_of(inputs[0], a->axis);
  q8_input x = input_of(inputs[0], 0);
  q8_output y = OUTPUT_OF(outputs[0], a);
  pieces rest;
  NPUC_TRY(start_pieces(c, piece_bytes(inputs[1]->bytes) + piece_bytes(inputs[2]->bytes) + piece_bytes(inputs[3]->bytes), &rest));
  const uint16_t *exponentials = take_copy(&rest, inputs[1]);
  const int32_t *logarithms = take_copy(&rest, inputs[2]), *m = take_copy(&rest, inputs[3]);
  if (count_of(inputs[0])) npuc_ref_qlogsoftmax(&g, &x, exponentials, logarithms, m, int_at(inputs[4], 0), &y);
  return NPUC_OK;
}
