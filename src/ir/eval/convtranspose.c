/* SPDX-License-Identifier: Apache-2.0 */
/* ConvTranspose as a gathering: each output sums, in double, over input channels and then taps, those that reach it. And NonMaxSuppression. */
#include <math.h>
#include <stdlib.h>

#include "ir/eval/eval.h"
#include "ir/ops/resample.h"
#include "kernels/convert.h"

enum { MOST_SPATIAL = MAX_RANK - 2 };

typedef struct transposed {
  const tensor *x, *w, *bias;
  tensor *y;
  int32_t spatial;
  transposed_axis axes[MOST_SPATIAL];
  int64_t channels, group, per_group_out, in_plane, out_plane, taps;
} transposed;

/* The input cell that tap `tap` takes to output `o`, or -1. */
static int64_t source_of(const transposed *j, int64_t o, int64_t tap) {
  int64_t offset = 0, stride = 1;
  for (int32_t i = j->spatial - 1; i >= 0; i--) {
    const transposed_axis *a = &j->axes[i];
    int64_t n = j->x->shape.dims[2 + i], kernel = j->w->shape.dims[2 + i], at = o % a->output + a->begin - tap % kernel * a->dilation;
    if (at < 0 || at % a->stride || at / a->stride >= n) return -1;
    offset += at / a->stride * stride;
    stride *= n;
    o /= a->output;
    tap /= kernel;
  }
  return offset;
}

static void body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const transposed *j = context;
  int64_t outs = j->per_group_out * j->group, ins = j->channels / j->group;
  for (int64_t u = (int64_t)begin; u < (int64_t)end; u++) {
    int64_t sample = u / outs, m = u % outs, first = m / j->per_group_out * ins;
    for (int64_t o = 0; o < j->out_plane; o++) {
      double sum = j->bias ? npuc_tensor_get(j->bias, m) : 0.0;
      for (int64_t tap = 0; tap < j->taps; tap++) {
        int64_t from = source_of(j, o, tap);
        for (int64_t c = first; from >= 0 && c < first + ins; c++)
          sum += npuc_tensor_get(j->x, (sample * j->channels + c) * j->in_plane + from) *
                 npuc_tensor_get(j->w, (c * j->per_group_out + m % j->per_group_out) * j->taps + tap);
      }
      npuc_convert_from_f64(&sum, 1, j->y, u * j->out_plane + o);
    }
  }
}

npuc_status npuc_eval_convtranspose(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const convtranspose_attributes *a = NPUC_ATTRS(convtranspose_attributes, c->node);
  const tensor *x = inputs[0], *w = inputs[1];
  transposed j = {.x = x, .w = w, .bias = eval_input(c, inputs, 2), .y = outputs[0], .spatial = x->shape.rank - 2};
  if (npuc_dtype_kind(x->type) != KIND_FLOAT) return npuc_eval_unsupported(c, x->type);
  if (outputs[0]->bytes == 0) return NPUC_OK;
  j.channels = x->shape.dims[1];
  j.group = a->group;
  j.per_group_out = w->shape.dims[1];
  j.in_plane = j.out_plane = j.taps = 1;
  for (int32_t i = 0; i < j.spatial; i++) {
    (void)npuc_transposed_axis(a, i, j.spatial, x->shape.dims[2 + i], w->shape.dims[2 + i], &j.axes[i]);
    j.in_plane *= x->shape.dims[2 + i];
    j.out_plane *= j.axes[i].output;
    j.taps *= w->shape.dims[2 + i];
  }
  npuc_parallel_for(c->pool, (size_t)(x->shape.dims[0] * j.per_group_out * j.group), 0, body, &j);
  return NPUC_OK;
}

/* -- NonMaxSuppression -- */

typedef struct box {
  double y1, x1, y2, x2;
} box;

static box read_box(const tensor *boxes, int64_t first, bool center) {
  double v[4];
  for (int i = 0; i < 4; i++) v[i] = npuc_tensor_get(boxes, first + i);
  if (center) return (box){v[1] - v[3] / 2.0, v[0] - v[2] / 2.0, v[1] + v[3] / 2.0, v[0] + v[2] / 2.0};
  return (box){fmin(v[0], v[2]), fmin(v[1], v[3]), fmax(v[0], v[2]), fmax(v[1], v[3])};
}

