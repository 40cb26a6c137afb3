/* SPDX-License-Identifier: Apache-2.0 */
/* The boundary against docs/numerics.md section 4: right values from the formula, written out here in another way (long double, rounding by hand), and by hand for the edges. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "npuc/runtime.h"
#include "support/random.h"

static npuc_port port_of(bool is_signed, float scale, int32_t zero_point) {
  return (npuc_port){.dtype = is_signed ? 3 : 2, .quantized = true, .scale = scale, .zero_point = zero_point, .rank = 1, .dims = {1}};
}

static int32_t quantized(const npuc_port *p, float x) {
  uint8_t q;
  npuc_port_quantize(p, &x, &q, 1);
  return p->dtype == 3 ? (int8_t)q : q;
}

static void test_by_hand(void **state) {
  (void)state;
  npuc_port u = port_of(false, 1.0f, 10), s = port_of(true, 1.0f, 0);
  static const struct {
    float x;
    int32_t u, s;
  } cases[] = {
      {0.0f, 10, 0},      {-0.0f, 10, 0},     {0.5f, 10, 0},      {1.5f, 12, 2},        {2.5f, 12, 2},
      {-0.5f, 10, 0},     {-1.5f, 8, -2},     {-2.5f, 8, -2},     {0.49999997f, 10, 0}, {0.5000001f, 11, 1},
      {126.5f, 136, 126}, {127.5f, 138, 127}, {245.0f, 255, 127}, {244.5f, 254, 127},   {-10.0f, 0, -10},
      {-128.0f, 0, -128}, {-128.5f, 0, -128}, {1e30f, 255, 127},  {-1e30f, 0, -128},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(quantized(&u, cases[i].x), cases[i].u);
    assert_int_equal(quantized(&s, cases[i].x), cases[i].s);
  }
  assert_int_equal(quantized(&u, NAN), 10);
  assert_int_equal(quantized(&u, -NAN), 10);
  assert_int_equal(quantized(&u, INFINITY), 255);
  assert_int_equal(quantized(&u, -INFINITY), 0);
  assert_int_equal(quantized(&s, NAN), 0);
  assert_int_equal(quantized(&s, INFINITY), 127);
  assert_int_equal(quantized(&s, -INFINITY), -128);
  npuc_port tiny = port_of(false, 1e-40f, 3), huge = port_of(false, 3e38f, 3); /* quotients that overflow and underflow float32 */
  assert_int_equal(quantized(&tiny, 1.0f), 255);
  assert_int_equal(quantized(&tiny, -1.0f), 0);
  assert_int_equal(quantized(&huge, 1e-30f), 3);
}

/* Half to even without the library's rounding. */
static int64_t half_even(float v) {
  long double below = floorl((long double)v), rest = (long double)v - below;
  int64_t k = (int64_t)below;
  if (rest > 0.5L || (rest == 0.5L && (k & 1))) k++;
  return k;
}

static int64_t formula(const npuc_port *p, float x) {
  int64_t lo = p->dtype == 3 ? -128 : 0, hi = p->dtype == 3 ? 127 : 255;
  float quotient = x / p->scale;
  int64_t q = quotient > 1e6f ? 1000000 : quotient < -1e6f ? -1000000 : half_even(quotient);
  q += p->zero_point;
  return q < lo ? lo : q > hi ? hi : q;
}

static void test_by_formula(void **state) {
  (void)state;
  uint64_t random = 8;
  size_t away = 0;
  for (int i = 0; i < 200000; i++) {
    bool is_signed = random_next(&random) & 1;
    float scale = fabsf(random_float(&random)) * 0.1f + 1e-4f;
    npuc_port p = port_of(is_signed, scale, (int32_t)(random_next(&random) % 256) - (is_signed ? 128 : 0));
    int64_t steps = (int64_t)(random_next(&random) % 600) - 300;
    float x = i % 2 ? ((float)steps + 0.5f) * scale : random_float(&random) * 300.0f * scale; /* near ties, and anywhere */
    assert_int_equal(quantized(&p, x), formula(&p, x));
    away += quantized(&p, x) != (int64_t)fminf(fmaxf(roundf(x / scale) + (float)p.zero_point, is_signed ? -128 : 0), is_signed ? 127 : 255);
  }
  assert_true(away > 1000); /* negative control: half away from zero is another rule, and the inputs tell them apart */
}

static void test_back(void **state) {
  (void)state;
  for (int is_signed = 0; is_signed < 2; is_signed++) {
    npuc_port p = port_of(is_signed, 0.0375f, is_signed ? -7 : 130);
    uint8_t q[256], again[256];
    float x[256];
    for (int i = 0; i < 256; i++) q[i] = (uint8_t)i;
    npuc_port_dequantize(&p, q, x, 256);
    npuc_port_quantize(&p, x, again, 256);
    assert_memory_equal(q, again, 256); /* what was an integer comes back */
    for (int i = 0; i < 256; i++) {
      int32_t k = is_signed ? (int8_t)(uint8_t)i : i;
      assert_true(x[i] == (float)(k - p.zero_point) * 0.0375f);
    }
    npuc_port_quantize(&p, x, NULL, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_by_formula), cmocka_unit_test(test_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
