/* SPDX-License-Identifier: Apache-2.0 */
/* Segments against the plain operators, bit for bit: each network runs as segments, and with every value kept, which forbids them; for
 * batches smaller and larger than the threads and than a chunk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "exec/executor.h"
#include "ir/text.h"
#include "support/random.h"

/* {#N}: N random numbers. */
static const char *const networks[] = {
    /* a stem, depthwise and pointwise convolutions, residuals of both operand orders, all pools */
    "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    "net (float[N,3,13,11] image) => (float[N,24,1,1] mean, float[N,24,3,2] largest)\n"
    "<float[24,3,3,3] a = {#648}, float[24] ab = {#24}, float[24,1,3,3] b = {#216}, float[24] bb = {#24}, float[24,24,1,1] c = {#576},\n"
    " float zero = {0.0}, float six = {6.0}>\n"
    "{\n"
    " v0 = Conv<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(image, a, ab)\n"
    " v1 = Clip(v0, zero, six)\n"
    " v2 = Conv<kernel_shape=[3,3], pads=[1,1,1,1], group=24>(v1, b, bb)\n"
    " v3 = Clip(v2, zero, six)\n"
    " v4 = Conv<kernel_shape=[1,1]>(v3, c)\n"
    " v5 = Add(v4, v1)\n"
    " v6 = Conv<kernel_shape=[3,3], pads=[1,1,1,1], group=24>(v5, b)\n"
    " v7 = Add(v5, v6)\n"
    " v8 = Relu(v7)\n"
    " v9 = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1>(v8)\n"
    " va = AveragePool<kernel_shape=[2,3], strides=[1,2], pads=[0,1,1,0]>(v8)\n"
    " vb = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(image, a)\n"
    " vc = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(vb)\n"
    " vd = Mul(vc, v9)\n"
    " mean = GlobalAveragePool(vd)\n"
    " largest = MaxPool<kernel_shape=[3,2], strides=[2,1], pads=[1,0,0,0]>(va)\n"
    "}\n",
    /* shortcuts by Slice and Pad, a value that is an output and read on, functions, a generic operator between two segments */
    "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    "net (float[N,5,9,8] image) => (float[N,16,9,8] first, float[N,32,a,b] last)\n"
    "<float[16,5,3,3] a = {#720}, float[32,16,3,3] b = {#4608}, float[32,32,2,2] c = {#4096}, float[32] cb = {#32},\n"
    " int64[2] begin = {0, 1}, int64[2] end = {9, 8}, int64[2] axes = {2, 3}, int64[2] steps = {2, 2},\n"
    " int64[8] pads = {0, 8, 0, 0, 0, 8, 0, 0}, int64[8] edge = {0, 0, 0, 1, 0, 0, 0, 0}, float[32,1,1] bias = {#32}>\n"
    "{\n"
    " c0 = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(image, a)\n"
    " first = LeakyRelu<alpha=0.1>(c0)\n"
    " s = Sigmoid(first)\n"
    " t = Tanh(first)\n"
    " st = Sub(s, t)\n"
    " h = HardSwish(st)\n"
    " c1 = Conv<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(h, b)\n"
    " cut = Slice(h, begin, end, axes, steps)\n"
    " wide = Pad<mode=\"constant\">(cut, pads)\n"
    " c2 = Add(wide, c1)\n"
    " shifted = Pad<mode=\"constant\">(c2, edge)\n"
    " plain = Add(shifted, bias)\n"
    " c3 = Conv<kernel_shape=[2,2], strides=[1,1], pads=[0,0,0,0]>(plain, c, cb)\n"
    " c4 = Conv<kernel_shape=[2,2], dilations=[1,1], pads=[0,0,1,0]>(c3, c)\n"
    " c5 = HardSigmoid<alpha=0.3, beta=0.4>(c4)\n"
    " c6 = Div(c5, c5)\n"
    " c7 = Conv<kernel_shape=[2,2], pads=[0,0,0,1]>(c6, c)\n"
    " last = Mul(c7, c7)\n"
    "}\n",
    /* one axis, and groups that share blocks; rows of three axes */
    "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    "net (float[N,6,20] wave) => (float[N,12,c] y)\n"
    "<float[12,2,5] a = {#120}, float[12,4,3] b = {#144}>\n"
    "{\n"
    " p = Conv<kernel_shape=[5], strides=[2], pads=[2,3], group=3>(wave, a)\n"
    " q = Conv<kernel_shape=[3], dilations=[2], pads=[1,1], group=3>(p, b)\n"
    " r = Relu(q)\n"
    " y = MaxPool<kernel_shape=[3], dilations=[1]>(r)\n"
    "}\n",
    /* channels shifted by parts of a block, before and behind, where the last block is not full; rows of one and of odd length */
    "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    "net (float[N,21,5,7] image) => (float[N,7,5,7] y, float[N,4,1,1] z)\n"
    "<float[21,21,1,1] a = {#441}, float[7,40,3,3] b = {#2520}, float[4,21,5,7] c = {#2940}, int64[8] pads = {0, 3, 0, 0, 0, 16, 0, "
    "0}>\n"
    "{\n"
    " p = Conv<kernel_shape=[1,1]>(image, a)\n"
    " q = Pad<mode=\"constant\">(p, pads)\n"
    " y = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(q, b)\n"
    " z = Conv<kernel_shape=[5,7]>(p, c)\n"
    "}\n",
};

