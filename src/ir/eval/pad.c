/* SPDX-License-Identifier: Apache-2.0 */
/* Pad, modes constant, edge, reflect and wrap; negative pads crop. Axis by axis, each output index has a source index or, in constant mode,
 * none; an output element is inside when all its axes are.
 *
 *   index i of the output stands for p = i - begin of the input, 0 <= p < n inside
 *   edge     clamp p to [0, n - 1]
 *   reflect  mirror about 0 and n - 1 (period 2n - 2), the border not repeated
 *   wrap     p mod n, of the cropped input */
#include <string.h>

#include "ir/eval/eval.h"

typedef enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP } pad_mode;

static int64_t floor_mod(int64_t a, int64_t n) { return ((a % n) + n) % n; }

/* [first, last] is what cropping leaves of the axis; the padding modes see only that. -1: outside. */
static int64_t source_index(pad_mode mode, int64_t p, int64_t first, int64_t last) {
  if (p >= first && p <= last) return p;
  int64_t n = last - first + 1;
  if (mode == PAD_CONSTANT || n <= 0) return -1;
  if (mode == PAD_EDGE) return p < first ? first : last;
  if (mode == PAD_WRAP) return first + floor_mod(p - first, n);
  if (n == 1) return first;
  int64_t m = floor_mod(p - first, 2 * n - 2);
  return first + (m < n ? m : 2 * n - 2 - m);
}

static pad_mode mode_of(const char *name) {
  if (!name || strcmp(name, "constant") == 0) return PAD_CONSTANT;
  if (strcmp(name, "edge") == 0) return PAD_EDGE;
  return strcmp(name, "reflect") == 0 ? PAD_REFLECT : PAD_WRAP;
}

/* Fills `begins` and `ends` by axis from the pads input and the optional axes input. */
static npuc_status read_pads(const eval_context *c, const tensor *const *inputs, int64_t *begins, int64_t *ends) {
  const tensor *pads = inputs[1], *axes = eval_input(c, inputs, 3);
  int32_t rank = inputs[0]->shape.rank;
  int64_t n = axes ? npuc_tensor_elements(axes) : rank;
  diag_place place = npuc_eval_place(c);
  if (npuc_tensor_elements(pads) != 2 * n) {
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "%lld pads for %lld axes", (long long)npuc_tensor_elements(pads), (long long)n);
  }
  for (int64_t i = 0; i < n; i++) {
    int32_t axis;
    if (!npuc_axis_normalize(axes ? npuc_tensor_get_int(axes, i) : i, rank, &axis)) {
      return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "axis %lld is outside of the input's rank %d",
                       (long long)npuc_tensor_get_int(axes, i), (int)rank);
    }
    begins[axis] = npuc_tensor_get_int(pads, i);
    ends[axis] = npuc_tensor_get_int(pads, n + i);
  }
  return NPUC_OK;
}

/* Adjacent elements of the last axis with adjacent sources. */
typedef struct pad_run {
  int64_t n, source; /* element offset in x, or -1 */
} pad_run;

typedef struct pad_job {
  const tensor *x;
  tensor *y;
  shape dims; /* y's, as its bytes lie */
  size_t bytes;
  char constant[16];
  int64_t *source[MAX_RANK]; /* by axis: element offset of each output index in x, or -1 */
  pad_run *runs;
  int64_t n_runs;
} pad_job;

static void fill(const pad_job *j, char *y, int64_t n) {
  if (j->bytes == 1) {
    memset(y, (unsigned char)j->constant[0], (size_t)n);
    return;
  }
  for (int64_t i = 0; i < n; i++) memcpy(y + (size_t)i * j->bytes, j->constant, j->bytes);
}

static void find_runs(pad_job *j) {
  const int32_t last = j->dims.rank - 1;
  const int64_t n = j->dims.dims[last], *source = j->source[last];
  for (int64_t i = 0, end; i < n; i = end) {
    end = i + 1;
    while (end < n && (source[i] < 0 ? source[end] < 0 : source[end] == source[i] + (end - i))) end++;
    j->runs[j->n_runs++] = (pad_run){end - i, source[i]};
  }
}

