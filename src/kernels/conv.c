/* SPDX-License-Identifier: Apache-2.0 */
/* float32 convolution. Output channels are cut into units of one to three blocks, output pixels of all samples into runs; a unit
 * over a run is one kernel call, and the unit of parallel work. A run's addresses are worked out once for all units.
 *
 * An input without the border that the window needs, and an output that is planar, are staged: one sample at a time goes through scratch
 * memory in the layout of the tiles. */
#include "kernels/conv.h"

#include <math.h>
#include <string.h>

enum {
  RUN_MOST = 120, /* pairs of pixels of a run; a multiple of the tiles' widths */
  RUN_LEAST = 12,
  MOST_LANES = 16,
  RUN_FLOATS = 48 * 1024 /* of input that a run may touch: a part of the second cache */
};

static size_t align64(size_t bytes) { return (bytes + 63) / 64 * 64; }
static bool is_depthwise(const conv_weights *w) { return w->channels == 1 && w->group == w->out_channels && w->group > 1; }

/* -- units of output channels -- */

/* Channels [first, first + channels) lie in adjacent blocks; all are of one group, but for depthwise. */
typedef struct unit {
  int64_t first, channels;
  int64_t weights; /* element of the packed weights: [taps, lanes * blocks] */
} unit;

static int64_t unit_taps(const conv_weights *w) { return is_depthwise(w) ? w->volume : w->channels * w->volume; }

/* Whole blocks of the channels, and their lane in the next; lanes is one of two numbers, and no division. */
static int64_t whole_blocks(const conv_weights *w, int64_t channels) { return w->lanes == 16 ? channels / 16 : channels / 8; }
static int64_t lane_of(const conv_weights *w, int64_t channel) { return channel - whole_blocks(w, channel) * w->lanes; }
static int64_t unit_blocks(const conv_weights *w, const unit *u) {
  return whole_blocks(w, lane_of(w, u->first) + u->channels + w->lanes - 1);
}

/* Whole blocks go in pairs, the last three together; a group's channels that share a block with another group's go alone. */
static int64_t unit_size(const conv_weights *w, int64_t first) {
  int64_t lanes = w->lanes, lane = lane_of(w, first), left = w->out_channels - first, room = left;
  if (is_depthwise(w)) return left < lanes ? left : lanes;
  if (w->group > 1) room = w->out_channels / w->group - first % (w->out_channels / w->group);
  if (lane || (room < lanes && room < left)) return room < lanes - lane ? room : lanes - lane;
  int64_t blocks = whole_blocks(w, room == left ? room + lanes - 1 : room);
  int64_t taken = blocks == 1 || blocks == 3 ? blocks : 2;
  return room < taken * lanes ? room : taken * lanes;
}

static unit first_unit(const conv_weights *w) { return (unit){.channels = unit_size(w, 0)}; }

static bool next_unit(const conv_weights *w, unit *u) {
  u->weights += unit_taps(w) * unit_blocks(w, u) * w->lanes;
  u->first += u->channels;
  if (u->first >= w->out_channels) return false;
  u->channels = unit_size(w, u->first);
  return true;
}

static int64_t count_units(const conv_weights *w) {
  int64_t n = 1;
  for (unit u = first_unit(w); next_unit(w, &u);) n++;
  return n;
}

size_t npuc_conv_f32_packed_elements(const conv_weights *w) {
  unit u = first_unit(w);
  while (next_unit(w, &u)) continue;
  return (size_t)u.weights;
}

void npuc_conv_f32_pack(const conv_weights *w, const void *from, float *out_packed) {
  int64_t taps = unit_taps(w);
  unit u = first_unit(w);
  do {
    int64_t width = unit_blocks(w, &u) * w->lanes, lane = lane_of(w, u.first);
    float *to = out_packed + u.weights;
    memset(to, 0, (size_t)(taps * width) * sizeof *to);
    for (int64_t c = 0; c < u.channels; c++) {
      const char *row = (const char *)from + (u.first + c) * taps * (int64_t)sizeof *to;
      for (int64_t k = 0; k < taps; k++) memcpy(&to[k * width + lane + c], row + k * (int64_t)sizeof *to, sizeof *to);
    }
  } while (next_unit(w, &u));
}

/* -- staging -- */

