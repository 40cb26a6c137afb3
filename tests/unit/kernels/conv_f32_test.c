/* SPDX-License-Identifier: Apache-2.0 */
/* float32 convolutions and matrix products of every level against the readable loops, bit for bit: a grid of windows, images in every
 * layout with and without borders, fused add and clip, one to three threads; guard bytes around the output and in its border. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "kernels/conv.h"
#include "kernels/ref/float.h"
#include "support/random.h"
#include "support/windows.h"

enum { GUARD = 64, GUARD_BYTE = 0xa5 };

static void *guarded(size_t bytes) {
  unsigned char *all = malloc(bytes + 2 * GUARD);
  assert_non_null(all);
  memset(all, GUARD_BYTE, bytes + 2 * GUARD);
  return all + GUARD;
}

static bool guards_hold(const void *at, size_t bytes) {
  const unsigned char *all = (const unsigned char *)at - GUARD;
  for (size_t i = 0; i < GUARD; i++) {
    if (all[i] != GUARD_BYTE || all[GUARD + bytes + i] != GUARD_BYTE) return false;
  }
  return true;
}

static void free_guarded(void *at) { free((unsigned char *)at - GUARD); }

static const cpu_level levels[] = {CPU_SCALAR, CPU_NEON, CPU_AVX2, CPU_AVX512};
enum { LEVELS = sizeof levels / sizeof levels[0] };

/* -- images, one element at a time -- */

static size_t image_floats(const image *i, int64_t batch) { return (size_t)(i->sample * batch); }

static int64_t element(const image *i, int64_t n, int64_t c, const int64_t at[WINDOW_AXES]) {
  return n * i->sample + i->origin + c / i->lanes * i->block + c % i->lanes + at[0] * i->step[0] + at[1] * i->step[1] + at[2] * i->step[2];
}

/* Between a planar array [batch, channels, size] and an image; what lies between the image's cells is left alone. */
static void transfer(const image *i, int64_t batch, float *plain, float *in_image, bool into) {
  int64_t volume = window_volume(i->size);
  for (int64_t e = 0; e < batch * i->channels * volume; e++) {
    int64_t p = e % volume, at[WINDOW_AXES] = {p / i->size[2] / i->size[1], p / i->size[2] % i->size[1], p % i->size[2]};
    float *cell = &in_image[element(i, e / volume / i->channels, e / volume % i->channels, at)];
    if (into) {
      *cell = plain[e];
    } else {
      plain[e] = *cell;
      *cell = NAN; /* read once */
    }
  }
}

/* -- one case -- */

typedef struct conv_case {
  kernel_window g;
  float *x, *w, *bias, *add, *want; /* planar; bias, add may be NULL */
  float lo, hi;
} conv_case;

typedef struct layouts {
  bool x_blocked, x_border, y_blocked, y_border;
} layouts;

static size_t output_floats(const kernel_window *g) { return (size_t)(g->batch * g->out_channels * window_volume(g->out)); }

/* lanes 1: planar. */
static image make_image(int64_t channels, int64_t lanes, const int64_t *size, const image_border *border) {
  image i;
  assert_true(lanes > 1 ? npuc_image_blocked(channels, lanes, size, border, &i) : npuc_image_planar(channels, size, border, &i));
  return i;
}

static float *image_of(const image *i, int64_t batch, float *plain) {
  float *all = calloc(image_floats(i, batch) + 1, sizeof *all);
  assert_non_null(all);
  if (plain) transfer(i, batch, plain, all, true);
  return all;
}

