/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's promises: no allocation in a second run, memory that is used again, views and copies of inputs, observers, kept values, and
 * what is refused. Allocations are counted by interposing malloc and its relatives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "ir/text.h"
#include "support/random.h"

/* -- counting -- */

#if defined(__has_feature) /* Clang's way to ask; sanitizers bring their own malloc */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)
#define COUNTS 1
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
static atomic_size_t allocations;
void *malloc(size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  return __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **out, size_t alignment, size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  *out = __libc_memalign(alignment, bytes);
  return *out ? 0 : 12;
}
#else
#define COUNTS 0
static atomic_size_t allocations;
#endif

/* -- a small network of every kind of step -- */

static const char network[] =
    "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    "net (float[N,3,8,8] image) => (float[N,5] probability, float[N,20] flat)\n"
    "<float[4,3,3,3] w = {0}, float[4] b = {0.5, -0.5, 0.25, 0}, float[5,20] m = {0}, int64[2] minus = {0, -1}>\n"
    "{\n"
    " c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(image, w, b)\n"
    " r = Relu(c)\n"
    " d = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(image, w)\n"
    " s = Add(r, d)\n"
    " p = AveragePool<kernel_shape=[3,3], strides=[3,3], pads=[1,1,0,0], ceil_mode=1>(s)\n"
    " t = Sigmoid(p)\n"
    " g = MaxPool<kernel_shape=[2,2], strides=[1,2], pads=[0,0,0,0]>(t)\n"
    " h = ReduceMean<keepdims=0>(g)\n"
    " f = Flatten(t)\n"
    " u = Slice(f, zero, twenty, one)\n"
    " flat = Reshape(u, minus)\n"
    " y = Gemm<transB=1>(flat, m)\n"
    " z = Sub(y, h)\n"
    " probability = Softmax(z)\n"
    "}\n";

/* Fills `{0}` by random numbers of the right count, so that the text stays short. */
static char *expanded(void) {
  char *text = calloc(1, 65536), *to = text;
  const char *from = network, *at;
  uint64_t seed = 4;
  int counts[] = {108, 100};
  for (int i = 0; i < 2; i++) {
    at = strstr(from, "{0}");
    to += sprintf(to, "%.*s{", (int)(at - from), from);
    for (int k = 0; k < counts[i]; k++) to += sprintf(to, "%s%.6f", k ? ", " : "", (double)random_float(&seed));
    to += sprintf(to, "}");
    from = at + 3;
  }
  at = strstr(from, ">\n{");
  sprintf(to, "%.*s, int64[1] zero = {0}, int64[1] twenty = {20}, int64[1] one = {1}%s", (int)(at - from), from, at);
  return text;
}

typedef struct fixture {
  diag *d;
  module *m;
  executor *e;
  thread_pool *pool;
} fixture;

static void report(const diag *d) {
  const diag_record *r = npuc_diag_first_error(d);
  if (r) print_error("%s %s: %s\n", npuc_diag_info(r->code)->text_code, r->place.node ? r->place.node : "", r->reason);
}

static fixture make(const char *text, exec_options options, size_t threads) {
  fixture f = {.d = npuc_diag_create(NULL, NULL), .pool = npuc_pool_create(threads)};
  npuc_status status = npuc_module_parse(f.d, "test", text, strlen(text), &f.m);
  report(f.d);
  assert_int_equal(status, NPUC_OK);
  options.pool = f.pool;
  assert_int_equal(npuc_executor_create(f.d, f.m->graphs[0], &options, &f.e), NPUC_OK);
  return f;
}

static void drop(fixture *f) {
  npuc_executor_destroy(f->e);
  npuc_pool_destroy(f->pool);
  npuc_module_destroy(f->m);
  npuc_diag_destroy(f->d);
}

static tensor image_of(int64_t n, uint64_t seed) {
  tensor t;
  shape s = {.rank = 4, .dims = {n, 3, 8, 8}};
  assert_int_equal(npuc_tensor_create(NULL, DTYPE_F32, &s, &t), NPUC_OK);
  random_floats(&seed, t.data, (size_t)npuc_tensor_elements(&t), 1.0f);
  return t;
}

