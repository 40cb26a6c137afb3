/* SPDX-License-Identifier: Apache-2.0 */
/* float32 convolution. Output channels are cut into units of one to three blocks of 8, output pixels of all samples into runs; a unit
 * over a run is one kernel call, and the unit of parallel work. A run's addresses are worked out once for all units.
 *
 * An input without the border that the window needs, and an output that is planar, are staged: one sample at a time goes through scratch
 * memory in the layout of the tiles. */
#include "kernels/conv.h"

#include <math.h>
#include <string.h>

enum {
  RUN_MOST = 240, /* pixels of a run; a multiple of the tiles' widths */
  RUN_LEAST = 24,
  RUN_FLOATS = 48 * 1024, /* of input that a run may touch: a part of the second cache */
  VECTOR_SLACK = 16       /* floats readable past packed weights and biases: the widest vector may read over their end */
};

static size_t align64(size_t bytes) { return (bytes + 63) / 64 * 64; }
static bool is_depthwise(const conv_weights *w) { return w->channels == 1 && w->group == w->out_channels && w->group > 1; }

/* -- units of output channels -- */

/* Channels [first, first + channels) lie in adjacent blocks; all are of one group, but for depthwise. */
typedef struct unit {
  int64_t first, channels;
  int64_t weights; /* element of the packed weights: [taps, 8 * blocks] */
} unit;

static int64_t unit_taps(const conv_weights *w) { return is_depthwise(w) ? w->volume : w->channels * w->volume; }
static int64_t unit_blocks(const unit *u) { return (u->first % IMAGE_BLOCK + u->channels + IMAGE_BLOCK - 1) / IMAGE_BLOCK; }

/* Whole blocks go in pairs, the last three together; a group's channels that share a block with another group's go alone. */
static int64_t unit_size(const conv_weights *w, int64_t first) {
  int64_t per_group = w->out_channels / w->group, lane = first % IMAGE_BLOCK, left = w->out_channels - first;
  if (is_depthwise(w)) return left < IMAGE_BLOCK ? left : IMAGE_BLOCK;
  int64_t room = per_group - first % per_group;
  if (lane || (room < IMAGE_BLOCK && room < left)) return room < IMAGE_BLOCK - lane ? room : IMAGE_BLOCK - lane;
  int64_t blocks = room == left ? (room + IMAGE_BLOCK - 1) / IMAGE_BLOCK : room / IMAGE_BLOCK;
  int64_t taken = blocks == 1 || blocks == 3 ? blocks : 2;
  return room < taken * IMAGE_BLOCK ? room : taken * IMAGE_BLOCK;
}

static unit first_unit(const conv_weights *w) { return (unit){.channels = unit_size(w, 0)}; }

static bool next_unit(const conv_weights *w, unit *u) {
  u->weights += unit_taps(w) * unit_blocks(u) * IMAGE_BLOCK;
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
  return (size_t)u.weights + VECTOR_SLACK;
}

