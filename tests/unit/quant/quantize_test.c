/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator with an integer form, from float text to integers: near the float graph, equal to the QDQ form up to rounding; what shares a scale shares it;
 * what must be refused is refused by name; the same bits from any number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "ir/text.h"
#include "quant/quant.h"
#include "support/ir.h"
#include "support/random.h"

enum { SAMPLES = 24, MOST = 4096 };

/* Samples of one random input; `scale` 0 makes them constant, `poison` puts a NaN in. */
typedef struct source {
  tensor input;
  uint64_t random;
  size_t count;
  float scale, shift;
  bool poison;
} source;

static npuc_status read_sample(void *user, diag *d, size_t index, tensor *inputs) {
  (void)d;
  (void)index;
  source *s = user;
  float *x = s->input.data;
  for (size_t i = 0; i < s->input.bytes / sizeof *x; i++) x[i] = s->shift + s->scale * random_float(&s->random);
  if (s->poison) x[1] = NAN;
  inputs[0] = s->input;
  return NPUC_OK;
}

typedef struct outcome {
  diag *d;
  module *source, *integer, *qdq;
  npuc_status status;
  tensor input;
} outcome;

static outcome quantize(const char *text, const quant_options *options, source s) {
  outcome o = {.d = npuc_diag_create(NULL, NULL), .source = npuc_test_module(text)};
  const shape *x = &o.source->graphs[0]->inputs[0]->shape;
  if (npuc_shape_is_static(x)) assert_int_equal(npuc_tensor_create(o.d, DTYPE_F32, x, &o.input), NPUC_OK);
  s.input = o.input;
  quant_samples samples = {.count = s.count, .read = read_sample, .user = &s};
  o.status = npuc_quantize(o.d, o.source, options, &samples, &o.integer, &o.qdq, NULL);
  return o;
}

static void release(outcome *o) {
  npuc_tensor_release(&o->input);
  npuc_module_destroy(o->source);
  npuc_module_destroy(o->integer);
  npuc_module_destroy(o->qdq);
  npuc_diag_destroy(o->d);
}

static const source USUAL = {.random = 5, .count = SAMPLES, .scale = 2, .shift = 0.3f};

/* -- running the three forms on one sample -- */
typedef struct runners {
  executor *f, *i, *q;
} runners;

static runners start(outcome *o) {
  exec_options options = {0};
  runners r;
  assert_int_equal(npuc_executor_create(o->d, o->source->graphs[0], &options, &r.f), NPUC_OK);
  assert_int_equal(npuc_executor_create(o->d, o->integer->graphs[0], &options, &r.i), NPUC_OK);
  assert_int_equal(npuc_executor_create(o->d, o->qdq->graphs[0], &options, &r.q), NPUC_OK);
  return r;
}

static void stop(runners *r) {
  npuc_executor_destroy(r->f);
  npuc_executor_destroy(r->i);
  npuc_executor_destroy(r->q);
}

/* docs/numerics.md section 4. */
static void to_integers(const value *port, const tensor *x, tensor *q) {
  float scale = (float)npuc_tensor_get(&port->quant->scale, 0);
  int64_t lo, hi, zero = npuc_tensor_get_int(&port->quant->zero_point, 0);
  assert_true(npuc_dtype_range(port->type, &lo, &hi));
  for (int64_t i = 0; i < npuc_tensor_elements(x); i++) {
    float v = rintf(((const float *)x->data)[i] / scale) + (float)zero;
    npuc_tensor_set_int(q, i, v < (float)lo ? lo : v > (float)hi ? hi : (int64_t)v);
  }
}

typedef struct difference {
  double signal, noise; /* integers against float */
  int64_t most_steps;   /* integers against QDQ */
} difference;

static void add_output(const value *port, const tensor *f, const tensor *i, const tensor *q, difference *out) {
  if (!port->quant) return; /* ArgMax */
  double scale = npuc_tensor_get(&port->quant->scale, 0);
  int64_t zero = npuc_tensor_get_int(&port->quant->zero_point, 0);
  for (int64_t k = 0; k < npuc_tensor_elements(f); k++) {
    double real = scale * (double)(npuc_tensor_get_int(i, k) - zero), want = npuc_tensor_get(f, k);
    out->signal += want * want;
    out->noise += (want - real) * (want - real);
    int64_t steps = llround(fabs(real - npuc_tensor_get(q, k)) / scale);
    out->most_steps = steps > out->most_steps ? steps : out->most_steps;
  }
}

