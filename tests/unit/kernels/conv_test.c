/* SPDX-License-Identifier: Apache-2.0 */
/* Integer convolutions of every level against the readable loops, bit for bit, over a grid of windows, with guard bytes around the output and
 * one, two and three threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "kernels/conv_i8.h"
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

static const cpu_level levels[] = {CPU_SCALAR, CPU_NEON, CPU_DOTPROD, CPU_AVX2, CPU_AVX512, CPU_AMX};

/* -- int8 -- */

typedef struct i8_case {
  kernel_window g;
  bool is_signed;
  int32_t x_zero_point;
  uint8_t *x;
  int8_t *w;
  int32_t *bias, *m, *s;
} i8_case;

/* Channels first to channels last. */
static void to_last(const uint8_t *from, int64_t batch, int64_t channels, int64_t volume, uint8_t *to) {
  for (int64_t n = 0; n < batch; n++) {
    for (int64_t c = 0; c < channels; c++) {
      for (int64_t i = 0; i < volume; i++) to[(n * volume + i) * channels + c] = from[(n * channels + c) * volume + i];
    }
  }
}

static i8_case make_i8(kernel_window g, uint64_t seed, bool is_signed, int way) {
  sizes s = sizes_of(&g);
  i8_case c = {.g = g, .is_signed = is_signed, .x_zero_point = is_signed ? -3 : 117, .x = malloc(s.x), .w = malloc(s.w)};
  c.bias = malloc((size_t)g.out_channels * 3 * sizeof *c.bias);
  c.m = c.bias + g.out_channels;
  c.s = c.m + g.out_channels;
  random_bytes(&seed, c.x, s.x);
  random_bytes(&seed, c.w, s.w);
  int32_t bits = way == 2 ? 31 : 15;
  for (int64_t o = 0; o < g.out_channels; o++) {
    c.bias[o] = (int32_t)(random_next(&seed) % 20001) - 10000;
    c.m[o] = (int32_t)((1u << (bits - 1)) + random_next(&seed) % (1u << (bits - 1)));
    c.s[o] = bits + 7 + (int32_t)(o % 4);
    if (way == 1 && o % 5 == 4) c.m[o] = -c.m[o];
    if (way == 0 && o % 6 == 3) c.s[o] = 17 + (int32_t)(o * 7 % 31);
  }
  if (g.out_channels > 2) c.m[1] = 0, c.s[1] = 0;
  if (g.out_channels > 3 && way == 3) c.s[2] = 5, c.s[3] = 62;
  return c;
}

static const struct { bool x_last, y_last; } layouts[] = {{true, true}, {false, false}, {true, false}, {false, true}};

/* The readable loop, channels first. */
static void loop_i8(const i8_case *c, q8_output out) {
  q8_input in = {.data = c->x, .is_signed = c->is_signed, .zero_point = c->x_zero_point};
  npuc_ref_qconv(&c->g, &in, c->w, &(q8_scale){.bias = c->bias, .m = c->m, .s = c->s}, &out);
}

static void run_i8(const i8_case *c, const kernel_set *kernels, int layout, thread_pool *pool, q8_output out) {
  sizes s = sizes_of(&c->g);
  uint8_t *x = guarded(s.x);
  memcpy(x, c->x, s.x);
  if (layouts[layout].x_last) to_last(c->x, c->g.batch, c->g.channels, window_volume(c->g.in), x);
  conv_i8 conv = {.g = c->g, .x_last = layouts[layout].x_last, .y_last = layouts[layout].y_last};
  conv.x = (q8_input){.data = x, .is_signed = c->is_signed, .zero_point = c->x_zero_point};
  conv.y = out;
  conv.scale = (q8_scale){.bias = c->bias, .m = c->m, .s = c->s};
  size_t bytes;
  assert_true(npuc_conv_i8_scratch(kernels, &conv, npuc_pool_threads(pool), &bytes));
  size_t weights = npuc_conv_i8_packed_elements(kernels, &c->g) * sizeof(int32_t);
  int32_t *packed = guarded(weights);
  void *scratch = guarded(bytes);
  npuc_conv_i8_pack(kernels, &c->g, c->w, packed);
  assert_true(guards_hold(packed, weights));
  conv.packed = packed;
  npuc_conv_i8(kernels, pool, &conv, scratch);
  assert_true(guards_hold(scratch, bytes));
  free_guarded(scratch), free_guarded(packed), free_guarded(x);
}

