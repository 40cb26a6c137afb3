/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has the public headers and nothing else of ours: it compiles and runs the demo's network with compiler.h, and loads and runs the artifact with runtime.h. */
#include <math.h>
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
  int stages, done, kept, polls;
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

static bool cancelled(void *user) {
  seen *s = user;
  s->polls++;
  return s->cancel_at && s->polls >= s->cancel_at;
}

static char folder[] = NPUC_BINARY_DIR "/api-XXXXXX";
static char output[sizeof folder + 16], artifact[sizeof folder + 64];

static npuc_context *context_of(seen *s) {
  npuc_context_options o;
  npuc_context *c;
  npuc_context_options_init(&o);
  o.threads = 1;
  o.on_stage = on_stage, o.cancelled = cancelled, o.user = s;
  assert_int_equal(npuc_context_create(&o, &c), NPUC_OK);
  return c;
}

/* The first error's code, or "". Every diagnostic has a reason and a story. */
static const char *first_error(const npuc_context *c) {
  const char *first = "";
  npuc_diagnostic d;
  for (size_t i = 0; npuc_context_diagnostic(c, i, &d); i++) {
    assert_non_null(d.reason);
    assert_non_null(npuc_explain(d.code));
    if (d.severity == NPUC_SEVERITY_ERROR && !*first) first = d.code;
  }
  assert_false(npuc_context_diagnostic(c, npuc_context_diagnostics(c), &d));
  return first;
}

static npuc_status compile_demo(seen *s, const char *model, const char *from) {
  npuc_context *c = context_of(s);
  npuc_compilation *compilation;
  npuc_status status = npuc_compilation_create(c, model, output, &compilation);
  static const char *const options[][2] = {
      {"target", "refnpu-n16"}, {"calib", DEMO "calib.npy"}, {"preprocess", "scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25"}};
  for (size_t i = 0; status == NPUC_OK && i < 3; i++) status = npuc_compilation_set(compilation, options[i][0], options[i][1]);
  if (status == NPUC_OK) status = npuc_compilation_run(compilation, from, NULL);
  if (status == NPUC_OK) assert_non_null(strstr(npuc_compilation_results(compilation), "6-build.refnpu-n16/model.npu"));
  assert_true((status == NPUC_OK) == (*first_error(c) == '\0'));
  npuc_compilation_destroy(compilation);
  npuc_context_destroy(c);
  return status;
}

static void test_compile(void **state) {
  (void)state;
  seen s = {0};
  assert_int_equal(compile_demo(&s, DEMO "model.onnx", NULL), NPUC_OK);
  assert_int_equal(s.stages, 8);
  assert_int_equal(s.done, 8);
  s = (seen){0};
  assert_int_equal(compile_demo(&s, NULL, NULL), NPUC_OK); /* nothing has changed, and the folder knows its model */
  assert_int_equal(s.kept, 8);
  s = (seen){0};
  assert_int_equal(compile_demo(&s, DEMO "model.onnx", "baseline"), NPUC_OK);
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
  npuc_program *p;
  npuc_error error;
  assert_int_equal(compile_demo(&s, DEMO "README.md", NULL), NPUC_BAD_INPUT);
  assert_int_equal(compile_demo(&s, DEMO "nowhere.onnx", NULL), NPUC_BAD_INPUT);
  assert_int_equal(s.stages, 0);
  s = (seen){.cancel_at = 3};
  assert_int_equal(compile_demo(&s, DEMO "model.onnx", "baseline"), NPUC_ENVIRONMENT);
  assert_true(s.polls >= 3);
  assert_int_not_equal(npuc_program_load(artifact, &p, &error), NPUC_OK); /* what was struck does not look finished */
  s = (seen){0};
  assert_int_equal(compile_demo(&s, DEMO "model.onnx", NULL), NPUC_OK); /* goes on */
  assert_int_equal(npuc_program_load(artifact, &p, &error), NPUC_OK);
  npuc_program_destroy(p);

  npuc_context_options o = {0};
  npuc_context *c;
  assert_int_equal(npuc_context_create(&o, &c), NPUC_USAGE); /* not initialised */
  assert_null(c);
}

