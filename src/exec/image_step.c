/* SPDX-License-Identifier: Apache-2.0 */
/* One function per operator turns a node into a step, and one runs it. A step's blocks and samples are independent, so that they are what
 * threads share. */
#include "exec/image_step.h"

#include <math.h>
#include <string.h>

#include "ir/eval/window.h"

bool npuc_image_dims(const fact *f, int64_t *out_channels, int64_t out_size[WINDOW_AXES]) {
  int32_t spatial = f->shape.rank - 2;
  if (f->type != DTYPE_F32 || spatial < 1 || spatial > WINDOW_AXES || !npuc_shape_is_static(&f->shape)) return false;
  for (int axis = 0; axis < WINDOW_AXES; axis++) out_size[axis] = 1;
  for (int32_t i = 0; i < f->shape.rank; i++) {
    if (f->shape.dims[i] <= 0) return false;
    if (i >= 2) out_size[WINDOW_AXES - spatial + i - 2] = f->shape.dims[i];
  }
  *out_channels = f->shape.dims[1];
  return true;
}

static const fact *input_fact(const node *n, const fact *facts, int32_t i) {
  return i < n->n_inputs && n->inputs[i] ? &facts[n->inputs[i]->id] : NULL;
}

static const tensor *input_constant(const node *n, const fact *facts, int32_t i) {
  if (i >= n->n_inputs || !n->inputs[i]) return NULL;
  return n->inputs[i]->constant && !n->inputs[i]->is_input ? n->inputs[i]->constant : facts[n->inputs[i]->id].constant;
}

static bool has_input(const node *n, int32_t i) { return i < n->n_inputs && n->inputs[i]; }

static bool window_of(const node *n, const window_fields *fields, const fact *x, const fact *y, const int64_t *kernel, int64_t group,
                      kernel_window *out) {
  eval_context c = {.node = n};
  tensor from = {.shape = x->shape}, to = {.shape = y->shape};
  return npuc_eval_window(&c, fields, &from, &to, kernel, group, out) == NPUC_OK; /* ranks were looked at: no diagnostic */
}

/* -- blocks of samples, shared out -- */

typedef struct block_job {
  const image_call *c;
  void (*body)(const image_call *c, int64_t sample, int64_t first, int64_t last);
  int64_t blocks;
} block_job;

static void blocks_of(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const block_job *j = context;
  for (int64_t i = (int64_t)begin; i < (int64_t)end;) {
    int64_t n = i / j->blocks, first = i % j->blocks, last = j->blocks;
    if (last - first > (int64_t)end - i) last = first + (int64_t)end - i;
    j->body(j->c, n, first, last);
    i += last - first;
  }
}

static void each_block(const image_call *c, int64_t blocks,
                       void (*body)(const image_call *c, int64_t sample, int64_t first, int64_t last)) {
  block_job j = {c, body, blocks};
  npuc_parallel_for(c->pool, (size_t)(blocks * c->samples), 0, blocks_of, &j);
}

static const float *x_of(const image_call *c, int64_t n) { return c->x + n * c->step->x.image.sample; }
static float *y_of(const image_call *c, int64_t n) { return c->y + n * c->step->y.image.sample; }
static int64_t y_blocks(const image_call *c) { return image_blocks(&c->step->y.image); }
static image_pair pair_of(const image_call *c) { return (image_pair){c->step->x.image, c->step->y.image}; }

static void convert_blocks(const image_call *c, int64_t n, int64_t first, int64_t last) {
  npuc_image_copy(c->kernels, &c->step->x.image, x_of(c, n), &c->step->y.image, y_of(c, n), first, last);
}

void npuc_image_convert(const image_call *c) {
  const image *x = &c->step->x.image;
  each_block(c, image_is_blocked(x) ? image_blocks(x) : y_blocks(c), convert_blocks);
}

/* -- Conv, with what was fused -- */

