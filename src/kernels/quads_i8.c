/* SPDX-License-Identifier: Apache-2.0 */
/* Dense int8 convolutions where the processor multiplies bytes four at a time (kernel_set.quads: SDOT, VNNI, AMX).
 *
 * A unit's input is laid out as records: for each input row that a window reads and each output column, what that column's window sees of the row, [tap, channel], at a
 * multiple of 64 bytes, because an AMX tile's row that lies across two cache lines costs several. A record serves all output rows that read its input row; taps in
 * the padding hold the zero point z. Input rows are sorted by their remainder by the stride, so that the windows of adjacent output rows lie one behind the other, and the
 * whole unit is one line of pixels, `pitch` apart. A 1x1 convolution reads the caller's x as its records: of whole lines of channels with AMX, of whole quads else.
 *
 * Where the kernel wants the other signedness, the highest bit of x and z is flipped on the way. What z adds comes off the bias:
 *
 *   sum of (x - z) * w = sum of x * w - z * sum of w
 *
 * The sums of a strip become bytes while the next one is multiplied: tiles and vectors work at the same time. */
#include <string.h>

#include "kernels/conv_i8_plan.h"

/* A strip whose sums wait for the rule. */
typedef struct quads_strip {
  const conv_i8_block *blocks;
  int n_blocks; /* 0: nothing waits */
  size_t pixels;
  uint8_t *y; /* of the strip's first pixel, channel 0 */
  const int32_t *sums;
} quads_strip;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool npuc_quads_i8_flips(const kernel_set *kernels, bool is_signed) {
  return kernels->quads == (is_signed ? QUADS_UNSIGNED : QUADS_SIGNED);
}

int64_t npuc_quads_i8_scratch(void) { return QUADS_BLOCKS * QUADS_STRIP * I8_WIDE * 4; }

/* -- records -- */

static int64_t record_bytes(const kernel_window *g) { return g->kernel[2] * g->channels; }

int64_t npuc_quads_i8_pitch(const kernel_window *g) { return divide_up(record_bytes(g), 4 * QUADS_STEP) * 4 * QUADS_STEP; }

/* Rows of records for one depth of the kernel. */
static int64_t record_rows(const kernel_window *g, int64_t in_rows) { return divide_up(in_rows, g->stride[1]) * g->stride[1]; }

/* Which of them holds input row `row` of a unit. */
static int64_t record_row(const conv_i8_units *p, int64_t d, int64_t row) {
  const int64_t stride = p->g.stride[1], rows = record_rows(&p->g, p->in_rows);
  return d * rows + row % stride * (rows / stride) + row / stride;
}

int64_t npuc_quads_i8_rows_bytes(const conv_i8_units *p, int64_t in_rows) {
  const kernel_window *g = &p->g;
  return g->kernel[0] * record_rows(g, in_rows) * g->out[2] * p->pitch + QUADS_PIXELS * p->pitch + 4 * QUADS_STEP;
}

void npuc_quads_i8_offsets(const conv_i8_units *p, int32_t *offsets) {
  const kernel_window *g = &p->g;
  for (int64_t d = 0; d < g->kernel[0]; d++) {
    for (int64_t h = 0; h < g->kernel[1]; h++) {
      const int64_t row = record_row(p, d, h * g->dilation[1]) * g->out[2] * p->pitch;
      for (int64_t w = 0; w < (p->f.whole_rows ? 1 : g->kernel[2]); w++) *offsets++ = (int32_t)(row + w * g->channels);
    }
  }
}

/* A window that reaches into the padding. */
static void edge_record(const conv_i8_unit *u, const uint8_t *from, int64_t column, uint8_t *to) {
  const kernel_window *g = &u->job->p.g;
  const uint8_t mask = u->job->flips ? 0x80 : 0;
  const int padding = (u->job->conv->x.zero_point ^ mask) & 0xff;
  if (!from) {
    memset(to, padding, (size_t)record_bytes(g));
    return;
  }
  for (int64_t w = 0; w < g->kernel[2]; w++, to += g->channels) {
    const int64_t at = column * g->stride[2] - g->begin[2] + w * g->dilation[2];
    if (at < 0 || at >= g->in[2]) {
      memset(to, padding, (size_t)g->channels);
    } else {
      u->job->kernels->records_i8(from + at * g->channels, 0, (size_t)g->channels, 1, mask, to, 0);
    }
  }
}