/* Each call that is refused says why, and leaves the handle as it was. */
static void test_options(void **state) {
  (void)state;
  seen s = {0};
  npuc_context *c = context_of(&s);
  npuc_compilation *compilation, *second;
  static const char *const wrong[][3] = {{"targte", "refnpu-n16", "NPUC-E0102"},
                                         {"target", "refnpu-n17", "NPUC-E0907"},
                                         {"dim", "N", "NPUC-E0104"},
                                         {"dim", "N=0", "NPUC-E0104"},
                                         {"max-drop", "much", "NPUC-E0104"},
                                         {"seed", "-1", "NPUC-E0104"},
                                         {"shape", "image=1x", "NPUC-E0104"},
                                         {"set", "quantize.observer=best", "NPUC-E0104"},
                                         {"set", "observer=mse", "NPUC-E0922"}};
  assert_int_equal(npuc_compilation_create(c, NULL, output, &compilation), NPUC_OK);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_not_equal(npuc_compilation_set(compilation, wrong[i][0], wrong[i][1]), NPUC_OK);
    assert_string_equal(first_error(c), wrong[i][2]);
    npuc_context_clear(c);
    assert_int_equal(npuc_context_diagnostics(c), 0);
  }
  assert_int_equal(npuc_compilation_run(compilation, "quantize", "import"), NPUC_USAGE);
  assert_int_equal(npuc_compilation_run(compilation, "quantise", NULL), NPUC_USAGE);
  assert_int_equal(npuc_compilation_create(c, NULL, output, &second), NPUC_ENVIRONMENT); /* one at a time */
  assert_null(second);
  assert_int_equal(npuc_compilation_run(compilation, NULL, NULL), NPUC_OK);
  assert_int_equal(s.kept, 8);
  npuc_compilation_destroy(compilation);
  npuc_context_destroy(c);
}

static float pictures_f32[PICTURES][SIZE];

static void read_pictures(void) {
  static uint8_t bytes[PICTURES][SIZE];
  read_part(DEMO "test.npy", HEADER, bytes, sizeof bytes);
  for (int i = 0; i < PICTURES; i++)
    for (int k = 0; k < SIZE; k++) pictures_f32[i][k] = ((float)bytes[i][k] / 255.0f - 0.5f) / 0.25f;
}

static npuc_array pictures_array(const char *name, int64_t first, int64_t n) {
  return (npuc_array){
      .name = name, .dtype = 1, .rank = 4, .dims = {n, 3, 16, 16}, .data = pictures_f32[first], .bytes = (size_t)n * SIZE * sizeof(float)};
}

/* The executor on the caller's memory: 379 right, as PyTorch says (examples/demo/README.md), whatever the batch; logits16.npy holds PyTorch's numbers. */
static void test_network(void **state) {
  (void)state;
  npuc_context *c;
  npuc_network *n;
  npuc_array out;
  static int64_t labels[PICTURES];
  static float wanted[16 * CLASSES];
  read_part(DEMO "test.labels.npy", HEADER, labels, sizeof labels);
  read_part(DEMO "logits16.npy", HEADER, wanted, sizeof wanted);
  read_pictures();
  assert_int_equal(npuc_context_create(NULL, &c), NPUC_OK);
  assert_int_equal(npuc_network_open(c, DEMO "model.onnx", &n), NPUC_OK);
  assert_int_equal(npuc_network_inputs(n), 1);
  assert_string_equal(npuc_network_input(n, 0)->name, "image");
  assert_int_equal(npuc_network_input(n, 0)->dims[0], -1); /* any batch */
  assert_null(npuc_network_input(n, 1));
  assert_non_null(strstr(npuc_network_describe(n), "\"Conv\": "));
  int right = 0;
  for (int batch = 0; batch < 4; batch++) {
    npuc_array in = pictures_array(batch % 2 ? "image" : NULL, batch * 100, 100);
    assert_int_equal(npuc_network_run(n, &in, 1, &out), NPUC_OK);
    assert_int_equal(out.rank, 2);
    assert_int_equal(out.dims[0], 100);
    const float *logits = out.data;
    for (int i = 0; i < 100; i++) {
      int best = 0;
      for (int k = 1; k < CLASSES; k++) best = logits[i * CLASSES + k] > logits[i * CLASSES + best] ? k : best;
      right += best == labels[batch * 100 + i];
    }
    if (batch == 0)
      for (int i = 0; i < 16 * CLASSES; i++) assert_true(fabsf(logits[i] - wanted[i]) < 1e-3f);
  }
  assert_int_equal(right, FLOAT_RIGHT);

  npuc_array bad[] = {pictures_array("picture", 0, 1), pictures_array("image", 0, 1), pictures_array("image", 0, 1),
                      pictures_array("image", 0, 1), pictures_array("image", 0, 1)};
  bad[1].bytes -= 1;
  bad[2].dtype = 77;
  bad[3].dims[1] = 4, bad[3].bytes = bad[3].bytes / 3 * 4;
  bad[4].rank = 9;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_int_equal(npuc_network_run(n, &bad[i], 1, &out), NPUC_USAGE);
  assert_int_equal(npuc_network_run(n, NULL, 0, &out), NPUC_USAGE);
  npuc_array twice[] = {pictures_array("image", 0, 1), pictures_array("image", 0, 1)};
  assert_int_equal(npuc_network_run(n, twice, 2, &out), NPUC_USAGE);
  npuc_network_destroy(n);
  assert_int_equal(npuc_network_open(c, artifact, &n), NPUC_BAD_INPUT); /* a program for the NPU has its own door */
  npuc_context_destroy(c);
}

