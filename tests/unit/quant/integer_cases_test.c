/* SPDX-License-Identifier: Apache-2.0 */
/* Each integer operator against docs/numerics.md: tests/data/integer/cases.txt holds what the formulas give in Python's exact integers,
 * and what ONNX Runtime gives through the operators' bodies (tests/peers/op_bodies.py). Here the same nodes are inferred, verified and evaluated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "ir/attributes.h"
#include "kernels/ref/integer.h"

enum { MOST_INPUTS = 6, LONGEST_LINE = 1 << 20 };

typedef struct one_case {
  module *m;
  graph *g;
  const op_def *op;
  tensor inputs[MOST_INPUTS];
  int32_t n_inputs;
  tensor wanted;
  char int_names[16][32];
  int64_t int_values[16][8];
  int int_counts[16];
  bool int_is_list[16];
  int n_ints;
} one_case;

static void *scratch(void *user, size_t bytes) {
  (void)bytes;
  return user;
}

/* "NAME DTYPE RANK DIMS.. HEX" */
static tensor read_tensor(char *rest) {
  tensor t = {0};
  (void)strtok(rest, " ");
  dtype type = (dtype)atoi(strtok(NULL, " "));
  shape s = {.rank = atoi(strtok(NULL, " "))};
  for (int32_t i = 0; i < s.rank; i++) s.dims[i] = atoll(strtok(NULL, " "));
  assert_int_equal(npuc_tensor_create(NULL, type, &s, &t), NPUC_OK);
  const char *hex = strtok(NULL, " \n");
  for (size_t i = 0; i < t.bytes; i++) {
    unsigned byte = 0;
    assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
    ((unsigned char *)t.data)[i] = (unsigned char)byte;
  }
  return t;
}

static void read_ints(one_case *c, char *rest, bool is_list) {
  int k = c->n_ints++;
  (void)snprintf(c->int_names[k], sizeof c->int_names[k], "%s", strtok(rest, " "));
  c->int_counts[k] = atoi(strtok(NULL, " "));
  c->int_is_list[k] = is_list;
  for (int i = 0; i < c->int_counts[k]; i++) c->int_values[k][i] = atoll(strtok(NULL, " \n"));
}

static void set_attributes(one_case *c, node *n) {
  for (int k = 0; k < c->n_ints; k++) {
    const attr_field *f = npuc_op_attribute(n->op, c->int_names[k]);
    assert_non_null(f);
    char *field = (char *)n->attributes + f->offset;
    if (c->int_is_list[k]) {
      int_list list = {.values = npuc_arena_copy(c->m->arena, c->int_values[k], sizeof c->int_values[k]), .count = c->int_counts[k]};
      memcpy(field, &list, sizeof list);
    } else {
      memcpy(field, c->int_values[k], sizeof(int64_t));
    }
  }
}

/* Builds the node, infers, verifies, evaluates; returns how many bytes differ. */
static int64_t run_case(one_case *c, unsigned char *memory, thread_pool *pool) {
  value *inputs[MOST_INPUTS];
  const tensor *data[MOST_INPUTS];
  for (int32_t i = 0; i < c->n_inputs; i++) {
    const char *name = c->op->inputs[i].name;
    bool activation = i == 0 || strcmp(name, "b") == 0;
    inputs[i] = activation ? npuc_graph_add_input(c->g, name, c->inputs[i].type, &c->inputs[i].shape)
                           : npuc_graph_add_constant(c->g, name, &c->inputs[i]);
    data[i] = &c->inputs[i];
  }
  node *n = npuc_graph_insert_node(c->g, NULL, c->op, "n", inputs, c->n_inputs, 1, NULL);
  set_attributes(c, n);
  npuc_graph_add_output(c->g, n->outputs[0]);
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_status status = npuc_graph_infer(d, c->g);
  if (status == NPUC_OK) status = npuc_graph_verify(d, c->g, NULL);
  if (status != NPUC_OK) print_error("%s: %s\n", c->op->type, npuc_diag_first_error(d)->reason);
  assert_int_equal(status, NPUC_OK);
  assert_int_equal(n->outputs[0]->type, c->wanted.type);
  assert_true(npuc_shape_equal(&n->outputs[0]->shape, &c->wanted.shape));
  tensor y;
  assert_int_equal(npuc_tensor_create(d, c->wanted.type, &c->wanted.shape, &y), NPUC_OK);
  eval_context context = {.d = d, .pool = pool, .node = n, .scratch = scratch, .user = memory};
  assert_int_equal(c->op->eval(&context, data, (tensor *[]){&y}), NPUC_OK);
  int64_t differ = 0;
  for (size_t i = 0; i < y.bytes; i++) differ += ((unsigned char *)y.data)[i] != ((unsigned char *)c->wanted.data)[i];
  npuc_tensor_release(&y);
  npuc_diag_destroy(d);
  return differ;
}

