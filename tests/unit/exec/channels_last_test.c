/* SPDX-License-Identifier: Apache-2.0 */
/* Integer graphs give the same bytes whether the executor keeps images channels-last between nodes or, because every value is kept for
 * somebody to look at, channels-first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/channels_last.h"
#include "exec/executor.h"
#include "exec/samples.h"
#include "support/ir.h"
#include "support/random.h"

static void constant(FILE *out, const char *type, const char *name, int count, int64_t lo, int64_t hi) {
  static uint64_t seed = 7;
  fprintf(out, " %s %s = {", type, name);
  for (int i = 0; i < count; i++)
    fprintf(out, "%s%lld", i ? ", " : "", (long long)(lo + (int64_t)(random_next(&seed) % (uint64_t)(hi - lo + 1))));
  fprintf(out, "},\n");
}

static void constants(FILE *out) {
  constant(out, "int8[16,3,3,3]", "w1", 432, -127, 127);
  constant(out, "int8[20,16,1,1]", "w2", 320, -127, 127);
  constant(out, "int8[20,1,3,3]", "w3", 180, -127, 127);
  constant(out, "int8[20,60,1,1]", "w4", 1200, -127, 127);
  constant(out, "int8[16,20,1,1]", "w5", 320, -127, 127);
  constant(out, "int32[16]", "b1", 16, -3000, 3000);
  constant(out, "int32[20]", "b2", 20, -3000, 3000);
  constant(out, "int32[16]", "m1", 16, 1 << 14, (1 << 15) - 1);
  constant(out, "int32[20]", "m2", 20, 1 << 14, (1 << 15) - 1);
  constant(out, "int32[16]", "s1", 16, 23, 25);
  constant(out, "int32[20]", "s2", 20, 22, 24);
  constant(out, "int32[1]", "m", 1, 1 << 14, (1 << 15) - 1);
  constant(out, "int32[1]", "mb", 1, -32767, -8192);
  constant(out, "int32[1]", "s15", 1, 15, 15);
  constant(out, "int32[1]", "s20", 1, 20, 20);
  constant(out, "uint8[256]", "table", 256, 0, 255);
}

#define CONV "npuc.QConv <x_zero_point = 100, y_zero_point = 120, lo = 0, hi = 255, y_dtype = 2, "
#define PLAIN "kernel_shape = [1,1], strides = [1,1], pads = [0,0,0,0], dilations = [1,1], group = 1> "
#define BINARY " <a_zero_point = 120, b_zero_point = 90, y_zero_point = 110, lo = 10, hi = 250, y_dtype = 2> "

/* counts: with the padding 6 everywhere; `o` has 10 channels of 4 rows. */
static const char body[] =
    " int32[1] counts = {6}, int64[2] starts = {1, 4}, int64[2] ends = {9, 14}, int64[2] axes = {2, 1}, int64[2] steps = {2, 1},\n"
    " int64[8] pads = {0, 3, 1, 0, 0, 3, 0, 2}, uint8 fill = {7}>\n"
    "{\n"
    "  a = " CONV
    "kernel_shape = [3,3], strides = [1,1], pads = [1,1,1,1], dilations = [1,1], group = 1> (image, w1, b1, m1, s1)\n"
    "  b = " CONV PLAIN
    "(a, w2, b2, m2, s2)\n"
    "  c = " CONV
    "kernel_shape = [3,3], strides = [1,1], pads = [1,1,1,1], dilations = [1,1], group = 20> (b, w3, b2, m2, s2)\n"
    "  d = npuc.QAdd" BINARY
    "(b, c, m, mb, s15)\n"
    "  e = npuc.Lookup (d, table)\n"
    "  f = npuc.QGlobalAveragePool <x_zero_point = 7, y_zero_point = 60, lo = 0, hi = 255, y_dtype = 2> (e, m, s20)\n"
    "  g = npuc.QMul" BINARY
    "(e, f, m, s20)\n"
    "  h = npuc.Requantize <x_zero_point = 3, y_zero_point = 100, lo = 0, hi = 255, y_dtype = 2> (g, mb, s15)\n"
    "  i = MaxPool <kernel_shape = [3,2], strides = [1,1], pads = [1,0,1,1]> (h)\n"
    "  j = MaxPool <kernel_shape = [2,2], strides = [2,2]> (g)\n"
    "  k = npuc.QAveragePool <kernel_shape = [2,3], strides = [1,1], pads = [0,1,1,1], dilations = [1,1], ceil_mode = 0, "
    "count_include_pad = 1, x_zero_point = 3, y_zero_point = 9, lo = 0, hi = 255, y_dtype = 2> (i, m, s20, counts)\n"
    "  l = Concat <axis = 1> (k, b, c)\n"
    "  n = " CONV PLAIN
    "(l, w4, b2, m2, s2)\n"
    "  o = Slice (n, starts, ends, axes, steps)\n"
    "  p = Pad <mode = \"constant\"> (o, pads, fill)\n"
    "  q = " CONV
    "kernel_shape = [1,1], strides = [1,2], pads = [0,0,0,0], dilations = [1,1], group = 1> (p, w2, b2, m2, s2)\n"
    "  r = " CONV PLAIN
    "(j, w5, b1, m1, s1)\n"
    "  small = Identity (r)\n"
    "  u = " CONV PLAIN
    "(a, w2, b2, m2, s2)\n"
    "  v = npuc.Lookup (u, table)\n"
    "  t = Transpose <perm = [0,3,1,2]> (v)\n"
    "  turned = Identity (t)\n"
    "}\n";

