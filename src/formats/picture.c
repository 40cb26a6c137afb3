/* SPDX-License-Identifier: Apache-2.0 */
/* Which format it is, by its first bytes; BMP and PNM, whose pixels lie as they are. */
#include "formats/picture.h"

#include <string.h>

#include "base/arena.h"

static bool fail(const char **out_problem, const char *problem) {
  *out_problem = problem;
  return false;
}

bool npuc_picture_begin(uint64_t width, uint64_t height, picture *p, const char **out_problem) {
  enum { MOST = 1 << 24 };
  if (width == 0 || height == 0 || width > MOST || height > MOST)
    return fail(out_problem, "a picture of this width and height is not decoded");
  p->width = (size_t)width;
  p->height = (size_t)height;
  p->rgb = npuc_buffer_create(p->width * p->height * 3);
  return p->rgb ? true : fail(out_problem, "there is no memory for its pixels");
}

/* -- BMP: rows from the bottom, each padded to 4 bytes, blue first -- */

static uint32_t little(const uint8_t *p, size_t bytes) {
  uint32_t v = 0;
  for (size_t i = 0; i < bytes; i++) v |= (uint32_t)p[i] << (8 * i);
  return v;
}

typedef struct bmp {
  const uint8_t *pixels, *palette;
  size_t row, bits, colors;
  bool from_top;
} bmp;

static bool bmp_rows(const bmp *b, picture *p, const char **out_problem) {
  for (size_t y = 0; y < p->height; y++) {
    const uint8_t *from = b->pixels + b->row * (b->from_top ? y : p->height - 1 - y);
    uint8_t *to = p->rgb + y * p->width * 3;
    for (size_t x = 0; x < p->width; x++, to += 3) {
      if (b->bits == 8 && from[x] >= b->colors) return fail(out_problem, "a pixel's color is not in the BMP's palette");
      const uint8_t *bgr = b->bits == 8 ? b->palette + 4 * (size_t)from[x] : from + x * (b->bits / 8);
      to[0] = bgr[2];
      to[1] = bgr[1];
      to[2] = bgr[0];
    }
  }
  return true;
}

static bool decode_bmp(const uint8_t *bytes, size_t n, picture *p, const char **out_problem) {
  if (n < 54) return fail(out_problem, "the BMP is cut short");
  uint64_t offset = little(bytes + 10, 4), head = little(bytes + 14, 4);
  int32_t height = (int32_t)little(bytes + 22, 4);
  if (head < 40 || little(bytes + 30, 4) != 0) return fail(out_problem, "this form of BMP is not decoded");
  uint64_t width = little(bytes + 18, 4), rows = (uint64_t)(height < 0 ? -(int64_t)height : height);
  bmp b = {.bits = little(bytes + 28, 2), .colors = little(bytes + 46, 4), .from_top = height < 0};
  if (b.bits != 8 && b.bits != 24 && b.bits != 32) return fail(out_problem, "a BMP of this number of bits is not decoded");
  if (b.bits == 8 && b.colors == 0) b.colors = 256;
  uint64_t row = (width * b.bits + 31) / 32 * 4; /* below 2^38 */
  if (row == 0 || offset > n || (n - offset) / row < rows) return fail(out_problem, "the BMP is cut short");
  if (b.bits == 8 && (b.colors > 256 || 14 + head > n || (n - 14 - head) / 4 < b.colors))
    return fail(out_problem, "the BMP's palette is cut short");
  if (!npuc_picture_begin(width, rows, p, out_problem)) return false;
  b.row = (size_t)row;
  b.pixels = bytes + offset;
  b.palette = b.bits == 8 ? bytes + 14 + head : NULL;
  return bmp_rows(&b, p, out_problem);
}

/* -- PNM: width, height and the largest value in decimal, then the pixels -- */

static bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* A number behind white space and comments. */
static bool pnm_number(const uint8_t *bytes, size_t n, size_t *at, uint64_t *out) {
  while (*at < n && (is_blank(bytes[*at]) || bytes[*at] == '#')) {
    bool comment = bytes[*at] == '#';
    while (comment && *at < n && bytes[*at] != '\n') ++*at;
    if (*at < n) ++*at;
  }
  size_t from = *at;
  for (*out = 0; *at < n && bytes[*at] >= '0' && bytes[*at] <= '9' && *out < (uint64_t)1 << 32; ++*at)
    *out = *out * 10 + (bytes[*at] - '0');
  return *at > from;
}

static bool decode_pnm(const uint8_t *bytes, size_t n, picture *p, const char **out_problem) {
  size_t channels = bytes[1] == '6' ? 3 : 1, at = 2;
  uint64_t width, height, most;
  if (!pnm_number(bytes, n, &at, &width) || !pnm_number(bytes, n, &at, &height) || !pnm_number(bytes, n, &at, &most) || at == n)
    return fail(out_problem, "the PNM's head is broken");
  if (most != 255) return fail(out_problem, "a PNM whose largest value is not 255 is not decoded");
  at++; /* one white space */
  if (!npuc_picture_begin(width, height, p, out_problem)) return false;
  if ((n - at) / channels / p->width < p->height) return fail(out_problem, "the PNM is cut short");
  for (size_t i = 0; i < p->width * p->height * 3; i++) p->rgb[i] = bytes[at + (channels == 3 ? i : i / 3)];
  return true;
}

/* -- all -- */

static bool begins(const uint8_t *bytes, size_t n, const char *with, size_t count) { return n >= count && memcmp(bytes, with, count) == 0; }

static bool decode(const uint8_t *bytes, size_t n, picture *p, const char **out_problem) {
  if (begins(bytes, n, "\x89PNG\r\n\x1a\n", 8)) return npuc_png_decode(bytes, n, p, out_problem);
  if (begins(bytes, n, "BM", 2)) return decode_bmp(bytes, n, p, out_problem);
  if (begins(bytes, n, "P5", 2) || begins(bytes, n, "P6", 2)) return decode_pnm(bytes, n, p, out_problem);
  if (begins(bytes, n, "II*\0", 4) || begins(bytes, n, "MM\0*", 4)) return npuc_tiff_decode(bytes, n, p, out_problem);
  if (begins(bytes, n, "\xff\xd8\xff", 3)) return fail(out_problem, "JPEG is not decoded");
  if (begins(bytes, n, "\0\0\0\x0cjP  ", 8)) return fail(out_problem, "JPEG 2000 is not decoded");
  if (begins(bytes, n, "RIFF", 4)) return fail(out_problem, "WebP is not decoded");
  return fail(out_problem, "this is no PNG, BMP, PNM or TIFF");
}

bool npuc_picture_decode(const uint8_t *bytes, size_t n, picture *out_picture, const char **out_problem) {
  picture p = {0};
  bool good = decode(bytes, n, &p, out_problem);
  if (!good) npuc_buffer_destroy(p.rgb);
  *out_picture = good ? p : (picture){0};
  return good;
}
