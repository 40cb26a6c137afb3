/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled programs against the plain interpreter: every bound tensor's bytes, on n8, n16 and n32, in the order of time and in orders by chance. With every tensor made a
 * model output, every intermediate tensor is bound and compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "npu/cost.h"
#include "npu/lower.h"
#include "npu/report.h"
#include "npu/sim.h"
#include "npu/write.h"
#include "support/npu_oracle.h"

static const int sizes[] = {8, 16, 32};

static npu_arch load_arch(arena *a, int n) {
  npu_arch arch;
  diag *d = npuc_diag_create(NULL, NULL);
  char *path = npuc_arena_printf(a, "%s/share/npuc/targets/refnpu-n%d.json", NPUC_SOURCE_DIR, n);
  assert_int_equal(npuc_npu_arch_load(d, a, path, &arch), NPUC_OK);
  npuc_diag_destroy(d);
  return arch;
}

static npu_program *compile(net *b, const npu_arch *arch) {
  diag *d = npuc_diag_create(NULL, NULL);
  npu_program *p = NULL;
  npuc_status status = npuc_npu_compile(d, b->a, b->g, arch, &p);
  if (status != NPUC_OK) fail_msg("%s (%s)", npuc_diag_first_error(d)->reason, npuc_diag_first_error(d)->place.node);
  npuc_diag_destroy(d);
  return p;
}

static const uint8_t **random_inputs(net *b) {
  const uint8_t **inputs = NPUC_NEW_ARRAY(b->a, b->g->n_inputs, const uint8_t *);
  for (size_t i = 0; i < b->g->n_inputs; i++) {
    size_t bytes = b->g->tensors[b->g->inputs[i]].bytes;
    uint8_t *data = npuc_arena_alloc(b->a, bytes);
    for (size_t k = 0; k < bytes; k++) data[k] = (uint8_t)npu_net_random(b, 0, 255);
    inputs[i] = data;
  }
  return inputs;
}

/* Number of tensors that the program left, and that differ. */
typedef struct outcome {
  size_t compared, different;
  uint64_t cycles;
} outcome;

static outcome compare(net *b, const npu_program *p, const uint8_t *const *inputs, uint8_t **expected, uint64_t seed) {
  uint8_t **values = NPUC_NEW_ARRAY(b->a, b->g->n_tensors, uint8_t *);
  outcome o = {.cycles = npu_program_run(b->a, b->g, p, inputs, seed, values)};
  if (o.cycles == UINT64_MAX) { /* refused: as different as can be */
    o.different = b->g->n_tensors;
    return o;
  }
  for (size_t i = 0; i < b->g->n_tensors; i++) {
    if (b->g->tensors[i].data || !values[i]) continue;
    o.compared++;
    if (memcmp(values[i], expected[i], b->g->tensors[i].bytes) != 0) {
      o.different++;
      if (o.different == 1) print_message("tensor %s differs\n", b->g->tensors[i].name);
    }
  }
  return o;
}

/* A test on constant tensors would prove nothing: most must hold several values. */
static void expect_lively(const net *b, uint8_t **values) {
  size_t tensors = 0, lively = 0;
  for (size_t i = 0; i < b->g->n_tensors; i++) {
    if (b->g->tensors[i].data) continue;
    bool seen[256] = {false};
    int distinct = 0;
    for (size_t k = 0; k < b->g->tensors[i].bytes; k++) distinct += !seen[values[i][k]], seen[values[i][k]] = true;
    tensors++;
    lively += distinct > 2;
  }
  assert_true(lively * 2 >= tensors);
}

static void expect_equal(net *b, const npu_arch *arch) {
  npu_program *p = compile(b, arch);
  const uint8_t **inputs = random_inputs(b);
  uint8_t **expected = npu_oracle_run(b->a, b->g, inputs);
  expect_lively(b, expected);
  for (uint64_t seed = 0; seed < 4; seed++) {
    outcome o = compare(b, p, inputs, expected, seed);
    assert_true(o.compared > 0);
    assert_int_equal(o.different, 0);
  }
}

