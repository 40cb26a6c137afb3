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

static tile_model model;

#define NAME(op) model_##op
#define TARGET static
#define TILES_BEGIN(config) tile_model_configure(&model, config);
#define TILES_LOAD(tile, from, stride) tile_model_load(&model, (tile), (from), (stride))
#define TILES_DOT(c, a, b, is_signed) tile_model_dot(&model, (c), (a), (b), (is_signed))
#define TILES_STORE(tile, to, stride) tile_model_store(&model, (tile), (to), (stride))
#define TILES_END model.config.palette = 0;
#undef NPUC_INLINE /* the template's helper is static already */
#define NPUC_INLINE inline
#include "kernels/x86/tiles_template.h"

enum { MOST_QUADS = 40, MOST_RUNS = 3, STEP = 37, GUARD = 16, SUMS = QUADS_STRIP * I8_WIDE + GUARD };

typedef struct sums_case {
  uint8_t x[QUADS_STRIP * STEP + 4 * MOST_QUADS + 64 * MOST_RUNS];
  int8_t weights[QUADS_BLOCKS * MOST_RUNS * 3 * QUADS_STEP * I8_WIDE * 4];
  int32_t bias[QUADS_BLOCKS * I8_WIDE];
} sums_case;

typedef struct frame {
  const char *name;
  quads_i8_kernel *kernel;
  quads_frame_i8_kernel *begin, *end;
  quads_kind kind;
} frame;

static const int32_t offsets[MOST_RUNS] = {0, 61, 7};

static void run(const frame *f, quads_i8 t, const sums_case *c, int32_t *sums) {
  for (int i = 0; i < SUMS; i++) sums[i] = 0x5a5a5a5a;
  t.x = c->x, t.step = STEP, t.offsets = offsets, t.weights = c->weights, t.bias = c->bias, t.sums = sums;
  f->begin();
  f->kernel(&t);
  f->end();
}

static const frame scalar = {"scalar", npuc_i8_quads__scalar, npuc_i8_quads_begin__scalar, npuc_i8_quads_end__scalar, QUADS_EITHER};

/* Sums of real pixels; those beyond, up to a whole tile, may be anything. */
static bool same_sums(const quads_i8 *t, const int32_t *want, const int32_t *got) {
  const int strip = QUADS_STRIP / QUADS_BLOCKS * I8_WIDE;
  for (int b = 0; b < t->blocks; b++) {
    if (memcmp(want + b * strip, got + b * strip, (size_t)(t->pixels * I8_WIDE) * sizeof *got) != 0) return false;
  }
  return memcmp(want + QUADS_STRIP * I8_WIDE, got + QUADS_STRIP * I8_WIDE, GUARD * sizeof *got) == 0;
}

/* Runs past its weights' quads hold zeros. */
static void clear_ends(sums_case *c, const quads_i8 *t) {
  const int32_t padded = quads_padded(t->quads);
  for (int32_t r = 0; r < t->blocks * t->runs; r++)
    memset(c->weights + (r * padded + t->quads) * I8_WIDE * 4, 0, (size_t)((padded - t->quads) * I8_WIDE * 4));
}

static void compare(const frame *f, const sums_case *all) {
  static const int32_t quads[] = {1, 3, 4, 15, 16, 17, 32, 40};
  int32_t want[SUMS], got[SUMS];
  sums_case *c = malloc(sizeof *c);
  assert_non_null(c);
  for (int way = 0; way < 4; way++) {
    quads_i8 t = {.blocks = 1 + way % 2, .is_signed = way / 2};
    if (f->kind != QUADS_EITHER && (f->kind == QUADS_SIGNED) != t.is_signed) continue;
    for (t.pixels = 1; t.pixels <= QUADS_STRIP / t.blocks; t.pixels++) {
      for (t.runs = 1; t.runs <= MOST_RUNS; t.runs++) {
        t.quads = quads[(t.pixels + t.runs * 3) % 8];
        *c = *all;
        clear_ends(c, &t);
        run(&scalar, t, c, want);
        run(f, t, c, got);
        if (!same_sums(&t, want, got))
          fail_msg("%s: way %d, %d pixels, %d runs of %d quads", f->name, way, t.pixels, (int)t.runs, (int)t.quads);
      }
    }
  }
  free(c);
}

static sums_case *make_case(uint64_t seed, bool extremes) {
  sums_case *c = calloc(1, sizeof *c);
  assert_non_null(c);
  random_bytes(&seed, c->x, sizeof c->x);
  random_bytes(&seed, c->weights, sizeof c->weights);
  random_bytes(&seed, c->bias, sizeof c->bias); /* sums wrap */
  if (extremes) {                               /* 255 or -1, times -128 */
    memset(c->x, 0xff, sizeof c->x);
    memset(c->weights, 0x80, sizeof c->weights);
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
      const frame f = {npuc_cpu_name((cpu_level)level), kernels.quads_i8, kernels.quads_begin_i8, kernels.quads_end_i8,
                       kernels.quads == QUADS_NONE ? QUADS_EITHER : kernels.quads};
      compare(&f, c);
      print_message("level %s\n", npuc_cpu_name((cpu_level)level));
    }
    free(c);
  }
}

static void tiles_equal_scalar_without_a_fault(void **state) {
  (void)state;
  const frame f = {"tiles", model_quads, model_quads_begin, model_quads_end, QUADS_EITHER};
  model.faults = 0;
  for (int extremes = 0; extremes < 2; extremes++) {
    sums_case *c = make_case(4, extremes);
    compare(&f, c);
    free(c);
  }
  assert_int_equal(model.faults, 0);
}

/* The scalar kernel against its formula, on numbers that a person can check: 2 pixels, 1 run of 1 quad. */
static void one_sum_by_hand(void **state) {
  (void)state;
  const int32_t zero = 0;
  const uint8_t x[8] = {1, 2, 3, 4, 251, 6, 249, 8};
  int8_t weights[QUADS_STEP * I8_WIDE * 4] = {1, 1, 1, 1, 10, 0, 0, -1};
  int32_t bias[I8_WIDE] = {100, 0}, sums[2 * I8_WIDE];
  for (int is_signed = 0; is_signed < 2; is_signed++) {
    quads_i8 t = {.x = x, .is_signed = is_signed, .step = 4, .pixels = 2, .blocks = 1, .runs = 1, .quads = 1};
    t.offsets = &zero, t.weights = weights, t.bias = bias, t.sums = sums;
    npuc_i8_quads__scalar(&t);
    assert_int_equal(sums[0], 110);
    assert_int_equal(sums[1], 6);
    assert_int_equal(sums[I8_WIDE], is_signed ? 102 : 614);
    assert_int_equal(sums[I8_WIDE + 1], is_signed ? -58 : 2502);
  }
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
  tile_model_dot(&m, 0, 1, 2, true);
  assert_int_equal(m.faults, 0);
  tile_model_dot(&m, 0, 0, 2, true); /* the same tile twice */
  tile_model_load(&m, 3, memory, 64);
  assert_int_equal(m.faults, 2);
  bad = good, bad.rows[2] = 15; /* a's quads are not b's rows */
  m.faults = 0;
  tile_model_configure(&m, &bad);
  tile_model_dot(&m, 0, 1, 2, true);
  assert_int_equal(m.faults, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_sum_by_hand), cmocka_unit_test(every_level_equals_scalar),
                                     cmocka_unit_test(tiles_equal_scalar_without_a_fault), cmocka_unit_test(the_model_faults)};
  return cmocka_run_group_tests_name("quads", tests, NULL, NULL);
}
