/* SPDX-License-Identifier: Apache-2.0 */
#include "support/npu_oracle.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "npu/run.h"

/* -- interpreter -- */

typedef struct env {
  const qgraph *g;
  const qnode *n;
  uint8_t **values;
} env;

static const qtensor *tensor_in(const env *e, int i) { return &e->g->tensors[e->n->inputs[i]]; }
static const qtensor *tensor_out(const env *e) { return &e->g->tensors[e->n->outputs[0]]; }
static int64_t get(const qtensor *t, const uint8_t *bytes, int64_t i) {
  qtensor copy = *t;
  copy.data = bytes;
  return npuc_qtensor_value(&copy, i);
}
static int64_t x_at(const env *e, int input, int64_t i) { return get(tensor_in(e, input), e->values[e->n->inputs[input]], i); }
static void y_set(const env *e, int64_t i, int64_t v) { e->values[e->n->outputs[0]][i] = (uint8_t)(v & 255); }

static int64_t attribute(const env *e, qattr_key key, uint32_t i) {
  uint32_t count;
  const int64_t *values = npuc_qnode_list(e->n, key, &count);
  return i < count ? values[i] : 0;
}

static int64_t rule(const env *e, int64_t product, int64_t s) {
  int64_t y = attribute(e, QATTR_y_zero_point, 0) + ((product + (s ? (int64_t)1 << (s - 1) : 0)) >> s);
  int64_t lo = attribute(e, QATTR_lo, 0), hi = attribute(e, QATTR_hi, 0);
  return y < lo ? lo : y > hi ? hi : y;
}

static void run_conv(const env *e) {
  const qtensor *x = tensor_in(e, 0), *w = tensor_in(e, 1), *y = tensor_out(e);
  int64_t group = attribute(e, QATTR_group, 0), zp = attribute(e, QATTR_x_zero_point, 0), per_group = w->dims[0] / group;
  for (int64_t o = 0; o < y->dims[1]; o++) {
    for (int64_t oy = 0; oy < y->dims[2]; oy++) {
      for (int64_t ox = 0; ox < y->dims[3]; ox++) {
        int64_t acc = x_at(e, 2, o);
        for (int64_t c = 0; c < w->dims[1]; c++) {
          for (int64_t ky = 0; ky < w->dims[2]; ky++) {
            for (int64_t kx = 0; kx < w->dims[3]; kx++) {
              int64_t iy = oy * attribute(e, QATTR_strides, 0) - attribute(e, QATTR_pads, 0) + ky * attribute(e, QATTR_dilations, 0);
              int64_t ix = ox * attribute(e, QATTR_strides, 1) - attribute(e, QATTR_pads, 1) + kx * attribute(e, QATTR_dilations, 1);
              if (iy < 0 || iy >= x->dims[2] || ix < 0 || ix >= x->dims[3]) continue;
              int64_t channel = o / per_group * w->dims[1] + c;
              acc += (x_at(e, 0, (channel * x->dims[2] + iy) * x->dims[3] + ix) - zp) *
                     x_at(e, 1, ((o * w->dims[1] + c) * w->dims[2] + ky) * w->dims[3] + kx);
            }
          }
        }
        y_set(e, (o * y->dims[2] + oy) * y->dims[3] + ox, rule(e, acc * x_at(e, 3, o), x_at(e, 4, o)));
      }
    }
  }
}

static void run_gemm(const env *e) {
  const qtensor *w = tensor_in(e, 1);
  for (int64_t r = 0; r < tensor_out(e)->dims[0]; r++) {
    for (int64_t o = 0; o < w->dims[0]; o++) {
      int64_t acc = x_at(e, 2, o);
      for (int64_t k = 0; k < w->dims[1]; k++)
        acc += (x_at(e, 0, r * w->dims[1] + k) - attribute(e, QATTR_x_zero_point, 0)) * x_at(e, 1, o * w->dims[1] + k);
      y_set(e, r * w->dims[0] + o, rule(e, acc * x_at(e, 3, o), x_at(e, 4, o)));
    }
  }
}

