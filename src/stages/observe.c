/* SPDX-License-Identifier: Apache-2.0 */
/* The float graph keeps the values of a sample; then the integer module runs on it, and each of its values is compared as it is made, so that memory holds one sample's float activations
 * and nothing of the integers. Sums are double, in index order, on one thread. */
#include "stages/observe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/executor.h"
#include "report/histogram.h"
#include "report/machine.h"
#include "report/markup.h"

enum { OBSERVED_SAMPLES = 8, SMALL_CODES = 256 };

/* A value of the integer module and its float twin. */
typedef struct twin {
  const value *floats; /* NULL: there is none */
  double sum_ff, sum_qq, sum_fq, sum_dd, max_abs;
  uint64_t count, clipped;
  double lo, hi; /* what the integers cover */
  histogram seen;
} twin;

typedef struct observation {
  diag *d;
  const graph *floats, *integers;
  executor *float_run;
  twin *twins; /* by id of the integer module's values */
} observation;

/* -- pairs -- */

static bool is_quantized(const value *v) {
  return v->quant && v->quant->scale.bytes && (v->type == DTYPE_U8 || v->type == DTYPE_I8 || v->type == DTYPE_U16 || v->type == DTYPE_I16);
}

static void pair_value(observation *o, const value *v) {
  const value *twin_of = v ? npuc_graph_value(o->floats, v->name) : NULL;
  if (!twin_of || twin_of->constant || v->constant || !is_quantized(v) || v->quant->axis >= 0 || twin_of->type != DTYPE_F32) return;
  int64_t least = 0, most = 0, zero = npuc_tensor_get_int(&v->quant->zero_point, 0);
  double scale = npuc_tensor_get(&v->quant->scale, 0);
  npuc_dtype_range(v->type, &least, &most);
  o->twins[v->id] = (twin){.floats = twin_of, .lo = (double)(least - zero) * scale, .hi = (double)(most - zero) * scale};
}

static void pair_values(observation *o) {
  for (size_t i = 0; i < o->integers->n_inputs; i++) pair_value(o, o->integers->inputs[i]);
  NPUC_EACH_NODE(o->integers, n) {
    for (int32_t k = 0; k < n->n_outputs; k++) pair_value(o, n->outputs[k]);
  }
}

/* -- one value of one sample -- */

static void add_pair(twin *t, double f, double q) {
  double distance = fabs(f - q);
  if (!isfinite(f)) return;
  t->sum_ff += f * f;
  t->sum_qq += q * q;
  t->sum_fq += f * q;
  t->sum_dd += distance * distance;
  if (distance > t->max_abs) t->max_abs = distance;
}

/* Eight-bit codes mean one of 256 numbers. */
static void add_codes(twin *t, const value *v, const float *f, const uint8_t *codes, size_t n) {
  float meaning[SMALL_CODES], scale = (float)npuc_tensor_get(&v->quant->scale, 0);
  int64_t zero = npuc_tensor_get_int(&v->quant->zero_point, 0);
  for (int i = 0; i < SMALL_CODES; i++) meaning[i] = (float)((v->type == DTYPE_I8 && i > 127 ? i - SMALL_CODES : i) - zero) * scale;
  for (size_t i = 0; i < n; i++) add_pair(t, (double)f[i], (double)meaning[codes[i]]);
}

static npuc_status add_values(observation *o, twin *t, const value *v, const float *f, const tensor *q) {
  size_t n = (size_t)npuc_tensor_elements(q);
  if (v->type == DTYPE_U8 || v->type == DTYPE_I8) {
    add_codes(t, v, f, q->data, n);
    return NPUC_OK;
  }
  tensor real = {0};
  NPUC_TRY(npuc_dequantized(o->d, v->quant, q, &real));
  for (size_t i = 0; i < n; i++) add_pair(t, (double)f[i], (double)((const float *)real.data)[i]);
  npuc_tensor_release(&real);
  return NPUC_OK;
}

