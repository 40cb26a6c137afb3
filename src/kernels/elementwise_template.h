/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise float32 loops, included once per level with NAME(op) and TARGET defined; no include guard on purpose. Each body is one
 * formula per element, in which rounding happens at every operator and once in fmaf, so that all levels agree. */

#define UNARY(op, formula)                                                     \
  TARGET void NAME(op)(const float *x, float *y, size_t n, float a, float b) { \
    (void)a;                                                                   \
    (void)b;                                                                   \
    NPUC_IVDEP                                                                 \
    for (size_t i = 0; i < n; i++) {                                           \
      float v = x[i];                                                          \
      y[i] = (formula);                                                        \
    }                                                                          \
  }

UNARY(relu, v < 0.0f ? 0.0f : v)
UNARY(clip, v < a ? a : (v > b ? b : v))
UNARY(leakyrelu, v < 0.0f ? a * v : v)
UNARY(sigmoid, npuc_sigmoid_f32(v))
UNARY(hardsigmoid, npuc_clamp_unit(fmaf(a, v, b)))
UNARY(hardswish, v *npuc_clamp_unit(fmaf(a, v, b)))
UNARY(tanh, npuc_tanh_f32(v))
UNARY(affine, fmaf(v, a, b))
UNARY(abs, fabsf(v))
UNARY(neg, -v)
UNARY(sqrt, sqrtf(v))
UNARY(reciprocal, 1.0f / v)
UNARY(exp, npuc_exp_f32(v))
UNARY(erf, npuc_erf_f32(v))
UNARY(gelu, npuc_gelu_f32(v))
UNARY(gelutanh, npuc_gelu_tanh_f32(v))
UNARY(swish, v *npuc_sigmoid_f32(a *v))

/* The three loops let the compiler see which operand is one number. */
#define BINARY(op, formula)                                                                                \
  TARGET void NAME(op)(const float *a, size_t a_step, const float *b, size_t b_step, float *y, size_t n) { \
    if (a_step && b_step) {                                                                                \
      NPUC_IVDEP                                                                                           \
      for (size_t i = 0; i < n; i++) {                                                                     \
        float p = a[i], q = b[i];                                                                          \
        y[i] = (formula);                                                                                  \
      }                                                                                                    \
    } else if (a_step) {                                                                                   \
      const float q = n ? b[0] : 0.0f;                                                                     \
      NPUC_IVDEP                                                                                           \
      for (size_t i = 0; i < n; i++) {                                                                     \
        float p = a[i];                                                                                    \
        y[i] = (formula);                                                                                  \
      }                                                                                                    \
    } else {                                                                                               \
      const float p = n ? a[0] : 0.0f;                                                                     \
      NPUC_IVDEP                                                                                           \
      for (size_t i = 0; i < n; i++) {                                                                     \
        float q = b[b_step ? i : 0];                                                                       \
        y[i] = (formula);                                                                                  \
      }                                                                                                    \
    }                                                                                                      \
  }

BINARY(add, p + q)
BINARY(sub, p - q)
BINARY(mul, p *q)
BINARY(div, p / q)
/* NaN in either operand is the result. */
BINARY(max, p > q || p != p ? p : q)
BINARY(min, p < q || p != p ? p : q)

/* `lanes16`: element k goes to lane k mod 16, then lanes l and l + 8, l + 4, l + 2, l + 1 are added. */
TARGET void NAME(sum)(const float *x, size_t n, size_t stride, size_t columns, float *sums) {
  enum { LANES = 16, BLOCK = 16 };
  if (columns == 1) { /* adjacent elements: the lanes are the vector */
    float lane[LANES] = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) {
      for (size_t l = 0; l < LANES; l++) lane[l] += x[(k + l) * stride];
    }
    for (size_t l = 0; k + l < n; l++) lane[l] += x[(k + l) * stride];
    for (size_t half = LANES / 2; half; half /= 2) {
      for (size_t l = 0; l < half; l++) lane[l] += lane[l + half];
    }
    sums[0] = lane[0];
    return;
  }
  for (size_t c = 0; c < columns; c += BLOCK) { /* the columns are the vector */
    size_t width = columns - c < BLOCK ? columns - c : BLOCK;
    float lane[LANES][BLOCK] = {{0}};
    for (size_t k = 0; k < n; k++) {
      float *sum = lane[k % LANES];
      const float *row = x + k * stride + c;
      for (size_t i = 0; i < width; i++) sum[i] += row[i];
    }
    for (size_t half = LANES / 2; half; half /= 2) {
      for (size_t l = 0; l < half; l++) {
        for (size_t i = 0; i < BLOCK; i++) lane[l][i] += lane[l + half][i];
      }
    }
    for (size_t i = 0; i < width; i++) sums[c + i] = lane[0][i];
  }
}

TARGET static float NAME(row_max)(const float *x, size_t n) {
  float lane[16], most = -INFINITY;
  for (size_t l = 0; l < 16; l++) lane[l] = -INFINITY;
  size_t k = 0;
  for (; k + 16 <= n; k += 16) {
    for (size_t l = 0; l < 16; l++) lane[l] = x[k + l] > lane[l] ? x[k + l] : lane[l];
  }
  for (; k < n; k++) most = x[k] > most ? x[k] : most;
  for (size_t l = 0; l < 16; l++) most = lane[l] > most ? lane[l] : most;
  return most;
}

