/* SPDX-License-Identifier: Apache-2.0 */
/* Geometry and the walk over tiles: shared by float and integer convolutions. Samples go to threads whole where there are enough of
 * them (each thread pads into memory of its own); else the threads share one sample's padding, then its tiles. */
#include "kernels/conv_layout.h"

#include <string.h>

enum { TILE_RUN = 24 }; /* vectors of one channel block before the next block: their input stays in the first cache */

static bool is_pointwise(const kernel_window *g) {
  for (int a = 0; a < WINDOW_AXES; a++) {
    if (g->kernel[a] != 1 || g->stride[a] != 1 || g->begin[a] != 0 || g->out[a] != g->in[a]) return false;
  }
  return true;
}

bool npuc_conv_layout(const kernel_window *g, bool pair, int32_t lanes, conv_layout *out_layout) {
  conv_layout l = {.g = *g};
  l.cells = pair ? (g->channels / g->group + 1) / 2 : g->channels / g->group;
  l.direct = !pair && is_pointwise(g) && window_volume(g->in) >= lanes;
  if (l.direct) {
    int64_t pixels = window_volume(g->in);
    for (int a = 0; a < 2; a++) l.g.in[a] = l.g.out[a] = 1;
    l.g.in[2] = l.g.out[2] = pixels;
    l.rows[0] = l.rows[1] = 1;
    l.phase = l.pitch = l.plane = pixels;
  } else {
    for (int a = 0; a < 2; a++) l.rows[a] = (g->out[a] - 1) * g->stride[a] + (g->kernel[a] - 1) * g->dilation[a] + 1;
    l.phase = g->out[2] + (g->kernel[2] - 1) * g->dilation[2] / g->stride[2];
    l.pitch = l.phase * g->stride[2];
    l.plane = l.rows[0] * l.rows[1] * l.pitch;
  }
  l.taps = l.cells * window_volume(g->kernel);
  l.sample = l.cells * g->group * l.plane + CONV_SLACK;
  *out_layout = l;
  return l.cells * l.plane < INT32_MAX;
}

void npuc_conv_offsets(const conv_layout *l, int32_t *offsets) {
  const kernel_window *g = &l->g;
  for (int64_t cell = 0; cell < l->cells; cell++) {
    for (int64_t d = 0; d < g->kernel[0]; d++) {
      for (int64_t h = 0; h < g->kernel[1]; h++) {
        for (int64_t w = 0; w < g->kernel[2]; w++) {
          int64_t along = w * g->dilation[2];
          *offsets++ = (int32_t)(cell * l->plane + conv_row_at(l, d * g->dilation[0], h * g->dilation[1]) +
                                 along % g->stride[2] * l->phase + along / g->stride[2]);
        }
      }
    }
  }
}

static int64_t row_vectors(const conv_layout *l, int32_t lanes) { return (l->g.out[2] + lanes - 1) / lanes; }

int64_t npuc_conv_vectors(const conv_layout *l, int32_t lanes) { return l->g.out[0] * l->g.out[1] * row_vectors(l, lanes); }

static int64_t group_blocks(const conv_layout *l) { return (l->g.out_channels / l->g.group + CONV_TILE_CHANNELS - 1) / CONV_TILE_CHANNELS; }

int64_t npuc_conv_blocks(const conv_layout *l) { return l->g.group * group_blocks(l); }

/* Where the next vector lies; moved on by additions, because divisions would cost as much as a short sum. */
typedef struct cursor {
  int64_t w, h;      /* output column and row of the second axis */
  int64_t x, next_d; /* elements: row's start in the planes, start of the next step along the first axis */
  int64_t out;       /* row's first output */
} cursor;

static cursor cursor_at(const conv_walk *walk, int64_t v) {
  const conv_layout *l = walk->layout;
  int64_t per_row = row_vectors(l, walk->lanes), row = v / per_row, d = row / l->g.out[1], h = row % l->g.out[1];
  return (cursor){.w = v % per_row * walk->lanes,
                  .h = h,
                  .x = conv_row_at(l, d * l->g.stride[0], h * l->g.stride[1]),
                  .next_d = conv_row_at(l, (d + 1) * l->g.stride[0], 0),
                  .out = row * l->g.out[2]};
}

static void advance(cursor *c, const conv_walk *walk) {
  const conv_layout *l = walk->layout;
  c->w += walk->lanes;
  if (c->w < l->g.out[2]) return;
  c->w = 0;
  c->out += l->g.out[2];
  c->x += l->g.stride[1] * l->pitch;
  if (++c->h < l->g.out[1]) return;
  c->h = 0;
  c->x = c->next_d;
  c->next_d += l->g.stride[0] * l->rows[1] * l->pitch;
}

/* Places the cursor's vector into slot `i` of the tile. The last vector of a row steps back to be whole, and computes a few outputs
 * again; in rows shorter than a vector it is short. */
static void place_vector(const conv_walk *walk, const cursor *c, const char *x, char *y, const float *add, int i, conv_tile *t) {
  int64_t w = c->w, lanes = walk->lanes, width = walk->layout->g.out[2];
  if (w + lanes > width) {
    if (width >= lanes) {
      w = width - lanes;
    } else {
      lanes = width;
    }
  }
  t->x[i] = x + (c->x + w) * 4;
  t->y[i] = y + (c->out + w) * (int64_t)walk->y_bytes;
  t->add[i] = add ? add + c->out + w : NULL;
  t->lanes[i] = (int32_t)lanes;
}

