/* SPDX-License-Identifier: Apache-2.0 */
/* PNG (ISO/IEC 15948), not interlaced: chunks with checksums, one zlib stream of rows, each with a filter that refers to the pixel on the left and the row above. Palettes become
 * colors, grey becomes three equal channels, 16 bits lose their lower half, transparency is left out. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "formats/picture.h"

typedef struct png {
  const uint8_t *next, *end;
  uint32_t width, height;
  uint8_t depth, color, channels;
  const uint8_t *palette;
  size_t colors;
  size_t row;    /* bytes of a row, without its filter */
  uint8_t *rows; /* [height, 1 + row] */
  const char **out_problem;
} png;

typedef struct chunk {
  const uint8_t *type, *data;
  uint32_t n;
} chunk;

static bool fail(const png *p, const char *problem) {
  *p->out_problem = problem;
  return false;
}

static uint32_t big(const uint8_t *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]; }

static bool next_chunk(png *p, chunk *out) {
  if (p->end - p->next < 12) return fail(p, "the PNG is cut short");
  *out = (chunk){.n = big(p->next), .type = p->next + 4, .data = p->next + 8};
  if (out->n > (size_t)(p->end - p->next) - 12) return fail(p, "the PNG is cut short");
  if (crc32(0, out->type, out->n + 4) != big(out->data + out->n)) return fail(p, "a checksum of the PNG is wrong");
  p->next += 12 + (size_t)out->n;
  return true;
}

static bool is_type(const chunk *c, const char *type) { return memcmp(c->type, type, 4) == 0; }

static bool read_head(png *p, const chunk *c) {
  static const uint8_t channels[] = {1, 0, 3, 1, 2, 0, 4};
  if (!is_type(c, "IHDR") || c->n != 13) return fail(p, "the PNG does not begin with its head");
  p->width = big(c->data);
  p->height = big(c->data + 4);
  p->depth = c->data[8];
  p->color = c->data[9];
  p->channels = p->color < sizeof channels ? channels[p->color] : 0;
  bool whole = p->depth == 8 || p->depth == 16, small = p->depth == 1 || p->depth == 2 || p->depth == 4;
  bool fits = p->color == 0 ? whole || small : p->color == 3 ? small || p->depth == 8 : whole;
  if (!p->channels || !fits || c->data[10] || c->data[11]) return fail(p, "the PNG's head is broken");
  if (c->data[12]) return fail(p, "an interlaced PNG is not decoded");
  p->row = ((size_t)p->width * p->channels * p->depth + 7) / 8;
  return true;
}

/* The chunks up to the end: the palette, and the pixels' stream into p->rows. */
static bool read_chunks(png *p, z_stream *z) {
  chunk c;
  int state = Z_OK;
  do {
    if (!next_chunk(p, &c)) return false;
    if (is_type(&c, "PLTE")) {
      p->palette = c.data;
      p->colors = c.n / 3;
    } else if (is_type(&c, "IDAT") && state == Z_OK) {
      z->next_in = (Bytef *)(uintptr_t)c.data;
      z->avail_in = c.n;
      while (z->avail_in && z->avail_out && state == Z_OK) state = inflate(z, Z_NO_FLUSH);
      if (state != Z_OK && state != Z_STREAM_END) return fail(p, "the PNG's pixels are broken");
    }
  } while (!is_type(&c, "IEND"));
  return z->avail_out == 0 ? true : fail(p, "the PNG has too few pixels");
}

static bool inflate_rows(png *p) {
  size_t bytes = (p->row + 1) * p->height; /* at most 2^24 * (2^27 + 1) */
  z_stream z = {0};
  if (bytes > UINT32_MAX || !(p->rows = npuc_buffer_create(bytes))) return fail(p, "there is no memory for its pixels");
  if (inflateInit(&z) != Z_OK) return fail(p, "there is no memory for its pixels");
  z.next_out = p->rows;
  z.avail_out = (uInt)bytes;
  bool good = read_chunks(p, &z);
  (void)inflateEnd(&z);
  return good;
}

/* Of left, above and the corner between, the one nearest to left + above - corner. */
static uint8_t paeth(int a, int b, int c) {
  int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
  return (uint8_t)(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
}

static bool unfilter(const png *p) {
  size_t step = (size_t)p->channels * p->depth / 8;
  if (step == 0) step = 1;
  for (size_t y = 0; y < p->height; y++) {
    uint8_t *row = p->rows + y * (p->row + 1) + 1;
    const uint8_t *above = y ? row - (p->row + 1) : NULL;
    if (row[-1] > 4) return fail(p, "the PNG's pixels are broken");
    for (size_t i = 0; row[-1] && i < p->row; i++) {
      uint8_t a = i >= step ? row[i - step] : 0, b = above ? above[i] : 0, c = above && i >= step ? above[i - step] : 0;
      uint8_t guess = row[-1] == 1 ? a : row[-1] == 2 ? b : row[-1] == 3 ? (uint8_t)((a + b) / 2) : paeth(a, b, c);
      row[i] = (uint8_t)(row[i] + guess);
    }
  }
  return true;
}

/* Sample `i` of a row, as it is stored; of 16 bits the upper half. */
static uint8_t sample(const png *p, const uint8_t *row, size_t i) {
  if (p->depth == 16) return row[2 * i];
  if (p->depth == 8) return row[i];
  size_t bit = i * p->depth;
  return (uint8_t)((row[bit / 8] >> (8 - p->depth - bit % 8)) & ((1 << p->depth) - 1));
}

static bool put_pixels(const png *p, uint8_t *to) {
  unsigned scale = p->depth < 8 && p->color == 0 ? 255u / ((1u << p->depth) - 1) : 1;
  for (size_t y = 0; y < p->height; y++) {
    const uint8_t *row = p->rows + y * (p->row + 1) + 1;
    for (size_t x = 0; x < p->width; x++, to += 3) {
      uint8_t first = sample(p, row, x * p->channels);
      if (p->color == 3 && first >= p->colors) return fail(p, "a pixel's color is not in the PNG's palette");
      for (size_t k = 0; k < 3; k++)
        to[k] = p->color == 3      ? p->palette[3 * (size_t)first + k]
                : p->channels >= 3 ? sample(p, row, x * p->channels + k)
                                   : (uint8_t)(first * scale);
    }
  }
  return true;
}

bool npuc_png_decode(const uint8_t *bytes, size_t n, picture *out, const char **out_problem) {
  png p = {.next = bytes + 8, .end = bytes + n, .out_problem = out_problem};
  chunk head;
  bool good = next_chunk(&p, &head) && read_head(&p, &head) && npuc_picture_begin(p.width, p.height, out, out_problem) &&
              inflate_rows(&p) && unfilter(&p) && put_pixels(&p, out->rgb);
  npuc_buffer_destroy(p.rows);
  return good;
}