static difference compare(outcome *o) {
  runners r = start(o);
  difference result = {0};
  const graph *gi = o->integer->graphs[0];
  tensor q, of[8], oi[8], oq[8];
  assert_int_equal(npuc_tensor_create(o->d, gi->inputs[0]->type, &gi->inputs[0]->shape, &q), NPUC_OK);
  source s = USUAL;
  s.input = o->input;
  for (int n = 0; n < 8; n++) {
    tensor x;
    assert_int_equal(read_sample(&s, o->d, (size_t)n, &x), NPUC_OK);
    to_integers(gi->inputs[0], &x, &q);
    assert_int_equal(npuc_executor_run(r.f, o->d, &x, of), NPUC_OK);
    assert_int_equal(npuc_executor_run(r.i, o->d, &q, oi), NPUC_OK);
    assert_int_equal(npuc_executor_run(r.q, o->d, &x, oq), NPUC_OK);
    for (size_t k = 0; k < gi->n_outputs; k++) add_output(gi->outputs[k], &of[k], &oi[k], &oq[k], &result);
  }
  npuc_tensor_release(&q);
  stop(&r);
  return result;
}

/* -- operators -- */
#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]>\n"
#define HEAD23 "<ir_version: 10, opset_import: [\"\" : 23]>\n"
#define CONV_WEIGHTS "float[4,2,1,1] w = {0.5, -0.25, 0.75, 0.125, -0.6, 0.3, 0.9, -0.8}, float[4] b = {0.1, -0.2, 0.3, 0.4}"
typedef struct form {
  const char *name, *text;
  double least_db;
  int64_t most_steps; /* from the QDQ form: tables and softmax run in float there */
} form;

