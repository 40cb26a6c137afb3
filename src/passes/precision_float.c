/* SPDX-License-Identifier: Apache-2.0 */
/* float32 to bfloat16 or float16. Nodes in order: each takes narrow operands where it may, and what it gives is narrow where it may be; a value that is wanted in both types has one Cast. Bodies are
 * converted with their ports, since the values outside are. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "ir/attributes.h"
#include "kernels/convert.h"
#include "passes/precision_internal.h"

enum { RUN = 4096 };

typedef struct float_graph {
  conversion *c;
  graph *g;
  bool *converted; /* by value id: was float32 and is narrow now */
  size_t n_values;
  map *narrow, *wide; /* Casts and constants, by the name of what they stand for */
} float_graph;

static bool is_converted(const float_graph *f, const value *v) { return v->id < f->n_values && f->converted[v->id]; }

/* -- constants -- */

typedef struct loss {
  bool clamped, vanished;
} loss;

/* A run of float32 into the narrow tensor; false where a finite number is beyond the type and may not be clamped. */
static bool narrow_run(const precision_request *r, const float *in, int64_t n, tensor *to, int64_t at, float *work, loss *seen) {
  float largest = npuc_f16_to_f32(0x7bff);
  for (int64_t i = 0; i < n; i++) {
    work[i] = in[i];
    if (r->to == DTYPE_F16 && isfinite(in[i]) && fabsf(in[i]) >= 65520.0f) { /* would round to infinity */
      if (!r->clamp) return false;
      work[i] = copysignf(largest, in[i]);
      seen->clamped = true;
    }
    if (r->to == DTYPE_BF16 && r->truncate && !isnan(in[i])) {
      uint32_t bits;
      memcpy(&bits, &in[i], sizeof bits);
      bits &= 0xffff0000u;
      memcpy(&work[i], &bits, sizeof bits);
    } else if (r->to == DTYPE_BF16 && isfinite(in[i]) && !isfinite(npuc_bf16_to_f32(npuc_f32_to_bf16(in[i])))) {
      if (!r->clamp) return false;
      work[i] = copysignf(npuc_bf16_to_f32(0x7f7f), in[i]);
      seen->clamped = true;
    }
  }
  npuc_convert_from_f32(work, n, to, at);
  for (int64_t i = 0; i < n; i++) {
    if (in[i] != 0.0f && npuc_tensor_get(to, at + i) == 0.0) seen->vanished = true;
  }
  return true;
}

static npuc_status narrow_tensor(conversion *c, const char *name, const tensor *from, tensor *out, loss *seen) {
  NPUC_TRY(npuc_tensor_create(c->d, c->request->to, &from->shape, out));
  float in[RUN], work[RUN];
  int64_t n = npuc_tensor_elements(from);
  for (int64_t at = 0; at < n; at += RUN) {
    int64_t count = n - at < RUN ? n - at : RUN;
    npuc_convert_to_f32(from, at, count, in);
    if (narrow_run(c->request, in, count, out, at, work, seen)) continue;
    npuc_tensor_release(out);
    npuc_status status = npuc_fail(c->d, NPUC_DIAG_E0513, &(diag_place){.node = name}, "the constant has finite numbers beyond %s",
                                   npuc_dtype_name(c->request->to));
    npuc_fix(c->d, "--clamp makes them the largest that there is");
    npuc_fix(c->d, "--to bf16 has float32's range");
    return status;
  }
  c->report->constants++;
  c->report->clamped += seen->clamped;
  /* An element of a large weight may vanish as rounding; one number that does has changed its meaning. */
  bool one = n == 1 && seen->vanished;
  c->report->vanished += one;
  if (seen->clamped)
    npuc_warn(c->d, NPUC_DIAG_E0515, &(diag_place){.node = name}, "numbers beyond %s became its largest", npuc_dtype_name(c->request->to));
  if (one)
    npuc_warn(c->d, NPUC_DIAG_E0515, &(diag_place){.node = name}, "the constant is not 0, and is in %s", npuc_dtype_name(c->request->to));
  return NPUC_OK;
}

static npuc_status narrow_constant(float_graph *f, value *v, value **out) {
  *out = npuc_map_get(f->narrow, v->name);
  if (*out) return NPUC_OK;
  tensor t;
  loss seen = {false, false};
  NPUC_TRY(narrow_tensor(f->c, v->name, v->constant, &t, &seen));
  *out = npuc_graph_add_constant(f->g, npuc_conversion_name(f->c, v, f->c->request->to), &t);
  npuc_tensor_release(&t);
  (void)npuc_map_put(f->narrow, v->name, *out);
  return NPUC_OK;
}

/* -- attributes that say float32 -- */

static npuc_status narrow_attribute_tensor(conversion *c, module *m, const node *n, const tensor **at) {
  tensor t;
  loss seen = {false, false};
  if (!*at || (*at)->type != DTYPE_F32) return NPUC_OK;
  NPUC_TRY(narrow_tensor(c, n->name, *at, &t, &seen));
  tensor *kept = NPUC_NEW(m->arena, tensor);
  *kept = t;
  kept->data = npuc_arena_copy(m->arena, t.data, t.bytes);
  kept->owner = NULL;
  npuc_tensor_release(&t);
  *at = kept;
  return NPUC_OK;
}