/* Index into an operand that broadcasts to y. */
static int64_t broadcast_index(const qtensor *x, const qtensor *y, int64_t i) {
  int64_t index = 0, stride = 1;
  for (int32_t k = 0; k < y->rank; k++) {
    int64_t at = i % y->dims[y->rank - 1 - k];
    i /= y->dims[y->rank - 1 - k];
    if (k >= x->rank) continue;
    int64_t size = x->dims[x->rank - 1 - k];
    index += (size == 1 ? 0 : at) * stride;
    stride *= size;
  }
  return index;
}

static void run_binary(const env *e) {
  const qtensor *y = tensor_out(e);
  for (int64_t i = 0; i < npuc_qtensor_elements(y); i++) {
    int64_t a = x_at(e, 0, broadcast_index(tensor_in(e, 0), y, i)) - attribute(e, QATTR_a_zero_point, 0);
    int64_t b = x_at(e, 1, broadcast_index(tensor_in(e, 1), y, i)) - attribute(e, QATTR_b_zero_point, 0);
    if (e->n->op == QOP_QAdd)
      y_set(e, i, rule(e, a * x_at(e, 2, 0) + b * x_at(e, 3, 0), x_at(e, 4, 0)));
    else
      y_set(e, i, rule(e, a * b * x_at(e, 2, 0), x_at(e, 3, 0)));
  }
}

static void run_pool(const env *e) {
  const qtensor *x = tensor_in(e, 0), *y = tensor_out(e);
  bool global = e->n->op == QOP_QGlobalAveragePool, max = e->n->op == QOP_MaxPool;
  int64_t kh = global ? x->dims[2] : attribute(e, QATTR_kernel_shape, 0), kw = global ? x->dims[3] : attribute(e, QATTR_kernel_shape, 1);
  for (int64_t i = 0; i < npuc_qtensor_elements(y); i++) {
    int64_t ox = i % y->dims[3], oy = i / y->dims[3] % y->dims[2], c = i / y->dims[3] / y->dims[2], sum = 0, best = -1000, inside = 0,
            padded = 0;
    for (int64_t k = 0; k < kh * kw; k++) {
      int64_t iy =
          global ? k / kw : oy * attribute(e, QATTR_strides, 0) - attribute(e, QATTR_pads, 0) + k / kw * attribute(e, QATTR_dilations, 0);
      int64_t ix =
          global ? k % kw : ox * attribute(e, QATTR_strides, 1) - attribute(e, QATTR_pads, 1) + k % kw * attribute(e, QATTR_dilations, 1);
      padded += iy >= -attribute(e, QATTR_pads, 0) && iy < x->dims[2] + attribute(e, QATTR_pads, 2) && ix >= -attribute(e, QATTR_pads, 1) &&
                ix < x->dims[3] + attribute(e, QATTR_pads, 3);
      if (iy < 0 || iy >= x->dims[2] || ix < 0 || ix >= x->dims[3]) continue;
      int64_t v = x_at(e, 0, (c * x->dims[2] + iy) * x->dims[3] + ix);
      inside++;
      sum += v - attribute(e, QATTR_x_zero_point, 0);
      if (v > best) best = v;
    }
    if (max) {
      y_set(e, i, best);
      continue;
    }
    int64_t index = 0, count = attribute(e, QATTR_count_include_pad, 0) ? padded : inside;
    while (!global && x_at(e, 3, index) != count) index++;
    y_set(e, i, rule(e, sum * x_at(e, 1, index), x_at(e, 2, index)));
  }
}

static void run_softmax(const env *e) {
  const qtensor *x = tensor_in(e, 0);
  int64_t axis = attribute(e, QATTR_axis, 0), inner = 1, size;
  if (axis < 0) axis += x->rank;
  size = x->dims[axis];
  for (int32_t i = (int32_t)axis + 1; i < x->rank; i++) inner *= x->dims[i];
  for (int64_t row = 0; row < npuc_qtensor_elements(x) / size; row++) {
    int64_t base = row / inner * inner * size + row % inner, m = -1000, sum = 0, log = 0;
    for (int64_t k = 0; k < size; k++) m = x_at(e, 0, base + k * inner) > m ? x_at(e, 0, base + k * inner) : m;
    for (int64_t k = 0; k < size; k++) sum += x_at(e, 1, m - x_at(e, 0, base + k * inner));
    while (sum >> (log + 1)) log++;
    int64_t r = (((int64_t)1 << (log + 16)) + sum / 2) / sum;
    if (r > 65535) r = 65535;
    for (int64_t k = 0; k < size; k++)
      y_set(e, base + k * inner, rule(e, x_at(e, 1, m - x_at(e, 0, base + k * inner)) * r, log + 16 - x_at(e, 2, 0)));
  }
}