static void check_i8(const i8_case *c, const char *what, int window, int way) {
  size_t n = sizes_of(&c->g).y;
  uint8_t *want = malloc(n), *turned = malloc(n), *got = guarded(n);
  q8_output out = {.data = want, .is_signed = c->is_signed, .zero_point = c->is_signed ? 5 : 130, .lo = c->is_signed ? -128 : 0};
  out.hi = out.lo + 255;
  if (way == 3) out.lo += 40, out.hi -= 40;
  loop_i8(c, out);
  to_last(want, c->g.batch, c->g.out_channels, window_volume(c->g.out), turned);
  out.data = got;
  for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
    if (!npuc_cpu_has(levels[l])) continue;
    kernel_set kernels;
    npuc_kernels_for_level(levels[l], &kernels);
    const quads_kind own = kernels.quads;
    for (size_t threads = 1; threads <= 3; threads++) {
      thread_pool *pool = npuc_pool_create(threads);
      for (int layout = 0; layout < 16; layout++) { /* each through int16, and through bytes of each kind that the level has a kernel for */
        kernels.quads = (quads_kind)(layout / 4);
        if (own != QUADS_NONE && own != QUADS_EITHER && kernels.quads != QUADS_NONE && kernels.quads != own) continue;
        memset(got, 0x55, n);
        run_i8(c, &kernels, layout % 4, pool, out);
        assert_true(guards_hold(got, n));
        if (memcmp(layouts[layout % 4].y_last ? turned : want, got, n) != 0)
          fail_msg("%s, window %d, way %d, %s, %zu threads, layout %d", what, window, way, npuc_cpu_name(levels[l]), threads, layout);
      }
      npuc_pool_destroy(pool);
    }
  }
  run_i8(c, npuc_kernels_scalar(), 1, NULL, out);
  got[n / 2] ^= 1;
  assert_memory_not_equal(want, got, n);
  free(want), free(turned), free_guarded(got);
}

static void free_i8(i8_case *c) { free(c->x), free(c->w), free(c->bias); }

/* Way 0: multipliers of 15 bits, as refnpu has them; 1: some negative; 2: of 31 bits; 3: shifts from 5 to 62. */
static void i8_equals_the_loop(void **state) {
  (void)state;
  kernel_window g;
  for (int i = 0; test_window_at(i, &g); i++) {
    for (int way = 0; way < 4; way++) {
      i8_case c = make_i8(g, (uint64_t)i * 4 + (uint64_t)way, way & 1, way);
      check_i8(&c, "by chance", i, way);
      free_i8(&c);
    }
  }
}

/* The largest products everywhere, of one sign and of changing signs: nothing on the way saturates. */
static void i8_extremes(void **state) {
  (void)state;
  kernel_window g;
  for (int i = 0; test_window_at(i, &g); i++) {
    for (int way = 0; way < 8; way++) {
      i8_case c = make_i8(g, 1, way & 1, way & 1 ? 2 : 0);
      sizes s = sizes_of(&g);
      c.x_zero_point = c.is_signed ? (way & 2 ? 127 : -128) : (way & 2 ? 255 : 0);
      memset(c.x, c.is_signed ? (way & 2 ? -128 : 127) : (way & 2 ? 0 : 255), s.x);
      for (size_t k = 0; k < s.w; k++) c.w[k] = (int8_t)(way & 4 && k % 2 ? 127 : -128);
      check_i8(&c, "extremes", i, 0);
      free_i8(&c);
    }
  }
}

static void gemm_i8_equals_the_loop(void **state) {
  (void)state;
  const int64_t dims[][3] = {{1, 1, 1}, {1, 64, 10}, {3, 17, 65}, {7, 33, 5}, {2, 16, 130}};
  for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
    int64_t rows = dims[i][0], depth = dims[i][1], outputs = dims[i][2];
    i8_case c = make_i8(npuc_gemm_i8_window(rows, depth, outputs), i, i % 2 == 0, 1);
    q8_input in = {.data = c.x, .is_signed = c.is_signed, .zero_point = c.x_zero_point};
    size_t n = (size_t)(rows * outputs);
    uint8_t *want = malloc(n), *got = guarded(n), *x = malloc((size_t)(rows * depth));
    to_last(c.x, 1, depth, rows, x);
    in.data = x;
    q8_output out = {.data = want, .is_signed = c.is_signed, .zero_point = 3, .lo = c.is_signed ? -100 : 10};
    out.hi = out.lo + 220;
    npuc_ref_qgemm(rows, depth, outputs, &in, c.w, &(q8_scale){.bias = c.bias, .m = c.m, .s = c.s}, &out);
    out.data = got;
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
      if (!npuc_cpu_has(levels[l])) continue;
      kernel_set kernels;
      npuc_kernels_for_level(levels[l], &kernels);
      for (size_t threads = 1; threads <= 3; threads++) {
        thread_pool *pool = npuc_pool_create(threads);
        run_i8(&c, &kernels, 0, pool, out);
        assert_memory_equal(want, got, n);
        assert_true(guards_hold(got, n));
        npuc_pool_destroy(pool);
      }
    }
    free(want), free(x), free_guarded(got), free_i8(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(i8_equals_the_loop), cmocka_unit_test(i8_extremes),
                                     cmocka_unit_test(gemm_i8_equals_the_loop)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
