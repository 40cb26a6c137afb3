/* SPDX-License-Identifier: Apache-2.0 */
/* TIFF 6.0: a list of tags in either byte order, and strips of rows. Decoded are strips without compression of 8-bit samples that lie pixel by pixel: grey or color. */
#include <string.h>

#include "formats/picture.h"

typedef struct tiff {
  const uint8_t *bytes;
  size_t n;
  bool is_big;
  uint32_t width, height, compression, photometric, samples, rows_per_strip, planar;
  size_t bits, offsets; /* where those entries are; 0: absent */
} tiff;

enum {
  TAG_WIDTH = 256,
  TAG_HEIGHT = 257,
  TAG_BITS = 258,
  TAG_COMPRESSION = 259,
  TAG_PHOTOMETRIC = 262,
  TAG_OFFSETS = 273,
  TAG_SAMPLES = 277,
  TAG_ROWS = 278,
  TAG_PLANAR = 284
};

static bool fail(const char **out_problem, const char *problem) {
  *out_problem = problem;
  return false;
}

static uint32_t number(const tiff *t, size_t at, size_t bytes) {
  uint32_t v = 0;
  for (size_t i = 0; i < bytes; i++) v |= (uint32_t)t->bytes[at + i] << (8 * (t->is_big ? bytes - 1 - i : i));
  return v;
}

/* Value `i` of the entry at `at`; false when there is none: a few values lie in the entry, more lie elsewhere. */
static bool value_of(const tiff *t, size_t at, uint32_t i, uint32_t *out) {
  uint32_t type = number(t, at + 2, 2), count = number(t, at + 4, 4);
  size_t width = type == 3 ? 2 : type == 4 ? 4 : 0;
  if (width == 0 || i >= count) return false;
  uint64_t first = (uint64_t)count * width <= 4 ? at + 8 : number(t, at + 8, 4);
  if (first + ((uint64_t)i + 1) * width > t->n) return false;
  *out = number(t, (size_t)(first + (uint64_t)i * width), width);
  return true;
}

static void take_entry(tiff *t, size_t at) {
  switch (number(t, at, 2)) {
    case TAG_WIDTH:
      (void)value_of(t, at, 0, &t->width);
      break;
    case TAG_HEIGHT:
      (void)value_of(t, at, 0, &t->height);
      break;
    case TAG_COMPRESSION:
      (void)value_of(t, at, 0, &t->compression);
      break;
    case TAG_PHOTOMETRIC:
      (void)value_of(t, at, 0, &t->photometric);
      break;
    case TAG_SAMPLES:
      (void)value_of(t, at, 0, &t->samples);
      break;
    case TAG_ROWS:
      (void)value_of(t, at, 0, &t->rows_per_strip);
      break;
    case TAG_PLANAR:
      (void)value_of(t, at, 0, &t->planar);
      break;
    case TAG_BITS:
      t->bits = at;
      break;
    case TAG_OFFSETS:
      t->offsets = at;
      break;
    default:
      break;
  }
}

static bool read_tags(tiff *t, const char **out_problem) {
  uint64_t at = t->n >= 8 ? number(t, 4, 4) : 0;
  if (at < 8 || at + 2 > t->n) return fail(out_problem, "the TIFF is cut short");
  uint64_t entries = number(t, (size_t)at, 2);
  if (at + 2 + 12 * entries > t->n) return fail(out_problem, "the TIFF is cut short");
  for (uint64_t i = 0; i < entries; i++) take_entry(t, (size_t)(at + 2 + 12 * i));
  uint32_t bits = 1;
  bool eight = t->bits != 0;
  for (uint32_t i = 0; eight && i < t->samples; i++) eight = value_of(t, t->bits, i, &bits) && bits == 8;
  bool color = t->photometric == 2 && (t->samples == 3 || t->samples == 4),
       grey = t->photometric <= 1 && (t->samples == 1 || t->samples == 2);
  if (t->compression != 1 || t->planar != 1 || !eight || !(color || grey) || !t->offsets || !t->rows_per_strip)
    return fail(out_problem, "this form of TIFF is not decoded: strips of 8-bit grey or RGB without compression are");
  return true;
}

bool npuc_tiff_decode(const uint8_t *bytes, size_t n, picture *p, const char **out_problem) {
  tiff t = {.bytes = bytes, .n = n, .is_big = bytes[0] == 'M', .compression = 1, .samples = 1, .rows_per_strip = UINT32_MAX, .planar = 1};
  if (!read_tags(&t, out_problem) || !npuc_picture_begin(t.width, t.height, p, out_problem)) return false;
  for (size_t y = 0; y < p->height; y++) {
    uint32_t strip = 0;
    if (!value_of(&t, t.offsets, (uint32_t)(y / t.rows_per_strip), &strip)) return fail(out_problem, "the TIFF has too few strips");
    uint64_t first = strip + (uint64_t)(y % t.rows_per_strip) * p->width * t.samples;
    if (first + (uint64_t)p->width * t.samples > n) return fail(out_problem, "the TIFF is cut short");
    const uint8_t *from = bytes + first;
    uint8_t *to = p->rgb + y * p->width * 3;
    for (size_t x = 0; x < p->width; x++, to += 3, from += t.samples) {
      for (size_t k = 0; k < 3; k++) to[k] = t.samples >= 3 ? from[k] : t.photometric == 0 ? (uint8_t)(255 - from[0]) : from[0];
    }
  }
  return true;
}