static const form forms[] = {
    {"conv", HEAD "f (float[1,2,5,5] x) => (float[1,4,5,5] y) <" CONV_WEIGHTS "> { y = Conv <kernel_shape=[1,1]> (x, w, b) }", 35, 1},
    {"conv relu6 fused",
     HEAD "f (float[1,2,5,5] x) => (float[1,4,5,5] y) <" CONV_WEIGHTS ", float lo = {0}, float hi = {1}> "
          "{ c = Conv <kernel_shape=[1,1]> (x, w, b)  y = Clip (c, lo, hi) }",
     33, 1},
    {"conv stride pad group",
     HEAD "f (float[1,2,6,6] x) => (float[1,2,3,3] y) <float[2,1,3,3] w = "
          "{0.1,0.2,-0.3,0.4,0.5,-0.6,0.7,0.8,-0.9,0.9,-0.8,0.7,0.6,-0.5,0.4,0.3,-0.2,0.1}> "
          "{ y = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], group=2> (x, w) }",
     34, 1},
    {"conv 1-d",
     HEAD "f (float[1,2,9] x) => (float[1,1,9] y) <float[1,2,3] w = {0.1,0.2,-0.3,0.4,0.5,-0.6}> { y = Conv <kernel_shape=[3], pads=[1,1]> "
          "(x, w) }",
     34, 1},
    {"gemm alpha beta",
     HEAD "f (float[1,3] x) => (float[1,2] y) <float[3,2] w = {0.5,-0.5,0.25,1.0,-0.75,0.3}, float[2] c = {0.5,-0.25}> "
          "{ y = Gemm <alpha=0.5, beta=2.0> (x, w, c) }",
     33, 1},
    {"matmul rows and bias",
     HEAD "f (float[1,4,3] x) => (float[1,4,2] y) <float[3,2] w = {0.5,-0.5,0.25,1.0,-0.75,0.3}, float[2] c = {0.5,-0.25}> "
          "{ m = MatMul (x, w)  y = Add (m, c) }",
     33, 1},
    {"batch norm alone",
     HEAD "f (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2] g = {1.5,0.5}, float[2] o = {0.1,-0.2}, float[2] m = {0.3,-0.4}, float[2] "
          "v = {0.8,1.2}> "
          "{ p = MaxPool <kernel_shape=[1,1]> (x)  y = BatchNormalization (p, g, o, m, v) }",
     34, 60},
    {"channel mul, add, sub",
     HEAD
     "f (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,1,1] g = {1.5,-0.5}, float[1,2,1,1] o = {0.1,-0.2}, float[2,1,1] s = {0.7,0.2}> "
     "{ m = Mul (x, g)  a = Add (m, o)  y = Sub (a, s) }",
     30, 3},
    {"residual add relu",
     HEAD "f (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {0.5,-0.5,0.3,0.6}> "
          "{ c = Conv <kernel_shape=[1,1]> (x, w)  s = Add (c, x)  y = Relu (s) }",
     32, 1},
    {"sub of two",
     HEAD "f (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {0.5,-0.5,0.3,0.6}> { c = Conv <kernel_shape=[1,1]> (x, w)  y = "
          "Sub (c, x) }",
     32, 1},
    {"mul of two, div", HEAD "f (float[1,8] x) => (float[1,8] y) <float k = {3.0}> { s = Sigmoid (x)  m = Mul (x, s)  y = Div (m, k) }", 28,
     2},
    {"mul that adds an axis", HEAD "f (float[1,8] x) => (float[1,1,8] y) <float[1,1,1] k = {3.0}> { y = Mul (x, k) }", 30, 2},
    {"add constant rows", HEAD "f (float[1,4] x) => (float[1,4] y) <float[4] k = {0.5,-1.0,0.25,2.0}> { y = Add (x, k) }", 32, 4},
    {"scalar minus x", HEAD "f (float[1,4] x) => (float[1,4] y) <float k = {1.0}> { y = Sub (k, x) }", 32, 4},
    {"relu alone, max", HEAD "f (float[1,8] x) => (float[1,8] y) <float k = {0.25}> { r = Relu (x)  y = Max (r, k) }", 30, 1},
    {"tables",
     HEAD "f (float[1,16] x) => (float[1,16] a, float[1,16] b, float[1,16] c, float[1,16] d, float[1,16] e) "
          "{ a = LeakyRelu <alpha=0.1> (x)  b = Sigmoid (x)  c = Tanh (x)  d = HardSigmoid (x)  e = HardSwish (x) }",
     30, 1},
    {"more tables",
     HEAD
     "f (float[1,16] x) => (float[1,16] a, float[1,16] b, float[1,16] c, float[1,16] d, float[1,16] e, float[1,16] g) <float two = {2.0}> "
     "{ a = Gelu (x)  b = Gelu <approximate=\"tanh\"> (x)  c = Elu (x)  d = Softplus (x)  e = Pow (x, two)  g = Erf (x) }",
     30, 1},
    {"layer and RMS normalization",
     HEAD23
     "f (float[1,4,8] x) => (float[1,4,8] a, float[1,4,8] b, float[1,4,8] c) <float[8] g = {1,0.5,-2,0.25,1.5,0,0.001,1}, float[8] o = "
     "{0.1,-0.2,0.3,0,1,0.5,-0.75,0}, float[4,8] all = {1,0.5,-2,0.25,1.5,1,1,1,1,0.5,-2,0.25,1.5,1,1,1,1,0.5,-2,0.25,1.5,1,1,1,1,0.5,-2,"
     "0.25,1.5,1,1,1}> "
     "{ a = LayerNormalization (x, g, o)  b = RMSNormalization (x, g)  c = LayerNormalization <axis=1> (x, all) }",
     30, 2},
    {"group and instance normalization, clamped",
     HEAD23 "f (float[1,4,3,3] x) => (float[1,4,3,3] a, float[1,4,3,3] b) <float[4] g = {1,0.5,-2,0.25}, float[4] o = {0.1,-0.2,0.3,0}> "
            "{ n = GroupNormalization <num_groups=2> (x, g, o)  a = Relu (n)  b = InstanceNormalization (x, g, o) }",
     30, 2},
    {"average pool",
     HEAD "f (float[1,2,5,5] x) => (float[1,2,3,3] y) { y = AveragePool <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (x) }", 30, 1},
    {"average pool, pad counts, ceil",
     HEAD "f (float[1,2,6,6] x) => (float[1,2,4,4] y) "
          "{ y = AveragePool <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], count_include_pad=1, ceil_mode=1> (x) }",
     30, 1},
    {"global average, max pool",
     HEAD "f (float[1,2,6,6] x) => (float[1,2,1,1] y) { m = MaxPool <kernel_shape=[2,2], strides=[2,2]> (x)  y = GlobalAveragePool (m) }",
     30, 1},
    {"global max", HEAD "f (float[1,2,6,6] x) => (float[1,2,1,1] y) { y = GlobalMaxPool (x) }", 35, 0},
    {"mean and sum over space",
     HEAD "f (float[1,2,4,4] x) => (float[1,2] y, float[1,2,1,1] z) <int64[2] axes = {2,3}> "
          "{ y = ReduceMean <keepdims=0> (x, axes)  z = ReduceSum (x, axes) }",
     28, 1},
    {"moves",
     HEAD "f (float[1,2,4,4] x) => (float[1,32] y) <int64[4] starts = {0,0,0,0}, int64[4] ends = {1,2,4,4}, int64[4] axes = {0,1,2,3}, "
          "int64[4] steps = {1,1,1,1}, int64[2] to = {1,32}> "
          "{ t = Transpose <perm=[0,1,3,2]> (x)  s = Slice (t, starts, ends, axes, steps)  i = Identity (s)  y = Reshape (i, to) }",
     38, 0},
    {"pad with a value",
     HEAD "f (float[1,1,2,2] x) => (float[1,1,4,4] y) <int64[8] pads = {0,0,1,1,0,0,1,1}, float v = {1.5}> { y = Pad (x, pads, v) }", 36,
     0},
    {"split and concat",
     HEAD "f (float[1,4,2,2] x) => (float[1,4,2,2] y) <int64[2] sizes = {2,2}> "
          "{ a, b = Split <axis=1> (x, sizes)  r = Relu (a)  t = Tanh (b)  y = Concat <axis=1> (r, t) }",
     30, 1},
    {"softmax", HEAD "f (float[1,10] x) => (float[1,10] y) { y = Softmax (x) }", 24, 1},
    {"log softmax", HEAD "f (float[1,10] x) => (float[1,10] y) { y = LogSoftmax (x) }", 30, 1},
};

