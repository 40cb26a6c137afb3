/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/attributes.h"
#include "support/ir.h"
#include "tensor/reference.h"

static char *print_all(arena *a, const module *m) { return npuc_module_print(a, m, &(text_options){.max_elements = -1}); }

/* print(parse(text)) is a fixpoint, and what it says is the same graph. */
static void comes_back(const char *text) {
  arena *a = npuc_arena_create();
  module *m = npuc_test_parse(text);
  char *once = print_all(a, m);
  module *again = npuc_test_parse(once);
  assert_string_equal(print_all(a, again), once);
  npuc_module_destroy(m);
  npuc_module_destroy(again);
  npuc_arena_destroy(a);
}

static void a_model_has_its_parts(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "<ir_version: 10, opset_import: [\"\" : 28, \"npuc\" : 1], producer_name: \"some \\\"tool\\\"\", metadata_props: [\"a\": \"1\", "
      "\"b\": \"x y\"]>\n"
      "# a comment, then a graph whose name is no identifier\n"
      "\"my graph\" (float[N,3] \"in/put\", uint8[4] q) => (float[N,3] out, r)\n"
      "<float[3] w = {1, -2.5, 1e-3}, float[N,3] t>\n"
      "{\n"
      "  [first] t = Add (\"in/put\", w)\n"
      "  out = Clip (t, \"\", hi)\n"
      "  hi = Constant <value: tensor = float {6.0}> ()\n"
      "  r = npuc.Lookup (q, table)\n"
      "  table = ConstantOfShape <value = uint8[1] {7}> (n)\n"
      "  n = Constant <value_ints = [256]> ()\n"
      "}");
  const graph *g = m->graphs[0];
  assert_string_equal(g->name, "my graph");
  assert_string_equal(m->producer, "some \"tool\"");
  assert_string_equal(npuc_map_get(m->metadata, "b"), "x y");
  assert_int_equal(g->n_inputs, 2);
  assert_int_equal(g->n_outputs, 2);
  assert_string_equal(g->first->name, "first");
  assert_string_equal(g->first->location->name, "first");
  const node *clip = npuc_graph_node(g, "out");
  assert_int_equal(clip->n_inputs, 3);
  assert_null(clip->inputs[1]);
  assert_string_equal(clip->inputs[2]->producer->op->type, "Constant");
  assert_true(npuc_graph_value(g, "w")->constant != NULL);
  npuc_module_destroy(m);
}

static void the_printed_form_is_this(void **state) {
  (void)state;
  module *m = npuc_test_module(
      "main (float[N,2,4,4] x) => (y) <float[1,2,1,1] w = {0.1, 2}, float[20] big = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}>\n"
      "{ [\"/conv 1\"] c = Conv <pads = [1, 1, 1, 1]> (x, w) y = LeakyRelu <alpha = 0.5> (c) }");
  arena *a = npuc_arena_create();
  assert_string_equal(npuc_module_print(a, m, &(text_options){.types = true, .locations = true}),
                      "<ir_version: 10, opset_import: [\"\" : 28]>\n"
                      "main (float[N,2,4,4] x) => (float[N,1,6,6] y)\n"
                      "<float[1,2,1,1] w = {0.1, 2.0},\n"
                      " float[20] big = {...}  # 80 bytes\n"
                      ">\n"
                      "{\n"
                      "   [\"/conv 1\"] c = Conv <kernel_shape = [1, 1], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1]> (x, w)"
                      "  # float[N,1,6,6]  # from /conv 1\n"
                      "   y = LeakyRelu <alpha = 0.5> (c)  # float[N,1,6,6]  # from y\n"
                      "}\n");
  npuc_module_destroy(m);
  npuc_arena_destroy(a);
}

/* Recorded from onnx.printer 1.23 (onnx.printer.to_text) of a model with names, labels and types of every kind; the function's body is of an
 * operator that the table knows and is passed over. */
