/* SPDX-License-Identifier: Apache-2.0 */
/* QuantizeLinear and DequantizeLinear: scale and zero point per tensor, per axis or per block along the axis.
 *
 *   q = saturate(round_half_even(x / scale) + zero_point), the quotient in float32
 *   x = (q - zero_point) * scale */
#include <math.h>

#include "ir/eval/eval.h"
#include "kernels/convert.h"
#include "tensor/minifloat.h"

enum { PIECE = 512 };

typedef struct quantize_job {
  const tensor *x, *scale, *zero;
  tensor *y;
  axis_split split;
  int64_t block;  /* elements of the axis per scale; the axis itself when per tensor */
  int64_t blocks; /* scales along the axis */
  bool per_block; /* scale has the input's rank */
  bool quantize;
  bool overflows; /* saturate = 0, to 8-bit floats */
  int64_t lo, hi;
} quantize_job;

static int64_t scale_index(const quantize_job *j, int64_t outer, int64_t axis, int64_t inner) {
  if (j->per_block) return (outer * j->blocks + axis / j->block) * j->split.inner + inner;
  return j->blocks == 1 ? 0 : axis;
}

static void quantize_run(const quantize_job *j, int64_t first, int64_t n, float scale, int64_t zero) {
  float v[PIECE];
  npuc_convert_to_f32(j->x, first, n, v);
  if (npuc_dtype_kind(j->y->type) == KIND_FLOAT) { /* 8-bit floats: the zero point is 0 */
    for (int64_t i = 0; i < n; i++) v[i] = v[i] / scale;
    const minifloat_mode mode = {.overflows = true, .rounding = ROUND_UP};
    for (int64_t i = 0; j->overflows && i < n; i++)
      ((uint8_t *)j->y->data)[first + i] = (uint8_t)npuc_minifloat_encode_by(j->y->type, (double)v[i], mode);
    if (!j->overflows) npuc_convert_from_f32(v, n, j->y, first);
    return;
  }
  int64_t q[PIECE];
  for (int64_t i = 0; i < n; i++) {
    float r = rintf(v[i] / scale);
    r = r != r ? 0.0f : r < -2147483648.0f ? -2147483648.0f : r > 2147483520.0f ? 2147483520.0f : r;
    int64_t k = (int64_t)r + zero;
    q[i] = k < j->lo ? j->lo : k > j->hi ? j->hi : k;
  }
  npuc_convert_from_i64(q, n, j->y, first);
}

static void dequantize_run(const quantize_job *j, int64_t first, int64_t n, float scale, int64_t zero) {
  float v[PIECE];
  if (npuc_dtype_kind(j->x->type) == KIND_FLOAT) {
    npuc_convert_to_f32(j->x, first, n, v);
    for (int64_t i = 0; i < n; i++) v[i] = v[i] * scale;
  } else {
    int64_t q[PIECE];
    npuc_convert_to_i64(j->x, first, n, q);
    for (int64_t i = 0; i < n; i++) v[i] = (float)(q[i] - zero) * scale;
  }
  npuc_convert_from_f32(v, n, j->y, first);
}

static void run_piece(const quantize_job *j, int64_t first, int64_t n, int64_t index) {
  float scale = (float)npuc_tensor_get(j->scale, index);
  int64_t zero = j->zero && npuc_dtype_kind(j->zero->type) != KIND_FLOAT ? npuc_tensor_get_int(j->zero, index) : 0;
  for (int64_t i = 0; i < n; i += PIECE) {
    int64_t width = n - i < PIECE ? n - i : PIECE;
    if (j->quantize) {
      quantize_run(j, first + i, width, scale, zero);
    } else {
      dequantize_run(j, first + i, width, scale, zero);
    }
  }
}

/* Units are (outer, axis) rows of `inner` elements that share a scale, or single elements when blocked along an inner-most axis. */
static void body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const quantize_job *j = context;
  for (int64_t u = (int64_t)begin; u < (int64_t)end; u++) {
    int64_t outer = u / j->split.axis, axis = u % j->split.axis, first = u * j->split.inner;
    if (!j->per_block) {
      run_piece(j, first, j->split.inner, scale_index(j, outer, axis, 0));
    } else {
      for (int64_t i = 0; i < j->split.inner; i++) run_piece(j, first + i, 1, scale_index(j, outer, axis, i));
    }
  }
}

static npuc_status run(const eval_context *c, quantize_job job) {
  const quantize_attributes *a = NPUC_ATTRS(quantize_attributes, c->node);
  const shape *s = &job.x->shape;
  int64_t n = npuc_tensor_elements(job.x), scales = npuc_tensor_elements(job.scale);
  if (n == 0) return NPUC_OK;
  if (scales == 1 && a->block_size == 0) {
    int64_t row = n > 4096 ? 4096 : n; /* one scale: rows of any length */
    while (n % row) row--;
    job.split = (axis_split){n / row, 1, row};
    job.block = job.blocks = 1;
  } else {
    int32_t axis;
    if (!npuc_axis_normalize(a->axis, s->rank, &axis)) {
      diag_place place = npuc_eval_place(c);
      return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "axis %lld is outside of the input's rank %d", (long long)a->axis, (int)s->rank);
    }
    job.split = npuc_eval_split_at(s, axis);
    job.per_block = a->block_size > 0;
    job.block = job.per_block ? a->block_size : 1;
    job.blocks = job.per_block ? job.scale->shape.dims[axis] : scales;
  }
  /* Packed types share bytes between elements: one thread. */
  bool packed = npuc_dtype_bits(job.y->type) < 8;
  npuc_parallel_for(packed ? NULL : c->pool, (size_t)(job.split.outer * job.split.axis), 0, body, &job);
  return NPUC_OK;
}

npuc_status npuc_eval_quantizelinear(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  quantize_job job = {.x = inputs[0], .scale = inputs[1], .zero = eval_input(c, inputs, 2), .y = outputs[0], .quantize = true};
  if (npuc_dtype_kind(outputs[0]->type) != KIND_FLOAT && !npuc_dtype_range(outputs[0]->type, &job.lo, &job.hi)) {
    return npuc_eval_unsupported(c, outputs[0]->type);
  }
  job.overflows = !NPUC_ATTRS(quantize_attributes, c->node)->saturate && npuc_dtype_bits(outputs[0]->type) == 8;
  return run(c, job);
}

npuc_status npuc_eval_dequantizelinear(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run(c, (quantize_job){.x = inputs[0], .scale = inputs[1], .zero = eval_input(c, inputs, 2), .y = outputs[0]});
}
