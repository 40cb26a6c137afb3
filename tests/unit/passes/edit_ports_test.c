/* SPDX-License-Identifier: Apache-2.0 */
/* Edits that change a model's inputs and outputs. The graph is compared as text, and the numbers by running both models: the new one on inputs rearranged as the edit says, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "passes/edits/edits.h"
#include "support/ir.h"

enum { MAX_PORTS = 8 };

typedef struct fixture {
  arena *a;
  diag *d;
  module *before, *m, *part; /* part: what an edit wrote beside */
  tensor table;
  const char *table_name;
  npuc_status status;
  pass_report report;
} fixture;

static npuc_status keep_tensor(void *user, diag *d, const char *name, const tensor *t) {
  fixture *f = user;
  f->table_name = npuc_arena_str(f->a, name);
  return npuc_tensor_align(d, t, &f->table);
}

static npuc_status keep_model(void *user, diag *d, const char *name, const module *m) {
  fixture *f = user;
  (void)d;
  assert_string_equal(name, "lm_head.onnx");
  f->part = npuc_module_clone(m);
  return NPUC_OK;
}

static fixture edited(const char *text, const char *edit) {
  fixture f = {.a = npuc_arena_create(), .d = npuc_diag_create(NULL, NULL), .before = npuc_test_module(text), .m = npuc_test_module(text)};
  side_files side = {.tensor = keep_tensor, .model = keep_model, .user = &f};
  edit_plan *p = npuc_edit_plan_create();
  f.status = npuc_edit_plan_add(f.d, p, "--edit", edit);
  if (f.status == NPUC_OK) f.status = npuc_edit_plan_finish(f.d, p);
  if (f.status == NPUC_OK) f.status = npuc_edits_run(f.d, f.a, f.m, p, &(pass_options){.limit = -1, .side_files = &side}, &f.report);
  npuc_edit_plan_destroy(p);
  if (f.status == NPUC_OK) npuc_test_recount(f.m->graphs[0]);
  return f;
}

static void finish(fixture *f) {
  npuc_tensor_release(&f->table);
  npuc_module_destroy(f->before);
  npuc_module_destroy(f->m);
  npuc_module_destroy(f->part);
  npuc_diag_destroy(f->d);
  npuc_arena_destroy(f->a);
}

static void refused(const char *text, const char *edit, const char *reason) {
  fixture f = edited(text, edit);
  assert_int_not_equal(f.status, NPUC_OK);
  npuc_test_error_is(f.d, NPUC_DIAG_E0510, reason);
  finish(&f);
}

static void finds_nothing(const char *text, const char *edit) {
  fixture f = edited(text, edit);
  assert_int_equal(f.status, NPUC_OK);
  assert_int_equal(f.report.n_rewrites, 0);
  assert_int_equal(npuc_diag_at(f.d, 0)->code, NPUC_DIAG_E0512);
  finish(&f);
}

/* A tensor of 1, 2, 3, .. times `step`. */
static tensor counting(const value *v, double step) {
  tensor t;
  assert_int_equal(npuc_tensor_create(NULL, v->type, &v->shape, &t), NPUC_OK);
  for (int64_t i = 0; i < npuc_tensor_elements(&t); i++) npuc_tensor_set(&t, i, (double)(i + 1) * step);
  return t;
}

/* Output `index`, copied; the inputs are released. */
static tensor run(const module *m, tensor *inputs, size_t index) {
  tensor outputs[MAX_PORTS], copy;
  executor *e;
  assert_int_equal(npuc_executor_create(NULL, m->graphs[0], &(exec_options){0}, &e), NPUC_OK);
  assert_int_equal(npuc_executor_run(e, NULL, inputs, outputs), NPUC_OK);
  assert_int_equal(npuc_tensor_create(NULL, outputs[index].type, &outputs[index].shape, &copy), NPUC_OK);
  memcpy(copy.data, outputs[index].data, copy.bytes);
  npuc_executor_destroy(e);
  for (size_t i = 0; i < m->graphs[0]->n_inputs; i++) npuc_tensor_release(&inputs[i]);
  return copy;
}

static void equal_bits(tensor *a, tensor *b) {
  assert_true(npuc_tensor_equal(a, b));
  assert_true(npuc_tensor_get(a, 0) != 0.0);
  npuc_tensor_release(a);
  npuc_tensor_release(b);
}

static const char cache[] =
    "g (float[1,2,3,1] \"past_key_values.0.key\", float[1,2,3,1] \"past_key_values.0.value\", float[1] x) => (float[1,2,3,1] "
    "\"present.0.key\", float[1,2,3,1] "
    "\"present.0.value\") { \"present.0.key\" = Mul (\"past_key_values.0.key\", x) \"present.0.value\" = Add (\"past_key_values.0.value\", "
    "x) }";

