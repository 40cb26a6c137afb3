/* SPDX-License-Identifier: Apache-2.0 */
/* Stage 5: integers. Calibrates on --calib, writes the integer module and its QDQ twin, and lets them pass when they hold no float value, when every node is still placed where stage 4 said, and when
 * the task metric (with --eval) or the outputs' SQNR over the calibration samples holds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npu/from_ir.h"
#include "quant/quant.h"
#include "report/confusion.h"
#include "stages/stages.h"
#include "stages/target.h"

static const double least_sqnr_db = 20.0, least_agreement = 0.9;

/* -- options from the target -- */

static npuc_status quantization_of(stage_work *w, quant_options *out) {
  build *b = w->b;
  target_file t;
  NPUC_TRY(npuc_target_open(b->diag, b->arena, w->target, &t));
  json_t *form = json_object_get(t.description, "quantization");
  const char *scheme = json_string_value(json_object_get(t.description, "scheme"));
  *out = npuc_quant_options_default();
  out->bias_correction = b->options.bias_correction;
  out->pool = b->pool;
  out->progress = b->progress;
  out->multiplier_bits = (int32_t)json_integer_value(json_object_get(form, "multiplier_bits"));
  json_t *activations = json_object_get(form, "activations");
  out->activations.symmetric = json_is_true(json_object_get(activations, "symmetric"));
  out->activations.type = out->activations.symmetric ? DTYPE_I8 : DTYPE_U8;
  npuc_status status = NPUC_OK;
  if (b->options.scheme && (!scheme || strcmp(b->options.scheme, scheme) != 0)) {
    status = npuc_fail(b->diag, NPUC_DIAG_E0926, &(diag_place){.attribute = "--scheme"}, "target %s has scheme %s, not '%s'", w->target,
                       scheme ? scheme : "none", b->options.scheme);
    npuc_fix(b->diag, "--scheme %s", scheme ? scheme : "w8a8");
  }
  if (b->options.observer && !npuc_observer_parse(b->options.observer, &out->observer)) status = NPUC_INTERNAL;
  npuc_target_close(&t);
  return status;
}

/* -- gates -- */

/* What a model answered on the labelled samples. */
typedef struct answers {
  accuracy accuracy;
  int64_t *labels, *answers; /* by sample */
} answers;

static npuc_status top1_of(stage_work *w, const graph *g, const char *what, answers *out) {
  build *b = w->b;
  runner *r = NULL;
  dataset *data = NULL;
  NPUC_TRY(npuc_runner_create(b->diag, b->pool, g, &r));
  npuc_status status = npuc_build_dataset(b, b->options.eval, r, &data);
  if (status == NPUC_OK) {
    size_t n = npuc_dataset_records(data);
    out->labels = npuc_xcalloc(n + 1, sizeof *out->labels);
    out->answers = npuc_xcalloc(n + 1, sizeof *out->answers);
    for (size_t i = 0; i < n && npuc_dataset_has_labels(data); i++) out->labels[i] = npuc_dataset_label(data, i);
    status = npuc_accuracy(b->diag, b->progress, what, r, data, 0, out->answers, &out->accuracy);
  }
  npuc_dataset_destroy(data);
  npuc_runner_destroy(r);
  return status;
}

static void release_answers(answers *a) {
  free(a->labels);
  free(a->answers);
}

static npuc_status judge_accuracy(stage_work *w, accuracy before, accuracy after) {
  double drop = npuc_percent(before.top1, before.samples) - npuc_percent(after.top1, after.samples);
  bool pass = drop <= w->b->options.max_drop + 1e-9;
  json_object_set_new(w->gate, "metric",
                      json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "name", "top1", "samples", (json_int_t)before.samples,
                                "float_top1", npuc_percent(before.top1, before.samples), "integer_top1",
                                npuc_percent(after.top1, after.samples), "float_top5", npuc_percent(before.top5, before.samples),
                                "integer_top5", npuc_percent(after.top5, after.samples), "drop", drop, "max_drop", w->b->options.max_drop));
  json_object_set_new(w->gate, "pass", json_boolean(pass));
  if (pass) return NPUC_OK;
  npuc_status status =
      npuc_fail(w->b->diag, NPUC_DIAG_E0915, &(diag_place){.file = w->b->path},
                "top-1 fell from %.2f %% to %.2f %%, by %.2f points; %.2f are allowed", npuc_percent(before.top1, before.samples),
                npuc_percent(after.top1, after.samples), drop, w->b->options.max_drop);
  npuc_fix(w->b->diag, "npuc quantize %s --set quantize.observer=mse", w->b->path);
  npuc_fix(w->b->diag, "npuc quantize %s --max-drop %.1f", w->b->path, ceil(drop * 2) / 2);
  return status;
}

