/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that have an integer form only through another operator, the whole way: a graph in text, written as ONNX, compiled int8 for refnpu-n16. The stages'
 * own gates compare the adapted graph with the source, and simulator and host kernels with the integer module; here the integers are compared with the float graph, and
 * the second decoder, written from docs/refnpu.md alone, runs the artifact. What has no form is refused by name. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/npy.h"
#include "import/onnx/onnx.h"
#include "npuc/compiler.h"
#include "support/random.h"
#include "support/ir.h"
#include "support/scratch.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 23]>\n"
#define WEIGHTS_4X3X4X4                                                                                                                    \
  "float[4,3,4,4] w = {0.1,0.2,-0.3,0.4,0.5,-0.6,0.7,0.8,-0.9,1.0,-0.1,0.3,0.5,-0.7,0.2,0.4,-0.2,0.1,0.6,-0.5,0.3,0.8,-0.4,0.7,0.2,-0.3,"  \
  "0.9,0.1,-0.8,0.5,0.4,-0.6,0.1,0.2,-0.3,0.4,0.5,-0.6,0.7,0.8,-0.9,1.0,-0.1,0.3,0.5,-0.7,0.2,0.4,-0.2,0.1,0.6,-0.5,0.3,0.8,-0.4,0.7,0.2," \
  "-0.3,0.9,0.1,-0.8,0.5,0.4,-0.6,0.1,0.2,-0.3,0.4,0.5,-0.6,0.7,0.8,-0.9,1.0,-0.1,0.3,0.5,-0.7,0.2,0.4,-0.2,0.1,0.6,-0.5,0.3,0.8,-0.4,"    \
  "0.7,0.2,-0.3,0.9,0.1,-0.8,0.5,0.4,-0.6,0.1,0.2,-0.3,0.4,0.5,-0.6,0.7,0.8,-0.9,1.0,-0.1,0.3,0.5,-0.7,0.2,0.4,-0.2,0.1,0.6,-0.5,0.3,"     \
  "0.8,-0.4,0.7,0.2,-0.3,0.9,0.1,-0.8,0.5,0.4,-0.6,0.1,0.2,-0.3,0.4,0.5,-0.6,0.7,0.8,-0.9,1.0,-0.1,0.3,0.5,-0.7,0.2,0.4,-0.2,0.1,0.6,"     \
  "-0.5,0.3,0.8,-0.4,0.7,0.2,-0.3,0.9,0.1,-0.8,0.5,0.4,-0.6,0.1,0.2,-0.3,0.4,0.5,-0.6,0.7,0.8,-0.9,1.0,-0.1,0.3,0.5,-0.7,0.2,0.4,-0.2,"    \
  "0.1,0.6,-0.5,0.3,0.8,-0.4,0.7,0.2,-0.3,0.9,0.1,-0.8,0.5,0.4,-0.6}"
#define IMAGE "float[1,4,6,5] x"

