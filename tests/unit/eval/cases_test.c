/* SPDX-License-Identifier: Apache-2.0 */
/* Every case of tests/data/eval (models with ONNX Runtime's outputs) through the executor: within the case's tolerance, and
 * the same bits with three threads, at the scalar level, and without fusions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "ir/text.h"

enum { MOST_TENSORS = 12 };

typedef struct eval_case {
  char name[64];
  double rtol, atol;
  char *model;
  tensor inputs[MOST_TENSORS], outputs[MOST_TENSORS];
  size_t n_inputs, n_outputs;
} eval_case;

/* -- reading -- */

static char *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  rewind(f);
  char *text = malloc((size_t)n + 1);
  assert_non_null(text);
  assert_int_equal(fread(text, 1, (size_t)n, f), n);
  text[n] = 0;
  fclose(f);
  return text;
}

static char *next_line(char **at) {
  char *line = *at, *end = strchr(line, '\n');
  if (!end) return NULL;
  *end = 0;
  *at = end + 1;
  return line;
}

static tensor read_tensor(char *text) {
  char *rest = NULL, *word = strtok_r(text, " ", &rest);
  dtype type;
  assert_true(npuc_dtype_parse(word, &type));
  shape s = {0};
  while ((word = strtok_r(NULL, " ", &rest)) && strcmp(word, ":") != 0) s.dims[s.rank++] = strtoll(word, NULL, 10);
  tensor t;
  assert_int_equal(npuc_tensor_create(NULL, type, &s, &t), NPUC_OK);
  for (int64_t i = 0; i < npuc_tensor_elements(&t); i++) {
    word = strtok_r(NULL, " ", &rest);
    assert_non_null(word);
    if (npuc_dtype_kind(type) == KIND_FLOAT) {
      npuc_tensor_set(&t, i, strtod(word, NULL));
    } else {
      npuc_tensor_set_int(&t, i, strtoll(word, NULL, 10));
    }
  }
  return t;
}

static bool read_case(char **at, eval_case *c) {
  *c = (eval_case){0};
  char *line = next_line(at);
  if (!line) return false;
  assert_int_equal(sscanf(line, "case %63s %lf %lf", c->name, &c->rtol, &c->atol), 3);
  line = next_line(at);
  int lines = 0;
  assert_int_equal(sscanf(line, "model %d", &lines), 1);
  c->model = calloc(1, 16384);
  for (int i = 0; i < lines; i++) {
    strcat(c->model, next_line(at));
    strcat(c->model, "\n");
  }
  while (**at && strncmp(*at, "case ", 5) != 0) {
    line = next_line(at);
    if (strncmp(line, "input ", 6) == 0) {
      c->inputs[c->n_inputs++] = read_tensor(line + 6);
    } else {
      c->outputs[c->n_outputs++] = read_tensor(line + 7);
    }
  }
  return true;
}

static void free_case(eval_case *c) {
  for (size_t i = 0; i < c->n_inputs; i++) npuc_tensor_release(&c->inputs[i]);
  for (size_t i = 0; i < c->n_outputs; i++) npuc_tensor_release(&c->outputs[i]);
  free(c->model);
}

/* -- running -- */

static npuc_status look(void *user, const value *v, const tensor *t) {
  (void)v;
  assert_true(t->bytes == 0 || t->data != NULL);
  ++*(size_t *)user;
  return NPUC_OK;
}

static void report(const char *name, const diag *d) {
  const diag_record *r = npuc_diag_first_error(d);
  if (r) print_error("%s: %s %s: %s\n", name, npuc_diag_info(r->code)->text_code, r->place.node ? r->place.node : "", r->reason);
}