/* Beyond half a step outside of the range no code is near. */
static uint64_t count_clipped(const twin *t, double step, const float *f, size_t n) {
  float lo = (float)(t->lo - step / 2), hi = (float)(t->hi + step / 2);
  uint64_t clipped = 0;
  for (size_t i = 0; i < n; i++) clipped += f[i] < lo || f[i] > hi;
  return clipped;
}

static npuc_status observe_value(void *user, const value *v, const tensor *q) {
  observation *o = user;
  twin *t = &o->twins[v->id];
  const tensor *f = t->floats ? npuc_executor_value(o->float_run, t->floats) : NULL;
  if (!f || npuc_tensor_elements(f) != npuc_tensor_elements(q)) return NPUC_OK;
  size_t n = (size_t)npuc_tensor_elements(f);
  NPUC_TRY(add_values(o, t, v, f->data, q));
  t->count += n;
  t->clipped += count_clipped(t, npuc_tensor_get(&v->quant->scale, 0), f->data, n);
  npuc_histogram_add(&t->seen, f->data, n);
  return NPUC_OK;
}

/* -- runs -- */

typedef struct sample_inputs {
  tensor *floats, *integers;
} sample_inputs;

static npuc_status make_inputs(build *b, const observation *o, sample_inputs *in) {
  size_t n = o->integers->n_inputs;
  in->floats = NPUC_NEW_ARRAY(b->arena, n + 1, tensor);
  in->integers = NPUC_NEW_ARRAY(b->arena, n + 1, tensor);
  for (size_t i = 0; i < n; i++) {
    const value *f = o->floats->inputs[i], *q = o->integers->inputs[i];
    NPUC_TRY(npuc_tensor_create(b->diag, f->type, &f->shape, &in->floats[i]));
    NPUC_TRY(npuc_tensor_create(b->diag, q->type, &q->shape, &in->integers[i]));
  }
  return NPUC_OK;
}

static npuc_status run_sample(build *b, const observation *o, executor *integer_run, baseline *base, size_t index,
                              const sample_inputs *in) {
  tensor *outputs = NPUC_NEW_ARRAY(b->arena, o->floats->n_outputs + 1, tensor);
  NPUC_TRY(npuc_sample_of_baseline(base, b->diag, index, in->floats));
  for (size_t i = 0; i < o->integers->n_inputs; i++) {
    const value *q = o->integers->inputs[i];
    if (q->quant && in->floats[i].type == DTYPE_F32)
      npuc_quantize_tensor(q->quant, &in->floats[i], &in->integers[i]);
    else if (in->integers[i].bytes == in->floats[i].bytes)
      memcpy(in->integers[i].data, in->floats[i].data, in->floats[i].bytes);
  }
  NPUC_TRY(npuc_executor_run(o->float_run, b->diag, in->floats, outputs));
  return npuc_executor_run(integer_run, b->diag, in->integers, outputs);
}

static npuc_status run_samples(build *b, observation *o, baseline *base, const sample_inputs *in, size_t n_samples) {
  executor *integer_run = NULL;
  exec_options keep = {.pool = b->pool, .keep_all = true}, watch = {.pool = b->pool, .observe = observe_value, .user = o};
  npuc_status status = npuc_executor_create(b->diag, o->floats, &keep, &o->float_run);
  if (status == NPUC_OK) status = npuc_executor_create(b->diag, o->integers, &watch, &integer_run);
  for (size_t i = 0; i < n_samples && status == NPUC_OK; i++) {
    status = run_sample(b, o, integer_run, base, i, in);
    npuc_progress_report(b->progress, "observe", i + 1, n_samples);
  }
  npuc_executor_destroy(integer_run);
  npuc_executor_destroy(o->float_run);
  o->float_run = NULL;
  return status;
}

/* The plan of an ordinary run: one with an observer merges no nodes. */
static npuc_status executor_memory(build *b, const observation *o, const sample_inputs *in, json_t *report) {
  executor *e = NULL;
  tensor *outputs = NPUC_NEW_ARRAY(b->arena, o->integers->n_outputs + 1, tensor);
  exec_options options = {.pool = b->pool};
  NPUC_TRY(npuc_executor_create(b->diag, o->integers, &options, &e));
  npuc_status status = npuc_executor_run(e, b->diag, in->integers, outputs);
  if (status == NPUC_OK) json_object_set_new(report, "memory", json_pack("{s:o}", "executor", npuc_executor_memory_json(e)));
  npuc_executor_destroy(e);
  return status;
}

