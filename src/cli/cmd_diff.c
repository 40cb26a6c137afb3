/* SPDX-License-Identifier: Apache-2.0 */
/* npuc diff A B: two models on the same inputs. Integer outputs of equal scale and zero point are compared as integers (bytes), everything else as real numbers. --nodes compares values of equal
 * name in the order of computation and names the first that parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/build_options.h"
#include "cli/inputs.h"
#include "exec/executor.h"
#include "formats/npy.h"
#include "passes/names.h"
#include "stages/engine.h"

enum { CHUNK = 64, DEFAULT_SAMPLES = 16 };

typedef struct tolerance {
  bool any;
  double atol, rtol, cosine, sqnr;
} tolerance;

static npuc_status read_tolerance(cli *c, tolerance *t) {
  *t = (tolerance){.cosine = -2, .sqnr = -INFINITY};
  NPUC_TRY(npuc_cli_real(c->diag, &c->line, "--atol", 0, &t->atol));
  NPUC_TRY(npuc_cli_real(c->diag, &c->line, "--rtol", 0, &t->rtol));
  NPUC_TRY(npuc_cli_real(c->diag, &c->line, "--cosine", -2, &t->cosine));
  NPUC_TRY(npuc_cli_real(c->diag, &c->line, "--sqnr", -1e300, &t->sqnr));
  static const char *const names[] = {"--atol", "--rtol", "--cosine", "--sqnr"};
  for (size_t i = 0; i < 4; i++) t->any |= npuc_cli_value(&c->line, names[i]) != NULL;
  return NPUC_OK;
}

/* max|d| <= atol + rtol max|ref|, as far as either was given; nothing given: equal. */
static bool within(const tolerance *t, const comparison *c, const cli *cli_) {
  bool bounds = npuc_cli_value(&cli_->line, "--atol") || npuc_cli_value(&cli_->line, "--rtol");
  if (!t->any) return c->different == 0;
  if (bounds && !(c->max_abs <= t->atol + t->rtol * c->max_ref)) return false;
  return c->cosine >= t->cosine && c->sqnr_db >= t->sqnr;
}

static bool same_scale(const quant *a, const quant *b) {
  return a && b && a->axis == b->axis && npuc_tensor_equal(&a->scale, &b->scale) && npuc_tensor_equal(&a->zero_point, &b->zero_point);
}

static npuc_status add(diag *d, comparison_sum *sum, const quant *qa, const tensor *a, const quant *qb, const tensor *b) {
  if ((!qa && !qb) || (same_scale(qa, qb) && a->type == b->type)) return npuc_compare_add(d, sum, a, b);
  tensor fa = {0}, fb = {0};
  npuc_status status = npuc_dequantized(d, qa, a, &fa);
  if (status == NPUC_OK) status = npuc_dequantized(d, qb, b, &fb);
  if (status == NPUC_OK) status = npuc_compare_add(d, sum, &fa, &fb);
  npuc_tensor_release(&fa);
  npuc_tensor_release(&fb);
  return status;
}

/* -- samples: one -i set, a dataset, or seeded random -- */
typedef struct samples {
  cli *c;
  dataset *data;
  tensor *fixed; /* -i */
  size_t n_ports, count;
} samples;

static npuc_status get_sample(void *user, diag *d, size_t index, tensor *out_inputs) {
  samples *s = user;
  if (s->data) return npuc_dataset_sample(s->data, d, index, out_inputs);
  for (size_t i = 0; i < s->n_ports; i++) {
    if (s->fixed && s->fixed[i].data) {
      if (s->fixed[i].bytes != out_inputs[i].bytes || s->fixed[i].type != out_inputs[i].type)
        return npuc_fail(d, NPUC_DIAG_E0921, NULL, "input %zu: the file's dtype or shape is not the model's", i);
      memcpy(out_inputs[i].data, s->fixed[i].data, s->fixed[i].bytes);
    } else {
      npuc_cli_random(s->c->seed + index, i, &out_inputs[i]);
    }
  }
  return NPUC_OK;
}

