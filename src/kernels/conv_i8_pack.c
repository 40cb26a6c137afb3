/* SPDX-License-Identifier: Apache-2.0 */
/* Packed weights of int8 convolutions: [merged group, block, run, pair, 16 or 8 channels] pairs of int16, or quads of bytes; depthwise: for each parity of a
 * window's first row, [pair of rows, column, channel]. */
#include <string.h>

#include "kernels/conv_i8_plan.h"

/* Groups that become one: the fewest that fill a block. */
static int64_t merged(const kernel_window *g) {
  int64_t co = g->out_channels / g->group, n = 1;
  while (n < g->group && (n * co < I8_WIDE || g->group % n != 0)) n++;
  return n;
}

/* Whole vectors of input channels, and sums that fit when they are four times as large: 4 * 9 * C * 255 * 128 < 2^31. */
static bool is_winograd(const kernel_window *g) {
  for (int a = 0; a < WINDOW_AXES; a++) {
    if (g->kernel[a] != (a ? 3 : 1) || g->stride[a] != 1 || g->dilation[a] != 1) return false;
  }
  return g->channels % 16 == 0 && g->channels <= 1824;
}

/* Depthwise: [block, column, quad of rows, 64, 4] bytes. Dense: whole steps of quads, [merged group, block, run, quad, 16, 4] bytes, and behind all groups the sum of each channel's weights. */
static void bytes_form(conv_i8_form *f, const kernel_window *g) {
  f->bytes = true;
  if (f->depthwise) {
    f->width = DEPTHWISE_CHANNELS;
    f->quads = (g->kernel[1] + 3) / 4 * g->kernel[2];
    f->group_weights = (f->co + f->width - 1) / f->width * f->quads * f->width;
    return;
  }
  f->quads = ((f->whole_rows ? g->kernel[2] : 1) * f->ci + 3) / 4;
  f->group_weights = (f->co + I8_WIDE - 1) / I8_WIDE * f->runs * quads_padded((int32_t)f->quads) * I8_WIDE;
}

/* u8 in quads of rows, and no strip of windows wider than the kernel's. */
static bool is_wide_depthwise(const kernel_window *g, quads_kind kind) {
  return (kind == QUADS_UNSIGNED || kind == QUADS_EITHER) && g->kernel[1] <= DEPTHWISE_ROWS && depthwise_strip(g, g->stride[2]) >= 1 &&
         depthwise_strip(g, depthwise_together(g)) >= 1;
}

conv_i8_form npuc_conv_i8_form(const kernel_window *g, quads_kind kind) {
  int64_t volume = window_volume(g->kernel);
  conv_i8_form f = {
      .width = I8_WIDE,
      .depthwise = g->group > 1 && g->group == g->channels && g->group == g->out_channels && g->kernel[0] == 1 && g->dilation[1] == 1};
  if (f.depthwise) {
    f.groups = 1;
    f.ci = f.co = conv_i8_padded(g->channels);
    f.runs = (g->kernel[1] + 1) / 2 * g->kernel[2];
    f.pairs = (g->kernel[1] + 2) / 2 * g->kernel[2];
    f.group_weights = (f.runs + f.pairs) * f.co;
    if (is_wide_depthwise(g, kind)) bytes_form(&f, g);
  } else {
    f.groups = g->group / merged(g);
    f.ci = g->channels / f.groups;
    f.co = g->out_channels / f.groups;
    f.whole_rows = f.groups == 1 && (g->dilation[2] == 1 || kind != QUADS_NONE);
    f.runs = f.whole_rows ? volume / g->kernel[2] : volume;
    f.pairs = ((f.whole_rows ? g->kernel[2] : 1) * f.ci + 1) / 2;
    f.winograd = kind == QUADS_NONE && f.groups == 1 && is_winograd(g);
    if (f.winograd) f.runs = 16, f.pairs = f.ci / 2;
    f.group_weights = f.runs * f.pairs * conv_i8_padded(f.co);
    if (kind != QUADS_NONE) bytes_form(&f, g);
  }
  f.blocks = (f.co + f.width - 1) / f.width;
  return f;
}

size_t npuc_conv_i8_packed_elements(const kernel_set *kernels, const kernel_window *g) {
  conv_i8_form f = npuc_conv_i8_form(g, kernels->quads);
  int64_t elements = f.groups * (f.group_weights + (f.bytes ? f.blocks * f.width : 0));
  return (size_t)(elements + 15) / 16 * 16;
}

static int32_t pair_of(int32_t low, int32_t high) { return (int32_t)((uint32_t)(uint16_t)low | (uint32_t)(uint16_t)high << 16); }

typedef struct packer {
  const kernel_window *g;
  conv_i8_form f;
  const int8_t *w;
} packer;

/* Weight of output channel o of a merged group at element `e` of a run; 0 past the run and between the groups that were merged. */
static int32_t dense_weight(const packer *p, int64_t group, int64_t o, int64_t run, int64_t e) {
  const kernel_window *g = p->g;
  int64_t volume = window_volume(g->kernel), channels = g->channels / g->group, per_group = g->out_channels / g->group;
  int64_t tap = p->f.whole_rows ? run * g->kernel[2] + e / p->f.ci : run, c = p->f.whole_rows ? e % p->f.ci : e;
  if (o >= p->f.co || (p->f.whole_rows ? e / p->f.ci >= g->kernel[2] : e >= p->f.ci)) return 0;
  if (o / per_group != c / channels) return 0;
  return p->w[((group * p->f.co + o) * channels + c % channels) * volume + tap];
}

