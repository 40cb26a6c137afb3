/* SPDX-License-Identifier: Apache-2.0 */
/* Resize and GridSample. Interpolation is separable: an output place has, along each axis, a few taps with weights. All in double, rounded once. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/eval/eval.h"
#include "ir/ops/resample.h"
#include "kernels/convert.h"

static bool is_text(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* -- weights -- */

static double cubic_weight(double x, double a) {
  x = fabs(x);
  if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
  return 0.0;
}

static double linear_weight(double x) { return fabs(x) < 1.0 ? 1.0 - fabs(x) : 0.0; }

/* -- Resize -- */

/* The taps of one axis: for each output, `width` of them. */
typedef struct axis_taps {
  int64_t width;
  int64_t *index; /* [output, width], clamped into the input */
  double *weight; /* [output, width] */
  bool *outside;  /* [output]: extrapolated */
} axis_taps;

static double source_place(const resize_attributes *a, const resize_axis *r, double start, double end, int64_t o) {
  const char *mode = a->coordinate_transformation_mode;
  double in = (double)r->input, wide = r->length, x = (double)o;
  if (is_text(mode, "align_corners")) return wide == 1.0 ? 0.0 : x * (in - 1.0) / (wide - 1.0);
  if (is_text(mode, "asymmetric")) return x / r->scale;
  if (is_text(mode, "tf_half_pixel_for_nn")) return (x + 0.5) / r->scale;
  if (is_text(mode, "tf_crop_and_resize")) {
    double step = wide == 1.0 ? (end - start) * (in - 1.0) / 2.0 : x * (end - start) * (in - 1.0) / (wide - 1.0);
    return step + start * (in - 1.0);
  }
  if (is_text(mode, "pytorch_half_pixel") && wide == 1.0) return -0.5;
  double place = (x + 0.5) / r->scale - 0.5;
  return is_text(mode, "half_pixel_symmetric") ? place + in / 2.0 * (1.0 - (double)r->output / wide) : place;
}

static int64_t nearest_index(const resize_attributes *a, double place) {
  const char *mode = a->nearest_mode;
  if (is_text(mode, "floor")) return (int64_t)floor(place);
  if (is_text(mode, "ceil")) return (int64_t)ceil(place);
  return (int64_t)(is_text(mode, "round_prefer_ceil") ? floor(place + 0.5) : ceil(place - 0.5));
}

/* Half the filter's reach in cells. */
static double reach_of(const resize_attributes *a, const resize_axis *r) {
  double base = is_text(a->mode, "nearest") ? 0.5 : is_text(a->mode, "linear") ? 1.0 : 2.0;
  return a->antialias && r->scale < 1.0 && base >= 1.0 ? base / r->scale : base;
}

static void fill_taps(const resize_attributes *a, const resize_axis *r, double start, double end, int64_t o, axis_taps *t) {
  double place = source_place(a, r, start, end, o), sum = 0.0;
  int64_t *index = t->index + o * t->width;
  double *weight = t->weight + o * t->width;
  bool nearest = is_text(a->mode, "nearest"), cubic = is_text(a->mode, "cubic"), squeezed = a->antialias && r->scale < 1.0;
  t->outside[o] = is_text(a->coordinate_transformation_mode, "tf_crop_and_resize") && (place < 0.0 || place > (double)(r->input - 1));
  int64_t first = nearest ? nearest_index(a, place) : (int64_t)floor(place) - t->width / 2 + 1;
  for (int64_t k = 0; k < t->width; k++) {
    int64_t i = first + k;
    double d = ((double)i - place) * (squeezed ? r->scale : 1.0);
    weight[k] = nearest ? 1.0 : cubic ? cubic_weight(d, (double)a->cubic_coeff_a) : linear_weight(d);
    if (a->exclude_outside && (i < 0 || i >= r->input)) weight[k] = 0.0;
    index[k] = i < 0 ? 0 : i >= r->input ? r->input - 1 : i;
    sum += weight[k];
  }
  for (int64_t k = 0; (squeezed || a->exclude_outside) && sum != 0.0 && k < t->width; k++) weight[k] /= sum;
}

static npuc_status make_taps(const eval_context *c, const resize_attributes *a, const resize_axis *r, double start, double end,
                             axis_taps *t) {
  t->width = is_text(a->mode, "nearest") ? 1 : 2 * (int64_t)ceil(reach_of(a, r));
  size_t cells = (size_t)(r->output * t->width);
  char *memory = npuc_buffer_create(cells * 16 + (size_t)r->output + 64);
  diag_place place = npuc_eval_place(c);
  if (!memory) return npuc_fail(c->d, NPUC_DIAG_E0002, &place, "%zu taps", cells);
  t->index = (int64_t *)(void *)memory;
  t->weight = (double *)(void *)(memory + cells * 8);
  t->outside = (bool *)(memory + cells * 16);
  for (int64_t o = 0; o < r->output; o++) fill_taps(a, r, start, end, o, t);
  return NPUC_OK;
}

