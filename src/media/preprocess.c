/* SPDX-License-Identifier: Apache-2.0 */
/* From record to input: one plan for all records of a shape, then for each record
 *
 *   convert to float32 -> resize, crop (at the record's layout) -> ((x * scale) - mean) / std -> the model's layout */
#include "media/preprocess.h"

#include <stdio.h>
#include <string.h>

/* -- planning -- */
static const char *dims_text(const shape *s, char *out, size_t n) {
  size_t at = 0;
  out[0] = '\0';
  for (int32_t i = 0; i < s->rank && at < n; i++) at += (size_t)snprintf(out + at, n - at, "%s%lld", i ? "x" : "", (long long)s->dims[i]);
  return s->rank ? out : "scalar";
}

static npuc_status fail_shape(diag *d, const shape *record, const shape *wanted, const shape *made) {
  char a[192], b[192], c[192];
  dims_text(record, a, sizeof a);
  npuc_status status;
  if (made) {
    status = npuc_fail(d, NPUC_DIAG_E1101, NULL, "a sample of the data is %s, preprocessing makes it %s, and the model's input takes %s", a,
                       dims_text(made, c, sizeof c), dims_text(wanted, b, sizeof b));
    npuc_fix(d, "--preprocess resize=...,crop=%lld", (long long)wanted->dims[wanted->rank > 1 ? wanted->rank - 1 : 0]);
    return status;
  }
  status = npuc_fail(d, NPUC_DIAG_E1101, NULL, "a sample of the data is %s, the model's input takes %s", a, dims_text(wanted, b, sizeof b));
  bool is_turned = record->rank == 3 && wanted->rank == 3 &&
                   ((record->dims[0] == wanted->dims[1] && record->dims[1] == wanted->dims[2] && record->dims[2] == wanted->dims[0]) ||
                    (record->dims[0] == wanted->dims[2] && record->dims[1] == wanted->dims[0] && record->dims[2] == wanted->dims[1]));
  bool wants_last = is_turned && record->dims[0] == wanted->dims[2] && record->dims[1] == wanted->dims[0];
  if (is_turned) npuc_fix(d, "--preprocess ...,layout=%s", wants_last ? "nhwc" : "nchw");
  if (!is_turned) npuc_fix(d, "raw:DTYPE:%s:PATH when the file holds plain records of that shape", b);
  return status;
}

static bool same_dims(const shape *a, const shape *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(dim)) == 0;
}

static shape picture_shape(int64_t channels, int64_t height, int64_t width, image_layout layout) {
  if (layout == LAYOUT_NHWC) return (shape){.rank = 3, .dims = {height, width, channels}};
  return (shape){.rank = 3, .dims = {channels, height, width}};
}

/* The record's channels are at the end that agrees with the model's input; where both ends do, it is laid out as the input is. */
static void read_picture(const shape *record, const shape *wanted, preprocess_plan *plan) {
  int64_t channels = wanted->dims[plan->to == LAYOUT_NHWC ? 2 : 0];
  bool first = record->rank == 2 ? channels == 1 : record->dims[0] == channels;
  bool last = record->rank == 3 && record->dims[2] == channels;
  plan->from = first && last ? plan->to : last ? LAYOUT_NHWC : LAYOUT_NCHW;
  if (record->rank == 2) plan->from = plan->to; /* one channel: both are the same */
  const dim *dims = record->dims;
  plan->channels = record->rank == 2 ? 1 : plan->from == LAYOUT_NCHW ? dims[0] : dims[2];
  plan->height = record->rank == 2 || plan->from == LAYOUT_NHWC ? dims[0] : dims[1];
  plan->width = record->rank == 2 || plan->from == LAYOUT_NHWC ? dims[1] : dims[2];
}

