/* SPDX-License-Identifier: Apache-2.0 */
/* int8 convolutions, unit by unit: a unit is a block of whole output rows of one sample, whose input rows (x minus its zero point, as
 * int16, with their padding) fit the second cache. Each unit widens its rows once, then takes one block of channels after another over
 * its pixels. Channels-first operands are transposed at a unit's edges. Units go to threads; where there are few, their channels do. */
#include "kernels/conv_i8.h"

#include <assert.h>
#include <string.h>

#include "kernels/conv_i8_plan.h"

enum { ROWS_BYTES = 96 * 1024 };

static size_t align64(int64_t bytes) { return ((size_t)bytes + 63) / 64 * 64; }
static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static bool is_pointwise(const kernel_window *g) {
  for (int a = 0; a < WINDOW_AXES; a++) {
    if (g->kernel[a] != 1 || g->stride[a] != 1 || g->begin[a] != 0 || g->out[a] != g->in[a]) return false;
  }
  return true;
}

int64_t npuc_conv_i8_input_rows(const kernel_window *g, int64_t rows) {
  return (rows - 1) * g->stride[1] + (g->kernel[1] - 1) * g->dilation[1] + 1;
}

/* Input rows of a unit; Winograd's tiles have two rows. */
static int64_t unit_rows(const conv_i8_units *p, int64_t rows) {
  return npuc_conv_i8_input_rows(&p->g, p->f.winograd ? rows + rows % 2 : rows);
}

/* Bytes of the rows behind `rows` output rows. */
static int64_t widened_bytes(const conv_i8_units *p, int64_t rows) {
  int64_t in = unit_rows(p, rows);
  if (p->f.bytes) return p->f.depthwise ? npuc_depthwise_i8_rows_bytes(p, in) : npuc_quads_i8_rows_bytes(p, in);
  return p->f.depthwise ? (in + 1) / 2 * p->pitch * 4 : p->g.kernel[0] * in * p->pitch * 2;
}

static void choose_rows(conv_i8_units *p, int64_t threads) {
  const kernel_window *g = &p->g;
  int64_t planes = g->batch * g->out[0], share = divide_up(g->out[1] * planes, threads), most = least(g->out[1], share);
  if (widened_bytes(p, most) > ROWS_BYTES) {
    int64_t low = 1, high = most; /* low fits or is 1, high does not fit */
    while (high - low > 1) {
      int64_t middle = (low + high) / 2;
      if (widened_bytes(p, middle) <= ROWS_BYTES) {
        low = middle;
      } else {
        high = middle;
      }
    }
    most = low;
  }
  p->units = divide_up(g->out[1], most);
  p->rows = divide_up(g->out[1], p->units);
  if (p->f.winograd && p->rows > 1) p->rows += p->rows % 2;
  p->units = divide_up(g->out[1], p->rows);
  p->parts = least(divide_up(threads, planes * p->units), p->f.groups * p->f.blocks);
}

/* What a unit's path keeps at `at`. */
static int64_t working_bytes(const conv_i8_units *p) {
  if (p->f.winograd) return npuc_winograd_i8_scratch(&p->f);
  if (p->f.bytes) return p->f.depthwise ? 0 : npuc_quads_i8_scratch();
  return p->rows * p->g.out[2] * 4;
}

