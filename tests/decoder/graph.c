/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, attributes, and the operators that compute element by element or by products. */
#include "graph.h"

#include "fail.h"
#include "machine.h"

#include <stdlib.h>
#include <string.h>

host_tensor *decoder_tensors_create(const npu_file *file) {
  const uint64_t count = file->section[TENS].records;
  host_tensor *tensors = decoder_alloc(count, sizeof tensors[0]);
  for (uint32_t i = 0; i < count; i++) {
    host_tensor *t = &tensors[i];
    t->record = decoder_tensor(file, i);
    t->name = decoder_string(file, t->record.name);
    t->elements = t->record.bytes / decoder_element_bytes(t->record.dtype);
    t->owned = t->record.role != 1;
    t->data = t->owned ? decoder_alloc(t->record.bytes, 1) : file->data + (file->section[WGTS].data - file->data) + t->record.offset;
  }
  return tensors;
}

void decoder_tensors_destroy(const npu_file *file, host_tensor *tensors) {
  for (uint32_t i = 0; i < file->section[TENS].records; i++)
    if (tensors[i].owned) free(tensors[i].data);
  free(tensors);
}

_Noreturn void decoder_node_fail(const node_view *n, const char *why) {
  decoder_fail(EXIT_FILE, "node %s (operator %u): %s", n->name, n->record.op, why);
}

void decoder_node_require(const node_view *n, bool holds, const char *why) {
  if (!holds) decoder_node_fail(n, why);
}

const host_tensor *decoder_node_input(const node_view *n, uint32_t i) {
  decoder_node_require(n, i < n->inputs, "an input is missing");
  const int64_t t = decoder_int(n->file, n->record.inputs, i);
  decoder_node_require(n, t >= 0, "an input is omitted");
  return &n->tensors[t];
}

host_tensor *decoder_node_output(const node_view *n, uint32_t i) {
  decoder_node_require(n, i < n->outputs, "an output is missing");
  return &n->tensors[decoder_int(n->file, n->record.outputs, i)];
}

static span attribute(const node_view *n, uint32_t key) {
  for (uint32_t i = 0; i < n->record.attributes.count; i++) {
    const uint8_t *r = decoder_record(n->file, ATTR, (uint64_t)n->record.attributes.first + i);
    if (decoder_u32(r) == key) return (span){decoder_u32(r + 8), decoder_u32(r + 12)};
  }
  decoder_fail(EXIT_FILE, "node %s: attribute %u is missing", n->name, key);
}

int64_t decoder_attribute(const node_view *n, uint32_t key, uint32_t i) { return decoder_int(n->file, attribute(n, key), i); }

uint32_t decoder_attribute_count(const node_view *n, uint32_t key) { return attribute(n, key).count; }

int64_t decoder_axis(const node_view *n, int64_t axis, unsigned rank) {
  axis = axis < 0 ? axis + rank : axis;
  decoder_node_require(n, axis >= 0 && axis < rank, "axis");
  return axis;
}

static uint64_t width_mask(unsigned bytes) { return bytes == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * bytes)) - 1; }

int64_t decoder_load(const host_tensor *t, uint64_t i) {
  const unsigned bytes = decoder_element_bytes(t->record.dtype);
  if (i >= t->elements || t->record.dtype == 1)
    decoder_fail(EXIT_FILE, "tensor %s: element %llu is no integer of it", t->name, (unsigned long long)i);
  uint64_t value = 0;
  for (unsigned k = 0; k < bytes; k++) value |= (uint64_t)t->data[i * bytes + k] << (8 * k);
  const bool is_unsigned = t->record.dtype == 2 || t->record.dtype == 4;
  if (!is_unsigned && value >> (8 * bytes - 1)) value |= ~width_mask(bytes);
  return (int64_t)value;
}

void decoder_store(host_tensor *t, uint64_t i, int64_t value) {
  const unsigned bytes = decoder_element_bytes(t->record.dtype);
  if (i >= t->elements) decoder_fail(EXIT_FILE, "tensor %s: element %llu is beyond its end", t->name, (unsigned long long)i);
  for (unsigned k = 0; k < bytes; k++) t->data[i * bytes + k] = (uint8_t)((uint64_t)value >> (8 * k) & 255);
}