static void a_second_run_allocates_nothing(void **state) {
  (void)state;
  char *text = expanded();
  for (size_t threads = 1; threads <= 2; threads++) {
    fixture f = make(text, (exec_options){0}, threads);
    tensor x = image_of(3, 1), y[2];
    npuc_status status = npuc_executor_run(f.e, f.d, &x, y);
    report(f.d);
    assert_int_equal(status, NPUC_OK);
    assert_true(!COUNTS || allocations > 0);
    size_t before = allocations;
    status = npuc_executor_run(f.e, f.d, &x, y);
    size_t after = allocations;
    assert_int_equal(status, NPUC_OK);
    assert_int_equal(after, before);
    npuc_tensor_release(&x);
    drop(&f);
  }
  free(text);
}

/* Other dims and back: the same results, and a plan for each. */
static void plans_by_dims(void **state) {
  (void)state;
  char *text = expanded();
  fixture f = make(text, (exec_options){0}, 2);
  tensor x = image_of(4, 2), y[2];
  float first[20];
  assert_int_equal(npuc_executor_run(f.e, f.d, &x, y), NPUC_OK);
  assert_int_equal(y[0].shape.dims[0], 4);
  memcpy(first, y[0].data, sizeof first);
  for (int64_t n = 1; n <= 3; n++) { /* samples do not depend on the batch */
    tensor part = x;
    part.shape.dims[0] = n;
    part.bytes = x.bytes / 4 * (size_t)n;
    assert_int_equal(npuc_executor_run(f.e, f.d, &part, y), NPUC_OK);
    assert_int_equal(y[0].shape.dims[0], n);
    for (int64_t i = 0; i < n * 5; i++) assert_true(isfinite(((float *)y[0].data)[i]));
  }
  assert_int_equal(npuc_executor_run(f.e, f.d, &x, y), NPUC_OK);
  assert_memory_equal(first, y[0].data, sizeof first);
  npuc_tensor_release(&x);
  drop(&f);
  free(text);
}

enum { LONG = 140, SHORT = 130 }; /* a weight is above the 64 KiB that inference evaluates */

static char *put_weight(char *to, const char *declared, const float *w) {
  to += sprintf(to, "%s = {", declared);
  for (int i = 0; i < LONG * SHORT; i++) to += sprintf(to, "%s%.9g", i ? ", " : "", (double)w[i]);
  return to + sprintf(to, "}");
}

/* y[n] = sum over k, ascending, of x[k] * w[n, k] */
static void linear(const float *x, const float *w, int n, int k, float *y) {
  for (int i = 0; i < n; i++) {
    y[i] = 0.0f;
    for (int j = 0; j < k; j++) y[i] = fmaf(x[j], w[i * k + j], y[i]);
  }
}

/* Linear layers as PyTorch writes them: the product takes the weight from where it stands. What is kept for a look is transposed as ever, and has the same bits. The last
 * Transpose is an output too, and stays a step. */