static npuc_status open_fixed(cli *c, const engine *e, const sample_port *ports, samples *s) {
  const char **names = (const char **)npuc_arena_array(c->arena, s->n_ports + 1, sizeof(char *)),
             **files = (const char **)npuc_arena_array(c->arena, s->n_ports + 1, sizeof(char *));
  const char **sources = (const char **)npuc_arena_array(c->arena, s->n_ports + 1, sizeof(char *));
  for (size_t i = 0; i < s->n_ports; i++) {
    names[i] = ports[i].name;
    if (e->model.module) sources[i] = npuc_source_name(e->model.module->graphs[0], c->arena, names[i]);
  }
  NPUC_TRY(npuc_cli_input_files(c, names, sources, s->n_ports, files));
  s->fixed = NPUC_NEW_ARRAY(c->arena, s->n_ports + 1, tensor);
  for (size_t i = 0; i < s->n_ports; i++)
    if (files[i]) NPUC_TRY(npuc_npy_read(c->diag, files[i], &s->fixed[i]));
  return NPUC_OK;
}

static npuc_status open_samples(cli *c, const engine *e, samples *s) {
  const char *text = npuc_cli_value(&c->line, "--data"), *spec = npuc_cli_value(&c->line, "--preprocess");
  long long n;
  *s = (samples){.c = c};
  const sample_port *ports = npuc_runner_ports(e->runner, &s->n_ports);
  NPUC_TRY(npuc_cli_int(c->diag, &c->line, "--samples", 1, INT64_MAX, 0, &n));
  s->count = n ? (size_t)n : DEFAULT_SAMPLES;
  if (npuc_cli_value(&c->line, "--input")) {
    s->count = 1;
    return open_fixed(c, e, ports, s);
  }
  if (!text) return NPUC_OK;
  preprocess *p = NULL;
  if (!spec) spec = e->model.preprocess;
  if (spec) NPUC_TRY(npuc_preprocess_parse(c->diag, c->arena, spec, &p));
  NPUC_TRY(npuc_dataset_open(c->diag, text, p, ports, s->n_ports, c->seed, &s->data));
  size_t have = npuc_dataset_count(s->data);
  if (!n || have < s->count) s->count = have < s->count || !n ? have : s->count;
  return NPUC_OK;
}

static void close_samples(samples *s) {
  npuc_dataset_destroy(s->data);
  npuc_cli_release_inputs(s->fixed, s->n_ports);
}

/* -- outputs -- */
typedef struct pairwise {
  size_t first, n_outputs;
  tensor *kept; /* [sample in chunk][output] of A */
  const model_port *a, *b;
  comparison_sum *sums;
} pairwise;

static npuc_status keep(void *user, diag *d, size_t index, const tensor *inputs, const tensor *outputs) {
  (void)inputs;
  pairwise *p = user;
  for (size_t k = 0; k < p->n_outputs; k++) {
    tensor *t = &p->kept[(index - p->first) * p->n_outputs + k];
    npuc_tensor_release(t);
    NPUC_TRY(npuc_tensor_create(d, outputs[k].type, &outputs[k].shape, t));
    if (t->bytes) memcpy(t->data, outputs[k].data, t->bytes);
  }
  return NPUC_OK;
}

static npuc_status compare(void *user, diag *d, size_t index, const tensor *inputs, const tensor *outputs) {
  (void)inputs;
  pairwise *p = user;
  for (size_t k = 0; k < p->n_outputs; k++)
    NPUC_TRY(add(d, &p->sums[k], p->a[k].quant, &p->kept[(index - p->first) * p->n_outputs + k], p->b[k].quant, &outputs[k]));
  return NPUC_OK;
}

static npuc_status compare_chunks(cli *c, engine *a, engine *b, samples *s, pairwise *p) {
  for (p->first = 0; p->first < s->count; p->first += CHUNK) {
    size_t n = s->count - p->first < CHUNK ? s->count - p->first : CHUNK;
    NPUC_TRY(npuc_runner_run(a->runner, c->diag, NULL, "diff", p->first, n, get_sample, s, keep, p));
    NPUC_TRY(npuc_runner_run(b->runner, c->diag, NULL, "diff", p->first, n, get_sample, s, compare, p));
    npuc_progress_report(&c->progress, "diff", p->first + n, s->count);
  }
  return NPUC_OK;
}