static void run_conv(const image_call *c) {
  const image_step *s = c->step;
  conv_f32 conv = {.g = s->g,
                   .x_image = s->x.image,
                   .y_image = s->y.image,
                   .x = c->x,
                   .packed = s->packed,
                   .bias = s->bias ? s->bias->data : NULL,
                   .y = c->y,
                   .add_image = s->other.image,
                   .add = c->other,
                   .clip_lo = s->a,
                   .clip_hi = s->b};
  conv.g.batch = c->samples;
  npuc_conv_f32(c->kernels, c->pool, &conv, c->scratch);
}

static bool conv_step(const kernel_set *kernels, const node *n, const fusion *f, const fact *facts, image_step *s) {
  const fact *x = input_fact(n, facts, 0), *w = input_fact(n, facts, 1);
  conv_attributes *a = NPUC_ATTRS(conv_attributes, n);
  window_fields fields = window_of_conv(a);
  if (!n->inputs[1]->constant || n->inputs[1]->is_input || w->type != DTYPE_F32) return false; /* else nothing was packed */
  if (!window_of(n, &fields, x, &facts[n->outputs[0]->id], w->shape.dims + 2, a->group, &s->g)) return false;
  conv_f32 conv = {.g = s->g, .x_image = s->x.image, .y_image = s->y.image};
  size_t bytes;
  if (!npuc_conv_f32_scratch(kernels, &conv, 1, &bytes)) return false;
  s->run = run_conv;
  s->a = f->last ? f->clip_lo : -INFINITY;
  s->b = f->last ? f->clip_hi : INFINITY;
  return true;
}

/* -- functions of one element -- */

static unary_f32_kernel *function_of(const kernel_set *k, op_id op) {
  switch (op) {
    case OP_RELU:
      return k->relu_f32;
    case OP_CLIP:
      return k->clip_f32;
    case OP_LEAKYRELU:
      return k->leakyrelu_f32;
    case OP_SIGMOID:
      return k->sigmoid_f32;
    case OP_TANH:
      return k->tanh_f32;
    case OP_HARDSIGMOID:
      return k->hardsigmoid_f32;
    case OP_HARDSWISH:
      return k->hardswish_f32;
    default:
      return NULL;
  }
}

typedef struct row_job {
  const image_call *c;
  int64_t sample;
} row_job;

static void unary_row(const void *context, int64_t x, int64_t y, int64_t n) {
  const row_job *j = context;
  const image_step *s = j->c->step;
  function_of(j->c->kernels, s->node->op->id)(x_of(j->c, j->sample) + x, y_of(j->c, j->sample) + y, (size_t)n, s->a, s->b);
}

static void unary_blocks(const image_call *c, int64_t n, int64_t first, int64_t last) {
  row_job j = {c, n};
  npuc_image_rows(&c->step->x.image, &c->step->y.image, first, last, unary_row, &j);
}

static void run_unary(const image_call *c) { each_block(c, y_blocks(c), unary_blocks); }

static bool number_or(const node *n, const fact *facts, int32_t i, float otherwise, float *out) {
  const tensor *t = input_constant(n, facts, i);
  *out = otherwise;
  if (!has_input(n, i)) return true;
  if (!t || npuc_tensor_elements(t) != 1) return false;
  *out = (float)npuc_tensor_get(t, 0);
  return true;
}

static bool unary_step(const node *n, const fact *facts, image_step *s) {
  s->run = run_unary;
  switch (n->op->id) {
    case OP_CLIP:
      if (!number_or(n, facts, 1, -INFINITY, &s->a) || !number_or(n, facts, 2, INFINITY, &s->b)) return false;
      if (s->a > s->b) s->a = s->b;
      return true;
    case OP_LEAKYRELU:
      s->a = NPUC_ATTRS(alpha_attributes, n)->alpha;
      return true;
    case OP_HARDSIGMOID:
      s->a = NPUC_ATTRS(hardsigmoid_attributes, n)->alpha;
      s->b = NPUC_ATTRS(hardsigmoid_attributes, n)->beta;
      return true;
    case OP_HARDSWISH:
      s->a = 1.0f / 6.0f;
      s->b = 0.5f;
      return true;
    default:
      return true;
  }
}

