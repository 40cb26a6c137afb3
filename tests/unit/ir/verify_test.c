/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "ir/attributes.h"
#include "support/ir.h"

static const char *const good =
    "main (float[N,2,4,4] x) => (float[N,2,4,4] y)\n"
    "<float[2,2,1,1] w = {1, 2, 3, 4}>\n"
    "{ a = Conv (x, w) b = Relu (a) y = Add (a, b) }";

/* Each fault breaks one rule by hand, past the functions that keep it. */
static void fault_use_lost(graph *g) { npuc_graph_value(g, "a")->n_uses--; }
static void fault_use_of_other(graph *g) { npuc_graph_value(g, "a")->uses[0].index = 5; }
static void fault_slot(graph *g) {
  node *add = g->last;
  add->use_slots[0] = 0; /* Relu reads "a" first */
}
static void fault_order(graph *g) { npuc_graph_move_node(g, g->last, g->first); }
static void fault_list(graph *g) { g->last->prev = g->first; }
static void fault_count(graph *g) { g->n_nodes++; }
static void fault_producer(graph *g) { npuc_graph_value(g, "b")->output_index = 1; }
static void fault_name(graph *g) { npuc_graph_value(g, "b")->name = "other"; }
static void fault_node_name(graph *g) { g->first->name = "other"; }
static void fault_removed_value(graph *g) { npuc_graph_value(g, "w")->owner = NULL; }
static void fault_id(graph *g) { npuc_graph_value(g, "b")->id = npuc_graph_value(g, "a")->id; }
static void fault_defined_twice(graph *g) { npuc_graph_value(g, "b")->constant = npuc_graph_value(g, "w")->constant; }
static void fault_input_flag(graph *g) { g->inputs[0]->is_input = false; }
static void fault_output_flag(graph *g) { npuc_graph_value(g, "b")->is_output = true; }
static void fault_undefined(graph *g) { npuc_node_set_input(g->last, 1, npuc_graph_add_value(g, "ghost", DTYPE_F32, NULL)); }
static void fault_too_few(graph *g) { npuc_node_truncate_inputs(g->first, 1); }
static void fault_too_many(graph *g) { npuc_node_set_input(npuc_graph_node(g, "b"), 1, g->inputs[0]); }
static void fault_omitted(graph *g) { npuc_node_set_input(g->last, 0, NULL); }
static void fault_list_attribute(graph *g) { NPUC_ATTRS(conv_attributes, g->first)->strides = (int_list){NULL, 2}; }
static void fault_op_verify(graph *g) { NPUC_ATTRS(conv_attributes, g->first)->group = 0; }
static void fault_constant_type(graph *g) { npuc_graph_value(g, "w")->type = DTYPE_I8; }
static void fault_constant_shape(graph *g) { npuc_graph_value(g, "w")->shape.dims[0] = 3; }
static void fault_constant_bytes(graph *g) {
  tensor *t = (tensor *)(uintptr_t)npuc_graph_value(g, "w")->constant;
  t->bytes = 3;
}
static void fault_symbol(graph *g) { npuc_graph_value(g, "b")->shape.dims[0] = dim_of_symbol(99); }
static void fault_rank(graph *g) { npuc_graph_value(g, "b")->shape.rank = MAX_RANK + 1; }
static void fault_stale_shape(graph *g) { npuc_graph_value(g, "b")->shape.dims[1] = 5; }
static void fault_stale_type(graph *g) { npuc_graph_value(g, "b")->type = DTYPE_I8; }

static quant *quantized(graph *g, const char *name, float scale, int32_t axis) {
  static const uint8_t zero[] = {0, 0};
  module *m = g->module;
  float *scales = npuc_arena_alloc(m->arena, 8);
  scales[0] = scales[1] = scale;
  int64_t n = axis < 0 ? 1 : 2;
  quant q = {.axis = axis,
             .scale = {.type = DTYPE_F32, .shape = {.rank = 1, .dims = {n}}, .data = scales, .bytes = 4 * (size_t)n},
             .zero_point = {.type = DTYPE_U8, .shape = {.rank = 1, .dims = {n}}, .data = (void *)(uintptr_t)zero, .bytes = (size_t)n}};
  value *v = npuc_graph_value(g, name);
  npuc_value_set_quant(v, &q);
  return (quant *)(uintptr_t)v->quant;
}
static void fault_scale(graph *g) { quantized(g, "b", 0.0f, -1); }
static void fault_axis(graph *g) { quantized(g, "b", 1.0f, 4); }
static void fault_scale_count(graph *g) { quantized(g, "b", 1.0f, 2); /* 4 long */ }
static void fault_zero_type(graph *g) { quantized(g, "b", 1.0f, -1)->zero_point.type = DTYPE_F32; }