static npuc_status narrow_attributes(conversion *c, module *m, node *n) {
  dtype to = c->request->to;
  int64_t *named = NULL;
  switch (n->op->id) {
    case OP_CAST:
      named = &NPUC_ATTRS(cast_attributes, n)->to;
      break;
    case OP_EYELIKE:
      named = &NPUC_ATTRS(eyelike_attributes, n)->dtype;
      break;
    case OP_RANDOMNORMAL:
    case OP_RANDOMNORMALLIKE:
    case OP_RANDOMUNIFORM:
    case OP_RANDOMUNIFORMLIKE:
    case OP_BERNOULLI:
      named = &NPUC_ATTRS(random_attributes, n)->dtype;
      break;
    case OP_HANNWINDOW:
    case OP_HAMMINGWINDOW:
    case OP_BLACKMANWINDOW:
    case OP_MELWEIGHTMATRIX:
      named = &NPUC_ATTRS(signal_window_attributes, n)->output_datatype;
      break;
    case OP_CONSTANTOFSHAPE:
      if (!NPUC_ATTRS(constantofshape_attributes, n)->value) { /* absent: a float32 zero */
        tensor *zero = NPUC_NEW(m->arena, tensor);
        *zero = (tensor){.type = to, .shape = {.rank = 1, .dims = {1}}, .data = npuc_arena_alloc(m->arena, 2), .bytes = 2};
        memset(zero->data, 0, 2);
        NPUC_ATTRS(constantofshape_attributes, n)->value = zero;
        return NPUC_OK;
      }
      return narrow_attribute_tensor(c, m, n, &NPUC_ATTRS(constantofshape_attributes, n)->value);
    case OP_CONSTANT:
      return narrow_attribute_tensor(c, m, n, &NPUC_ATTRS(constant_attributes, n)->value);
    default:
      return NPUC_OK;
  }
  if (*named == DTYPE_F32) *named = to;
  return NPUC_OK;
}

/* -- nodes -- */

static npuc_status set_operand(float_graph *f, node *n, int32_t i, bool stays) {
  value *v = n->inputs[i], *other = v;
  dtype to = f->c->request->to;
  if (stays && is_converted(f, v)) other = npuc_conversion_cast(f->c, f->g, f->wide, v, DTYPE_F32);
  if (!stays && v->type == DTYPE_F32) {
    if (v->constant && !v->is_input) {
      NPUC_TRY(narrow_constant(f, v, &other));
    } else {
      other = npuc_conversion_cast(f->c, f->g, f->narrow, v, to);
    }
  }
  if (other != v) npuc_node_set_input(n, i, other);
  return NPUC_OK;
}

static npuc_status convert_graph(conversion *c, graph *g, bool ports);

static npuc_status convert_node(float_graph *f, node *n) {
  conversion *c = f->c;
  bool kept = npuc_node_kept(c, n);
  const char *why = kept ? "--keep" : NULL;
  for (int32_t i = 0; i < n->n_inputs; i++) {
    if (!n->inputs[i] || (n->inputs[i]->type != DTYPE_F32 && !is_converted(f, n->inputs[i]))) continue;
    const char *reason = kept ? why : npuc_port_kept(c, n, i, false);
    NPUC_TRY(set_operand(f, n, i, reason != NULL));
    if (reason) why = reason;
  }
  bool narrowed = false;
  for (int32_t i = 0; i < n->n_outputs; i++) {
    value *v = n->outputs[i];
    if (!v || v->type != DTYPE_F32) continue;
    const char *reason = kept ? why : npuc_port_kept(c, n, i, true);
    if (reason) why = reason;
    if (reason) continue;
    v->type = c->request->to;
    f->converted[v->id] = narrowed = true;
    c->report->values++;
  }
  if (why) npuc_conversion_note(c, n, why);
  if (narrowed) NPUC_TRY(narrow_attributes(c, f->g->module, n));
  graph *body;
  for (int32_t i = 0; !kept && (body = npuc_node_body(n, i)); i++) NPUC_TRY(convert_graph(c, body, true));
  return NPUC_OK;
}

static void convert_inputs(float_graph *f) {
  for (size_t i = 0; i < f->g->n_inputs; i++) {
    value *v = f->g->inputs[i];
    if (v->type != DTYPE_F32 || v->constant) continue;
    v->type = f->c->request->to;
    f->converted[v->id] = true;
    f->c->report->values++;
  }
}

static void convert_outputs(float_graph *f, bool ports) {
  for (size_t i = 0; i < f->g->n_outputs; i++) {
    value *v = f->g->outputs[i];
    if (ports && v->type == DTYPE_F32) npuc_conversion_port_out(f->c, f->g, i, f->c->request->to);
    if (!ports && is_converted(f, v)) npuc_conversion_port_out(f->c, f->g, i, DTYPE_F32);
  }
}

static npuc_status convert_graph(conversion *c, graph *g, bool ports) {
  float_graph f = {.c = c, .g = g, .n_values = g->next_value_id, .narrow = npuc_map_create(c->arena), .wide = npuc_map_create(c->arena)};
  f.converted = NPUC_NEW_ARRAY(c->arena, f.n_values + 1, bool);
  size_t n = 0;
  node **nodes = NPUC_NEW_ARRAY(c->arena, g->n_nodes + 1, node *); /* Casts come between them */
  NPUC_EACH_NODE(g, each) nodes[n++] = each;
  if (ports) convert_inputs(&f);
  for (size_t i = 0; i < n; i++) NPUC_TRY(convert_node(&f, nodes[i]));
  convert_outputs(&f, ports);
  (void)npuc_graph_remove_dead(g);
  return NPUC_OK;
}

npuc_status npuc_convert_floats(diag *d, arena *a, module *m, const precision_request *r, precision_report *out_report) {
  conversion c = npuc_conversion_begin(d, a, r, DTYPE_F32, out_report);
  for (size_t i = 0; i < m->n_graphs; i++) {
    NPUC_TRY(convert_graph(&c, m->graphs[i], r->convert_ports));
    NPUC_TRY(npuc_graph_infer(d, m->graphs[i]));
    NPUC_TRY(npuc_graph_verify(d, m->graphs[i], "convert-dtype"));
  }
  return npuc_conversion_end(&c);
}