static const struct {
  const char *name, *text;
  const char *code; /* refused with it, naming `part`; NULL: compiled */
  const char *part;
} models[] = {
    {"transposed convolution",
     HEAD "f (" IMAGE ") => (float[1,3,12,10] y) <" WEIGHTS_4X3X4X4 ", float[3] b = {0.5,-0.25,0.125}> "
          "{ t = ConvTranspose <strides=[2,2], pads=[1,1,1,1]> (x, w, b)  y = Tanh (t) }",
     NULL, NULL},
    {"transposed convolution, groups",
     HEAD "f (" IMAGE ") => (float[1,4,12,11] y) <float[4,1,2,3] w = {0.1,0.2,-0.3,0.4,0.5,-0.6,0.7,0.8,-0.9,1.0,"
          "-0.1,0.3,0.5,-0.7,0.2,0.4,-0.2,0.1,0.6,-0.5,0.3,0.8,-0.4,0.7}> "
          "{ y = ConvTranspose <strides=[2,2], group=4> (x, w) }",
     NULL, NULL},
    {"Resize",
     HEAD "f (" IMAGE ") => (float[1,4,12,10] y, float[1,4,9,10] z) <float[4] s = {1,1,2,2}, float[4] t = {1,1,1.5,2}> "
          "{ y = Resize <mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\"> (x, , s)  "
          "z = Resize <mode=\"linear\"> (x, , t) }",
     NULL, NULL},
    {"movement",
     HEAD "f (" IMAGE
          ") => (float[1,1,12,10] a, float[1,4,8,8] b, float[1,4,6,10] c) <int64[8] p = {0,0,1,1,0,0,1,2}, int64[4] r = {1,1,1,2}> "
          "{ a = DepthToSpace <blocksize=2> (x)  b = Pad <mode=\"reflect\"> (x, p)  c = Tile (x, r) }",
     NULL, NULL},
    {"reductions",
     HEAD "f (" IMAGE
          ") => (float[1,1,6,5] a, float[1,4,6] b, float[1,4,1,5] c) <int64[1] one = {1}, int64[1] last = {3}, int64[1] two = {2}> "
          "{ a = ReduceMean (x, one)  b = ReduceSum <keepdims=0> (x, last)  c = ReduceMax (x, two) }",
     NULL, NULL},
    {"normalizations",
     HEAD "f (" IMAGE ") => (float[1,4,6,5] a, float[1,4,6,5] b, float[1,4,6,5] c, float[1,4,6,5] d) "
          "<float[4] g = {1,0.5,-2,0.25}, float[4] o = {0.1,-0.2,0.3,0}, float[5] h = {1,0.5,-2,0.25,1.5}> "
          "{ a = GroupNormalization <num_groups=2> (x, g, o)  b = InstanceNormalization (x, g, o)  c = LayerNormalization (x, h)  d = "
          "RMSNormalization (x, h) }",
     NULL, NULL},
    {"rows of several blocks, more of them than the row file has entries",
     HEAD
     "f (float[1,400,20] x) => (float[1,400,20] a, float[1,400,20] b, float[1,400,20] c) <float[20] g = "
     "{0.702,0.883,1.641,1.477,0.641,1.840,1.149,1.544,1.582,1.387,1.852,-0.533,1.312,1.530,-1.589,0.833,-1.909,0.850,1.515,1.928}, "
     "float[20] o = "
     "{-0.416,0.922,-0.186,0.860,-0.743,-0.973,0.936,-0.508,0.190,0.588,-0.846,0.393,-0.480,0.797,0.665,-0.549,-0.776,0.375,0.664,-0.778}, "
     "float k = {0.0001}> { a = LayerNormalization (x, g, o)  b = RMSNormalization (x, g)  s = Mul (x, k)  c = LayerNormalization (s, g) }",
     NULL, NULL},
    {"channels last and back, as ConvNeXt writes it",
     HEAD
     "f (float[1,6,5,4] x) => (float[1,6,5,4] y) <int64[1] u = {1}, float[6] g = {1,0.5,-2,0.25,1.5,1}, float[6] o = "
     "{0.1,-0.2,0.3,0,0.5,0.2}, float[6,8] w = "
     "{-0.85,0.95,0.85,0.75,0.65,0.55,0.45,0.35,0.25,0.15,0.05,-0.05,-0.15,-0.25,-0.35,-0.45,-0.55,-0.65,-0.75,-0.85,0.95,0.85,0.75,0.65,0."
     "55,0.45,0.35,0.25,0.15,0.05,-0.05,-0.15,-0.25,-0.35,-0.45,-0.55,-0.65,-0.75,-0.85,0.95,0.85,0.75,0.65,0.55,0.45,0.35,0.25,0.15}, "
     "float[8,6] v = "
     "{-0.85,0.95,0.85,0.75,0.65,0.55,0.45,0.35,0.25,0.15,0.05,-0.05,-0.15,-0.25,-0.35,-0.45,-0.55,-0.65,-0.75,-0.85,0.95,0.85,0.75,0.65,0."
     "55,0.45,0.35,0.25,0.15,0.05,-0.05,-0.15,-0.25,-0.35,-0.45,-0.55,-0.65,-0.75,-0.85,0.95,0.85,0.75,0.65,0.55,0.45,0.35,0.25,0.15}> "
     "{ t = Transpose <perm=[0,2,3,1]> (x)  n = LayerNormalization (t, g, o)  m = MatMul (n, w)  e = Gelu (m)  d = MatMul (e, v)  b = "
     "Transpose <perm=[0,3,1,2]> (d)  y = Add (x, b) }",
     NULL, NULL},
    {"a cube, whose axes cannot be told apart by their sizes",
     HEAD "f (float[1,8,8,8] x) => (float[1,8,8,8] y, float[1,8,8,8] z, float[1,8,64] l) <float[8] g = {1,0.5,-2,0.25,1.5,1,-0.5,0.75}, "
          "int64[3] to = {1,8,64}, float[8,8] w = "
          "{-0.85,0.95,0.85,0.75,0.65,0.55,0.45,0.35,0.25,0.15,0.05,-0.05,-0.15,-0.25,-0.35,-0.45,-0.55,-0.65,-0.75,-0.85,0.95,0.85,0.75,0."
          "65,0.55,0.45,0.35,0.25,0.15,0.05,-0.05,-0.15,-0.25,-0.35,-0.45,-0.55,-0.65,-0.75,-0.85,0.95,0.85,0.75,0.65,0.55,0.45,0.35,0.25,"
          "0.15,0.05,-0.05,-0.15,-0.25,-0.35,-0.45,-0.55,-0.65,-0.75,-0.85,0.95,0.85,0.75,0.65,0.55,0.45}> "
          "{ t = Transpose <perm=[0,2,3,1]> (x)  n = LayerNormalization (t, g)  a = Add (n, t)  r = Tanh (t)  p = MatMul (r, w)  s = Mul "
          "(a, p)  y = Transpose <perm=[0,3,1,2]> (s)  z = Add (t, x)  "
          "q = Reshape (x, to)  h = Transpose <perm=[0,2,1]> (q)  i = LayerNormalization (h, g)  l = Transpose <perm=[0,2,1]> (i) }",
     NULL, NULL},
    {"maps as rows of channels, joined with another range",
     HEAD "f (float[1,4,6,5] x) => (float[1,8,30] y) <int64[3] to = {1,4,30}, float[4,4,1,1] w = "
          "{0.5,-0.2,0.3,0.1,0.6,0.7,-0.8,0.9,0.1,0.4,-0.5,0.2,0.3,0.8,0.6,-0.7}> "
          "{ c = Conv (x, w)  r = Relu (c)  q = Reshape (r, to)  m = MaxPool <kernel_shape=[1,1]> (x)  n = Reshape (m, to)  s = Sigmoid "
          "(n)  t = Add (s, n)  y = Concat <axis=1> (q, t) }",
     NULL, NULL},
    {"groups across blocks",
     HEAD "f (float[1,24,14,13] x) => (float[1,24,14,13] a, float[1,24,14,13] b, float[1,24,14,13] c) <float[24] g = "
          "{1.760,1.235,1.204,-1.555,1.390,1.471,1.253,-1.656,-1.880,-0.848,-1.016,1.030,-1.489,1.936,-1.076,1.269,-1.278,0.808,1.222,1."
          "355,1.912,1.227,1.122,-1.308}, float[24] o = "
          "{0.786,0.458,-0.805,-0.177,0.181,0.798,-0.032,0.070,0.453,0.250,0.797,0.344,0.167,0.527,-0.657,0.712,0.703,0.474,0.312,0.421,0."
          "258,-0.900,-0.977,0.432}> { a = GroupNormalization <num_groups=2> (x, g, o)  b = InstanceNormalization (x, g, o)  c = "
          "GroupNormalization <num_groups=1> (x, g, o) }",
     NULL, NULL},
    {"functions of one number",
     HEAD "f (" IMAGE ") => (float[1,4,6,5] a, float[1,4,6,5] b, float[1,4,6,5] c, float[1,4,6,5] d) "
          "<float root = {1.41421356}, float one = {1}, float half = {0.5}> "
          "{ q = Div (x, root)  e = Erf (q)  f1 = Add (e, one)  m = Mul (x, f1)  a = Mul (m, half)  b = Gelu "
          "<approximate=\"tanh\"> (x)  c = Elu (x)  d = Softplus (x) }",
     NULL, NULL},
    {"transposed convolution, three axes",
     HEAD "f (float[1,1,2,2,2] x) => (float[1,1,4,4,4] y) <float[1,1,2,2,2] w = {1,2,3,4,5,6,7,8}> "
          "{ y = ConvTranspose <strides=[2,2,2]> (x, w) }",
     "NPUC-E0704", "y"},
    {"a Resize of a region",
     HEAD "f (" IMAGE ") => (float[1,4,12,10] y) <float[8] roi = {0,0,0.1,0.1,1,1,0.9,0.9}, float[4] s = {1,1,2,2}> "
          "{ y = Resize <mode=\"linear\", coordinate_transformation_mode=\"tf_crop_and_resize\"> (x, roi, s) }",
     "NPUC-E0704", "y"},
};