static npuc_status report(cli *c, const pairwise *p, size_t n_samples) {
  tolerance t;
  NPUC_TRY(read_tolerance(c, &t));
  json_t *list = json_array();
  bool pass = true;
  const char *worst = NULL;
  for (size_t k = 0; k < p->n_outputs; k++) {
    const comparison *r = &p->sums[k].result;
    json_array_append_new(list, npuc_comparison_json(p->a[k].name, r));
    npuc_cli_say(c, "%s: %lld of %lld differ, max|d| %.3g, rmse %.3g, cosine %.8f, SQNR %.1f dB, argmax agrees %lld of %lld\n",
                 p->a[k].name, (long long)r->different, (long long)r->elements, r->max_abs, r->rmse, r->cosine, r->sqnr_db,
                 (long long)r->rows_agree, (long long)r->rows);
    if (within(&t, r, c)) continue;
    if (pass) worst = p->a[k].name;
    pass = false;
  }
  npuc_cli_set(c, "outputs", list);
  npuc_cli_set(c, "samples", json_integer((json_int_t)n_samples));
  npuc_cli_set(c, "pass", json_boolean(pass));
  npuc_cli_say(c, "%s over %zu samples\n", pass ? "pass" : "differ", n_samples);
  if (pass) return NPUC_OK;
  return npuc_fail(c->diag, NPUC_DIAG_E0920, &(diag_place){.node = worst}, "the outputs differ by more than %s",
                   t.any ? "the tolerance" : "nothing: no tolerance was given");
}

static npuc_status compare_outputs(cli *c, engine *a, engine *b, samples *s) {
  pairwise p = {0};
  size_t n_b;
  p.a = npuc_runner_outputs(a->runner, &p.n_outputs);
  p.b = npuc_runner_outputs(b->runner, &n_b);
  if (p.n_outputs != n_b) return npuc_fail(c->diag, NPUC_DIAG_E0921, NULL, "A has %zu outputs, B has %zu", p.n_outputs, n_b);
  p.kept = NPUC_NEW_ARRAY(c->arena, CHUNK * p.n_outputs + 1, tensor);
  p.sums = NPUC_NEW_ARRAY(c->arena, p.n_outputs + 1, comparison_sum);
  npuc_status status = compare_chunks(c, a, b, s, &p);
  if (status == NPUC_OK) status = report(c, &p, s->count);
  for (size_t i = 0; i < CHUNK * p.n_outputs; i++) npuc_tensor_release(&p.kept[i]);
  return status;
}

/* -- nodes: values of equal name, the first sample -- */

static npuc_status run_kept(cli *c, const graph *g, const tensor *floats, executor **out_executor) {
  exec_options options = {.pool = c->pool, .keep_all = true};
  NPUC_TRY(npuc_executor_create(c->diag, g, &options, out_executor));
  tensor *inputs = NPUC_NEW_ARRAY(c->arena, g->n_inputs + 1, tensor), *outputs = NPUC_NEW_ARRAY(c->arena, g->n_outputs + 1, tensor);
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < g->n_inputs && status == NPUC_OK; i++) {
    inputs[i] = floats[i];
    inputs[i].owner = NULL;
    if (!g->inputs[i]->quant || floats[i].type == g->inputs[i]->type) continue;
    status = npuc_tensor_create(c->diag, g->inputs[i]->type, &floats[i].shape, &inputs[i]);
    if (status == NPUC_OK) npuc_quantize_tensor(g->inputs[i]->quant, &floats[i], &inputs[i]);
  }
  if (status == NPUC_OK) status = npuc_executor_run(*out_executor, c->diag, inputs, outputs);
  npuc_cli_release_inputs(inputs, g->n_inputs);
  return status;
}

static npuc_status compare_values(cli *c, const graph *ga, const executor *ea, const graph *gb, const executor *eb, json_t *list) {
  const char *first = NULL;
  tolerance t;
  NPUC_TRY(read_tolerance(c, &t));
  NPUC_EACH_NODE(ga, n) {
    for (int32_t k = 0; k < n->n_outputs; k++) {
      const value *va = n->outputs[k], *vb = va ? npuc_graph_value(gb, va->name) : NULL;
      const tensor *ta = va ? npuc_executor_value(ea, va) : NULL, *tb = vb ? npuc_executor_value(eb, vb) : NULL;
      if (!ta || !tb || npuc_tensor_elements(ta) != npuc_tensor_elements(tb)) continue;
      comparison_sum sum = {0};
      NPUC_TRY(add(c->diag, &sum, va->quant, ta, vb->quant, tb));
      json_t *entry = npuc_comparison_json(va->name, &sum.result);
      json_object_set_new(entry, "op", json_string(n->op->type));
      json_array_append_new(list, entry);
      npuc_cli_say(c, "  %-14s %-40s max|d| %-10.3g SQNR %.1f dB\n", n->op->type, va->name, sum.result.max_abs, sum.result.sqnr_db);
      if (!first && !within(&t, &sum.result, c)) first = va->name;
    }
  }
  npuc_cli_set(c, "first_difference", first ? json_string(first) : json_null());
  npuc_cli_say(c, "first that parts: %s\n", first ? first : "none");
  return NPUC_OK;
}