static void what_onnx_prints_is_read(void **state) {
  (void)state;
  const char *recorded =
      "<\n"
      "   ir_version: 10,\n"
      "   opset_import: [\"\" : 28, \"npuc\" : 1],\n"
      "   producer_name: \"pr\\\"x\",\n"
      "   metadata_props: [\"a\": \"b\"]\n"
      ">\n"
      "\"main graph\" (float[N,3,?,32] x, float[] u) => (float16 y, float[?,\"odd dim\"] z) \n"
      "   <float[2,3,1,1] w =  {0,1,2,3,4,5}, int8[3] i8 =  {1,2,-1}, bfloat16[3] bf =  {16256,16384,49088}, float16 f16 =  {15360}, "
      "bool[3] bo =  {1,0,1}, "
      "uint64 u64 =  {18446744073709551615}, float[0] em =  {}, double d =  {0.1}, float[N,\"/odd dim\"] t>\n"
      "{\n"
      "   [c1] t = Conv <auto_pad: string = \"NOTSET\", strides: ints = [1, 1], group: int = 1> (x, w, \"\")\n"
      "   [\"n/2\"] y = Relu (f16)\n"
      "   \"9q\" = LeakyRelu <alpha: float = 1e-05> (t)\n"
      "   z = Transpose <perm: ints = []> (u)\n"
      "   inf = LeakyRelu <alpha: float = inf> (t)\n"
      "   c = Constant <value: tensor = float[2] v {1,2}> ()\n"
      "}\n"
      "<\n"
      "  domain: \"npuc\",\n"
      "  opset_import: [\"\" : 21]\n"
      ">\n"
      "Lookup <alpha, beta: float = 1>(X, T) => (Y)\n"
      "{\n"
      "   Y = Gather (T, X)\n"
      "}\n";
  module *m = npuc_test_parse(recorded);
  const graph *g = m->graphs[0];
  assert_int_equal(m->n_graphs, 1);
  assert_true(npuc_tensor_get(npuc_graph_value(g, "bf")->constant, 2) == -1.5);
  assert_true(npuc_tensor_get(npuc_graph_value(g, "d")->constant, 0) == 0.1);
  assert_int_equal(npuc_graph_value(g, "u")->shape.rank, -1);
  assert_int_equal(npuc_graph_value(g, "y")->shape.rank, 0);
  assert_true(npuc_graph_value(g, "x")->shape.dims[2] == DIM_UNKNOWN);
  assert_true(NPUC_ATTRS(alpha_attributes, npuc_graph_node(g, "9q"))->alpha == 1e-05f);
  npuc_module_destroy(m);
  comes_back(recorded);
}

static void strings_and_sequences_come_back(void **state) {
  (void)state;
  const char *text =
      "<ir_version: 10, opset_import: [\"\" : 28]>\n"
      "main (seq(float[]) s, optional(seq(string[])) o, string[2] x) => (seq(float[]) t, optional(float[]) none, string[2] z)\n"
      "<string[2] w = {\"a \\\"b\\\"\", \"\"}>\n"
      "{\n"
      "   t = SequenceErase (s)\n"
      "   none = Optional <type: type_proto = float[]> ()\n"
      "   z = StringConcat (x, w)\n"
      "}\n";
  module *m = npuc_test_module(text);
  const graph *g = m->graphs[0];
  assert_int_equal(g->inputs[0]->type, npuc_dtype_sequence(DTYPE_F32));
  assert_int_equal(g->inputs[1]->type, npuc_dtype_optional(npuc_dtype_sequence(DTYPE_STRING)));
  assert_string_equal(npuc_dtype_name(g->inputs[1]->type), "optional(seq(string))");
  assert_string_equal(npuc_tensor_text(npuc_graph_value(g, "w")->constant, 0).bytes, "a \"b\"");
  assert_int_equal(npuc_tensor_text(npuc_graph_value(g, "w")->constant, 1).n, 0);
  arena *a = npuc_arena_create();
  assert_string_equal(print_all(a, m), text);
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
}

static void parts_follow_each_other(void **state) {
  (void)state;
  const char *text =
      "<ir_version: 10, opset_import: [\"\" : 28]>\nencoder (float[N] x) => (float[N] y)\n{\n   y = Relu (x)\n}\n"
      "<ir_version: 10, opset_import: [\"\" : 28]>\ndecoder (float[N] x) => (float[N] y)\n{\n   y = Tanh (x)\n}\n";
  module *m = npuc_test_module(text);
  assert_int_equal(m->n_graphs, 2);
  assert_string_equal(m->graphs[1]->name, "decoder");
  arena *a = npuc_arena_create();
  assert_string_equal(print_all(a, m), text);
  npuc_arena_destroy(a);
  npuc_module_destroy(m);
}

static void refused(const char *text, npuc_status status, diag_code code, const char *part) {
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = NULL;
  assert_int_equal(npuc_module_parse(d, "the-file", text, strlen(text), &m), status);
  npuc_test_error_is(d, code, part);
  assert_string_equal(npuc_diag_first_error(d)->place.file, "the-file");
  npuc_diag_destroy(d);
}