node_rule decoder_node_rule(const node_view *n) {
  const node_rule rule = {decoder_attribute(n, KEY_Y_ZERO_POINT, 0), decoder_attribute(n, KEY_LO, 0), decoder_attribute(n, KEY_HI, 0)};
  decoder_node_require(n, rule.lo <= rule.hi, "lo is above hi");
  return rule;
}

int64_t decoder_node_apply(const node_view *n, node_rule rule, int64_t t, int64_t m, int64_t s) {
  decoder_node_require(n, s >= 0 && s <= 62, "a shift outside 0..62");
  const int64_t y = rule.zp + decoder_shift_round((__int128)t * m, (unsigned)s);
  return y < rule.lo ? rule.lo : y > rule.hi ? rule.hi : y;
}

static void convolve(const node_view *n) {
  const host_tensor *x = decoder_node_input(n, 0);
  const host_tensor *w = decoder_node_input(n, 1);
  const host_tensor *bias = decoder_node_input(n, 2);
  const host_tensor *m = decoder_node_input(n, 3);
  const host_tensor *s = decoder_node_input(n, 4);
  host_tensor *y = decoder_node_output(n, 0);
  decoder_node_require(n, x->record.rank == 4 && w->record.rank == 4, "rank other than 4");
  const int64_t kh = w->record.dims[2];
  const int64_t kw = w->record.dims[3];
  const window g = decoder_window(n, x, kh, kw);
  const int64_t out_channels = w->record.dims[0];
  const int64_t group_in = w->record.dims[1];
  const int64_t groups = decoder_attribute(n, KEY_GROUP, 0);
  decoder_node_require(n, groups >= 1 && group_in * groups == g.channels && out_channels % groups == 0, "group");
  decoder_node_require(n, (int64_t)y->elements == g.images * out_channels * g.out_height * g.out_width, "the output's size");
  const int64_t x_zp = decoder_attribute(n, KEY_X_ZERO_POINT, 0);
  const node_rule rule = decoder_node_rule(n);
  for (int64_t map = 0; map < g.images * out_channels; map++) {
    const int64_t image = map / out_channels;
    const int64_t o = map % out_channels;
    for (int64_t p = 0; p < g.out_height * g.out_width; p++) {
      int64_t sum = decoder_load(bias, (uint64_t)o);
      for (int64_t k = 0; k < kh * kw; k++) {
        const int64_t row = p / g.out_width * g.stride[0] - g.pad[0] + k / kw * g.dilation[0];
        const int64_t column = p % g.out_width * g.stride[1] - g.pad[1] + k % kw * g.dilation[1];
        if (row < 0 || row >= g.height || column < 0 || column >= g.width) continue;
        for (int64_t c = 0; c < group_in; c++) {
          const int64_t channel = image * g.channels + o / (out_channels / groups) * group_in + c;
          const int64_t v = decoder_load(x, (uint64_t)((channel * g.height + row) * g.width + column)) - x_zp;
          sum += v * decoder_load(w, (uint64_t)((o * group_in + c) * kh * kw + k));
        }
      }
      const int64_t value = decoder_node_apply(n, rule, sum, decoder_load(m, (uint64_t)o), decoder_load(s, (uint64_t)o));
      decoder_store(y, (uint64_t)(map * g.out_height * g.out_width + p), value);
    }
  }
}

static void multiply_matrix(const node_view *n) {
  const host_tensor *x = decoder_node_input(n, 0);
  const host_tensor *w = decoder_node_input(n, 1);
  decoder_node_require(n, w->record.rank == 2 && x->record.rank == 2, "a rank other than 2");
  const uint64_t outputs = (uint64_t)w->record.dims[0];
  const uint64_t depth = (uint64_t)w->record.dims[1];
  decoder_node_require(n, x->elements % depth == 0, "x and w do not fit");
  const int64_t x_zp = decoder_attribute(n, KEY_X_ZERO_POINT, 0);
  const node_rule rule = decoder_node_rule(n);
  for (uint64_t r = 0; r < x->elements / depth; r++)
    for (uint64_t o = 0; o < outputs; o++) {
      int64_t sum = decoder_load(decoder_node_input(n, 2), o);
      for (uint64_t k = 0; k < depth; k++) sum += (decoder_load(x, r * depth + k) - x_zp) * decoder_load(w, o * depth + k);
      const int64_t m = decoder_load(decoder_node_input(n, 3), o);
      decoder_store(decoder_node_output(n, 0), r * outputs + o,
                    decoder_node_apply(n, rule, sum, m, decoder_load(decoder_node_input(n, 4), o)));
    }
}