/* Runs the case in the given layouts; `out` [output_floats] planar. */
static void run(const conv_case *c, layouts how, cpu_level level, thread_pool *pool, float *out) {
  const kernel_window *g = &c->g;
  kernel_set kernels;
  npuc_kernels_for_level(level, &kernels);
  image_border need = npuc_conv_border(g), odd = {{0, 1, 2}, {1, 0, 3}};
  need.after[2]++; /* more than needed is good too */
  conv_f32 conv = {.g = *g, .bias = c->bias, .clip_lo = c->lo, .clip_hi = c->hi};
  conv.x_image = make_image(g->channels, how.x_blocked ? kernels.lanes : 1, g->in, how.x_border ? &need : NULL);
  conv.y_image = make_image(g->out_channels, how.y_blocked ? kernels.lanes : 1, g->out, how.y_border ? &odd : NULL);
  conv.add_image = make_image(g->out_channels, kernels.lanes, g->out, how.x_border ? &odd : NULL);
  float *x = image_of(&conv.x_image, g->batch, c->x), *add = image_of(&conv.add_image, g->batch, c->add);
  size_t y_bytes = image_floats(&conv.y_image, g->batch) * sizeof(float), bytes;
  float *y = guarded(y_bytes);
  conv_weights shape = conv_weights_of(&kernels, g);
  float *packed = malloc(npuc_conv_f32_packed_elements(&shape) * sizeof *packed);
  npuc_conv_f32_pack(&shape, c->w, packed);
  conv.x = x;
  conv.y = y;
  conv.packed = packed;
  if (c->add) conv.add = add;
  assert_true(npuc_conv_f32_scratch(&kernels, &conv, npuc_pool_threads(pool), &bytes));
  void *scratch = guarded(bytes);
  npuc_conv_f32(&kernels, pool, &conv, scratch);
  assert_true(guards_hold(scratch, bytes));
  assert_true(guards_hold(y, y_bytes));
  transfer(&conv.y_image, g->batch, out, y, false);
  if (how.y_border && g->out_channels % kernels.lanes == 0) { /* nothing but cells was written */
    for (size_t i = 0; i < y_bytes / sizeof(float); i++) {
      uint32_t bits;
      memcpy(&bits, &y[i], sizeof bits);
      assert_true(isnan(y[i]) || bits == 0xa5a5a5a5u);
    }
  }
  free_guarded(scratch), free_guarded(y), free(x), free(add), free(packed);
}

static void check(const conv_case *c, layouts how, int window) {
  size_t n = output_floats(&c->g);
  float *got = malloc(n * sizeof *got);
  for (size_t l = 0; l < LEVELS; l++) {
    if (!npuc_cpu_has(levels[l])) continue;
    for (size_t threads = 1; threads <= 3; threads++) {
      thread_pool *pool = npuc_pool_create(threads);
      memset(got, 0xff, n * sizeof *got);
      run(c, how, levels[l], pool, got);
      if (memcmp(c->want, got, n * sizeof *got) != 0) {
        fail_msg("window %d, %s, %zu threads, x %s%s, y %s%s%s", window, npuc_cpu_name(levels[l]), threads,
                 how.x_blocked ? "blocked" : "planar", how.x_border ? " with border" : "", how.y_blocked ? "blocked" : "planar",
                 how.y_border ? " with border" : "", c->add ? ", add" : "");
      }
      npuc_pool_destroy(pool);
    }
  }
  got[n / 2] = nextafterf(got[n / 2], INFINITY); /* negative control: one last bit is seen */
  assert_memory_not_equal(c->want, got, n * sizeof *got);
  free(got);
}

static conv_case make_case(const kernel_window *g, int i, uint64_t *seed) {
  size_t x = (size_t)(g->batch * g->channels * window_volume(g->in)), y = output_floats(g);
  size_t w = (size_t)(g->out_channels * (g->channels / g->group) * window_volume(g->kernel));
  conv_case c = {.g = *g, .x = malloc(x * sizeof(float)), .w = malloc(w * sizeof(float)), .want = malloc(y * sizeof(float))};
  random_floats(seed, c.x, x, 2.0f);
  random_floats(seed, c.w, w, 0.5f);
  if (i % 3) {
    c.bias = malloc((size_t)g->out_channels * sizeof(float));
    random_floats(seed, c.bias, (size_t)g->out_channels, 1.0f);
  }
  c.lo = -INFINITY, c.hi = INFINITY;
  npuc_ref_conv_f32(g, c.x, c.w, c.bias, c.want);
  return c;
}

/* The Add and the Clip behind the case, one after the other. */
static void add_epilogue(conv_case *c, uint64_t *seed) {
  size_t n = output_floats(&c->g);
  c->add = malloc(n * sizeof *c->add);
  random_floats(seed, c->add, n, 3.0f);
  c->lo = 0.0f, c->hi = 6.0f;
  for (size_t i = 0; i < n; i++) {
    float v = c->want[i] + c->add[i];
    c->want[i] = v < c->lo ? c->lo : v > c->hi ? c->hi : v;
  }
}