static void key_and_value_share_a_port(void **state) {
  (void)state;
  fixture f = edited(cache, "combine-kv-io-tensors");
  assert_int_equal(f.status, NPUC_OK);
  const graph *g = f.m->graphs[0];
  assert_int_equal(g->n_inputs, 2);
  assert_int_equal(g->n_outputs, 1);
  assert_string_equal(g->inputs[0]->name, "past_key_values.0.key_value");
  assert_string_equal(g->outputs[0]->name, "present.0.key_value");
  npuc_test_type_is(g, "past_key_values.0.key_value", "float[1,4,3,1]");
  npuc_test_type_is(g, "present.0.key_value", "float[1,4,3,1]");
  tensor both[] = {counting(g->inputs[0], 0.5), counting(g->inputs[1], 3.0)}, y = run(f.m, both, 0);
  for (int i = 0; i < 12; i++) {
    double in = (i + 1) * 0.5, wanted = i < 6 ? in * 3.0 : in + 3.0; /* heads 0 and 1 are keys */
    assert_true(npuc_tensor_get(&y, i) == wanted);
  }
  npuc_tensor_release(&y);
  finish(&f);
  refused("g (float[1,2,3,1] \"past_key_values.0.key\") => (float[1,2,3,1] y) { y = Neg (\"past_key_values.0.key\") }",
          "combine-kv-io-tensors", "missing");
  refused(
      "g (float[1,2,3,1] \"past_key_values.0.key\", float[1,2,4,1] \"past_key_values.0.value\") => (float[1,2,3,1] y, float[1,2,4,1] z) { "
      "y = Neg "
      "(\"past_key_values.0.key\") z = Neg (\"past_key_values.0.value\") }",
      "combine-kv-io-tensors", "one static shape");
  finds_nothing(cache, "combine-kv-io-tensors:past=past,present=now");
}

static void keys_are_turned_once(void **state) {
  (void)state;
  static const char encoder[] =
      "g (float[1,2,3,4] x) => (float[1,3,2,4] \"present.0.encoder.key\") { \"present.0.encoder.key\" = Transpose <perm = [0, 2, 1, 3]> "
      "(x) }";
  static const char decoder[] =
      "g (float[1,3,2,4] \"past.0.encoder.key\") => (float[1,3,4,2] y) { t = Transpose <perm = [0, 1, 3, 2]> (\"past.0.encoder.key\") y = "
      "Neg (t) }";
  fixture f = edited(encoder, "RetargetCrossAttnKeyLayout"), h = edited(decoder, "RetargetCrossAttnKeyLayout");
  npuc_test_type_is(f.m->graphs[0], "present.0.encoder.key", "float[1,3,4,2]");
  npuc_test_type_is(h.m->graphs[0], "past.0.encoder.key", "float[1,3,4,2]");
  assert_int_equal(h.m->graphs[0]->n_nodes, 1);
  /* the old pair and the new pair, one behind the other, give the same */
  tensor x = counting(f.before->graphs[0]->inputs[0], 1.0), x2 = counting(f.before->graphs[0]->inputs[0], 1.0);
  tensor old_key = run(f.before, &x, 0), new_key = run(f.m, &x2, 0), old = run(h.before, &old_key, 0), now = run(h.m, &new_key, 0);
  equal_bits(&old, &now);
  finish(&f);
  finish(&h);
  finds_nothing("g (float[1,2,3,4] x) => (float[1,4,3,2] \"a.encoder.key\") { \"a.encoder.key\" = Transpose <perm = [0, 3, 2, 1]> (x) }",
                "retarget-cross-attn-key-layout");
}

static const char embedding[] =
    "g (int64[1,2] ids, float[2] b) => (float[1,2,2] y) <float[3,2] table = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> { e = Gather (table, ids) y = "
    "Add (e, b) }";

static void a_table_becomes_an_input(void **state) {
  (void)state;
  fixture f = edited(embedding, "extract-constant-lut");
  assert_int_equal(f.status, NPUC_OK);
  npuc_test_graph_is(f.m->graphs[0],
                     "g (float[1,2,2] inputs_embeds, float[2] b) => (float[1,2,2] y)\n{\n   y = Add (inputs_embeds, b)\n}\n");
  assert_string_equal(f.table_name, "token_embeddings.npy");
  tensor ids = counting(f.before->graphs[0]->inputs[0], 1.0), rows = counting(f.m->graphs[0]->inputs[0], 0.0); /* tokens 1 and 2 */
  for (int i = 0; i < 4; i++) npuc_tensor_set(&rows, i, npuc_tensor_get(&f.table, 2 + i));
  tensor old_in[] = {ids, counting(f.m->graphs[0]->inputs[1], 0.25)}, new_in[] = {rows, counting(f.m->graphs[0]->inputs[1], 0.25)};
  tensor old = run(f.before, old_in, 0), now = run(f.m, new_in, 0);
  equal_bits(&old, &now);
  finish(&f);
  finds_nothing(embedding, "extract-constant-lut:lut_shape=4,2");
  refused(
      "g (int64[1] i, int64[1] j) => (float[1,2] y, float[1,2] z) <float[3,2] a = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, float[1,2] b = {1.0, "
      "2.0}> { y0 = "
      "Gather (a, i) y = Neg (y0) z0 = Gather (b, j) z = Neg (z0) }",
      "extract-constant-lut", "two lookups");
}

