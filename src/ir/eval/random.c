/* SPDX-License-Identifier: Apache-2.0 */
/* The random operators: one stream per node, elements in row-major order, computed in double and rounded once. */
#include <math.h>

#include "ir/eval/eval.h"
#include "ir/eval/random_source.h"

static const random_attributes *start(const eval_context *c, random_source *r) {
  const random_attributes *a = NPUC_ATTRS(random_attributes, c->node);
  npuc_random_seed(r, a->seed == ABSENT_FLOAT ? 0 : (uint32_t)a->seed);
  return a;
}

static npuc_status normals(const eval_context *c, tensor *y) {
  random_source r;
  const random_attributes *a = start(c, &r);
  for (int64_t i = 0; i < npuc_tensor_elements(y); i++) npuc_tensor_set(y, i, (double)a->mean + (double)a->scale * npuc_random_normal(&r));
  return NPUC_OK;
}

static npuc_status uniforms(const eval_context *c, tensor *y) {
  random_source r;
  const random_attributes *a = start(c, &r);
  double low = (double)a->low, width = (double)a->high - low;
  for (int64_t i = 0; i < npuc_tensor_elements(y); i++) npuc_tensor_set(y, i, low + width * npuc_random_double(&r));
  return NPUC_OK;
}

npuc_status npuc_eval_randomnormal(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)inputs;
  return normals(c, outputs[0]);
}
npuc_status npuc_eval_randomnormallike(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)inputs;
  return normals(c, outputs[0]);
}
npuc_status npuc_eval_randomuniform(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)inputs;
  return uniforms(c, outputs[0]);
}
npuc_status npuc_eval_randomuniformlike(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  (void)inputs;
  return uniforms(c, outputs[0]);
}

npuc_status npuc_eval_bernoulli(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  random_source r;
  (void)start(c, &r);
  if (npuc_dtype_kind(inputs[0]->type) != KIND_FLOAT) return npuc_eval_unsupported(c, inputs[0]->type);
  for (int64_t i = 0; i < npuc_tensor_elements(inputs[0]); i++) {
    double p = npuc_tensor_get(inputs[0], i);
    diag_place place = npuc_eval_place(c);
    if (!(p >= 0.0 && p <= 1.0)) return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "element %lld, %g, is no probability", (long long)i, p);
    npuc_tensor_set(outputs[0], i, npuc_random_bernoulli(&r, p) ? 1.0 : 0.0);
  }
  return NPUC_OK;
}

/* The first class whose running sum of weights is above u times their whole; classes of weight 0 are never it. */
static int64_t sample(const tensor *x, int64_t first, int64_t classes, double most, double u) {
  double whole = 0.0, sum = 0.0;
  int64_t last = 0;
  for (int64_t k = 0; k < classes; k++) whole += exp(npuc_tensor_get(x, first + k) - most);
  for (int64_t k = 0; k < classes; k++) {
    double w = exp(npuc_tensor_get(x, first + k) - most);
    sum += w;
    if (w > 0.0) last = k;
    if (sum > u * whole) return k;
  }
  return last;
}

npuc_status npuc_eval_multinomial(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  random_source r;
  const random_attributes *a = start(c, &r);
  const tensor *x = inputs[0];
  int64_t classes = x->shape.dims[1];
  diag_place place = npuc_eval_place(c);
  if (npuc_dtype_kind(x->type) != KIND_FLOAT) return npuc_eval_unsupported(c, x->type);
  if (outputs[0]->bytes && classes == 0) return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "there are no classes to sample from");
  for (int64_t row = 0; outputs[0]->bytes && row < x->shape.dims[0]; row++) {
    double most = -INFINITY;
    for (int64_t k = 0; k < classes; k++) most = fmax(most, npuc_tensor_get(x, row * classes + k));
    if (!isfinite(most)) return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "row %lld has no finite weight", (long long)row);
    for (int64_t s = 0; s < a->sample_size; s++)
      npuc_tensor_set_int(outputs[0], row * a->sample_size + s, sample(x, row * classes, classes, most, npuc_random_double(&r)));
  }
  return NPUC_OK;
}
