/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of a decoder that became static: the growing model at P cached rows and v tokens, and the fixed one at position P with v of C tokens real, must give the same for the last token and the
 * same rows in the caches. Places: 0, 1, C - 1, C, the middle and the last slot; v = 1, half a chunk and C. What is cached is seeded random; rows behind it, and the
 * padding of the chunk, hold other random numbers, so that one row too many that is seen shows. The calls are kept: they are the samples of the stages that follow. */
#include <stdlib.h>
#include <string.h>

#include "exec/executor.h"
#include "formats/npy.h"
#include "ir/decoder_form.h"
#include "passes/decoder_source.h"
#include "stages/stages.h"

enum { MAX_CALLS = 18 };

typedef struct call {
  int64_t past, tokens;
} call;

typedef struct decoder_gate {
  stage_work *w;
  const module *growing;
  const graph *fixed;
  pass_options options;
  decoder_form form;
  bool free_chunk;
  int64_t vocabulary;
  uint64_t seed;
  executor *runs_fixed;
  call calls[MAX_CALLS];
  size_t n_calls, at;
  comparison_sum *sums;     /* by output */
  tensor *inputs, *outputs; /* by port: all calls of the fixed model, stacked */
} decoder_gate;

/* -- which calls -- */

static void add_call(decoder_gate *g, int64_t past, int64_t tokens) {
  if (past < 0 || past + tokens > g->form.max_length || tokens < 1) return;
  for (size_t i = 0; i < g->n_calls; i++)
    if (g->calls[i].past == past && g->calls[i].tokens == tokens) return;
  if (g->n_calls < MAX_CALLS) g->calls[g->n_calls++] = (call){past, tokens};
}

static void plan_calls(decoder_gate *g) {
  int64_t c = g->form.chunk, n = g->form.max_length, tokens[3] = {c, 1, (c + 1) / 2};
  for (int k = 0; k < (g->free_chunk ? 3 : 1); k++) {
    int64_t past[6] = {0, 1, c - 1, c, n / 2, n - tokens[k]};
    for (int i = 0; i < 6; i++) add_call(g, past[i], tokens[k]);
  }
}

/* -- what is fed -- */

static double next_unit(decoder_gate *g) {
  g->seed = g->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(g->seed >> 40) / (double)(1 << 24);
}

static void fill(decoder_gate *g, tensor *t, int64_t most) {
  bool whole = npuc_dtype_kind(t->type) != KIND_FLOAT;
  for (int64_t i = 0; i < npuc_tensor_elements(t); i++) {
    if (whole)
      npuc_tensor_set_int(t, i, (int64_t)(next_unit(g) * (double)most));
    else
      npuc_tensor_set(t, i, 2.0 * next_unit(g) - 1.0);
  }
}

/* Rows of the embedding that the tokens pick from; 2 where there is none to be found. */
static int64_t vocabulary_of(const value *ids) {
  for (size_t i = 0; i < ids->n_uses; i++) {
    const node *n = ids->uses[i].user;
    if (node_is(n, OP_GATHER) && ids->uses[i].index == 1 && n->inputs[0]->shape.rank > 0 && dim_is_number(n->inputs[0]->shape.dims[0]))
      return n->inputs[0]->shape.dims[0];
  }
  return 2;
}

/* [outer, n, inner] of an axis. */
typedef struct rows {
  int64_t outer, n;
  size_t bytes; /* of one row's inner elements */
} rows;

static rows rows_of(const tensor *t, int32_t axis) {
  rows r = {1, t->shape.dims[axis], npuc_dtype_bits(t->type) / 8};
  for (int32_t i = 0; i < axis; i++) r.outer *= t->shape.dims[i];
  for (int32_t i = axis + 1; i < t->shape.rank; i++) r.bytes *= (size_t)t->shape.dims[i];
  return r;
}

/* n rows of `from`, from row `first`, to the beginning of `to`. */
static void copy_rows(const tensor *from, tensor *to, int32_t axis, int64_t first, int64_t n) {
  rows a = rows_of(from, axis), b = rows_of(to, axis);
  for (int64_t o = 0; o < a.outer && n && a.bytes; o++)
    memcpy((char *)to->data + (size_t)(o * b.n) * b.bytes, (const char *)from->data + (size_t)(o * a.n + first) * a.bytes,
           (size_t)n * a.bytes);
}

/* The axis where the shapes part, or -1. */
static int32_t parting_axis(const shape *a, const shape *b) {
  for (int32_t i = 0; i < a->rank && i < b->rank; i++)
    if (a->dims[i] != b->dims[i]) return i;
  return -1;
}