static void each_violation_is_found(void **state) {
  (void)state;
  const struct {
    const char *rule;
    void (*break_it)(graph *g);
    diag_code code;
    const char *part;
  } faults[] = {
      {"a use is lost", fault_use_lost, NPUC_DIAG_E0410, ""},
      {"a use is of another input", fault_use_of_other, NPUC_DIAG_E0410, "use 0"},
      {"a slot is wrong", fault_slot, NPUC_DIAG_E0410, ""},
      {"a reader before its producer", fault_order, NPUC_DIAG_E0410, "before the node"},
      {"broken links", fault_list, NPUC_DIAG_E0410, "list of nodes"},
      {"wrong number of nodes", fault_count, NPUC_DIAG_E0410, "number of nodes"},
      {"wrong producer", fault_producer, NPUC_DIAG_E0410, "\"b\""},
      {"a value under another name", fault_name, NPUC_DIAG_E0410, "listed under"},
      {"a node under another name", fault_node_name, NPUC_DIAG_E0410, "name"},
      {"a removed value in use", fault_removed_value, NPUC_DIAG_E0410, "\"w\""},
      {"two values with one id", fault_id, NPUC_DIAG_E0410, "id"},
      {"a value defined twice", fault_defined_twice, NPUC_DIAG_E0410, "more than once"},
      {"an input that is not marked", fault_input_flag, NPUC_DIAG_E0417, ""},
      {"a mark without an output", fault_output_flag, NPUC_DIAG_E0410, "marked"},
      {"an undefined value", fault_undefined, NPUC_DIAG_E0417, "ghost"},
      {"too few inputs", fault_too_few, NPUC_DIAG_E0411, "Conv"},
      {"too many inputs", fault_too_many, NPUC_DIAG_E0411, "Relu"},
      {"a needed input omitted", fault_omitted, NPUC_DIAG_E0411, "Add"},
      {"a broken list", fault_list_attribute, NPUC_DIAG_E0412, "strides"},
      {"the operator's own rule", fault_op_verify, NPUC_DIAG_E0440, "group"},
      {"a constant of another type", fault_constant_type, NPUC_DIAG_E0413, "\"w\""},
      {"a constant of another shape", fault_constant_shape, NPUC_DIAG_E0414, "\"w\""},
      {"a constant without its bytes", fault_constant_bytes, NPUC_DIAG_E0401, "\"w\""},
      {"a symbol that is not there", fault_symbol, NPUC_DIAG_E0414, "symbol"},
      {"a rank above the limit", fault_rank, NPUC_DIAG_E0414, "rank"},
      {"a stale shape", fault_stale_shape, NPUC_DIAG_E0414, "\"b\""},
      {"a stale type", fault_stale_type, NPUC_DIAG_E0413, "\"b\""},
      {"a scale of zero", fault_scale, NPUC_DIAG_E0418, "scale 0"},
      {"an axis that is not there", fault_axis, NPUC_DIAG_E0418, "axis 4"},
      {"too few scales", fault_scale_count, NPUC_DIAG_E0418, "wants 4"},
      {"a zero point that is no integer", fault_zero_type, NPUC_DIAG_E0418, "zero points"},
  };
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    module *m = npuc_test_module(good);
    diag *d = npuc_diag_create(NULL, NULL);
    faults[i].break_it(m->graphs[0]);
    if (npuc_graph_verify(d, m->graphs[0], "the-pass") == NPUC_OK) fail_msg("not found: %s", faults[i].rule);
    npuc_test_error_is(d, faults[i].code, faults[i].part);
    npuc_diag_destroy(d);
    npuc_module_destroy(m);
  }
}

static void a_good_graph_passes_with_quantized_values(void **state) {
  (void)state;
  module *m = npuc_test_module(good);
  quantized(m->graphs[0], "b", 0.5f, -1);
  quantized(m->graphs[0], "w", 0.5f, 0);
  assert_int_equal(npuc_module_verify(NULL, m, NULL), NPUC_OK);
  npuc_module_destroy(m);
}

static void the_message_names_the_pass_and_all_faults(void **state) {
  (void)state;
  module *m = npuc_test_module(good);
  diag *d = npuc_diag_create(NULL, NULL);
  fault_too_few(m->graphs[0]);
  fault_too_many(m->graphs[0]);
  assert_int_equal(npuc_graph_verify(d, m->graphs[0], "fold-batchnorm"), NPUC_BAD_INPUT);
  npuc_test_error_is(d, NPUC_DIAG_E0411, "after fold-batchnorm");
  assert_int_equal(npuc_diag_count(d), 2);
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
}

static void parts_have_names_of_their_own(void **state) {
  (void)state;
  module *m = npuc_test_module(good);
  npuc_graph_create(m, "main");
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_module_verify(d, m, NULL), NPUC_BAD_INPUT);
  npuc_test_error_is(d, NPUC_DIAG_E0416, "two parts");
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_violation_is_found),
      cmocka_unit_test(a_good_graph_passes_with_quantized_values),
      cmocka_unit_test(the_message_names_the_pass_and_all_faults),
      cmocka_unit_test(parts_have_names_of_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
