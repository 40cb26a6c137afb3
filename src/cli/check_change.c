/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/check_change.h"

#include <stdlib.h>

#include "cli/inputs.h"
#include "exec/executor.h"

typedef struct side {
  module *module;
  executor *executor;
  tensor *inputs, *outputs;
} side;

static npuc_status open_side(cli *c, diag *d, const module *m, side *s) {
  s->module = npuc_module_clone(m);
  graph *g = s->module->graphs[0];
  diag *before = c->diag;
  c->diag = d; /* dims that cannot be bound are a reason, not a failure */
  npuc_status status = npuc_cli_bind_dims(c, s->module);
  c->diag = before;
  NPUC_TRY(status);
  for (size_t i = 0; i < g->n_inputs; i++) {
    if (npuc_shape_is_static(&g->inputs[i]->shape)) continue;
    return npuc_fail(d, NPUC_DIAG_E0502, &(diag_place){.node = g->inputs[i]->name}, "input %s has a dim without a number",
                     g->inputs[i]->name);
  }
  exec_options options = {.pool = c->pool};
  NPUC_TRY(npuc_executor_create(d, g, &options, &s->executor));
  s->inputs = npuc_xcalloc(g->n_inputs + 1, sizeof *s->inputs);
  s->outputs = npuc_xcalloc(g->n_outputs + 1, sizeof *s->outputs);
  for (size_t i = 0; i < g->n_inputs; i++) NPUC_TRY(npuc_tensor_create(d, g->inputs[i]->type, &g->inputs[i]->shape, &s->inputs[i]));
  return NPUC_OK;
}

static void close_side(side *s) {
  for (size_t i = 0; s->inputs && i < s->module->graphs[0]->n_inputs; i++) npuc_tensor_release(&s->inputs[i]);
  free(s->inputs);
  free(s->outputs);
  npuc_executor_destroy(s->executor);
  npuc_module_destroy(s->module);
}

static npuc_status fill(diag *d, const side *a, side *b, uint64_t seed) {
  for (size_t i = 0; i < a->module->graphs[0]->n_inputs; i++) {
    npuc_cli_random(seed, i, &a->inputs[i]);
    dtype type = b->inputs[i].type;
    npuc_tensor_release(&b->inputs[i]);
    NPUC_TRY(npuc_tensor_cast(d, &a->inputs[i], type, &b->inputs[i]));
  }
  return NPUC_OK;
}

static npuc_status compare(cli *c, diag *d, side *a, side *b, comparison_sum *sums) {
  for (uint64_t k = 0; k < CHECK_SAMPLES; k++) {
    NPUC_TRY(fill(d, a, b, (uint64_t)c->seed + k));
    NPUC_TRY(npuc_executor_run(a->executor, d, a->inputs, a->outputs));
    NPUC_TRY(npuc_executor_run(b->executor, d, b->inputs, b->outputs));
    for (size_t i = 0; i < a->module->graphs[0]->n_outputs; i++) NPUC_TRY(npuc_compare_add(d, &sums[i], &b->outputs[i], &a->outputs[i]));
  }
  return NPUC_OK;
}

npuc_status npuc_cli_check_change(cli *c, const module *before, const module *after, comparison_sum **out_sums, const char **out_why) {
  const graph *x = before->graphs[0], *y = after->graphs[0];
  *out_sums = NULL;
  *out_why = x->n_inputs != y->n_inputs || x->n_outputs != y->n_outputs ? "inputs or outputs are others" : NULL;
  if (*out_why) return NPUC_OK;
  side a = {0}, b = {0};
  diag *d = npuc_diag_create(NULL, NULL);
  comparison_sum *sums = NPUC_NEW_ARRAY(c->arena, x->n_outputs + 1, comparison_sum);
  npuc_status status = open_side(c, d, before, &a);
  if (status == NPUC_OK) status = open_side(c, d, after, &b);
  if (status == NPUC_OK) status = compare(c, d, &a, &b, sums);
  const diag_record *error = npuc_diag_first_error(d);
  if (status == NPUC_OK) *out_sums = sums;
  if (status != NPUC_OK) *out_why = npuc_arena_str(c->arena, error ? error->reason : "it does not run");
  close_side(&a);
  close_side(&b);
  npuc_diag_destroy(d);
  return NPUC_OK;
}
