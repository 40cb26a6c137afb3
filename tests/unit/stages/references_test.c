/* SPDX-License-Identifier: Apache-2.0 */
/* Sources above 256 MiB: import leaves the weights where they are, a source that is not as it was is refused, materialize ends the dependence. The source is a sparse file
 * with its weights at the end, so that the test is small. What is computed is held against the formula y = x * w. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "import/onnx/reference.h"
#include "ir/text.h"
#include "stages/stages.h"
#include "support/scratch.h"

enum { N = 1024 };
static const uint64_t where_weights_are = (uint64_t)ONNX_LARGE_BYTES + 4096;

typedef struct fixture {
  arena *a;
  char *folder;
  const char *model, *weights, *out;
  diag *d;
  build *b;
} fixture;

static float weight(int i) { return (float)(i % 37) - 18.0f; }

static npuc_status place(void *user, diag *d, const tensor *t, const char **out_location, uint64_t *out_offset) {
  (void)d;
  int fd = open(user, O_RDWR | O_CREAT, 0644);
  assert_true(fd >= 0 && ftruncate(fd, (off_t)where_weights_are + (off_t)t->bytes) == 0);
  assert_int_equal(pwrite(fd, t->data, t->bytes, (off_t)where_weights_are), (ssize_t)t->bytes);
  close(fd);
  *out_location = "big.bin";
  *out_offset = where_weights_are;
  return NPUC_OK;
}

static void write_source(const fixture *f) {
  static const char text[] =
      "<ir_version: 10, opset_import: [\"\" : 21]>\ng (float[1024] x) => (float[1024] y)\n<float[1024] w>\n{ y = Mul(x, w) }\n";
  char *full = malloc(65536), *to = full;
  const char *at = strstr(text, "w>") + 1;
  to += sprintf(to, "%.*s = {", (int)(at - text), text);
  for (int i = 0; i < N; i++) to += sprintf(to, "%s%g", i ? ", " : "", (double)weight(i));
  sprintf(to, "}%s", at);
  module *m;
  assert_int_equal(npuc_module_parse(f->d, "test", full, strlen(full), &m), NPUC_OK);
  onnx_weights weights = {.min_bytes = 1024, .place = place, .user = (void *)(uintptr_t)f->weights};
  assert_int_equal(npuc_onnx_write(f->d, m, f->model, &weights), NPUC_OK);
  npuc_module_destroy(m);
  free(full);
}

static npuc_status import(fixture *f) {
  assert_int_equal(npuc_build_open(f->d, f->a, f->out, true, &f->b), NPUC_OK);
  f->b->options = (build_options){.model = f->model, .max_drop = 0.5};
  npuc_status status = npuc_build_options_save(f->b);
  if (status == NPUC_OK) status = npuc_pipeline_run(f->b, STAGE_BASELINE, STAGE_NORMALIZE, NULL, NULL);
  npuc_build_close(f->b);
  return status;
}

static fixture start(void) {
  fixture f = {.a = npuc_arena_create(), .d = npuc_diag_create(NULL, NULL)};
  f.folder = npuc_scratch_create(f.a);
  f.model = npuc_path_join(f.a, f.folder, "model.onnx");
  f.weights = npuc_path_join(f.a, f.folder, "big.bin");
  f.out = npuc_path_join(f.a, f.folder, "out");
  write_source(&f);
  assert_int_equal(import(&f), NPUC_OK);
  return f;
}

static void finish(fixture *f) {
  npuc_diag_destroy(f->d);
  npuc_scratch_remove(f->folder);
  npuc_arena_destroy(f->a);
}

static bool said(const fixture *f, diag_code code) {
  for (size_t i = 0; i < npuc_diag_count(f->d); i++)
    if (npuc_diag_at(f->d, i)->code == code) return true;
  return false;
}

static size_t files_in_pool(const fixture *f) {
  char **names;
  size_t n;
  assert_int_equal(npuc_dir_list(f->d, f->a, npuc_path_join(f->a, f->out, "weights"), &names, &n), NPUC_OK);
  return n;
}

static npuc_status read_stage(const fixture *f, module **out) {
  return npuc_onnx_read(f->d, npuc_path_join(f->a, f->out, "2-normalize.onnx"), out);
}

static void gives_the_right_values(const fixture *f) {
  module *m;
  executor *e;
  assert_int_equal(read_stage(f, &m), NPUC_OK);
  assert_int_equal(npuc_executor_create(f->d, m->graphs[0], NULL, &e), NPUC_OK);
  float x[N];
  for (int i = 0; i < N; i++) x[i] = (float)i * 0.25f;
  tensor in = {.type = DTYPE_F32, .shape = {.rank = 1, .dims = {N}}, .data = x, .bytes = sizeof x}, y;
  assert_int_equal(npuc_executor_run(e, f->d, &in, &y), NPUC_OK);
  for (int i = 0; i < N; i++) assert_true(((const float *)y.data)[i] == x[i] * weight(i));
  npuc_executor_destroy(e);
  npuc_module_destroy(m);
}

static void weights_stay_where_they_are(void **state) {
  (void)state;
  fixture f = start();
  assert_true(said(&f, NPUC_DIAG_E0935));
  assert_int_equal(files_in_pool(&f), 0);
  gives_the_right_values(&f);
  finish(&f);
}

/* Each part of the identity by itself. */
static void a_source_that_changed_is_refused(void **state) {
  (void)state;
  for (int change = 0; change < 4; change++) {
    fixture f = start();
    struct stat was;
    assert_int_equal(stat(f.weights, &was), 0);
    const struct timespec times[2] = {was.st_mtim, was.st_mtim},
                          later[2] = {{.tv_sec = was.st_mtim.tv_sec + 1}, {.tv_sec = was.st_mtim.tv_sec + 1}};
    int fd = open(f.weights, O_RDWR);
    assert_true(fd >= 0);
    if (change == 0) assert_int_equal(unlink(f.weights), 0);
    if (change == 1) assert_int_equal(ftruncate(fd, was.st_size + 1), 0);
    if (change == 2) assert_int_equal(futimens(fd, later), 0);
    if (change == 3) assert_int_equal(pwrite(fd, "x", 1, was.st_size - 1), 1); /* in the last sampled block, the time as it was */
    if (change == 1 || change == 3) assert_int_equal(futimens(fd, times), 0);
    close(fd);
    module *m;
    npuc_status status = read_stage(&f, &m);
    if (status != NPUC_BAD_INPUT || !said(&f, NPUC_DIAG_E0343)) fail_msg("change %d: status %d", change, (int)status);
    finish(&f);
  }
}