double *npuc_resize_matrix(arena *a, const resize_attributes *attributes, const resize_axis *r) {
  axis_taps t = {.width = is_text(attributes->mode, "nearest") ? 1 : 2 * (int64_t)ceil(reach_of(attributes, r))};
  size_t cells = (size_t)(r->output * t.width);
  t.index = NPUC_NEW_ARRAY(a, cells, int64_t);
  t.weight = NPUC_NEW_ARRAY(a, cells, double);
  t.outside = NPUC_NEW_ARRAY(a, (size_t)r->output, bool);
  double *matrix = NPUC_NEW_ARRAY(a, (size_t)(r->output * r->input), double);
  for (int64_t o = 0; o < r->output; o++) {
    fill_taps(attributes, r, 0.0, 1.0, o, &t);
    for (int64_t k = o * t.width; k < (o + 1) * t.width; k++) matrix[o * r->input + t.index[k]] += t.weight[k];
  }
  return matrix;
}

/* to = from with one axis resized; [outer, in, inner] in double. */
static void resize_axis_of(const double *from, double *to, const resize_axis *r, const axis_taps *t, int64_t outer, int64_t inner,
                           double outside) {
  for (int64_t p = 0; p < outer; p++) {
    for (int64_t o = 0; o < r->output; o++) {
      double *y = to + (p * r->output + o) * inner;
      for (int64_t i = 0; i < inner; i++) y[i] = t->outside[o] ? outside : 0.0;
      for (int64_t k = 0; !t->outside[o] && k < t->width; k++) {
        const double *x = from + (p * r->input + t->index[o * t->width + k]) * inner;
        double w = t->weight[o * t->width + k];
        for (int64_t i = 0; w != 0.0 && i < inner; i++) y[i] += w * x[i];
      }
    }
  }
}

/* Axis after axis, the last first, between two buffers. */
static npuc_status resize_all(const eval_context *c, const tensor *x, tensor *y, const resize_axis *axes, const axis_taps *taps) {
  int64_t most = npuc_tensor_elements(x), n = most;
  shape s = x->shape;
  for (int32_t i = s.rank - 1; i >= 0; i--) {
    n = axes[i].input ? n / axes[i].input * axes[i].output : 0;
    most = n > most ? n : most;
  }
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, 2 * (size_t)most * sizeof(double) + 64, &memory));
  double *from = memory, *to = from + most;
  npuc_convert_to_f64(x, 0, npuc_tensor_elements(x), from);
  for (int32_t i = s.rank - 1; i >= 0; i--) {
    if (!taps[i].index) continue;
    axis_split split = npuc_eval_split_at(&s, i);
    resize_axis_of(from, to, &axes[i], &taps[i], split.outer, split.inner,
                   (double)NPUC_ATTRS(resize_attributes, c->node)->extrapolation_value);
    double *held = from;
    from = to;
    to = held;
    s.dims[i] = axes[i].output;
  }
  for (int64_t i = 0; npuc_dtype_is_integer(y->type) && i < npuc_tensor_elements(y); i++) from[i] = trunc(from[i]);
  npuc_convert_from_f64(from, npuc_tensor_elements(y), y, 0);
  return NPUC_OK;
}

npuc_status npuc_eval_resize(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const resize_attributes *a = NPUC_ATTRS(resize_attributes, c->node);
  const tensor *x = inputs[0], *roi = eval_input(c, inputs, 1);
  resize_axis axes[MAX_RANK];
  axis_taps taps[MAX_RANK] = {{0}};
  const char *reason = "";
  diag_place place = npuc_eval_place(c);
  if (!npuc_resize_axes(a, &x->shape, eval_input(c, inputs, 2), eval_input(c, inputs, 3), axes, &reason))
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "%s", reason);
  if (npuc_dtype_kind(x->type) != KIND_FLOAT && !npuc_dtype_is_integer(x->type)) return npuc_eval_unsupported(c, x->type);
  if (outputs[0]->bytes == 0) return NPUC_OK;
  if (x->bytes == 0) return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "the input is empty and the output is not");
  int32_t n = a->axes.count ? a->axes.count : x->shape.rank;
  bool crops = is_text(a->coordinate_transformation_mode, "tf_crop_and_resize");
  if (crops && (!roi || npuc_tensor_elements(roi) != 2 * n))
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "roi has not two numbers per axis");
  npuc_status status = NPUC_OK;
  for (int32_t i = 0; i < n && status == NPUC_OK; i++) {
    int32_t axis = (int32_t)(a->axes.count ? (a->axes.values[i] < 0 ? a->axes.values[i] + x->shape.rank : a->axes.values[i]) : i);
    double start = crops ? npuc_tensor_get(roi, i) : 0.0, end = crops ? npuc_tensor_get(roi, i + n) : 1.0;
    if (axes[axis].scale == 1.0 && axes[axis].input == axes[axis].output && start == 0.0 && end == 1.0) continue;
    status = make_taps(c, a, &axes[axis], start, end, &taps[axis]);
  }
  if (status == NPUC_OK) status = resize_all(c, x, outputs[0], axes, taps);
  for (int32_t i = 0; i < x->shape.rank; i++) npuc_buffer_destroy(taps[i].index);
  return status;
}