static void coordinates(const qtensor *t, int64_t i, int64_t out_at[8]) {
  for (int32_t k = t->rank - 1; k >= 0; k--) {
    out_at[k] = i % t->dims[k];
    i /= t->dims[k];
  }
}

static int64_t index_of(const qtensor *t, const int64_t at[8]) {
  int64_t i = 0;
  for (int32_t k = 0; k < t->rank; k++) i = i * t->dims[k] + at[k];
  return i;
}

static void run_concat(const env *e) {
  int64_t from = 0, axis = attribute(e, QATTR_axis, 0);
  for (int32_t input = 0; input < e->n->n_inputs; input++) {
    const qtensor *x = tensor_in(e, input);
    for (int64_t i = 0; i < npuc_qtensor_elements(x); i++) {
      int64_t at[8];
      coordinates(x, i, at);
      at[axis] += from;
      y_set(e, index_of(tensor_out(e), at), x_at(e, input, i));
    }
    from += x->dims[axis];
  }
}

static void run_moved(const env *e) {
  const qtensor *x = tensor_in(e, 0), *y = tensor_out(e);
  for (int64_t i = 0; i < npuc_qtensor_elements(y); i++) {
    int64_t at[8], from[8];
    bool inside = true;
    coordinates(y, i, at);
    memcpy(from, at, sizeof from);
    if (e->n->op == QOP_Slice) {
      uint32_t count;
      const int64_t *axes = npuc_qnode_list(e->n, QATTR_axes, &count);
      for (uint32_t k = 0; k < count; k++) from[axes[k]] = attribute(e, QATTR_starts, k) + at[axes[k]] * attribute(e, QATTR_steps, k);
    } else if (e->n->op == QOP_Pad) {
      for (int32_t k = 0; k < x->rank; k++) {
        from[k] = at[k] - attribute(e, QATTR_pads, (uint32_t)k);
        inside = inside && from[k] >= 0 && from[k] < x->dims[k];
      }
    } else {
      for (int32_t k = 0; k < y->rank; k++) from[attribute(e, QATTR_perm, (uint32_t)k)] = at[k];
    }
    y_set(e, i, inside ? x_at(e, 0, index_of(x, from)) : attribute(e, QATTR_value, 0));
  }
}

void npu_oracle_node(arena *a, const qgraph *g, const qnode *n, uint8_t **values) {
  for (int32_t k = 0; k < n->n_outputs; k++) values[n->outputs[k]] = npuc_arena_alloc(a, g->tensors[n->outputs[k]].bytes);
  const env e = {.g = g, .n = n, .values = values};
  switch (n->op) {
    case QOP_QConv:
      run_conv(&e);
      break;
    case QOP_QGemm:
      run_gemm(&e);
      break;
    case QOP_QAdd:
    case QOP_QMul:
      run_binary(&e);
      break;
    case QOP_Requantize:
      for (int64_t i = 0; i < npuc_qtensor_elements(tensor_out(&e)); i++)
        y_set(&e, i, rule(&e, (x_at(&e, 0, i) - attribute(&e, QATTR_x_zero_point, 0)) * x_at(&e, 1, 0), x_at(&e, 2, 0)));
      break;
    case QOP_Lookup:
      for (int64_t i = 0; i < npuc_qtensor_elements(tensor_out(&e)); i++)
        y_set(&e, i, x_at(&e, 1, x_at(&e, 0, i) + (tensor_in(&e, 0)->type == DTYPE_I8 ? 128 : 0)));
      break;
    case QOP_QAveragePool:
    case QOP_QGlobalAveragePool:
    case QOP_MaxPool:
      run_pool(&e);
      break;
    case QOP_QSoftmax:
      run_softmax(&e);
      break;
    case QOP_Concat:
      run_concat(&e);
      break;
    case QOP_Slice:
    case QOP_Pad:
    case QOP_Transpose:
      run_moved(&e);
      break;
    default:
      memcpy(values[n->outputs[0]], values[n->inputs[0]], g->tensors[n->outputs[0]].bytes);
      break;
  }
}