static void pack_dense(const packer *p, int32_t *out) {
  for (int64_t group = 0; group < p->f.groups; group++) {
    for (int64_t block = 0; block < p->f.blocks; block++) {
      int64_t width = conv_i8_width(p->f.co, block);
      for (int64_t k = 0; k < p->f.runs * p->f.pairs; k++) {
        int64_t run = k / p->f.pairs, e = k % p->f.pairs * 2;
        for (int64_t i = 0; i < width; i++) {
          int64_t o = block * I8_WIDE + i;
          *out++ = pair_of(dense_weight(p, group, o, run, e), dense_weight(p, group, o, run, e + 1));
        }
      }
    }
  }
}

static void pack_bytes(const packer *p, int32_t *out) {
  const int64_t quads = quads_padded((int32_t)p->f.quads);
  int8_t *to = (int8_t *)out;
  int32_t *sums = out + p->f.groups * p->f.group_weights;
  for (int64_t block = 0; block < p->f.groups * p->f.blocks; block++, sums += I8_WIDE) {
    memset(sums, 0, I8_WIDE * sizeof *sums);
    for (int64_t k = 0; k < p->f.runs * quads; k++) {
      for (int64_t e = 0; e < I8_WIDE * 4; e++) {
        int64_t o = block % p->f.blocks * I8_WIDE + e / 4;
        *to = (int8_t)dense_weight(p, block / p->f.blocks, o, k / quads, k % quads * 4 + e % 4);
        sums[e / 4] += *to++;
      }
    }
  }
}

/* Element (i, j) of G' g G'^T, G' the rows (2 0 0), (1 1 1), (1 -1 1), (0 0 2): four times Winograd's G g G^T, in integers. */
static int32_t winograd_weight(const packer *p, int64_t o, int64_t c, int64_t i, int64_t j) {
  static const int32_t rows[4][3] = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}};
  if (o >= p->f.co) return 0;
  int32_t sum = 0;
  for (int k = 0; k < 9; k++) sum += rows[i][k / 3] * rows[j][k % 3] * p->w[(o * p->f.ci + c) * 9 + k];
  return sum;
}

static void pack_winograd(const packer *p, int32_t *out) {
  for (int64_t block = 0; block < p->f.blocks; block++) {
    int64_t width = conv_i8_width(p->f.co, block);
    for (int64_t k = 0; k < p->f.runs * p->f.pairs; k++) {
      int64_t position = k / p->f.pairs, c = k % p->f.pairs * 2;
      for (int64_t i = 0; i < width; i++) {
        int64_t o = block * I8_WIDE + i;
        *out++ = pair_of(winograd_weight(p, o, c, position / 4, position % 4), winograd_weight(p, o, c + 1, position / 4, position % 4));
      }
    }
  }
}

static int32_t row_weight(const packer *p, int64_t channel, int64_t row, int64_t column) {
  const kernel_window *g = p->g;
  if (channel >= g->channels || row < 0 || row >= g->kernel[1]) return 0;
  return p->w[(channel * g->kernel[1] + row) * g->kernel[2] + column];
}

static void pack_depthwise(const packer *p, int32_t *out) {
  for (int64_t parity = 0; parity < 2; parity++) {
    for (int64_t k = 0; k < (parity ? p->f.pairs : p->f.runs); k++) {
      int64_t row = k / p->g->kernel[2] * 2 - parity, column = k % p->g->kernel[2];
      for (int64_t c = 0; c < p->f.co; c++) *out++ = pair_of(row_weight(p, c, row, column), row_weight(p, c, row + 1, column));
    }
  }
}

static void pack_wide_depthwise(const packer *p, int32_t *out) {
  const kernel_window *g = p->g;
  const int64_t quads = (g->kernel[1] + 3) / 4;
  int8_t *to = (int8_t *)out;
  int32_t *sums = out + p->f.group_weights;
  memset(sums, 0, (size_t)(p->f.blocks * p->f.width) * sizeof *sums);
  for (int64_t k = 0; k < p->f.blocks * p->f.quads; k++) {
    const int64_t block = k / p->f.quads, column = k % p->f.quads / quads, quad = k % quads;
    for (int64_t i = 0; i < p->f.width * 4; i++) {
      *to = (int8_t)row_weight(p, depthwise_channel_at(g->channels, block * p->f.width + i / 4), quad * 4 + i % 4, column);
      sums[block * p->f.width + i / 4] += *to++;
    }
  }
}

void npuc_conv_i8_pack(const kernel_set *kernels, const kernel_window *g, const int8_t *w, int32_t *out_packed) {
  packer p = {g, npuc_conv_i8_form(g, kernels->quads), w};
  if (p.f.depthwise && p.f.bytes) {
    pack_wide_depthwise(&p, out_packed);
  } else if (p.f.depthwise) {
    pack_depthwise(&p, out_packed);
  } else if (p.f.bytes) {
    pack_bytes(&p, out_packed);
  } else if (p.f.winograd) {
    pack_winograd(&p, out_packed);
  } else {
    pack_dense(&p, out_packed);
  }
}