static bool plan_units(const kernel_set *kernels, const conv_i8 *conv, size_t threads, conv_i8_units *out_plan) {
  conv_i8_units p = {.g = conv->g};
  kernel_window *g = &p.g;
  if (is_pointwise(g)) {
    g->in[1] = g->out[1] = window_volume(g->in);
    g->in[0] = g->in[2] = g->out[0] = g->out[2] = 1;
  }
  p.f = npuc_conv_i8_form(g, kernels->quads);
  p.columns = (g->out[2] - 1) * g->stride[2] + (g->kernel[2] - 1) * g->dilation[2] + 1;
  if (p.f.winograd) p.columns += g->out[2] % 2;
  p.pitch = p.f.bytes && !p.f.depthwise ? npuc_quads_i8_pitch(g) : p.columns * (p.f.depthwise && !p.f.bytes ? p.f.ci : g->channels);
  choose_rows(&p, (int64_t)threads);
  p.in_rows = unit_rows(&p, p.rows);
  int64_t padded = p.f.groups * p.f.blocks * p.f.width;
  p.at_bytes = align64(working_bytes(&p));
  p.row_bytes = align64(widened_bytes(&p, p.rows) + 64);
  p.x_bytes = conv->x_last                  ? 0
              : p.f.bytes && !p.f.depthwise ? align64(g->in[2] * g->channels)
                                            : align64(g->kernel[0] * p.in_rows * g->in[2] * g->channels);
  p.y_bytes = conv->y_last ? 0 : align64(p.rows * g->out[2] * g->out_channels);
  p.thread_bytes = p.at_bytes + p.row_bytes + p.x_bytes + p.y_bytes + I8_RUN * I8_WIDE * 4;
  p.shared_bytes =
      3 * align64(padded * 4) + align64((p.f.runs + p.f.pairs) * 4) + align64(p.f.groups * p.f.blocks * (int64_t)sizeof(conv_i8_block));
  *out_plan = p;
  return p.thread_bytes < INT32_MAX && p.shared_bytes < INT32_MAX;
}

bool npuc_conv_i8_scratch(const kernel_set *kernels, const conv_i8 *conv, size_t threads, size_t *out_bytes) {
  conv_i8_units p;
  if (!plan_units(kernels, conv, threads, &p)) return false;
  *out_bytes = p.shared_bytes + threads * p.thread_bytes;
  return true;
}

/* -- what a call prepares for all units -- */

static void fill_scales(const conv_i8_job *job) {
  const conv_i8_form *f = &job->p.f;
  const q8_scale *scale = &job->conv->scale;
  int64_t co = f->depthwise ? job->conv->g.out_channels : f->co;
  const int32_t *sums = job->conv->packed + f->groups * f->group_weights;
  const q8_input *x = &job->conv->x;
  const int32_t z = x->zero_point + (!job->flips ? 0 : x->is_signed ? 128 : -128);
  for (int64_t group = 0; group < f->groups; group++) {
    for (int64_t i = 0; i < f->blocks * f->width; i++) { /* sums wrap, as vector lanes do */
      int64_t at = group * f->blocks * f->width + i, within = f->width == I8_WIDE ? i : depthwise_channel_at(co, i);
      int64_t o = group * co + within;
      bool real = within < co;
      job->bias[at] = real && scale->bias ? scale->bias[o] : 0;
      if (f->bytes) job->bias[at] = (int32_t)((uint32_t)job->bias[at] - (uint32_t)z * (uint32_t)sums[at]);
      job->m[at] = real ? scale->m[o] : 0;
      job->s[at] = real ? scale->s[o] : 32;
    }
  }
  npuc_rule_prepare(job->kind, job->m, job->s, f->groups * f->blocks * f->width);
}

static void fill_offsets(const conv_i8_job *job) {
  const conv_i8_units *p = &job->p;
  const kernel_window *g = &p->g;
  int32_t *to = job->offsets;
  if (p->f.bytes && p->f.depthwise) return;
  if (p->f.bytes) {
    npuc_quads_i8_offsets(p, to);
    return;
  }
  if (p->f.depthwise) {
    for (int64_t k = 0; k < p->f.pairs; k++) {
      int32_t offset = (int32_t)(k / g->kernel[2] * p->pitch + k % g->kernel[2] * g->dilation[2] * p->f.ci);
      if (k < p->f.runs) to[k] = offset;
      to[p->f.runs + k] = offset;
    }
    return;
  }
  for (int64_t d = 0; d < g->kernel[0]; d++) {
    for (int64_t h = 0; h < g->kernel[1]; h++) {
      int64_t row = (d * p->in_rows + h * g->dilation[1]) * p->pitch;
      for (int64_t w = 0; w < (p->f.whole_rows ? 1 : g->kernel[2]); w++) *to++ = (int32_t)(row + w * g->dilation[2] * g->channels);
    }
  }
}

/* -- one unit -- */

