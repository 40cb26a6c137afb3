/* SPDX-License-Identifier: Apache-2.0 */
/* Dense int8 convolutions where the processor multiplies bytes four at a time (kernel_set.quads: SDOT, AMX). A unit's widened rows become bytes again, with
 * the highest bit flipped where x is unsigned; z is the zero point in that form, and what it adds comes off the bias:
 *
 *   sum of (x - z) * w = sum of x * w - z * sum of w        padding is x = z
 *
 * Packed weights are the same at every level, pairs of int16; a block's become quads of bytes once a unit. */
#include <string.h>

#include "kernels/conv_i8_plan.h"

static int64_t quads_of(const conv_i8_form *f) { return (f->pairs + 1) / 2; }

int64_t npuc_quads_i8_scratch(const conv_i8_form *f) { return (I8_WIDE + f->runs * quads_of(f) * I8_WIDE) * 4; }

static int32_t flipped_zero(const q8_input *x) { return x->is_signed ? x->zero_point : x->zero_point - 128; }

/* In place: element i of int16 to byte i. */
static void narrow_rows(const conv_i8_unit *u) {
  enum { PIECE = 64 };
  const conv_i8_units *p = &u->job->p;
  const int32_t z = flipped_zero(&u->job->conv->x);
  const int16_t *from = u->input;
  int8_t *to = u->input;
  const int64_t n = p->g.kernel[0] * p->in_rows * p->pitch;
  for (int64_t i = 0; i < n; i += PIECE) {
    int8_t piece[PIECE];
    const int64_t width = n - i < PIECE ? n - i : PIECE;
    for (int64_t k = 0; k < width; k++) piece[k] = (int8_t)(from[i + k] + z);
    memcpy(to + i, piece, (size_t)width);
  }
}

/* weights [runs, quads, width, 4] of one block, the last pair of an odd run zero; bias less z * sum of w, modulo 2^32 as all sums are. */
static void pack_block(const conv_i8_form *f, const conv_i8_block *b, int32_t z, int32_t *bias, int8_t *weights) {
  const int64_t quads = quads_of(f);
  uint32_t total[I8_WIDE] = {0};
  const int32_t *from = b->weights;
  memset(weights, 0, (size_t)(f->runs * quads * b->width * 4));
  for (int64_t r = 0; r < f->runs; r++, weights += quads * b->width * 4) {
    for (int64_t k = 0; k < f->pairs; k++) {
      for (int i = 0; i < b->width; i++) {
        const uint32_t both = (uint32_t)*from++;
        int8_t *to = weights + (k / 2 * b->width + i) * 4 + k % 2 * 2;
        to[0] = (int8_t)(both & 0xffu);
        to[1] = (int8_t)(both >> 16 & 0xffu);
        total[i] += (uint32_t)(to[0] + to[1]);
      }
    }
  }
  for (int i = 0; i < b->width; i++) bias[i] = (int32_t)((uint32_t)b->bias[i] - (uint32_t)z * total[i]);
}

/* Adjacent pixels from `pixel`, `n` of them, evenly spaced. */
static void row_of_pixels(const conv_i8_unit *u, const conv_i8_block *b, quads_i8 *t, const int8_t *x, int64_t pixel, int64_t n) {
  const size_t channels = (size_t)u->job->conv->g.out_channels;
  uint8_t *y = npuc_conv_i8_output(u) + (size_t)pixel * channels + b->o;
  for (int64_t i = 0; i < n; i += I8_RUN) {
    t->pixels = (int)(n - i < I8_RUN ? n - i : I8_RUN);
    t->x = x + i * (int64_t)t->step;
    u->job->kernels->quads_i8(t);
    u->job->kernels->rule_i8(&b->rule, u->sums, (size_t)t->pixels, b->width, b->channels, y + (size_t)i * channels, channels);
  }
}

static void one_block(const conv_i8_unit *u, const conv_i8_block *b) {
  const conv_i8_units *p = &u->job->p;
  const kernel_window *g = &p->g;
  int32_t *bias = u->at;
  int8_t *weights = (int8_t *)(bias + I8_WIDE);
  pack_block(&p->f, b, flipped_zero(&u->job->conv->x), bias, weights);
  quads_i8 t = {.width = b->width,
                .runs = (int32_t)p->f.runs,
                .quads = (int32_t)quads_of(&p->f),
                .offsets = u->job->offsets,
                .weights = weights,
                .bias = bias,
                .sums = u->sums};
  const int8_t *x = (const int8_t *)u->input + b->group * p->f.ci;
  const int64_t row = g->stride[1] * p->pitch;
  if (g->out[2] == 1) { /* a column of pixels */
    t.step = (size_t)row;
    row_of_pixels(u, b, &t, x, 0, u->rows);
    return;
  }
  t.step = (size_t)(g->stride[2] * g->channels);
  for (int64_t r = 0; r < u->rows; r++) row_of_pixels(u, b, &t, x + r * row, r * g->out[2], g->out[2]);
}

void npuc_quads_i8(const conv_i8_unit *u, int64_t first, int64_t last) {
  narrow_rows(u);
  for (int64_t b = first; b < last; b++) {
    const conv_i8_block block = npuc_conv_i8_block(u->job, b);
    one_block(u, &block);
  }
}
