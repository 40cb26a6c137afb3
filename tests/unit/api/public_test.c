/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has the public headers and nothing else of ours: it compiles the demo's network with compiler.h, and loads and runs the artifact with runtime.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "npuc/compiler.h"
#include "npuc/library.h"
#include "npuc/runtime.h"

#define DEMO NPUC_SOURCE_DIR "/examples/demo/"
enum { PICTURES = 400, SIZE = 3 * 16 * 16, CLASSES = 10, HEADER = 128, FLOAT_RIGHT = 379 };

typedef struct seen {
  int stages, done, kept, diagnostics, errors, polls;
  char first_code[16];
  int cancel_at; /* 0: never */
} seen;

static void on_stage(void *user, const char *stage, const char *target, const char *status, double seconds) {
  seen *s = user;
  assert_non_null(stage);
  assert_true(target == NULL || strcmp(target, "refnpu-n16") == 0);
  assert_true(seconds >= 0);
  s->stages++;
  s->done += strcmp(status, "done") == 0;
  s->kept += strcmp(status, "kept") == 0;
}

static void on_diagnostic(void *user, const npuc_diagnostic *d) {
  seen *s = user;
  s->diagnostics++;
  if (d->severity == NPUC_SEVERITY_ERROR && s->errors++ == 0) (void)snprintf(s->first_code, sizeof s->first_code, "%s", d->code);
  assert_non_null(d->reason);
  assert_non_null(npuc_explain(d->code));
}

static bool cancelled(void *user) {
  seen *s = user;
  s->polls++;
  return s->cancel_at && s->polls >= s->cancel_at;
}

static const char *const targets[] = {"refnpu-n16"};
static char folder[] = NPUC_BINARY_DIR "/api-XXXXXX";
static char output[sizeof folder + 16], artifact[sizeof folder + 64];

static npuc_compile_options options_of(seen *s) {
  npuc_compile_options o;
  npuc_compile_options_init(&o);
  o.model = DEMO "model.onnx", o.output = output, o.targets = targets, o.n_targets = 1;
  o.calibration = DEMO "calib.npy", o.preprocess = "scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25";
  o.threads = 1;
  o.on_stage = on_stage, o.on_diagnostic = on_diagnostic, o.cancelled = cancelled, o.user = s;
  return o;
}

static void test_compile(void **state) {
  (void)state;
  seen s = {0};
  npuc_compile_options o = options_of(&s);
  assert_int_equal(npuc_compile(&o), NPUC_OK);
  assert_int_equal(s.stages, 8);
  assert_int_equal(s.done, 8);
  assert_int_equal(s.errors, 0);
  s = (seen){0};
  assert_int_equal(npuc_compile(&o), NPUC_OK); /* nothing has changed */
  assert_int_equal(s.kept, 8);
  o.force = true;
  s = (seen){0};
  assert_int_equal(npuc_compile(&o), NPUC_OK);
  assert_int_equal(s.done, 8);
}

static void read_part(const char *path, size_t offset, void *to, size_t n) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  assert_int_equal(fseek(f, (long)offset, SEEK_SET), 0);
  assert_int_equal(fread(to, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static int count_right(const npuc_program *p, npuc_session *session, float darker) {
  static uint8_t pictures[PICTURES][SIZE];
  static int64_t labels[PICTURES];
  static float real[SIZE];
  float logits[CLASSES];
  uint8_t q[SIZE], result[CLASSES];
  int right = 0;
  read_part(DEMO "test.npy", HEADER, pictures, sizeof pictures);
  read_part(DEMO "test.labels.npy", HEADER, labels, sizeof labels);
  for (int i = 0; i < PICTURES; i++) {
    const void *inputs[] = {q};
    void *outputs[] = {result};
    for (int k = 0; k < SIZE; k++) real[k] = ((float)pictures[i][k] * darker / 255.0f - 0.5f) / 0.25f;
    npuc_port_quantize(npuc_program_input(p, 0), real, q, SIZE);
    assert_int_equal(npuc_session_run(session, inputs, outputs, NULL), NPUC_OK);
    npuc_port_dequantize(npuc_program_output(p, 0), result, logits, CLASSES);
    int best = 0;
    for (int k = 1; k < CLASSES; k++) best = logits[k] > logits[best] ? k : best;
    right += best == labels[i];
  }
  return right;
}

static void test_run(void **state) {
  (void)state;
  npuc_program *p;
  npuc_session *session;
  npuc_error error;
  assert_int_equal(npuc_program_load(artifact, &p, &error), NPUC_OK);
  assert_int_equal(npuc_program_inputs(p), 1);
  assert_int_equal(npuc_program_outputs(p), 1);
  assert_string_equal(npuc_program_input(p, 0)->name, "image");
  assert_int_equal(npuc_program_input(p, 0)->bytes, SIZE);
  assert_int_equal(npuc_session_create(p, NULL, &session, &error), NPUC_OK);
  int right = count_right(p, session, 1);
  print_message("%d of %d right\n", right, PICTURES);
  assert_true(right >= FLOAT_RIGHT - 4);
  assert_true(count_right(p, session, 0.1f) < FLOAT_RIGHT - 40); /* negative control */
  npuc_session_destroy(session);
  npuc_program_destroy(p);
}

static void test_failures(void **state) {
  (void)state;
  seen s = {0};
  npuc_compile_options o = options_of(&s);
  o.model = DEMO "README.md", o.force = true;
  assert_int_equal(npuc_compile(&o), NPUC_BAD_INPUT);
  assert_true(s.errors > 0);
  npuc_program *p;
  npuc_error error;
  assert_int_not_equal(npuc_program_load(artifact, &p, &error),
                       NPUC_OK); /* the earlier artifact does not stay as if it were this model's */
  o = options_of(&s);
  o.n_targets = 0;
  assert_int_equal(npuc_compile(&o), NPUC_USAGE);
  s = (seen){.cancel_at = 3};
  o = options_of(&s);
  assert_int_equal(npuc_compile(&o), NPUC_ENVIRONMENT);
  assert_true(s.polls >= 3);
  s = (seen){0};
  o = options_of(&s);
  assert_int_equal(npuc_compile(&o), NPUC_OK); /* goes on */
  assert_int_equal(npuc_program_load(artifact, &p, &error), NPUC_OK);
  npuc_program_destroy(p);
}

static void test_explain(void **state) {
  (void)state;
  assert_non_null(npuc_explain("E1003"));
  assert_ptr_equal(npuc_explain("NPUC-E1003"), npuc_explain("E1003"));
  assert_null(npuc_explain("E9999"));
  assert_null(npuc_explain(NULL));
  assert_non_null(npuc_version());
}

/* mkdtemp is POSIX; the folder is removed by the shell, since nothing of ours is at hand. */
static int make_folder(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  (void)snprintf(output, sizeof output, "%s/out", folder);
  (void)snprintf(artifact, sizeof artifact, "%s/6-build.refnpu-n16/model.npu", output);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  char command[sizeof folder + 16];
  (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command) == 0 ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_compile), cmocka_unit_test(test_run), cmocka_unit_test(test_failures),
                                     cmocka_unit_test(test_explain)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