static npuc_status gate_accuracy(stage_work *w, const graph *floats, const graph *integers) {
  answers before = {0}, after = {0};
  npuc_status status = top1_of(w, floats, "eval float", &before);
  if (status == NPUC_OK) status = top1_of(w, integers, "eval integer", &after);
  if (status == NPUC_OK) {
    json_object_set_new(w->extras, "confusion",
                        npuc_confusion_json(after.labels, before.answers, after.answers, after.accuracy.samples, after.accuracy.classes));
    status = judge_accuracy(w, before.accuracy, after.accuracy);
  }
  release_answers(&before);
  release_answers(&after);
  return status;
}

/* SQNR of the dequantized outputs over the calibration samples, all outputs together the weakest. */
enum { SQNR_SAMPLES = 256 };

/* What the float graph gave for the first samples, kept while calibration runs it. */
typedef struct kept_floats {
  size_t n_samples, n_outputs;
  tensor *tensors; /* [n_samples, n_outputs], float32 */
} kept_floats;

typedef struct sqnr_state {
  const graph *integers;
  const kept_floats *kept;
  comparison_sum *sums;
} sqnr_state;

static npuc_status add_integer(void *user, diag *d, size_t index, const tensor *inputs, const tensor *outputs) {
  (void)inputs;
  sqnr_state *s = user;
  for (size_t k = 0; k < s->integers->n_outputs; k++) {
    tensor real = {0};
    npuc_status status = npuc_dequantized(d, s->integers->outputs[k]->quant, &outputs[k], &real);
    if (status == NPUC_OK) status = npuc_compare_add(d, &s->sums[k], &real, &s->kept->tensors[index * s->kept->n_outputs + k]);
    npuc_tensor_release(&real);
    NPUC_TRY(status);
  }
  return NPUC_OK;
}

static npuc_status run_integers(stage_work *w, const graph *g, sqnr_state *s) {
  build *b = w->b;
  runner *r = NULL;
  dataset *data = NULL;
  NPUC_TRY(npuc_runner_create(b->diag, b->pool, g, &r));
  npuc_status status = npuc_build_dataset(b, b->options.calib, r, &data);
  if (status == NPUC_OK)
    status = npuc_runner_run(r, b->diag, b->progress, "gate", 0, s->kept->n_samples, npuc_sample_of_dataset, data, add_integer, s);
  npuc_dataset_destroy(data);
  npuc_runner_destroy(r);
  return status;
}

/* An output of indices (ArgMax) agrees or not. */
static npuc_status judge_indices(stage_work *w, const char *name, const comparison *c, json_t *list) {
  double agreement = c->elements ? 1.0 - (double)c->different / (double)c->elements : 1.0;
  json_t *entry = npuc_comparison_json(name, c);
  json_object_set_new(entry, "agreement", json_real(agreement));
  json_array_append_new(list, entry);
  if (agreement >= least_agreement) return NPUC_OK;
  json_object_set_new(w->gate, "pass", json_false());
  return npuc_fail(w->b->diag, NPUC_DIAG_E0915, &(diag_place){.file = w->b->path, .node = name},
                   "%.1f %% of the indices agree over the calibration samples; %.0f %% are needed", 100.0 * agreement,
                   100.0 * least_agreement);
}

static npuc_status judge_sqnr(stage_work *w, const sqnr_state *s) {
  json_t *list = json_array();
  json_object_set_new(w->gate, "outputs", list);
  double worst = INFINITY;
  const char *name = NULL;
  for (size_t k = 0; k < s->integers->n_outputs; k++) {
    const comparison *c = &s->sums[k].result;
    if (!s->integers->outputs[k]->quant &&
        npuc_dtype_is_integer(s->integers->outputs[k]->type)) { /* indices: a distance between them means nothing */
      NPUC_TRY(judge_indices(w, s->integers->outputs[k]->name, c, list));
      continue;
    }
    json_array_append_new(list, npuc_comparison_json(s->integers->outputs[k]->name, c));
    if (!(c->sqnr_db >= worst) && !isnan(worst)) worst = c->sqnr_db, name = s->integers->outputs[k]->name;
  }
  bool pass = worst >= least_sqnr_db;
  json_object_set_new(w->gate, "sqnr_db", npuc_json_number(worst));
  json_object_set_new(w->gate, "least_sqnr_db", json_real(least_sqnr_db));
  json_object_set_new(w->gate, "pass", json_boolean(pass));
  if (pass) return NPUC_OK;
  npuc_status status =
      npuc_fail(w->b->diag, NPUC_DIAG_E0915, &(diag_place){.file = w->b->path, .node = name},
                "the output's SQNR over %zu calibration samples is %.1f dB; %.0f dB are needed", s->kept->n_samples, worst, least_sqnr_db);
  npuc_fix(w->b->diag, "npuc quantize %s --set quantize.observer=mse", w->b->path);
  npuc_fix(w->b->diag, "npuc quantize %s --eval DATA --max-drop 0.5", w->b->path);
  return status;
}