static void all_outputs(net *b) {
  for (size_t i = 0; i < b->g->n_nodes; i++) {
    int32_t y = b->g->nodes[i].outputs[0];
    if (b->g->tensors[y].role != QROLE_OUTPUT) npu_net_output(b, y);
  }
}

/* Each case is built anew for each size, dtype and, the second time, with every tensor visible. */
static void each_way(void (*build)(net *b)) {
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    for (int way = 0; way < 4; way++) {
      arena *a = npuc_arena_create();
      npu_arch arch = load_arch(a, sizes[i]);
      net b = npu_net_create(a, (uint64_t)(i * 4) + (uint64_t)way, way & 1);
      build(&b);
      if (way & 2) all_outputs(&b);
      expect_equal(&b, &arch);
      npuc_arena_destroy(a);
    }
  }
}

static void build_stem(net *b) { npu_net_output(b, npu_net_conv(b, npu_net_input(b, 4, (int64_t[]){1, 3, 13, 17}), 20, 3, 1, 1, 1, 1)); }
static void build_strided(net *b) { npu_net_output(b, npu_net_conv(b, npu_net_input(b, 4, (int64_t[]){1, 5, 15, 11}), 9, 5, 2, 2, 1, 1)); }
static void build_dilated(net *b) { npu_net_output(b, npu_net_conv(b, npu_net_input(b, 4, (int64_t[]){1, 6, 14, 14}), 7, 3, 1, 2, 1, 2)); }
static void build_deep(net *b) {
  int32_t x = npu_net_conv(b, npu_net_input(b, 4, (int64_t[]){1, 40, 9, 7}), 70, 3, 1, 1, 1, 1);
  npu_net_output(b, npu_net_conv(b, x, 33, 1, 1, 0, 1, 1));
}
static void build_wide(net *b) { npu_net_output(b, npu_net_conv(b, npu_net_input(b, 4, (int64_t[]){1, 2, 2, 700}), 3, 3, 1, 1, 1, 1)); }
static void build_depthwise(net *b) {
  int32_t x = npu_net_conv(b, npu_net_input(b, 4, (int64_t[]){1, 3, 20, 12}), 18, 3, 2, 1, 1, 1);
  x = npu_net_conv(b, x, 18, 3, 1, 1, 18, 1);
  x = npu_net_conv(b, x, 50, 1, 1, 0, 1, 1);
  npu_net_output(b, npu_net_conv(b, x, 50, 3, 2, 1, 50, 1));
}
static void build_residual(net *b) {
  int32_t x = npu_net_conv(b, npu_net_input(b, 4, (int64_t[]){1, 3, 32, 24}), 10, 3, 1, 1, 1, 1);
  int32_t y = npu_net_conv(b, npu_net_conv(b, x, 10, 3, 1, 1, 1, 1), 10, 3, 1, 1, 1, 1);
  x = npu_net_add(b, y, x);
  y = npu_net_conv(b, x, 10, 3, 1, 1, 10, 1);
  npu_net_output(b, npu_net_add(b, x, y));
}
static void build_pools(net *b) {
  int32_t x = npu_net_conv(b, npu_net_input(b, 4, (int64_t[]){1, 3, 23, 19}), 21, 3, 1, 1, 1, 1);
  int32_t z = npu_net_average(b, x, 3, 1, 1, false);
  z = npu_net_average(b, npu_net_average(b, z, 2, 2, 0, true), 3, 2, 1, true);
  z = npu_net_max(b, z, 3, 1, 1);
  npu_net_output(b, npu_net_gemm(b, npu_net_flatten(b, npu_net_global(b, z)), 12));
}
static void build_classifier(net *b) {
  int32_t x = npu_net_conv(b, npu_net_input(b, 4, (int64_t[]){1, 1, 12, 10}), 11, 3, 1, 0, 1, 1);
  x = npu_net_gemm(b, npu_net_flatten(b, npu_net_max(b, x, 2, 2, 0)), 37);
  npu_net_output(b, npu_net_softmax(b, npu_net_gemm(b, x, 43)));
}
static void build_matrix(net *b) {
  int32_t x = npu_net_gemm(b, npu_net_input(b, 2, (int64_t[]){9, 45}), 20);
  npu_net_output(b, npu_net_softmax(b, npu_net_requantize(b, npu_net_gemm(b, x, 5))));
}
static void build_elementwise(net *b) {
  int32_t x = npu_net_input(b, 4, (int64_t[]){1, 13, 9, 5});
  int32_t y = npu_net_lookup(b, x), z = npu_net_requantize(b, x);
  x = npu_net_mul(b, y, z);
  npu_net_output(b, npu_net_mul(b, x, npu_net_global(b, x)));
}
static void build_moves(net *b) {
  int32_t x = npu_net_input(b, 4, (int64_t[]){1, 12, 10, 9});
  int32_t y = npu_net_slice(b, x, (int64_t[]){0, 3, 1, 0}, (int64_t[]){1, 7, 5, 3}, (int64_t[]){1, 1, 2, 4});
  y = npu_net_pad(b, y, (int64_t[]){0, 5, 1, 2, 0, 9, 0, 1});
  int32_t z = npu_net_slice(b, x, (int64_t[]){0, 1, 0, 0}, (int64_t[]){1, 4, 6, 6}, (int64_t[]){1, 3, 1, 1});
  npu_net_output(b, npu_net_concat(b, npu_net_concat(b, y, z, 1), npu_net_concat(b, z, y, 1), 2));
}
/* A node in the middle that only the host has. */
static void build_mixed(net *b) {
  int32_t x = npu_net_conv(b, npu_net_input(b, 4, (int64_t[]){1, 3, 12, 12}), 24, 3, 1, 1, 1, 1);
  x = npu_net_transpose_hw(b, x);
  x = npu_net_conv(b, x, 24, 3, 1, 1, 4, 1); /* grouped: host */
  npu_net_output(b, npu_net_conv(b, x, 8, 3, 1, 1, 1, 1));
}
/* More than a scratchpad's worth of tensors: several streams. */
static void build_large(net *b) {
  int32_t x = npu_net_conv(b, npu_net_input(b, 4, (int64_t[]){1, 3, 48, 48}), 16, 3, 1, 1, 1, 1), kept = x;
  for (int i = 0; i < 2; i++) x = npu_net_conv(b, x, 16, 3, 1, 1, 16, 1);
  npu_net_output(b, npu_net_add(b, npu_net_concat(b, x, kept, 1), npu_net_concat(b, kept, x, 1)));
}
/* More weights than half the weight buffer for one output block. */
static void build_streamed(net *b) { npu_net_output(b, npu_net_gemm(b, npu_net_input(b, 2, (int64_t[]){2, 9000}), 9)); }