/* -- functions of two images of one shape -- */

static binary_f32_kernel *binary_of(const kernel_set *k, op_id op) {
  switch (op) {
    case OP_ADD:
      return k->add_f32;
    case OP_SUB:
      return k->sub_f32;
    case OP_MUL:
      return k->mul_f32;
    case OP_DIV:
      return k->div_f32;
    default:
      return NULL;
  }
}

bool npuc_image_step_is_binary(const node *n) {
  return n->op->id == OP_ADD || n->op->id == OP_SUB || n->op->id == OP_MUL || n->op->id == OP_DIV;
}

static void binary_row(const void *context, int64_t x, int64_t y, int64_t n) {
  const row_job *j = context;
  const image_step *s = j->c->step;
  const float *other = j->c->other + j->sample * s->other.image.sample; /* laid out as x */
  binary_of(j->c->kernels, s->node->op->id)(x_of(j->c, j->sample) + x, 1, other + x, 1, y_of(j->c, j->sample) + y, (size_t)n);
}

static void binary_blocks(const image_call *c, int64_t n, int64_t first, int64_t last) {
  row_job j = {c, n};
  npuc_image_rows(&c->step->x.image, &c->step->y.image, first, last, binary_row, &j);
}

static void run_binary(const image_call *c) { each_block(c, y_blocks(c), binary_blocks); }

static bool binary_step(const node *n, const fact *facts, image_step *s) {
  const fact *a = input_fact(n, facts, 0), *b = input_fact(n, facts, 1);
  s->run = run_binary;
  return b && a->type == b->type && npuc_shape_equal(&a->shape, &b->shape);
}

/* -- pools -- */

static void maxpool_blocks(const image_call *c, int64_t n, int64_t first, int64_t last) {
  image_pair pair = pair_of(c);
  npuc_image_maxpool(&c->step->g, &pair, x_of(c, n), y_of(c, n), first, last);
}

static void averagepool_blocks(const image_call *c, int64_t n, int64_t first, int64_t last) {
  image_pair pair = pair_of(c);
  npuc_image_averagepool(&c->step->g, c->step->include_pad, &pair, x_of(c, n), y_of(c, n), first, last);
}

static void global_blocks(const image_call *c, int64_t n, int64_t first, int64_t last) {
  image_pair pair = pair_of(c);
  npuc_image_globalaveragepool(&pair, x_of(c, n), y_of(c, n), first, last);
}

static void run_maxpool(const image_call *c) { each_block(c, y_blocks(c), maxpool_blocks); }
static void run_averagepool(const image_call *c) { each_block(c, y_blocks(c), averagepool_blocks); }
static void run_global(const image_call *c) { each_block(c, y_blocks(c), global_blocks); }

static bool pool_step(const node *n, const fact *facts, image_step *s) {
  pool_attributes *a = NPUC_ATTRS(pool_attributes, n);
  window_fields fields = window_of_pool(a);
  const fact *x = input_fact(n, facts, 0);
  if (n->n_outputs > 1 && n->outputs[1]) return false;
  s->run = n->op->id == OP_MAXPOOL ? run_maxpool : run_averagepool;
  s->include_pad = a->count_include_pad != 0;
  return window_of(n, &fields, x, &facts[n->outputs[0]->id], a->kernel_shape.values, 1, &s->g);
}

/* -- Slice of spatial axes, Pad with a constant -- */

static void move_blocks(const image_call *c, int64_t n, int64_t first, int64_t last) {
  image_pair pair = pair_of(c);
  npuc_image_move(&c->step->move, &pair, x_of(c, n), y_of(c, n), first, last);
}

static void run_move(const image_call *c) { each_block(c, y_blocks(c), move_blocks); }

static void start_move(image_step *s) {
  s->run = run_move;
  s->move = (image_move){.step = {1, 1, 1}};
}