image_border npuc_conv_border(const kernel_window *g) {
  image_border b;
  for (int a = 0; a < WINDOW_AXES; a++) {
    int64_t reach = (g->out[a] - 1) * g->stride[a] + (g->kernel[a] - 1) * g->dilation[a] + 1 - g->begin[a];
    b.before[a] = g->begin[a];
    b.after[a] = reach > g->in[a] ? reach - g->in[a] : 0;
  }
  return b;
}

typedef struct staging {
  bool x, y; /* whether a sample goes through scratch memory */
  image x_image, y_image;
  size_t x_bytes, bytes; /* of one worker */
} staging;

static bool make_staging(const kernel_set *kernels, const conv_f32 *conv, staging *out) {
  const kernel_window *g = &conv->g;
  conv_weights w = conv_weights_of(kernels, g);
  image_border need = npuc_conv_border(g);
  staging s = {.x_image = conv->x_image, .y_image = conv->y_image, .y = !image_is_blocked(&conv->y_image)};
  s.x = is_depthwise(&w) && !image_is_blocked(&conv->x_image);
  for (int a = 0; a < WINDOW_AXES; a++) {
    if (conv->x_image.border.before[a] < need.before[a] || conv->x_image.border.after[a] < need.after[a]) s.x = true;
  }
  if (s.x) {
    int64_t lanes = is_depthwise(&w) ? w.lanes : conv->x_image.lanes;
    bool fits = lanes > 1 ? npuc_image_blocked(g->channels, lanes, g->in, &need, &s.x_image)
                          : npuc_image_planar(g->channels, g->in, &need, &s.x_image);
    if (!fits) return false;
    s.x_bytes = align64((size_t)s.x_image.sample * sizeof(float));
  }
  if (s.y && !npuc_image_blocked(g->out_channels, w.lanes, g->out, NULL, &s.y_image)) return false;
  s.bytes = s.x_bytes + (s.y ? align64((size_t)s.y_image.sample * sizeof(float)) : 0);
  *out = s;
  return true;
}

/* Channels whose taps have offsets of their own: of a depthwise block all lanes have one. */
static int64_t offset_channels(const kernel_window *g) { return g->group == g->channels && g->group == g->out_channels ? 1 : g->channels; }
static size_t offset_count(const kernel_window *g) { return (size_t)(offset_channels(g) * window_volume(g->kernel)); }
static size_t bias_floats(const kernel_window *g) { return ((size_t)g->out_channels + MOST_LANES - 1) / MOST_LANES * MOST_LANES; }
static size_t tables_bytes(const kernel_window *g) {
  return align64(offset_count(g) * sizeof(int32_t)) + align64(bias_floats(g) * sizeof(float));
}

bool npuc_conv_f32_scratch(const kernel_set *kernels, const conv_f32 *conv, size_t threads, size_t *out_bytes) {
  staging s;
  if (!make_staging(kernels, conv, &s) || offset_count(&conv->g) > INT32_MAX) return false;
  *out_bytes = tables_bytes(&conv->g) + s.bytes * (conv->g.batch >= (int64_t)threads ? threads : 1);
  return true;
}

/* -- tables -- */

/* Where each tap lies from a pixel's first, in weight order: channel, kernel axes. Of all channels, so that a group is a part of it. */
static void fill_offsets(const kernel_window *g, const image *x, int32_t *offsets) {
  int64_t channels = offset_channels(g), c = 0;
  for (int64_t block = 0; c < channels; block++) {
    for (int64_t lane = 0; lane < x->lanes && c < channels; lane++, c++) {
      for (int64_t d = 0; d < g->kernel[0]; d++) {
        for (int64_t h = 0; h < g->kernel[1]; h++) {
          int64_t row = block * x->block + lane + d * g->dilation[0] * x->step[0] + h * g->dilation[1] * x->step[1];
          for (int64_t w = 0; w < g->kernel[2]; w++) *offsets++ = (int32_t)(row + w * g->dilation[2] * x->step[2]);
        }
      }
    }
  }
}

/* -- pixels -- */

/* An axis of the pixels: how far its next one is in each image. */
typedef struct pixel_axis {
  int64_t size, x, y, add;
} pixel_axis;

/* The pixels of all samples as rows of neighbours, each row cut into pairs; with an odd length its last pair has one pixel that is the pair's
 * before, and is skipped. Axes that are one step on from another are part of it: where nothing has a border, a sample is one row. */
