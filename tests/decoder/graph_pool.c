/* SPDX-License-Identifier: Apache-2.0 */
/* Windows, pools and softmax. */
#include "graph.h"

static int64_t output_size(const node_view *n, int64_t size, int64_t kernel, const window *g, unsigned k, bool ceil_mode) {
  const int64_t room = size + g->pad[k] + g->pad[k + 2] - g->dilation[k] * (kernel - 1) - 1;
  decoder_node_require(n, room >= 0, "the window is larger than the padded image");
  if (!ceil_mode) return room / g->stride[k] + 1;
  int64_t count = (room + g->stride[k] - 1) / g->stride[k] + 1;
  if ((count - 1) * g->stride[k] >= size + g->pad[k]) count--;
  return count;
}

window decoder_window(const node_view *n, const host_tensor *x, int64_t kernel_height, int64_t kernel_width) {
  decoder_node_require(n, x->record.rank == 4, "x is not [R, C, H, W]");
  window g = {.images = x->record.dims[0],
              .channels = x->record.dims[1],
              .height = x->record.dims[2],
              .width = x->record.dims[3],
              .kernel = {kernel_height, kernel_width}};
  const bool ceil_mode = n->record.op != Q_CONV && decoder_attribute(n, KEY_CEIL_MODE, 0) != 0;
  for (unsigned k = 0; k < 2; k++) {
    g.stride[k] = decoder_attribute(n, KEY_STRIDES, k);
    g.dilation[k] = decoder_attribute(n, KEY_DILATIONS, k);
    decoder_node_require(n, g.stride[k] >= 1 && g.dilation[k] >= 1 && g.kernel[k] >= 1, "strides, dilations or kernel");
  }
  for (unsigned k = 0; k < 4; k++) {
    g.pad[k] = decoder_attribute(n, KEY_PADS, k);
    decoder_node_require(n, g.pad[k] >= 0, "negative pads");
  }
  g.out_height = output_size(n, g.height, kernel_height, &g, 0, ceil_mode);
  g.out_width = output_size(n, g.width, kernel_width, &g, 1, ceil_mode);
  return g;
}

typedef struct window_result {
  int64_t sum, max, inside, padded; /* cells inside the image, inside the padded image */
} window_result;

static window_result walk(const window *g, const host_tensor *x, int64_t zp, int64_t channel, int64_t oy, int64_t ox) {
  window_result r = {.max = INT64_MIN};
  for (int64_t k = 0; k < g->kernel[0] * g->kernel[1]; k++) {
    const int64_t y = oy * g->stride[0] - g->pad[0] + k / g->kernel[1] * g->dilation[0];
    const int64_t column = ox * g->stride[1] - g->pad[1] + k % g->kernel[1] * g->dilation[1];
    r.padded += y < g->height + g->pad[2] && column < g->width + g->pad[3];
    if (y < 0 || y >= g->height || column < 0 || column >= g->width) continue;
    const int64_t v = decoder_load(x, (uint64_t)((channel * g->height + y) * g->width + column));
    r.inside++;
    r.sum += v - zp;
    r.max = v > r.max ? v : r.max;
  }
  return r;
}

/* RULE with the multiplier that belongs to the window's count. */
static int64_t average(const node_view *n, window_result r) {
  const int64_t count = decoder_attribute(n, KEY_COUNT_INCLUDE_PAD, 0) ? r.padded : r.inside;
  const host_tensor *counts = decoder_node_input(n, 3);
  for (uint64_t i = 0; i < counts->elements; i++)
    if (decoder_load(counts, i) == count)
      return decoder_node_apply(n, decoder_node_rule(n), r.sum, decoder_load(decoder_node_input(n, 1), i),
                                decoder_load(decoder_node_input(n, 2), i));
  decoder_node_fail(n, "a window has a count that `counts` does not hold");
}

static void pool_all(const node_view *n) {
  const host_tensor *x = decoder_node_input(n, 0);
  host_tensor *y = decoder_node_output(n, 0);
  decoder_node_require(n, x->record.rank >= 2 && x->elements % y->elements == 0, "x and y do not fit");
  const uint64_t pixels = x->elements / y->elements;
  const int64_t zp = decoder_attribute(n, KEY_X_ZERO_POINT, 0);
  for (uint64_t c = 0; c < y->elements; c++) {
    int64_t sum = 0;
    for (uint64_t i = 0; i < pixels; i++) sum += decoder_load(x, c * pixels + i) - zp;
    decoder_store(y, c,
                  decoder_node_apply(n, decoder_node_rule(n), sum, decoder_load(decoder_node_input(n, 1), 0),
                                     decoder_load(decoder_node_input(n, 2), 0)));
  }
}

