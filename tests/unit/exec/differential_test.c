/* SPDX-License-Identifier: Apache-2.0 */
/* Random networks (support/random_graph.c), computed in two ways that must agree:
 *
 *   scalar kernels and the best ones         every bit, of every value and of the fused run's output
 *   the graph and its normalized form        the parity that the passes claim: every bit, or float rounding
 *   the integer graph and the simulator      every bit of every tensor
 *
 * NPUC_SEEDS=N tries more seeds than the default, NPUC_SEED=S begins elsewhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "passes/pass.h"
#include "quant/quant.h"
#include "support/intermediate.h"
#include "support/ir.h"
#include "support/random.h"
#include "support/random_graph.h"

enum { SAMPLES = 3 };

static uint64_t asked(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

static void must(const diag *d, npuc_status status, uint64_t seed, const char *what) {
  if (status == NPUC_OK) return;
  const diag_record *r = npuc_diag_first_error(d);
  fail_msg("seed %llu: %s: %s: %s", (unsigned long long)seed, what, r && r->place.node ? r->place.node : "-",
           r ? r->reason : "no reason given");
}

static tensor random_input(diag *d, const graph *g, uint64_t seed) {
  tensor t;
  assert_int_equal(npuc_tensor_create(d, DTYPE_F32, &g->inputs[0]->shape, &t), NPUC_OK);
  random_floats(&seed, t.data, t.bytes / sizeof(float), 1);
  return t;
}

/* Output 0, and with keep_all every value one after the other; the caller frees. */
static uint8_t *compute(diag *d, const graph *g, const tensor *input, const char *level, bool keep_all, uint64_t seed, size_t *out_n) {
  executor *e;
  tensor output;
  if (level)
    assert_int_equal(setenv("NPUC_CPU", level, 1), 0);
  else
    assert_int_equal(unsetenv("NPUC_CPU"), 0);
  must(d, npuc_executor_create(d, g, &(exec_options){.keep_all = keep_all}, &e), seed, "executor");
  must(d, npuc_executor_run(e, d, input, &output), seed, "run");
  size_t n = output.bytes;
  uint8_t *all = malloc(n);
  assert_non_null(all);
  memcpy(all, output.data, n);
  NPUC_EACH_NODE(g, k) {
    const tensor *t = keep_all ? npuc_executor_value(e, k->outputs[0]) : NULL;
    if (!t) continue;
    all = realloc(all, n + t->bytes + 1);
    assert_non_null(all);
    memcpy(all + n, t->data, t->bytes);
    n += t->bytes;
  }
  npuc_executor_destroy(e);
  (void)unsetenv("NPUC_CPU");
  *out_n = n;
  return all;
}

static bool same_bits(diag *d, const graph *g, const tensor *input, bool keep_all, uint64_t seed) {
  size_t n, m;
  uint8_t *reference = compute(d, g, input, "scalar", keep_all, seed, &n), *fast = compute(d, g, input, NULL, keep_all, seed, &m);
  bool same = n == m && memcmp(reference, fast, n) == 0;
  free(reference);
  free(fast);
  return same;
}

/* Negative control: another input gives other values. */
static bool differs_nudged(diag *d, const graph *g, tensor *input, uint64_t seed) {
  size_t n, m;
  uint8_t *before = compute(d, g, input, "scalar", true, seed, &n);
  ((float *)input->data)[0] += 1;
  uint8_t *after = compute(d, g, input, NULL, true, seed, &m);
  bool differs = n != m || memcmp(before, after, n) != 0;
  free(before);
  free(after);
  return differs;
}

static void test_kernels(void **state) {
  (void)state;
  size_t differing = 0;
  uint64_t first = asked("NPUC_SEED", 1), n = asked("NPUC_SEEDS", 150);
  for (uint64_t seed = first; seed < first + n; seed++) {
    arena *a = npuc_arena_create();
    diag *d = npuc_diag_create(NULL, NULL);
    module *m = npuc_test_module(npuc_random_graph(a, seed, 1 + (int)(seed % 3), false));
    tensor input = random_input(d, m->graphs[0], seed);
    if (!same_bits(d, m->graphs[0], &input, true, seed))
      fail_msg("seed %llu: values differ between scalar and best kernels", (unsigned long long)seed);
    if (!same_bits(d, m->graphs[0], &input, false, seed)) fail_msg("seed %llu: the fused output differs", (unsigned long long)seed);
    differing += differs_nudged(d, m->graphs[0], &input, seed);
    npuc_tensor_release(&input);
    npuc_module_destroy(m);
    npuc_diag_destroy(d);
    npuc_arena_destroy(a);
  }
  assert_true(differing > n / 2);
}