static uint8_t **initial_values(arena *a, const qgraph *g, const uint8_t *const *inputs) {
  uint8_t **values = NPUC_NEW_ARRAY(a, g->n_tensors, uint8_t *);
  for (size_t i = 0; i < g->n_tensors; i++) {
    if (g->tensors[i].data) values[i] = npuc_arena_copy(a, g->tensors[i].data, g->tensors[i].bytes);
  }
  for (size_t i = 0; i < g->n_inputs; i++) values[g->inputs[i]] = npuc_arena_copy(a, inputs[i], g->tensors[g->inputs[i]].bytes);
  return values;
}

uint8_t **npu_oracle_run(arena *a, const qgraph *g, const uint8_t *const *inputs) {
  uint8_t **values = initial_values(a, g, inputs);
  for (size_t i = 0; i < g->n_nodes; i++) npu_oracle_node(a, g, &g->nodes[i], values);
  return values;
}

/* -- programs -- */

static uint64_t run_stream(arena *a, const qgraph *g, const npu_program *p, const npu_stream *s, uint64_t seed, uint8_t **values) {
  for (size_t i = 0; i < s->n_bindings; i++) {
    if (s->bindings[i].is_output) values[s->bindings[i].tensor] = npuc_arena_alloc(a, g->tensors[s->bindings[i].tensor].bytes);
  }
  diag *d = npuc_diag_create(NULL, NULL);
  npu_sim_result result = {0};
  void **tensors = NPUC_NEW_ARRAY(a, g->n_tensors, void *);
  for (size_t i = 0; i < g->n_tensors; i++) tensors[i] = values[i];
  npuc_status status = npuc_npu_run_stream(d, p, s, tensors, NULL, &(npu_sim_options){.shuffle_seed = seed}, &result);
  if (status != NPUC_OK) fprintf(stderr, "simulate: %s\n", npuc_diag_first_error(d)->reason);
  npuc_diag_destroy(d);
  return status == NPUC_OK ? result.cycles : UINT64_MAX;
}

uint64_t npu_program_run(arena *a, const qgraph *g, const npu_program *p, const uint8_t *const *inputs, uint64_t seed, uint8_t **values) {
  uint8_t **initial = initial_values(a, g, inputs);
  memcpy(values, initial, g->n_tensors * sizeof *values);
  uint64_t cycles = 0;
  for (size_t i = 0; i < p->n_steps; i++) {
    const npu_step *step = &p->steps[i];
    if (step->on_npu) {
      uint64_t more = run_stream(a, g, p, &p->streams[step->stream], seed, values);
      if (more == UINT64_MAX) return more;
      cycles += more;
    } else {
      for (uint32_t k = 0; k < step->n_nodes; k++) npu_oracle_node(a, g, &g->nodes[step->first_node + k], values);
    }
  }
  return cycles;
}

/* -- builder -- */

net npu_net_create(arena *a, uint64_t seed, bool s8) { return (net){.a = a, .g = npuc_qgraph_create(a), .random = seed * 2 + 1, .s8 = s8}; }

int64_t npu_net_random(net *b, int64_t lo, int64_t hi) {
  b->random = b->random * 6364136223846793005u + 1442695040888963407u;
  return lo + (int64_t)((b->random >> 33) % (uint64_t)(hi - lo + 1));
}

static int32_t add_tensor(net *b, dtype type, int32_t rank, const int64_t *dims, const void *data) {
  qtensor t = {.name = npuc_arena_printf(b->a, "t%zu", b->g->n_tensors),
               .type = type,
               .rank = rank,
               .data = data,
               .role = data ? QROLE_CONSTANT : QROLE_ACTIVATION};
  memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
  return npuc_qgraph_add_tensor(b->g, &t);
}

