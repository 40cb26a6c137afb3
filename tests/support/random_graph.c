/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_graph.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/random.h"

enum { MOST_VALUES = 24 };

typedef struct layer_value {
  int rank, dims[4];
} layer_value;

typedef struct writer {
  FILE *constants, *nodes;
  uint64_t random;
  layer_value values[MOST_VALUES];
  int n, n_constants; /* value 0 is x, value i is vI */
} writer;

static int below(writer *w, int n) { return (int)(random_next(&w->random) % (uint64_t)n); }

static const char *name(arena *a, int i) { return i ? npuc_arena_printf(a, "v%d", i) : "x"; }

/* A new float constant; its number. */
static int constant(writer *w, const char *dims, int count, double lo, double hi) {
  fprintf(w->constants, ",\n float[%s] c%d = {", dims, w->n_constants);
  for (int i = 0; i < count; i++)
    fprintf(w->constants, "%s%.6g", i ? ", " : "", lo + (hi - lo) * (0.5 + 0.5 * (double)random_float(&w->random)));
  fputs("}", w->constants);
  return w->n_constants++;
}

static int add(writer *w, layer_value v) {
  w->values[w->n] = v;
  return w->n++;
}

static int window(int in, int k, int stride, int dilation, int pad) { return (in + 2 * pad - dilation * (k - 1) - 1) / stride + 1; }

static void conv(writer *w, arena *a, int from) {
  const layer_value v = w->values[from];
  int k = 1 + 2 * below(w, 2), stride = 1 + below(w, 2), pad = k / 2, dilation = k == 3 && !below(w, 4) ? 2 : 1;
  if (dilation == 2) pad = 2;
  int group = below(w, 3) ? 1 : v.dims[1], out = group > 1 ? group * (1 + below(w, 2)) : 1 + below(w, 9), in = v.dims[1] / group;
  layer_value y = {4, {v.dims[0], out, window(v.dims[2], k, stride, dilation, pad), window(v.dims[3], k, stride, dilation, pad)}};
  int weights = constant(w, npuc_arena_printf(a, "%d,%d,%d,%d", out, in, k, k), out * in * k * k, -0.5, 0.5);
  int bias = constant(w, npuc_arena_printf(a, "%d", out), out, -0.5, 0.5);
  fprintf(w->nodes,
          " v%d = Conv <kernel_shape = [%d,%d], strides = [%d,%d], pads = [%d,%d,%d,%d], dilations = [%d,%d], group = %d> (%s, c%d, c%d)\n",
          w->n, k, k, stride, stride, pad, pad, pad, pad, dilation, dilation, group, name(a, from), weights, bias);
  add(w, y);
}

static void pool(writer *w, arena *a, int from) {
  layer_value y = w->values[from];
  bool max = below(w, 2);
  int k = 2 + below(w, 2), stride = 1 + below(w, 2), pad = k == 3 ? below(w, 2) : 0;
  if (y.dims[2] < k || y.dims[3] < k) return;
  y.dims[2] = window(y.dims[2], k, stride, 1, pad), y.dims[3] = window(y.dims[3], k, stride, 1, pad);
  fprintf(w->nodes, " v%d = %s <kernel_shape = [%d,%d], strides = [%d,%d], pads = [%d,%d,%d,%d]> (%s)\n", w->n,
          max ? "MaxPool" : "AveragePool", k, k, stride, stride, pad, pad, pad, pad, name(a, from));
  add(w, y);
}