static json_t *gate_of(const json_t *results, const char *stage) {
  return json_object_get(json_object_get(json_object_get(json_object_get(results, "stages"), stage), "gate"), "outputs");
}

/* Every output of the integers against the float graph over the calibration samples. */
static void check_cosines(const char *name, const json_t *results) {
  const json_t *outputs = gate_of(results, "quantize.refnpu-n16");
  assert_true(json_array_size(outputs) > 0);
  for (size_t i = 0; i < json_array_size(outputs); i++) {
    double cosine = json_real_value(json_object_get(json_array_get(outputs, i), "cosine"));
    if (cosine < 0.995) fail_msg("%s: output %zu has cosine %g", name, i, cosine);
  }
  const json_t *simulated = json_object_get(
      json_object_get(json_object_get(json_object_get(json_object_get(results, "stages"), "verify.refnpu-n16"), "gate"), "simulator"),
      "different");
  assert_true(json_is_integer(simulated));
  assert_int_equal(json_integer_value(simulated), 0);
}

static void expect_refusal(npuc_context *context, const char *name, const char *code, const char *part) {
  npuc_diagnostic d;
  for (size_t i = 0; npuc_context_diagnostic(context, i, &d); i++) {
    if (strcmp(d.code, code) == 0 && d.node && strcmp(d.node, part) == 0) return;
  }
  fail_msg("%s: no %s that names %s", name, code, part);
}

