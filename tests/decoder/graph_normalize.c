/* SPDX-License-Identifier: Apache-2.0 */
/* Operator 11, QNormalize, as docs/refnpu.md section 7 has it. */
#include "graph.h"

#include "machine.h"

/* The largest root whose square is not above v. */
static int64_t whole_root(int64_t v) {
  int64_t low = 0;
  int64_t high = (int64_t)1 << 31;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (middle * middle <= v)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Elements start, start + step, ... are normalized together. */
static void normalize_row(const node_view *n, uint64_t start, uint64_t step, uint64_t count) {
  const host_tensor *x = decoder_node_input(n, 0);
  const host_tensor *bias = decoder_node_input(n, 1);
  const int64_t zp = decoder_attribute(n, KEY_X_ZERO_POINT, 0);
  const uint64_t repeat = (uint64_t)decoder_attribute(n, KEY_REPEAT, 0);
  int64_t sum = 0;
  int64_t squares = 0;
  for (uint64_t k = 0; k < count; k++) {
    const int64_t d = decoder_load(x, start + k * step) - zp;
    sum += d;
    squares += d * d;
  }
  if (!decoder_attribute(n, KEY_CENTRE, 0)) sum = 0;
  int64_t v = (int64_t)count * squares - sum * sum + decoder_attribute(n, KEY_EPSILON, 0);
  v = v < 1 ? 1 : v;
  decoder_node_require(n, v < (int64_t)1 << 62, "a variance outside its range");
  unsigned half = 0;
  while (half < 30 && v >> (2 * half + 2) > 0) half++;
  const int64_t m = half <= 15 ? v << (30 - 2 * half) : v >> (2 * half - 30);
  int64_t r = whole_root(((int64_t)1 << 62) / m);
  r = r > 65535 ? 65535 : r;
  for (uint64_t k = 0; k < count; k++) {
    const uint64_t at = start + k * step;
    const uint64_t p = at / repeat % bias->elements;
    const int64_t c = (int64_t)count * (decoder_load(x, at) - zp) - sum;
    const int64_t t = decoder_shift_round((__int128)c * r, half + 4) + decoder_load(bias, p);
    const int64_t y = decoder_node_apply(n, decoder_node_rule(n), t, decoder_load(decoder_node_input(n, 2), p),
                                         decoder_load(decoder_node_input(n, 3), p));
    decoder_store(decoder_node_output(n, 0), at, y);
  }
}

void decoder_node_normalize(const node_view *n) {
  const uint64_t count = (uint64_t)decoder_attribute(n, KEY_COUNT, 0);
  const uint64_t inner = (uint64_t)decoder_attribute(n, KEY_INNER, 0);
  const uint64_t elements = decoder_node_input(n, 0)->elements;
  decoder_node_require(n, count >= 1 && inner >= 1 && elements % (count * inner) == 0, "rows");
  for (uint64_t row = 0; row < elements / count; row++) normalize_row(n, row / inner * count * inner + row % inner, inner, count);
}
