/* SPDX-License-Identifier: Apache-2.0 */
/* The ports of a decoder with a growing cache, by the names that exporters give them: token ids (or embeddings), positions, masks, and inputs called past*. Everything else about the model
 * follows from its nodes. */
#include <string.h>

#include "passes/decoder.h"

static const struct {
  const char *name;
  decoder_role role;
} ports[] = {
    {"input_ids", DECODER_IDS},         {"decoder_input_ids", DECODER_IDS},
    {"inputs_embeds", DECODER_IDS},     {"decoder_inputs_embeds", DECODER_IDS},
    {"attention_mask", DECODER_MASK},   {"decoder_attention_mask", DECODER_MASK},
    {"position_ids", DECODER_PLACES},   {"decoder_position_ids", DECODER_PLACES},
    {"cache_position", DECODER_PLACES},
};

static decoder_role named(const value *v) {
  for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
    if (strcmp(v->name, ports[i].name) == 0) return ports[i].role;
  }
  return DECODER_OTHER;
}

/* A cross-attention cache ("past_key_values.0.encoder.key") does not grow: its length is that of the encoder's input. */
static bool is_past(const value *v) { return strncmp(v->name, "past", 4) == 0 && !strstr(v->name, ".encoder."); }

/* The symbolic axis that is not the batch; the first such, DIM_UNKNOWN when there is none. */
static dim length_symbol(const value *v, dim batch) {
  for (int32_t i = 0; i < v->shape.rank; i++) {
    if (dim_is_symbol(v->shape.dims[i]) && v->shape.dims[i] != batch) return v->shape.dims[i];
  }
  return DIM_UNKNOWN;
}

static value *find_ids(const graph *g) {
  for (size_t i = 0; i < g->n_inputs; i++) {
    if (named(g->inputs[i]) == DECODER_IDS) return g->inputs[i];
  }
  return NULL;
}

decoder_role npuc_decoder_role(const graph *g, const value *input) {
  const value *ids = find_ids(g);
  dim batch = ids && ids->shape.rank > 1 ? ids->shape.dims[0] : DIM_UNKNOWN;
  return is_past(input) && length_symbol(input, batch) != DIM_UNKNOWN ? DECODER_PAST : named(input);
}

bool npuc_decoder_grows(const graph *g) {
  for (size_t i = 0; i < g->n_inputs; i++) {
    if (npuc_decoder_role(g, g->inputs[i]) == DECODER_PAST) return true;
  }
  return false;
}

static npuc_status refuse_port(decoder *x, const value *v, const char *reason) {
  return npuc_fail(x->c->d, NPUC_DIAG_E0530, &(diag_place){.part = x->g->name, .node = v ? v->name : NULL}, "%s", reason);
}

static npuc_status take_ids(decoder *x) {
  value *v = x->ids = find_ids(x->g);
  if (!v)
    return refuse_port(x, NULL, "there is a cache and no input called input_ids or inputs_embeds: which input has the tokens is not known");
  if (v->shape.rank < 2) return refuse_port(x, v, "the tokens are wanted as [batch, tokens]");
  dim batch = v->shape.dims[0], tokens = v->shape.dims[1];
  if (dim_is_number(batch) && batch != 1)
    return refuse_port(x, v, "the batch is more than 1: the growing model has one length for all of it, the fixed one a position each");
  x->batch_symbol = dim_is_symbol(batch) ? batch : DIM_UNKNOWN;
  x->chunk_symbol = dim_is_symbol(tokens) ? tokens : DIM_UNKNOWN;
  if (!dim_is_number(tokens)) return NPUC_OK;
  if (x->chunk && x->chunk != tokens) {
    npuc_status status = npuc_fail(x->c->d, NPUC_DIAG_E0531, &(diag_place){.node = v->name, .attribute = "--chunk"},
                                   "the model takes %lld tokens a call, not %lld", (long long)tokens, (long long)x->chunk);
    npuc_fix(x->c->d, "export it with a symbolic length, or leave --chunk away");
    return status;
  }
  x->chunk = tokens;
  return NPUC_OK;
}

static npuc_status take_past(decoder *x) {
  graph *g = x->g;
  x->past = NPUC_NEW_ARRAY(x->c->scratch, g->n_inputs, value *);
  x->past_symbol = DIM_UNKNOWN;
  for (size_t i = 0; i < g->n_inputs; i++) {
    value *v = g->inputs[i];
    dim length = is_past(v) ? length_symbol(v, x->batch_symbol) : DIM_UNKNOWN;
    if (length == DIM_UNKNOWN) continue;
    if (x->past_symbol != DIM_UNKNOWN && length != x->past_symbol)
      return refuse_port(x, v, "its length has another name than that of the caches before it: they may differ");
    x->past_symbol = length;
    x->past[x->n_past++] = v;
  }
  return NPUC_OK;
}