static void plan_sizes(const preprocess *p, preprocess_plan *plan) {
  plan->resized_height = plan->height;
  plan->resized_width = plan->width;
  if (p && p->resize.height) {
    plan->resized_height = p->resize.height;
    plan->resized_width = p->resize.width;
  } else if (p && p->resize.width) {
    int64_t side = p->resize.width; /* the shorter one */
    bool tall = plan->height > plan->width;
    plan->resized_height = tall ? side * plan->height / plan->width : side;
    plan->resized_width = tall ? side : side * plan->width / plan->height;
  }
  plan->out_height = plan->resized_height;
  plan->out_width = plan->resized_width;
  if (p && p->crop.width && p->crop.height <= plan->out_height && p->crop.width <= plan->out_width) {
    plan->out_height = p->crop.height;
    plan->out_width = p->crop.width;
  }
  plan->top = (plan->resized_height - plan->out_height) / 2;
  plan->left = (plan->resized_width - plan->out_width) / 2;
  plan->resamples = plan->resized_height != plan->height || plan->resized_width != plan->width;
}

static npuc_status plan_numbers(diag *d, const preprocess *p, preprocess_plan *plan) {
  const struct {
    const char *key;
    const double *from;
    int32_t n;
    float *to;
    bool *has;
  } lists[] = {{"mean", p->mean, p->n_mean, plan->mean, &plan->has_mean}, {"std", p->std, p->n_std, plan->std, &plan->has_std}};
  plan->scale = (float)p->scale;
  plan->has_scale = p->scale != 1;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    *lists[i].has = lists[i].n > 0;
    if (!lists[i].n) continue;
    if (lists[i].n != 1 && (lists[i].n != plan->channels || plan->channels > PREPROCESS_MAX_CHANNELS)) {
      diag_place place = {.attribute = lists[i].key};
      return npuc_fail(d, NPUC_DIAG_E1110, &place, "--preprocess: %s has %d numbers, the data has %lld channels", lists[i].key, lists[i].n,
                       (long long)plan->channels);
    }
    for (int64_t c = 0; c < plan->channels && c < PREPROCESS_MAX_CHANNELS; c++)
      lists[i].to[c] = (float)lists[i].from[lists[i].n == 1 ? 0 : c];
    if (lists[i].n == 1) lists[i].to[0] = (float)lists[i].from[0];
  }
  return NPUC_OK;
}

npuc_status npuc_preprocess_plan(diag *d, const preprocess *p, dtype type, const shape *record, const shape *wanted,
                                 preprocess_plan *out_plan) {
  preprocess_plan *plan = out_plan;
  *plan = (preprocess_plan){.type = type, .scale = 1};
  plan->to = plan->from = p && p->layout == LAYOUT_NHWC ? LAYOUT_NHWC : LAYOUT_NCHW;
  int64_t elements, want = 0;
  if (!npuc_shape_elements(record, &elements) || !npuc_shape_elements(wanted, &want)) return fail_shape(d, record, wanted, NULL);
  bool is_picture = wanted->rank == 3 && (record->rank == 3 || record->rank == 2) && elements > 0;
  bool moves = p && (p->resize.width || p->crop.width);
  bool may_turn = p && p->layout != LAYOUT_NONE;
  if (is_picture) {
    read_picture(record, wanted, plan);
  } else { /* a vector, a sequence, a clip: its elements as they stand, the numbers of one channel */
    plan->channels = plan->height = 1;
    plan->width = elements;
  }
  if (moves && !is_picture) return npuc_fail(d, NPUC_DIAG_E1111, NULL, "resize and crop need pictures (channels, height, width)");
  plan_sizes(is_picture ? p : NULL, plan);
  if (is_picture) {
    shape made = picture_shape(plan->channels, plan->out_height, plan->out_width, plan->to);
    bool turns = plan->from != plan->to && record->rank == 3;
    if (!same_dims(&made, wanted) || (turns && !may_turn && !same_dims(record, wanted)))
      return fail_shape(d, record, wanted, moves ? &made : NULL);
  } else if (!same_dims(record, wanted) && !(elements == want && (record->rank <= 1 || wanted->rank <= 1))) {
    return fail_shape(d, record, wanted, NULL);
  }
  return p ? plan_numbers(d, p, plan) : NPUC_OK;
}

/* -- applying -- */
static void to_float(const void *record, dtype type, int64_t n, float *out) {
  if (type == DTYPE_F32) {
    memcpy(out, record, (size_t)n * sizeof(float));
  } else if (type == DTYPE_U8) {
    for (int64_t i = 0; i < n; i++) out[i] = (float)((const uint8_t *)record)[i];
  } else {
    size_t bytes = (size_t)n * (npuc_dtype_bits(type) / 8);
    const tensor t = {.type = type, .shape = {.rank = 1, .dims = {n}}, .data = (void *)(uintptr_t)record, .bytes = bytes};
    for (int64_t i = 0; i < n; i++) out[i] = (float)npuc_tensor_get(&t, i);
  }
}