/* The last axis, whose rows begin at `base` in x, or outside (-1). */
static void pad_row(const pad_job *j, int64_t base, char *y) {
  if (base < 0) {
    fill(j, y, j->dims.dims[j->dims.rank - 1]);
    return;
  }
  for (int64_t i = 0; i < j->n_runs; i++) {
    const pad_run *r = &j->runs[i];
    const size_t bytes = (size_t)r->n * j->bytes;
    if (r->source < 0) {
      fill(j, y, r->n);
    } else {
      memcpy(y, (const char *)j->x->data + (size_t)(base + r->source) * j->bytes, bytes);
    }
    y += bytes;
  }
}

static void pad_body(void *context, size_t begin, size_t end, size_t worker) {
  (void)worker;
  const pad_job *j = context;
  const int32_t last = j->dims.rank - 1;
  const int64_t *dims = j->dims.dims;
  int64_t at[MAX_RANK] = {0}, rest = (int64_t)begin; /* indices of the row, counted up */
  for (int32_t i = last - 1; i >= 0; i--) {
    at[i] = rest % dims[i];
    rest /= dims[i];
  }
  for (size_t r = begin; r < end; r++) {
    int64_t base = 0;
    for (int32_t i = 0; i < last && base >= 0; i++) base = j->source[i][at[i]] < 0 ? -1 : base + j->source[i][at[i]];
    pad_row(j, base, (char *)j->y->data + r * (size_t)dims[last] * j->bytes);
    for (int32_t i = last - 1; i >= 0 && ++at[i] == dims[i]; i--) at[i] = 0;
  }
}

npuc_status npuc_eval_pad(const eval_context *c, const tensor *const *inputs, tensor *const *outputs) {
  const tensor *x = inputs[0], *fill = eval_input(c, inputs, 2);
  tensor *y = outputs[0];
  pad_mode mode = mode_of(NPUC_ATTRS(pad_attributes, c->node)->mode);
  pad_job job = {.x = x, .y = y, .bytes = npuc_dtype_width(x->type)};
  if (job.bytes == 0) return npuc_eval_unsupported(c, x->type);
  if (y->bytes == 0) return NPUC_OK;
  if (x->shape.rank == 0) {
    npuc_eval_copy(x, y);
    return NPUC_OK;
  }
  if (fill && fill->bytes >= job.bytes) memcpy(job.constant, fill->data, job.bytes);
  int64_t begins[MAX_RANK] = {0}, ends[MAX_RANK] = {0}, strides[MAX_RANK], total = 0;
  NPUC_TRY(read_pads(c, inputs, begins, ends));
  const bool last = x->channels_last || y->channels_last;
  const shape from = npuc_eval_bytes_shape(&x->shape, last);
  job.dims = npuc_eval_bytes_shape(&y->shape, last);
  npuc_shape_strides(&from, strides);
  for (int32_t i = 0; i < x->shape.rank; i++) total += y->shape.dims[i];
  void *memory;
  NPUC_TRY(npuc_eval_scratch(c, (size_t)total * (sizeof(int64_t) + sizeof(pad_run)), &memory));
  int64_t *table = memory, rows = 1;
  for (int32_t axis = 0; axis < x->shape.rank; axis++) {
    int32_t i = npuc_eval_bytes_axis(axis, x->shape.rank, last);
    int64_t n = from.dims[i], first = begins[axis] < 0 ? -begins[axis] : 0, end = n - 1 - (ends[axis] < 0 ? -ends[axis] : 0);
    job.source[i] = table;
    for (int64_t k = 0; k < job.dims.dims[i]; k++) {
      int64_t s = source_index(mode, k - begins[axis], first, end);
      *table++ = s < 0 ? -1 : s * strides[i];
    }
    if (i < x->shape.rank - 1) rows *= job.dims.dims[i];
  }
  job.runs = (pad_run *)table;
  find_runs(&job);
  npuc_parallel_for(c->pool, (size_t)rows, 0, pad_body, &job);
  return NPUC_OK;
}