static conv_i8_unit unit_of(const conv_i8_job *job, int64_t index, size_t worker) {
  const conv_i8_units *p = &job->p;
  char *memory = job->threads + worker * p->thread_bytes;
  conv_i8_unit u = {.job = job, .sample = index / p->units / p->g.out[0], .depth = index / p->units % p->g.out[0]};
  u.first = index % p->units * p->rows;
  u.rows = least(p->rows, p->g.out[1] - u.first);
  u.sums = (int32_t *)(void *)memory;
  memory += I8_RUN * I8_WIDE * 4;
  u.at = (int32_t *)(void *)memory;
  u.input = memory + p->at_bytes;
  u.x = (uint8_t *)memory + p->at_bytes + p->row_bytes;
  u.y = u.x + p->x_bytes;
  return u;
}

const uint8_t *npuc_conv_i8_source(const conv_i8_unit *u, int64_t d, int64_t row) {
  const conv_i8_units *p = &u->job->p;
  const kernel_window *g = &p->g;
  int64_t depth = u->depth * g->stride[0] - g->begin[0] + d * g->dilation[0], h = u->first * g->stride[1] - g->begin[1] + row;
  if (row >= p->in_rows || depth < 0 || depth >= g->in[0] || h < 0 || h >= g->in[1]) return NULL;
  if (!u->job->conv->x_last && p->f.bytes && !p->f.depthwise)
    return (const uint8_t *)u->job->conv->x.data + u->sample * g->channels * window_volume(g->in) + (depth * g->in[1] + h) * g->in[2];
  if (!u->job->conv->x_last) return u->x + (d * p->in_rows + row) * g->in[2] * g->channels;
  return (const uint8_t *)u->job->conv->x.data + ((u->sample * g->in[0] + depth) * g->in[1] + h) * g->in[2] * g->channels;
}

/* Channels-first x: the unit's rows are transposed, plane positions to pixels. */
static void gather_rows(const conv_i8_unit *u) {
  const conv_i8_units *p = &u->job->p;
  const kernel_window *g = &p->g;
  int64_t start = u->first * g->stride[1] - g->begin[1], first = start < 0 ? 0 : start,
          end = least(start + unit_rows(p, u->rows), g->in[1]);
  for (int64_t d = 0; d < g->kernel[0] && first < end; d++) {
    int64_t depth = u->depth * g->stride[0] - g->begin[0] + d * g->dilation[0], volume = window_volume(g->in);
    if (depth < 0 || depth >= g->in[0]) continue;
    const uint8_t *from = (const uint8_t *)u->job->conv->x.data + u->sample * g->channels * volume + (depth * g->in[1] + first) * g->in[2];
    uint8_t *to = u->x + (d * p->in_rows + first - start) * g->in[2] * g->channels;
    u->job->kernels->transpose_i8(from, (size_t)volume, (size_t)g->channels, (size_t)((end - first) * g->in[2]), to, (size_t)g->channels);
  }
}

/* Input columns [first, last) lie in the padded row, the first at `lead`. */
typedef struct span {
  int64_t first, last, lead;
} span;
static span row_span(const conv_i8_units *p) {
  const kernel_window *g = &p->g;
  span s = {.first = g->begin[2] < 0 ? -g->begin[2] : 0, .last = least(g->in[2], p->columns - g->begin[2])};
  s.lead = s.first + g->begin[2];
  if (s.last < s.first) s.last = s.first;
  if (s.lead > p->columns) s.lead = p->columns;
  return s;
}

static void widen_rows(const conv_i8_unit *u) {
  const conv_i8_units *p = &u->job->p;
  const kernel_window *g = &p->g;
  const q8_input *x = &u->job->conv->x;
  int64_t c = g->channels, rows = unit_rows(p, u->rows);
  span s = row_span(p);
  for (int64_t i = 0; i < g->kernel[0] * rows; i++) {
    int64_t d = i / rows, row = i % rows;
    int16_t *to = (int16_t *)u->input + (d * p->in_rows + row) * p->pitch;
    if (g->kernel[1] == 1 && row % g->stride[1] != 0) continue; /* no window reads it */
    const uint8_t *from = npuc_conv_i8_source(u, d, row);
    if (!from) {
      memset(to, 0, (size_t)p->pitch * 2);
      continue;
    }
    memset(to, 0, (size_t)(s.lead * c) * 2);
    u->job->kernels->widen_i8(from + s.first * c, x->is_signed, x->zero_point, (size_t)((s.last - s.first) * c), to + s.lead * c);
    int64_t end = s.lead + s.last - s.first;
    memset(to + end * c, 0, (size_t)((p->columns - end) * c) * 2);
  }
}