/* The same samples from memory as from a file give the same artifact; other samples another one. */
static npuc_status compile_samples(npuc_context *c, const char *out, int64_t samples) {
  npuc_compilation *compilation;
  npuc_status status = npuc_compilation_create(c, DEMO "model.onnx", out, &compilation);
  if (status == NPUC_OK) status = npuc_compilation_set(compilation, "target", "refnpu-n16");
  for (int64_t i = 0; i < samples && status == NPUC_OK; i += 16) {
    npuc_array batch = pictures_array(NULL, i, samples - i < 16 ? samples - i : 16);
    status = npuc_compilation_add(compilation, &batch, 1);
  }
  if (status == NPUC_OK) status = npuc_compilation_run(compilation, NULL, NULL);
  npuc_compilation_destroy(compilation);
  return status;
}

static size_t read_file(const char *path, unsigned char *to, size_t capacity) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t n = fread(to, 1, capacity, f);
  assert_int_equal(fclose(f), 0);
  return n;
}

static void test_samples(void **state) {
  (void)state;
  static unsigned char a[1 << 20], b[1 << 20];
  char from_file[sizeof folder + 16], from_memory[sizeof folder + 16], path[sizeof folder + 64];
  npuc_context *c;
  npuc_compilation *compilation;
  assert_int_equal(npuc_context_create(NULL, &c), NPUC_OK);
  (void)snprintf(from_file, sizeof from_file, "%s/file", folder);
  (void)snprintf(from_memory, sizeof from_memory, "%s/memory", folder);
  read_pictures();
  assert_int_equal(compile_samples(c, from_memory, 40), NPUC_OK);
  (void)snprintf(path, sizeof path, "%s/6-build.refnpu-n16/model.npu", from_memory);
  size_t n = read_file(path, a, sizeof a);

  (void)snprintf(path, sizeof path, "%s/records.bin", folder);
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(pictures_f32, sizeof *pictures_f32, 40, f), 40);
  assert_int_equal(fclose(f), 0);
  char data[sizeof path + 32];
  (void)snprintf(data, sizeof data, "raw:float32:3x16x16:%s", path);
  assert_int_equal(npuc_compilation_create(c, DEMO "model.onnx", from_file, &compilation), NPUC_OK);
  assert_int_equal(npuc_compilation_set(compilation, "target", "refnpu-n16"), NPUC_OK);
  assert_int_equal(npuc_compilation_set(compilation, "calib", data), NPUC_OK);
  assert_int_equal(npuc_compilation_run(compilation, NULL, NULL), NPUC_OK);
  npuc_compilation_destroy(compilation);
  (void)snprintf(path, sizeof path, "%s/6-build.refnpu-n16/model.npu", from_file);
  assert_int_equal(read_file(path, b, sizeof b), n);
  assert_memory_equal(a, b, n);

  assert_int_equal(compile_samples(c, from_memory, 8), NPUC_OK); /* control: replaced, not added to */
  (void)snprintf(path, sizeof path, "%s/6-build.refnpu-n16/model.npu", from_memory);
  size_t m = read_file(path, b, sizeof b);
  assert_true(m != n || memcmp(a, b, n) != 0);
  npuc_context_destroy(c);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_compile), cmocka_unit_test(test_run),     cmocka_unit_test(test_failures),
                                     cmocka_unit_test(test_options), cmocka_unit_test(test_network), cmocka_unit_test(test_samples),
                                     cmocka_unit_test(test_explain)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