/* One row of records from a row of the image, channels last; NULL in the padding. */
static void make_row(const conv_i8_unit *u, const uint8_t *from, uint8_t *to) {
  const conv_i8_units *p = &u->job->p;
  const kernel_window *g = &p->g;
  const uint8_t mask = u->job->flips ? 0x80 : 0;
  int64_t first, last, unused;
  window_inside(g, 2, 0, &first, &unused);
  window_inside(g, 2, g->kernel[2] - 1, &unused, &last);
  if (!from || last < first) first = last = g->out[2];
  for (int64_t i = 0; i < first; i++) edge_record(u, from, i, to + i * p->pitch);
  for (int64_t i = last; i < g->out[2]; i++) edge_record(u, from, i, to + i * p->pitch);
  if (first == last) return;
  const int64_t pieces = g->dilation[2] == 1 ? 1 : g->kernel[2], bytes = record_bytes(g) / pieces;
  for (int64_t k = 0; k < pieces; k++) {
    const int64_t at = first * g->stride[2] - g->begin[2] + k * g->dilation[2];
    u->job->kernels->records_i8(from + at * g->channels, (size_t)(g->stride[2] * g->channels), (size_t)bytes, (size_t)(last - first), mask,
                                to + first * p->pitch + k * bytes, (size_t)p->pitch);
  }
}

/* Pixels that are their own records. */
static void make_pixels(const conv_i8_unit *u, const uint8_t *from, int64_t n, uint8_t *to) {
  const conv_i8_job *job = u->job;
  const int64_t channels = job->p.g.channels, pitch = job->p.pitch;
  const uint8_t mask = job->flips ? 0x80 : 0;
  if (job->conv->x_last) {
    job->kernels->records_i8(from, (size_t)channels, (size_t)channels, (size_t)n, mask, to, (size_t)pitch);
    return;
  }
  job->kernels->transpose_i8(from, (size_t)window_volume(job->conv->g.in), (size_t)channels, (size_t)n, to, (size_t)pitch);
  for (int64_t i = 0; mask && i < n; i++) job->kernels->records_i8(to + i * pitch, 0, (size_t)channels, 1, mask, to + i * pitch, 0);
}

static bool is_read(const kernel_window *g, int64_t row) {
  for (int64_t h = 0; h < g->kernel[1] && h < g->stride[1]; h++) {
    if (h * g->dilation[1] % g->stride[1] == row % g->stride[1]) return true;
  }
  return false;
}

static void make_rows(const conv_i8_unit *u) {
  const conv_i8_units *p = &u->job->p;
  const kernel_window *g = &p->g;
  const conv_i8 *conv = u->job->conv;
  const int64_t rows = npuc_conv_i8_input_rows(g, u->rows);
  for (int64_t i = 0; i < g->kernel[0] * rows; i++) {
    const int64_t d = i / rows, row = i % rows;
    if (!is_read(g, row)) continue;
    const uint8_t *from = npuc_conv_i8_source(u, d, row);
    if (from && !conv->x_last) {
      u->job->kernels->transpose_i8(from, (size_t)window_volume(conv->g.in), (size_t)g->channels, (size_t)g->in[2], u->x,
                                    (size_t)g->channels);
      from = u->x;
    }
    make_row(u, from, (uint8_t *)u->input + record_row(p, d, row) * g->out[2] * p->pitch);
  }
}

/* -- strips -- */

static void finish(const conv_i8_unit *u, quads_strip *s) {
  const size_t channels = (size_t)u->job->conv->g.out_channels;
  for (int b = 0; b < s->n_blocks; b++) {
    const conv_i8_block *block = &s->blocks[b];
    const int32_t *sums = s->sums + b * (QUADS_STRIP / QUADS_BLOCKS) * I8_WIDE;
    u->job->kernels->rule_i8(&block->rule, sums, s->pixels, I8_WIDE, block->channels, s->y + block->o, channels);
  }
  s->n_blocks = 0;
}