const uint8_t *npuc_conv_i8_adjacent(const conv_i8_unit *u) {
  const conv_i8_units *p = &u->job->p;
  const kernel_window *g = &p->g;
  int64_t h = u->first * g->stride[1] - g->begin[1], rows = unit_rows(p, u->rows);
  if (g->kernel[0] != 1 || g->stride[1] > g->kernel[1] || g->begin[2] != 0 || p->columns != g->in[2] || h < 0 || h + rows > g->in[1])
    return NULL;
  return npuc_conv_i8_source(u, 0, 0);
}

static bool widen_at_once(const conv_i8_unit *u) {
  const conv_i8_units *p = &u->job->p;
  const q8_input *x = &u->job->conv->x;
  const uint8_t *from = npuc_conv_i8_adjacent(u);
  if (from) u->job->kernels->widen_i8(from, x->is_signed, x->zero_point, (size_t)(unit_rows(p, u->rows) * p->pitch), u->input);
  return from != NULL;
}

/* One pair of rows; pixels are f.ci pairs apart. */
static void pair_row(const conv_i8_unit *u, const uint8_t *a, const uint8_t *b, int32_t *to) {
  const conv_i8_units *p = &u->job->p;
  const q8_input *x = &u->job->conv->x;
  int64_t c = p->g.channels, ci = p->f.ci;
  span s = row_span(p);
  int64_t n = s.last - s.first, end = s.lead + n;
  memset(to, 0, (size_t)(s.lead * ci) * 4);
  memset(to + end * ci, 0, (size_t)((p->columns - end) * ci) * 4);
  to += s.lead * ci;
  a = a ? a + s.first * c : NULL;
  b = b ? b + s.first * c : NULL;
  if (c == ci) {
    u->job->kernels->pair_i8(a, b, x->is_signed, x->zero_point, (size_t)(n * c), (int16_t *)to);
    return;
  }
  for (int64_t i = 0; i < n; i++, to += ci) {
    u->job->kernels->pair_i8(a ? a + i * c : NULL, b ? b + i * c : NULL, x->is_signed, x->zero_point, (size_t)c, (int16_t *)to);
    memset(to + c, 0, (size_t)(ci - c) * 4);
  }
}

static void pair_rows(const conv_i8_unit *u) {
  const conv_i8_units *p = &u->job->p;
  int64_t rows = npuc_conv_i8_input_rows(&p->g, u->rows);
  for (int64_t row = 0; row < rows; row += 2) {
    const uint8_t *a = npuc_conv_i8_source(u, 0, row), *b = row + 1 < rows ? npuc_conv_i8_source(u, 0, row + 1) : NULL;
    int32_t *to = (int32_t *)u->input + row / 2 * p->pitch;
    if (a || b) {
      pair_row(u, a, b, to);
    } else {
      memset(to, 0, (size_t)p->pitch * 4);
    }
  }
}

/* Where the unit's outputs go, channels last. */
uint8_t *npuc_conv_i8_output(const conv_i8_unit *u) {
  const kernel_window *g = &u->job->p.g;
  if (!u->job->conv->y_last) return u->y;
  return (uint8_t *)u->job->conv->y.data + ((u->sample * g->out[0] + u->depth) * g->out[1] + u->first) * g->out[2] * g->out_channels;
}

static void scatter_rows(const conv_i8_unit *u, int64_t o, int64_t channels) {
  const kernel_window *g = &u->job->p.g;
  int64_t volume = window_volume(g->out), pixels = u->rows * g->out[2];
  uint8_t *to =
      (uint8_t *)u->job->conv->y.data + (u->sample * g->out_channels + o) * volume + (u->depth * g->out[1] + u->first) * g->out[2];
  u->job->kernels->transpose_i8(u->y + o, (size_t)g->out_channels, (size_t)pixels, (size_t)channels, to, (size_t)volume);
}