static npuc_status gate_sqnr(stage_work *w, const graph *integers, const kept_floats *kept) {
  sqnr_state s = {.integers = integers, .kept = kept, .sums = npuc_xcalloc(integers->n_outputs + 1, sizeof(comparison_sum))};
  npuc_status status = run_integers(w, integers, &s);
  if (status == NPUC_OK) status = judge_sqnr(w, &s);
  free(s.sums);
  return status;
}

/* The placement of stage 4, node by node: a node that quantization moved between NPU and host fails. */
static npuc_status gate_placement(stage_work *w, const module *integers) {
  json_t *before = json_object_get(npuc_build_record(w->b, STAGE_ADAPT, w->target), "placement"), *entry;
  json_t *by_name = json_object();
  size_t i;
  json_array_foreach(before, i, entry) json_object_set(by_name, json_string_value(json_object_get(entry, "node")), entry);
  npuc_status status = NPUC_OK;
  NPUC_EACH_NODE(integers->graphs[0], n) {
    json_t *was = json_object_get(by_name, n->name);
    const char *place = json_string_value(json_object_get(was, "place"));
    if (!place || !n->place || strcmp(place, n->place) == 0 || status != NPUC_OK) continue;
    status = npuc_fail(w->b->diag, NPUC_DIAG_E0914, &(diag_place){.file = w->b->path, .node = n->name, .op = n->op->type},
                       "stage adapt placed it on the %s, its integer form is on the %s: %s", place, n->place,
                       n->place_reason ? n->place_reason : "");
  }
  json_decref(by_name);
  return status;
}

static npuc_status gate(stage_work *w, const module *floats, const module *integers, const kept_floats *kept) {
  NPUC_TRY(npuc_quant_check_integer_only(w->b->diag, integers->graphs[0]));
  json_object_set_new(w->gate, "integer_only", json_true());
  NPUC_TRY(gate_placement(w, integers));
  if (w->b->options.eval) return gate_accuracy(w, floats->graphs[0], integers->graphs[0]);
  return gate_sqnr(w, integers->graphs[0], kept);
}

/* -- the stage -- */

static json_t *layers_json(const quant_report *r) {
  json_t *list = json_array();
  for (size_t i = 0; i < r->n_layers; i++) {
    const quant_layer *q = &r->layers[i];
    json_t *o = json_pack("{s:s, s:s, s:s, s:f, s:i, s:I, s:I}", "node", q->node, "op", q->op, "output", q->output, "scale",
                          (double)q->scale, "zero_point", (int)q->zero_point, "raised_channels", (json_int_t)q->raised_channels,
                          "vanished_channels", (json_int_t)q->vanished_channels);
    json_object_set_new(o, "min", npuc_json_number(q->min));
    json_object_set_new(o, "max", npuc_json_number(q->max));
    json_object_set_new(o, "lo", npuc_json_number(q->lo));
    json_object_set_new(o, "hi", npuc_json_number(q->hi));
    json_object_set_new(o, "weight_sqnr_db", npuc_json_number(q->weight_sqnr_db));
    json_object_set_new(o, "bias_correction", npuc_json_number(q->bias_correction));
    json_array_append_new(list, o);
  }
  return list;
}

typedef struct calibration {
  const dataset *data;
  kept_floats *kept;
} calibration;

static npuc_status read_sample(void *user, diag *d, size_t index, tensor *inputs) {
  const calibration *c = user;
  return npuc_dataset_sample(c->data, d, index, inputs);
}

static npuc_status keep_outputs(void *user, diag *d, size_t index, const tensor *outputs) {
  const calibration *c = user;
  for (size_t k = 0; k < c->kept->n_outputs && index < c->kept->n_samples; k++)
    NPUC_TRY(npuc_tensor_cast(d, &outputs[k], DTYPE_F32, &c->kept->tensors[index * c->kept->n_outputs + k]));
  return NPUC_OK;
}

