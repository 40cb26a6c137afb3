/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: one function of each element. float32 goes to the kernels directly, other types in pieces through float32;
 * float64 has its own formulas, integers (Relu, Clip) exact ones. */
#include <math.h>

#include "ir/eval/eval.h"
#include "kernels/convert.h"

enum { PIECE = 1024 };

typedef double double_function(double x, double a, double b);

typedef struct activation {
  const eval_context *c;
  const tensor *x;
  tensor *y;
  unary_f32_kernel *kernel;
  double_function *in_double;
  float a, b;
} activation;

static double relu_f64(double x, double a, double b) {
  (void)a, (void)b;
  return x < 0.0 ? 0.0 : x;
}
static double leaky_f64(double x, double a, double b) {
  (void)b;
  return x < 0.0 ? a * x : x;
}
static double sigmoid_f64(double x, double a, double b) {
  (void)a, (void)b;
  return 1.0 / (1.0 + exp(-x));
}
static double tanh_f64(double x, double a, double b) {
  (void)a, (void)b;
  return tanh(x);
}
static double hardsigmoid_f64(double x, double a, double b) { return fmax(0.0, fmin(1.0, a * x + b)); }
static double hardswish_f64(double x, double a, double b) { return x * hardsigmoid_f64(x, a, b); }
static double clip_f64(double x, double a, double b) { return x < a ? a : x > b ? b : x; }

static void body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const activation *job = context;
  if (job->x->type == DTYPE_F32) {
    job->kernel((const float *)job->x->data + begin, (float *)job->y->data + begin, end - begin, job->a, job->b);
    return;
  }
  for (size_t i = begin; i < end; i += PIECE) {
    int64_t n = (int64_t)(end - i < PIECE ? end - i : PIECE), first = (int64_t)i;
    if (job->x->type == DTYPE_F64) {
      double v[PIECE];
      npuc_convert_to_f64(job->x, first, n, v);
      for (int64_t k = 0; k < n; k++) v[k] = job->in_double(v[k], (double)job->a, (double)job->b);
      npuc_convert_from_f64(v, n, job->y, first);
    } else {
      float v[PIECE];
      npuc_convert_to_f32(job->x, first, n, v);
      job->kernel(v, v, (size_t)n, job->a, job->b);
      npuc_convert_from_f32(v, n, job->y, first);
    }
  }
}

static npuc_status run(activation job) {
  if (npuc_dtype_kind(job.x->type) != KIND_FLOAT) return npuc_eval_unsupported(job.c, job.x->type);
  npuc_parallel_for(job.c->pool, (size_t)npuc_tensor_elements(job.x), 16384, body, &job);
  return NPUC_OK;
}

npuc_status npuc_eval_leakyrelu(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run((activation){c, inputs[0], outputs[0], npuc_eval_kernels(c)->leakyrelu_f32, leaky_f64,
                          NPUC_ATTRS(alpha_attributes, c->node)->alpha, 0.0f});
}

npuc_status npuc_eval_sigmoid(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run((activation){c, inputs[0], outputs[0], npuc_eval_kernels(c)->sigmoid_f32, sigmoid_f64, 0.0f, 0.0f});
}

npuc_status npuc_eval_tanh(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run((activation){c, inputs[0], outputs[0], npuc_eval_kernels(c)->tanh_f32, tanh_f64, 0.0f, 0.0f});
}

npuc_status npuc_eval_hardsigmoid(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const hardsigmoid_attributes *a = NPUC_ATTRS(hardsigmoid_attributes, c->node);
  return run((activation){c, inputs[0], outputs[0], npuc_eval_kernels(c)->hardsigmoid_f32, hardsigmoid_f64, a->alpha, a->beta});
}

npuc_status npuc_eval_hardswish(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  return run((activation){c, inputs[0], outputs[0], npuc_eval_kernels(c)->hardswish_f32, hardswish_f64, 1.0f / 6.0f, 0.5f});
}

/* -- Relu and Clip also take integers -- */

static npuc_status clip_integers(const eval_context *c, const tensor *x, tensor *y, int64_t lo, int64_t hi) {
  if (!npuc_dtype_is_integer(x->type)) return npuc_eval_unsupported(c, x->type);
  int64_t v[PIECE], total = npuc_tensor_elements(x);
  for (int64_t i = 0; i < total; i += PIECE) {
    int64_t n = total - i < PIECE ? total - i : PIECE;
    npuc_convert_to_i64(x, i, n, v);
    for (int64_t k = 0; k < n; k++) v[k] = v[k] < lo ? lo : v[k] > hi ? hi : v[k];
    npuc_convert_from_i64(v, n, y, i);
  }
  return NPUC_OK;
}

npuc_status npuc_eval_relu(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  if (npuc_dtype_kind(inputs[0]->type) != KIND_FLOAT) return clip_integers(c, inputs[0], outputs[0], 0, INT64_MAX);
  return run((activation){c, inputs[0], outputs[0], npuc_eval_kernels(c)->relu_f32, relu_f64, 0.0f, 0.0f});
}

/* min above max gives max, as ONNX says. */
npuc_status npuc_eval_clip(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *least = eval_input(c, inputs, 1), *most = eval_input(c, inputs, 2);
  if (npuc_dtype_kind(inputs[0]->type) == KIND_FLOAT) {
    float lo = least ? (float)npuc_tensor_get(least, 0) : -INFINITY, hi = most ? (float)npuc_tensor_get(most, 0) : INFINITY;
    if (lo > hi) lo = hi;
    return run((activation){c, inputs[0], outputs[0], npuc_eval_kernels(c)->clip_f32, clip_f64, lo, hi});
  }
  int64_t lo = least ? npuc_tensor_get_int(least, 0) : INT64_MIN, hi = most ? npuc_tensor_get_int(most, 0) : INT64_MAX;
  return clip_integers(c, inputs[0], outputs[0], lo > hi ? hi : lo, hi);
}
