/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of every level against the readable loops, bit for bit, over a grid of windows, with guard bytes around the output and
 * one, two and three threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "kernels/conv.h"
#include "kernels/conv_i8.h"
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

typedef struct sizes {
  size_t x, w, y;
  int64_t taps;
} sizes;

static sizes sizes_of(const kernel_window *g) {
  int64_t taps = g->channels / g->group * window_volume(g->kernel);
  return (sizes){(size_t)(g->batch * g->channels * window_volume(g->in)), (size_t)(g->out_channels * taps),
                 (size_t)(g->batch * g->out_channels * window_volume(g->out)), taps};
}

static const cpu_level levels[] = {CPU_SCALAR, CPU_AVX2, CPU_AVX512};

static bool has_level(cpu_level level) { return level == CPU_SCALAR || (npuc_cpu_best() >= level && npuc_cpu_best() != CPU_NEON); }

/* -- float32 -- */

static void run_f32(const kernel_window *g, cpu_level level, thread_pool *pool, const float *x, const float *w, const float *bias,
                    float *y) {
  kernel_set kernels;
  npuc_kernels_for_level(level, &kernels);
  sizes s = sizes_of(g);
  size_t bytes;
  assert_true(npuc_conv_f32_scratch(g, npuc_pool_threads(pool), &bytes));
  float *packed = malloc(npuc_conv_packed_elements(g->group, g->out_channels, s.taps) * sizeof *packed);
  void *scratch = guarded(bytes);
  npuc_conv_f32_pack(g->group, g->out_channels, s.taps, w, packed);
  conv_f32 conv = {.g = *g, .x = x, .packed = packed, .bias = bias, .y = y, .clip_lo = -INFINITY, .clip_hi = INFINITY};
  npuc_conv_f32(&kernels, pool, &conv, scratch);
  assert_true(guards_hold(scratch, bytes));
  free_guarded(scratch);
  free(packed);
}

static void f32_equals_the_loop(void **state) {
  (void)state;
  kernel_window g;
  uint64_t seed = 11;
  for (int i = 0; test_window_at(i, &g); i++) {
    sizes s = sizes_of(&g);
    float *x = malloc(s.x * sizeof *x), *w = malloc(s.w * sizeof *w), *bias = malloc((size_t)g.out_channels * sizeof *bias);
    float *want = malloc(s.y * sizeof *want), *got = guarded(s.y * sizeof *got);
    random_floats(&seed, x, s.x, 2.0f);
    random_floats(&seed, w, s.w, 0.5f);
    random_floats(&seed, bias, (size_t)g.out_channels, 1.0f);
    npuc_ref_conv_f32(&g, x, w, i % 3 ? bias : NULL, want);
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
      if (!has_level(levels[l])) continue;
      for (size_t threads = 1; threads <= 3; threads++) {
        thread_pool *pool = npuc_pool_create(threads);
        memset(got, 0xff, s.y * sizeof *got);
        run_f32(&g, levels[l], pool, x, w, i % 3 ? bias : NULL, got);
        assert_true(guards_hold(got, s.y * sizeof *got));
        if (memcmp(want, got, s.y * sizeof *got) != 0) fail_msg("window %d, %s, %zu threads", i, npuc_cpu_name(levels[l]), threads);
        npuc_pool_destroy(pool);
      }
    }
    got[s.y / 2] = nextafterf(got[s.y / 2], INFINITY); /* negative control: one last bit is seen */
    assert_memory_not_equal(want, got, s.y * sizeof *got);
    free(x), free(w), free(bias), free(want), free_guarded(got);
  }
}