static void unary(writer *w, arena *a, int from, bool quantizable) {
  static const char *const ops[] = {"Relu", "Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "HardSigmoid", "Identity"};
  fprintf(w->nodes, " v%d = %s (%s)\n", w->n, ops[below(w, quantizable ? 7 : 8)], name(a, from));
  add(w, w->values[from]);
}

static bool same_dims(const layer_value *a, const layer_value *b) {
  bool same = a->rank == b->rank;
  for (int i = 0; i < a->rank && same; i++) same = a->dims[i] == b->dims[i];
  return same;
}

static void binary(writer *w, arena *a, int from, bool quantizable) {
  static const char *const ops[] = {"Add", "Mul", "Sub", "Max"};
  const char *op = ops[below(w, quantizable ? 2 : 4)];
  for (int i = w->n - 1; i >= 0; i--) {
    if (i == from || !same_dims(&w->values[i], &w->values[from])) continue;
    fprintf(w->nodes, " v%d = %s (%s, %s)\n", w->n, op, name(a, from), name(a, i));
    add(w, w->values[from]);
    return;
  }
  if (quantizable) return;
  int channels = w->values[from].dims[1];
  int c = constant(w, w->values[from].rank == 4 ? npuc_arena_printf(a, "1,%d,1,1", channels) : npuc_arena_printf(a, "%d", channels),
                   channels, -1, 1);
  fprintf(w->nodes, " v%d = %s (%s, c%d)\n", w->n, op, name(a, from), c);
  add(w, w->values[from]);
}

static void concat(writer *w, arena *a, int from) {
  layer_value y = w->values[from];
  y.dims[1] *= 2;
  if (y.dims[1] > 24) return;
  fprintf(w->nodes, " v%d = Concat <axis = 1> (%s, %s)\n", w->n, name(a, from), name(a, from));
  add(w, y);
}

static void batchnorm(writer *w, arena *a, int from) {
  int channels = w->values[from].dims[1], c[4];
  for (int i = 0; i < 4; i++) c[i] = constant(w, npuc_arena_printf(a, "%d", channels), channels, i == 3 ? 0.5 : -0.5, 1.5);
  fprintf(w->nodes, " v%d = BatchNormalization (%s, c%d, c%d, c%d, c%d)\n", w->n, name(a, from), c[0], c[1], c[2], c[3]);
  add(w, w->values[from]);
}

static void transpose(writer *w, arena *a, int from) {
  layer_value v = w->values[from], y = {4, {v.dims[0], v.dims[1], v.dims[3], v.dims[2]}};
  fprintf(w->nodes, " v%d = Transpose <perm = [0,1,3,2]> (%s)\n", w->n, name(a, from));
  add(w, y);
}

/* Global pooling or flattening, a matrix, sometimes softmax. */
static void head(writer *w, arena *a) {
  layer_value v = w->values[w->n - 1];
  if (below(w, 2)) {
    fprintf(w->nodes, " v%d = GlobalAveragePool (%s)\n", w->n, name(a, w->n - 1));
    v.dims[2] = v.dims[3] = 1;
    add(w, v);
  }
  int features = v.dims[1] * v.dims[2] * v.dims[3], out = 2 + below(w, 9);
  fprintf(w->nodes, " v%d = Flatten <axis = 1> (%s)\n", w->n, name(a, w->n - 1));
  add(w, (layer_value){2, {v.dims[0], features}});
  int weights = constant(w, npuc_arena_printf(a, "%d,%d", out, features), out * features, -0.3, 0.3),
      bias = constant(w, npuc_arena_printf(a, "%d", out), out, -0.5, 0.5);
  fprintf(w->nodes, " v%d = Gemm <transB = 1> (%s, c%d, c%d)\n", w->n, name(a, w->n - 1), weights, bias);
  add(w, (layer_value){2, {v.dims[0], out}});
  if (below(w, 2)) return;
  fprintf(w->nodes, " v%d = Softmax <axis = -1> (%s)\n", w->n, name(a, w->n - 1));
  add(w, (layer_value){2, {v.dims[0], out}});
}

static void layer(writer *w, arena *a, bool quantizable) {
  int from = w->n - 1 - below(w, w->n < 3 ? w->n : 3); /* sometimes a branch */
  switch (below(w, 10)) {
    case 0:
    case 1:
    case 2:
      conv(w, a, from);
      return;
    case 3:
      pool(w, a, from);
      return;
    case 4:
    case 5:
      unary(w, a, from, quantizable);
      return;
    case 6:
      binary(w, a, from, quantizable);
      return;
    case 7:
      concat(w, a, from);
      return;
    case 8:
      batchnorm(w, a, from);
      return;
    default:
      if (!quantizable) transpose(w, a, from);
  }
}

char *npuc_random_graph(arena *a, uint64_t seed, int batch, bool quantizable) {
  char *constants = NULL, *nodes = NULL;
  size_t n_constants = 0, n_nodes = 0;
  writer w = {.constants = open_memstream(&constants, &n_constants), .nodes = open_memstream(&nodes, &n_nodes), .random = seed};
  if (!w.constants || !w.nodes) abort();
  layer_value x = {4, {batch, 1 + below(&w, 5), 3 + below(&w, 9), 3 + below(&w, 9)}};
  add(&w, x);
  conv(&w, a, 0); /* the last value is never the input itself */
  for (int k = 1 + below(&w, 8); k > 0 && w.n < MOST_VALUES - 4; k--) layer(&w, a, quantizable);
  if (below(&w, 2)) head(&w, a);
  fclose(w.constants);
  fclose(w.nodes);
  const layer_value *y = &w.values[w.n - 1];
  const char *dims = y->rank == 4 ? npuc_arena_printf(a, "%d,%d,%d,%d", y->dims[0], y->dims[1], y->dims[2], y->dims[3])
                                  : npuc_arena_printf(a, "%d,%d", y->dims[0], y->dims[1]);
  char *text =
      npuc_arena_printf(a, "<ir_version: 10, opset_import: [\"\" : 28]>\nmain (float[%d,%d,%d,%d] x) => (float[%s] v%d)\n<%s>\n{\n%s}\n",
                        x.dims[0], x.dims[1], x.dims[2], x.dims[3], dims, w.n - 1, constants + 1, nodes);
  free(constants);
  free(nodes);
  return text;
}
