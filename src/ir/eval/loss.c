/* SPDX-License-Identifier: Apache-2.0 */
/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: [N, C, D...] against labels [N, D...]. In double, rounded once. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "ir/eval/eval.h"
#include "kernels/convert.h"

typedef struct loss {
  const tensor *x, *labels, *weights; /* weights may be NULL */
  const loss_attributes *a;
  axis_split s; /* around the classes */
  bool softmax;
} loss;

/* log of softmax over the classes at a place, or the input itself. */
static double log_probability(const loss *l, int64_t place, int64_t k) {
  int64_t first = place / l->s.inner * l->s.axis * l->s.inner + place % l->s.inner;
  double x = npuc_tensor_get(l->x, first + k * l->s.inner);
  if (!l->softmax) return x;
  double most = -(double)INFINITY, sum = 0.0;
  assert(l->s.axis > 0);
  for (int64_t i = 0; i < l->s.axis; i++) most = fmax(most, npuc_tensor_get(l->x, first + i * l->s.inner));
  for (int64_t i = 0; i < l->s.axis; i++) sum += exp(npuc_tensor_get(l->x, first + i * l->s.inner) - most);
  /* cppcheck-suppress invalidFunctionArg ; the largest term is e^0 */
  return x - most - log(sum);
}

static npuc_status run(const eval_context *c, const loss *l, tensor *y) {
  int64_t places = l->s.outer * l->s.inner;
  double sum = 0.0, weight_sum = 0.0;
  bool each = strcmp(l->a->reduction, "none") == 0;
  for (int64_t i = 0; i < places; i++) {
    int64_t label = npuc_tensor_get_int(l->labels, i);
    bool ignored = label == l->a->ignore_index;
    if (!ignored && (label < 0 || label >= l->s.axis)) {
      diag_place place = npuc_eval_place(c);
      return npuc_fail(c->d, NPUC_DIAG_E0603, &place, "label %lld of %lld classes", (long long)label, (long long)l->s.axis);
    }
    double weight = ignored ? 0.0 : l->weights ? npuc_tensor_get(l->weights, label) : 1.0;
    double v = ignored ? 0.0 : -log_probability(l, i, label) * weight;
    if (each) npuc_convert_from_f64(&v, 1, y, i);
    sum += v;
    weight_sum += weight;
  }
  if (each) return NPUC_OK;
  if (strcmp(l->a->reduction, "mean") == 0) sum = weight_sum != 0.0 ? sum / weight_sum : (double)NAN; /* all ignored: as PyTorch */
  npuc_convert_from_f64(&sum, 1, y, 0);
  return NPUC_OK;
}

static npuc_status start(const eval_context *c, const tensor *const *inputs, bool softmax, loss *out) {
  *out = (loss){inputs[0], inputs[1], eval_input(c, inputs, 2), NPUC_ATTRS(loss_attributes, c->node), {0}, softmax};
  if (npuc_dtype_kind(out->x->type) != KIND_FLOAT) return npuc_eval_unsupported(c, out->x->type);
  out->s = npuc_eval_split_at(&out->x->shape, 1);
  return NPUC_OK;
}

npuc_status npuc_eval_negativeloglikelihoodloss(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  loss l;
  NPUC_TRY(start(c, inputs, false, &l));
  return run(c, &l, outputs[0]);
}

npuc_status npuc_eval_softmaxcrossentropyloss(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  loss l;
  NPUC_TRY(start(c, inputs, true, &l));
  for (int64_t i = 0; eval_wants(c, outputs, 1) && i < npuc_tensor_elements(outputs[1]); i++) {
    assert(l.s.axis > 0 && l.s.inner > 0); /* there are elements */
    double v = log_probability(&l, i / (l.s.axis * l.s.inner) * l.s.inner + i % l.s.inner, i / l.s.inner % l.s.axis);
    npuc_convert_from_f64(&v, 1, outputs[1], i);
  }
  return run(c, &l, outputs[0]);
}