/* y = e^(x - max) / sum, the sum in `lanes16`. */
TARGET void NAME(softmax)(const float *x, float *y, size_t n) {
  float most = NAME(row_max)(x, n), sum;
  NPUC_IVDEP
  for (size_t i = 0; i < n; i++) y[i] = npuc_exp_f32(x[i] - most);
  NAME(sum)(y, n, 1, 1, &sum);
  NPUC_IVDEP
  for (size_t i = 0; i < n; i++) y[i] = y[i] / sum;
}

/* y = (x - max) - log(sum of e^(x - max)). The exponentials go through a small buffer in pieces of whole groups of 16, so that y may be x. */
TARGET void NAME(logsoftmax)(const float *x, float *y, size_t n) {
  enum { PIECE = 256, LANES = 16 };
  float most = NAME(row_max)(x, n), lane[LANES] = {0}, e[PIECE];
  for (size_t k = 0; k < n; k += PIECE) {
    size_t width = n - k < PIECE ? n - k : PIECE, i = 0;
    NPUC_IVDEP
    for (size_t j = 0; j < width; j++) e[j] = npuc_exp_f32(x[k + j] - most);
    for (; i + LANES <= width; i += LANES) {
      for (size_t l = 0; l < LANES; l++) lane[l] += e[i + l];
    }
    for (size_t l = 0; i + l < width; l++) lane[l] += e[i + l];
  }
  for (size_t half = LANES / 2; half; half /= 2) {
    for (size_t l = 0; l < half; l++) lane[l] += lane[l + half];
  }
  float logarithm = npuc_log_f32(lane[0]);
  NPUC_IVDEP
  for (size_t i = 0; i < n; i++) y[i] = (x[i] - most) - logarithm;
}

/* The sum of n doubles that f(i) gives, in `lanes16`. */
#define SUM_F64(out, n, f)                                           \
  do {                                                               \
    double lane_[16] = {0};                                          \
    size_t k_ = 0;                                                   \
    for (; k_ + 16 <= (n); k_ += 16) {                               \
      for (size_t l = 0; l < 16; l++) lane_[l] += f(k_ + l);         \
    }                                                                \
    for (size_t l = 0; k_ + l < (n); l++) lane_[l] += f(k_ + l);     \
    for (size_t half = 8; half; half /= 2) {                         \
      for (size_t l = 0; l < half; l++) lane_[l] += lane_[l + half]; \
    }                                                                \
    (out) = lane_[0];                                                \
  } while (0)

/* In double, rounded once. */
TARGET void NAME(norm)(const norm_f32 *g, const float *x, float *y, double *out_mean, double *out_inverse) {
  const size_t n = g->n;
  double mean = 0.0, variance;
#define ELEMENT(i) (double)x[i]
#define SQUARE(i) ((double)x[i] - mean) * ((double)x[i] - mean)
  if (g->centered) {
    SUM_F64(mean, n, ELEMENT);
    mean /= (double)n;
  }
  SUM_F64(variance, n, SQUARE);
#undef ELEMENT
#undef SQUARE
  const double inverse = 1.0 / sqrt(variance / (double)n + g->epsilon);
  const float *scale = g->scale, *bias = g->bias;
  if (bias) {
    NPUC_IVDEP
    for (size_t i = 0; i < n; i++) y[i] = (float)(((double)x[i] - mean) * inverse * (double)scale[i] + (double)bias[i]);
  } else {
    NPUC_IVDEP
    for (size_t i = 0; i < n; i++) y[i] = (float)(((double)x[i] - mean) * inverse * (double)scale[i]);
  }
  *out_mean = mean;
  *out_inverse = inverse;
}

/* Eight rows of b for each pass over y, each read in order, the next eight fetched meanwhile: what bounds it is the memory that b comes from. */
TARGET void NAME(rows)(const float *a, const float *b, size_t b_stride, size_t k, float *restrict y, size_t n) {
  enum { ROWS = 8, LANES = 16 };
  size_t i = 0;
  for (; i + ROWS <= k; i += ROWS, b += ROWS * b_stride) {
    const float *row[ROWS];
    float w[ROWS];
    NPUC_UNROLL
    for (int r = 0; r < ROWS; r++) {
      row[r] = b + (size_t)r * b_stride;
      w[r] = a[i + (size_t)r];
    }
    const size_t next = i + 2 * ROWS <= k ? ROWS * b_stride : 0;
    size_t c = 0;
    for (; c + LANES <= n; c += LANES) {
      NPUC_UNROLL
      for (int r = 0; r < ROWS; r++) __builtin_prefetch(row[r] + c + next, 0, 2);
      for (size_t l = 0; l < LANES; l++) {
        float s = y[c + l];
        NPUC_UNROLL
        for (int r = 0; r < ROWS; r++) s = fmaf(w[r], row[r][c + l], s);
        y[c + l] = s;
      }
    }
    for (; c < n; c++) {
      for (int r = 0; r < ROWS; r++) y[c] = fmaf(w[r], row[r][c], y[c]);
    }
  }
  for (; i < k; i++, b += b_stride) {
    const float w = a[i];
    for (size_t c = 0; c < n; c++) y[c] = fmaf(w, b[c], y[c]);
  }
}

#undef SUM_F64
#undef UNARY
#undef BINARY
