/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign, MaxRoiPool, AffineGrid: in double, rounded once. */
#include <math.h>
#include <string.h>

#include "ir/eval/eval.h"

static npuc_status bad_sample(const eval_context *c, int64_t region, int64_t sample, int64_t samples) {
  diag_place place = npuc_eval_place(c);
  return npuc_fail(c->d, NPUC_DIAG_E0603, &place, "region %lld is of sample %lld; there are %lld", (long long)region, (long long)sample,
                   (long long)samples);
}

/* -- RoiAlign -- */

typedef struct roi_job {
  const tensor *x, *rois, *samples;
  tensor *y;
  double scale, shift;
  int64_t ratio;
  bool max;
} roi_job;

/* Along one axis: the two cells around a place and the second one's weight; false outside. */
static bool neighbours(double place, int64_t size, int64_t *low, int64_t *high, double *weight) {
  if (!(place >= -1.0 && place <= (double)size)) return false;
  double p = place < 0.0 ? 0.0 : place;
  *low = (int64_t)p;
  *high = *low + 1;
  if (*low >= size - 1) {
    *low = *high = size - 1;
    p = (double)*low;
  }
  *weight = p - (double)*low;
  return true;
}

/* One point: the interpolated value, or the largest weighted neighbour. */
static double point(const roi_job *j, int64_t plane, double y, double x) {
  int64_t h = j->x->shape.dims[2], w = j->x->shape.dims[3], y0, y1, x0, x1;
  double fy, fx;
  if (!neighbours(y, h, &y0, &y1, &fy) || !neighbours(x, w, &x0, &x1, &fx)) return 0.0;
  int64_t first = plane * h * w;
  double v[4] = {(1.0 - fy) * (1.0 - fx) * npuc_tensor_get(j->x, first + y0 * w + x0),
                 (1.0 - fy) * fx * npuc_tensor_get(j->x, first + y0 * w + x1), fy * (1.0 - fx) * npuc_tensor_get(j->x, first + y1 * w + x0),
                 fy * fx * npuc_tensor_get(j->x, first + y1 * w + x1)};
  return j->max ? fmax(fmax(v[0], v[1]), fmax(v[2], v[3])) : v[0] + v[1] + v[2] + v[3];
}

typedef struct roi_axis {
  double start, bin;
  int64_t points;
} roi_axis;

static roi_axis axis_of(const roi_job *j, int64_t region, int first, int64_t bins) {
  double start = npuc_tensor_get(j->rois, region * 4 + first) * j->scale - j->shift;
  double length = npuc_tensor_get(j->rois, region * 4 + first + 2) * j->scale - j->shift - start;
  if (j->shift == 0.0 && length < 1.0) length = 1.0;
  roi_axis a = {start, length / (double)bins, j->ratio};
  if (a.points == 0) a.points = (int64_t)ceil(a.bin);
  return a;
}

static double pool_bin(const roi_job *j, int64_t plane, const roi_axis *ay, const roi_axis *ax, int64_t ph, int64_t pw) {
  double result = 0.0;
  for (int64_t i = 0; i < ay->points; i++) {
    double y = ay->start + (double)ph * ay->bin + ((double)i + 0.5) * ay->bin / (double)ay->points;
    for (int64_t k = 0; k < ax->points; k++) {
      double v = point(j, plane, y, ax->start + (double)pw * ax->bin + ((double)k + 0.5) * ax->bin / (double)ax->points);
      result = !j->max ? result + v : i + k == 0 ? v : fmax(result, v);
    }
  }
  int64_t count = ay->points > 0 && ax->points > 0 ? ay->points * ax->points : 1;
  return j->max ? result : result / (double)count;
}

static void roi_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const roi_job *j = context;
  const int64_t *y = j->y->shape.dims;
  for (int64_t u = (int64_t)begin; u < (int64_t)end; u++) {
    int64_t region = u / y[1], plane = npuc_tensor_get_int(j->samples, region) * y[1] + u % y[1];
    roi_axis ay = axis_of(j, region, 1, y[2]), ax = axis_of(j, region, 0, y[3]);
    for (int64_t o = 0; o < y[2] * y[3]; o++) npuc_tensor_set(j->y, u * y[2] * y[3] + o, pool_bin(j, plane, &ay, &ax, o / y[3], o % y[3]));
  }
}

/* Points per bin follow from the data without a ratio: a region beyond any image would never end. */
static npuc_status check_region(const eval_context *c, const roi_job *j, int64_t region) {
  int64_t sample = npuc_tensor_get_int(j->samples, region), samples = j->x->shape.dims[0];
  if (sample < 0 || sample >= samples) return bad_sample(c, region, sample, samples);
  for (int64_t i = 0; i < 4; i++) {
    double v = npuc_tensor_get(j->rois, region * 4 + i) * j->scale;
    if (fabs(v) <= 1e6) continue;
    diag_place place = npuc_eval_place(c);
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "region %lld has a coordinate of %g", (long long)region, v);
  }
  return NPUC_OK;
}