static void every_operator(void **state) {
  (void)state;
  for (int variant = 0; variant < 4; variant++) {
    quant_options options = npuc_quant_options_default();
    options.observer = OBSERVER_MINMAX;
    options.multiplier_bits = variant % 2 ? 15 : 31;
    options.activations.type = variant >= 2 ? DTYPE_I8 : DTYPE_U8;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
      outcome o = quantize(forms[i].text, &options, USUAL);
      if (o.status != NPUC_OK)
        print_error("%s: %s\n", forms[i].name, npuc_diag_first_error(o.d) ? npuc_diag_first_error(o.d)->reason : "no reason");
      assert_int_equal(o.status, NPUC_OK);
      assert_int_equal(npuc_quant_check_integer_only(o.d, o.integer->graphs[0]), NPUC_OK);
      const graph *f = o.source->graphs[0], *g = o.integer->graphs[0];
      for (size_t k = 0; k < f->n_outputs; k++) assert_string_equal(g->outputs[k]->name, f->outputs[k]->name);
      difference x = compare(&o);
      double db = x.noise > 0 ? 10 * log10(x.signal / x.noise) : 999;
      if (db < forms[i].least_db || x.most_steps > forms[i].most_steps) {
        print_error("%s (variant %d): %.1f dB, %lld steps from QDQ\n", forms[i].name, variant, db, (long long)x.most_steps);
        fail();
      }
      release(&o);
    }
  }
}

/* The comparison sees one wrong constant: every bias one eighth of the range off. */
static void a_wrong_bias_is_seen(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  outcome o = quantize(forms[0].text, &options, USUAL);
  assert_int_equal(o.status, NPUC_OK);
  value *bias = o.integer->graphs[0]->first->inputs[2];
  for (int64_t i = 0; i < 4; i++) npuc_tensor_set_int((tensor *)bias->constant, i, npuc_tensor_get_int(bias->constant, i) + 3000);
  difference x = compare(&o);
  assert_true(10 * log10(x.signal / x.noise) < 30 || x.most_steps > 1);
  release(&o);
}

