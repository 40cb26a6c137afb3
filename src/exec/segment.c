/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes make a segment, where its images lie, and how it runs.
 *
 * An image gets the border that its readers need, so that no convolution copies its input; an element by element step, and the Add behind
 * a convolution, write over an operand that ends there. */
#include "exec/segment.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "exec/memory_plan.h"

enum { CHUNK_BYTES = 384 * 1024 }; /* of images that one worker has at a time: most of a second cache */

static size_t align64(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

/* -- which nodes -- */

static const value *result_of(const node *n, const fusion *f) { return (f->last ? f->last : n)->outputs[0]; }

static bool is_folded(const node *n, const fact *facts) {
  for (int32_t i = 0; i < n->n_outputs; i++) {
    if (n->outputs[i] && !facts[n->outputs[i]->id].constant) return false;
  }
  return true;
}

typedef struct selection {
  const fact *facts;
  const fusion *fusions;
  const kernel_set *kernels;
  size_t *of_node, *of_value;
  size_t count;
  segment_mode mode;
  bool open;
  int64_t batch;
} selection;

static bool is_image(const selection *s, const value *v) { return s->open && v && s->of_value[v->id] == s->count; }

/* Convolutions begin or continue a segment; others continue it where they read an image of it. */
static bool joins(selection *s, const node *n) {
  image_step step;
  if (n->n_inputs == 0 || !n->inputs[0] || !npuc_image_step_of(s->kernels, n, &s->fusions[n->id], s->facts, &step)) return false;
  int64_t batch = s->facts[n->inputs[0]->id].shape.dims[0];
  bool reads = is_image(s, n->inputs[0]) || (npuc_image_step_is_binary(n) && is_image(s, n->inputs[1]));
  if (n->op->id != OP_CONV) return reads && s->mode == SEGMENTS_LONG;
  if (s->mode == SEGMENTS_SINGLE || !s->open || batch != s->batch) {
    s->open = true;
    s->count++;
    s->batch = batch;
  }
  return true;
}

size_t *npuc_exec_segments(arena *scratch, const graph *g, const fact *facts, const fusion *fusions, const kernel_set *kernels,
                           segment_mode mode) {
  selection s = {.facts = facts, .fusions = fusions, .kernels = kernels, .mode = mode};
  s.of_node = NPUC_NEW_ARRAY(scratch, g->next_node_id + 1, size_t);
  s.of_value = NPUC_NEW_ARRAY(scratch, g->next_value_id + 1, size_t);
  if (mode == SEGMENTS_NONE) return s.of_node;
  NPUC_EACH_NODE(g, at) {
    const node *n = fusions[at->id].root ? fusions[at->id].root : at;
    if (n == at && fusions[at->id].absorbed) continue;
    if (is_folded(at, facts)) continue; /* not a step that does anything */
    if (joins(&s, n)) {
      s.of_node[n->id] = s.count;
      s.of_value[result_of(n, &fusions[n->id])->id] = s.count;
    } else {
      s.open = false;
    }
  }
  return s.of_node;
}

/* -- images -- */

typedef struct local_image {
  const value *value;
  image image;
  size_t first, last; /* steps */
  size_t root;        /* the image whose memory it has: itself, or one that it overwrites */
  size_t range;       /* of a root */
} local_image;

/* Indices of a step's images; SIZE_MAX: a tensor, or none. */
typedef struct step_images {
  size_t x, other, y;
} step_images;

typedef struct builder {
  const segment_source *source;
  segment *segment;
  local_image *images;
  size_t n_images, images_capacity;
  step_images *of_step;
  size_t steps_capacity, of_step_capacity;
} builder;

static size_t add_image(builder *b, const value *v, const image *layout) {
  b->images = npuc_arena_grow(b->source->scratch, b->images, b->n_images, b->n_images + 1, sizeof *b->images, &b->images_capacity);
  b->images[b->n_images] = (local_image){.value = v, .image = *layout, .root = b->n_images};
  b->source->image_of[v->id] = b->n_images;
  return b->n_images++;
}

static void add_step(builder *b, const image_step *step, step_images images) {
  segment *s = b->segment;
  s->steps = npuc_arena_grow(b->source->arena, s->steps, s->n_steps, s->n_steps + 1, sizeof *s->steps, &b->steps_capacity);
  b->of_step = npuc_arena_grow(b->source->scratch, b->of_step, s->n_steps, s->n_steps + 1, sizeof *b->of_step, &b->of_step_capacity);
  s->steps[s->n_steps] = *step;
  b->of_step[s->n_steps] = images;
  size_t used[] = {images.x, images.other, images.y};
  for (size_t i = 0; i < 3; i++) {
    if (used[i] != SIZE_MAX) b->images[used[i]].last = s->n_steps;
  }
  if (images.y != SIZE_MAX) b->images[images.y].first = s->n_steps;
  s->n_steps++;
}

/* A tensor as an image: planes without a border. */
static image_place tensor_place(const builder *b, const value *v) {
  image_place p = {.tensor = b->source->outside(b->source->user, v)};
  int64_t channels, size[WINDOW_AXES];
  (void)(npuc_image_dims(&b->source->facts[v->id], &channels, size) && npuc_image_planar(channels, size, NULL, &p.image));
  return p;
}

/* The image of a value: one of ours, or a copy of the tensor in blocks. */
static size_t image_for(builder *b, const value *v) {
  size_t found = b->source->image_of[v->id];
  if (found != SIZE_MAX) return found;
  image layout = {0};
  int64_t channels, size[WINDOW_AXES];
  (void)(npuc_image_dims(&b->source->facts[v->id], &channels, size) &&
         npuc_image_blocked(channels, b->source->kernels->lanes, size, NULL, &layout));
  size_t index = add_image(b, v, &layout);
  add_step(b, &(image_step){.run = npuc_image_convert, .x = tensor_place(b, v)}, (step_images){SIZE_MAX, SIZE_MAX, index});
  return index;
}

static void add_node(builder *b, const node *n) {
  const segment_source *source = b->source;
  const fusion *f = &source->fusions[n->id];
  const value *result = result_of(n, f), *other = npuc_image_step_is_binary(n) ? n->inputs[1] : f->add;
  image_step step;
  if (!npuc_image_step_of(source->kernels, n, f, source->facts, &step)) return; /* selected: it has one */
  step_images images = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
  if (n->op->id == OP_CONV && source->image_of[n->inputs[0]->id] == SIZE_MAX) {
    step.x = tensor_place(b, n->inputs[0]);
  } else {
    images.x = image_for(b, n->inputs[0]);
  }
  if (other) images.other = image_for(b, other);
  if (n->op->id == OP_CONV) {
    step.packed = source->prepared[n->id];
    if (n->n_inputs > 2 && n->inputs[2]) step.bias = source->outside(source->user, n->inputs[2]);
  }
  images.y = add_image(b, result, &step.y.image);
  add_step(b, &step, images);
  if (!source->outside(source->user, result)) return;
  add_step(b, &(image_step){.run = npuc_image_convert, .y = tensor_place(b, result)}, (step_images){images.y, SIZE_MAX, SIZE_MAX});
}

/* -- borders -- */

static bool widen(image *i, const image_border *need) {
  image_border wide = i->border;
  bool changed = false;
  for (int a = 0; a < WINDOW_AXES; a++) {
    changed = changed || need->before[a] > wide.before[a] || need->after[a] > wide.after[a];
    if (need->before[a] > wide.before[a]) wide.before[a] = need->before[a];
    if (need->after[a] > wide.after[a]) wide.after[a] = need->after[a];
  }
  image result;
  if (!changed || !npuc_image_blocked(i->channels, i->lanes, i->size, &wide, &result) ||
      result.sample > 4 * image_blocks(i) * window_volume(i->size) * i->lanes)
    return false; /* a border larger than the image: the convolution copies */
  *i = result;
  return true;
}

/* Operands of two-image steps are laid out alike. */
static void choose_borders(builder *b) {
  const segment *s = b->segment;
  assert(s->steps && b->of_step && b->images);
  for (size_t i = 0; i < s->n_steps; i++) {
    if (!s->steps[i].node || s->steps[i].node->op->id != OP_CONV || b->of_step[i].x == SIZE_MAX) continue;
    image_border need = npuc_conv_border(&s->steps[i].g);
    (void)widen(&b->images[b->of_step[i].x].image, &need);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < s->n_steps; i++) {
      if (!s->steps[i].node || !npuc_image_step_is_binary(s->steps[i].node)) continue;
      image *x = &b->images[b->of_step[i].x].image, *other = &b->images[b->of_step[i].other].image;
      image_border wide = x->border;
      if (memcmp(&wide, &other->border, sizeof wide) == 0) continue;
      changed = widen(x, &other->border) || changed;
      changed = widen(other, &x->border) || changed;
    }
  }
}