void decoder_node_pool(const node_view *n) {
  if (n->record.op == Q_GLOBAL_AVERAGE_POOL) {
    pool_all(n);
    return;
  }
  const host_tensor *x = decoder_node_input(n, 0);
  host_tensor *y = decoder_node_output(n, 0);
  const window g = decoder_window(n, x, decoder_attribute(n, KEY_KERNEL_SHAPE, 0), decoder_attribute(n, KEY_KERNEL_SHAPE, 1));
  const bool is_max = n->record.op == Q_MAX_POOL;
  const int64_t least = x->record.dtype == 3 ? -128 : 0; /* of a window without a pixel */
  const int64_t zp = is_max ? 0 : decoder_attribute(n, KEY_X_ZERO_POINT, 0);
  decoder_node_require(n, (int64_t)y->elements == g.images * g.channels * g.out_height * g.out_width, "the output's size");
  for (uint64_t i = 0; i < y->elements; i++) {
    const int64_t p = (int64_t)i % (g.out_height * g.out_width);
    const window_result r = walk(&g, x, zp, (int64_t)i / (g.out_height * g.out_width), p / g.out_width, p % g.out_width);
    decoder_store(y, i, !is_max ? average(n, r) : r.inside > 0 ? r.max : least);
  }
}

/* One line along the axis: elements start, start + step, ... */
static void softmax_line(const node_view *n, uint64_t start, uint64_t step, uint64_t length) {
  const host_tensor *x = decoder_node_input(n, 0);
  const host_tensor *table = decoder_node_input(n, 1);
  host_tensor *y = decoder_node_output(n, 0);
  const node_rule rule = decoder_node_rule(n);
  int64_t max = INT64_MIN;
  for (uint64_t i = 0; i < length; i++) max = decoder_load(x, start + i * step) > max ? decoder_load(x, start + i * step) : max;
  int64_t sum = 0;
  for (uint64_t i = 0; i < length; i++) sum += decoder_load(table, (uint64_t)(max - decoder_load(x, start + i * step)));
  decoder_node_require(n, sum >= 1 && sum <= (int64_t)1 << 46, "a sum of exponentials outside its range");
  int64_t e = 0;
  while (sum >> (e + 1) > 0) e++;
  int64_t r = (int64_t)((((unsigned __int128)1 << (e + 16)) + (uint64_t)(sum / 2)) / (uint64_t)sum);
  r = r > 65535 ? 65535 : r;
  for (uint64_t i = 0; i < length; i++) {
    const int64_t d = max - decoder_load(x, start + i * step);
    int64_t value;
    if (n->record.op == Q_SOFTMAX) {
      value = decoder_node_apply(n, rule, decoder_load(table, (uint64_t)d), r, e + 16 - decoder_load(decoder_node_input(n, 2), 0));
    } else {
      const host_tensor *m = decoder_node_input(n, 3);
      const int64_t k = (e >= 8 ? sum >> (e - 8) : sum << (8 - e)) % 256;
      const int64_t t = -d * decoder_load(m, 0) - (e - 16) * decoder_load(m, 1) - decoder_load(decoder_node_input(n, 2), (uint64_t)k);
      value = decoder_node_apply(n, rule, t, 1, decoder_load(decoder_node_input(n, 4), 0));
    }
    decoder_store(y, start + i * step, value);
  }
}

void decoder_node_softmax(const node_view *n) {
  const tensor_record *x = &decoder_node_input(n, 0)->record;
  const int64_t axis = decoder_axis(n, decoder_attribute(n, KEY_AXIS, 0), x->rank);
  uint64_t step = 1;
  for (unsigned k = (unsigned)axis + 1; k < x->rank; k++) step *= (uint64_t)x->dims[k];
  const uint64_t length = (uint64_t)x->dims[axis];
  for (uint64_t outer = 0; outer < decoder_node_input(n, 0)->elements / (length * step); outer++)
    for (uint64_t inner = 0; inner < step; inner++) softmax_line(n, outer * length * step + inner, step, length);
}