static void symmetric_activations(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  options.activations = (quant_grid){.type = DTYPE_I8, .symmetric = true};
  outcome o = quantize(forms[8].text, &options, USUAL);
  assert_int_equal(o.status, NPUC_OK);
  NPUC_EACH_NODE(o.integer->graphs[0], n) { assert_int_equal(npuc_tensor_get_int(&n->outputs[0]->quant->zero_point, 0), 0); }
  difference x = compare(&o);
  assert_true(10 * log10(x.signal / x.noise) > 27);
  release(&o);
}

/* P68: a softmax's scale follows from (0, 1) and the bits, not from what was observed. */
static void softmax_has_its_own_scale(void **state) {
  (void)state;
  for (int s8 = 0; s8 < 2; s8++) {
    quant_options options = npuc_quant_options_default();
    options.activations.type = s8 ? DTYPE_I8 : DTYPE_U8;
    outcome o = quantize(HEAD "f (float[1,10] x) => (float[1,10] y) { y = Softmax (x) }", &options, USUAL);
    assert_int_equal(o.status, NPUC_OK);
    const value *y = o.integer->graphs[0]->outputs[0];
    assert_true(npuc_tensor_get(&y->quant->scale, 0) == 1.0 / 256);
    assert_int_equal(npuc_tensor_get_int(&y->quant->zero_point, 0), s8 ? -128 : 0);
    release(&o);
  }
}

/* P66's rule in Concat: a ReLU's output keeps its own zero point and is requantized, others are written in the group's scale at once. */
static void relu_does_not_take_a_negative_range(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  outcome o =
      quantize(HEAD
               "f (float[1,2,3,3] x) => (float[1,4,3,3] y) <float[2,2,1,1] w = {0.5,-0.5,0.3,0.6}> "
               "{ c = Conv <kernel_shape=[1,1]> (x, w)  r = Relu (c)  d = Conv <kernel_shape=[1,1]> (x, w)  y = Concat <axis=1> (r, d) }",
               &options, USUAL);
  assert_int_equal(o.status, NPUC_OK);
  const graph *g = o.integer->graphs[0];
  const value *r = npuc_graph_value(g, "r"), *d = npuc_graph_value(g, "d"), *y = npuc_graph_value(g, "y");
  assert_int_equal(npuc_tensor_get_int(&r->quant->zero_point, 0), 0);
  assert_true(npuc_tensor_get_int(&y->quant->zero_point, 0) > 0);
  assert_int_equal(npuc_tensor_get_int(&d->quant->zero_point, 0), npuc_tensor_get_int(&y->quant->zero_point, 0));
  assert_true(npuc_tensor_get(&d->quant->scale, 0) == npuc_tensor_get(&y->quant->scale, 0));
  assert_string_equal(r->uses[0].user->op->type, "Requantize");
  assert_string_equal(d->uses[0].user->op->type, "Concat");
  release(&o);
}

/* -- refusals -- */
static void refused(const char *text, source s, const quant_options *options, diag_code code, const char *part) {
  outcome o = quantize(text, options, s);
  assert_int_not_equal(o.status, NPUC_OK);
  assert_null(o.integer);
  assert_null(o.qdq);
  npuc_test_error_is(o.d, code, part);
  release(&o);
}

static void bad_calibration(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  source s = USUAL;
  s.count = 0;
  refused(forms[0].text, s, &options, NPUC_DIAG_E0701, "no sample");
  s = USUAL;
  s.scale = 0;
  refused(forms[0].text, s, &options, NPUC_DIAG_E0702, "0.3");
  s = USUAL;
  s.poison = true;
  refused(forms[0].text, s, &options, NPUC_DIAG_E0703, "x");
}

static void bad_models(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  refused(HEAD "f (float[1,3,3] x) => (float[1,3,3] y) { y = MatMul (x, x) }", USUAL, &options, NPUC_DIAG_E0704, "constant matrix");
  outcome o = {.d = npuc_diag_create(NULL, NULL), .source = npuc_test_module(forms[0].text)};
  npuc_tensor_set((tensor *)npuc_graph_value(o.source->graphs[0], "w")->constant, 3, (double)NAN);
  assert_int_equal(npuc_tensor_create(o.d, DTYPE_F32, &o.source->graphs[0]->inputs[0]->shape, &o.input), NPUC_OK);
  source s = USUAL;
  s.input = o.input;
  options.bias_correction = false;
  options.observer = OBSERVER_MINMAX;
  assert_int_not_equal(
      npuc_quantize(o.d, o.source, &options, &(quant_samples){.count = s.count, .read = read_sample, .user = &s}, &o.integer, NULL, NULL),
      NPUC_OK);
  npuc_test_error_is(o.d, NPUC_DIAG_E0711, "NaN");
  release(&o);
}