/* -- memory -- */

static bool same_layout(const image *a, const image *b) {
  return a->channels == b->channels && memcmp(a->size, b->size, sizeof a->size) == 0 &&
         memcmp(&a->border, &b->border, sizeof a->border) == 0;
}

/* Whether step i may write its result over image `over`. */
static bool may_overwrite(const builder *b, size_t i, size_t over) {
  step_images m = b->of_step[i];
  if (over == SIZE_MAX || m.y == SIZE_MAX) return false;
  const local_image *root = &b->images[b->images[over].root];
  return root->last == i && same_layout(&b->images[over].image, &b->images[m.y].image);
}

static void overwrite(builder *b) {
  assert(b->of_step);
  for (size_t i = 0; i < b->segment->n_steps; i++) {
    const image_step *s = &b->segment->steps[i];
    step_images m = b->of_step[i];
    size_t over = SIZE_MAX;
    if (!s->node) continue;
    if (s->node->op->id == OP_CONV) {
      bool reads_it = m.x != SIZE_MAX && m.other != SIZE_MAX && b->images[m.x].root == b->images[m.other].root;
      if (!reads_it && may_overwrite(b, i, m.other)) over = m.other;
    } else if (s->node->op->traits & TRAIT_ELEMENTWISE) {
      if (may_overwrite(b, i, m.x)) over = m.x;
      if (over == SIZE_MAX && may_overwrite(b, i, m.other)) over = m.other;
    }
    if (over == SIZE_MAX) continue;
    b->images[m.y].root = b->images[over].root;
    local_image *root = &b->images[b->images[over].root];
    if (b->images[m.y].last > root->last) root->last = b->images[m.y].last;
  }
}