static void what_is_wrong_is_named(void **state) {
  (void)state;
  refused("", NPUC_BAD_INPUT, NPUC_DIAG_E0420, "graph's name");
  refused("g (float x) => (y) { y = Relu (x) ", NPUC_BAD_INPUT, NPUC_DIAG_E0420, "line 1");
  refused("g (float x) => (y) {\n y = Rellu (x) }", NPUC_UNSUPPORTED, NPUC_DIAG_E0421, "nearest known is Relu");
  refused("g (float x) => (y) {\n y = Relu (x) }\nh", NPUC_BAD_INPUT, NPUC_DIAG_E0420, "line 3");
  refused("g (float x) => (y) { y = QConv (x) }", NPUC_UNSUPPORTED, NPUC_DIAG_E0421, "QConv");
  refused("g (float x) => (y) { y = LeakyRelu <alhpa = 1.0> (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "nearest is alpha");
  refused("g (float x) => (y) { y = LeakyRelu <alpha = \"1\"> (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "wrong kind");
  refused("g (float x) => (y) { y = LeakyRelu <alpha = 1.0, alpha = 2.0> (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "twice");
  refused("g (float x) => (y) { y = LeakyRelu <alpha: float = @a> (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "inside a function");
  refused("g (float x) => (y) { y = Concat (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0412, "required");
  refused("g (float input) => (y) { y = Relu (inptu) }", NPUC_BAD_INPUT, NPUC_DIAG_E0417, "nearest name is input");
  refused("g (float x) => (y) { z = Relu (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0417, "\"y\"");
  refused("g (float x) => (y) { y = Relu (x) y = Tanh (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0416, "defined already");
  refused("g (float x, float x) => (y) { y = Relu (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0416, "two inputs");
  refused("g (float x) => (y) { [n] a = Relu (x) [n] y = Relu (a) }", NPUC_BAD_INPUT, NPUC_DIAG_E0416, "[n]");
  refused("g (float x) => (y) <float x = {1}> { y = Relu (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0416, "\"x\"");
  refused("g (float x) => (y) { y = Add (x, z) z = Relu (y) }", NPUC_BAD_INPUT, NPUC_DIAG_E0415, "y");
  refused("g (flaot[2] x) => (y) { y = Relu (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0420, "");
  refused("g (seq(seq(float)) x) => (y) { y = Relu (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0420, "seq(seq(");
  refused("g (optional(optional(float)) x) => (y) { y = Relu (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0420, "optional(optional(");
  refused("g (seq(flaot) x) => (y) { y = Relu (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0420, "flaot");
  refused("g () => (y) <string[2] y = {\"a\"}> { }", NPUC_BAD_INPUT, NPUC_DIAG_E0420, "1 of its 2 elements");
  refused("g () => (y) <string y = {1}> { }", NPUC_BAD_INPUT, NPUC_DIAG_E0420, "no string");
  refused("<opset_import: [\"\" : 99]> g (float x) => (y) { y = Relu (x) }", NPUC_BAD_INPUT, NPUC_DIAG_E0420, "opset 99");
  /* An older opset is read where the operator was the same then, else refused. */
  refused("<opset_import: [\"\" : 9]> g (float[2,2] x) => (y) { y = Softmax (x) }", NPUC_UNSUPPORTED, NPUC_DIAG_E0421, "opset 9");
}

/* -- random graphs -- */

static uint64_t next_random(uint64_t *s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  *s ^= *s << 17;
  return *s;
}

static int64_t below(uint64_t *s, int64_t n) { return (int64_t)(next_random(s) % (uint64_t)n); }

static const char *random_name(uint64_t *s, char *buffer, size_t bytes) {
  static const char *const forms[] = {"v%d", "/layer%d/conv", "a b:%d", "float", "%d", "quo\"te\\%d", "\xc3\xa9%d", "_%d"};
  snprintf(buffer, bytes, forms[below(s, 8)], (int)below(s, 1000));
  return buffer;
}

/* Any bits: NaN payloads of 16-bit floats too; 32-bit NaNs lose theirs in text and are left out. */
static value *random_constant(graph *g, uint64_t *s) {
  static const dtype types[] = {DTYPE_F32, DTYPE_F64, DTYPE_F16,  DTYPE_BF16, DTYPE_I8,       DTYPE_U8,         DTYPE_I32,
                                DTYPE_I64, DTYPE_U64, DTYPE_BOOL, DTYPE_I4,   DTYPE_F8E4M3FN, DTYPE_F8E5M2FNUZ, DTYPE_U32};
  char name[32];
  shape dims = {.rank = (int32_t)below(s, 3)};
  for (int32_t i = 0; i < dims.rank; i++) dims.dims[i] = below(s, 4);
  tensor t;
  assert_int_equal(npuc_tensor_create(NULL, types[below(s, 14)], &dims, &t), NPUC_OK);
  for (size_t i = 0; i < t.bytes; i++) ((uint8_t *)t.data)[i] = (uint8_t)(t.type == DTYPE_BOOL ? next_random(s) & 1 : next_random(s));
  for (int64_t i = 0; i < npuc_tensor_elements(&t) && (t.type == DTYPE_F32 || t.type == DTYPE_F64); i++) {
    double x = npuc_tensor_get(&t, i);
    if (x != x) npuc_tensor_set(&t, i, -0.0);
  }
  value *v = npuc_graph_add_constant(g, random_name(s, name, sizeof name), &t);
  npuc_tensor_release(&t);
  return v;
}

static void random_node(graph *g, uint64_t *s, value **values, int *n) {
  static const op_id ops[] = {OP_RELU, OP_LEAKYRELU, OP_ADD,  OP_CONCAT, OP_TRANSPOSE,
                              OP_CLIP, OP_SPLIT,     OP_CONV, OP_PAD,    OP_CONSTANTOFSHAPE};
  char name[32];
  const op_def *op = npuc_op(ops[below(s, 10)]);
  value *inputs[3];
  for (int i = 0; i < 3; i++) inputs[i] = values[below(s, *n)];
  int32_t n_inputs = op->min_inputs > 0 ? op->min_inputs : 1, n_outputs = op->id == OP_SPLIT ? 3 : 1;
  if (op->id == OP_CLIP) {
    n_inputs = 3;
    if (below(s, 2)) inputs[1] = NULL;
  }
  node *added = npuc_graph_insert_node(g, NULL, op, random_name(s, name, sizeof name), inputs, n_inputs, n_outputs, NULL);
  module *m = g->module;
  int64_t *list = NPUC_NEW_ARRAY(m->arena, 4, int64_t);
  for (int i = 0; i < 4; i++) list[i] = below(s, 5) - 2;
  uint32_t bits = (uint32_t)next_random(s) & 0x7f7fffff; /* any finite positive float */
  if (op->id == OP_LEAKYRELU) memcpy(&NPUC_ATTRS(alpha_attributes, added)->alpha, &bits, sizeof bits);
  if (op->id == OP_CONCAT) NPUC_ATTRS(axis_attributes, added)->axis = below(s, 7) - 3;
  if (op->id == OP_TRANSPOSE) NPUC_ATTRS(transpose_attributes, added)->perm = (int_list){list, (int32_t)below(s, 5)};
  if (op->id == OP_CONV) NPUC_ATTRS(conv_attributes, added)->pads = (int_list){list, 4};
  if (op->id == OP_PAD) NPUC_ATTRS(pad_attributes, added)->mode = below(s, 2) ? "edge" : "odd \"mode\"";
  if (op->id == OP_CONSTANTOFSHAPE) NPUC_ATTRS(constantofshape_attributes, added)->value = random_constant(g, s)->constant;
  if (op->id == OP_SPLIT) NPUC_ATTRS(split_attributes, added)->num_outputs = 3;
  for (int32_t i = 0; i < n_outputs; i++) values[(*n)++] = added->outputs[i];
}

static module *random_module(uint64_t seed) {
  uint64_t s = seed * 0x9e3779b97f4a7c15u + 1;
  char name[32];
  module *m = npuc_module_create();
  graph *g = npuc_graph_create(m, random_name(&s, name, sizeof name));
  value *values[200];
  int n = 0;
  for (int i = 0; i < 2; i++) {
    shape dims = {.rank = (int32_t)below(&s, 5) - 1};
    for (int32_t k = 0; k < dims.rank; k++) {
      dims.dims[k] = below(&s, 3) == 0   ? npuc_module_symbol(m, random_name(&s, name, sizeof name))
                     : below(&s, 4) == 0 ? DIM_UNKNOWN
                                         : below(&s, 9);
    }
    values[n++] = npuc_graph_add_input(g, npuc_graph_unique_name(g, random_name(&s, name, sizeof name)), i ? DTYPE_F32 : DTYPE_U8, &dims);
  }
  for (int i = 0; i < 4; i++) values[n++] = random_constant(g, &s);
  for (int i = 0; i < 30; i++) random_node(g, &s, values, &n);
  for (int i = 0; i < 3; i++) npuc_graph_add_output(g, values[n - 1 - i * 2]);
  if (below(&s, 2)) npuc_map_put(m->metadata, random_name(&s, name, sizeof name), "text with\na line end");
  return m;
}

static void equal_constants(const graph *a, const graph *b) {
  size_t cursor = 0;
  void *item;
  while (npuc_map_next(a->values, &cursor, NULL, &item)) {
    const value *v = item, *w = npuc_graph_value(b, v->name);
    if (!v->constant) continue;
    assert_non_null(w);
    assert_true(w->constant && npuc_tensor_equal(v->constant, w->constant));
  }
}

static void equal_attributes(const graph *a, const graph *b) {
  NPUC_EACH_NODE(a, n) {
    const node *o = npuc_graph_node(b, n->name);
    assert_non_null(o);
    assert_ptr_equal(o->op, n->op);
    assert_true(npuc_attributes_equal(n->op, n->attributes, o->attributes));
  }
}

static void random_graphs_come_back(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 200; seed++) {
    arena *a = npuc_arena_create();
    module *m = random_module(seed);
    char *text = print_all(a, m);
    module *back = npuc_test_parse(text);
    char *again = print_all(a, back);
    if (strcmp(again, text) != 0) fail_msg("seed %llu:\n%s\nbecame\n%s", (unsigned long long)seed, text, again);
    equal_constants(m->graphs[0], back->graphs[0]);
    equal_attributes(m->graphs[0], back->graphs[0]);
    npuc_test_recount(back->graphs[0]);
    npuc_module_destroy(m);
    npuc_module_destroy(back);
    npuc_arena_destroy(a);
  }
}

/* A text with one byte changed, dropped or cut is read or refused; nothing else. Meant for the sanitizers. */
static void damaged_texts_are_read_or_refused(void **state) {
  (void)state;
  uint64_t s = 7;
  int good = 0, bad = 0;
  for (uint64_t seed = 0; seed < 20; seed++) {
    arena *a = npuc_arena_create();
    module *m = random_module(seed);
    char *text = print_all(a, m);
    size_t n = strlen(text);
    npuc_module_destroy(m);
    for (int i = 0; i < 60; i++) {
      char *damaged = npuc_arena_copy(a, text, n + 1);
      size_t at = (size_t)below(&s, (int64_t)n), length = n;
      if (i % 3 == 0) damaged[at] = (char)below(&s, 256);
      if (i % 3 == 1) damaged[at] = "{}[]()<>,=\"@.-:0"[below(&s, 16)];
      if (i % 3 == 2) length = at;
      module *back = NULL;
      npuc_status status = npuc_module_parse(NULL, "damaged", damaged, length, &back);
      good += status == NPUC_OK;
      bad += status != NPUC_OK;
      npuc_module_destroy(back);
    }
    npuc_arena_destroy(a);
  }
  assert_true(good > 0 && bad > 0);
}

/* Numbers are written and read with a point in every locale. */
static void the_locale_changes_nothing(void **state) {
  (void)state;
  static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "pl_PL.UTF-8"};
  const char *text = "main (float[2] x) => (float[2] y)\n<float[2] w = {0.1, -2.5e-10}>\n{\n   y = Mul (x, w)\n}\n";
  bool found = false;
  for (size_t i = 0; i < 4 && !found; i++) found = setlocale(LC_NUMERIC, commas[i]) != NULL;
  comes_back(text);
  module *m = npuc_test_module(text);
  npuc_test_graph_is(m->graphs[0], text);
  npuc_module_destroy(m);
  setlocale(LC_NUMERIC, "C");
  if (!found) print_message("no locale with a decimal comma is installed: read and written in C only\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_model_has_its_parts),      cmocka_unit_test(the_printed_form_is_this),
      cmocka_unit_test(what_onnx_prints_is_read),   cmocka_unit_test(strings_and_sequences_come_back),
      cmocka_unit_test(parts_follow_each_other),    cmocka_unit_test(what_is_wrong_is_named),
      cmocka_unit_test(random_graphs_come_back),    cmocka_unit_test(damaged_texts_are_read_or_refused),
      cmocka_unit_test(the_locale_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