static npuc_status calibrate_on(stage_work *w, const module *floats, const quant_options *options, calibration *c, module **out_integer,
                                module **out_qdq) {
  quant_samples samples = {.count = npuc_dataset_count(c->data), .read = read_sample, .ran = keep_outputs, .user = c};
  if (w->b->options.eval == NULL) {
    c->kept->n_samples = samples.count < SQNR_SAMPLES ? samples.count : SQNR_SAMPLES;
    c->kept->n_outputs = floats->graphs[0]->n_outputs;
    c->kept->tensors = NPUC_NEW_ARRAY(w->b->arena, c->kept->n_samples * c->kept->n_outputs + 1, tensor);
  }
  quant_report *report = npuc_quant_report_create();
  npuc_status status = npuc_quantize(w->b->diag, floats, options, &samples, out_integer, out_qdq, report);
  if (status == NPUC_OK) {
    json_object_set_new(w->extras, "calibration_samples", json_integer((json_int_t)report->samples));
    json_object_set_new(w->extras, "observer", json_string(npuc_observer_name(report->observer)));
    json_object_set_new(w->extras, "layers", layers_json(report));
  }
  npuc_quant_report_destroy(report);
  return status;
}

static npuc_status calibrate(stage_work *w, const module *floats, const quant_options *options, kept_floats *kept, module **out_integer,
                             module **out_qdq) {
  build *b = w->b;
  runner *r = NULL; /* only for the ports */
  dataset *data = NULL;
  NPUC_TRY(npuc_runner_create(b->diag, NULL, floats->graphs[0], &r));
  npuc_status status = npuc_build_dataset(b, b->options.calib, r, &data);
  if (status == NPUC_OK) status = npuc_dataset_check(data, b->diag, npuc_dataset_count(data));
  calibration c = {.data = data, .kept = kept};
  if (status == NPUC_OK) status = calibrate_on(w, floats, options, &c, out_integer, out_qdq);
  npuc_dataset_destroy(data);
  npuc_runner_destroy(r);
  return status;
}

static void release_floats(kept_floats *kept) {
  for (size_t i = 0; i < kept->n_samples * kept->n_outputs; i++) npuc_tensor_release(&kept->tensors[i]);
}

static npuc_status write_qdq(stage_work *w, const module *qdq) {
  const char *file = npuc_arena_printf(w->b->arena, "5-quantize.%s.qdq.onnx", w->target);
  NPUC_TRY(npuc_build_write_model(w->b, qdq, npuc_path_join(w->b->arena, w->b->path, file)));
  w->outputs[w->n_outputs++] = file;
  return NPUC_OK;
}

static npuc_status gate_written(stage_work *w, const module *floats, const kept_floats *kept) {
  module *written = NULL;
  NPUC_TRY(npuc_stage_model(w, STAGE_QUANTIZE, &written));
  npuc_status status = gate(w, floats, written, kept);
  npuc_module_destroy(written);
  return status;
}

/* An integer operator that neither NPU nor its host computes is named here, before placement calls everything homeless. */
static npuc_status check_runs(const stage_work *w, const module *integers) {
  arena *a = npuc_arena_create();
  qgraph *g = NULL;
  npuc_status status = npuc_npu_from_ir(w->b->diag, a, integers->graphs[0], &g);
  npuc_arena_destroy(a);
  return status;
}

static npuc_status quantize(stage_work *w, const module *floats) {
  quant_options options;
  module *integers = NULL, *qdq = NULL;
  kept_floats kept = {0};
  npu_arch arch;
  NPUC_TRY(npuc_stage_arch(w, &arch));
  NPUC_TRY(quantization_of(w, &options));
  npuc_status status = calibrate(w, floats, &options, &kept, &integers, &qdq);
  if (status == NPUC_OK && w->b->tamper) status = w->b->tamper(w->b->tamper_user, w->stage, integers, NULL);
  if (status == NPUC_OK) status = check_runs(w, integers);
  if (status == NPUC_OK) npuc_npu_place_graph(&arch, integers->graphs[0]);
  if (status == NPUC_OK) status = npuc_stage_write(w, integers);
  if (status == NPUC_OK) status = write_qdq(w, qdq);
  if (status == NPUC_OK) status = gate_written(w, floats, &kept);
  release_floats(&kept);
  if (status != NPUC_OK && w->n_outputs) {
    for (size_t i = 0; i < w->n_outputs; i++)
      if (npuc_path_remove(w->b->diag, npuc_path_join(w->b->arena, w->b->path, w->outputs[i])) != NPUC_OK) break;
    status = npuc_stage_gate_failed(w, integers, status);
  }
  npuc_module_destroy(integers);
  npuc_module_destroy(qdq);
  return status;
}

npuc_status npuc_stage_quantize(stage_work *w) {
  build *b = w->b;
  if (!b->options.calib) {
    npuc_status status =
        npuc_fail(b->diag, NPUC_DIAG_E0924, &(diag_place){.file = b->path, .attribute = "--calib"}, "no calibration data was given");
    npuc_fix(b->diag, "npuc quantize %s --calib DATA", b->path);
    return status;
  }
  module *floats = NULL;
  NPUC_TRY(npuc_stage_model(w, STAGE_ADAPT, &floats));
  npuc_status status = quantize(w, floats);
  npuc_module_destroy(floats);
  return status;
}