static dtype feature_type(const net *b) { return b->s8 ? DTYPE_I8 : DTYPE_U8; }
/* Near the middle, so that values stay alive through many layers. */
static int64_t random_zero_point(net *b) { return (b->s8 ? 0 : 128) + npu_net_random(b, -40, 40); }

int32_t npu_net_input(net *b, int32_t rank, const int64_t *dims) {
  int32_t t = add_tensor(b, feature_type(b), rank, dims, NULL);
  b->g->tensors[t].role = QROLE_INPUT;
  npuc_qgraph_add_input(b->g, t);
  return t;
}

static int32_t constant_bytes(net *b, dtype type, int32_t rank, const int64_t *dims, int64_t lo, int64_t hi) {
  int64_t count = 1;
  for (int32_t i = 0; i < rank; i++) count *= dims[i];
  uint8_t *data = npuc_arena_alloc(b->a, (size_t)count);
  for (int64_t i = 0; i < count; i++) data[i] = (uint8_t)npu_net_random(b, lo, hi);
  return add_tensor(b, type, rank, dims, data);
}

static int32_t constant_i32(net *b, int64_t count, int64_t lo, int64_t hi) {
  int32_t *data = npuc_arena_alloc(b->a, (size_t)count * sizeof *data);
  for (int64_t i = 0; i < count; i++) data[i] = (int32_t)npu_net_random(b, lo, hi);
  return add_tensor(b, DTYPE_I32, 1, &count, data);
}

/* Keys and values in pairs for lists of one; longer lists are given apart. */
typedef struct attributes {
  qattr items[16];
  int32_t count;
} attributes;

static void set(net *b, attributes *t, qattr_key key, uint32_t count, const int64_t *values) {
  t->items[t->count++] = (qattr){.key = key, .count = count, .values = npuc_arena_copy(b->a, values, count * sizeof *values)};
}
static void set1(net *b, attributes *t, qattr_key key, int64_t value) { set(b, t, key, 1, &value); }

static void set_clamp(net *b, attributes *t) {
  int64_t zp = random_zero_point(b);
  set1(b, t, QATTR_y_zero_point, zp);
  bool relu = npu_net_random(b, 0, 7) == 0;
  set1(b, t, QATTR_lo, relu ? zp : b->s8 ? -128 : 0);
  set1(b, t, QATTR_hi, b->s8 ? 127 : 255);
}

static int32_t add_node(net *b, qop op, const int32_t *inputs, int32_t n_inputs, int32_t output, const attributes *t) {
  qnode n = {.op = op,
             .name = npuc_arena_printf(b->a, "n%zu", b->g->n_nodes),
             .inputs = inputs,
             .n_inputs = n_inputs,
             .outputs = &output,
             .n_outputs = 1,
             .attributes = t->items,
             .n_attributes = t->count};
  npuc_qgraph_add_node(b->g, &n);
  return output;
}

/* A shift that keeps outputs of about `terms` random products in range. */
static int64_t shift_for(int64_t terms) {
  int64_t bits = 0;
  while (terms >> bits) bits++;
  return 14 + 6 + bits / 2;
}

static void set_window(net *b, attributes *t, int64_t stride, int64_t pad, int64_t dilation) {
  set(b, t, QATTR_strides, 2, (int64_t[]){stride, stride});
  set(b, t, QATTR_pads, 4, (int64_t[]){pad, pad, pad, pad});
  set(b, t, QATTR_dilations, 2, (int64_t[]){dilation, dilation});
}

static int64_t window_size(int64_t size, int64_t k, int64_t stride, int64_t pad, int64_t dilation) {
  return (size + 2 * pad - dilation * (k - 1) - 1) / stride + 1;
}