/* -- GridSample -- */

typedef struct sampler {
  const grid_attributes *a;
  const tensor *x;
  int32_t spatial;
  int64_t plane;
} sampler;

/* Mirrored at lo and hi until inside. */
static double reflect(double x, double lo, double hi) {
  if (hi <= lo) return lo;
  double period = 2.0 * (hi - lo), t = fmod(fabs(x - lo), period);
  return lo + (t > hi - lo ? period - t : t);
}

static int64_t reflect_index(const sampler *s, int64_t i, int64_t n) {
  double r = s->a->align_corners ? reflect((double)i, 0.0, (double)(n - 1)) : reflect((double)i, -0.5, (double)n - 0.5);
  int64_t k = (int64_t)rint(r);
  return k < 0 ? 0 : k >= n ? n - 1 : k;
}

/* A cell of the plane that begins at `first`, with padding. */
static double cell_at(const sampler *s, int64_t first, const int64_t *index) {
  int64_t offset = 0;
  for (int32_t i = 0; i < s->spatial; i++) {
    int64_t n = s->x->shape.dims[2 + i], k = index[i];
    if (k < 0 || k >= n) {
      if (is_text(s->a->padding_mode, "zeros")) return 0.0;
      k = is_text(s->a->padding_mode, "border") ? (k < 0 ? 0 : n - 1) : reflect_index(s, k, n);
    }
    offset = offset * n + k;
  }
  return npuc_tensor_get(s->x, first + offset);
}

/* Sum over the taps of the axes from `axis` on. */
static double interpolate(const sampler *s, int64_t first, const double *place, int32_t axis, int64_t *index) {
  if (axis == s->spatial) return cell_at(s, first, index);
  bool cubic = is_text(s->a->mode, "cubic");
  int64_t base = (int64_t)floor(place[axis]), reach = cubic ? 2 : 1;
  double sum = 0.0;
  for (int64_t k = base - reach + 1; k <= base + reach; k++) {
    double d = (double)k - place[axis], w = cubic ? cubic_weight(d, -0.75) : linear_weight(d);
    index[axis] = k;
    if (w != 0.0) sum += w * interpolate(s, first, place, axis + 1, index);
  }
  return sum;
}

/* Places of one output, the first axis of x first. */
static void read_places(const sampler *s, const tensor *grid, int64_t at, double *place) {
  for (int32_t i = 0; i < s->spatial; i++) {
    int64_t n = s->x->shape.dims[2 + i];
    double g = npuc_tensor_get(grid, at + s->spatial - 1 - i);
    double x = s->a->align_corners ? (g + 1.0) / 2.0 * (double)(n - 1) : ((g + 1.0) * (double)n - 1.0) / 2.0;
    if (x != x) x = -1e6; /* nowhere */
    x = x > 1e15 ? 1e15 : x < -1e15 ? -1e15 : x;
    if (is_text(s->a->mode, "cubic")) { /* PyTorch's and ONNX Runtime's: each tap is brought inside by itself */
      place[i] = x;
      continue;
    }
    if (is_text(s->a->padding_mode, "border")) x = x < 0.0 ? 0.0 : x > (double)(n - 1) ? (double)(n - 1) : x;
    if (is_text(s->a->padding_mode, "reflection"))
      x = s->a->align_corners ? reflect(x, 0.0, (double)(n - 1)) : reflect(x, -0.5, (double)n - 0.5);
    place[i] = is_text(s->a->mode, "nearest") ? rint(x) : x;
  }
}

npuc_status npuc_eval_gridsample(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0], *grid = inputs[1];
  sampler s = {NPUC_ATTRS(grid_attributes, c->node), x, x->shape.rank - 2, 1};
  assert(s.spatial > 0); /* the verifier: [batch, channels, axes...] */
  if (npuc_dtype_kind(x->type) != KIND_FLOAT && !npuc_dtype_is_integer(x->type)) return npuc_eval_unsupported(c, x->type);
  for (int32_t i = 0; i < s.spatial; i++) s.plane *= x->shape.dims[2 + i];
  int64_t channels = x->shape.dims[1], places = npuc_tensor_elements(grid) / s.spatial,
          per_sample = x->shape.dims[0] ? places / x->shape.dims[0] : 1;
  for (int64_t p = 0; s.plane && p < places; p++) {
    double place[MAX_RANK] = {0};
    int64_t index[MAX_RANK], n = p / per_sample;
    read_places(&s, grid, p * s.spatial, place);
    for (int64_t k = 0; k < channels; k++) {
      double v = interpolate(&s, (n * channels + k) * s.plane, place, 0, index);
      npuc_tensor_set(outputs[0], (n * channels + k) * per_sample + p % per_sample, v);
    }
  }
  return NPUC_OK;
}