static double area(const box *b) { return (b->y2 - b->y1) * (b->x2 - b->x1); }

static double overlap(const box *a, const box *b) {
  double h = fmin(a->y2, b->y2) - fmax(a->y1, b->y1), w = fmin(a->x2, b->x2) - fmax(a->x1, b->x1);
  if (h <= 0.0 || w <= 0.0) return 0.0;
  double common = h * w, both = area(a) + area(b) - common;
  return both > 0.0 ? common / both : 0.0;
}

typedef struct suppression {
  const tensor *boxes, *scores;
  int64_t n_boxes, most;
  double iou, least;
  bool center, has_least;
} suppression;

/* Box with the best score not yet looked at, or -1; the first of equals. */
static int64_t best_of(const suppression *s, int64_t first, const bool *seen) {
  int64_t best = -1;
  for (int64_t i = 0; i < s->n_boxes; i++) {
    double score = npuc_tensor_get(s->scores, first + i);
    if (seen[i] || (s->has_least && !(score > s->least))) continue;
    if (best < 0 || score > npuc_tensor_get(s->scores, first + best)) best = i;
  }
  return best;
}

/* Boxes of one class of one sample; returns how many. */
static int64_t select_boxes(const suppression *s, int64_t sample, int64_t first_score, bool *seen, int64_t *kept) {
  int64_t n = 0;
  for (int64_t i = 0; i < s->n_boxes; i++) seen[i] = false;
  for (int64_t i; n < s->most && (i = best_of(s, first_score, seen)) >= 0;) {
    box candidate = read_box(s->boxes, (sample * s->n_boxes + i) * 4, s->center);
    bool stays = true;
    seen[i] = true;
    for (int64_t k = 0; stays && k < n; k++) {
      box other = read_box(s->boxes, (sample * s->n_boxes + kept[k]) * 4, s->center);
      stays = overlap(&candidate, &other) <= s->iou;
    }
    if (stays) kept[n++] = i;
  }
  return n;
}

npuc_status npuc_eval_nonmaxsuppression(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *most = eval_input(c, inputs, 2), *iou = eval_input(c, inputs, 3), *least = eval_input(c, inputs, 4);
  suppression s = {.boxes = inputs[0], .scores = inputs[1], .n_boxes = inputs[0]->shape.dims[1], .has_least = least != NULL};
  s.center = NPUC_ATTRS(nms_attributes, c->node)->center_point_box != 0;
  s.most = most && npuc_tensor_elements(most) ? npuc_tensor_get_int(most, 0) : 0;
  s.iou = iou && npuc_tensor_elements(iou) ? npuc_tensor_get(iou, 0) : 0.0;
  s.least = least && npuc_tensor_elements(least) ? npuc_tensor_get(least, 0) : 0.0;
  int64_t samples = s.scores->shape.dims[0], classes = s.scores->shape.dims[1], found = 0;
  void *memory;
  size_t room = (size_t)s.n_boxes * sizeof(int64_t);
  NPUC_TRY(npuc_eval_scratch(c, room + (size_t)s.n_boxes + (size_t)(samples * classes) * sizeof(int64_t) + 64, &memory));
  int64_t *kept = memory, *counts = kept + s.n_boxes;
  bool *seen = (bool *)(counts + samples * classes);
  for (int64_t u = 0; u < samples * classes; u++) found += counts[u] = select_boxes(&s, u / classes, u * s.n_boxes, seen, kept);
  shape y = {.rank = 2, .dims = {found, 3}};
  NPUC_TRY(npuc_eval_allocate(c, outputs, 0, &y));
  for (int64_t u = 0, row = 0; u < samples * classes; u++) {
    if (counts[u]) (void)select_boxes(&s, u / classes, u * s.n_boxes, seen, kept);
    for (int64_t i = 0; i < counts[u]; i++, row++) {
      const int64_t v[3] = {u / classes, u % classes, kept[i]};
      for (int k = 0; k < 3; k++) npuc_tensor_set_int(outputs[0], row * 3 + k, v[k]);
    }
  }
  return NPUC_OK;
}
