/* SPDX-License-Identifier: Apache-2.0 */
/* The whole of quantization, in order. */
#include <math.h>

#include "quant/given.h"
#include "quant/plan.h"

quant_options npuc_quant_options_default(void) {
  return (quant_options){
      .observer = OBSERVER_MSE, .percentile = 99.99, .activations = {.type = DTYPE_U8}, .multiplier_bits = 31, .bias_correction = true};
}

quant_report *npuc_quant_report_create(void) {
  arena *a = npuc_arena_create();
  quant_report *r = NPUC_NEW(a, quant_report);
  r->arena = a;
  return r;
}

void npuc_quant_report_destroy(quant_report *r) {
  if (r) npuc_arena_destroy(r->arena);
}

static npuc_status check_options(diag *d, const quant_options *o) {
  const char *wrong = NULL;
  if ((int)o->observer < 0 || o->observer >= OBSERVER_COUNT) wrong = "observer";
  if (!(o->percentile > 0 && o->percentile <= 100)) wrong = "percentile";
  if (o->activations.type != DTYPE_U8 && o->activations.type != DTYPE_I8) wrong = "activations";
  if (o->activations.symmetric && o->activations.type != DTYPE_I8) wrong = "symmetric";
  if (o->multiplier_bits != 31 && o->multiplier_bits != 15) wrong = "multiplier_bits";
  return wrong ? npuc_fail(d, NPUC_DIAG_E0712, &(diag_place){.attribute = wrong}, "%s has a value that does not exist", wrong) : NPUC_OK;
}

static npuc_status run(plan *p, const module *source, const quant_samples *samples, module **out_integer, module **out_qdq,
                       quant_report *report) {
  NPUC_TRY(npuc_plan_calibrate(p, samples));
  NPUC_TRY(npuc_plan_choose_params(p));
  NPUC_TRY(npuc_plan_quantize_weights(p));
  report->samples = (size_t)p->samples;
  report->observer = p->options->observer;
  module *integer = NULL, *with_qdq = NULL;
  npuc_status status = NPUC_OK;
  if (out_integer) status = npuc_plan_lower(p, source, report, &integer);
  if (status == NPUC_OK && out_qdq) status = npuc_plan_qdq(p, source, &with_qdq);
  if (status != NPUC_OK) {
    npuc_module_destroy(integer);
    return status;
  }
  if (out_integer) *out_integer = integer;
  if (out_qdq) *out_qdq = with_qdq;
  return NPUC_OK;
}

npuc_status npuc_quantize(diag *d, const module *float_module, const quant_options *options, const quant_samples *samples,
                          module **out_integer, module **out_qdq, quant_report *report) {
  NPUC_TRY(check_options(d, options));
  if (float_module->n_graphs != 1) {
    return npuc_fail(d, NPUC_DIAG_E0704, NULL, "the module has %zu parts; w8a8 quantizes one", float_module->n_graphs);
  }
  arena *a = npuc_arena_create();
  quant_report *own = report ? NULL : npuc_quant_report_create();
  plan *p = NULL;
  const qparams *given = NULL;
  module *bare = npuc_quant_has_given(float_module->graphs[0]) ? npuc_module_clone(float_module) : NULL;
  const module *source = bare ? bare : float_module;
  npuc_status status = bare ? npuc_quant_take_given(d, a, bare->graphs[0], options->activations, &given) : NPUC_OK;
  if (status == NPUC_OK) status = npuc_plan_create(d, a, source->graphs[0], options, &p);
  if (p) p->given = given;
  if (status == NPUC_OK) status = run(p, source, samples, out_integer, out_qdq, report ? report : own);
  npuc_plan_release(p);
  npuc_module_destroy(bare);
  npuc_quant_report_destroy(own);
  npuc_arena_destroy(a);
  return status;
}

static bool is_float_kind(dtype type) {
  dtype_kind kind = npuc_dtype_kind(type);
  return kind != KIND_INT && kind != KIND_UINT && kind != KIND_BOOL;
}

static npuc_status complain(diag *d, const graph *g, const value *v, const char *what) {
  const node *n = v->producer;
  diag_place place = {.part = g->name, .node = n ? n->name : v->name, .op = n ? n->op->type : NULL};
  return npuc_fail(d, NPUC_DIAG_E0706, &place, "%s %s is %s", what, v->name, npuc_dtype_name(v->type));
}

npuc_status npuc_quant_check_integer_only(diag *d, const graph *g) {
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < g->n_inputs; i++) {
    if (is_float_kind(g->inputs[i]->type)) status = complain(d, g, g->inputs[i], "input");
  }
  NPUC_EACH_NODE(g, n) {
    for (int32_t i = 0; i < n->n_inputs; i++) {
      const value *v = n->inputs[i];
      if (v && v->constant && is_float_kind(v->type)) status = complain(d, g, v, "constant");
    }
    for (int32_t i = 0; i < n->n_outputs; i++) {
      if (n->outputs[i] && is_float_kind(n->outputs[i]->type)) status = complain(d, g, n->outputs[i], "value");
    }
  }
  return status;
}
