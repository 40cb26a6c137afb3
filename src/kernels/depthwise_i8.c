/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise int8 convolutions where the processor multiplies bytes four at a time: the kernel interleaves rows of 64 channels to quads, and gives bytes. Long rows are
 * read where they lie; one in the padding is a row of the zero point z, and only the windows over the ends of rows are copied together. Short rows, and s8, whose highest bit
 * is flipped, are copied with their padding. What z adds comes off the bias, as in quads_i8.c.
 *
 * Channels of which a whole number makes 64 are taken for so many pixels at once: without stride a vector over adjacent pixels is one pixel of 64 channels. */
#include <string.h>

#include "kernels/conv_i8_plan.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t row_bytes(const kernel_window *g) { return g->in[2] * g->channels; }
static bool is_copied(const conv_i8_job *job) { return job->flips || job->p.g.out[2] <= DEPTHWISE_STRIP; }

/* Rows with their padding; or a row of z, and the windows over an end of a row, [rows of the kernel, columns]. */
int64_t npuc_depthwise_i8_rows_bytes(const conv_i8_units *p, int64_t in_rows) {
  return (in_rows + p->g.kernel[1]) * p->pitch + row_bytes(&p->g);
}

static int padding_of(const conv_i8_job *job) { return (job->conv->x.zero_point ^ (job->flips ? 0x80 : 0)) & 0xff; }

/* Columns [start, start + n) of a row of x, which may lie in the padding. */
static void copy_columns(const conv_i8_unit *u, const uint8_t *from, int64_t start, int64_t n, uint8_t *to) {
  const kernel_window *g = &u->job->p.g;
  const int64_t c = g->channels, before = start < 0 ? least(-start, n) : 0, end = from ? least(n, g->in[2] - start) : 0;
  const int padding = padding_of(u->job);
  if (end <= before) {
    memset(to, padding, (size_t)(n * c));
    return;
  }
  memset(to, padding, (size_t)(before * c));
  u->job->kernels->records_i8(from + (start + before) * c, 0, (size_t)((end - before) * c), 1, u->job->flips ? 0x80 : 0, to + before * c,
                              0);
  memset(to + end * c, padding, (size_t)((n - end) * c));
}

/* Blocks [first, last) of n pixels, windows at t->x. */
static void run_blocks(const conv_i8_unit *u, int64_t first, int64_t last, depthwise_quads_i8 t, int64_t n, uint8_t *y) {
  const conv_i8_job *job = u->job;
  const kernel_window *g = &job->p.g;
  const int64_t together = depthwise_together(g);
  depthwise_quads_i8 now = t;
  for (int64_t b = first; b < last; b++) {
    const conv_i8_block *block = &job->blocks[b];
    now.weights = (const int8_t *)block->weights;
    now.bias = block->bias;
    now.rule = &block->rule;
    for (int64_t done = 0, step; done < n; done += step) {
      const bool many = n - done >= together;
      now.stride = (int)(many ? together * g->stride[2] : g->stride[2]);
      now.channels = many && together > 1 ? DEPTHWISE_CHANNELS : block->channels;
      now.pitch = (size_t)(many ? together * g->channels : g->channels);
      now.pixels = (int)least(many ? (n - done) / together : n - done, depthwise_strip(g, now.stride));
      for (int64_t k = 0; k < g->kernel[1]; k++) now.x[k] = t.x[k] + done * g->stride[2] * g->channels + block->o;
      now.y = y + done * g->channels + block->o;
      job->kernels->depthwise_quads_i8(&now);
      step = now.pixels * (many ? together : 1);
    }
  }
}

/* A row whose input rows lie without padding: the middle, and the windows over either end. */
static void row_in_place(const conv_i8_unit *u, int64_t row, int64_t first, int64_t last, depthwise_quads_i8 t, uint8_t *y) {
  const conv_i8_units *p = &u->job->p;
  const kernel_window *g = &p->g;
  uint8_t *padding = u->input, *edge = padding + row_bytes(g);
  int64_t inside, end, unused;
  window_inside(g, 2, 0, &inside, &unused);
  window_inside(g, 2, g->kernel[2] - 1, &unused, &end);
  if (end < inside) inside = end = g->out[2];
  const int64_t ends[4] = {0, inside, end, g->out[2]};
  for (int i = 0; i < 3; i++) {
    const int64_t n = ends[i + 1] - ends[i], start = ends[i] * g->stride[2] - g->begin[2];
    if (n == 0) continue;
    for (int64_t k = 0; k < g->kernel[1]; k++) {
      const uint8_t *from = npuc_conv_i8_source(u, 0, row * g->stride[1] + k * g->dilation[1]);
      if (i == 1) {
        t.x[k] = from ? from + start * g->channels : padding;
        continue;
      }
      copy_columns(u, from, start, (n - 1) * g->stride[2] + (g->kernel[2] - 1) * g->dilation[2] + 1, edge + k * p->pitch);
      t.x[k] = edge + k * p->pitch;
    }
    run_blocks(u, first, last, t, n, y + ends[i] * g->channels);
  }
}

void npuc_depthwise_i8(const conv_i8_unit *u, int64_t first, int64_t last) {
  const conv_i8_units *p = &u->job->p;
  const kernel_window *g = &p->g;
  depthwise_quads_i8 t = {
      .column = (size_t)g->channels, .rows = (int)g->kernel[1], .columns = (int)g->kernel[2], .dilation = (int)g->dilation[2]};
  uint8_t *x = u->input, *y = npuc_conv_i8_output(u);
  const int64_t rows = npuc_conv_i8_input_rows(g, u->rows);
  const bool copied = is_copied(u->job);
  if (!copied) memset(x, padding_of(u->job), (size_t)row_bytes(g));
  for (int64_t row = 0; copied && row < rows; row++)
    copy_columns(u, npuc_conv_i8_source(u, 0, row), -g->begin[2], p->columns, x + row * p->pitch);
  for (int64_t row = 0; row < u->rows; row++, y += g->out[2] * g->channels) {
    if (!copied) {
      row_in_place(u, row, first, last, t, y);
      continue;
    }
    for (int64_t k = 0; k < g->kernel[1]; k++) t.x[k] = x + (row * g->stride[1] + k * g->dilation[1]) * p->pitch;
    run_blocks(u, first, last, t, g->out[2], y);
  }
}
