/* SPDX-License-Identifier: Apache-2.0 */
/* Layers with weights: int8 per output channel, int32 bias with its correction, multiplier and shift (docs/numerics.md sections 3, 4, 7). */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "quant/multiplier.h"
#include "quant/plan.h"

/* One layer in real numbers. */
typedef struct layer {
  const plan_node *pn;
  int64_t outputs, depth, group;
  double *w;    /* [outputs, depth] */
  double *bias; /* [outputs] */
  double *mean; /* [group, depth]: mean of the input under each weight; NULL: no correction */
  const qparams *x, *y;
} layer;

/* -- reading -- */
static int64_t product_from(const shape *s, int32_t first) {
  int64_t n = 1;
  for (int32_t i = first; i < s->rank; i++) n *= s->dims[i];
  return n;
}

static void allocate(layer *l) {
  l->w = npuc_buffer_create((size_t)(l->outputs * l->depth) * sizeof *l->w);
  l->bias = npuc_buffer_create((size_t)l->outputs * sizeof *l->bias);
}

static bool allocated(const layer *l) { return l->w && l->bias; }

static void read_bias(layer *l, const tensor *t, double factor) {
  if (!t) return;
  int64_t n = npuc_tensor_elements(t);
  for (int64_t o = 0; o < l->outputs; o++) l->bias[o] = factor * npuc_tensor_get(t, n == 1 ? 0 : o);
}

static void read_conv(layer *l) {
  const node *n = l->pn->node;
  const tensor *w = plan_constant(n, 1);
  l->outputs = w->shape.dims[0];
  l->depth = product_from(&w->shape, 1);
  l->group = NPUC_ATTRS(conv_attributes, n)->group;
  allocate(l);
  if (!allocated(l)) return;
  for (int64_t i = 0; i < l->outputs * l->depth; i++) l->w[i] = npuc_tensor_get(w, i);
  read_bias(l, plan_constant(n, 2), 1);
}

/* Gemm's alpha * B (transposed or not) and beta * C, MatMul's B and the Add behind it. */
static void read_matrix(layer *l) {
  const node *n = l->pn->node;
  const tensor *b = plan_constant(n, 1);
  bool gemm = l->pn->role == ROLE_GEMM;
  const gemm_attributes *a = gemm ? NPUC_ATTRS(gemm_attributes, n) : NULL;
  bool transposed = gemm && a->transB;
  double alpha = gemm ? (double)a->alpha : 1;
  l->outputs = b->shape.dims[transposed ? 0 : 1];
  l->depth = b->shape.dims[transposed ? 1 : 0];
  l->group = 1;
  allocate(l);
  if (!allocated(l)) return;
  for (int64_t o = 0; o < l->outputs; o++) {
    for (int64_t k = 0; k < l->depth; k++)
      l->w[o * l->depth + k] = alpha * npuc_tensor_get(b, transposed ? o * l->depth + k : k * l->outputs + o);
  }
  if (gemm) read_bias(l, plan_constant(n, 2), (double)a->beta);
  const node *add = l->pn->bias_add;
  if (add) read_bias(l, add->inputs[0]->constant ? add->inputs[0]->constant : plan_constant(add, 1), 1);
}

/* y = w[c] * x + bias[c]. */
static void read_channel(layer *l) {
  const node *n = l->pn->node;
  l->outputs = l->group = plan_x(n)->shape.dims[1];
  l->depth = 1;
  allocate(l);
  if (!allocated(l)) return;
  const tensor *c = n->inputs[0]->constant ? n->inputs[0]->constant : plan_constant(n, 1);
  for (int64_t o = 0; o < l->outputs; o++) {
    double v = npuc_tensor_get(c, npuc_tensor_elements(c) == 1 ? 0 : o);
    l->w[o] = 1;
    if (node_is(n, OP_BATCHNORM)) {
      double epsilon = (double)NPUC_ATTRS(batchnorm_attributes, n)->epsilon;
      l->w[o] = v / sqrt(npuc_tensor_get(plan_constant(n, 4), o) + epsilon);
      l->bias[o] = npuc_tensor_get(plan_constant(n, 2), o) - npuc_tensor_get(plan_constant(n, 3), o) * l->w[o];
    } else if (node_is(n, OP_MUL)) {
      l->w[o] = v;
    } else if (node_is(n, OP_DIV)) {
      l->w[o] = 1 / v;
    } else {
      l->bias[o] = node_is(n, OP_SUB) ? -v : v;
    }
  }
}