/* Beside the shared grid: what only these kernels tell apart. */
static bool window_at(int i, kernel_window *out) {
  const kernel_window more[] = {
      test_window(1, 17, 24, 1, 5, 5, 3, 3, 1, 1, 1),
      test_window(2, 24, 40, 1, 7, 7, 1, 1, 1, 1, 0), /* three blocks; a pair and three */
      test_window(3, 40, 17, 1, 4, 4, 3, 3, 1, 1, 1),
      test_window(1, 12, 36, 3, 5, 6, 3, 3, 1, 1, 1), /* groups that share blocks */
      test_window(1, 48, 48, 2, 6, 7, 3, 3, 1, 1, 1),
      test_window(2, 17, 17, 17, 9, 9, 5, 5, 2, 1, 2), /* depthwise, odd channels */
      test_window(1, 3, 9, 3, 8, 8, 3, 3, 1, 2, 2),
      test_window(1, 16, 8, 8, 6, 6, 3, 3, 1, 1, 1), /* multiplier 3; two to one */
      test_window(2, 3, 32, 1, 33, 17, 3, 3, 2, 1, 1),
      test_window(1, 520, 33, 1, 3, 3, 1, 1, 1, 1, 0),
      test_window(1, 8, 16, 1, 20, 20, 1, 1, 2, 1, 0),
      test_window(1, 5, 8, 1, 1, 300, 1, 7, 1, 1, 3), /* more than one run */
      test_window(1, 8, 8, 8, 40, 40, 3, 3, 1, 1, 1),
      test_window(1, 20, 20, 20, 9, 11, 5, 5, 1, 1, 2), /* rows of taps, of odd length */
      test_window(2, 16, 16, 1, 9, 9, 3, 3, 2, 2, 2),
      test_window(1, 8, 16, 1, 31, 33, 3, 3, 1, 1, 1), /* stride and dilation alike; more than one run */
      test_window(2, 8, 16, 1, 9, 3, 3, 3, 1, 1, 0),
      test_window(3, 8, 40, 1, 3, 3, 3, 3, 1, 1, 0), /* one column; one pixel */
  };
  int n = (int)(sizeof more / sizeof more[0]);
  if (i < n) {
    *out = more[i];
    return true;
  }
  if (i == n) { /* pads that differ on every side */
    kernel_window g = test_window(2, 9, 11, 1, 7, 6, 3, 4, 1, 1, 0);
    g.begin[1] = 2, g.end[1] = 1, g.begin[2] = 0, g.end[2] = 3;
    g.out[1] = 7 + 3 - 2, g.out[2] = 6 + 3 - 3;
    *out = g;
    return true;
  }
  return test_window_at(i - n - 1, out);
}

static void conv_equals_the_loop(void **state) {
  (void)state;
  kernel_window g;
  uint64_t seed = 11;
  for (int i = 0; window_at(i, &g); i++) {
    conv_case c = make_case(&g, i, &seed);
    for (int k = 0; k < 16; k++) {
      layouts how = {k & 1, k & 2, k & 4, k & 8};
      if (how.y_border && !how.y_blocked) continue; /* planar outputs are tensors */
      check(&c, how, i);
    }
    add_epilogue(&c, &seed);
    check(&c, (layouts){true, true, true, true}, i);
    check(&c, (layouts){false, false, true, false}, i);
    free(c.x), free(c.w), free(c.bias), free(c.want), free(c.add);
  }
}