/* -- JSON -- */

static double sqnr_of(const twin *t) {
  if (!t->floats || t->count == 0) return NAN;
  return t->sum_dd == 0 ? (double)INFINITY : 10 * log10(t->sum_ff / t->sum_dd);
}

/* Decibels below the weakest input that has a twin; NaN where none has. */
static double fall_of(const observation *o, const node *n, double own) {
  double weakest = NAN;
  for (int32_t i = 0; i < n->n_inputs; i++) {
    double v = n->inputs[i] ? sqnr_of(&o->twins[n->inputs[i]->id]) : NAN;
    if (isfinite(v) && !(v >= weakest)) weakest = v;
  }
  return isfinite(own) ? weakest - own : NAN;
}

static json_t *parity_entry(const twin *t, const value *v, const node *n, double sqnr, double fall) {
  double power = sqrt(t->sum_ff) * sqrt(t->sum_qq);
  json_t *entry = json_object();
  json_object_set_new(entry, "node", npuc_json_text(n ? n->name : v->name));
  json_object_set_new(entry, "op", npuc_json_text(n ? n->op->type : "input"));
  json_object_set_new(entry, "value", npuc_json_text(v->name));
  json_object_set_new(entry, "sqnr_db", npuc_json_number(sqnr));
  json_object_set_new(entry, "cosine", npuc_json_number(power > 0 ? t->sum_fq / power : t->sum_ff == t->sum_qq ? 1.0 : 0.0));
  json_object_set_new(entry, "max_abs", npuc_json_number(t->max_abs));
  json_object_set_new(entry, "rmse", npuc_json_number(sqrt(t->sum_dd / (double)t->count)));
  if (!isnan(fall)) json_object_set_new(entry, "fall_db", npuc_json_number(fall));
  return entry;
}

static void parity_json(const observation *o, size_t n_samples, json_t *report) {
  json_t *nodes = json_array();
  const char *steepest = "";
  double most = 0;
  for (size_t i = 0; i < o->integers->n_inputs; i++) {
    const value *v = o->integers->inputs[i];
    if (o->twins[v->id].count) json_array_append_new(nodes, parity_entry(&o->twins[v->id], v, NULL, sqnr_of(&o->twins[v->id]), NAN));
  }
  NPUC_EACH_NODE(o->integers, n) {
    for (int32_t k = 0; k < n->n_outputs; k++) {
      const value *v = n->outputs[k];
      if (!v || !o->twins[v->id].count) continue;
      double own = sqnr_of(&o->twins[v->id]), fall = fall_of(o, n, own);
      json_array_append_new(nodes, parity_entry(&o->twins[v->id], v, n, own, fall));
      if (fall > most) most = fall, steepest = v->name;
    }
  }
  json_t *document = json_pack("{s:I, s:o}", "samples", (json_int_t)n_samples, "nodes", nodes);
  json_object_set_new(document, "steepest", npuc_json_text(steepest));
  json_object_set_new(report, "parity", document);
}

static json_t *histogram_entry(const histogram *h, const char *tensor_name, const char *node_name, const char *kind, dtype type) {
  json_t *entry = npuc_histogram_json(h);
  json_object_set_new(entry, "tensor", npuc_json_text(tensor_name));
  json_object_set_new(entry, "node", npuc_json_text(node_name));
  json_object_set_new(entry, "kind", json_string(kind));
  json_object_set_new(entry, "dtype", json_string(npuc_dtype_name(type)));
  return entry;
}

static void activation_histogram(const observation *o, const value *v, const char *node_name, json_t *list) {
  const twin *t = &o->twins[v->id];
  if (!t->count) return;
  json_t *entry = histogram_entry(&t->seen, v->name, node_name, "activation", v->type);
  json_object_set_new(entry, "scale", json_real(npuc_tensor_get(&v->quant->scale, 0)));
  json_object_set_new(entry, "zero_point", json_integer(npuc_tensor_get_int(&v->quant->zero_point, 0)));
  json_object_set_new(entry, "lo", json_real(t->lo));
  json_object_set_new(entry, "hi", json_real(t->hi));
  json_object_set_new(entry, "clipped", json_integer((json_int_t)t->clipped));
  json_array_append_new(list, entry);
}

