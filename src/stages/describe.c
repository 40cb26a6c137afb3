/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/op.h"
#include "stages/macs.h"

json_t *npuc_describe_shape(const module *m, const shape *s) {
  if (s->rank < 0) return json_null();
  json_t *dims = json_array();
  for (int32_t i = 0; i < s->rank; i++) {
    const char *symbol = dim_is_symbol(s->dims[i]) ? npuc_module_symbol_name(m, s->dims[i]) : NULL;
    json_array_append_new(dims, dim_is_number(s->dims[i]) ? json_integer(s->dims[i]) : json_string(symbol ? symbol : "?"));
  }
  return dims;
}

static json_t *ports_json(const module *m, value *const *ports, size_t n) {
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++) {
    const value *v = ports[i];
    json_t *o = json_pack("{s:s, s:s}", "name", v->name, "dtype", npuc_dtype_name(v->type));
    json_object_set_new(o, "shape", npuc_describe_shape(m, &v->shape));
    if (v->quant) {
      json_object_set_new(o, "scale", json_real(npuc_tensor_get(&v->quant->scale, 0)));
      json_object_set_new(o, "zero_point", json_integer(npuc_tensor_get_int(&v->quant->zero_point, 0)));
    }
    json_array_append_new(list, o);
  }
  return list;
}

typedef struct census {
  size_t nodes;
  double macs;
  int64_t parameters;
  json_t *ops, *dtypes;
  const value *largest[5];
} census;

static void add_count(json_t *o, const char *key, int64_t n) {
  json_object_set_new(o, key, json_integer(json_integer_value(json_object_get(o, key)) + (json_int_t)n));
}

static void add_largest(census *s, const value *v) {
  for (size_t i = 0; i < 5; i++) {
    if (s->largest[i] && s->largest[i]->constant->bytes >= v->constant->bytes) continue;
    memmove(&s->largest[i + 1], &s->largest[i], (4 - i) * sizeof *s->largest);
    s->largest[i] = v;
    return;
  }
}

static void take_census(const graph *g, census *s) {
  s->ops = json_object();
  s->dtypes = json_object();
  NPUC_EACH_NODE(g, n) {
    char name[128];
    snprintf(name, sizeof name, "%s%s%s", n->op->domain, *n->op->domain ? "." : "", n->op->type);
    add_count(s->ops, name, 1);
    s->nodes++;
    s->macs += npuc_node_cost(n).macs;
  }
  size_t cursor = 0;
  const char *key;
  void *item;
  while (npuc_map_next(g->values, &cursor, &key, &item)) {
    const value *v = item;
    if (!v->constant) continue;
    int64_t n = npuc_tensor_elements(v->constant);
    s->parameters += n;
    add_count(s->dtypes, npuc_dtype_name(v->constant->type), n);
    add_largest(s, v);
  }
}

/* Symbols and unknown dims of any value, once each. */
static json_t *dynamic_dims(const module *m, const graph *g) {
  json_t *seen = json_object(), *list = json_array();
  for (size_t i = 0; i < g->n_inputs; i++) {
    const shape *s = &g->inputs[i]->shape;
    for (int32_t k = 0; k < s->rank; k++) {
      if (dim_is_number(s->dims[k])) continue;
      const char *name = dim_is_symbol(s->dims[k]) ? npuc_module_symbol_name(m, s->dims[k]) : "?";
      if (json_object_get(seen, name)) continue;
      json_object_set_new(seen, name, json_true());
      json_array_append_new(list, json_string(name));
    }
  }
  json_decref(seen);
  return list;
}

json_t *npuc_describe_part(arena *a, const module *m, size_t index) {
  const graph *g = m->graphs[index];
  census s = {0};
  take_census(g, &s);
  json_t *part = json_pack("{s:s, s:o, s:o, s:o, s:I, s:f, s:i}", "name", g->name ? g->name : "main", "inputs",
                           ports_json(m, g->inputs, g->n_inputs), "outputs", ports_json(m, g->outputs, g->n_outputs), "ops", s.ops,
                           "parameters", (json_int_t)s.parameters, "macs", s.macs, "nodes", (int)s.nodes);
  json_object_set_new(part, "dtypes", s.dtypes);
  json_object_set_new(part, "dynamic_dims", dynamic_dims(m, g));
  const char *formula = npuc_macs_formula(a, m, index);
  if (formula) json_object_set_new(part, "macs_formula", json_string(formula));
  json_t *largest = json_array();
  for (size_t i = 0; i < 5 && s.largest[i]; i++)
    json_array_append_new(largest, json_pack("{s:s, s:s, s:I}", "name", s.largest[i]->name, "dtype", npuc_dtype_name(s.largest[i]->type),
                                             "bytes", (json_int_t)s.largest[i]->constant->bytes));
  json_object_set_new(part, "largest_tensors", largest);
  return part;
}