static char *network(void) {
  char *text = NULL;
  size_t n = 0;
  FILE *out = open_memstream(&text, &n);
  assert_non_null(out);
  fprintf(out,
          "<ir_version: 10, opset_import: [\"\" : 28, \"npuc\" : 1]>\n"
          "main (uint8[N,3,11,9] image) => (uint8[N,20,5,6] q, uint8[N,16,5,4] small, uint8[N,9,20,11] turned)\n<");
  constants(out);
  fputs(body, out);
  assert_int_equal(fclose(out), 0);
  return text;
}

enum { OUTPUTS = 3 };

typedef struct outputs {
  uint8_t *bytes[OUTPUTS];
  size_t sizes[OUTPUTS];
} outputs;

static outputs run(const graph *g, const tensor *image, bool keep_all, size_t threads) {
  diag *d = npuc_diag_create(NULL, NULL);
  exec_options options = {.keep_all = keep_all, .pool = npuc_pool_create(threads)};
  executor *e;
  tensor y[OUTPUTS];
  outputs result;
  assert_int_equal(npuc_executor_create(d, g, &options, &e), NPUC_OK);
  npuc_status status = npuc_executor_run(e, d, image, y);
  const diag_record *r = npuc_diag_first_error(d);
  if (r) print_error("%s: %s\n", r->place.node ? r->place.node : "", r->reason);
  assert_int_equal(status, NPUC_OK);
  for (int i = 0; i < OUTPUTS; i++) {
    result.sizes[i] = y[i].bytes;
    result.bytes[i] = malloc(y[i].bytes);
    assert_non_null(result.bytes[i]);
    memcpy(result.bytes[i], y[i].data, y[i].bytes);
  }
  npuc_executor_destroy(e);
  npuc_pool_destroy(options.pool);
  npuc_diag_destroy(d);
  return result;
}

static void release(outputs *o) {
  for (int i = 0; i < OUTPUTS; i++) free(o->bytes[i]);
}

static void bytes_are_the_same(void **state) {
  (void)state;
  char *text = network();
  module *m = npuc_test_module(text);
  static const int64_t batches[] = {1, 4, 7, 70}; /* the last by samples, with some left over */
  for (size_t k = 0; k < sizeof batches / sizeof batches[0]; k++) {
    int64_t batch = batches[k];
    tensor image;
    shape s = {.rank = 4, .dims = {batch, 3, 11, 9}};
    uint64_t seed = 3;
    assert_int_equal(npuc_tensor_create(NULL, DTYPE_U8, &s, &image), NPUC_OK);
    random_bytes(&seed, image.data, image.bytes);
    outputs want = run(m->graphs[0], &image, true, 1);
    for (size_t threads = 1; threads <= 3; threads++) {
      outputs got = run(m->graphs[0], &image, false, threads);
      for (int i = 0; i < OUTPUTS; i++) assert_memory_equal(want.bytes[i], got.bytes[i], want.sizes[i]);
      release(&got);
    }
    for (int i = 0; i < OUTPUTS; i++) { /* not the same number everywhere */
      bool varies = false;
      for (size_t j = 1; j < want.sizes[i]; j++) varies = varies || want.bytes[i][j] != want.bytes[i][0];
      assert_true(varies);
    }
    release(&want);
    npuc_tensor_release(&image);
  }
  npuc_module_destroy(m);
  free(text);
}