/* The float weights of the node, under the widest channel's range. */
static npuc_status weight_histogram(const observation *o, const node *n, json_t *list) {
  const value *q = n->n_inputs > 1 ? n->inputs[1] : NULL;
  const node *twin_of = npuc_graph_node(o->floats, n->name);
  const value *f = twin_of && twin_of->n_inputs > 1 ? twin_of->inputs[1] : NULL;
  if (!q || !q->constant || q->type != DTYPE_I8 || !q->quant || !f || !f->constant || f->type != DTYPE_F32) return NPUC_OK;
  tensor weights = {0};
  histogram h = {0};
  NPUC_TRY(npuc_tensor_cast(o->d, f->constant, DTYPE_F32, &weights));
  npuc_histogram_add(&h, weights.data, (size_t)npuc_tensor_elements(&weights));
  npuc_tensor_release(&weights);
  json_t *entry = histogram_entry(&h, q->name, n->name, "weight", q->type);
  int64_t channels = npuc_tensor_elements(&q->quant->scale);
  double least = INFINITY, most = 0;
  for (int64_t i = 0; i < channels; i++) {
    double scale = npuc_tensor_get(&q->quant->scale, i);
    least = fmin(least, scale);
    most = fmax(most, scale);
  }
  json_object_set_new(entry, "channels", json_integer(channels));
  json_object_set_new(entry, "scale", json_real(most));
  json_object_set_new(entry, "least_scale", npuc_json_number(least));
  json_object_set_new(entry, "zero_point", json_integer(0));
  json_object_set_new(entry, "lo", json_real(-127 * most));
  json_object_set_new(entry, "hi", json_real(127 * most));
  json_array_append_new(list, entry);
  return NPUC_OK;
}

static npuc_status histograms_json(const observation *o, json_t *report) {
  json_t *list = json_array();
  json_object_set_new(report, "histograms", list);
  for (size_t i = 0; i < o->integers->n_inputs; i++) activation_histogram(o, o->integers->inputs[i], "", list);
  NPUC_EACH_NODE(o->integers, n) {
    NPUC_TRY(weight_histogram(o, n, list));
    for (int32_t k = 0; k < n->n_outputs; k++)
      if (n->outputs[k]) activation_histogram(o, n->outputs[k], n->name, list);
  }
  return NPUC_OK;
}

static npuc_status observe_on(build *b, observation *o, baseline *base, json_t *report) {
  sample_inputs in = {0};
  size_t n = base->n_samples < OBSERVED_SAMPLES ? base->n_samples : OBSERVED_SAMPLES;
  npuc_status status = make_inputs(b, o, &in);
  if (status == NPUC_OK) status = run_samples(b, o, base, &in, n);
  if (status == NPUC_OK) status = executor_memory(b, o, &in, report);
  if (status == NPUC_OK) {
    parity_json(o, n, report);
    status = histograms_json(o, report);
  }
  for (size_t i = 0; in.integers && i < o->integers->n_inputs; i++) {
    npuc_tensor_release(&in.floats[i]);
    npuc_tensor_release(&in.integers[i]);
  }
  return status;
}

npuc_status npuc_observe_graphs(build *b, const graph *floats, const graph *integers, json_t *report) {
  baseline base;
  observation o = {.d = b->diag, .floats = floats, .integers = integers};
  if (floats->n_inputs != integers->n_inputs) return NPUC_OK;
  NPUC_TRY(npuc_baseline_load(b, floats, &base));
  o.twins = npuc_xcalloc((size_t)integers->next_value_id + 1, sizeof *o.twins);
  pair_values(&o);
  npuc_status status = observe_on(b, &o, &base, report);
  free(o.twins);
  npuc_baseline_release(&base);
  return status;
}