int32_t npu_net_conv(net *b, int32_t x, int64_t outputs, int64_t k, int64_t stride, int64_t pad, int64_t group, int64_t dilation) {
  const qtensor t = b->g->tensors[x];
  int64_t per_group = t.dims[1] / group, shift = shift_for(per_group * k * k);
  attributes at = {0};
  set_window(b, &at, stride, pad, dilation);
  set1(b, &at, QATTR_group, group);
  set1(b, &at, QATTR_x_zero_point, random_zero_point(b));
  set_clamp(b, &at);
  int32_t inputs[5] = {x, constant_bytes(b, DTYPE_I8, 4, (int64_t[]){outputs, per_group, k, k}, -127, 127),
                       constant_i32(b, outputs, -3000, 3000), constant_i32(b, outputs, 1 << 14, (1 << 15) - 1),
                       constant_bytes(b, DTYPE_U8, 1, &outputs, shift - 1, shift + 1)};
  int32_t y = add_tensor(
      b, feature_type(b), 4,
      (int64_t[]){1, outputs, window_size(t.dims[2], k, stride, pad, dilation), window_size(t.dims[3], k, stride, pad, dilation)}, NULL);
  return add_node(b, QOP_QConv, inputs, 5, y, &at);
}

int32_t npu_net_gemm(net *b, int32_t x, int64_t outputs) {
  const qtensor t = b->g->tensors[x];
  int64_t shift = shift_for(t.dims[1]);
  attributes at = {0};
  set1(b, &at, QATTR_x_zero_point, random_zero_point(b));
  set_clamp(b, &at);
  int32_t inputs[5] = {x, constant_bytes(b, DTYPE_I8, 2, (int64_t[]){outputs, t.dims[1]}, -127, 127), constant_i32(b, outputs, -3000, 3000),
                       constant_i32(b, outputs, -(1 << 15) + 1, (1 << 15) - 1),
                       constant_bytes(b, DTYPE_U8, 1, &outputs, shift - 1, shift + 1)};
  int32_t y = add_tensor(b, feature_type(b), 2, (int64_t[]){t.dims[0], outputs}, NULL);
  return add_node(b, QOP_QGemm, inputs, 5, y, &at);
}

static int32_t binary(net *b, qop op, int32_t x, int32_t y, int64_t shift) {
  const int64_t one = 1;
  const qtensor *tx = &b->g->tensors[x], *ty = &b->g->tensors[y];
  const qtensor big = npuc_qtensor_elements(tx) >= npuc_qtensor_elements(ty) ? *tx : *ty;
  attributes at = {0};
  set1(b, &at, QATTR_a_zero_point, random_zero_point(b));
  set1(b, &at, QATTR_b_zero_point, random_zero_point(b));
  set_clamp(b, &at);
  int32_t inputs[5] = {x, y};
  int32_t n = 2;
  inputs[n++] = constant_i32(b, 1, 1 << 14, 32767);
  if (op == QOP_QAdd) inputs[n++] = constant_i32(b, 1, -32767, -(1 << 13));
  inputs[n++] = constant_bytes(b, DTYPE_U8, 1, &one, shift, shift + 1);
  int32_t out = add_tensor(b, feature_type(b), big.rank, big.dims, NULL);
  return add_node(b, op, inputs, n, out, &at);
}

int32_t npu_net_add(net *b, int32_t x, int32_t y) { return binary(b, QOP_QAdd, x, y, 15); }
int32_t npu_net_mul(net *b, int32_t x, int32_t y) { return binary(b, QOP_QMul, x, y, 19); }

static int32_t scaled(net *b, qop op, int32_t x, int32_t y, int64_t shift) {
  const int64_t one = 1;
  attributes at = {0};
  set1(b, &at, QATTR_x_zero_point, random_zero_point(b));
  set_clamp(b, &at);
  int32_t inputs[3] = {x, constant_i32(b, 1, 1 << 14, (1 << 15) - 1), constant_bytes(b, DTYPE_U8, 1, &one, shift, shift)};
  return add_node(b, op, inputs, 3, y, &at);
}

int32_t npu_net_requantize(net *b, int32_t x) {
  const qtensor t = b->g->tensors[x];
  return scaled(b, QOP_Requantize, x, add_tensor(b, feature_type(b), t.rank, t.dims, NULL), 14);
}