/* -- means -- */
typedef struct image {
  int32_t spatial;
  int64_t in[MAX_RANK], out[MAX_RANK], kernel[MAX_RANK], stride[MAX_RANK], begin[MAX_RANK], dilation[MAX_RANK];
} image;

static image image_of(const plan_node *pn) {
  const node *n = pn->node;
  const value *x = plan_x(n);
  image g = {.spatial = x->shape.rank - 2};
  assert(g.spatial >= 0 && g.spatial <= MAX_RANK - 2);
  const conv_attributes *a = pn->role == ROLE_CONV ? NPUC_ATTRS(conv_attributes, n) : NULL;
  for (int32_t i = 0; i < g.spatial; i++) {
    g.in[i] = x->shape.dims[2 + i];
    g.out[i] = n->outputs[0]->shape.dims[2 + i];
    g.kernel[i] = a ? plan_constant(n, 1)->shape.dims[2 + i] : 1;
    g.stride[i] = a && i < a->strides.count ? a->strides.values[i] : 1;
    g.begin[i] = a && i < a->pads.count ? a->pads.values[i] : 0;
    g.dilation[i] = a && i < a->dilations.count ? a->dilations.values[i] : 1;
  }
  return g;
}

/* Sum over output positions of one channel's image under one tap, 0 in the padding. Recursion over axes. */
static double tap_sum(const image *g, const double *channel, const int64_t *tap, int32_t axis, int64_t offset) {
  if (axis == g->spatial) return channel[offset];
  double sum = 0;
  for (int64_t o = 0; o < g->out[axis]; o++) {
    int64_t q = o * g->stride[axis] - g->begin[axis] + tap[axis] * g->dilation[axis];
    if (q >= 0 && q < g->in[axis]) sum += tap_sum(g, channel, tap, axis + 1, offset * g->in[axis] + q);
  }
  return sum;
}

static int64_t count(const int64_t *dims, int32_t n) {
  int64_t product = 1;
  for (int32_t i = 0; i < n; i++) product *= dims[i];
  return product;
}

/* mean[channel * taps + tap]: the channels of all groups in order are [group, depth]. sums: [batch, C, D...]. */
static void image_means(const image *g, const double *sums, int64_t batch, int64_t channels, double samples, double *mean) {
  int64_t pixels = count(g->in, g->spatial), taps = count(g->kernel, g->spatial);
  double divisor = samples * (double)(batch * count(g->out, g->spatial));
  for (int64_t c = 0; c < channels; c++) {
    for (int64_t j = 0; j < taps; j++) {
      int64_t tap[MAX_RANK], rest = j;
      for (int32_t i = g->spatial - 1; i >= 0; i--) {
        assert(g->kernel[i] > 0);
        tap[i] = rest % g->kernel[i];
        rest /= g->kernel[i];
      }
      double sum = 0;
      for (int64_t b = 0; b < batch; b++) sum += tap_sum(g, sums + (b * channels + c) * pixels, tap, 0, 0);
      mean[c * taps + j] = sum / divisor;
    }
  }
}