/* Nets by chance: every operator, odd sizes, branches. */
static int32_t random_layer(net *b, int32_t x, int32_t *kept) {
  const qtensor t = b->g->tensors[x];
  int64_t c = t.dims[1], h = t.dims[2], w = t.dims[3], least = h < w ? h : w;
  switch (npu_net_random(b, 0, 11)) {
    case 0:
    case 1: {
      int64_t k = npu_net_random(b, 1, least < 5 ? least : 5);
      return npu_net_conv(b, x, npu_net_random(b, 1, 70), k, npu_net_random(b, 1, 2), npu_net_random(b, 0, k / 2), 1, 1);
    }
    case 2:
      return least >= 5 ? npu_net_conv(b, x, npu_net_random(b, 1, 40), 3, 1, 2, 1, 2) : npu_net_requantize(b, x);
    case 3:
      return npu_net_conv(b, x, c, least < 3 ? 1 : 3, npu_net_random(b, 1, 2), least < 3 ? 0 : 1, c, 1);
    case 4:
      return npu_net_max(b, x, least < 2 ? 1 : 2, npu_net_random(b, 1, 2), 0);
    case 5:
      return npu_net_average(b, x, least < 3 ? 1 : 3, npu_net_random(b, 1, 2), least < 3 ? 0 : 1, npu_net_random(b, 0, 1));
    case 6:
      return npu_net_lookup(b, x);
    case 7:
      return npu_net_mul(b, x, npu_net_global(b, x));
    case 8: {
      int64_t from = npu_net_random(b, 0, c - 1), count = npu_net_random(b, 1, c - from), step = npu_net_random(b, 1, 2);
      return npu_net_slice(b, x, (int64_t[]){0, from, 0, w > 1}, (int64_t[]){1, count, (h - 1) / step + 1, (w - 1 - (w > 1)) / step + 1},
                           (int64_t[]){1, 1, step, step});
    }
    case 9:
      return npu_net_pad(b, x, (int64_t[]){0, npu_net_random(b, 0, 9), 0, 1, 0, npu_net_random(b, 0, 9), 1, 0});
    case 10:
      return npu_net_softmax(b, x);
    default: {
      const qtensor other = b->g->tensors[*kept];
      if (other.dims[2] == h && other.dims[3] == w) return other.dims[1] == c ? npu_net_add(b, x, *kept) : npu_net_concat(b, *kept, x, 1);
      *kept = x;
      return npu_net_conv(b, x, c, 1, 1, 0, 1, 1);
    }
  }
}