/* Offsets for `samples` at a time; the bytes of all. */
static size_t place_images(builder *b, int64_t samples, live_range *ranges) {
  size_t n = 0;
  for (size_t step = 0, i = 0; step < b->segment->n_steps; step++) { /* in order of first steps */
    for (; i < b->n_images && b->images[i].first == step; i++) {
      local_image *m = &b->images[i];
      size_t bytes;
      if (m->root != i) continue;
      if (__builtin_mul_overflow((size_t)m->image.sample * sizeof(float), (size_t)samples, &bytes)) return SIZE_MAX;
      m->range = n;
      ranges[n++] = (live_range){.bytes = bytes, .first = m->first, .last = m->last};
    }
  }
  return npuc_memory_plan(b->source->scratch, ranges, n);
}

static bool choose_memory(builder *b) {
  segment *s = b->segment;
  size_t threads = b->source->threads;
  live_range *ranges = NPUC_NEW_ARRAY(b->source->scratch, b->n_images + 1, live_range);
  size_t one = place_images(b, 1, ranges);
  if (one == SIZE_MAX) return false;
  s->workers = s->batch >= (int64_t)threads ? threads : 1;
  if (s->workers < threads) {
    s->chunk = s->batch; /* threads share each step */
  } else {
    int64_t most = s->batch / (int64_t)threads;
    s->chunk = one ? (int64_t)(CHUNK_BYTES / one) : most;
    if (s->chunk > most) s->chunk = most;
    if (s->chunk < 1) s->chunk = 1;
  }
  s->images = place_images(b, s->chunk, ranges);
  if (s->images == SIZE_MAX) return false;
  for (size_t i = 0; i < s->n_steps; i++) {
    image_place *places[] = {&s->steps[i].x, &s->steps[i].other, &s->steps[i].y};
    size_t images[] = {b->of_step[i].x, b->of_step[i].other, b->of_step[i].y};
    for (size_t k = 0; k < 3; k++) {
      if (images[k] == SIZE_MAX) continue;
      const local_image *m = &b->images[images[k]];
      *places[k] = (image_place){.image = m->image, .offset = ranges[b->images[m->root].range].offset};
      if (k == 2) s->steps[i].clear_border = m->root == images[k] && npuc_image_has_border(&m->image);
    }
  }
  return true;
}