static npuc_status read_means(const plan *p, layer *l) {
  const value *x = plan_x(l->pn->node);
  const plan_value *pv = &p->values[x->id];
  bool has_bias = l->pn->role != ROLE_MATMUL || l->pn->bias_add;
  if (!pv->mean || !has_bias || p->samples == 0) return NPUC_OK;
  l->mean = npuc_buffer_create((size_t)(l->group * l->depth) * sizeof *l->mean);
  if (!l->mean) return npuc_fail(p->d, NPUC_DIAG_E0002, NULL, "means of %s", x->name);
  if (l->pn->role == ROLE_CONV || l->pn->role == ROLE_CHANNEL) {
    image g = image_of(l->pn);
    image_means(&g, pv->mean, x->shape.dims[0], x->shape.dims[1], (double)p->samples, l->mean);
    return NPUC_OK;
  }
  int64_t rows = pv->mean_elements / l->depth;
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t k = 0; k < l->depth; k++) l->mean[k] += pv->mean[r * l->depth + k];
  }
  for (int64_t k = 0; k < l->depth; k++) l->mean[k] /= (double)p->samples * (double)rows;
  return NPUC_OK;
}

/* -- integers -- */
static const double BIAS_MOST = 1073741824.0; /* 2^30: leaves the other half of 32 bits to the products */

/* The channel's scale: its largest weight at 127, more when the bias would not fit. */
static float channel_scale(const layer *l, int64_t o, bool *out_raised) {
  double largest = 0, x = (double)l->x->scale;
  for (int64_t k = 0; k < l->depth; k++) largest = fmax(largest, fabs(l->w[o * l->depth + k]));
  float scale = (float)(largest / 127);
  if (largest == 0) scale = (float)((double)l->y->scale / (256 * x)); /* only a bias: 256 steps of it in one of y */
  if (!(scale >= FLT_MIN)) scale = FLT_MIN;
  *out_raised = fabs(l->bias[o]) > BIAS_MOST * x * (double)scale;
  if (*out_raised) {
    scale = (float)(fabs(l->bias[o]) / (BIAS_MOST * x));
    while (fabs(l->bias[o]) > BIAS_MOST * x * (double)scale) scale = nextafterf(scale, INFINITY);
  }
  return scale;
}

static int8_t round_weight(double w, double scale) {
  double q = rint(w / scale);
  return (int8_t)(q > 127 ? 127 : q < -127 ? -127 : q);
}

typedef struct noise {
  double signal, error;
} noise;

/* Weights and bias of channel o. Fails where 32 bits could overflow. */
static npuc_status quantize_channel(const plan *p, const layer *l, quant_weights *q, int64_t o, noise *sum) {
  bool raised;
  double correction = 0, x = (double)l->x->scale, magnitude = 0;
  float narrow = channel_scale(l, o, &raised);
  double scale = (double)narrow;
  const double *mean = l->mean ? l->mean + o / (l->outputs / l->group) * l->depth : NULL;
  for (int64_t k = 0; k < l->depth; k++) {
    double w = l->w[o * l->depth + k];
    int8_t rounded = round_weight(w, scale);
    double lost = w - scale * rounded;
    q->w[o * l->depth + k] = rounded;
    sum->signal += w * w;
    sum->error += lost * lost;
    magnitude += abs(rounded);
    if (mean) correction += lost * mean[k];
  }
  q->w_scale[o] = narrow;
  q->raised += raised;
  q->correction = fmax(q->correction, fabs(correction) / (double)l->y->scale);
  double bias = rint((l->bias[o] + correction) / (x * scale));
  double largest = fmax(fabs((double)l->x->lo - l->x->zero_point), fabs((double)l->x->hi - l->x->zero_point));
  if (!(fabs(bias) + magnitude * largest <= 2147483647.0)) {
    diag_place place = npuc_plan_place(l->pn->node, NULL);
    return npuc_fail(p->d, NPUC_DIAG_E0710, &place, "output channel %lld: |bias| %.0f + %.0f x %.0f can exceed 2^31 - 1", (long long)o,
                     fabs(bias), magnitude, largest);
  }
  q->bias[o] = (int32_t)bias;
  multiplier_fit fit = npuc_multiplier(x * scale / (double)l->y->scale, p->options->multiplier_bits, &q->m[o], &q->s[o]);
  q->vanished += fit == MULTIPLIER_VANISHES;
  if (fit != MULTIPLIER_TOO_LARGE) return NPUC_OK;
  diag_place place = npuc_plan_place(l->pn->node, NULL);
  return npuc_fail(p->d, NPUC_DIAG_E0709, &place, "output channel %lld: %g * %g / %g", (long long)o, x, scale, (double)l->y->scale);
}

