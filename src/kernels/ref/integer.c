/* SPDX-License-Identifier: Apache-2.0 */
/* The integer operators with windows and matrices, as docs/numerics.md writes them. */
#include "kernels/ref/integer.h"

#include <stddef.h>

/* One window of one channel: tap j of the kernel lies at input position at[] or outside. */
typedef struct tap_walk {
  int64_t tap[Q8_SPATIAL];
  int64_t index;  /* tap's index in the kernel */
  int64_t offset; /* element inside the channel's image, when inside */
  bool inside;    /* the image */
  bool padded;    /* the padded image */
} tap_walk;

/* Where tap j of the window at output position p reads. */
static tap_walk tap_at(const q8_window *g, const int64_t p[Q8_SPATIAL], int64_t j) {
  tap_walk t = {.index = j, .inside = true, .padded = true};
  for (int a = Q8_SPATIAL - 1; a >= 0; a--) {
    t.tap[a] = j % g->kernel[a];
    j /= g->kernel[a];
  }
  for (int a = 0; a < Q8_SPATIAL; a++) {
    int64_t q = p[a] * g->stride[a] - g->begin[a] + t.tap[a] * g->dilation[a];
    t.inside = t.inside && q >= 0 && q < g->in[a];
    t.padded = t.padded && q >= -g->begin[a] && q < g->in[a] + g->end[a];
    t.offset = t.offset * g->in[a] + q;
  }
  return t;
}

static int64_t volume(const int64_t dims[Q8_SPATIAL]) { return dims[0] * dims[1] * dims[2]; }

static void position(const int64_t dims[Q8_SPATIAL], int64_t index, int64_t out_p[Q8_SPATIAL]) {
  for (int a = Q8_SPATIAL - 1; a >= 0; a--) {
    out_p[a] = index % dims[a];
    index /= dims[a];
  }
}

/* bias + sum over the group's channels and the kernel's taps. w: this output channel's [C/group, kernel...]. */
static int64_t conv_sum(const q8_window *g, const q8_input *x, int64_t first_image, const int64_t p[Q8_SPATIAL], const int8_t *w) {
  int64_t channels = g->channels / g->group, taps = volume(g->kernel), pixels = volume(g->in), sum = 0;
  for (int64_t j = 0; j < taps; j++) {
    tap_walk t = tap_at(g, p, j);
    if (!t.inside) continue;
    for (int64_t c = 0; c < channels; c++) {
      int32_t v = npuc_q8_get(x, (first_image + c) * pixels + t.offset) - x->zero_point;
      sum += (int64_t)v * w[c * taps + j];
    }
  }
  return sum;
}

void npuc_ref_qconv(const q8_window *g, const q8_input *x, const int8_t *w, const q8_scale *scale, const q8_output *y) {
  int64_t per_group = g->out_channels / g->group, channels = g->channels / g->group;
  int64_t outputs = volume(g->out), weights = channels * volume(g->kernel);
  for (int64_t n = 0; n < g->batch; n++) {
    for (int64_t o = 0; o < g->out_channels; o++) {
      int64_t first_image = n * g->channels + (o / per_group) * channels;
      for (int64_t i = 0; i < outputs; i++) {
        int64_t p[Q8_SPATIAL];
        position(g->out, i, p);
        int64_t t = (scale->bias ? scale->bias[o] : 0) + conv_sum(g, x, first_image, p, w + o * weights);
        npuc_q8_set(y, (n * g->out_channels + o) * outputs + i, npuc_q8_rule(y, t, scale->m[o], scale->s[o]));
      }
    }
  }
}

void npuc_ref_qgemm(int64_t rows, int64_t depth, int64_t outputs, const q8_input *x, const int8_t *w, const q8_scale *scale,
                    const q8_output *y) {
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t o = 0; o < outputs; o++) {
      int64_t t = scale->bias ? scale->bias[o] : 0;
      for (int64_t k = 0; k < depth; k++) t += (int64_t)(npuc_q8_get(x, r * depth + k) - x->zero_point) * w[o * depth + k];
      npuc_q8_set(y, r * outputs + o, npuc_q8_rule(y, t, scale->m[o], scale->s[o]));
    }
  }
}

static int64_t find_count(const int32_t *counts, int64_t n, int64_t count) {
  for (int64_t i = 0; i < n; i++) {
    if (counts[i] == count) return i;
  }
  return -1;
}

bool npuc_ref_qaveragepool(const q8_window *g, bool count_include_pad, const q8_input *x, const int32_t *counts, int64_t n_counts,
                           const q8_scale *scale, const q8_output *y) {
  int64_t outputs = volume(g->out), taps = volume(g->kernel), pixels = volume(g->in);
  for (int64_t map = 0; map < g->batch * g->channels; map++) {
    for (int64_t i = 0; i < outputs; i++) {
      int64_t p[Q8_SPATIAL], sum = 0, count = 0;
      position(g->out, i, p);
      for (int64_t j = 0; j < taps; j++) {
        tap_walk t = tap_at(g, p, j);
        if (t.inside) sum += npuc_q8_get(x, map * pixels + t.offset) - x->zero_point;
        count += count_include_pad ? t.padded : t.inside;
      }
      int64_t k = find_count(counts, n_counts, count);
      if (k < 0) return false;
      npuc_q8_set(y, map * outputs + i, npuc_q8_rule(y, sum, scale->m[k], scale->s[k]));
    }
  }
  return true;
}

void npuc_ref_qglobalaveragepool(int64_t maps, int64_t pixels, const q8_input *x, const q8_scale *scale, const q8_output *y) {
  for (int64_t map = 0; map < maps; map++) {
    int64_t sum = 0;
    for (int64_t i = 0; i < pixels; i++) sum += npuc_q8_get(x, map * pixels + i) - x->zero_point;
    npuc_q8_set(y, map, npuc_q8_rule(y, sum, scale->m[0], scale->s[0]));
  }
}