static void test_random_nets(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    arena *a = npuc_arena_create();
    npu_arch arch = load_arch(a, sizes[seed % 3]);
    net b = npu_net_create(a, seed * 1000, seed & 1);
    int32_t x = npu_net_input(&b, 4, (int64_t[]){1, npu_net_random(&b, 1, 40), npu_net_random(&b, 3, 30), npu_net_random(&b, 3, 30)}),
            kept = x;
    for (int i = 0; i < 8; i++) {
      x = random_layer(&b, x, &kept);
      if (npuc_qtensor_elements(&b.g->tensors[x]) > 40000) break;
    }
    npu_net_output(&b, x);
    if (seed % 4 == 0) all_outputs(&b);
    npu_program *p = compile(&b, &arch);
    const uint8_t **inputs = random_inputs(&b);
    uint8_t **expected = npu_oracle_run(a, b.g, inputs);
    for (uint64_t order = 0; order < 2; order++) {
      outcome o = compare(&b, p, inputs, expected, order);
      if (o.different) fail_msg("seed %llu, order %llu", (unsigned long long)seed, (unsigned long long)order);
    }
    npuc_arena_destroy(a);
  }
}

#define CASE(name)                        \
  static void test_##name(void **state) { \
    (void)state;                          \
    each_way(build_##name);               \
  }
/* clang-format off */
CASE(stem)
CASE(strided)
CASE(dilated)
CASE(deep)
CASE(wide)
CASE(depthwise)
CASE(residual)
CASE(pools)
CASE(classifier)
CASE(matrix)
CASE(elementwise)
CASE(moves)
CASE(mixed)
CASE(large)
CASE(streamed)
/* clang-format on */

/* ResNet-20's shapes: equal bytes and the bounds of cycles that the project promises. */
static void test_resnet20(void **state) {
  (void)state;
  static const uint64_t bounds[] = {710000, 190000, 85000};
  for (size_t i = 0; i < 3; i++) {
    arena *a = npuc_arena_create();
    npu_arch arch = load_arch(a, sizes[i]);
    net b = npu_net_create(a, 77, false);
    npu_net_resnet20(&b);
    npu_program *p = compile(&b, &arch);
    assert_int_equal(p->n_streams, 1);
    assert_int_equal(p->streams[0].macs, 40551040);
    const uint8_t **inputs = random_inputs(&b);
    uint8_t **expected = npu_oracle_run(a, b.g, inputs);
    outcome o = compare(&b, p, inputs, expected, 0);
    assert_int_equal(o.different, 0);
    assert_int_equal(o.cycles, p->streams[0].predicted_cycles);
    print_message("ResNet-20 on n%d: %llu cycles, array use %.1f %%\n", sizes[i], (unsigned long long)o.cycles,
                  100.0 * 40551040.0 / ((double)o.cycles * sizes[i] * sizes[i]));
    assert_true(o.cycles <= bounds[i]);
    o = compare(&b, p, inputs, expected, 5);
    assert_int_equal(o.different, 0);
    npuc_arena_destroy(a);
  }
}