/* An add that is y itself is overwritten place by place; NaN passes the clip. */
static void conv_adds_in_place(void **state) {
  (void)state;
  kernel_window g = test_window(2, 5, 7, 1, 6, 11, 3, 3, 1, 1, 1);
  uint64_t seed = 5;
  conv_case c = make_case(&g, 0, &seed);
  add_epilogue(&c, &seed);
  c.add[4] = NAN;
  float *got = malloc(output_floats(&g) * sizeof *got);
  for (size_t l = 0; l < LEVELS; l++) {
    if (!npuc_cpu_has(levels[l])) continue;
    kernel_set kernels;
    npuc_kernels_for_level(levels[l], &kernels);
    conv_weights shape = conv_weights_of(&kernels, &g);
    float *packed = malloc(npuc_conv_f32_packed_elements(&shape) * sizeof *packed);
    npuc_conv_f32_pack(&shape, c.w, packed);
    conv_f32 conv = {.g = g, .x = c.x, .packed = packed, .clip_lo = c.lo, .clip_hi = c.hi};
    conv.x_image = make_image(g.channels, 1, g.in, NULL);
    conv.y_image = conv.add_image = make_image(g.out_channels, kernels.lanes, g.out, NULL);
    float *y = image_of(&conv.y_image, g.batch, c.add);
    conv.y = y;
    conv.add = y;
    size_t bytes;
    assert_true(npuc_conv_f32_scratch(&kernels, &conv, 1, &bytes));
    void *scratch = malloc(bytes);
    npuc_conv_f32(&kernels, NULL, &conv, scratch);
    transfer(&conv.y_image, g.batch, got, y, false);
    assert_true(isnan(got[4]));
    got[4] = c.want[4];
    assert_memory_equal(c.want, got, output_floats(&g) * sizeof *got);
    free(scratch), free(y), free(packed);
  }
  free(c.x), free(c.w), free(c.bias), free(c.want), free(c.add), free(got);
}

static void matmul_equals_the_loop(void **state) {
  (void)state;
  const int64_t dims[][3] = {{1, 1, 1},   {1, 7, 16},  {1, 65, 33},  {3, 17, 65},  {6, 16, 16},  {7, 33, 5},
                             {7, 40, 24}, {13, 8, 40}, {2, 16, 130}, {200, 9, 17}, {100, 300, 8}};
  uint64_t seed = 3;
  for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
    int64_t m = dims[i][0], k = dims[i][1], n = dims[i][2];
    float *a = malloc((size_t)(m * k) * sizeof *a), *b = malloc((size_t)(k * n) * sizeof *b);
    float *want = malloc((size_t)(m * n) * sizeof *want), *got = guarded((size_t)(m * n) * sizeof *got);
    random_floats(&seed, a, (size_t)(m * k), 1.0f);
    random_floats(&seed, b, (size_t)(k * n), 1.0f);
    float *turned = malloc((size_t)(k * n) * sizeof *turned); /* [n, k] */
    for (int64_t e = 0; e < k * n; e++) turned[e % n * k + e / n] = b[e];
    for (int64_t e = 0; e < m * n; e++) {
      float sum = 0.0f;
      for (int64_t t = 0; t < k; t++) sum = fmaf(a[e / n * k + t], b[t * n + e % n], sum);
      want[e] = sum;
    }
    for (size_t l = 0; l < LEVELS; l++) {
      if (!npuc_cpu_has(levels[l])) continue;
      for (size_t threads = 1; threads <= 3; threads++) {
        kernel_set kernels;
        npuc_kernels_for_level(levels[l], &kernels);
        thread_pool *pool = npuc_pool_create(threads);
        size_t bytes;
        assert_true(npuc_matmul_f32_scratch(m, k, n, threads, &bytes));
        void *scratch = guarded(bytes);
        for (int form = 0; form < 2; form++) {
          matmul_f32 product = {m, k, n, a, form ? turned : b, got, form == 1};
          memset(got, 0xff, (size_t)(m * n) * sizeof *got);
          npuc_matmul_f32(&kernels, pool, &product, scratch);
          assert_true(guards_hold(scratch, bytes) && guards_hold(got, (size_t)(m * n) * sizeof *got));
          if (memcmp(want, got, (size_t)(m * n) * sizeof *got) != 0)
            fail_msg("%zu, %s, %zu threads, b %s", i, npuc_cpu_name(levels[l]), threads, form ? "[n, k]" : "[k, n]");
        }
        npuc_pool_destroy(pool);
        free_guarded(scratch);
      }
    }
    free(a), free(b), free(turned), free(want), free_guarded(got);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(conv_equals_the_loop), cmocka_unit_test(conv_adds_in_place),
                                     cmocka_unit_test(matmul_equals_the_loop)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