void npuc_conv_f32_pack(const conv_weights *w, const void *from, float *out_packed) {
  int64_t taps = unit_taps(w);
  unit u = first_unit(w);
  do {
    int64_t width = unit_blocks(&u) * IMAGE_BLOCK, lane = u.first % IMAGE_BLOCK;
    float *to = out_packed + u.weights;
    memset(to, 0, (size_t)(taps * width) * sizeof *to);
    for (int64_t c = 0; c < u.channels; c++) {
      const char *row = (const char *)from + (u.first + c) * taps * (int64_t)sizeof *to;
      for (int64_t k = 0; k < taps; k++) memcpy(&to[k * width + lane + c], row + k * (int64_t)sizeof *to, sizeof *to);
    }
  } while (next_unit(w, &u));
  memset(out_packed + u.weights, 0, VECTOR_SLACK * sizeof *out_packed);
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

static bool make_staging(const conv_f32 *conv, staging *out) {
  const kernel_window *g = &conv->g;
  conv_weights w = conv_weights_of(g);
  image_border need = npuc_conv_border(g);
  staging s = {.x_image = conv->x_image, .y_image = conv->y_image, .y = !conv->y_image.blocked};
  s.x = is_depthwise(&w) && !conv->x_image.blocked;
  for (int a = 0; a < WINDOW_AXES; a++) {
    if (conv->x_image.border.before[a] < need.before[a] || conv->x_image.border.after[a] < need.after[a]) s.x = true;
  }
  if (s.x) {
    bool fits = is_depthwise(&w) || conv->x_image.blocked ? npuc_image_blocked(g->channels, g->in, &need, &s.x_image)
                                                          : npuc_image_planar(g->channels, g->in, &need, &s.x_image);
    if (!fits) return false;
    s.x_bytes = align64((size_t)s.x_image.sample * sizeof(float));
  }
  if (s.y && !npuc_image_blocked(g->out_channels, g->out, NULL, &s.y_image)) return false;
  s.bytes = s.x_bytes + (s.y ? align64((size_t)s.y_image.sample * sizeof(float)) : 0);
  *out = s;
  return true;
}

static size_t offset_count(const kernel_window *g) { return (size_t)(g->channels * window_volume(g->kernel)); }
static size_t bias_floats(const kernel_window *g) {
  return (size_t)(g->out_channels + IMAGE_BLOCK - 1) / IMAGE_BLOCK * IMAGE_BLOCK + VECTOR_SLACK;
}
static size_t tables_bytes(const kernel_window *g) {
  return align64(offset_count(g) * sizeof(int32_t)) + align64(bias_floats(g) * sizeof(float));
}

bool npuc_conv_f32_scratch(const conv_f32 *conv, size_t threads, size_t *out_bytes) {
  staging s;
  if (!make_staging(conv, &s) || offset_count(&conv->g) > INT32_MAX) return false;
  *out_bytes = tables_bytes(&conv->g) + s.bytes * (conv->g.batch >= (int64_t)threads ? threads : 1);
  return true;
}

/* -- tables -- */

/* Where each tap lies from a pixel's first, in weight order: channel, kernel axes. Of all channels, so that a group is a part of it. */
static void fill_offsets(const kernel_window *g, const image *x, int32_t *offsets) {
  for (int64_t c = 0; c < g->channels; c++) {
    int64_t channel = c / IMAGE_BLOCK * x->block + c % IMAGE_BLOCK * x->lane;
    for (int64_t d = 0; d < g->kernel[0]; d++) {
      for (int64_t h = 0; h < g->kernel[1]; h++) {
        int64_t row = channel + d * g->dilation[0] * x->step[0] + h * g->dilation[1] * x->step[1];
        for (int64_t w = 0; w < g->kernel[2]; w++) *offsets++ = (int32_t)(row + w * g->dilation[2] * x->step[2]);
      }
    }
  }
}

typedef struct places {
  int64_t x[RUN_MOST], y[RUN_MOST], add[RUN_MOST];
} places;

/* Addresses of the pixels [first, last) of all samples, row-major. */
static void fill_places(const conv_f32 *conv, int64_t first, int64_t last, places *p) {
  const kernel_window *g = &conv->g;
  const image *x = &conv->x_image, *y = &conv->y_image, *add = &conv->add_image;
  int64_t w = first % g->out[2], rest = first / g->out[2], h = rest % g->out[1], d = rest / g->out[1] % g->out[0],
          n = rest / g->out[1] / g->out[0];
  for (int64_t i = 0; i < last - first;) {
    int64_t x_row = n * x->sample + d * g->stride[0] * x->step[0] + h * g->stride[1] * x->step[1], x_step = g->stride[2] * x->step[2];
    int64_t y_row = n * y->sample + d * y->step[0] + h * y->step[1], add_row = n * add->sample + d * add->step[0] + h * add->step[1];
    int64_t count = last - first - i < g->out[2] - w ? last - first - i : g->out[2] - w;
    for (int64_t j = 0; j < count; j++) {
      p->x[i + j] = x_row + (w + j) * x_step;
      p->y[i + j] = y_row + (w + j) * y->step[2];
      p->add[i + j] = add_row + (w + j) * add->step[2];
    }
    i += count;
    w = 0;
    if (++h < g->out[1]) continue;
    h = 0;
    if (++d < g->out[0]) continue;
    d = 0;
    n++;
  }
}

/* -- runs -- */

typedef struct conv_job {
  const kernel_set *kernels;
  conv_f32 conv; /* nothing staged */
  conv_weights weights;
  const int32_t *offsets;
  const float *bias; /* padded to blocks */
  int64_t pixels, run, units, units_per_item;
} conv_job;

static tile_f32 unit_tile(const conv_job *j, const unit *u) {
  const conv_f32 *c = &j->conv;
  bool depthwise = is_depthwise(&j->weights);
  int64_t block = u->first / IMAGE_BLOCK, end = u->first + u->channels;
  int64_t in = u->first / (j->weights.out_channels / j->weights.group) * j->weights.channels; /* the group's first channel */
  tile_f32 t = {.taps = (size_t)unit_taps(&j->weights),
                .weights = c->packed + u->weights,
                .blocks = (int)unit_blocks(u),
                .y = c->y + c->y_image.origin + block * c->y_image.block,
                .y_block = (size_t)c->y_image.block,
                .add = c->add ? c->add + c->add_image.origin + block * c->add_image.block : NULL,
                .add_block = (size_t)c->add_image.block,
                .start = j->bias + block * IMAGE_BLOCK,
                .first_lane = (int)(u->first % IMAGE_BLOCK),
                .end_lane = end == j->weights.out_channels ? IMAGE_BLOCK : (int)((end - 1) % IMAGE_BLOCK) + 1,
                .clip_lo = c->clip_lo,
                .clip_hi = c->clip_hi};
  t.w_step = (size_t)t.blocks * IMAGE_BLOCK;
  t.x = c->x + c->x_image.origin + (depthwise ? block * c->x_image.block : 0);
  for (int a = 0; a < WINDOW_AXES; a++) t.x -= c->g.begin[a] * c->x_image.step[a];
  t.offsets = j->offsets + (depthwise ? 0 : in * j->weights.volume);
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
    int64_t first = item / columns * j->run, last = j->pixels - first < j->run ? j->pixels : first + j->run;
    int64_t from = item % columns * j->units_per_item, i = 0;
    fill_places(&j->conv, first, last, &p);
    unit u = first_unit(&j->weights);
    do {
      if (i++ < from) continue;
      tile_f32 t = unit_tile(j, &u);
      t.x_at = p.x;
      t.y_at = p.y;
      t.add_at = p.add;
      kernel(&t, (size_t)(last - first));
    } while (i < from + j->units_per_item && next_unit(&j->weights, &u));
  }
}