/* Position of a picture's element in a layout. */
static int64_t at_layout(image_layout layout, int64_t channels, int64_t height, int64_t width, int64_t c, int64_t y, int64_t x) {
  return layout == LAYOUT_NHWC ? (y * width + x) * channels + c : (c * height + y) * width + x;
}

typedef struct tap { /* two neighbours of a source position and the weight of the second */
  int64_t low, high;
  float weight;
} tap;

static tap tap_of(int64_t target, int64_t in, int64_t out) {
  double source = ((double)target + 0.5) * (double)in / (double)out - 0.5;
  if (source < 0) source = 0;
  int64_t low = (int64_t)source;
  if (low > in - 1) low = in - 1;
  return (tap){low, low + 1 < in ? low + 1 : low, (float)(source - (double)low)};
}

static float sample_at(const preprocess_plan *p, const float *from, int64_t c, int64_t y, int64_t x) {
  return from[at_layout(p->from, p->channels, p->height, p->width, c, y, x)];
}

static float resampled(const preprocess_plan *p, const float *from, int64_t c, tap y, tap x) {
  float top = sample_at(p, from, c, y.low, x.low) * (1 - x.weight) + sample_at(p, from, c, y.low, x.high) * x.weight;
  float bottom = sample_at(p, from, c, y.high, x.low) * (1 - x.weight) + sample_at(p, from, c, y.high, x.high) * x.weight;
  return top * (1 - y.weight) + bottom * y.weight;
}

static float scaled(const preprocess_plan *p, int64_t c, float v) {
  if (p->has_scale) v = v * p->scale;
  if (p->has_mean) v = v - p->mean[c];
  if (p->has_std) v = v / p->std[c];
  return v;
}

static void place_pictures(const preprocess_plan *p, const float *from, float *out) {
  for (int64_t y = 0; y < p->out_height; y++) {
    tap row = p->resamples ? tap_of(y + p->top, p->height, p->resized_height) : (tap){y + p->top, y + p->top, 0};
    for (int64_t x = 0; x < p->out_width; x++) {
      tap column = p->resamples ? tap_of(x + p->left, p->width, p->resized_width) : (tap){x + p->left, x + p->left, 0};
      for (int64_t c = 0; c < p->channels; c++) {
        float v = p->resamples ? resampled(p, from, c, row, column) : sample_at(p, from, c, row.low, column.low);
        out[at_layout(p->to, p->channels, p->out_height, p->out_width, c, y, x)] = scaled(p, c, v);
      }
    }
  }
}

static void scale_all(const preprocess_plan *p, int64_t n, float *out) {
  if (p->to == LAYOUT_NHWC) {
    for (int64_t i = 0; i < n; i += p->channels) {
      for (int64_t c = 0; c < p->channels; c++) out[i + c] = scaled(p, c, out[i + c]);
    }
    return;
  }
  int64_t plane = p->height * p->width;
  for (int64_t c = 0; c < p->channels; c++) {
    for (int64_t i = c * plane; i < (c + 1) * plane; i++) out[i] = scaled(p, c, out[i]);
  }
}

npuc_status npuc_preprocess_apply(diag *d, const preprocess_plan *plan, const void *record, float *out) {
  int64_t n = plan->channels * plan->height * plan->width;
  bool in_place = plan->from == plan->to && !plan->resamples && plan->out_height == plan->height && plan->out_width == plan->width;
  if (in_place) {
    to_float(record, plan->type, n, out);
    scale_all(plan, n, out);
    return NPUC_OK;
  }
  float *from = npuc_buffer_create((size_t)n * sizeof *from);
  if (!from) return npuc_fail(d, NPUC_DIAG_E0002, NULL, "one sample of the data");
  to_float(record, plan->type, n, from);
  place_pictures(plan, from, out);
  npuc_buffer_destroy(from);
  return NPUC_OK;
}