static bool within(uint64_t a, uint64_t b, uint64_t percent) { return (a > b ? a - b : b - a) * 100 <= percent * b; }

/* The model that speaks before compilation, against the file and the cycles. */
static void test_prediction(void **state) {
  (void)state;
  static void (*const builders[])(net * b) = {npu_net_resnet20, build_depthwise, build_classifier, build_deep};
  for (size_t k = 0; k < sizeof builders / sizeof builders[0]; k++) {
    for (size_t i = 0; i < 3; i++) {
      arena *a = npuc_arena_create();
      npu_arch arch = load_arch(a, sizes[i]);
      net b = npu_net_create(a, 5, false);
      builders[k](&b);
      npu_program *p = compile(&b, &arch);
      uint64_t bytes, cycles = 0;
      assert_int_equal(npuc_npu_write(NULL, npuc_arena_printf(a, "%s/prediction.npu", NPUC_BINARY_DIR), b.g, p, NULL, &bytes), NPUC_OK);
      for (size_t s = 0; s < p->n_streams; s++) cycles += p->streams[s].predicted_cycles;
      npu_cost cost = npuc_npu_predict(b.g, &arch);
      print_message("net %zu n%d: bytes %llu predicted %llu, cycles %llu predicted %llu\n", k, sizes[i], (unsigned long long)bytes,
                    (unsigned long long)cost.file_bytes, (unsigned long long)cycles, (unsigned long long)cost.cycles);
      assert_true(within(cost.file_bytes, bytes, 10));
      if (k == 0) assert_true(within(cost.cycles, cycles, 5));
      npuc_arena_destroy(a);
    }
  }
}

/* Negative controls: the comparison sees a changed weight, a changed multiplier, and a missing WAIT. */
static void test_controls(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  npu_arch arch = load_arch(a, 16);
  net b = npu_net_create(a, 3, true);
  build_residual(&b);
  npu_program *p = compile(&b, &arch);
  const uint8_t **inputs = random_inputs(&b);
  uint8_t **expected = npu_oracle_run(a, b.g, inputs);
  assert_int_equal(compare(&b, p, inputs, expected, 0).different, 0);
  p->constants[p->constants_bytes - 8] ^= 1;
  uint64_t weights = p->constant_offsets[b.g->nodes[0].inputs[1]];
  assert_true(weights < p->constants_bytes);
  assert_true(compare(&b, p, inputs, expected, 0).different > 0);
  p->constants[p->constants_bytes - 8] ^= 1;
  /* Without its WAITs the vector queue runs ahead in some order by chance. */
  instr_list *vector = &p->streams[0].queues[QUEUE_VECTOR];
  for (size_t i = 0; i < vector->count; i++) {
    if (vector->items[i].op == ISA_WAIT) vector->items[i].op = ISA_NOP;
  }
  size_t different = 0;
  for (uint64_t seed = 1; seed < 6; seed++) different += compare(&b, p, inputs, expected, seed).different;
  assert_true(different > 0);
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stem),     cmocka_unit_test(test_strided),     cmocka_unit_test(test_dilated),
      cmocka_unit_test(test_deep),     cmocka_unit_test(test_wide),        cmocka_unit_test(test_depthwise),
      cmocka_unit_test(test_residual), cmocka_unit_test(test_pools),       cmocka_unit_test(test_classifier),
      cmocka_unit_test(test_matrix),   cmocka_unit_test(test_elementwise), cmocka_unit_test(test_moves),
      cmocka_unit_test(test_mixed),    cmocka_unit_test(test_large),       cmocka_unit_test(test_streamed),
      cmocka_unit_test(test_resnet20), cmocka_unit_test(test_prediction),  cmocka_unit_test(test_random_nets),
      cmocka_unit_test(test_controls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
