/* SPDX-License-Identifier: Apache-2.0 */
#include "support/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void show(void *user, const diag_record *r) {
  (void)user;
  print_message("%s node %s op %s attribute %s: %s\n", npuc_diag_info(r->code)->text_code, r->place.node ? r->place.node : "-",
                r->place.op ? r->place.op : "-", r->place.attribute ? r->place.attribute : "-", r->reason);
}

module *npuc_test_parse(const char *text) {
  diag *d = npuc_diag_create(show, NULL);
  module *m = NULL;
  npuc_status status = npuc_module_parse(d, "test", text, strlen(text), &m);
  npuc_diag_destroy(d);
  assert_int_equal(status, NPUC_OK);
  return m;
}

module *npuc_test_module(const char *text) {
  module *m = npuc_test_parse(text);
  diag *d = npuc_diag_create(show, NULL);
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < m->n_graphs && status == NPUC_OK; i++) status = npuc_graph_infer(d, m->graphs[i]);
  if (status == NPUC_OK) status = npuc_module_verify(d, m, NULL);
  npuc_diag_destroy(d);
  assert_int_equal(status, NPUC_OK);
  return m;
}

/* Words with one blank between them. */
static char *squeezed(arena *a, const char *text) {
  char *result = npuc_arena_alloc(a, strlen(text) + 1), *to = result;
  for (; *text; text++) {
    bool blank = *text == ' ' || *text == '\n';
    if (!blank)
      *to++ = *text;
    else if (to > result && to[-1] != ' ')
      *to++ = ' ';
  }
  if (to > result && to[-1] == ' ') to[-1] = 0;
  return result;
}

void npuc_test_graph_is(const graph *g, const char *expected) {
  arena *a = npuc_arena_create();
  const char *printed = npuc_graph_print(a, g, &(text_options){.max_elements = -1});
  bool equal = strcmp(squeezed(a, printed), squeezed(a, expected)) == 0;
  if (!equal) print_message("expected:\n%s\ngot:\n%s\n", expected, printed);
  npuc_arena_destroy(a);
  assert_true(equal);
}

void npuc_test_type_is(const graph *g, const char *name, const char *expected) {
  const value *v = npuc_graph_value(g, name);
  assert_non_null(v);
  arena *a = npuc_arena_create();
  assert_string_equal(npuc_type_print(a, g->module, v->type, &v->shape), expected);
  npuc_arena_destroy(a);
}

void npuc_test_error_is(const diag *d, diag_code code, const char *part) {
  const diag_record *r = npuc_diag_first_error(d);
  assert_non_null(r);
  const char *texts[] = {r->reason, r->place.node, r->place.op, r->place.attribute};
  bool found = false;
  for (int i = 0; i < 4; i++) found = found || (texts[i] && strstr(texts[i], part));
  if (r->code != code || !found) {
    fail_msg("expected %s with \"%s\", got %s: %s", npuc_diag_info(code)->text_code, part, npuc_diag_info(r->code)->text_code, r->reason);
  }
}

/* By value id: how many node inputs it is. */
static size_t *count_reads(const graph *g) {
  size_t *reads = calloc(g->next_value_id + (size_t)1, sizeof *reads);
  assert_non_null(reads);
  NPUC_EACH_NODE(g, n) {
    for (int32_t i = 0; i < n->n_inputs; i++) {
      if (n->inputs[i]) reads[n->inputs[i]->id]++;
    }
  }
  return reads;
}

static size_t count_ports(value *const *ports, size_t n, const value *v) {
  size_t found = 0;
  for (size_t i = 0; i < n; i++) found += ports[i] == v;
  return found;
}

void npuc_test_recount(const graph *g) {
  size_t cursor = 0, nodes = 0, *reads = count_reads(g);
  const char *key;
  void *item;
  while (npuc_map_next(g->values, &cursor, &key, &item)) {
    const value *v = item;
    assert_string_equal(v->name, key);
    assert_int_equal(v->n_uses, reads[v->id]);
    for (size_t i = 0; i < v->n_uses; i++) {
      const use *u = &v->uses[i];
      assert_ptr_equal(u->user->inputs[u->index], v);
      assert_int_equal(u->user->use_slots[u->index], i); /* so that no two are the same */
    }
    assert_int_equal(v->is_input, count_ports(g->inputs, g->n_inputs, v));
    assert_int_equal(v->is_output, count_ports(g->outputs, g->n_outputs, v) > 0);
    if (v->producer) assert_ptr_equal(v->producer->outputs[v->output_index], v);
  }
  const node *last = NULL;
  NPUC_EACH_NODE(g, n) {
    assert_ptr_equal(n->prev, last);
    assert_ptr_equal(npuc_graph_node(g, n->name), n);
    for (int32_t i = 0; i < n->n_outputs; i++) assert_true(!n->outputs[i] || npuc_graph_value(g, n->outputs[i]->name) == n->outputs[i]);
    last = n;
    nodes++;
  }
  assert_ptr_equal(g->last, last);
  assert_int_equal(nodes, g->n_nodes);
  assert_int_equal(npuc_map_count(g->node_names), nodes);
  free(reads);
}