static const fact *facts_of(diag *d, arena *a, const graph *g, int64_t batch) {
  fact input = {.type = DTYPE_U8, .shape = {.rank = 4, .dims = {batch, 3, 11, 9}}}, *all;
  assert_int_equal(npuc_graph_infer_facts(d, g, &input, a, &all), NPUC_OK);
  return all;
}

/* What stays channels-first: graph outputs, and what other operators read; with them their sets. */
static void where_it_is_used(void **state) {
  (void)state;
  char *text = network();
  module *m = npuc_test_module(text);
  const graph *g = m->graphs[0];
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  const bool *last = npuc_exec_channels_last(a, g, facts_of(d, a, g, 2));
  static const char want_last[] = "abcdeghijklnop", want_first[] = "qrtuv";
  NPUC_EACH_NODE(g, n) {
    const value *v = n->outputs[0];
    if (v->name[1]) continue; /* outputs with long names */
    if (strchr(want_first, v->name[0]) && last[v->id]) fail_msg("%s is channels-last", v->name);
    if (strchr(want_last, v->name[0]) && !last[v->id]) fail_msg("%s is channels-first", v->name);
  }
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
  free(text);
}

/* Batches that do not fit the cache are cut; a graph that mixes samples is not. */
static void where_samples_are_cut(void **state) {
  (void)state;
  static const char mixes[] =
      "<ir_version: 10, opset_import: [\"\" : 28, \"npuc\" : 1]>\n"
      "main (uint8[N,3,11,9] image) => (uint8[N,3,11,9] y) <uint8[256] table = {%s}, int64[1] starts = {-1}, int64[1] ends = "
      "{-9223372036854775808}, "
      "int64[1] axes = {0}, int64[1] steps = {-1}>\n{ t = npuc.Lookup (image, table)\n y = Slice (t, starts, ends, axes, steps) }\n";
  char zeros[1024] = "0", *text = network(), *other = malloc(4096);
  for (int i = 1; i < 256; i++) strcat(zeros, ", 0");
  assert_non_null(other);
  (void)snprintf(other, 4096, mixes, zeros);
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = npuc_test_module(text), *n = npuc_test_module(other);
  assert_int_equal(npuc_exec_samples(m->graphs[0], facts_of(d, a, m->graphs[0], 7), 1), 0);
  int64_t samples = npuc_exec_samples(m->graphs[0], facts_of(d, a, m->graphs[0], 70), 1);
  assert_true(samples > 1 && 70 % samples != 0);
  assert_int_equal(npuc_exec_samples(n->graphs[0], facts_of(d, a, n->graphs[0], 100000), 1), 0);
  npuc_module_destroy(m), npuc_module_destroy(n);
  npuc_diag_destroy(d), npuc_arena_destroy(a);
  free(text), free(other);
}

static void count_step(void *user, size_t step, double start, double end) {
  (void)step, (void)start, (void)end;
  ++*(size_t *)user;
}

/* Who takes the time of steps sees each of them once, whatever the batch. */
static void timed_steps(void **state) {
  (void)state;
  char *text = network();
  module *m = npuc_test_module(text);
  diag *d = npuc_diag_create(NULL, NULL);
  size_t steps = 0;
  exec_options options = {.on_step = count_step, .user = &steps};
  executor *e;
  tensor image, y[OUTPUTS];
  shape s = {.rank = 4, .dims = {70, 3, 11, 9}};
  assert_int_equal(npuc_tensor_create(NULL, DTYPE_U8, &s, &image), NPUC_OK);
  assert_int_equal(npuc_executor_create(d, m->graphs[0], &options, &e), NPUC_OK);
  assert_int_equal(npuc_executor_run(e, d, &image, y), NPUC_OK);
  assert_int_equal(steps, m->graphs[0]->n_nodes);
  assert_int_equal(y[0].shape.dims[0], 70);
  npuc_executor_destroy(e);
  npuc_tensor_release(&image);
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(where_samples_are_cut), cmocka_unit_test(bytes_are_the_same),
                                     cmocka_unit_test(timed_steps), cmocka_unit_test(where_it_is_used)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
