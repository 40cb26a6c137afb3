/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes as numbers of the program, their arithmetic, the checks that the exporter left behind, and graphs inside the graph that only set a
 * mode of training. */
#include <string.h>

#include "import/pt2/aten.h"

npuc_status npuc_aten_sym_size(pt2_node *n) {
  value *x;
  int64_t axis;
  pt2_int length;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  NPUC_TRY(npuc_pt2_int_arg(n, "dim", 0, &axis));
  NPUC_TRY(npuc_pt2_axis(n, "dim", axis, x->shape.rank, &axis));
  NPUC_TRY(npuc_pt2_size(n, x, (int32_t)axis, &length));
  return npuc_pt2_result_int(n, length);
}

/* Python's operators name their arguments a and b; older exporters left the names empty. */
static npuc_status operands(pt2_node *n, pt2_int *out, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const char *name = json_string_value(json_object_get(json_array_get(n->arguments, i), "name"));
    if (!name) return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "an operand has no name");
    json_t *entry = json_array_get(n->arguments, i);
    if (!name[0]) {
      name = i ? "b" : "a";
      json_object_set_new(entry, "name", json_string(name));
    }
    NPUC_TRY(npuc_pt2_symint(n, name, 0, &out[i]));
  }
  return NPUC_OK;
}

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

static bool compute(const char *op, int64_t a, int64_t b, int64_t *out) {
  if (strcmp(op, "Add") == 0) return !__builtin_add_overflow(a, b, out);
  if (strcmp(op, "Sub") == 0) return !__builtin_sub_overflow(a, b, out);
  if (strcmp(op, "Mul") == 0) return !__builtin_mul_overflow(a, b, out);
  if (strcmp(op, "Max") == 0 || strcmp(op, "Min") == 0) {
    *out = (a > b) == (op[1] == 'a') ? a : b;
    return true;
  }
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  *out = strcmp(op, "Mod") == 0 ? a - floor_divide(a, b) * b : floor_divide(a, b);
  return true;
}

npuc_status npuc_aten_sym_binary(pt2_node *n) {
  pt2_int v[2], y = {0};
  value *sides[2];
  NPUC_TRY(operands(n, v, 2));
  if (!v[0].value && !v[1].value) {
    if (!compute(n->onnx, v[0].number, v[1].number, &y.number)) return npuc_pt2_fail(n, NPUC_DIAG_E0335, NULL, "the size has no value");
    return npuc_pt2_result_int(n, y);
  }
  for (size_t i = 0; i < 2; i++) sides[i] = v[i].value ? v[i].value : npuc_pt2_constant_ints(n, &v[i].number, 1);
  if (strcmp(n->onnx, "FloorDiv") == 0) { /* Div truncates; what Mod leaves is taken off first */
    value *rest;
    NPUC_TRY(npuc_pt2_binary(n, "Mod", sides[0], sides[1], &rest));
    NPUC_TRY(npuc_pt2_binary(n, "Sub", sides[0], rest, &sides[0]));
    NPUC_TRY(npuc_pt2_binary(n, "Div", sides[0], sides[1], &y.value));
  } else {
    NPUC_TRY(npuc_pt2_binary(n, n->onnx, sides[0], sides[1], &y.value));
  }
  return npuc_pt2_result_int(n, y);
}

npuc_status npuc_aten_sym_neg(pt2_node *n) {
  pt2_int v, y = {0};
  NPUC_TRY(operands(n, &v, 1));
  y.number = -v.number;
  if (v.value) NPUC_TRY(npuc_pt2_unary(n, "Neg", v.value, &y.value));
  return npuc_pt2_result_int(n, y);
}

/* A condition on sizes or on a tensor that the exporter assumes; the range of each symbol is kept in the program and the static stage fixes
 * the sizes. Its result, a bool, is read by other checks only: binding it as true keeps them readable. */
npuc_status npuc_aten_check(pt2_node *n) {
  n->used = ~(uint64_t)0;
  json_t *output = json_array_get(json_object_get(n->json, "outputs"), 0);
  return json_object_get(output, "as_sym_bool") ? npuc_pt2_result_int(n, pt2_number(1)) : NPUC_OK;
}

/* -- wrap_with_set_grad_enabled(mode, graph, operands...), wrap_with_autocast(device, dtype, enabled, cache, graph, operands...) -- */
static json_t *argument(pt2_node *n, size_t index, const char *kind) {
  return json_object_get(json_object_get(json_array_get(n->arguments, index), "arg"), kind);
}

static npuc_status bind_operands(pt2_node *n, json_t *inputs, size_t first, map *inner) {
  for (size_t i = 0; i < json_array_size(inputs); i++) {
    json_t *in = json_array_get(inputs, i);
    const char *name = json_string_value(json_object_get(json_object_get(in, "as_tensor"), "name"));
    const char *given = json_string_value(json_object_get(argument(n, first + i, "as_tensor"), "name"));
    if (!name) name = json_string_value(json_object_get(json_object_get(in, "as_sym_int"), "as_name"));
    if (!given) given = json_string_value(json_object_get(argument(n, first + i, "as_sym_int"), "as_name"));
    void *b = given ? npuc_map_get(n->s->bindings, given) : NULL;
    if (!name || !b) return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "its graph takes an operand that is no tensor and no size");
    npuc_map_put(inner, name, b);
  }
  return NPUC_OK;
}

static npuc_status bind_results(pt2_node *n, json_t *outputs, map *inner) {
  json_t *names = json_object_get(n->json, "outputs");
  json_t *list = json_object_get(json_array_get(names, 0), "as_tensors");
  for (size_t i = 0; i < json_array_size(outputs); i++) {
    const char *made = json_string_value(json_object_get(json_object_get(json_array_get(outputs, i), "as_tensor"), "name"));
    json_t *as = list ? json_array_get(list, i) : json_object_get(json_array_get(names, i), "as_tensor");
    const char *name = json_string_value(json_object_get(as, "name"));
    void *b = made ? npuc_map_get(inner, made) : NULL;
    if (!name || !b) return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "its graph gives a result that is no tensor");
    npuc_map_put(n->s->bindings, name, b);
  }
  return NPUC_OK;
}

npuc_status npuc_aten_wrapped_graph(pt2_node *n) {
  enum { MAX_DEPTH = 32 };
  pt2_source *s = n->s;
  json_t *body = NULL;
  size_t at = 0;
  for (; at < json_array_size(n->arguments) && !body; at++) body = json_object_get(argument(n, at, "as_graph"), "graph");
  if (!body) return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "the node has no graph");
  if (s->depth >= MAX_DEPTH) return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "graphs are nested more than %d deep", MAX_DEPTH);
  n->used = ~(uint64_t)0;
  map *outer = s->bindings, *inner = npuc_map_create(s->scratch);
  json_t *metas = s->metas;
  NPUC_TRY(bind_operands(n, json_object_get(body, "inputs"), at, inner));
  s->bindings = inner;
  s->metas = json_object_get(body, "tensor_values");
  s->depth++;
  npuc_status status = npuc_pt2_nodes(s, body);
  s->depth--;
  s->bindings = outer;
  s->metas = metas;
  return status == NPUC_OK ? bind_results(n, json_object_get(body, "outputs"), inner) : status;
}