typedef struct pixel_rows {
  pixel_axis row, outer[WINDOW_AXES]; /* outer: row-major, unused ones of size 1 */
  int64_t pairs_of_row, pairs;
  bool adds; /* there is an add image */
} pixel_rows;

static bool continues(const pixel_axis *inner, const pixel_axis *outer, bool add) {
  return outer->x == inner->x * inner->size && outer->y == inner->y * inner->size && (!add || outer->add == inner->add * inner->size);
}

static pixel_rows rows_of(const conv_f32 *conv) {
  const kernel_window *g = &conv->g;
  const image *x = &conv->x_image, *y = &conv->y_image, *add = &conv->add_image;
  pixel_axis axes[1 + WINDOW_AXES] = {{g->batch, x->sample, y->sample, add->sample}};
  for (int a = 0; a < WINDOW_AXES; a++) axes[1 + a] = (pixel_axis){g->out[a], g->stride[a] * x->step[a], y->step[a], add->step[a]};
  pixel_rows r = {.adds = conv->add, .row = {.size = 1}, .outer = {{.size = 1}, {.size = 1}, {.size = 1}}};
  int outers = 0;
  for (int a = WINDOW_AXES; a >= 0; a--) {
    pixel_axis *inner = outers ? &r.outer[WINDOW_AXES - outers] : &r.row;
    if (axes[a].size == 1) continue;
    if (inner->size == 1) {
      *inner = axes[a];
    } else if (continues(inner, &axes[a], conv->add)) {
      inner->size *= axes[a].size;
    } else {
      r.outer[WINDOW_AXES - ++outers] = axes[a];
    }
  }
  r.pairs_of_row = (r.row.size + 1) / 2;
  r.pairs = r.pairs_of_row * r.outer[0].size * r.outer[1].size * r.outer[2].size;
  return r;
}

typedef struct places {
  int64_t x[RUN_MOST], y[RUN_MOST], add[RUN_MOST];
  bool skip[RUN_MOST];
} places;

static void count_up(int64_t *to, int64_t n, int64_t start, int64_t step) {
  for (int64_t i = 0; i < n; i++, start += step) to[i] = start;
}

/* Addresses of the pairs [first, last). */
static void fill_places(const pixel_rows *r, int64_t first, int64_t last, places *p) {
  int64_t row = first / r->pairs_of_row, pair = first % r->pairs_of_row;
  for (int64_t i = 0; i < last - first; row++, pair = 0) {
    int64_t x = 0, y = 0, add = 0, rest = row;
    for (int a = WINDOW_AXES - 1; a >= 0; a--) {
      int64_t at = rest % r->outer[a].size;
      rest /= r->outer[a].size;
      x += at * r->outer[a].x;
      y += at * r->outer[a].y;
      add += at * r->outer[a].add;
    }
    int64_t count = last - first - i < r->pairs_of_row - pair ? last - first - i : r->pairs_of_row - pair;
    count_up(p->x + i, count, x + 2 * pair * r->row.x, 2 * r->row.x);
    count_up(p->y + i, count, y + 2 * pair * r->row.y, 2 * r->row.y);
    if (r->adds) count_up(p->add + i, count, add + 2 * pair * r->row.add, 2 * r->row.add);
    memset(p->skip + i, 0, (size_t)count * sizeof *p->skip);
    i += count;
    bool odd = r->row.size % 2 && pair + count == r->pairs_of_row;
    p->skip[i - 1] = odd;
    if (!odd || r->row.size == 1) continue; /* of a row of one, both are that one */
    p->x[i - 1] -= r->row.x;
    p->y[i - 1] -= r->row.y;
    if (r->adds) p->add[i - 1] -= r->row.add;
  }
}

/* -- runs -- */

typedef struct conv_job {
  const kernel_set *kernels;
  conv_f32 conv; /* nothing staged */
  conv_weights weights;
  const int32_t *offsets;
  const float *bias; /* padded to blocks */
  pixel_rows rows;
  int64_t run, units, units_per_item;
} conv_job;