static void materialized_it_needs_no_source(void **state) {
  (void)state;
  fixture f = start();
  assert_int_equal(npuc_build_open(f.d, f.a, f.out, false, &f.b), NPUC_OK);
  assert_int_equal(npuc_build_options_load(f.b), NPUC_OK);
  assert_int_equal(npuc_build_materialize(f.b), NPUC_OK);
  const char *key, *inputs; /* nothing would run again */
  for (int s = STAGE_BASELINE; s <= STAGE_NORMALIZE; s++) {
    assert_int_equal(npuc_stage_key(f.b, (stage_id)s, NULL, false, &key, &inputs), NPUC_OK);
    assert_true(npuc_build_holds(f.b, (stage_id)s, NULL, key));
  }
  npuc_build_close(f.b);
  assert_int_equal(files_in_pool(&f), 1);
  assert_int_equal(unlink(f.weights), 0);
  gives_the_right_values(&f);
  finish(&f);
}

/* A reference in a model from elsewhere names what it cannot describe. */
static void a_reference_opens_nothing_unknown(void **state) {
  (void)state;
  fixture f = start();
  mapped_file *file = NULL;
  static const char *const texts[] = {"", "1 2 3 /etc/passwd", "268443648 0 0000000000000000 big.bin", "-1 0 0 /etc/passwd", "1  2 3 /x"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    assert_int_equal(npuc_onnx_reference_map(f.d, NULL, texts[i], &file), NPUC_BAD_INPUT);
    assert_null(file);
  }
  finish(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(weights_stay_where_they_are), cmocka_unit_test(a_source_that_changed_is_refused),
                                     cmocka_unit_test(materialized_it_needs_no_source),
                                     cmocka_unit_test(a_reference_opens_nothing_unknown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