int32_t npu_net_global(net *b, int32_t x) {
  const qtensor t = b->g->tensors[x];
  int64_t bits = 0;
  while (t.dims[2] * t.dims[3] >> (bits + 1)) bits++;
  return scaled(b, QOP_QGlobalAveragePool, x, add_tensor(b, feature_type(b), 4, (int64_t[]){1, t.dims[1], 1, 1}, NULL), 15 + bits);
}

int32_t npu_net_lookup(net *b, int32_t x) {
  const qtensor t = b->g->tensors[x];
  const int64_t entries = 256;
  int32_t inputs[2] = {x, constant_bytes(b, feature_type(b), 1, &entries, 0, 255)};
  attributes at = {0};
  return add_node(b, QOP_Lookup, inputs, 2, add_tensor(b, feature_type(b), t.rank, t.dims, NULL), &at);
}

static void set_pool(net *b, attributes *at, int64_t k, int64_t stride, int64_t pad) {
  set(b, at, QATTR_kernel_shape, 2, (int64_t[]){k, k});
  set_window(b, at, stride, pad, 1);
  set1(b, at, QATTR_ceil_mode, 0);
}

int32_t npu_net_average(net *b, int32_t x, int64_t k, int64_t stride, int64_t pad, bool include_pad) {
  const qtensor t = b->g->tensors[x];
  attributes at = {0};
  set_pool(b, &at, k, stride, pad);
  set1(b, &at, QATTR_count_include_pad, include_pad);
  set1(b, &at, QATTR_x_zero_point, random_zero_point(b));
  set_clamp(b, &at);
  /* Every count that could occur gets an entry. */
  int64_t n = k * k, bits = 0;
  while (n >> (bits + 1)) bits++;
  int32_t *counts = npuc_arena_alloc(b->a, (size_t)n * sizeof *counts);
  for (int64_t i = 0; i < n; i++) counts[i] = (int32_t)i + 1;
  int32_t inputs[4] = {x, constant_i32(b, n, 1 << 14, (1 << 15) - 1), constant_bytes(b, DTYPE_U8, 1, &n, 15 + bits, 15 + bits),
                       add_tensor(b, DTYPE_I32, 1, &n, counts)};
  int32_t y =
      add_tensor(b, feature_type(b), 4,
                 (int64_t[]){1, t.dims[1], window_size(t.dims[2], k, stride, pad, 1), window_size(t.dims[3], k, stride, pad, 1)}, NULL);
  return add_node(b, QOP_QAveragePool, inputs, 4, y, &at);
}

int32_t npu_net_max(net *b, int32_t x, int64_t k, int64_t stride, int64_t pad) {
  const qtensor t = b->g->tensors[x];
  attributes at = {0};
  set_pool(b, &at, k, stride, pad);
  int32_t y =
      add_tensor(b, feature_type(b), 4,
                 (int64_t[]){1, t.dims[1], window_size(t.dims[2], k, stride, pad, 1), window_size(t.dims[3], k, stride, pad, 1)}, NULL);
  return add_node(b, QOP_MaxPool, &x, 1, y, &at);
}

int32_t npu_net_flatten(net *b, int32_t x) {
  const qtensor t = b->g->tensors[x];
  attributes at = {0};
  set1(b, &at, QATTR_axis, 1);
  return add_node(b, QOP_Flatten, &x, 1, add_tensor(b, feature_type(b), 2, (int64_t[]){1, npuc_qtensor_elements(&t)}, NULL), &at);
}

int32_t npu_net_softmax(net *b, int32_t x) {
  const qtensor t = b->g->tensors[x];
  const int64_t entries = 256, one = 1;
  uint16_t *table = npuc_arena_alloc(b->a, 512);
  int32_t *scale = npuc_arena_alloc(b->a, sizeof *scale);
  *scale = 8;
  for (int64_t i = 0; i < entries; i++) table[i] = (uint16_t)(i ? table[i - 1] * 15 / 16 : 65535);
  attributes at = {0};
  set1(b, &at, QATTR_axis, 1);
  set1(b, &at, QATTR_y_zero_point, b->s8 ? -128 : 0);
  set1(b, &at, QATTR_lo, b->s8 ? -128 : 0);
  set1(b, &at, QATTR_hi, b->s8 ? 127 : 255);
  int32_t inputs[3] = {x, add_tensor(b, DTYPE_U16, 1, &entries, table), add_tensor(b, DTYPE_I32, 1, &one, scale)};
  return add_node(b, QOP_QSoftmax, inputs, 3, add_tensor(b, feature_type(b), t.rank, t.dims, NULL), &at);
}