static bool choose_scratch(builder *b) {
  segment *s = b->segment;
  size_t most = 0, threads = s->workers < b->source->threads ? b->source->threads : 1;
  for (size_t i = 0; i < s->n_steps; i++) {
    image_step *step = &s->steps[i];
    if (!step->node || step->node->op->id != OP_CONV) continue;
    conv_f32 conv = {.g = step->g, .x_image = step->x.image, .y_image = step->y.image};
    conv.g.batch = s->chunk;
    if (!npuc_conv_f32_scratch(b->source->kernels, &conv, threads, &step->scratch)) return false;
    if (step->scratch > most) most = step->scratch;
  }
  size_t total;
  s->images = align64(s->images);
  return !__builtin_add_overflow(s->images, align64(most), &s->bytes) && !__builtin_mul_overflow(s->bytes, s->workers, &total);
}

bool npuc_segment_create(const segment_source *source, segment **out_segment) {
  builder b = {.source = source, .segment = NPUC_NEW(source->arena, segment)};
  b.segment->batch = source->facts[source->nodes[0]->inputs[0]->id].shape.dims[0];
  for (size_t i = 0; i < source->n_nodes; i++) add_node(&b, source->nodes[i]);
  choose_borders(&b);
  overwrite(&b);
  bool good = choose_memory(&b) && choose_scratch(&b);
  for (size_t i = 0; i < b.n_images; i++) source->image_of[b.images[i].value->id] = SIZE_MAX;
  *out_segment = b.segment;
  return good;
}

/* -- running -- */

static float *address(const image_place *p, char *memory, int64_t first) {
  if (p->image.channels == 0) return NULL;
  if (p->tensor) return (float *)p->tensor->data + first * p->image.sample;
  return (float *)(void *)(memory + p->offset);
}

static void run_steps(const segment *s, const kernel_set *kernels, thread_pool *pool, char *memory, int64_t first, int64_t samples) {
  for (size_t i = 0; i < s->n_steps; i++) {
    const image_step *step = &s->steps[i];
    image_call c = {.step = step,
                    .kernels = kernels,
                    .pool = pool,
                    .samples = samples,
                    .x = address(&step->x, memory, first),
                    .other = address(&step->other, memory, first),
                    .y = address(&step->y, memory, first),
                    .scratch = memory + s->images};
    for (int64_t n = 0; step->clear_border && n < samples; n++) npuc_image_clear_border(&step->y.image, c.y + n * step->y.image.sample);
    step->run(&c);
  }
}

typedef struct segment_job {
  const segment *segment;
  const kernel_set *kernels;
  char *memory;
} segment_job;

static void run_chunks(void *context, size_t begin, size_t end, size_t worker) {
  const segment_job *j = context;
  const segment *s = j->segment;
  for (size_t i = begin; i < end; i++) {
    int64_t first = (int64_t)i * s->chunk, samples = s->batch - first < s->chunk ? s->batch - first : s->chunk;
    run_steps(s, j->kernels, NULL, j->memory + worker * s->bytes, first, samples);
  }
}

void npuc_segment_run(const segment *s, const kernel_set *kernels, thread_pool *pool, void *memory) {
  if (s->workers < npuc_pool_threads(pool)) {
    run_steps(s, kernels, pool, memory, 0, s->batch);
    return;
  }
  segment_job j = {s, kernels, memory};
  npuc_parallel_for(pool, (size_t)((s->batch + s->chunk - 1) / s->chunk), 1, run_chunks, &j);
}