static void weights_are_not_transposed(void **state) {
  (void)state;
  enum { ROWS = 4 };
  static float w[3][LONG * SHORT];
  char *text = malloc(1 << 20), *to = text;
  uint64_t seed = 8;
  for (int i = 0; i < 3; i++) random_floats(&seed, w[i], LONG * SHORT, 1.0f);
  to += sprintf(to, "<ir_version: 10, opset_import: [\"\" : 21]>\nnet (float[B,2,140] x) => (float[B,2,130] y, float[140,130] turned)\n<");
  to = put_weight(to, "float[130,140] w", w[0]);
  to = put_weight(to, ", float[140,130] v", w[1]);
  to = put_weight(to, ", float[130,140] u", w[2]);
  sprintf(to,
          ">\n{\n wt = Transpose<perm=[1,0]>(w)\n h = MatMul(x, wt)\n vt = Transpose(v)\n g = MatMul(h, vt)\n"
          " turned = Transpose(u)\n y = MatMul(g, turned)\n}\n");
  fixture plain = make(text, (exec_options){0}, 2), kept = make(text, (exec_options){.keep_all = true}, 1);
  tensor x, y[2], z[2];
  assert_int_equal(npuc_tensor_create(NULL, DTYPE_F32, &(shape){.rank = 3, .dims = {2, 2, LONG}}, &x), NPUC_OK);
  random_floats(&seed, x.data, ROWS * LONG, 1.0f);
  assert_int_equal(npuc_executor_run(plain.e, plain.d, &x, y), NPUC_OK);
  assert_int_equal(npuc_executor_run(kept.e, kept.d, &x, z), NPUC_OK);
  assert_true(npuc_tensor_equal(&y[0], &z[0]) && npuc_tensor_equal(&y[1], &z[1]));
  for (int row = 0; row < ROWS; row++) {
    float h[SHORT], g[LONG], wanted[SHORT];
    linear((const float *)x.data + row * LONG, w[0], SHORT, LONG, h);
    linear(h, w[1], LONG, SHORT, g);
    linear(g, w[2], SHORT, LONG, wanted);
    assert_memory_equal((const float *)y[0].data + row * SHORT, wanted, sizeof wanted);
  }
  const node *n;
  size_t live, steps = 0, transposes = 0;
  for (; npuc_executor_step(plain.e, steps, &n, &live); steps++) transposes += n->op->id == OP_TRANSPOSE;
  assert_int_equal(steps, 4);
  assert_int_equal(transposes, 1);
  assert_non_null(npuc_executor_value(kept.e, npuc_graph_value(kept.m->graphs[0], "wt")));
  npuc_tensor_release(&x);
  drop(&plain), drop(&kept);
  free(text);
}

typedef struct seen {
  size_t count;
  double sum;
} seen;

static npuc_status look(void *user, const value *v, const tensor *t) {
  seen *s = user;
  s->count++;
  if (strcmp(v->name, "r") == 0) {
    for (int64_t i = 0; i < npuc_tensor_elements(t); i++) s->sum += npuc_tensor_get(t, i);
  }
  return NPUC_OK;
}

static void observed_and_kept(void **state) {
  (void)state;
  char *text = expanded();
  seen s = {0};
  fixture plain = make(text, (exec_options){0}, 1), kept = make(text, (exec_options){.keep_all = true}, 1);
  fixture watched = make(text, (exec_options){.observe = look, .user = &s}, 1);
  tensor x = image_of(2, 3), a[2], b[2], c[2];
  assert_int_equal(npuc_executor_run(plain.e, plain.d, &x, a), NPUC_OK);
  assert_int_equal(npuc_executor_run(kept.e, kept.d, &x, b), NPUC_OK);
  assert_int_equal(npuc_executor_run(watched.e, watched.d, &x, c), NPUC_OK);
  assert_true(npuc_tensor_equal(&a[0], &b[0]) && npuc_tensor_equal(&a[0], &c[0]) && npuc_tensor_equal(&a[1], &b[1]));
  assert_int_equal(s.count, 15); /* the image and every node's output */
  const tensor *r = npuc_executor_value(kept.e, npuc_graph_value(kept.m->graphs[0], "r"));
  assert_non_null(r);
  double sum = 0.0;
  for (int64_t i = 0; i < npuc_tensor_elements(r); i++) sum += npuc_tensor_get(r, i);
  assert_true(sum == s.sum && sum > 0.0);
  assert_null(npuc_executor_value(plain.e, npuc_graph_value(plain.m->graphs[0], "r")));
  assert_true(npuc_executor_memory(watched.e) < npuc_executor_memory(kept.e)); /* reuse; the layout is that of tensors in both */
  npuc_tensor_release(&x);
  drop(&plain), drop(&kept), drop(&watched);
  free(text);
}