int32_t npu_net_concat(net *b, int32_t x, int32_t y, int64_t axis) {
  qtensor t = b->g->tensors[x];
  t.dims[axis] += b->g->tensors[y].dims[axis];
  attributes at = {0};
  set1(b, &at, QATTR_axis, axis);
  return add_node(b, QOP_Concat, (int32_t[]){x, y}, 2, add_tensor(b, feature_type(b), t.rank, t.dims, NULL), &at);
}

int32_t npu_net_slice(net *b, int32_t x, const int64_t starts[4], const int64_t counts[4], const int64_t steps[4]) {
  attributes at = {0};
  int64_t ends[4];
  for (int i = 0; i < 4; i++) ends[i] = starts[i] + (counts[i] - 1) * steps[i] + 1;
  set(b, &at, QATTR_starts, 4, starts);
  set(b, &at, QATTR_ends, 4, ends);
  set(b, &at, QATTR_axes, 4, (int64_t[]){0, 1, 2, 3});
  set(b, &at, QATTR_steps, 4, steps);
  return add_node(b, QOP_Slice, &x, 1, add_tensor(b, feature_type(b), 4, counts, NULL), &at);
}

int32_t npu_net_pad(net *b, int32_t x, const int64_t pads[8]) {
  qtensor t = b->g->tensors[x];
  attributes at = {0};
  for (int i = 0; i < 4; i++) t.dims[i] += pads[i] + pads[4 + i];
  set(b, &at, QATTR_pads, 8, pads);
  set1(b, &at, QATTR_value, random_zero_point(b));
  return add_node(b, QOP_Pad, &x, 1, add_tensor(b, feature_type(b), 4, t.dims, NULL), &at);
}

int32_t npu_net_transpose_hw(net *b, int32_t x) {
  const qtensor t = b->g->tensors[x];
  attributes at = {0};
  set(b, &at, QATTR_perm, 4, (int64_t[]){0, 1, 3, 2});
  return add_node(b, QOP_Transpose, &x, 1, add_tensor(b, feature_type(b), 4, (int64_t[]){1, t.dims[1], t.dims[3], t.dims[2]}, NULL), &at);
}

void npu_net_output(net *b, int32_t tensor) {
  b->g->tensors[tensor].role = QROLE_OUTPUT;
  npuc_qgraph_add_output(b->g, tensor);
}

void npu_net_resnet20(net *b) {
  int32_t x = npu_net_conv(b, npu_net_input(b, 4, (int64_t[]){1, 3, 32, 32}), 16, 3, 1, 1, 1, 1);
  for (int stage = 0; stage < 3; stage++) {
    int64_t channels = 16 << stage;
    for (int block = 0; block < 3; block++) {
      bool down = stage > 0 && block == 0;
      int32_t y = npu_net_conv(b, x, channels, 3, down ? 2 : 1, 1, 1, 1);
      y = npu_net_conv(b, y, channels, 3, 1, 1, 1, 1);
      if (down) {
        int64_t size = 32 >> stage;
        x = npu_net_slice(b, x, (int64_t[]){0, 0, 0, 0}, (int64_t[]){1, channels / 2, size, size}, (int64_t[]){1, 1, 2, 2});
        x = npu_net_pad(b, x, (int64_t[]){0, channels / 4, 0, 0, 0, channels / 4, 0, 0});
      }
      x = npu_net_add(b, y, x);
    }
  }
  npu_net_output(b, npu_net_gemm(b, npu_net_flatten(b, npu_net_average(b, x, 8, 8, 0, true)), 10));
}