static tile_f32 unit_tile(const conv_job *j, const unit *u) {
  const conv_f32 *c = &j->conv;
  bool depthwise = is_depthwise(&j->weights);
  int64_t lanes = j->weights.lanes, block = whole_blocks(&j->weights, u->first), end = u->first + u->channels;
  bool one = j->rows.row.size == 1, last = end == j->weights.out_channels;
  int64_t blocks = unit_blocks(&j->weights, u);
  size_t unit_elements = (size_t)(unit_taps(&j->weights) * blocks * lanes);
  int64_t taps = j->weights.group == 1 || depthwise ? 0 : u->first / (j->weights.out_channels / j->weights.group) * unit_taps(&j->weights);
  tile_f32 t = {.taps = (size_t)unit_taps(&j->weights),
                .weights = c->packed + u->weights,
                .ahead = c->packed + (size_t)u->weights + unit_elements,
                .ahead_bytes = last ? 0 : unit_elements * sizeof(float),
                .lanes = (int)lanes,
                .blocks = (int)blocks,
                .x_step = one ? 0 : j->rows.row.x,
                .y_step = one ? 0 : j->rows.row.y,
                .add_step = one ? 0 : j->rows.row.add,
                .y = c->y + c->y_image.origin + block * c->y_image.block,
                .y_block = (size_t)c->y_image.block,
                .add = c->add ? c->add + c->add_image.origin + block * c->add_image.block : NULL,
                .add_block = (size_t)c->add_image.block,
                .start = j->bias + block * lanes,
                .first_lane = (int)lane_of(&j->weights, u->first),
                .end_lane = last ? (int)lanes : (int)lane_of(&j->weights, end - 1) + 1,
                .clip_lo = c->clip_lo,
                .clip_hi = c->clip_hi};
  int64_t kernel = c->g.kernel[2], next = c->g.dilation[2] * c->x_image.step[2];
  t.run = (kernel == 3 || kernel == 5) && t.x_step == next ? (int)kernel : 1;
  t.w_step = (size_t)(t.blocks * t.lanes);
  t.x = c->x + c->x_image.origin + (depthwise ? block * c->x_image.block : 0);
  for (int a = 0; a < WINDOW_AXES; a++) t.x -= c->g.begin[a] * c->x_image.step[a];
  t.offsets = j->offsets + taps; /* of the group's first channel */
  return t;
}

/* Items: runs, outer, by units. */
static void run_items(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const conv_job *j = context;
  int64_t columns = (j->units + j->units_per_item - 1) / j->units_per_item;
  tile_f32_kernel *kernel = is_depthwise(&j->weights) ? j->kernels->depthwise_f32 : j->kernels->conv_f32;
  places p;
  for (int64_t item = (int64_t)begin; item < (int64_t)end; item++) {
    int64_t first = item / columns * j->run, last = j->rows.pairs - first < j->run ? j->rows.pairs : first + j->run;
    int64_t from = item % columns * j->units_per_item, i = 0;
    fill_places(&j->rows, first, last, &p);
    unit u = first_unit(&j->weights);
    do {
      if (i++ < from) continue;
      tile_f32 t = unit_tile(j, &u);
      t.x_at = p.x;
      t.y_at = p.y;
      t.add_at = p.add;
      t.skip = j->rows.row.size % 2 ? p.skip : NULL;
      kernel(&t, (size_t)(last - first));
    } while (i < from + j->units_per_item && next_unit(&j->weights, &u));
  }
}

/* The samples of `j->conv`, none of which is staged. */
static void run_job(thread_pool *pool, conv_job *j) {
  const kernel_window *g = &j->conv.g;
  int64_t threads = (int64_t)npuc_pool_threads(pool), floats = is_depthwise(&j->weights) ? 1 : g->channels * g->stride[1] * g->stride[2];
  j->rows = rows_of(&j->conv);
  if (j->rows.pairs == 0) return;
  if (floats < 1) floats = 1; /* no channels: the bias alone */
  j->run = RUN_FLOATS / 2 / floats / 12 * 12;
  if (j->run > RUN_MOST) j->run = RUN_MOST;
  if (j->run < RUN_LEAST) j->run = RUN_LEAST;
  j->units = count_units(&j->weights);
  int64_t runs = (j->rows.pairs + j->run - 1) / j->run, wanted = threads == 1 ? 1 : (8 * threads + runs - 1) / runs;
  j->units_per_item = wanted >= j->units ? 1 : (j->units + wanted - 1) / wanted;
  int64_t columns = (j->units + j->units_per_item - 1) / j->units_per_item;
  npuc_parallel_for(pool, (size_t)(runs * columns), 1, run_items, j);
}