static char *expanded(const char *from) {
  char *text = calloc(1, 1u << 20), *to = text;
  uint64_t seed = 4;
  for (const char *at; (at = strstr(from, "{#")); from = strchr(at, '}') + 1) {
    long count = strtol(at + 2, NULL, 10);
    to += sprintf(to, "%.*s{", (int)(at - from), from);
    for (long k = 0; k < count; k++) to += sprintf(to, "%s%.6f", k ? ", " : "", (double)random_float(&seed));
    to += sprintf(to, "}");
  }
  strcpy(to, from);
  return text;
}

static void fail_on(npuc_status status, const diag *d) {
  const diag_record *r = npuc_diag_first_error(d);
  if (status != NPUC_OK) fail_msg("%s: %s", r && r->place.node ? r->place.node : "", r ? r->reason : "");
}

/* Runs twice, so that what the first run left in memory cannot help the second. */
static void run(const graph *g, bool keep_all, size_t threads, const tensor *x, float *out, size_t *out_floats, diag *d) {
  executor *e;
  thread_pool *pool = npuc_pool_create(threads);
  tensor y[4];
  fail_on(npuc_executor_create(d, g, &(exec_options){.pool = pool, .keep_all = keep_all}, &e), d);
  fail_on(npuc_executor_run(e, d, x, y), d);
  fail_on(npuc_executor_run(e, d, x, y), d);
  *out_floats = 0;
  for (size_t i = 0; i < g->n_outputs; i++) {
    memcpy(out + *out_floats, y[i].data, y[i].bytes);
    *out_floats += y[i].bytes / sizeof(float);
  }
  npuc_executor_destroy(e);
  npuc_pool_destroy(pool);
}

static void check_network(const char *source) {
  enum { MOST = 1 << 20 };
  char *text = expanded(source);
  diag *d = npuc_diag_create(NULL, NULL);
  module *m;
  fail_on(npuc_module_parse(d, "test", text, strlen(text), &m), d);
  float *want = malloc(MOST * sizeof *want), *got = malloc(MOST * sizeof *got);
  for (int64_t batch = 1; batch <= 200; batch = batch < 5 ? batch + 1 : batch * 6) {
    shape s = m->graphs[0]->inputs[0]->shape;
    s.dims[0] = batch;
    tensor x;
    size_t floats, n;
    uint64_t seed = (uint64_t)batch;
    fail_on(npuc_tensor_create(d, DTYPE_F32, &s, &x), d);
    random_floats(&seed, x.data, x.bytes / sizeof(float), 1.0f);
    run(m->graphs[0], true, 1, &x, want, &floats, d);
    assert_true(floats > 0 && floats < MOST);
    for (size_t threads = 1; threads <= 3; threads++) {
      memset(got, 0xff, floats * sizeof *got);
      run(m->graphs[0], false, threads, &x, got, &n, d);
      assert_int_equal(n, floats);
      if (memcmp(want, got, n * sizeof *got) != 0) fail_msg("batch %d, %zu threads", (int)batch, threads);
    }
    ((float *)x.data)[0] += 1.0f; /* negative control */
    run(m->graphs[0], false, 1, &x, got, &n, d);
    assert_memory_not_equal(want, got, n * sizeof *got);
    npuc_tensor_release(&x);
  }
  free(want), free(got), free(text);
  npuc_module_destroy(m);
  npuc_diag_destroy(d);
}

/* At every level of this processor, for a level has its own blocks; the scalar ones are slow, and compared in tests/unit/kernels. */
static void segments_equal_operators(void **state) {
  (void)state;
  for (cpu_level level = CPU_SCALAR + 1; level <= CPU_AMX; level++) {
    if (!npuc_cpu_has(level)) continue;
    assert_int_equal(setenv("NPUC_CPU", npuc_cpu_name(level), 1), 0);
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) check_network(networks[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(segments_equal_operators)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