/* The mask covers the cache and the new tokens: its last axis is P + C, whatever its name. */
static npuc_status take_mask(decoder *x) {
  x->total_symbol = DIM_UNKNOWN;
  for (size_t i = 0; i < x->g->n_inputs; i++) {
    const value *v = x->g->inputs[i];
    if (named(v) != DECODER_MASK) continue;
    if (v->shape.rank != 2 && v->shape.rank != 4) return refuse_port(x, v, "a mask of rank 2 or 4 is wanted");
    dim last = v->shape.dims[v->shape.rank - 1];
    if (!dim_is_symbol(last) || last == x->past_symbol || last == x->chunk_symbol)
      return refuse_port(x, v, "its last axis is not the length of the cache and the new tokens together");
    x->total_symbol = last;
  }
  return NPUC_OK;
}

npuc_status npuc_decoder_ports(decoder *x) {
  NPUC_TRY(take_ids(x));
  NPUC_TRY(take_past(x));
  NPUC_TRY(take_mask(x));
  if (!x->chunk) x->chunk = 1;
  x->rows = x->max_length + x->chunk - 1;
  if (x->max_length >= x->chunk + 3) return NPUC_OK;
  return npuc_fail(x->c->d, NPUC_DIAG_E0531, &(diag_place){.attribute = "--max-length"},
                   "%lld given; at least the chunk and 3 (%lld) wanted", (long long)x->max_length, (long long)x->chunk + 3);
}

npuc_status npuc_decoder_input_shape(const decoder *x, const value *input, int64_t past, int64_t tokens, shape *out_shape) {
  shape s = input->shape;
  for (int32_t i = 0; i < s.rank; i++) {
    dim d = s.dims[i];
    if (dim_is_number(d)) continue;
    if (d == x->past_symbol)
      s.dims[i] = past;
    else if (d == x->chunk_symbol)
      s.dims[i] = tokens;
    else if (d == x->total_symbol)
      s.dims[i] = past + tokens;
    else if (d == x->batch_symbol)
      s.dims[i] = 1;
    else
      break;
  }
  *out_shape = s;
  if (npuc_shape_is_static(&s)) return NPUC_OK;
  diag_place place = {.part = x->g->name, .node = input->name};
  const char *name = NULL;
  for (int32_t i = 0; i < s.rank && !name; i++)
    if (dim_is_symbol(s.dims[i])) name = npuc_module_symbol_name(x->g->module, s.dims[i]);
  npuc_status status =
      npuc_fail(x->c->d, NPUC_DIAG_E0913, &place, "the input \"%s\" has %s%s%s that is neither the tokens', the cache's nor their sum",
                input->name, name ? "the dim \"" : "a dim", name ? name : "", name ? "\"" : "");
  if (name) npuc_fix(x->c->d, "give it a number: --dim %s=N", name);
  return status;
}

/* -- for those who run the growing model -- */

static npuc_status look(diag *d, pass_context *c, graph *g, const pass_options *options, decoder *out) {
  *c = (pass_context){.d = d, .scratch = npuc_arena_create(), .options = options, .pass = "static-decoder"};
  *out = (decoder){.c = c, .g = g, .max_length = options->max_length, .chunk = options->chunk};
  npuc_status status = npuc_decoder_ports(out);
  if (status != NPUC_OK) npuc_arena_destroy(c->scratch);
  return status;
}

npuc_status npuc_decoder_chunk(diag *d, const graph *g, const pass_options *options, int64_t *out_chunk, bool *out_free) {
  pass_context c;
  decoder x;
  NPUC_TRY(look(d, &c, g->module->graphs[0], options, &x));
  *out_chunk = x.chunk;
  *out_free = x.chunk_symbol != DIM_UNKNOWN;
  npuc_arena_destroy(c.scratch);
  return NPUC_OK;
}

npuc_status npuc_decoder_bind(diag *d, module *m, const pass_options *options, int64_t past, int64_t tokens) {
  pass_context c;
  decoder x;
  graph *g = m->graphs[0];
  NPUC_TRY(look(d, &c, g, options, &x));
  npuc_status status = NPUC_OK;
  shape *shapes = NPUC_NEW_ARRAY(c.scratch, g->n_inputs + 1, shape);
  for (size_t i = 0; i < g->n_inputs && status == NPUC_OK; i++)
    status = npuc_decoder_input_shape(&x, g->inputs[i], past, tokens, &shapes[i]);
  for (size_t i = 0; i < g->n_inputs && status == NPUC_OK; i++) g->inputs[i]->shape = shapes[i];
  npuc_arena_destroy(c.scratch);
  if (status != NPUC_OK) return status;
  npuc_graph_forget_shapes(g);
  return npuc_graph_infer(d, g);
}
