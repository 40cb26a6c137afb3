/* SPDX-License-Identifier: Apache-2.0 */
/* Which graphs are the same computation: one graph, and its relatives that differ in a name, or in each thing that could change a bit of a result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ir/same.h"
#include "ir/text.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]>\n"
static const char original[] = HEAD
    "g (float[N,4] x, float[N,4] z) => (float[N,4] y, float[N,4] s)\n<float[4] w = {1, 2, 3, 4}>\n"
    "{ a = Add(x, w)\n s = Softmax<axis=1>(a)\n y = Sub(s, z) }\n";

static const struct {
  const char *what, *text;
  bool same;
} relatives[] = {
    {"itself", original, true},
    {"other names of nodes, values and weights",
     HEAD "h (float[N,4] p, float[N,4] q) => (float[N,4] t, float[N,4] u)\n<float[4] m = {1, 2, 3, 4}>\n"
          "{ b = Add(p, m)\n u = Softmax<axis=1>(b)\n t = Sub(u, q) }\n",
     true},
    {"a weight's last element",
     HEAD "g (float[N,4] x, float[N,4] z) => (float[N,4] y, float[N,4] s)\n<float[4] w = {1, 2, 3, 5}>\n"
          "{ a = Add(x, w)\n s = Softmax<axis=1>(a)\n y = Sub(s, z) }\n",
     false},
    {"an attribute",
     HEAD "g (float[N,4] x, float[N,4] z) => (float[N,4] y, float[N,4] s)\n<float[4] w = {1, 2, 3, 4}>\n"
          "{ a = Add(x, w)\n s = Softmax<axis=0>(a)\n y = Sub(s, z) }\n",
     false},
    {"operands the other way round",
     HEAD "g (float[N,4] x, float[N,4] z) => (float[N,4] y, float[N,4] s)\n<float[4] w = {1, 2, 3, 4}>\n"
          "{ a = Add(x, w)\n s = Softmax<axis=1>(a)\n y = Sub(z, s) }\n",
     false},
    {"another operator",
     HEAD "g (float[N,4] x, float[N,4] z) => (float[N,4] y, float[N,4] s)\n<float[4] w = {1, 2, 3, 4}>\n"
          "{ a = Mul(x, w)\n s = Softmax<axis=1>(a)\n y = Sub(s, z) }\n",
     false},
    {"inputs the other way round",
     HEAD "g (float[N,4] z, float[N,4] x) => (float[N,4] y, float[N,4] s)\n<float[4] w = {1, 2, 3, 4}>\n"
          "{ a = Add(x, w)\n s = Softmax<axis=1>(a)\n y = Sub(s, z) }\n",
     false},
    {"outputs the other way round",
     HEAD "g (float[N,4] x, float[N,4] z) => (float[N,4] s, float[N,4] y)\n<float[4] w = {1, 2, 3, 4}>\n"
          "{ a = Add(x, w)\n s = Softmax<axis=1>(a)\n y = Sub(s, z) }\n",
     false},
    {"another symbol",
     HEAD "g (float[N,4] x, float[M,4] z) => (float[N,4] y, float[N,4] s)\n<float[4] w = {1, 2, 3, 4}>\n"
          "{ a = Add(x, w)\n s = Softmax<axis=1>(a)\n y = Sub(s, z) }\n",
     false},
    {"a node more",
     HEAD "g (float[N,4] x, float[N,4] z) => (float[N,4] y, float[N,4] s)\n<float[4] w = {1, 2, 3, 4}>\n"
          "{ a = Add(x, w)\n s = Softmax<axis=1>(a)\n b = Sub(s, z)\n y = Relu(b) }\n",
     false},
};

static module *parsed(const char *text) {
  module *m = NULL;
  assert_int_equal(npuc_module_parse(NULL, "test", text, strlen(text), &m), NPUC_OK);
  return m;
}

static void what_is_the_same(void **state) {
  (void)state;
  module *a = parsed(original);
  for (size_t i = 0; i < sizeof relatives / sizeof *relatives; i++) {
    module *b = parsed(relatives[i].text);
    if (npuc_graph_same(a->graphs[0], b->graphs[0]) != relatives[i].same) fail_msg("%s", relatives[i].what);
    if (npuc_graph_same(b->graphs[0], a->graphs[0]) != relatives[i].same) fail_msg("%s, the other way round", relatives[i].what);
    npuc_module_destroy(b);
  }
  npuc_module_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
