/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators have something to prepare. */
#include "ir/eval/prepare.h"

#include "base/limit.h"
#include "ir/eval/integer.h"
#include "kernels/conv.h"
#include "kernels/conv_i8.h"

static npuc_status buffer(diag *d, const node *n, size_t bytes, void **out_buffer) {
  *out_buffer = npuc_buffer_create(bytes);
  if (*out_buffer) return NPUC_OK;
  diag_place place = {.node = n->name, .op = n->op->type};
  return npuc_fail_memory(d, &place, bytes, "packed weights");
}

static npuc_status prepare_conv(diag *d, const kernel_set *kernels, const node *n, const tensor *w, void **out_prepared) {
  if (w->type != DTYPE_F32 || npuc_tensor_elements(w) == 0) return NPUC_OK;
  conv_weights weights = {NPUC_ATTRS(conv_attributes, n)->group, w->shape.dims[0], w->shape.dims[1], 1, kernels->lanes};
  for (int32_t i = 2; i < w->shape.rank; i++) weights.volume *= w->shape.dims[i];
  NPUC_TRY(buffer(d, n, npuc_conv_f32_packed_elements(&weights) * sizeof(float), out_prepared));
  npuc_conv_f32_pack(&weights, w->data, *out_prepared);
  return NPUC_OK;
}

static npuc_status pack_i8(diag *d, const kernel_set *kernels, const node *n, const kernel_window *g, const tensor *w,
                           void **out_prepared) {
  NPUC_TRY(buffer(d, n, npuc_conv_i8_packed_elements(kernels, g) * sizeof(int32_t), out_prepared));
  npuc_conv_i8_pack(kernels, g, w->data, *out_prepared);
  return NPUC_OK;
}

static npuc_status prepare_qconv(diag *d, const kernel_set *kernels, const node *n, const tensor *w, void **out_prepared) {
  const qconv_attributes *a = NPUC_ATTRS(qconv_attributes, n);
  if (npuc_tensor_elements(w) == 0) return NPUC_OK;
  shape x = w->shape, y = w->shape; /* only channels and kernel matter here */
  x.dims[1] = w->shape.dims[1] * a->group;
  y.dims[1] = w->shape.dims[0];
  kernel_window g = npuc_q8_window_of(&x, &y, &a->kernel_shape, &a->strides, &a->pads, &a->dilations);
  g.group = a->group;
  return pack_i8(d, kernels, n, &g, w, out_prepared);
}

static npuc_status prepare_qgemm(diag *d, const kernel_set *kernels, const node *n, const tensor *w, void **out_prepared) {
  kernel_window g = npuc_gemm_i8_window(1, w->shape.dims[1], w->shape.dims[0]);
  return npuc_tensor_elements(w) ? pack_i8(d, kernels, n, &g, w, out_prepared) : NPUC_OK;
}

npuc_status npuc_eval_prepare(diag *d, const kernel_set *kernels, const node *n, const tensor *const *constants, void **out_prepared) {
  *out_prepared = NULL;
  switch (n->op->id) {
    case OP_CONV:
      return constants[1] ? prepare_conv(d, kernels, n, constants[1], out_prepared) : NPUC_OK;
    case OP_QCONV:
      return constants[1] ? prepare_qconv(d, kernels, n, constants[1], out_prepared) : NPUC_OK;
    case OP_QGEMM:
      return constants[1] ? prepare_qgemm(d, kernels, n, constants[1], out_prepared) : NPUC_OK;
    default:
      return NPUC_OK;
  }
}