/* Fused add and clip against the separate operations. */
static void f32_epilogue(void **state) {
  (void)state;
  kernel_window g = test_window(2, 5, 7, 1, 6, 11, 3, 3, 1, 1, 1);
  sizes s = sizes_of(&g);
  uint64_t seed = 5;
  float *x = malloc(s.x * sizeof *x), *w = malloc(s.w * sizeof *w), *add = malloc(s.y * sizeof *add), *want = malloc(s.y * sizeof *want);
  float *got = malloc(s.y * sizeof *got), *packed = malloc(npuc_conv_packed_elements(1, 7, s.taps) * sizeof *packed);
  random_floats(&seed, x, s.x, 1.0f);
  random_floats(&seed, w, s.w, 1.0f);
  random_floats(&seed, add, s.y, 3.0f);
  add[4] = NAN;
  npuc_ref_conv_f32(&g, x, w, NULL, want);
  for (size_t i = 0; i < s.y; i++) {
    float v = want[i] + add[i];
    want[i] = v < 0.0f ? 0.0f : v > 6.0f ? 6.0f : v;
  }
  npuc_conv_f32_pack(1, 7, s.taps, w, packed);
  conv_f32 conv = {.g = g, .x = x, .packed = packed, .y = got, .add = add, .clip_lo = 0.0f, .clip_hi = 6.0f};
  for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
    if (!has_level(levels[l])) continue;
    kernel_set kernels;
    size_t bytes;
    npuc_kernels_for_level(levels[l], &kernels);
    assert_true(npuc_conv_f32_scratch(&g, 1, &bytes));
    void *scratch = malloc(bytes);
    npuc_conv_f32(&kernels, NULL, &conv, scratch);
    assert_true(isnan(got[4]));
    got[4] = want[4];
    assert_memory_equal(want, got, s.y * sizeof *got);
    free(scratch);
  }
  free(x), free(w), free(add), free(want), free(got), free(packed);
}

/* -- int8 -- */

typedef struct i8_case {
  kernel_window g;
  bool is_signed;
  int32_t bits; /* of M */
  uint8_t *x;
  int8_t *w;
  int32_t *bias, *m, *s;
} i8_case;

static i8_case make_i8(kernel_window g, uint64_t seed, bool is_signed, int32_t bits) {
  sizes s = sizes_of(&g);
  i8_case c = {.g = g, .is_signed = is_signed, .bits = bits, .x = malloc(s.x), .w = malloc(s.w)};
  c.bias = malloc((size_t)g.out_channels * 3 * sizeof *c.bias);
  c.m = c.bias + g.out_channels;
  c.s = c.m + g.out_channels;
  random_bytes(&seed, c.x, s.x);
  random_bytes(&seed, c.w, s.w);
  for (int64_t o = 0; o < g.out_channels; o++) {
    c.bias[o] = (int32_t)(random_next(&seed) % 20001) - 10000;
    c.m[o] = (int32_t)((1u << (bits - 1)) + random_next(&seed) % (1u << (bits - 1)));
    if (o % 5 == 4) c.m[o] = -c.m[o];
    c.s[o] = bits + 7 + (int32_t)(o % 4);
  }
  if (g.out_channels > 2) c.m[1] = 0, c.s[1] = 0;
  if (g.out_channels > 3) c.s[2] = bits == 31 ? 62 : 5;
  return c;
}

static void run_i8(const i8_case *c, cpu_level level, thread_pool *pool, uint8_t *y) {
  q8_input in = {.data = c->x, .is_signed = c->is_signed, .zero_point = c->is_signed ? -3 : 117};
  q8_output out = {.data = y,
                   .is_signed = c->is_signed,
                   .zero_point = c->is_signed ? 5 : 130,
                   .lo = c->is_signed ? -128 : 0,
                   .hi = c->is_signed ? 127 : 255};
  q8_scale scale = {.bias = c->bias, .m = c->m, .s = c->s};
  if (level == CPU_NEON) { /* stands for the readable loop */
    npuc_ref_qconv(&c->g, &in, c->w, &scale, &out);
    return;
  }
  kernel_set kernels;
  size_t bytes;
  npuc_kernels_for_level(level, &kernels);
  assert_true(npuc_conv_i8_scratch(&c->g, npuc_pool_threads(pool), &bytes));
  int32_t *packed = malloc(npuc_conv_i8_packed_elements(&c->g) * sizeof *packed);
  void *scratch = guarded(bytes);
  npuc_conv_i8_pack(&c->g, c->w, packed);
  conv_i8 conv = {.g = c->g, .x = in, .packed = packed, .scale = scale, .y = out};
  npuc_conv_i8(&kernels, pool, &conv, scratch);
  assert_true(guards_hold(scratch, bytes));
  free_guarded(scratch);
  free(packed);
}