static void fill_mask(tensor *t, const call *c) {
  int64_t keys = t->shape.dims[t->shape.rank - 1];
  for (int64_t i = 0; i < npuc_tensor_elements(t); i++) {
    bool seen = t->shape.rank == 2 || i % keys <= c->past + i / keys;
    npuc_tensor_set(t, i, t->shape.rank == 2 || t->type == DTYPE_BOOL ? seen : seen ? 0.0 : t->type == DTYPE_F16 ? -65504.0 : -3e38);
  }
}

static npuc_status fill_growing(decoder_gate *g, const graph *bound, const call *c, tensor *in) {
  const graph *source = g->growing->graphs[0];
  for (size_t i = 0; i < bound->n_inputs; i++) {
    const value *v = bound->inputs[i];
    NPUC_TRY(npuc_tensor_create(g->w->b->diag, v->type, &v->shape, &in[i]));
    switch (npuc_decoder_role(source, source->inputs[i])) {
      case DECODER_MASK:
        fill_mask(&in[i], c);
        break;
      case DECODER_PLACES:
        for (int64_t k = 0; k < npuc_tensor_elements(&in[i]); k++) npuc_tensor_set_int(&in[i], k, c->past + k);
        break;
      default:
        fill(g, &in[i], g->vocabulary);
    }
  }
  return NPUC_OK;
}

/* -- one call of both -- */

/* The growing model's input that a fixed one's stands for: the same name, or, in order, the next cache. */
static size_t source_of(const decoder_gate *g, const value *fixed, size_t *next_past) {
  const graph *source = g->growing->graphs[0];
  for (size_t i = 0; i < source->n_inputs; i++) {
    bool is_past = npuc_decoder_role(source, source->inputs[i]) == DECODER_PAST;
    if (!is_past && strcmp(source->inputs[i]->name, fixed->name) == 0) return i;
  }
  while (npuc_decoder_role(source, source->inputs[*next_past]) != DECODER_PAST) ++*next_past;
  return (*next_past)++;
}

static npuc_status fill_fixed(decoder_gate *g, const call *c, const tensor *growing, tensor *in) {
  size_t next_past = 0;
  for (size_t i = 0; i < g->fixed->n_inputs; i++) {
    const value *v = g->fixed->inputs[i];
    NPUC_TRY(npuc_tensor_create(g->w->b->diag, v->type, &v->shape, &in[i]));
    if ((int32_t)i == g->form.position || (int32_t)i == g->form.valid) {
      npuc_tensor_set_int(&in[i], 0, (int32_t)i == g->form.position ? c->past : c->tokens);
      continue;
    }
    const tensor *from = &growing[source_of(g, v, &next_past)];
    int32_t axis = parting_axis(&from->shape, &v->shape);
    if (axis >= 0) fill(g, &in[i], g->vocabulary);
    if (axis < 0 && from->bytes) memcpy(in[i].data, from->data, from->bytes);
    if (axis >= 0) copy_rows(from, &in[i], axis, 0, from->shape.dims[axis]);
  }
  return NPUC_OK;
}

/* The part that both have: of a cache the written rows, of anything else the last token's row. */
static npuc_status compare_output(decoder_gate *g, size_t k, const tensor *fixed, const tensor *growing) {
  int32_t axis = parting_axis(&fixed->shape, &growing->shape);
  if (axis < 0) return npuc_compare_add(g->w->b->diag, &g->sums[k], fixed, growing);
  bool cache = fixed->shape.dims[axis] > growing->shape.dims[axis];
  tensor part;
  const tensor *whole = cache ? fixed : growing;
  shape s = cache ? growing->shape : fixed->shape;
  NPUC_TRY(npuc_tensor_create(g->w->b->diag, fixed->type, &s, &part));
  copy_rows(whole, &part, axis, cache ? 0 : whole->shape.dims[axis] - s.dims[axis], s.dims[axis]);
  npuc_status status = npuc_compare_add(g->w->b->diag, &g->sums[k], cache ? &part : fixed, cache ? growing : &part);
  npuc_tensor_release(&part);
  return status;
}

static npuc_status stack(decoder_gate *g, tensor *all, const tensor *one) {
  if (!all->data) {
    shape s = one->shape;
    s.dims[0] *= (int64_t)g->n_calls;
    NPUC_TRY(npuc_tensor_create(g->w->b->diag, one->type, &s, all));
  }
  if (one->bytes) memcpy((char *)all->data + g->at * one->bytes, one->data, one->bytes);
  return NPUC_OK;
}

static npuc_status run_fixed(decoder_gate *g, const tensor *in, const tensor *wanted) {
  tensor *out = npuc_xcalloc(g->fixed->n_outputs + 1, sizeof *out);
  npuc_status status = npuc_executor_run(g->runs_fixed, g->w->b->diag, in, out);
  for (size_t i = 0; i < g->fixed->n_inputs && status == NPUC_OK; i++) status = stack(g, &g->inputs[i], &in[i]);
  for (size_t i = 0; i < g->fixed->n_outputs && status == NPUC_OK; i++) status = stack(g, &g->outputs[i], &out[i]);
  for (size_t i = 0; i < g->fixed->n_outputs && status == NPUC_OK; i++) status = compare_output(g, i, &out[i], &wanted[i]);
  free(out);
  return status;
}