static void clear_case(one_case *c) {
  for (int32_t i = 0; i < c->n_inputs; i++) npuc_tensor_release(&c->inputs[i]);
  npuc_tensor_release(&c->wanted);
  npuc_module_destroy(c->m);
  memset(c, 0, sizeof *c);
}

static void start_case(one_case *c, const char *type) {
  c->m = npuc_module_create();
  c->g = npuc_graph_create(c->m, "case");
  c->op = npuc_op_find("npuc", type);
  assert_non_null(c->op);
}

typedef struct tally {
  int cases;
  int64_t elements, differ;
} tally;

/* Runs every case of the file; with `spoil` one y_zero_point or table byte too much is the negative control. */
static tally run_file(bool spoil) {
  FILE *f = fopen(NPUC_SOURCE_DIR "/tests/data/integer/cases.txt", "r");
  assert_non_null(f);
  char *line = malloc(LONGEST_LINE);
  unsigned char *memory = aligned_alloc(64, 1 << 22);
  assert_non_null(line);
  assert_non_null(memory);
  thread_pool *pool = npuc_pool_create(2);
  one_case c = {0};
  tally t = {0};
  while (fgets(line, LONGEST_LINE, f)) {
    char *rest = strchr(line, ' ');
    if (line[0] == '#' || !rest) continue;
    *rest++ = '\0';
    if (strcmp(line, "case") == 0) {
      rest[strcspn(rest, "\n")] = '\0';
      start_case(&c, rest);
    } else if (strcmp(line, "int") == 0 || strcmp(line, "ints") == 0) {
      read_ints(&c, rest, strcmp(line, "ints") == 0);
    } else if (strcmp(line, "input") == 0) {
      c.inputs[c.n_inputs++] = read_tensor(rest);
    } else {
      c.wanted = read_tensor(rest);
      if (spoil) ((unsigned char *)c.inputs[0].data)[0] ^= 0x55;
      t.differ += run_case(&c, memory, pool);
      t.elements += npuc_tensor_elements(&c.wanted);
      t.cases++;
      clear_case(&c);
    }
  }
  (void)fclose(f);
  free(line);
  free(memory);
  npuc_pool_destroy(pool);
  return t;
}

static void cases_equal_the_formulas(void **state) {
  (void)state;
  tally t = run_file(false);
  assert_int_equal(t.cases, 132);
  assert_true(t.elements > 5000);
  assert_int_equal(t.differ, 0);
}

static void a_changed_input_is_seen(void **state) {
  (void)state;
  tally t = run_file(true);
  assert_true(t.differ > 60);
}

/* Half up, toward plus infinity, negative numbers too. */
static void rounding_is_half_up(void **state) {
  (void)state;
  const int64_t p[] = {5, -5, 6, -6, 7, -7, 0};
  const int64_t by_two[] = {3, -2, 3, -3, 4, -3, 0};
  for (size_t i = 0; i < sizeof p / sizeof p[0]; i++) {
    assert_int_equal(npuc_round_shift(p[i], 0), p[i]);
    assert_int_equal(npuc_round_shift(p[i], 1), by_two[i]);
  }
  assert_int_equal(npuc_round_shift(-(INT64_C(1) << 62), 62), -1);
  assert_int_equal(npuc_round_shift(INT64_C(1) << 61, 62), 1);
  assert_int_equal(npuc_round_shift((INT64_C(1) << 61) - 1, 62), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rounding_is_half_up),
      cmocka_unit_test(cases_equal_the_formulas),
      cmocka_unit_test(a_changed_input_is_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