/* An output that is a view of the input is the executor's own memory; a constant output is given as it is. */
static void outputs_that_are_inputs(void **state) {
  (void)state;
  fixture f = make(
      "g (float[N,2] x) => (float[2,N] y, float[N,2] x2, float[3] k)\n<float[3] k = {1, 2, 3}, int64[2] s = {2, -1}>\n{\n y = Reshape(x, "
      "s)\n x2 = Identity(x)\n}\n",
      (exec_options){0}, 1);
  unsigned char bytes[25] = {0};
  float values[6] = {1, 2, 3, 4, 5, 6};
  memcpy(bytes + 1, values, sizeof values); /* at an odd address */
  tensor x = {.type = DTYPE_F32, .shape = {.rank = 2, .dims = {3, 2}}, .data = bytes + 1, .bytes = 24}, y[3];
  assert_int_equal(npuc_executor_run(f.e, f.d, &x, y), NPUC_OK);
  memset(bytes, 0xff, sizeof bytes);
  assert_memory_equal(y[0].data, values, 24);
  assert_memory_equal(y[1].data, values, 24);
  assert_int_equal(y[0].shape.dims[1], 3);
  assert_true(npuc_tensor_get(&y[2], 2) == 3.0);
  drop(&f);
}

static void expect_code(const diag *d, diag_code code) {
  const diag_record *r = npuc_diag_first_error(d);
  assert_non_null(r);
  assert_int_equal(r->code, code);
}

static void wrong_inputs_are_named(void **state) {
  (void)state;
  const char *text = "g (float[N,2] a, float[N,3] b) => (float[N,5] y) {\n y = Concat<axis=1>(a, b)\n}\n";
  float v[9] = {0};
  tensor y, good[2] = {{.type = DTYPE_F32, .shape = {.rank = 2, .dims = {3, 2}}, .data = v, .bytes = 24},
                       {.type = DTYPE_F32, .shape = {.rank = 2, .dims = {3, 3}}, .data = v, .bytes = 36}};
  for (int way = 0; way < 5; way++) {
    fixture f = make(text, (exec_options){0}, 1);
    tensor in[2] = {good[0], good[1]};
    if (way == 1) in[1].type = DTYPE_I32;
    if (way == 2) in[1].shape.dims[0] = 2;
    if (way == 3) in[0].shape.dims[1] = 3;
    if (way == 4) in[0].shape.rank = 1;
    npuc_status status = npuc_executor_run(f.e, f.d, in, &y);
    assert_int_equal(status, way == 0 ? NPUC_OK : NPUC_USAGE);
    if (way) expect_code(f.d, NPUC_DIAG_E0601);
    drop(&f);
  }
}

static void an_index_outside_is_named(void **state) {
  (void)state;
  fixture f = make("g (float[4] x, int64[1] i) => (float[1] y) {\n y = Gather(x, i)\n}\n", (exec_options){0}, 1);
  float v[4] = {1, 2, 3, 4};
  int64_t index = -4;
  tensor y, in[2] = {{.type = DTYPE_F32, .shape = {.rank = 1, .dims = {4}}, .data = v, .bytes = 16},
                     {.type = DTYPE_I64, .shape = {.rank = 1, .dims = {1}}, .data = &index, .bytes = 8}};
  assert_int_equal(npuc_executor_run(f.e, f.d, in, &y), NPUC_OK);
  assert_true(npuc_tensor_get(&y, 0) == 1.0);
  index = 4;
  assert_int_equal(npuc_executor_run(f.e, f.d, in, &y), NPUC_BAD_INPUT);
  expect_code(f.d, NPUC_DIAG_E0603);
  drop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_second_run_allocates_nothing), cmocka_unit_test(plans_by_dims),
                                     cmocka_unit_test(weights_are_not_transposed),     cmocka_unit_test(observed_and_kept),
                                     cmocka_unit_test(outputs_that_are_inputs),        cmocka_unit_test(wrong_inputs_are_named),
                                     cmocka_unit_test(an_index_outside_is_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