static void release(tensor *list, size_t n) {
  for (size_t i = 0; i < n; i++) npuc_tensor_release(&list[i]);
  free(list);
}

static npuc_status run_bound(decoder_gate *g, const graph *bound, const call *c) {
  executor *e = NULL;
  tensor *in = npuc_xcalloc(bound->n_inputs + 1, sizeof *in), *fixed = npuc_xcalloc(g->fixed->n_inputs + 1, sizeof *fixed);
  tensor *out = npuc_xcalloc(bound->n_outputs + 1, sizeof *out);
  exec_options options = {.pool = g->w->b->pool};
  npuc_status status = fill_growing(g, bound, c, in);
  if (status == NPUC_OK) status = fill_fixed(g, c, in, fixed);
  if (status == NPUC_OK) status = npuc_executor_create(g->w->b->diag, bound, &options, &e);
  if (status == NPUC_OK) status = npuc_executor_run(e, g->w->b->diag, in, out);
  if (status == NPUC_OK) status = run_fixed(g, fixed, out);
  npuc_executor_destroy(e);
  free(out);
  release(in, bound->n_inputs);
  release(fixed, g->fixed->n_inputs);
  return status;
}

static npuc_status run_calls(decoder_gate *g) {
  npuc_status status = NPUC_OK;
  for (g->at = 0; g->at < g->n_calls && status == NPUC_OK; g->at++) {
    const call *c = &g->calls[g->at];
    module *bound = npuc_module_clone(g->growing);
    status = npuc_decoder_bind(g->w->b->diag, bound, &g->options, c->past, c->tokens);
    if (status == NPUC_OK) status = run_bound(g, bound->graphs[0], c);
    npuc_module_destroy(bound);
  }
  return status;
}

/* -- all of it -- */

static npuc_status judge(decoder_gate *g) {
  npuc_status status = npuc_gate_judge(g->w, g->fixed, g->sums, PARITY_REASSOCIATING);
  json_t *calls = json_array();
  for (size_t i = 0; i < g->n_calls; i++)
    json_array_append_new(calls,
                          json_pack("{s:I, s:I}", "position", (json_int_t)g->calls[i].past, "valid", (json_int_t)g->calls[i].tokens));
  json_object_set_new(g->w->gate, "calls", calls);
  json_object_set_new(g->w->gate, "samples", json_integer((json_int_t)g->n_calls));
  json_object_set_new(g->w->gate, "equals_baseline", json_boolean(status == NPUC_OK));
  if (status != NPUC_OK) return status;
  NPUC_TRY(npuc_baseline_write(g->w, "3-static.calls", "inputs", g->fixed->inputs, g->inputs, g->fixed->n_inputs));
  return npuc_baseline_write(g->w, "3-static.calls", "outputs", g->fixed->outputs, g->outputs, g->fixed->n_outputs);
}

npuc_status npuc_gate_decoder(stage_work *w, const module *growing, const module *fixed, const pass_options *options) {
  const graph *f = fixed->graphs[0];
  decoder_gate g = {.w = w, .growing = growing, .fixed = f, .options = *options, .seed = w->b->seed + 1};
  exec_options exec = {.pool = w->b->pool};
  int64_t chunk;
  NPUC_TRY(npuc_decoder_chunk(w->b->diag, growing->graphs[0], options, &chunk, &g.free_chunk));
  if (!npuc_decoder_form_of(fixed, &g.form) || growing->graphs[0]->n_outputs != f->n_outputs)
    return npuc_fail(w->b->diag, NPUC_DIAG_E0911, &(diag_place){.file = w->b->path},
                     "stage static left no decoder with the source's outputs");
  plan_calls(&g);
  for (size_t i = 0; i < growing->graphs[0]->n_inputs; i++)
    if (npuc_decoder_role(growing->graphs[0], growing->graphs[0]->inputs[i]) == DECODER_IDS)
      g.vocabulary = vocabulary_of(growing->graphs[0]->inputs[i]);
  g.sums = npuc_xcalloc(f->n_outputs + 1, sizeof *g.sums);
  g.inputs = npuc_xcalloc(f->n_inputs + 1, sizeof *g.inputs);
  g.outputs = npuc_xcalloc(f->n_outputs + 1, sizeof *g.outputs);
  npuc_status status = npuc_executor_create(w->b->diag, f, &exec, &g.runs_fixed);
  if (status == NPUC_OK) status = run_calls(&g);
  if (status == NPUC_OK) status = judge(&g);
  npuc_executor_destroy(g.runs_fixed);
  free(g.sums);
  release(g.inputs, f->n_inputs);
  release(g.outputs, f->n_outputs);
  return status;
}