/* Whether a 1x1 convolution's pixels at x, channels last, are records as they lie. */
static bool are_records(const conv_i8_job *job, const uint8_t *x) {
  const int64_t channels = job->p.g.channels;
  if (!x || !job->conv->x_last || job->flips) return false;
  if (job->kernels->quads != QUADS_EITHER) return channels % 4 == 0;
  return job->p.pitch == channels && (uintptr_t)x % (4 * QUADS_STEP) == 0;
}

/* Records of `pixels` pixels at x, which is the caller's: the last ones, beyond which there may be nothing to read, are copied. */
static const uint8_t *safe_records(const conv_i8_unit *u, const uint8_t *x, int64_t pixels) {
  const conv_i8 *conv = u->job->conv;
  const kernel_window *g = &conv->g;
  const uint8_t *end = (const uint8_t *)conv->x.data + g->batch * g->channels * window_volume(g->in);
  const int64_t pitch = g->channels;
  if (end - x >= (pixels + QUADS_PIXELS) * pitch + 4 * QUADS_STEP) return x;
  memcpy(u->input, x, (size_t)(pixels * pitch));
  return u->input;
}

/* Blocks [first, last) of one group. */
static void group_of_blocks(const conv_i8_unit *u, const uint8_t *x, bool is_direct, int64_t first, int64_t last) {
  const conv_i8_job *job = u->job;
  const conv_i8_form *f = &job->p.f;
  const int64_t most = last - first > 1 ? QUADS_STRIP / QUADS_BLOCKS : QUADS_STRIP, pixels = u->rows * job->p.g.out[2];
  quads_i8 t = {.is_signed = job->conv->x.is_signed != job->flips,
                .step = (size_t)(is_direct ? job->p.g.channels : job->p.pitch),
                .runs = (int32_t)f->runs,
                .quads = (int32_t)f->quads,
                .offsets = job->offsets};
  quads_strip waiting = {0};
  int turn = 0;
  for (int64_t q = 0; q < pixels; q += most) {
    t.pixels = (int)least(most, pixels - q);
    t.x = x + q * (int64_t)t.step;
    if (is_direct) t.x = safe_records(u, t.x, t.pixels);
    uint8_t *y = npuc_conv_i8_output(u) + q * job->conv->g.out_channels;
    for (int64_t b = first; b < last; b += t.blocks, turn ^= 1) {
      const conv_i8_block *block = &job->blocks[b];
      t.blocks = (int)least(QUADS_BLOCKS, last - b);
      t.weights = (const int8_t *)block->weights;
      t.bias = block->bias;
      t.sums = u->at + turn * QUADS_STRIP * I8_WIDE;
      job->kernels->quads_i8(&t);
      finish(u, &waiting);
      waiting = (quads_strip){block, t.blocks, (size_t)t.pixels, y, t.sums};
    }
  }
  finish(u, &waiting);
}

void npuc_quads_i8(const conv_i8_unit *u, int64_t first, int64_t last) {
  const conv_i8_job *job = u->job;
  const kernel_window *g = &job->p.g;
  const uint8_t *pixels = window_volume(g->kernel) == 1 && g->stride[2] == 1 ? npuc_conv_i8_adjacent(u) : NULL, *x = u->input;
  const bool is_direct = are_records(job, pixels);
  if (is_direct) {
    x = pixels;
  } else if (pixels) {
    make_pixels(u, pixels, u->rows * g->out[2], u->input);
  } else {
    make_rows(u);
  }
  job->kernels->quads_begin_i8();
  for (int64_t b = first, next; b < last; b = next) {
    const int64_t group = job->blocks[b].group;
    next = least(last, (group + 1) * job->p.f.blocks);
    group_of_blocks(u, x + group * job->p.f.ci, is_direct, b, next);
  }
  job->kernels->quads_end_i8();
}
