/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes are inferred for several numbers, MACs counted, and the curve through them is what a person wants to read. */
#include "stages/macs.h"

#include <math.h>
#include <string.h>

#include "ir/op.h"

typedef struct symbol_list {
  const char **names;
  size_t n;
} symbol_list;

/* Symbols of the inputs, once each. */
static symbol_list find_symbols(arena *a, const module *m, const graph *g) {
  symbol_list list = {(const char **)npuc_arena_array(a, g->n_inputs * MAX_RANK + 1, sizeof(char *)), 0};
  for (size_t i = 0; i < g->n_inputs; i++) {
    for (int32_t k = 0; k < g->inputs[i]->shape.rank; k++) {
      dim d = g->inputs[i]->shape.dims[k];
      const char *name = dim_is_symbol(d) ? npuc_module_symbol_name(m, d) : NULL;
      bool known = !name;
      for (size_t j = 0; j < list.n && !known; j++) known = strcmp(list.names[j], name) == 0;
      if (!known) list.names[list.n++] = name;
    }
  }
  return list;
}

/* MACs of part `index` with every symbol of its inputs as given by `numbers` (in the list's order); negative where shapes do not follow. */
static double macs_with(const module *m, size_t index, const symbol_list *symbols, const int64_t *numbers) {
  module *copy = npuc_module_clone(m);
  graph *g = copy->graphs[index];
  for (size_t i = 0; i < g->n_inputs; i++) {
    shape *s = &g->inputs[i]->shape;
    for (int32_t k = 0; k < s->rank; k++) {
      const char *name = dim_is_symbol(s->dims[k]) ? npuc_module_symbol_name(copy, s->dims[k]) : NULL;
      for (size_t j = 0; name && j < symbols->n; j++)
        if (strcmp(symbols->names[j], name) == 0) s->dims[k] = numbers[j];
    }
  }
  npuc_graph_forget_shapes(g);
  double macs = npuc_graph_infer(NULL, g) == NPUC_OK ? 0 : -1;
  NPUC_EACH_NODE(g, n) {
    if (macs >= 0) macs += npuc_node_cost(n).macs;
  }
  npuc_module_destroy(copy);
  return macs;
}

enum { DEGREE = 3 }; /* of the polynomial in one symbol: attention is 2, and one more for luck's sake is checked */

/* Coefficients of the polynomial through values at first, first + 1, ... (Newton's differences, then powers). */
static void interpolate(const double *values, size_t first, double *out_coefficients) {
  double differences[DEGREE + 1], basis[DEGREE + 1] = {1};
  for (size_t i = 0; i <= DEGREE; i++) differences[i] = values[i], out_coefficients[i] = 0;
  for (size_t level = 1; level <= DEGREE; level++)
    for (size_t i = DEGREE; i >= level; i--) differences[i] = (differences[i] - differences[i - 1]) / (double)level;
  for (size_t level = 0; level <= DEGREE; level++) {
    for (size_t i = 0; i <= level; i++) out_coefficients[i] += differences[level] * basis[i];
    for (size_t i = level + 1; i > 0 && level < DEGREE; i--) basis[i] = basis[i - 1] - (double)(first + level) * basis[i];
    if (level < DEGREE) basis[0] *= -(double)(first + level);
  }
}

/* "2722304 N", "512 S^2 + 1024 S"; NULL where no polynomial of whole numbers fits. */
static const char *polynomial(arena *a, const module *m, size_t index, const symbol_list *symbols) {
  const char *symbol = symbols->names[0];
  enum { FIRST = 8 }; /* small enough to be quick, large enough for windows to fit */
  double values[DEGREE + 2], c[DEGREE + 1];
  const char *text = "";
  for (size_t i = 0; i < DEGREE + 2; i++) {
    values[i] = macs_with(m, index, symbols, &(int64_t){FIRST + (int64_t)i});
    if (values[i] < 0) return NULL;
  }
  interpolate(values, FIRST, c);
  double next = 0;
  for (size_t i = DEGREE + 1; i-- > 0;) {
    c[i] = round(c[i]);
    next = next * (FIRST + DEGREE + 1) + c[i];
  }
  if (next != values[DEGREE + 1]) return NULL; /* a floor somewhere: the fifth value is not on the curve */
  for (size_t i = DEGREE + 1; i-- > 0;) {
    if (c[i] == 0) continue;
    const char *power = i == 0 ? "" : i == 1 ? npuc_arena_printf(a, " %s", symbol) : npuc_arena_printf(a, " %s^%zu", symbol, i);
    text = npuc_arena_printf(a, "%s%s%.0f%s", text, *text ? (c[i] < 0 ? " - " : " + ") : c[i] < 0 ? "-" : "", fabs(c[i]), power);
  }
  return *text ? text : "0";
}

const char *npuc_macs_formula(arena *a, const module *m, size_t index) {
  symbol_list symbols = find_symbols(a, m, m->graphs[index]);
  if (symbols.n == 0) return NULL;
  const char *formula = symbols.n == 1 ? polynomial(a, m, index, &symbols) : NULL;
  if (formula) return formula;
  const char *needed = "";
  for (size_t i = 0; i < symbols.n; i++) needed = npuc_arena_printf(a, "%s --dim %s=NUMBER", needed, symbols.names[i]);
  return npuc_arena_printf(a, "unknown (give%s)", needed);
}