static void reduce_over_last_axis_is_not_spatial(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  refused(HEAD "f (float[1,4,3,3] x) => (float[1,1,3,3] y) <int64[1] a = {1}> { y = ReduceMean (x, a) }", USUAL, &options, NPUC_DIAG_E0704,
          "spatial");
  refused(HEAD "f (float[N,4] x) => (float[N,4] y) { y = Relu (x) }", USUAL, &options, NPUC_DIAG_E0713, "y");
}

/* -- graphs that bring their scales -- */
#define GIVEN_WEIGHTS                                                                                                                  \
  "int8[2,2,1,1] w = {127,-64,30,127}, float[2] ws = {0.01,0.02}, int8[2] wz = {0,0}, float s = {0.03125}, int8 z = {-20}, float t = " \
  "{0.0625}, int8 u = {-128}"
#define GIVEN(scale_behind)                                                                                                               \
  HEAD "f (float[1,2,4,4] x) => (float[1,2,4,4] y) <" GIVEN_WEIGHTS ", float v = {" scale_behind                                          \
       "}> "                                                                                                                              \
       "{ q = QuantizeLinear (x, s, z)  a = DequantizeLinear (q, s, z)  r = DequantizeLinear <axis=0> (w, ws, wz)  c = Conv (a, r)  d = " \
       "Relu (c)"                                                                                                                         \
       "  e = QuantizeLinear (d, t, u)  y = DequantizeLinear (e, v, u) }"

static void expect_grid(const value *port, double scale, int64_t zero) {
  assert_true(npuc_tensor_get(&port->quant->scale, 0) == scale);
  assert_int_equal(npuc_tensor_get_int(&port->quant->zero_point, 0), zero);
}

/* int8 grids in a module of uint8: zero points 128 higher, the same real numbers; weights the very integers. */
static void scales_of_the_graph_are_taken(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  outcome o = quantize(GIVEN("0.0625"), &options, USUAL);
  assert_int_equal(o.status, NPUC_OK);
  const graph *g = o.integer->graphs[0];
  expect_grid(g->inputs[0], 0.03125, 108);
  expect_grid(g->outputs[0], 0.0625, 0);
  static const int64_t w[] = {127, -64, 30, 127};
  const node *conv = g->first;
  for (int i = 0; i < 4; i++) assert_int_equal(npuc_tensor_get_int(conv->inputs[1]->constant, i), w[i]);
  assert_int_equal(g->n_nodes, 1);
  difference near = compare(&o);
  assert_true(near.most_steps <= 1);
  assert_true(near.noise <= near.signal * 1e-4); /* the source rounds as the integers do; with grids of its own it would be 35 dB */
  release(&o);
  o = quantize(forms[0].text, &options, USUAL); /* the control: the samples themselves say another grid */
  assert_true(npuc_tensor_get(&o.integer->graphs[0]->inputs[0]->quant->scale, 0) != 0.03125);
  release(&o);
  options.activations = (quant_grid){.type = DTYPE_I8};
  o = quantize(GIVEN("0.0625"), &options, USUAL);
  assert_int_equal(o.status, NPUC_OK);
  expect_grid(o.integer->graphs[0]->inputs[0], 0.03125, -20);
  release(&o);
}