static const char language[] =
    "g (float[1,2] x) => (float[1,3] logits, float[1,2] state) <float[2,3] w = {1.0, -2.0, 3.0, 4.0, 5.0, -6.0}, float[3] b = {0.5, 0.25, "
    "0.125}> "
    "{ h = Tanh (x) p = MatMul (h, w) logits = Add (p, b) state = Neg (h) }";

static void the_head_stands_apart(void **state) {
  (void)state;
  fixture f = edited(language, "split-lm-head");
  assert_int_equal(f.status, NPUC_OK);
  assert_non_null(f.part);
  npuc_test_graph_is(f.m->graphs[0],
                     "g (float[1,2] x) => (float[1,2] last_hidden_states, float[1,2] state)\n{\n   [h] last_hidden_states = Tanh (x)\n"
                     "   state = Neg (last_hidden_states)\n}\n");
  assert_string_equal(f.part->graphs[0]->inputs[0]->name, "last_hidden_states");
  assert_string_equal(f.part->graphs[0]->outputs[0]->name, "logits");
  tensor x = counting(f.before->graphs[0]->inputs[0], 0.3), x2 = counting(f.before->graphs[0]->inputs[0], 0.3);
  tensor old = run(f.before, &x, 0), hidden = run(f.m, &x2, 0), now = run(f.part, &hidden, 0);
  equal_bits(&old, &now);
  finish(&f);
  finds_nothing(language, "split-lm-head:output=scores");
  refused("g (float[1,2] x) => (float[1,2] logits) <float[2,2] w = {1.0, 2.0, 3.0, 4.0}> { logits = MatMul (x, w) }", "split-lm-head",
          "port already");
}

static const char plain[] =
    "g (float[1,2] x) => (float[1,4] logits) <float[4,2] w = {1.0, -2.0, 3.0, 4.0, 5.0, -6.0, 7.0, 8.0}, float[4] b = {0.5, 0.25, 0.125, "
    "2.0}> { logits = Gemm "
    "<transB = 1> (x, w, b) }";

static void the_head_keeps_some_tokens(void **state) {
  (void)state;
  fixture f = edited(plain, "trim-lm-head-vocab:kept_token_ids=3,0,include_argmax=1");
  assert_int_equal(f.status, NPUC_OK);
  npuc_test_type_is(f.m->graphs[0], "logits", "float[1,2]");
  assert_string_equal(f.table_name, "token_id_lut.npy");
  tensor x = counting(f.m->graphs[0]->inputs[0], 0.5), x2 = counting(f.m->graphs[0]->inputs[0], 0.5),
         x3 = counting(f.m->graphs[0]->inputs[0], 0.5);
  tensor old = run(f.before, &x, 0), now = run(f.m, &x2, 0), best = run(f.m, &x3, 1);
  for (int i = 0; i < 2; i++) assert_true(npuc_tensor_get(&now, i) == npuc_tensor_get(&old, npuc_tensor_get_int(&f.table, i)));
  assert_int_equal(npuc_tensor_get_int(&best, 0), npuc_tensor_get(&now, 0) >= npuc_tensor_get(&now, 1) ? 0 : 1);
  npuc_tensor_release(&old);
  npuc_tensor_release(&now);
  npuc_tensor_release(&best);
  finish(&f);
  refused(plain, "trim-lm-head-vocab:kept_token_ids=4", "token 4");
  refused(language, "trim-lm-head-vocab:kept_token_ids=1", "not made by a product");
  finds_nothing(plain, "trim-lm-head-vocab:kept_token_ids=1,output=scores");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(key_and_value_share_a_port), cmocka_unit_test(keys_are_turned_once),
      cmocka_unit_test(a_table_becomes_an_input),   cmocka_unit_test(the_head_stands_apart),
      cmocka_unit_test(the_head_keeps_some_tokens),
  };
  return cmocka_run_group_tests_name("passes/edit_ports", tests, NULL, NULL);
}