/* Outputs of the session whose bytes the second decoder does not give for the input in x.npy. */
static size_t other_outputs(arena *a, const char *dir, npuc_program *program, const void *input) {
  npuc_session *session;
  npuc_error error;
  void *outputs[8];
  size_t other = 0;
  for (size_t i = 0; i < npuc_program_outputs(program); i++) outputs[i] = npuc_arena_alloc(a, npuc_program_output(program, i)->bytes);
  assert_int_equal(npuc_session_create(program, NULL, &session, &error), NPUC_OK);
  assert_int_equal(npuc_session_run(session, &input, outputs, &error), NPUC_OK);
  for (size_t i = 0; i < npuc_program_outputs(program); i++) {
    const npuc_port *y = npuc_program_output(program, i);
    tensor decoded;
    assert_int_equal(npuc_npy_read(NULL, npuc_arena_printf(a, "%s/decoded/%s.npy", dir, y->name), &decoded), NPUC_OK);
    assert_int_equal(decoded.bytes, y->bytes);
    other += memcmp(decoded.data, outputs[i], y->bytes) != 0;
    npuc_tensor_release(&decoded);
  }
  npuc_session_destroy(session);
  return other;
}

static void decode(arena *a, const char *dir, const char *file, const char *name) {
  npuc_program *program;
  npuc_error error;
  assert_int_equal(npuc_program_load(file, &program, &error), NPUC_OK);
  const npuc_port *x = npuc_program_input(program, 0);
  tensor t = {.type = (dtype)x->dtype, .shape = {.rank = x->rank}, .bytes = x->bytes, .data = npuc_arena_alloc(a, x->bytes)};
  memcpy(t.shape.dims, x->dims, (size_t)x->rank * sizeof x->dims[0]);
  uint64_t random = 3;
  random_bytes(&random, t.data, t.bytes);
  const char *input = npuc_arena_printf(a, "%s/x.npy", dir);
  assert_int_equal(npuc_npy_write(NULL, input, &t), NPUC_OK);
  const char *command = npuc_arena_printf(
      a, "mkdir -p '%s/decoded' && '%s/npu-decode' '%s' --engine stream --input '%s=%s' --output '%s/decoded' > '%s/log' 2>&1", dir,
      NPUC_BINARY_DIR, file, x->name, input, dir, dir);
  if (system(command) != 0) fail_msg("%s: %s", name, command);
  assert_int_equal(other_outputs(a, dir, program, t.data), 0);
  memset(t.data, ((uint8_t *)t.data)[0] ^ 0x55, t.bytes / 2); /* the control: another input */
  assert_true(other_outputs(a, dir, program, t.data) > 0);
  npuc_program_destroy(program);
}

static void compile(npuc_context *context, arena *a, const char *dir, size_t k) {
  const char *model = npuc_arena_printf(a, "%s/%zu.onnx", dir, k), *out = npuc_arena_printf(a, "%s/out%zu", dir, k);
  module *m = npuc_test_module(models[k].text);
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_onnx_write(d, m, model, NULL), NPUC_OK);
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
  npuc_compilation *c;
  assert_int_equal(npuc_compilation_create(context, model, out, &c), NPUC_OK);
  assert_int_equal(npuc_compilation_set(c, "target", "refnpu-n16"), NPUC_OK);
  assert_int_equal(npuc_compilation_set(c, "calib", "random:16"), NPUC_OK);
  npuc_status status = npuc_compilation_run(c, NULL, NULL);
  if (models[k].code) {
    assert_int_equal(status, NPUC_UNSUPPORTED);
    expect_refusal(context, models[k].name, models[k].code, models[k].part);
  } else {
    npuc_diagnostic first;
    if (status != NPUC_OK && npuc_context_diagnostic(context, 0, &first)) fail_msg("%s: %s", models[k].name, first.reason);
    assert_int_equal(status, NPUC_OK);
    json_t *results = json_loads(npuc_compilation_results(c), 0, NULL);
    assert_non_null(results);
    check_cosines(models[k].name, results);
    json_decref(results);
    decode(a, dir, npuc_arena_printf(a, "%s/6-build.refnpu-n16/model.npu", out), models[k].name);
  }
  npuc_compilation_destroy(c);
}

static void every_form(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a);
  for (size_t k = 0; k < sizeof models / sizeof models[0]; k++) {
    npuc_context *context;
    assert_int_equal(npuc_context_create(NULL, &context), NPUC_OK);
    compile(context, a, dir, k);
    npuc_context_destroy(context);
  }
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_form)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