/* What the pair does beyond rounding would be lost without it. */
static void a_pair_that_is_no_grid_is_refused(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  refused(GIVEN("0.125"), USUAL, &options, NPUC_DIAG_E0704, "QuantizeLinear");
  refused(HEAD
          "f (float[1,4] x) => (float[1,4] y) <float s = {0.1}, int16 z = {0}> { q = QuantizeLinear (x, s, z)  a = DequantizeLinear (q, s, "
          "z)  y = Relu (a) }",
          USUAL, &options, NPUC_DIAG_E0704, "QuantizeLinear");
  refused(HEAD
          "f (float[1,4] x) => (float[1,4] y) <float[4] s = {0.1,0.2,0.3,0.4}, int8[4] z = {0,0,0,0}> "
          "{ q = QuantizeLinear (x, s, z)  a = DequantizeLinear (q, s, z)  y = Relu (a) }",
          USUAL, &options, NPUC_DIAG_E0704, "QuantizeLinear");
  refused(HEAD
          "f (float[1,4] x) => (float[1,4] y) <float s = {0.1}, float t = {0.2}, int8 z = {0}> "
          "{ q = QuantizeLinear (x, s, z)  a = DequantizeLinear (q, s, z)  p = QuantizeLinear (x, t, z)  b = DequantizeLinear (p, t, z)  y "
          "= Add (a, b) }",
          USUAL, &options, NPUC_DIAG_E0704, "QuantizeLinear");
  options.activations = (quant_grid){.type = DTYPE_I8, .symmetric = true};
  refused(GIVEN("0.0625"), USUAL, &options, NPUC_DIAG_E0704, "QuantizeLinear");
}

/* An index, which is not observed, stands before the constant image. */
static npuc_status read_pair(void *user, diag *d, size_t index_of_sample, tensor *inputs) {
  (void)user;
  (void)d;
  (void)index_of_sample;
  static int64_t index = 1;
  static float image[4] = {2, 2, 2, 2};
  inputs[0] = (tensor){.type = DTYPE_I64, .shape = {.rank = 1, .dims = {1}}, .data = &index, .bytes = sizeof index};
  inputs[1] = (tensor){.type = DTYPE_F32, .shape = {.rank = 2, .dims = {1, 4}}, .data = image, .bytes = sizeof image};
  return NPUC_OK;
}

static void the_constant_input_is_named_not_the_first(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  outcome o = {.d = npuc_diag_create(NULL, NULL),
               .source = npuc_test_module(HEAD "f (int64[1] i, float[1,4] image) => (float[1,1] y) { y = Gather <axis=1> (image, i) }")};
  assert_int_not_equal(npuc_quantize(o.d, o.source, &options, &(quant_samples){.count = 3, .read = read_pair}, &o.integer, &o.qdq, NULL),
                       NPUC_OK);
  npuc_test_error_is(o.d, NPUC_DIAG_E0702, "image");
  release(&o);
}

/* C of shape [N, 1] is one number for each row, however many rows there are. */
static void gemm_rows_are_no_columns(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  refused(
      HEAD
      "f (float[2,3] x) => (float[2,2] y) <float[3,2] w = {0.5,-0.5,0.25,1.0,-0.75,0.3}, float[2,1] c = {2.0,-3.0}> { y = Gemm (x, w, c) }",
      USUAL, &options, NPUC_DIAG_E0704, "one value for each output");
}

/* One number with more axes than x gives the result those axes: no clamp, no Requantize, can. */
static void one_number_of_more_axes(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  refused(HEAD "f (float[1,8] x) => (float[1,1,8] y) <float[1,1,1] k = {0.5}> { y = Max (x, k) }", USUAL, &options, NPUC_DIAG_E0704,
          "no integer form");
  refused(HEAD "f (float[1,8] x) => (float[1,1,8] y) <float[1,1,1] k = {0.5}> { y = Div (x, k) }", USUAL, &options, NPUC_DIAG_E0704,
          "adds axes");
}

/* Observation is of float32: the rest would look as if it were always 0. */
static void other_floats(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  refused(HEAD "f (float16[1,8] x) => (float16[1,8] y) { y = Relu (x) }", USUAL, &options, NPUC_DIAG_E0704, "float32");
  refused(HEAD "f (double[1,8] x) => (double[1,8] y) { y = Relu (x) }", USUAL, &options, NPUC_DIAG_E0704, "float32");
}

/* Both forms keep the names of the ports, also of one that is input and output. */
static void an_input_that_is_an_output_keeps_its_name(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  outcome o = quantize(HEAD "f (float[1,8] x) => (float[1,8] y, float[1,8] x) { y = Relu (x) }", &options, USUAL);
  assert_int_equal(o.status, NPUC_OK);
  const graph *both[] = {o.integer->graphs[0], o.qdq->graphs[0]};
  for (int i = 0; i < 2; i++) {
    assert_string_equal(both[i]->inputs[0]->name, "x");
    assert_string_equal(both[i]->outputs[0]->name, "y");
    assert_string_equal(both[i]->outputs[1]->name, "x");
  }
  release(&o);
}