npuc_status npuc_eval_roialign(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const roialign_attributes *a = NPUC_ATTRS(roialign_attributes, c->node);
  roi_job j = {inputs[0], inputs[1], inputs[2], outputs[0], (double)a->spatial_scale, 0.0, a->sampling_ratio, strcmp(a->mode, "max") == 0};
  j.shift = strcmp(a->coordinate_transformation_mode, "half_pixel") == 0 ? 0.5 : 0.0;
  if (outputs[0]->bytes == 0) return NPUC_OK;
  for (int64_t r = 0; r < outputs[0]->shape.dims[0]; r++) NPUC_TRY(check_region(c, &j, r));
  if (inputs[0]->bytes == 0) {
    memset(outputs[0]->data, 0, outputs[0]->bytes);
    return NPUC_OK;
  }
  npuc_parallel_for(c->pool, (size_t)(outputs[0]->shape.dims[0] * outputs[0]->shape.dims[1]), 0, roi_body, &j);
  return NPUC_OK;
}

/* -- MaxRoiPool -- */

static int64_t inside(double v, int64_t size) { return v < 0.0 ? 0 : v > (double)size ? size : (int64_t)v; }

/* The largest of the cells of bin (ph, pw); rounding halves away from 0, as Caffe's original does. */
static double max_bin(const tensor *x, int64_t plane, const double *region, double scale, const int64_t *y, int64_t ph, int64_t pw) {
  double start[2], bin[2], result = 0.0;
  int64_t low[2], high[2], h = x->shape.dims[2], w = x->shape.dims[3];
  for (int i = 0; i < 2; i++) { /* rows, then columns: region is sample, x1, y1, x2, y2 */
    start[i] = round(region[2 - i] * scale);
    double length = round(region[4 - i] * scale) - start[i] + 1.0;
    bin[i] = (length < 1.0 ? 1.0 : length) / (double)y[2 + i];
    low[i] = inside(floor((double)(i ? pw : ph) * bin[i]) + start[i], i ? w : h);
    high[i] = inside(ceil((double)((i ? pw : ph) + 1) * bin[i]) + start[i], i ? w : h);
  }
  bool any = false;
  for (int64_t i = low[0]; i < high[0]; i++) {
    for (int64_t k = low[1]; k < high[1]; k++) {
      double v = npuc_tensor_get(x, (plane * h + i) * w + k);
      result = any && result >= v ? result : v;
      any = true;
    }
  }
  return result;
}

npuc_status npuc_eval_maxroipool(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0];
  const int64_t *y = outputs[0]->shape.dims;
  double scale = (double)NPUC_ATTRS(maxroipool_attributes, c->node)->spatial_scale;
  for (int64_t r = 0; outputs[0]->bytes && r < y[0]; r++) {
    double region[5];
    for (int64_t i = 0; i < 5; i++) region[i] = npuc_tensor_get(inputs[1], r * 5 + i);
    if (!(region[0] >= 0.0 && region[0] < (double)x->shape.dims[0])) return bad_sample(c, r, (int64_t)region[0], x->shape.dims[0]);
    for (int64_t o = 0; o < y[1] * y[2] * y[3]; o++) {
      int64_t plane = (int64_t)region[0] * y[1] + o / (y[2] * y[3]);
      npuc_tensor_set(outputs[0], r * y[1] * y[2] * y[3] + o, max_bin(x, plane, region, scale, y, o / y[3] % y[2], o % y[3]));
    }
  }
  return NPUC_OK;
}

/* -- AffineGrid -- */

static double place_of(int64_t i, int64_t size, bool corners) {
  if (corners) return size > 1 ? -1.0 + 2.0 * (double)i / (double)(size - 1) : 0.0;
  return (2.0 * (double)i + 1.0) / (double)size - 1.0;
}

npuc_status npuc_eval_affinegrid(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  bool corners = NPUC_ATTRS(align_attributes, c->node)->align_corners != 0;
  const shape *s = &outputs[0]->shape;
  int32_t k = s->rank - 2;
  diag_place place = npuc_eval_place(c);
  if (npuc_tensor_get_int(inputs[1], 0) != s->dims[0])
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "size has %lld samples and theta %lld", (long long)npuc_tensor_get_int(inputs[1], 0),
                     (long long)s->dims[0]);
  for (int64_t o = 0; outputs[0]->bytes && o < npuc_tensor_elements(outputs[0]) / k; o++) {
    double at[4];
    int64_t rest = o;
    at[k] = 1.0;
    for (int32_t i = k - 1; i >= 0; i--) { /* the last axis is x */
      at[k - 1 - i] = place_of(rest % s->dims[1 + i], s->dims[1 + i], corners);
      rest /= s->dims[1 + i];
    }
    for (int32_t row = 0; row < k; row++) {
      double sum = 0.0;
      for (int32_t i = 0; i <= k; i++) sum += npuc_tensor_get(inputs[0], (rest * k + row) * (k + 1) + i) * at[i];
      npuc_tensor_set(outputs[0], o * k + row, sum);
    }
  }
  return NPUC_OK;
}