static conv_i8_block block_of(const conv_i8_job *job, int64_t index) {
  const conv_i8_form *f = &job->p.f;
  int64_t co = f->depthwise ? job->conv->g.out_channels : f->co, within = index % f->blocks;
  conv_i8_block b = {.index = index, .group = index / f->blocks, .width = f->bytes ? (int)f->width : conv_i8_width(f->co, within)};
  b.channels = (int)least(b.width, co - within * f->width);
  b.o = b.group * co + within * f->width;
  b.rule = (rule_i8){.kind = job->kind,
                     .m = job->m + index * f->width,
                     .s = job->s + index * f->width,
                     .is_signed = job->conv->y.is_signed,
                     .zero_point = job->conv->y.zero_point,
                     .lo = job->conv->y.lo,
                     .hi = job->conv->y.hi};
  b.bias = job->bias + index * f->width;
  const int64_t taps = f->depthwise ? (f->bytes ? f->quads : 1) : f->runs * (f->bytes ? quads_padded((int32_t)f->quads) : f->pairs);
  b.weights = job->conv->packed + b.group * f->group_weights + within * f->width * taps;
  return b;
}

static void finish(const conv_i8_unit *u, const conv_i8_block *b, int64_t pixel, int64_t n) {
  size_t channels = (size_t)u->job->conv->g.out_channels;
  u->job->kernels->rule_i8(&b->rule, u->sums, (size_t)n, b->width, b->channels, npuc_conv_i8_output(u) + (size_t)pixel * channels + b->o,
                           channels);
}

static void dense_block(const conv_i8_unit *u, const conv_i8_block *b) {
  const conv_i8_units *p = &u->job->p;
  const kernel_set *kernels = u->job->kernels;
  const size_t channels = (size_t)u->job->conv->g.out_channels;
  dense_i8 t = {.x = (const int16_t *)u->input + b->group * p->f.ci,
                .at = u->at,
                .pixels = (size_t)(u->rows * p->g.out[2]),
                .rule = &b->rule,
                .channels = b->channels,
                .y = npuc_conv_i8_output(u) + b->o,
                .pitch = channels,
                .sums = u->sums,
                .sums_kernel = kernels->sums_i8,
                .rule_kernel = kernels->rule_i8};
  t.tile = (sums_i8){.width = b->width,
                     .runs = (int32_t)p->f.runs,
                     .pairs = (int32_t)p->f.pairs,
                     .offsets = u->job->offsets,
                     .weights = b->weights,
                     .bias = b->bias};
  kernels->dense_i8(&t);
}

static void depthwise_block(const conv_i8_unit *u, const conv_i8_block *b) {
  const conv_i8_units *p = &u->job->p;
  const kernel_window *g = &p->g;
  int64_t columns = g->out[2];
  depthwise_i8 t = {.step = (size_t)(g->stride[2] * p->f.ci), .width = b->width, .weights_step = (size_t)p->f.co, .bias = b->bias};
  for (int64_t row = 0; row < u->rows; row++) {
    bool odd = row * g->stride[1] % 2 != 0;
    t.taps = (int32_t)(odd ? p->f.pairs : p->f.runs);
    t.offsets = u->job->offsets + (odd ? p->f.runs : 0);
    t.weights = b->weights + (odd ? p->f.runs * p->f.co : 0);
    const int32_t *x = (const int32_t *)u->input + row * g->stride[1] / 2 * p->pitch + (b->index % p->f.blocks) * I8_WIDE;
    for (int64_t first = 0; first < columns; first += I8_RUN) {
      int64_t n = least(columns - first, I8_RUN);
      for (int64_t i = 0; i < n; i += I8_PIXELS) {
        t.pixels = (int)least(n - i, I8_PIXELS);
        t.sums = u->sums + i * b->width;
        t.x = x + (first + i) * (int64_t)t.step;
        u->job->kernels->depthwise_i8(&t);
      }
      finish(u, b, row * columns + first, n);
    }
  }
}