static void check_i8(const i8_case *c, int window) {
  size_t n = sizes_of(&c->g).y;
  uint8_t *want = malloc(n), *got = guarded(n);
  run_i8(c, CPU_NEON, NULL, want);
  for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
    if (!has_level(levels[l])) continue;
    for (size_t threads = 1; threads <= 3; threads++) {
      thread_pool *pool = npuc_pool_create(threads);
      memset(got, 0x55, n);
      run_i8(c, levels[l], pool, got);
      assert_true(guards_hold(got, n));
      if (memcmp(want, got, n) != 0)
        fail_msg("window %d, %s, %zu threads, M of %d bits", window, npuc_cpu_name(levels[l]), threads, c->bits);
      npuc_pool_destroy(pool);
    }
  }
  got[n / 2] ^= 1;
  assert_memory_not_equal(want, got, n);
  free(want), free_guarded(got);
}

static void i8_equals_the_loop(void **state) {
  (void)state;
  kernel_window g;
  for (int i = 0; test_window_at(i, &g); i++) {
    for (int way = 0; way < 4; way++) {
      i8_case c = make_i8(g, (uint64_t)i * 4 + (uint64_t)way, way & 1, way & 2 ? 31 : 15);
      check_i8(&c, i);
      free(c.x), free(c.w), free(c.bias);
    }
  }
}

static void gemm_i8_equals_the_loop(void **state) {
  (void)state;
  const int64_t dims[][3] = {{1, 1, 1}, {1, 64, 10}, {3, 17, 65}, {7, 33, 5}, {2, 16, 130}};
  for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
    int64_t rows = dims[i][0], depth = dims[i][1], outputs = dims[i][2];
    i8_case c = make_i8(test_window(rows, depth, outputs, 1, 1, 1, 1, 1, 1, 1, 0), i, i % 2 == 0, 31);
    q8_input in = {.data = c.x, .is_signed = c.is_signed, .zero_point = 9};
    q8_output out = {.is_signed = c.is_signed, .zero_point = 3, .lo = -100, .hi = 120};
    if (!c.is_signed) out.lo = 10, out.hi = 240;
    q8_scale scale = {.bias = c.bias, .m = c.m, .s = c.s};
    size_t n = (size_t)(rows * outputs);
    uint8_t *want = malloc(n), *got = guarded(n);
    void *scratch = malloc(npuc_gemm_i8_scratch(depth, 3));
    out.data = want;
    npuc_ref_qgemm(rows, depth, outputs, &in, c.w, &scale, &out);
    out.data = got;
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
      if (!has_level(levels[l])) continue;
      kernel_set kernels;
      npuc_kernels_for_level(levels[l], &kernels);
      thread_pool *pool = npuc_pool_create(3);
      gemm_i8 gemm = {rows, depth, outputs, in, c.w, scale, out};
      npuc_gemm_i8(&kernels, pool, &gemm, scratch);
      assert_memory_equal(want, got, n);
      assert_true(guards_hold(got, n));
      npuc_pool_destroy(pool);
    }
    free(want), free_guarded(got), free(scratch), free(c.x), free(c.w), free(c.bias);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(f32_equals_the_loop), cmocka_unit_test(f32_epilogue),
                                     cmocka_unit_test(i8_equals_the_loop), cmocka_unit_test(gemm_i8_equals_the_loop)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