/* Outputs that no integer operator makes. */
static void outputs_that_nothing_computes(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  refused(HEAD "f (float[1,4] x) => (float[1,4] y, float[2] k) <float[2] k = {0.5, -1.0}> { y = Relu (x) }", USUAL, &options,
          NPUC_DIAG_E0704, "is a constant");
  refused(HEAD "f (float[1,4] x) => (float[1,4] y, bool[1,4] mask) { d, mask = Dropout (x)  y = Relu (d) }", USUAL, &options,
          NPUC_DIAG_E0704, "mask");
}

static void bad_options(void **state) {
  (void)state;
  quant_options options = npuc_quant_options_default();
  options.multiplier_bits = 16;
  refused(forms[0].text, USUAL, &options, NPUC_DIAG_E0712, "multiplier_bits");
  options = npuc_quant_options_default();
  options.activations.symmetric = true;
  refused(forms[0].text, USUAL, &options, NPUC_DIAG_E0712, "symmetric");
}

static void float_inside_is_found(void **state) {
  (void)state;
  outcome o = {.d = npuc_diag_create(NULL, NULL), .source = npuc_test_module(forms[0].text)};
  assert_int_equal(npuc_quant_check_integer_only(o.d, o.source->graphs[0]), NPUC_GATE_FAILED);
  npuc_test_error_is(o.d, NPUC_DIAG_E0706, "x");
  release(&o);
}

/* -- the same bits -- */
/* Sample `index` is the same whenever and wherever it is read. */
static npuc_status read_any(void *user, diag *d, size_t index, tensor *inputs) {
  (void)d;
  uint64_t random = index + *(const uint64_t *)user;
  random_floats(&random, inputs[0].data, inputs[0].bytes / sizeof(float), 1.0f + (float)(index % 5));
  return NPUC_OK;
}

/* The integer and the QDQ module as text, calibrated with `threads`. */
static const char *calibrated(arena *a, size_t threads, size_t count, uint64_t first) {
  thread_pool *pool = threads ? npuc_pool_create(threads) : NULL;
  quant_options options = npuc_quant_options_default();
  options.pool = pool;
  outcome o = {.d = npuc_diag_create(NULL, NULL), .source = npuc_test_module(forms[8].text)};
  quant_samples samples = {.count = count, .read = read_any, .user = &first};
  assert_int_equal(npuc_quantize(o.d, o.source, &options, &samples, &o.integer, &o.qdq, NULL), NPUC_OK);
  const text_options all = {.max_elements = -1};
  const char *text = npuc_arena_printf(a, "%s%s", npuc_module_print(a, o.integer, &all), npuc_module_print(a, o.qdq, &all));
  release(&o);
  npuc_pool_destroy(pool);
  return text;
}

/* More threads than chunks of samples, a last chunk that is not whole, and no thread at all. */
static void threads_do_not_matter(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  const char *one = calibrated(a, 0, 45, 7);
  const size_t threads[] = {1, 2, 3, 9};
  for (size_t i = 0; i < 4; i++) assert_string_equal(one, calibrated(a, threads[i], 45, 7));
  assert_string_not_equal(one, calibrated(a, 2, 44, 7)); /* control: the last sample counts */
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operator),
      cmocka_unit_test(a_wrong_bias_is_seen),
      cmocka_unit_test(symmetric_activations),
      cmocka_unit_test(softmax_has_its_own_scale),
      cmocka_unit_test(relu_does_not_take_a_negative_range),
      cmocka_unit_test(bad_calibration),
      cmocka_unit_test(bad_models),
      cmocka_unit_test(reduce_over_last_axis_is_not_spatial),
      cmocka_unit_test(outputs_that_nothing_computes),
      cmocka_unit_test(gemm_rows_are_no_columns),
      cmocka_unit_test(one_number_of_more_axes),
      cmocka_unit_test(other_floats),
      cmocka_unit_test(an_input_that_is_an_output_keeps_its_name),
      cmocka_unit_test(scales_of_the_graph_are_taken),
      cmocka_unit_test(a_pair_that_is_no_grid_is_refused),
      cmocka_unit_test(the_constant_input_is_named_not_the_first),
      cmocka_unit_test(bad_options),
      cmocka_unit_test(float_inside_is_found),
      cmocka_unit_test(threads_do_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