/* -- samples through scratch memory -- */

typedef struct staged_job {
  const conv_job *job;
  const staging *stage;
  char *memory;
  int64_t sample; /* the one that all threads share */
} staged_job;

static void load_sample(const staged_job *s, int64_t n, float *to, int64_t first, int64_t last) {
  const conv_f32 *c = &s->job->conv;
  npuc_image_copy(s->job->kernels, &c->x_image, c->x + n * c->x_image.sample, &s->stage->x_image, to, first, last);
}

static void store_sample(const staged_job *s, int64_t n, const float *from, int64_t first, int64_t last) {
  const conv_f32 *c = &s->job->conv;
  npuc_image_copy(s->job->kernels, &s->stage->y_image, from, &c->y_image, c->y + n * c->y_image.sample, first, last);
}

/* The job of sample n, between the staged images in `memory`. */
static conv_job sample_job(const staged_job *s, int64_t n, char *memory) {
  conv_job j = *s->job;
  conv_f32 *c = &j.conv;
  c->g.batch = 1;
  c->x = s->stage->x ? (const float *)(const void *)memory : c->x + n * c->x_image.sample;
  c->x_image = s->stage->x_image;
  c->y = s->stage->y ? (float *)(void *)(memory + s->stage->x_bytes) : c->y + n * c->y_image.sample;
  if (c->add) c->add += n * c->add_image.sample;
  c->y_image = s->stage->y_image;
  return j;
}

static void whole_samples(void *context, size_t begin, size_t end, size_t worker) {
  const staged_job *s = context;
  char *memory = s->memory + worker * s->stage->bytes;
  for (int64_t n = (int64_t)begin; n < (int64_t)end; n++) {
    conv_job j = sample_job(s, n, memory);
    if (s->stage->x) load_sample(s, n, (float *)(void *)memory, 0, image_blocks(&s->stage->x_image));
    run_job(NULL, &j);
    if (s->stage->y) store_sample(s, n, j.conv.y, 0, image_blocks(&s->stage->y_image));
  }
}

static void load_part(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const staged_job *s = context;
  load_sample(s, s->sample, (float *)(void *)s->memory, (int64_t)begin, (int64_t)end);
}

static void store_part(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const staged_job *s = context;
  store_sample(s, s->sample, (const float *)(const void *)(s->memory + s->stage->x_bytes), (int64_t)begin, (int64_t)end);
}

static void run_staged(thread_pool *pool, staged_job *s) {
  int64_t batch = s->job->conv.g.batch;
  if (batch >= (int64_t)npuc_pool_threads(pool)) {
    npuc_parallel_for(pool, (size_t)batch, 0, whole_samples, s);
    return;
  }
  for (s->sample = 0; s->sample < batch; s->sample++) {
    conv_job j = sample_job(s, s->sample, s->memory);
    if (s->stage->x) npuc_parallel_for(pool, (size_t)image_blocks(&s->stage->x_image), 0, load_part, s);
    run_job(pool, &j);
    if (s->stage->y) npuc_parallel_for(pool, (size_t)image_blocks(&s->stage->y_image), 0, store_part, s);
  }
}

void npuc_conv_f32(const kernel_set *kernels, thread_pool *pool, const conv_f32 *conv, void *scratch) {
  const kernel_window *g = &conv->g;
  staging stage;
  if (!make_staging(kernels, conv, &stage)) return; /* npuc_conv_f32_scratch has said so */
  int32_t *offsets = scratch;
  float *bias = (float *)(void *)((char *)scratch + align64(offset_count(g) * sizeof *offsets));
  fill_offsets(g, &stage.x_image, offsets);
  memset(bias, 0, bias_floats(g) * sizeof *bias);
  if (conv->bias) memcpy(bias, conv->bias, (size_t)g->out_channels * sizeof *bias);
  conv_job job = {.kernels = kernels, .conv = *conv, .weights = conv_weights_of(kernels, g), .offsets = offsets, .bias = bias};
  if (stage.x || stage.y) {
    staged_job s = {.job = &job, .stage = &stage, .memory = (char *)scratch + tables_bytes(g)};
    run_staged(pool, &s);
  } else {
    run_job(pool, &job);
  }
}