static npuc_status check_finite(const plan *p, const layer *l) {
  bool good = true;
  for (int64_t i = 0; i < l->outputs * l->depth; i++) good = good && isfinite(l->w[i]);
  for (int64_t o = 0; o < l->outputs; o++) good = good && isfinite(l->bias[o]);
  diag_place place = npuc_plan_place(l->pn->node, NULL);
  return good ? NPUC_OK : npuc_fail(p->d, NPUC_DIAG_E0711, &place, "a weight or bias is NaN or infinite");
}

static void warn(const plan *p, const layer *l, const quant_weights *q) {
  diag_place place = npuc_plan_place(l->pn->node, NULL);
  if (q->raised) {
    npuc_warn(p->d, NPUC_DIAG_E0707, &place, "%lld of %lld channels: weight scale raised so that the bias fits 32 bits",
              (long long)q->raised, (long long)l->outputs);
  }
  if (q->vanished) {
    npuc_warn(p->d, NPUC_DIAG_E0708, &place, "%lld of %lld channels are constant: their multiplier is below 2^-32", (long long)q->vanished,
              (long long)l->outputs);
  }
}

static npuc_status quantize_layer(const plan *p, layer *l, quant_weights **out) {
  NPUC_TRY(check_finite(p, l));
  NPUC_TRY(read_means(p, l));
  arena *a = p->arena;
  quant_weights *q = NPUC_NEW(a, quant_weights);
  *q = (quant_weights){.outputs = l->outputs, .depth = l->depth, .group = l->group};
  q->w = NPUC_NEW_ARRAY(a, (size_t)(l->outputs * l->depth), int8_t);
  q->w_scale = NPUC_NEW_ARRAY(a, (size_t)l->outputs, float);
  q->bias = NPUC_NEW_ARRAY(a, (size_t)l->outputs, int32_t);
  q->m = NPUC_NEW_ARRAY(a, (size_t)l->outputs, int32_t);
  q->s = NPUC_NEW_ARRAY(a, (size_t)l->outputs, int32_t);
  noise sum = {0};
  for (int64_t o = 0; o < l->outputs; o++) NPUC_TRY(quantize_channel(p, l, q, o, &sum));
  q->sqnr_db = sum.error > 0 ? 10 * log10(sum.signal / sum.error) : INFINITY;
  warn(p, l, q);
  *out = q;
  return NPUC_OK;
}

npuc_status npuc_plan_quantize_weights(plan *p) {
  for (size_t i = 0; i < p->n_nodes; i++) {
    plan_node *pn = &p->nodes[i];
    layer l = {.pn = pn};
    if (pn->role == ROLE_CONV) {
      read_conv(&l);
    } else if (pn->role == ROLE_GEMM || pn->role == ROLE_MATMUL) {
      read_matrix(&l);
    } else if (pn->role == ROLE_CHANNEL) {
      read_channel(&l);
    } else {
      continue;
    }
    l.x = plan_params(p, plan_x(pn->node));
    l.y = plan_params(p, pn->out);
    npuc_status status =
        allocated(&l) ? quantize_layer(p, &l, &pn->weights) : npuc_fail(p->d, NPUC_DIAG_E0002, NULL, "weights of %s", pn->node->name);
    npuc_buffer_destroy(l.w);
    npuc_buffer_destroy(l.bias);
    npuc_buffer_destroy(l.mean);
    NPUC_TRY(status);
  }
  return NPUC_OK;
}