/* Which element of `from` numpy's broadcasting puts at element i of `to`. */
static uint64_t broadcast_index(const host_tensor *from, const host_tensor *to, uint64_t i) {
  uint64_t index = 0;
  uint64_t step = 1;
  for (unsigned k = 1; k <= to->record.rank; k++) {
    const uint64_t dim = (uint64_t)to->record.dims[to->record.rank - k];
    const uint64_t at = i % dim;
    i /= dim;
    if (k > from->record.rank) continue;
    const uint64_t own = (uint64_t)from->record.dims[from->record.rank - k];
    index += own == 1 ? 0 : at * step;
    step *= own;
  }
  return index;
}

static void combine(const node_view *n) {
  const host_tensor *a = decoder_node_input(n, 0);
  const host_tensor *b = decoder_node_input(n, 1);
  host_tensor *y = decoder_node_output(n, 0);
  const node_rule rule = decoder_node_rule(n);
  const bool adds = n->record.op == Q_ADD;
  const int64_t m = decoder_load(decoder_node_input(n, 2), 0);
  const int64_t mb = adds ? decoder_load(decoder_node_input(n, 3), 0) : 0;
  const int64_t s = decoder_load(decoder_node_input(n, adds ? 4 : 3), 0);
  for (uint64_t i = 0; i < y->elements; i++) {
    const int64_t va = decoder_load(a, broadcast_index(a, y, i)) - decoder_attribute(n, KEY_A_ZERO_POINT, 0);
    const int64_t vb = decoder_load(b, broadcast_index(b, y, i)) - decoder_attribute(n, KEY_B_ZERO_POINT, 0);
    decoder_store(y, i, adds ? decoder_node_apply(n, rule, va * m + vb * mb, 1, s) : decoder_node_apply(n, rule, va * vb, m, s));
  }
}

static void requantize(const node_view *n) {
  const host_tensor *x = decoder_node_input(n, 0);
  const int64_t m = decoder_load(decoder_node_input(n, 1), 0);
  const int64_t s = decoder_load(decoder_node_input(n, 2), 0);
  const int64_t x_zp = decoder_attribute(n, KEY_X_ZERO_POINT, 0);
  for (uint64_t i = 0; i < x->elements; i++)
    decoder_store(decoder_node_output(n, 0), i, decoder_node_apply(n, decoder_node_rule(n), decoder_load(x, i) - x_zp, m, s));
}

static void look_up(const node_view *n) {
  const host_tensor *x = decoder_node_input(n, 0);
  decoder_node_require(n, x->record.dtype == 2 || x->record.dtype == 3, "x is not of 8 bits");
  for (uint64_t i = 0; i < x->elements; i++) {
    const int64_t index = decoder_load(x, i) + (x->record.dtype == 3 ? 128 : 0);
    decoder_store(decoder_node_output(n, 0), i, decoder_load(decoder_node_input(n, 1), (uint64_t)index));
  }
}

void decoder_node_run(const npu_file *file, uint32_t index, host_tensor *tensors) {
  const node_record record = decoder_node(file, index);
  const node_view n = {.file = file,
                       .record = record,
                       .name = decoder_string(file, record.name),
                       .tensors = tensors,
                       .inputs = record.inputs.count,
                       .outputs = record.outputs.count};
  switch (record.op) {
    case Q_CONV:
      convolve(&n);
      break;
    case Q_GEMM:
      multiply_matrix(&n);
      break;
    case Q_ADD:
    case Q_MUL:
      combine(&n);
      break;
    case Q_REQUANTIZE:
      requantize(&n);
      break;
    case Q_LOOKUP:
      look_up(&n);
      break;
    case Q_AVERAGE_POOL:
    case Q_GLOBAL_AVERAGE_POOL:
    case Q_MAX_POOL:
      decoder_node_pool(&n);
      break;
    case Q_SOFTMAX:
    case Q_LOG_SOFTMAX:
      decoder_node_softmax(&n);
      break;
    case Q_NORMALIZE:
      decoder_node_normalize(&n);
      break;
    default:
      decoder_node_move(&n);
      break;
  }
}