static void fill_pixels(const conv_i8_unit *u) {
  const conv_i8_units *p = &u->job->p;
  const kernel_window *g = &p->g;
  int32_t *at = u->at;
  for (int64_t row = 0; row < u->rows; row++) {
    int32_t start = (int32_t)(row * g->stride[1] * p->pitch), step = (int32_t)(g->stride[2] * g->channels);
    for (int64_t w = 0; w < g->out[2]; w++) *at++ = start + (int32_t)w * step;
  }
}

/* Blocks [first, last) of a unit, in channels-last memory. */
static void run_blocks(const conv_i8_unit *u, int64_t first, int64_t last) {
  const conv_i8_form *f = &u->job->p.f;
  if (f->bytes && !f->depthwise) {
    npuc_quads_i8(u, first, last);
    return;
  }
  if (!u->job->conv->x_last) gather_rows(u);
  if (f->bytes) {
    npuc_depthwise_i8(u, first, last);
    return;
  }
  if (f->depthwise) {
    pair_rows(u);
    for (int64_t b = first; b < last; b++) depthwise_block(u, &u->job->blocks[b]);
    return;
  }
  if (!widen_at_once(u)) widen_rows(u);
  if (f->winograd) {
    npuc_winograd_i8(u, first, last);
    return;
  }
  fill_pixels(u);
  for (int64_t b = first; b < last; b++) dense_block(u, &u->job->blocks[b]);
}

static void run_units(void *context, size_t begin, size_t end, size_t worker) {
  const conv_i8_job *job = context;
  const int64_t blocks = job->p.f.groups * job->p.f.blocks, parts = job->p.parts;
  for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
    conv_i8_unit u = unit_of(job, i / parts, worker);
    int64_t part = i % parts, first = part * blocks / parts, last = (part + 1) * blocks / parts;
    run_blocks(&u, first, last);
    for (int64_t b = first; b < last && !job->conv->y_last; b++) scatter_rows(&u, job->blocks[b].o, job->blocks[b].channels);
  }
}

void npuc_conv_i8(const kernel_set *kernels, thread_pool *pool, const conv_i8 *conv, void *scratch) {
  conv_i8_job job = {.kernels = kernels, .conv = conv};
  (void)plan_units(kernels, conv, npuc_pool_threads(pool), &job.p);
  size_t padded = (size_t)(job.p.f.groups * job.p.f.blocks * job.p.f.width), bytes = align64((int64_t)padded * 4);
  char *memory = scratch;
  job.bias = (int32_t *)(void *)memory;
  job.m = (int32_t *)(void *)(memory + bytes);
  job.s = (int32_t *)(void *)(memory + 2 * bytes);
  job.offsets = (int32_t *)(void *)(memory + 3 * bytes);
  job.blocks = (conv_i8_block *)(void *)(memory + 3 * bytes + align64((job.p.f.runs + job.p.f.pairs) * 4));
  job.threads = memory + job.p.shared_bytes;
  job.flips = job.p.f.bytes && (job.p.f.depthwise ? conv->x.is_signed : npuc_quads_i8_flips(kernels, conv->x.is_signed));
  job.kind = npuc_rule_kind(conv->scale.m, conv->scale.s, conv->g.out_channels);
  fill_scales(&job);
  fill_offsets(&job);
  for (int64_t b = 0; b < job.p.f.groups * job.p.f.blocks; b++) job.blocks[b] = block_of(&job, b);
  npuc_parallel_for(pool, (size_t)(job.p.g.batch * job.p.g.out[0] * job.p.units * job.p.parts), 0, run_units, &job);
}

kernel_window npuc_gemm_i8_window(int64_t rows, int64_t depth, int64_t outputs) {
  return (kernel_window){.batch = 1,
                         .channels = depth,
                         .out_channels = outputs,
                         .group = 1,
                         .in = {1, rows, 1},
                         .out = {1, rows, 1},
                         .kernel = {1, 1, 1},
                         .stride = {1, 1, 1},
                         .dilation = {1, 1, 1}};
}