static npuc_status compare_nodes(cli *c, engine *a, engine *b, samples *s) {
  if (!a->model.module || !b->model.module)
    return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--nodes"},
                     "--nodes compares two ONNX models; use `run X.npu --observe` for a program");
  const sample_port *ports = npuc_runner_ports(a->runner, &s->n_ports);
  tensor *floats = NPUC_NEW_ARRAY(c->arena, s->n_ports + 1, tensor);
  executor *ea = NULL, *eb = NULL;
  json_t *list = json_array();
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < s->n_ports && status == NPUC_OK; i++)
    status = npuc_tensor_create(c->diag, ports[i].type, &ports[i].shape, &floats[i]);
  if (status == NPUC_OK) status = get_sample(s, c->diag, 0, floats);
  if (status == NPUC_OK) status = run_kept(c, a->model.module->graphs[0], floats, &ea);
  if (status == NPUC_OK) status = run_kept(c, b->model.module->graphs[0], floats, &eb);
  if (status == NPUC_OK) status = compare_values(c, a->model.module->graphs[0], ea, b->model.module->graphs[0], eb, list);
  npuc_cli_set(c, "nodes", list);
  npuc_executor_destroy(ea);
  npuc_executor_destroy(eb);
  npuc_cli_release_inputs(floats, s->n_ports);
  return status;
}

static npuc_status bind(void *user, module *m) { return npuc_cli_bind_dims(user, m); }

static npuc_status run(cli *c) {
  engine a = {0}, b = {0};
  samples s = {0};
  const char *kind = npuc_cli_value(&c->line, "--engine");
  npuc_status status = npuc_engine_open(c->diag, c->arena, c->pool, c->line.arguments[0], kind, bind, c, &a);
  if (status == NPUC_OK) status = npuc_engine_open(c->diag, c->arena, c->pool, c->line.arguments[1], kind, bind, c, &b);
  if (status == NPUC_OK) status = open_samples(c, a.model.preprocess || !b.model.preprocess ? &a : &b, &s);
  if (status == NPUC_OK && npuc_cli_flag(&c->line, "--nodes")) status = compare_nodes(c, &a, &b, &s);
  if (status == NPUC_OK) status = compare_outputs(c, &a, &b, &s);
  close_samples(&s);
  npuc_engine_close(&a);
  npuc_engine_close(&b);
  return status;
}

static const option options[] = {
    {"--input", 'i', OPTION_LIST, "NAME=FILE.npy", "inputs, as in run"},
    {"--samples", 0, OPTION_VALUE, "N", "how many samples (default 16 random ones, or all of --data)"},
    {"--data", 0, OPTION_VALUE, "DATA", "samples from data"},
    {"--preprocess", 0, OPTION_VALUE, "SPEC", "as in compile; a build's own is used unasked"},
    {"--nodes", 0, OPTION_FLAG, NULL, "compare values of equal name too; name the first that parts"},
    {"--atol", 0, OPTION_VALUE, "X", "bound on max|a-b| (with --rtol: atol + rtol max|b|)"},
    {"--rtol", 0, OPTION_VALUE, "X", "bound on max|a-b| relative to max|b|"},
    {"--cosine", 0, OPTION_VALUE, "X", "least cosine"},
    {"--sqnr", 0, OPTION_VALUE, "DB", "least signal to noise"},
    {"--dim", 0, OPTION_LIST, "SYMBOL=N", "the number of a symbolic dim"},
    {"--engine", 0, OPTION_VALUE, "graph|simulator", "for .npu files"},
};
static const option_group group = {"Diff", options, sizeof options / sizeof *options};
static const option_group *const groups[] = {&group, NULL};
static const char *const examples[] = {
    "npuc diff build/demo@static build/demo@quantize --data examples/demo/test.npy --samples 64 --sqnr 15",
    "npuc diff build/demo@quantize build/demo --engine simulator --data examples/demo/test.npy --samples 32", NULL};

const command npuc_command_diff = {.name = "diff",
                                   .arguments = "A B",
                                   .purpose = "compare two models on the same inputs",
                                   .min_arguments = 2,
                                   .max_arguments = 2,
                                   .groups = groups,
                                   .examples = examples,
                                   .run = run};