/* What all tiles of a block share. */
static conv_tile block_tile(const conv_walk *walk, const conv_tile *model, int64_t block, int64_t *out_o) {
  const conv_layout *l = walk->layout;
  int64_t per_group = l->g.out_channels / l->g.group, blocks = group_blocks(l), group = block / blocks;
  int64_t within = block % blocks * CONV_TILE_CHANNELS;
  conv_tile t = *model;
  t.channels = (int)(per_group - within < CONV_TILE_CHANNELS ? per_group - within : CONV_TILE_CHANNELS);
  t.offsets = walk->offsets;
  t.taps = (size_t)l->taps;
  t.y_channel = (size_t)window_volume(l->g.out);
  *out_o = group * per_group + within;
  walk->channel(walk->context, *out_o, group, block, &t);
  return t;
}

void npuc_conv_block(const conv_walk *walk, const void *x, void *y, const float *add, const conv_tile *model, int64_t block, int64_t first,
                     int64_t last) {
  const conv_layout *l = walk->layout;
  int64_t o;
  conv_tile t = block_tile(walk, model, block, &o);
  const char *planes = (const char *)x + block / group_blocks(l) * l->cells * l->plane * 4;
  char *to = (char *)y + o * (int64_t)(t.y_channel * walk->y_bytes);
  const float *plus = add ? add + o * (int64_t)t.y_channel : NULL;
  int most = t.channels == 1 ? CONV_MOST_VECTORS : walk->most_vectors;
  cursor c = cursor_at(walk, first);
  for (int64_t v = first; v < last; v += most) {
    int n = (int)(last - v < most ? last - v : most);
    for (int i = 0; i < n; i++) {
      place_vector(walk, &c, planes, to, plus, i, &t);
      advance(&c, walk);
    }
    walk->kernel(&t, n);
  }
}

int64_t npuc_conv_planes(const conv_layout *l, size_t threads) {
  if (l->direct) return 0;
  return l->sample * (l->g.batch >= (int64_t)threads ? (int64_t)threads : 1);
}

static int64_t input_elements(const conv_layout *l) { return l->g.channels * window_volume(l->g.in); }
static int64_t output_elements(const conv_layout *l) { return l->g.out_channels * window_volume(l->g.out); }

typedef struct sample_job {
  const conv_run *run;
  int64_t sample;
} sample_job;

static const void *planes_of(const conv_run *run, int64_t sample, size_t worker) {
  const conv_layout *l = run->walk.layout;
  if (l->direct) return (const float *)run->x + sample * input_elements(l);
  return (const int32_t *)run->planes + l->sample * (int64_t)worker;
}

static void compute(const conv_run *run, int64_t sample, const void *planes, int64_t first_block, int64_t last_block, int64_t first,
                    int64_t last) {
  const conv_layout *l = run->walk.layout;
  char *y = (char *)run->y + sample * output_elements(l) * (int64_t)run->walk.y_bytes;
  const float *add = run->add ? run->add + sample * output_elements(l) : NULL;
  for (int64_t v = first; v < last; v += TILE_RUN) {
    int64_t end = last - v < TILE_RUN ? last : v + TILE_RUN;
    for (int64_t b = first_block; b < last_block; b++) npuc_conv_block(&run->walk, planes, y, add, &run->model, b, v, end);
  }
}

static void whole_samples(void *context, size_t begin, size_t end, size_t worker) {
  const conv_run *run = context;
  const conv_layout *l = run->walk.layout;
  for (int64_t n = (int64_t)begin; n < (int64_t)end; n++) {
    void *planes = l->direct ? NULL : (int32_t *)run->planes + l->sample * (int64_t)worker;
    if (planes) run->load(run->walk.context, n, 0, l->cells * l->g.group, planes);
    compute(run, n, planes_of(run, n, worker), 0, npuc_conv_blocks(l), 0, npuc_conv_vectors(l, run->walk.lanes));
  }
}

static void load_cells(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const sample_job *job = context;
  job->run->load(job->run->walk.context, job->sample, (int64_t)begin, (int64_t)end, job->run->planes);
}

static int64_t vector_runs(const conv_run *run) { return (npuc_conv_vectors(run->walk.layout, run->walk.lanes) + TILE_RUN - 1) / TILE_RUN; }

/* Units: runs of vectors, outer, by channel blocks. */
static void compute_units(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const sample_job *job = context;
  const conv_run *run = job->run;
  int64_t blocks = npuc_conv_blocks(run->walk.layout), vectors = npuc_conv_vectors(run->walk.layout, run->walk.lanes);
  for (int64_t u = (int64_t)begin; u < (int64_t)end; u++) {
    int64_t block = u % blocks, first = u / blocks * TILE_RUN, last = vectors - first < TILE_RUN ? vectors : first + TILE_RUN;
    compute(run, job->sample, planes_of(run, job->sample, 0), block, block + 1, first, last);
  }
}

void npuc_conv_run(thread_pool *pool, const conv_run *given) {
  conv_run run = *given;
  const conv_layout *l = run.walk.layout;
  if (l->g.batch >= (int64_t)npuc_pool_threads(pool)) {
    npuc_parallel_for(pool, (size_t)l->g.batch, 0, whole_samples, &run);
    return;
  }
  for (int64_t n = 0; n < l->g.batch; n++) {
    sample_job job = {&run, n};
    if (!l->direct) npuc_parallel_for(pool, (size_t)(l->cells * l->g.group), 0, load_cells, &job);
    npuc_parallel_for(pool, (size_t)(vector_runs(&run) * npuc_conv_blocks(l)), 0, compute_units, &job);
  }
}