/* The samples of `j->conv`, none of which is staged. */
static void run_job(thread_pool *pool, conv_job *j) {
  const kernel_window *g = &j->conv.g;
  int64_t threads = (int64_t)npuc_pool_threads(pool), floats = is_depthwise(&j->weights) ? 1 : g->channels * g->stride[1] * g->stride[2];
  j->pixels = g->batch * window_volume(g->out);
  j->run = RUN_FLOATS / floats / 12 * 12;
  if (j->run > RUN_MOST) j->run = RUN_MOST;
  if (j->run < RUN_LEAST) j->run = RUN_LEAST;
  j->units = count_units(&j->weights);
  int64_t runs = (j->pixels + j->run - 1) / j->run, wanted = threads == 1 ? 1 : (8 * threads + runs - 1) / runs;
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

static int64_t load_units(const staging *s) { return s->x_image.blocked ? image_blocks(&s->x_image) : s->x_image.channels; }

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
    if (s->stage->x) load_sample(s, n, (float *)(void *)memory, 0, load_units(s->stage));
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
    if (s->stage->x) npuc_parallel_for(pool, (size_t)load_units(s->stage), 0, load_part, s);
    run_job(pool, &j);
    if (s->stage->y) npuc_parallel_for(pool, (size_t)image_blocks(&s->stage->y_image), 0, store_part, s);
  }
}

void npuc_conv_f32(const kernel_set *kernels, thread_pool *pool, const conv_f32 *conv, void *scratch) {
  const kernel_window *g = &conv->g;
  staging stage;
  if (!make_staging(conv, &stage)) return; /* npuc_conv_f32_scratch has said so */
  int32_t *offsets = scratch;
  float *bias = (float *)(void *)((char *)scratch + align64(offset_count(g) * sizeof *offsets));
  fill_offsets(g, &stage.x_image, offsets);
  memset(bias, 0, bias_floats(g) * sizeof *bias);
  if (conv->bias) memcpy(bias, conv->bias, (size_t)g->out_channels * sizeof *bias);
  conv_job job = {.kernels = kernels, .conv = *conv, .weights = conv_weights_of(g), .offsets = offsets, .bias = bias};
  if (stage.x || stage.y) {
    staged_job s = {.job = &job, .stage = &stage, .memory = (char *)scratch + tables_bytes(g)};
    run_staged(pool, &s);
  } else {
    run_job(pool, &job);
  }
}
