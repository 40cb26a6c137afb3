/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of the integer operators: tensors and attributes become the kernels' arguments. Work is split over output elements, never
 * inside a sum. */
#include <string.h>

#include "ir/attributes.h"
#include "ir/ops/definitions.h"
#include "kernels/ref/integer.h"
#include "kernels/ref/integer_fast.h"

static q8_input input_of(const tensor *t, int64_t zero_point) {
  return (q8_input){.data = t->data, .is_signed = t->type == DTYPE_I8, .zero_point = (int32_t)zero_point};
}
#define OUTPUT_OF(t, a)                                                                                                                   \
  ((q8_output){.data = (t)->data, .is_signed = (t)->type == DTYPE_I8, .zero_point = (int32_t)(a)->y_zero_point, .lo = (int32_t)(a)->lo, \
               .hi = (int32_t)(a)->hi})

static int64_t count_of(const tensor *t) { return npuc_tensor_elements(t); }
static int32_t int_at(const tensor *t, int64_t i) { return (int32_t)npuc_tensor_get_int(t, i); }

/* Pieces of one scratch block. Parameters are copied into it: a constant's bytes may lie at any address. */
typedef struct pieces {
  unsigned char *at;
} pieces;
static size_t piece_bytes(size_t bytes) { return (bytes + 63) / 64 * 64; }
static void *take(pieces *p, size_t bytes) {
  void *piece = p->at;
  p->at += piece_bytes(bytes);
  return piece;
}
static const void *take_copy(pieces *p, const tensor *t) {
  void *piece = take(p, t->bytes);
  if (t->bytes) memcpy(piece, t->data, t->bytes);
  return piece;
}

static npuc_status start_pieces(const eval_context *c, size_t bytes, pieces *out) {
  out->at = c->scratch(c->user, bytes + 64);
  if (out->at) return NPUC_OK;
  return npuc_fail(c->d, NPUC_DIAG_E0002, &(diag_place){.node = c->node->name, .op = c->node->op->type}, "%zu bytes of scratch memory", bytes);
}

/* Fills the last `spatial` of the three axes; the others are of size 1. */
static q8_window window_of(const tensor *x, const tensor *y, const int_list *kernel, const int_list *strides, const int_list *pads, const int_list *dilations) {
  q8_window g = {.batch = x->shape.dims[0], .channels = x->shape.dims[1], .out_channels = y->shape.dims[1], .group = 1};
  int32_t spatial = x->shape.rank - 2;
  for (int32_t i = 0; i < Q8_SPATIAL; i++) {
    int32_t a = i - (Q8_SPATIAL - spatial);
    bool real = a >= 0;
    g.in[i] = real ? x->shape.dims[2 + a] : 1;
    g.out[i] = real ? y->shape.dims[2 + a] : 1;
    g.kernel[i] = real ? kernel->values[a] : 1;
    g.stride[i] = real && a < strides->count ? strides->values[a] : 1;
    g.begin[i] = real && a < pads->count ? pads->values[a] : 0;
    g.end[i] = real && a + spatial < pads->count ? pads->values[a + spatial] : 0;
    g.dilation[i] = real && a < dilations->count ? dilations->values[a] : 1;
  }
  return g;
}

static int64_t volume(const int64_t dims[Q8_SPATIAL]) { return dims[0] * dims[1] * dims[2]; }

/* One convolution or matrix product in work. */
typedef struct product {
  q8_window window;
  int64_t depth, outputs;
  q8_input x;
  q8_output y;
  q8_scale scale;
  const int8_t *weights;
  const int16_t *packed;
  unsigned char *workers; /* scratch of each worker, worker_bytes apart */
  size_t worker_bytes;
} product;

static void conv_tiles(void *context, size_t begin, size_t end, size_t worker) {
  const product *p = context;
  int16_t *patch = (int16_t *)(void *)(p->workers + worker * p->worker_bytes);
  for (size_t i = begin; i < end; i++) npuc_q8_conv_tile(&p->window, (int64_t)i, &p->x, p->packed, &p->scale, patch, &p->y);
}

