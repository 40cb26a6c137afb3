/* SPDX-License-Identifier: Apache-2.0 */
/* The demo's network in the executor: PyTorch's logits of its first 16 held-out pictures, and as many right answers on all 400 as
 * ONNX Runtime has (examples/demo/README.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "formats/npy.h"
#include "import/onnx/onnx.h"
#include "media/preprocess.h"
#include "tensor/compare.h"

#define DEMO NPUC_SOURCE_DIR "/examples/demo/"
enum { PICTURES = 400, RECORDED = 16, CLASSES = 10, RIGHT = 379 };

typedef struct demo {
  diag *d;
  module *m;
  executor *e;
  tensor inputs, labels, logits; /* [400, 3, 16, 16] normalized, [400], [16, 10] */
} demo;

static tensor load(const char *path) {
  tensor t;
  if (npuc_npy_read(NULL, path, &t) != NPUC_OK) fail_msg("%s cannot be read", path);
  return t;
}

static void normalize(demo *s, const tensor *pictures) {
  arena *a = npuc_arena_create();
  preprocess *p = NULL;
  preprocess_plan plan;
  const shape one = {.rank = 3, .dims = {3, 16, 16}};
  const size_t size = 3 * 16 * 16;
  assert_int_equal(npuc_preprocess_parse(s->d, a, "scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25", &p), NPUC_OK);
  assert_int_equal(npuc_preprocess_plan(s->d, p, pictures->type, &one, &one, &plan), NPUC_OK);
  assert_int_equal(npuc_tensor_create(s->d, DTYPE_F32, &pictures->shape, &s->inputs), NPUC_OK);
  for (size_t i = 0; i < PICTURES; i++) {
    const uint8_t *record = (const uint8_t *)pictures->data + i * size;
    assert_int_equal(npuc_preprocess_apply(s->d, &plan, record, (float *)s->inputs.data + i * size), NPUC_OK);
  }
  npuc_arena_destroy(a);
}

static int set_up(void **state) {
  static demo s;
  s.d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_onnx_read(s.d, DEMO "model.onnx", &s.m), NPUC_OK);
  assert_int_equal(npuc_executor_create(s.d, s.m->graphs[0], &(exec_options){0}, &s.e), NPUC_OK);
  tensor pictures = load(DEMO "test.npy");
  normalize(&s, &pictures);
  npuc_tensor_release(&pictures);
  s.labels = load(DEMO "test.labels.npy");
  s.logits = load(DEMO "logits16.npy");
  *state = &s;
  return 0;
}

static int tear_down(void **state) {
  demo *s = *state;
  npuc_tensor_release(&s->inputs);
  npuc_tensor_release(&s->labels);
  npuc_tensor_release(&s->logits);
  npuc_executor_destroy(s->e);
  npuc_module_destroy(s->m);
  npuc_diag_destroy(s->d);
  return 0;
}

/* The first `count` pictures from `first` on, in one batch. The result borrows the executor's memory. */
static tensor run(demo *s, int64_t first, int64_t count) {
  tensor input = s->inputs, output;
  const size_t bytes = s->inputs.bytes / PICTURES;
  input.shape.dims[0] = count;
  input.data = (char *)s->inputs.data + (size_t)first * bytes;
  input.bytes = bytes * (size_t)count;
  assert_int_equal(npuc_executor_run(s->e, s->d, &input, &output), NPUC_OK);
  return output;
}

static double apart(const tensor *a, const tensor *b) {
  comparison c;
  assert_int_equal(npuc_compare(NULL, a, b, &c), NPUC_OK);
  assert_true(c.finite);
  return c.max_abs;
}

static void logits_are_those_of_pytorch(void **state) {
  demo *s = *state;
  tensor got = run(s, 0, RECORDED);
  assert_int_equal(got.shape.dims[1], CLASSES);
  assert_true(apart(&got, &s->logits) <= 1e-4);
  got = run(s, 1, RECORDED); /* other pictures: the comparison can fail */
  assert_true(apart(&got, &s->logits) > 1e-2);
}

static int right_answers(demo *s, int64_t label_shift) {
  const tensor got = run(s, 0, PICTURES);
  int right = 0;
  for (int64_t i = 0; i < PICTURES; i++) {
    int64_t best = 0;
    for (int64_t c = 1; c < CLASSES; c++) {
      if (npuc_tensor_get(&got, i * CLASSES + c) > npuc_tensor_get(&got, i * CLASSES + best)) best = c;
    }
    right += best == (npuc_tensor_get_int(&s->labels, i) + label_shift) % CLASSES;
  }
  return right;
}

static void as_many_are_right_as_in_onnx_runtime(void **state) {
  assert_int_equal(right_answers(*state, 0), RIGHT);
  assert_true(right_answers(*state, 1) < PICTURES / 4);
}

static void one_picture_alone_has_the_same_logits(void **state) {
  demo *s = *state;
  float all[PICTURES * CLASSES];
  memcpy(all, run(s, 0, PICTURES).data, sizeof all);
  for (int64_t i = 0; i < PICTURES; i += 57) {
    assert_memory_equal(run(s, i, 1).data, &all[i * CLASSES], CLASSES * sizeof(float));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(logits_are_those_of_pytorch),
      cmocka_unit_test(as_many_are_right_as_in_onnx_runtime),
      cmocka_unit_test(one_picture_alone_has_the_same_logits),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