static bool slice_step(const node *n, const fact *facts, image_step *s) {
  const fact *x = input_fact(n, facts, 0), *y = &facts[n->outputs[0]->id];
  const tensor *starts = input_constant(n, facts, 1), *axes = input_constant(n, facts, 3), *steps = input_constant(n, facts, 4);
  if (!starts || (has_input(n, 3) && !axes) || (has_input(n, 4) && !steps)) return false;
  start_move(s);
  for (int64_t i = 0; i < npuc_tensor_elements(starts); i++) {
    int64_t start = npuc_tensor_get_int(starts, i), step = steps ? npuc_tensor_get_int(steps, i) : 1;
    int32_t axis;
    if (!npuc_axis_normalize(axes ? npuc_tensor_get_int(axes, i) : i, x->shape.rank, &axis)) return false;
    int64_t n_axis = x->shape.dims[axis];
    if (start < 0) start = start < -n_axis ? 0 : start + n_axis;
    if (step < 1 || step > INT32_MAX || start > n_axis || (axis < 2 && (start != 0 || step != 1 || y->shape.dims[axis] != n_axis)))
      return false;
    if (axis < 2) continue;
    int at = WINDOW_AXES - x->shape.rank + axis;
    s->move.start[at] = start;
    s->move.step[at] = step;
  }
  return true;
}

static bool pad_step(const node *n, const fact *facts, image_step *s) {
  const fact *x = input_fact(n, facts, 0);
  const tensor *pads = input_constant(n, facts, 1), *fill = input_constant(n, facts, 2);
  const char *mode = NPUC_ATTRS(pad_attributes, n)->mode;
  int32_t rank = x->shape.rank;
  if ((mode && strcmp(mode, "constant") != 0) || !pads || npuc_tensor_elements(pads) != 2 * rank || has_input(n, 3)) return false;
  if (has_input(n, 2) && (!fill || fill->type != DTYPE_F32 || npuc_tensor_elements(fill) != 1)) return false;
  start_move(s);
  if (fill) s->move.fill = (float)npuc_tensor_get(fill, 0);
  for (int32_t i = 0; i < rank; i++) {
    int64_t begin = npuc_tensor_get_int(pads, i), end = npuc_tensor_get_int(pads, rank + i);
    if (begin < 0 || end < 0 || (i == 0 && (begin || end))) return false;
    if (i == 1) s->move.channel_shift = begin;
    if (i >= 2) s->move.start[WINDOW_AXES - rank + i] = -begin;
  }
  return true;
}

/* -- the table -- */

static bool form_of(const kernel_set *kernels, const node *n, const fusion *f, const fact *facts, image_step *s) {
  switch (n->op->id) {
    case OP_CONV:
      return conv_step(kernels, n, f, facts, s);
    case OP_MAXPOOL:
    case OP_AVERAGEPOOL:
      return pool_step(n, facts, s);
    case OP_GLOBALAVERAGEPOOL:
      s->run = run_global;
      return true;
    case OP_SLICE:
      return slice_step(n, facts, s);
    case OP_PAD:
      return pad_step(n, facts, s);
    default:
      if (npuc_image_step_is_binary(n)) return binary_step(n, facts, s);
      return function_of(npuc_kernels_scalar(), n->op->id) && unary_step(n, facts, s);
  }
}

bool npuc_image_step_of(const kernel_set *kernels, const node *n, const fusion *f, const fact *facts, image_step *out_step) {
  const fact *x = input_fact(n, facts, 0), *y = n->n_outputs && n->outputs[0] ? &facts[n->outputs[0]->id] : NULL;
  image_step s = {.node = n};
  int64_t in, out, size[WINDOW_AXES];
  if (!x || !y || !npuc_image_dims(x, &in, size) || !npuc_image_blocked(in, kernels->lanes, size, NULL, &s.x.image)) return false;
  if (!npuc_image_dims(y, &out, size) || !npuc_image_blocked(out, kernels->lanes, size, NULL, &s.y.image)) return false;
  if (x->shape.dims[0] != y->shape.dims[0] || y->constant || !form_of(kernels, n, f, facts, &s)) return false;
  *out_step = s;
  return true;
}