static void depthwise_planes(void *context, size_t begin, size_t end, size_t worker) {
  const product *p = context;
  int32_t *row = (int32_t *)(void *)(p->workers + worker * p->worker_bytes);
  npuc_q8_depthwise(&p->window, (int64_t)begin, (int64_t)(end - begin), &p->x, p->weights, &p->scale, row, &p->y);
}

static void gemm_rows(void *context, size_t begin, size_t end, size_t worker) {
  const product *p = context;
  int16_t *patch = (int16_t *)(void *)(p->workers + worker * p->worker_bytes);
  npuc_q8_gemm_rows((int64_t)begin, (int64_t)(end - begin), p->depth, p->outputs, &p->x, p->packed, &p->scale, patch, &p->y);
}

/* Lays out scratch: copies of bias, M, s (inputs 2, 3, 4), packed weights of `packed` int16, the workers' parts. */
static npuc_status product_scratch(const eval_context *c, const tensor *const *inputs, int64_t packed, size_t worker_bytes, product *p, int16_t **out_packed) {
  size_t threads = npuc_pool_threads(c->pool);
  size_t bytes = piece_bytes((size_t)packed * 2) + threads * piece_bytes(worker_bytes);
  for (int i = 2; i < 5; i++) bytes += piece_bytes(inputs[i]->bytes);
  pieces rest;
  NPUC_TRY(start_pieces(c, bytes, &rest));
  p->scale = (q8_scale){.bias = take_copy(&rest, inputs[2]), .m = take_copy(&rest, inputs[3]), .s = take_copy(&rest, inputs[4])};
  *out_packed = take(&rest, (size_t)packed * 2);
  p->worker_bytes = piece_bytes(worker_bytes);
  p->workers = rest.at;
  p->packed = *out_packed;
  return NPUC_OK;
}

npuc_status npuc_eval_qconv(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qconv_attributes *a = NPUC_ATTRS(qconv_attributes, c->node);
  const tensor *x = inputs[0], *w = inputs[1];
  if (count_of(outputs[0]) == 0) return NPUC_OK;
  product p = {.window = window_of(x, outputs[0], &a->kernel_shape, &a->strides, &a->pads, &a->dilations), .weights = w->data};
  p.window.group = a->group;
  p.x = input_of(x, a->x_zero_point);
  p.y = OUTPUT_OF(outputs[0], a);
  p.depth = p.window.channels / a->group * volume(p.window.kernel);
  bool depthwise = a->group == p.window.channels && p.window.out_channels == a->group;
  int64_t packed = depthwise ? 0 : p.window.out_channels * npuc_q8_packed(p.depth);
  size_t worker = depthwise ? (size_t)p.window.out[2] * 4 : (size_t)npuc_q8_tile_values(&p.window) * 2;
  int16_t *weights;
  NPUC_TRY(product_scratch(c, inputs, packed, worker, &p, &weights));
  if (depthwise) {
    npuc_parallel_for(c->pool, (size_t)(p.window.batch * p.window.channels), 0, depthwise_planes, &p);
    return NPUC_OK;
  }
  npuc_q8_pack_weights(p.window.out_channels, p.depth, w->data, weights);
  npuc_parallel_for(c->pool, (size_t)npuc_q8_conv_tiles(&p.window), 0, conv_tiles, &p);
  return NPUC_OK;
}

npuc_status npuc_eval_qgemm(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qgemm_attributes *a = NPUC_ATTRS(qgemm_attributes, c->node);
  int64_t rows = inputs[0]->shape.dims[0];
  product p = {.depth = inputs[0]->shape.dims[1], .outputs = inputs[1]->shape.dims[0], .weights = inputs[1]->data};
  p.x = input_of(inputs[0], a->x_zero_point);
  p.y = OUTPUT_OF(outputs[0], a);
  bool few = rows < 4; /* packing would cost more than it saves */
  int64_t row = npuc_q8_packed(p.depth);
  int16_t *weights;
  NPUC_TRY(product_scratch(c, inputs, few ? 0 : p.outputs * row, (size_t)row * 2, &p, &weights));
  if (few) {
    npuc_ref_qgemm(rows, p.depth, p.outputs, &p.x, p.weights, &p.scale, &p.y);
    return NPUC_OK;
  }
  npuc_q8_pack_weights(p.outputs, p.depth, p.weights, weights);
  npuc_parallel_for(c->pool, (size_t)rows, 0, gemm_rows, &p);
  return NPUC_OK;
}

