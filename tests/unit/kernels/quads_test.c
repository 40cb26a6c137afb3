/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of bytes: every level, and the tile kernel on the model of its instructions, against the scalar kernel over a grid of shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernels/kernels.h"
#include "kernels/target.h"
#include "support/random.h"
#include "support/tile_model.h"

static int last_faults;

#define NAME(op) model_##op
#define TARGET static
#define TILES_BEGIN(config) \
  tile_model tiles = {0};   \
  tile_model_configure(&tiles, config);
#define TILES_LOAD(tile, from, stride) tile_model_load(&tiles, (tile), (from), (stride))
#define TILES_DOT(c, a, b) tile_model_dot(&tiles, (c), (a), (b))
#define TILES_STORE(tile, to, stride) tile_model_store(&tiles, (tile), (to), (stride))
#define TILES_END last_faults = tiles.faults;
#undef NPUC_INLINE /* the template's helper is static already */
#define NPUC_INLINE inline
#include "kernels/x86/tiles_template.h"

enum { MOST_QUADS = 40, MOST_RUNS = 3, STEP = 37, GUARD = 16 };

typedef struct sums_case {
  int8_t x[I8_RUN * STEP + 4 * MOST_QUADS + 64 * MOST_RUNS];
  int8_t weights[MOST_RUNS * MOST_QUADS * I8_WIDE * 4];
  int32_t bias[I8_WIDE];
} sums_case;

static const int32_t offsets[MOST_RUNS] = {0, 61, 7};

static void run(quads_i8_kernel *kernel, const sums_case *c, int pixels, int width, int32_t runs, int32_t quads, int32_t *sums) {
  for (int i = 0; i < I8_RUN * I8_WIDE + GUARD; i++) sums[i] = 0x5a5a5a5a;
  kernel(&(quads_i8){.x = c->x,
                     .step = STEP,
                     .pixels = pixels,
                     .width = width,
                     .runs = runs,
                     .quads = quads,
                     .offsets = offsets,
                     .weights = c->weights,
                     .bias = c->bias,
                     .sums = sums});
}

static void compare(quads_i8_kernel *kernel, const char *name, const sums_case *c) {
  static const int32_t quads[] = {1, 3, 4, 15, 16, 17, 32, 40};
  int32_t want[I8_RUN * I8_WIDE + GUARD], got[I8_RUN * I8_WIDE + GUARD];
  for (int pixels = 1; pixels <= I8_RUN; pixels++) {
    for (int width = I8_NARROW; width <= I8_WIDE; width += I8_NARROW) {
      for (int32_t runs = 1; runs <= MOST_RUNS; runs++) {
        for (size_t q = 0; q < sizeof quads / sizeof quads[0]; q++) {
          run(npuc_i8_quads__scalar, c, pixels, width, runs, quads[q], want);
          run(kernel, c, pixels, width, runs, quads[q], got);
          if (memcmp(want, got, sizeof got) != 0)
            fail_msg("%s: %d pixels, width %d, %d runs of %d quads", name, pixels, width, (int)runs, (int)quads[q]);
        }
      }
    }
  }
}

static sums_case *make_case(uint64_t seed, bool extremes) {
  sums_case *c = calloc(1, sizeof *c);
  assert_non_null(c);
  random_bytes(&seed, c->x, sizeof c->x);
  random_bytes(&seed, c->weights, sizeof c->weights);
  random_bytes(&seed, c->bias, sizeof c->bias); /* sums wrap */
  if (extremes) {
    for (size_t i = 0; i < sizeof c->x; i++) c->x[i] = -128;
    for (size_t i = 0; i < sizeof c->weights; i++) c->weights[i] = -128;
  }
  return c;
}

static void every_level_equals_scalar(void **state) {
  (void)state;
  for (int extremes = 0; extremes < 2; extremes++) {
    sums_case *c = make_case(3, extremes);
    for (int level = 0; level < CPU_LEVELS; level++) {
      if (!npuc_cpu_has((cpu_level)level)) continue;
      kernel_set kernels;
      npuc_kernels_for_level((cpu_level)level, &kernels);
      compare(kernels.quads_i8, npuc_cpu_name((cpu_level)level), c);
      print_message("level %s\n", npuc_cpu_name((cpu_level)level));
    }
    free(c);
  }
}

static void checked_model(const quads_i8 *t) {
  model_quads(t);
  assert_int_equal(last_faults, 0);
}

static void tiles_equal_scalar_without_a_fault(void **state) {
  (void)state;
  for (int extremes = 0; extremes < 2; extremes++) {
    sums_case *c = make_case(4, extremes);
    compare(checked_model, "tiles", c);
    free(c);
  }
}

/* The scalar kernel against its formula, on numbers that a person can check: 2 pixels, 1 run of 1 quad. */
static void one_sum_by_hand(void **state) {
  (void)state;
  int8_t x[8] = {1, 2, 3, 4, -5, 6, -7, 8}, weights[I8_NARROW * 4] = {1, 1, 1, 1, 10, 0, 0, -1};
  int32_t bias[I8_NARROW] = {100, 0}, sums[2 * I8_NARROW], zero = 0;
  npuc_i8_quads__scalar(&(quads_i8){.x = x,
                                    .step = 4,
                                    .pixels = 2,
                                    .width = I8_NARROW,
                                    .runs = 1,
                                    .quads = 1,
                                    .offsets = &zero,
                                    .weights = weights,
                                    .bias = bias,
                                    .sums = sums});
  assert_int_equal(sums[0], 110);
  assert_int_equal(sums[1], 6);
  assert_int_equal(sums[I8_NARROW], 102);
  assert_int_equal(sums[I8_NARROW + 1], -58);
}

/* Negative controls: what faults on a processor is counted. */
static void the_model_faults(void **state) {
  (void)state;
  uint8_t memory[1024] = {0};
  const tile_config good = {.palette = 1, .rows = {16, 16, 16}, .columns = {64, 64, 64}};
  tile_config bad = good;
  tile_model m = {0};
  tile_model_load(&m, 0, memory, 64); /* before any configuration */
  assert_int_equal(m.faults, 1);
  bad.rows[0] = 17;
  tile_model_configure(&m, &bad);
  assert_int_equal(m.faults, 2);
  bad = good, bad.columns[1] = 68;
  tile_model_configure(&m, &bad);
  assert_int_equal(m.faults, 3);
  bad = good, bad.palette = 2;
  tile_model_configure(&m, &bad);
  assert_int_equal(m.faults, 4);
  m.faults = 0;
  tile_model_configure(&m, &good);
  tile_model_dot(&m, 0, 1, 2);
  assert_int_equal(m.faults, 0);
  tile_model_dot(&m, 0, 0, 2); /* the same tile twice */
  tile_model_load(&m, 3, memory, 64);
  assert_int_equal(m.faults, 2);
  bad = good, bad.rows[2] = 15; /* a's quads are not b's rows */
  m.faults = 0;
  tile_model_configure(&m, &bad);
  tile_model_dot(&m, 0, 1, 2);
  assert_int_equal(m.faults, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_sum_by_hand), cmocka_unit_test(every_level_equals_scalar),
                                     cmocka_unit_test(tiles_equal_scalar_without_a_fault), cmocka_unit_test(the_model_faults)};
  return cmocka_run_group_tests_name("quads", tests, NULL, NULL);
}
