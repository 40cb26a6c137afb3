/* SPDX-License-Identifier: Apache-2.0 */
/* Feature maps from one layout to another, row by row. */
#include "kernels/image.h"

#include <string.h>

static bool extents(const int64_t size[WINDOW_AXES], const image_border *border, int64_t out_extent[WINDOW_AXES]) {
  for (int a = 0; a < WINDOW_AXES; a++) {
    int64_t before = border ? border->before[a] : 0, after = border ? border->after[a] : 0;
    if (before > INT32_MAX || after > INT32_MAX || size[a] > INT32_MAX) return false;
    out_extent[a] = before + size[a] + after;
  }
  return true;
}

static bool layout(int64_t channels, int64_t lanes, const int64_t size[WINDOW_AXES], const image_border *border, image *out_image) {
  image i = {.channels = channels, .lanes = lanes};
  int64_t extent[WINDOW_AXES];
  if (!extents(size, border, extent)) return false;
  if (border) i.border = *border;
  memcpy(i.size, size, sizeof i.size);
  i.step[2] = lanes;
  i.step[1] = lanes * extent[2];
  if (__builtin_mul_overflow(i.step[1], extent[1], &i.step[0]) || __builtin_mul_overflow(i.step[0], extent[0], &i.block)) return false;
  if (__builtin_mul_overflow(i.block, image_blocks(&i), &i.sample)) return false;
  for (int a = 0; a < WINDOW_AXES; a++) i.origin += i.border.before[a] * i.step[a];
  *out_image = i;
  return i.sample < INT32_MAX;
}

bool npuc_image_blocked(int64_t channels, int64_t lanes, const int64_t size[WINDOW_AXES], const image_border *border, image *out_image) {
  return layout(channels, lanes, size, border, out_image);
}

bool npuc_image_planar(int64_t channels, const int64_t size[WINDOW_AXES], const image_border *border, image *out_image) {
  return layout(channels, 1, size, border, out_image);
}

bool npuc_image_has_border(const image *i) {
  for (int a = 0; a < WINDOW_AXES; a++)
    if (i->border.before[a] || i->border.after[a]) return true;
  return false;
}

static void zero(float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] = 0.0f;
}

/* Zeros around one map, which starts at x and whose cells are step[2] elements. */
static void clear_map(const image *i, float *x) {
  const image_border *b = &i->border;
  int64_t rows = b->before[1] + i->size[1] + b->after[1], depth = b->before[0] + i->size[0] + b->after[0], cell = i->step[2];
  int64_t row = i->step[1], left = b->before[2] * cell, right = b->after[2] * cell;
  for (int64_t d = 0; d < depth; d++, x += i->step[0]) {
    if (d < b->before[0] || d >= b->before[0] + i->size[0]) {
      memset(x, 0, (size_t)i->step[0] * sizeof *x);
      continue;
    }
    zero(x, b->before[1] * row + left);
    for (int64_t h = b->before[1]; h + 1 < b->before[1] + i->size[1]; h++) zero(x + (h + 1) * row - right, right + left);
    zero(x + (b->before[1] + i->size[1]) * row - right, right + (rows - b->before[1] - i->size[1]) * row);
  }
}

static void clear_maps(const image *i, float *x, int64_t first, int64_t last) {
  if (!npuc_image_has_border(i)) return;
  for (int64_t m = first; m < last; m++) clear_map(i, x + m * i->block);
}

void npuc_image_clear_border(const image *i, float *x) { clear_maps(i, x, 0, image_blocks(i)); }

static void copy_row(const kernel_set *kernels, const image *from, const float *x, const image *to, float *y, int64_t n, int64_t lanes) {
  if (from->lanes == to->lanes) {
    memcpy(y, x, (size_t)(n * from->step[2]) * sizeof *y);
  } else if (image_is_blocked(to)) {
    kernels->block_f32(x, (size_t)from->block, (size_t)lanes, y, (size_t)to->lanes, (size_t)n);
  } else {
    kernels->unblock_f32(x, (size_t)from->lanes, y, (size_t)to->block, (size_t)lanes, (size_t)n);
  }
}

void npuc_image_copy(const kernel_set *kernels, const image *from, const float *x, const image *to, float *y, int64_t first, int64_t last) {
  bool whole = !npuc_image_has_border(from) && !npuc_image_has_border(to); /* all rows are one */
  int64_t depth = whole ? 1 : from->size[0], rows = whole ? 1 : from->size[1];
  int64_t n = whole ? window_volume(from->size) : from->size[2];
  int64_t width = from->lanes > to->lanes ? from->lanes : to->lanes; /* channels of a block */
  for (int64_t b = first; b < last; b++) {
    int64_t lanes = from->channels - b * width < width ? from->channels - b * width : width;
    const float *source = x + from->origin + b * width / from->lanes * from->block;
    float *target = y + to->origin + b * width / to->lanes * to->block;
    for (int64_t r = 0; r < depth * rows; r++) {
      int64_t d = r / rows, h = r % rows;
      copy_row(kernels, from, source + d * from->step[0] + h * from->step[1], to, target + d * to->step[0] + h * to->step[1], n, lanes);
    }
  }
  int64_t maps = image_blocks(to), end = last * width / to->lanes;
  clear_maps(to, y, first * width / to->lanes, end < maps ? end : maps);
}