/* Strides of t's elements seen with y's dims: 0 along broadcast axes. */
static void broadcast_strides(const tensor *t, const tensor *y, int64_t out[Q8_RANK]) {
  int64_t stride = 1;
  for (int32_t i = y->shape.rank - 1; i >= 0; i--) {
    int32_t own = i - (y->shape.rank - t->shape.rank);
    int64_t size = own >= 0 ? t->shape.dims[own] : 1;
    out[i] = size == 1 ? 0 : stride;
    stride *= size;
  }
}

static q8_broadcast broadcast_of(const tensor *a, const tensor *b, const tensor *y) {
  q8_broadcast g = {.rank = y->shape.rank};
  for (int32_t i = 0; i < g.rank; i++) g.dims[i] = y->shape.dims[i];
  broadcast_strides(a, y, g.a_stride);
  broadcast_strides(b, y, g.b_stride);
  if (npuc_shape_equal(&a->shape, &b->shape)) { /* one axis: no index arithmetic */
    g = (q8_broadcast){.rank = 1, .dims = {count_of(y)}, .a_stride = {1}, .b_stride = {1}};
  }
  return g;
}

npuc_status npuc_eval_qadd(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qbinary_attributes *t = NPUC_ATTRS(qbinary_attributes, c->node);
  q8_input a = input_of(inputs[0], t->a_zero_point), b = input_of(inputs[1], t->b_zero_point);
  q8_output y = OUTPUT_OF(outputs[0], t);
  q8_broadcast g = broadcast_of(inputs[0], inputs[1], outputs[0]);
  npuc_ref_qadd(&g, &a, &b, int_at(inputs[2], 0), int_at(inputs[3], 0), int_at(inputs[4], 0), &y);
  return NPUC_OK;
}

npuc_status npuc_eval_qmul(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qbinary_attributes *t = NPUC_ATTRS(qbinary_attributes, c->node);
  q8_input a = input_of(inputs[0], t->a_zero_point), b = input_of(inputs[1], t->b_zero_point);
  q8_output y = OUTPUT_OF(outputs[0], t);
  q8_broadcast g = broadcast_of(inputs[0], inputs[1], outputs[0]);
  npuc_ref_qmul(&g, &a, &b, int_at(inputs[2], 0), int_at(inputs[3], 0), &y);
  return NPUC_OK;
}

npuc_status npuc_eval_requantize(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const qunary_attributes *a = NPUC_ATTRS(qunary_attributes, c->node);
  q8_input x = input_of(inputs[0], a->x_zero_point);
  q8_output y = OUTPUT_OF(outputs[0], a);
  npuc_ref_requantize(count_of(outputs[0]), &x, int_at(inputs[1], 0), int_at(inputs[2], 0), &y);
  return NPUC_OK;
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
  q8_window g = window_of(inputs[0], outputs[0], &a->kernel_shape, &a->strides, &a->pads, &a->dilations);
  q8_input x = input_of(inputs[0], a->x_zero_point);
  q8_output y = OUTPUT_OF(outputs[0], a);
  size_t bytes = 0;
  for (int i = 1; i < 4; i++) bytes += piece_bytes(inputs[i]->bytes);
  pieces rest;
  NPUC_TRY(start_pieces(c, bytes, &rest));
  q8_scale scale = {.m = take_copy(&rest, inputs[1]), .s = take_copy(&rest, inputs[2])};
  if (npuc_ref_qaveragepool(&g, a->count_include_pad != 0, &x, take_copy(&rest, inputs[3]), count_of(inputs[3]), &scale, &y)) return NPUC_OK;
  return npuc_fail(c->d, NPUC_DIAG_E0714, &(diag_place){.node = c->node->name, .op = c->node->op->type, .attribute = "counts"},
                   "a window's number of cells is not in counts");
}

npuc_status npuc_eval_lookup(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)c;
  q8_input x = input_of(inputs[0], 0);
  npuc_ref_lookup(count_of(inputs[0]), &x, inputs[1]->data, outputs[0]->data);
  return NPUC_OK;
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