/* Copies of the outputs are the caller's. Runs twice: the second run must give the same. */
static void run_case(const eval_case *c, size_t threads, const char *level, bool observed, tensor *out_outputs) {
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = NULL;
  executor *e = NULL;
  size_t seen = 0;
  if (level) {
    setenv("NPUC_CPU", level, 1);
  } else {
    unsetenv("NPUC_CPU");
  }
  npuc_status status = npuc_module_parse(d, c->name, c->model, strlen(c->model), &m);
  thread_pool *pool = npuc_pool_create(threads);
  exec_options options = {.pool = pool, .observe = observed ? look : NULL, .user = &seen, .keep_all = observed};
  if (status == NPUC_OK) status = npuc_executor_create(d, m->graphs[0], &options, &e);
  tensor results[MOST_TENSORS];
  for (int run = 0; run < 2 && status == NPUC_OK; run++) status = npuc_executor_run(e, d, c->inputs, results);
  report(c->name, d);
  assert_int_equal(status, NPUC_OK);
  assert_int_equal(m->graphs[0]->n_outputs, c->n_outputs);
  assert_true(!observed || seen >= c->n_inputs + c->n_outputs);
  for (size_t i = 0; i < c->n_outputs; i++) {
    assert_int_equal(npuc_tensor_create(NULL, results[i].type, &results[i].shape, &out_outputs[i]), NPUC_OK);
    if (results[i].bytes) memcpy(out_outputs[i].data, results[i].data, results[i].bytes);
  }
  npuc_executor_destroy(e);
  npuc_pool_destroy(pool);
  npuc_module_destroy(m);
  npuc_diag_destroy(d);
  unsetenv("NPUC_CPU");
}

static bool is_close(const tensor *a, const tensor *b, double rtol, double atol) {
  if (a->type != b->type || !npuc_shape_equal(&a->shape, &b->shape)) return false;
  for (int64_t i = 0; i < npuc_tensor_elements(b); i++) {
    double p = npuc_tensor_get(a, i), q = npuc_tensor_get(b, i);
    bool same = p == q || (p != p && q != q); /* infinities, NaNs */
    if (!same && (isinf(q) || !(fabs(p - q) <= atol + rtol * fabs(q)))) {
      print_error("element %lld: %.9g, expected %.9g\n", (long long)i, p, q);
      return false;
    }
  }
  return true;
}

static void check_case(const eval_case *c) {
  tensor first[MOST_TENSORS], other[MOST_TENSORS];
  run_case(c, 1, NULL, false, first);
  for (size_t i = 0; i < c->n_outputs; i++) {
    if (!is_close(&first[i], &c->outputs[i], c->rtol, c->atol)) fail_msg("%s: output %zu is wrong", c->name, i);
  }
  for (int way = 0; way < 3; way++) {
    run_case(c, way == 0 ? 3 : 1, way == 1 ? "scalar" : NULL, way == 2, other);
    for (size_t i = 0; i < c->n_outputs; i++) {
      if (!npuc_tensor_equal(&first[i], &other[i])) fail_msg("%s: output %zu differs with way %d", c->name, i, way);
      npuc_tensor_release(&other[i]);
    }
  }
  for (size_t i = 0; i < c->n_outputs; i++) npuc_tensor_release(&first[i]);
}

static void check_cases(const char *path, size_t least) {
  char *text = read_file(path), *at = text;
  eval_case c;
  size_t n = 0;
  while (read_case(&at, &c)) {
    check_case(&c);
    free_case(&c);
    n++;
  }
  assert_true(n >= least);
  free(text);
}

static void all_cases(void **state) {
  (void)state;
  check_cases(NPUC_SOURCE_DIR "/tests/data/eval/cases.txt", 80);
}

static void operator_cases(void **state) {
  (void)state;
  check_cases(NPUC_SOURCE_DIR "/tests/data/eval/operators.txt", 30);
}

/* Negative control: a changed expectation must be noticed. */
static void a_wrong_value_is_seen(void **state) {
  (void)state;
  char *text = read_file(NPUC_SOURCE_DIR "/tests/data/eval/cases.txt"), *at = text;
  eval_case c;
  tensor results[MOST_TENSORS];
  assert_true(read_case(&at, &c));
  run_case(&c, 1, NULL, false, results);
  npuc_tensor_set(&c.outputs[0], 3, npuc_tensor_get(&c.outputs[0], 3) + 1e-3);
  assert_false(is_close(&results[0], &c.outputs[0], c.rtol, c.atol));
  for (size_t i = 0; i < c.n_outputs; i++) npuc_tensor_release(&results[i]);
  free_case(&c);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_cases), cmocka_unit_test(operator_cases),
                                     cmocka_unit_test(a_wrong_value_is_seen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
