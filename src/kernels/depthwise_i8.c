/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise int8 convolutions where the processor multiplies bytes four at a time: a unit's rows lie in memory as u8 with their padding, which is the zero point z;
 * the kernel interleaves rows of 64 channels to quads, and gives bytes. What z adds comes off the bias, as in quads_i8.c. */
#include <string.h>

#include "kernels/conv_i8_plan.h"

static void place_row(const conv_i8_unit *u, const uint8_t *from, uint8_t *to) {
  const conv_i8_units *p = &u->job->p;
  const uint8_t mask = u->job->flips ? 0x80 : 0;
  const int padding = (u->job->conv->x.zero_point ^ mask) & 0xff;
  const conv_i8_span s = npuc_conv_i8_span(p);
  const int64_t c = p->g.channels, n = s.last - s.first, end = s.lead + n;
  if (!from || n == 0) {
    memset(to, padding, (size_t)p->pitch);
    return;
  }
  memset(to, padding, (size_t)(s.lead * c));
  u->job->kernels->records_i8(from + s.first * c, 0, (size_t)(n * c), 1, mask, to + s.lead * c, 0);
  memset(to + end * c, padding, (size_t)((p->columns - end) * c));
}

static void strips(const conv_i8_unit *u, const conv_i8_block *b, int64_t row) {
  const conv_i8_units *p = &u->job->p;
  const kernel_window *g = &p->g;
  const uint8_t *x = (const uint8_t *)u->input + row * g->stride[1] * p->pitch + b->o;
  uint8_t *y = npuc_conv_i8_output(u) + row * g->out[2] * g->channels + b->o;
  depthwise_quads_i8 t = {.row = (size_t)(g->dilation[1] * p->pitch),
                          .column = (size_t)g->channels,
                          .rows = (int)g->kernel[1],
                          .columns = (int)g->kernel[2],
                          .stride = (int)g->stride[2],
                          .dilation = (int)g->dilation[2],
                          .channels = b->channels,
                          .weights = (const int8_t *)b->weights,
                          .bias = b->bias,
                          .rule = &b->rule,
                          .pitch = (size_t)g->channels};
  for (int64_t q = 0; q < g->out[2]; q += DEPTHWISE_STRIP) {
    t.x = x + q * g->stride[2] * g->channels;
    t.y = y + q * g->channels;
    t.pixels = (int)(g->out[2] - q < DEPTHWISE_STRIP ? g->out[2] - q : DEPTHWISE_STRIP);
    u->job->kernels->depthwise_quads_i8(&t);
  }
}

void npuc_depthwise_i8(const conv_i8_unit *u, int64_t first, int64_t last) {
  const conv_i8_units *p = &u->job->p;
  const int64_t rows = npuc_conv_i8_input_rows(&p->g, u->rows);
  for (int64_t row = 0; row < rows; row++) place_row(u, npuc_conv_i8_source(u, 0, row), (uint8_t *)u->input + row * p->pitch);
  for (int64_t row = 0; row < u->rows; row++) {
    for (int64_t b = first; b < last; b++) strips(u, &u->job->blocks[b], row);
  }
}
