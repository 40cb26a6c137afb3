/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that tables are made of, against the C library's: our own are within 1e-12 of them (relative above 1) over the range that a byte can
 * stand for. Outside a function's domain both are NaN or the same infinity. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "quant/unary.h"
#include "support/ir.h"

typedef double real_function(double x);

#define REAL(name, formula) \
  static double name(double x) { return (formula); }
REAL(sigmoid_real, 1 / (1 + exp(-x)))
REAL(elu_real, x < 0 ? 0.5 * expm1(x) : x)
REAL(celu_real, x < 0 ? 2 * expm1(x / 2) : x)
REAL(selu_real, (double)1.05070098f * (x <= 0 ? (double)1.67326319f * expm1(x) : x))
REAL(thresholded_real, x > 0.25 ? x : 0)
REAL(shrink_real, x<-0.5 ? x + 0.25 : x> 0.5 ? x - 0.25 : 0)
REAL(softplus_real, fmax(x, 0) + log1p(exp(-fabs(x))))
REAL(softsign_real, x / (1 + fabs(x)))
REAL(mish_real, x *tanh(softplus_real(x)))
REAL(swish_real, x / (1 + exp(-1.5 * x)))
REAL(gelu_real, x / 2 * erfc(-x / sqrt(2)))
REAL(gelu_tanh_real, x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * pow(x, 3)))))
REAL(leaky_real, x < 0 ? 0.25 * x : x)
REAL(hard_sigmoid_real, fmin(1, fmax(0, 0.2f * x + 0.5)))
REAL(hard_swish_real, x *fmin(1, fmax(0, x / 6 + 0.5)))
REAL(reciprocal_real, 1 / x)
REAL(negative_real, -x)
REAL(sign_real, (x > 0) - (x < 0))
REAL(cube_real, x *x *x)
REAL(inverse_square_real, 1 / (x * x))
REAL(pow_real, pow(x, 1.7f))

/* What stands between x and y in a graph of one node, and the function that it is. */
static const struct {
  const char *text;
  real_function *real;
} functions[] = {
    {"Sigmoid (x)", sigmoid_real},
    {"Tanh (x)", tanh},
    {"LeakyRelu <alpha = 0.25> (x)", leaky_real},
    {"PRelu (x, quarter)", leaky_real},
    {"HardSigmoid (x)", hard_sigmoid_real},
    {"HardSwish (x)", hard_swish_real},
    {"Elu <alpha = 0.5> (x)", elu_real},
    {"Celu <alpha = 2.0> (x)", celu_real},
    {"Selu (x)", selu_real},
    {"ThresholdedRelu <alpha = 0.25> (x)", thresholded_real},
    {"Shrink <lambd = 0.5, bias = 0.25> (x)", shrink_real},
    {"Softplus (x)", softplus_real},
    {"Softsign (x)", softsign_real},
    {"Mish (x)", mish_real},
    {"Swish <alpha = 1.5> (x)", swish_real},
    {"Gelu (x)", gelu_real},
    {"Gelu <approximate = \"tanh\"> (x)", gelu_tanh_real},
    {"Pow (x, three)", cube_real},
    {"Pow (x, minus_two)", inverse_square_real},
    {"Pow (x, half)", sqrt},
    {"Pow (x, odd)", pow_real},
    {"Abs (x)", fabs},
    {"Neg (x)", negative_real},
    {"Sign (x)", sign_real},
    {"Ceil (x)", ceil},
    {"Floor (x)", floor},
    {"Round (x)", rint},
    {"Sqrt (x)", sqrt},
    {"Reciprocal (x)", reciprocal_real},
    {"Exp (x)", exp},
    {"Log (x)", log},
    {"Erf (x)", erf},
    {"Sin (x)", sin},
    {"Cos (x)", cos},
    {"Tan (x)", tan},
    {"Asin (x)", asin},
    {"Acos (x)", acos},
    {"Atan (x)", atan},
    {"Sinh (x)", sinh},
    {"Cosh (x)", cosh},
    {"Asinh (x)", asinh},
    {"Acosh (x)", acosh},
    {"Atanh (x)", atanh},
};

static module *graph_of(const char *call) {
  char text[512];
  (void)snprintf(
      text, sizeof text,
      "<ir_version: 10, opset_import: [\"\" : 28]>\nf (float[4] x) => (float[4] y)\n<float quarter = {0.25}, float three = {3.0}, "
      "float minus_two = {-2.0}, float half = {0.5}, float odd = {1.7}, float[4] four = {1.0, 2.0, 3.0, 4.0}> { y = %s }",
      call);
  return npuc_test_module(text);
}

static bool agree(double ours, double theirs) {
  if (isnan(theirs) || isinf(theirs)) return isnan(theirs) ? isnan(ours) : ours == theirs;
  return fabs(ours - theirs) <= 1e-12 * fmax(1, fabs(theirs));
}

/* How many of the numbers -20, -19.9, ..., 20 have two values. */
static int differences(const node *n, real_function *real) {
  int wrong = 0;
  for (int k = -200; k <= 200; k++) {
    double ours = 0, v = k / 10.0;
    assert_true(npuc_unary_real(n, v, &ours));
    wrong += !agree(ours, real(v));
  }
  return wrong;
}

static void every_function(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    module *m = graph_of(functions[i].text);
    int wrong = differences(m->graphs[0]->first, functions[i].real);
    if (wrong) print_error("%s: %d of 401 differ\n", functions[i].text, wrong);
    assert_int_equal(wrong, 0);
    npuc_module_destroy(m);
  }
}

/* The comparison sees 1e-11. */
static double nearly_erf(double x) { return erf(x) * (1 + 1e-11); }
static void a_small_error_is_seen(void **state) {
  (void)state;
  module *m = graph_of("Erf (x)");
  assert_true(differences(m->graphs[0]->first, nearly_erf) > 300);
  npuc_module_destroy(m);
}

static void no_function_of_one_number(void **state) {
  (void)state;
  static const char *const others[] = {"Pow (x, four)", "Pow (three, x)", "PRelu (x, four)", "Pow (x, x)", "Softmax (x)", "Add (x, three)"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    module *m = graph_of(others[i]);
    assert_false(npuc_unary_known(m->graphs[0]->first));
    npuc_module_destroy(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_function), cmocka_unit_test(a_small_error_is_seen),
                                     cmocka_unit_test(no_function_of_one_number)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