/* Largest difference over the largest magnitude. */
static double distance(const float *a, const float *b, size_t n) {
  double most = 0, scale = 1e-3;
  for (size_t i = 0; i < n; i++) {
    most = fmax(most, fabs((double)a[i] - (double)b[i]));
    scale = fmax(scale, fabs((double)a[i]));
  }
  return most / scale;
}

static void test_passes(void **state) {
  (void)state;
  uint64_t first = asked("NPUC_SEED", 1), n = asked("NPUC_SEEDS", 150), exact = 0;
  for (uint64_t seed = first; seed < first + n; seed++) {
    arena *a = npuc_arena_create();
    diag *d = npuc_diag_create(NULL, NULL);
    module *m = npuc_test_module(npuc_random_graph(a, seed, 1, false));
    tensor input = random_input(d, m->graphs[0], seed);
    size_t before_n, after_n;
    uint8_t *before = compute(d, m->graphs[0], &input, NULL, false, seed, &before_n);
    pass_report report[2];
    must(d, npuc_passes_run(d, a, m, "normalize", &(pass_options){.limit = -1}, &report[0]), seed, "normalize");
    must(d, npuc_passes_run(d, a, m, "static", &(pass_options){.limit = -1}, &report[1]), seed, "static");
    uint8_t *after = compute(d, m->graphs[0], &input, NULL, false, seed, &after_n);
    assert_int_equal(before_n, after_n);
    bool claimed = report[0].parity == PARITY_EXACT && report[1].parity == PARITY_EXACT;
    exact += claimed;
    double far = distance((const float *)(const void *)before, (const float *)(const void *)after, before_n / sizeof(float));
    if (claimed ? memcmp(before, after, before_n) != 0 : !(far < 1e-4))
      fail_msg("seed %llu: normalized, the output is %g off", (unsigned long long)seed, far);
    free(before);
    free(after);
    npuc_tensor_release(&input);
    npuc_module_destroy(m);
    npuc_diag_destroy(d);
    npuc_arena_destroy(a);
  }
  assert_true(exact < n); /* both kinds of claim occur */
}

/* Views of a tensor whose first axis is the samples. */
static npuc_status read_sample(void *user, diag *d, size_t index, tensor *inputs) {
  (void)d;
  const tensor *samples = user;
  inputs[0] = *samples;
  inputs[0].shape.dims[0] = 1;
  inputs[0].bytes = samples->bytes / SAMPLES;
  inputs[0].data = (char *)samples->data + index * inputs[0].bytes;
  return NPUC_OK;
}

static void compare_integers(uint64_t seed, intermediate_counts *out_counts) {
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = npuc_test_module(npuc_random_graph(a, seed, 1, true)), *integer = NULL;
  static const char *const pipelines[] = {"normalize", "static", "adapt"};
  pass_report report;
  for (size_t i = 0; i < 3; i++) must(d, npuc_passes_run(d, a, m, pipelines[i], &(pass_options){.limit = -1}, &report), seed, pipelines[i]);
  shape many = m->graphs[0]->inputs[0]->shape;
  many.dims[0] = SAMPLES;
  tensor samples;
  uint64_t random = seed;
  assert_int_equal(npuc_tensor_create(d, DTYPE_F32, &many, &samples), NPUC_OK);
  random_floats(&random, samples.data, samples.bytes / sizeof(float), 1);
  quant_options options = npuc_quant_options_default();
  options.multiplier_bits = 15;
  quant_report *quantized = npuc_quant_report_create();
  must(d,
       npuc_quantize(d, m, &options, &(quant_samples){.count = SAMPLES, .read = read_sample, .user = &samples}, &integer, NULL, quantized),
       seed, "quantize");
  npuc_intermediate_compare(integer, seed % 2 ? 8 : 16, &samples, SAMPLES, false, out_counts);
  npuc_quant_report_destroy(quantized);
  npuc_tensor_release(&samples);
  npuc_module_destroy(integer);
  npuc_module_destroy(m);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
}

static void test_simulator(void **state) {
  (void)state;
  uint64_t first = asked("NPUC_SEED", 1), n = asked("NPUC_SEEDS", 60);
  size_t compared = 0;
  for (uint64_t seed = first; seed < first + n; seed++) {
    intermediate_counts counts = {0};
    compare_integers(seed, &counts);
    if (counts.different)
      fail_msg("seed %llu: %zu tensors differ between integer graph and simulator", (unsigned long long)seed, counts.different);
    compared += counts.samples;
  }
  assert_true(compared >= n); /* negative control of the comparison itself: tests/unit/runtime/intermediate_test.c */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels), cmocka_unit_test(test_passes), cmocka_unit_test(test_simulator)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
