/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference of single nodes against ONNX's own: infer_cases.txt, written by infer_cases.py. Wherever ONNX names a dim we name the
 * same; where it leaves one open we may say more; what it refuses we refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/attributes.h"

enum { MAX_PORTS = 8, LINE = 1024 };

typedef struct bench {
  module *m;
  graph *g;
  diag *d;
  fact inputs[MAX_PORTS];
  const fact *refs[MAX_PORTS];
  value *values[MAX_PORTS];
  int32_t n_inputs;
} bench;

static char *trim(char *text) {
  while (*text == ' ') text++;
  size_t n = strlen(text);
  while (n && (text[n - 1] == ' ' || text[n - 1] == '\n')) text[--n] = '\0';
  return text;
}

/* Cuts at `separator`; returns the number of fields, trimmed. */
static int cut(char *text, const char *separator, char **out, int most) {
  int n = 0;
  size_t width = strlen(separator);
  while (n < most) {
    char *end = strstr(text, separator);
    if (end) *end = '\0';
    out[n++] = trim(text);
    if (!end) break;
    text = end + width;
  }
  return n;
}

static dim parse_dim(module *m, const char *text) {
  if (strcmp(text, "?") == 0) return DIM_UNKNOWN;
  char *end;
  long long number = strtoll(text, &end, 10);
  return *end == '\0' ? (dim)number : npuc_module_symbol(m, text);
}

/* "1:N,3" or "7:2=4,5" */
static void parse_port(module *m, char *text, fact *out, tensor *constant, int64_t *numbers) {
  *out = (fact){.shape = {.rank = 0}};
  char *colon = strchr(text, ':');
  assert_non_null(colon);
  out->type = (dtype)atoi(text);
  char *content = strchr(colon, '=');
  if (content) *content++ = '\0';
  char *dims[MAX_RANK + 1];
  if (strcmp(colon + 1, "*") == 0) {
    out->shape.rank = -1;
  } else if (colon[1]) {
    out->shape.rank = cut(colon + 1, ",", dims, MAX_RANK);
    for (int i = 0; i < out->shape.rank; i++) out->shape.dims[i] = parse_dim(m, dims[i]);
  }
  if (!content) return;
  char *items[16];
  int n = *content ? cut(content, ",", items, 16) : 0;
  double floats[16];
  for (int i = 0; i < n; i++) {
    numbers[i] = strtoll(items[i], NULL, 10);
    floats[i] = strtod(items[i], NULL);
  }
  npuc_status status = out->type == DTYPE_F32 ? npuc_tensor_of_floats(NULL, out->type, floats, out->shape.rank ? n : -1, constant)
                                              : npuc_tensor_of_ints(NULL, out->type, numbers, out->shape.rank ? n : -1, constant);
  assert_int_equal(status, NPUC_OK);
  out->constant = constant;
}

static void set_list(module *m, int_list *list, char *text) {
  char *items[16];
  list->count = cut(text, ",", items, 16);
  list->values = NPUC_NEW_ARRAY(m->arena, (size_t)list->count, int64_t);
  for (int32_t i = 0; i < list->count; i++) list->values[i] = strtoll(items[i], NULL, 10);
}

static void set_strings(module *m, string_list *list, char *text) {
  char *items[16];
  list->count = cut(text, ",", items, 16);
  list->values = NPUC_NEW_ARRAY(m->arena, (size_t)list->count, const char *);
  for (int32_t i = 0; i < list->count; i++) list->values[i] = npuc_arena_str(m->arena, items[i]);
}

static void set_attribute(module *m, node *n, char *text, tensor *constant) {
  char *equals = strchr(text, '=');
  *equals = '\0';
  const attr_field *f = npuc_op_attribute(n->op, text);
  assert_non_null(f);
  char *at = (char *)n->attributes + f->offset, *given = equals + 1;
  int64_t number = strtoll(given, NULL, 10);
  switch (f->kind) {
    case ATTR_INT:
      *(int64_t *)at = number;
      break;
    case ATTR_FLOAT:
      *(float *)at = strtof(given, NULL);
      break;
    case ATTR_STRING:
      *(const char **)at = npuc_arena_str(m->arena, given);
      break;
    case ATTR_INTS:
      set_list(m, (int_list *)at, given);
      break;
    case ATTR_TENSOR:
      assert_int_equal(npuc_tensor_of_ints(NULL, DTYPE_I64, &number, 1, constant), NPUC_OK);
      *(const tensor **)at = constant;
      break;
    case ATTR_STRINGS:
      set_strings(m, (string_list *)at, given);
      break;
    case ATTR_FLOATS:
    case ATTR_GRAPH:
    case ATTR_TYPE:
      fail();
      break;
  }
}

static bool agrees(const fact *ours, const fact *onnx) {
  if (onnx->type != DTYPE_NONE && ours->type != onnx->type) return false;
  if (onnx->shape.rank < 0) return true;
  if (ours->shape.rank != onnx->shape.rank) return false;
  for (int32_t i = 0; i < onnx->shape.rank; i++) {
    if (onnx->shape.dims[i] != DIM_UNKNOWN && ours->shape.dims[i] != onnx->shape.dims[i]) return false;
  }
  return true;
}

/* Verify and infer, as the importer does. */
static npuc_status judge(bench *b, node *n, fact *outputs, arena *scratch) {
  infer_context c = {.d = b->d, .module = b->m, .scratch = scratch, .node = n, .inputs = b->refs, .outputs = outputs};
  if (n->op->verify) NPUC_TRY(n->op->verify(b->d, n));
  return n->op->infer(&c);
}

static bool run_case(char *line) {
  char *fields[4], *ports[MAX_PORTS], *attributes[16], *wanted[MAX_PORTS];
  assert_int_equal(cut(line, "|", fields, 4), 4);
  bench b = {.m = npuc_module_create(), .d = npuc_diag_create(NULL, NULL)};
  b.g = npuc_graph_create(b.m, "g");
  arena *scratch = npuc_arena_create();
  const op_def *op = npuc_op_find("", fields[0]);
  assert_non_null(op);
  tensor constants[MAX_PORTS + 1] = {0};
  int64_t numbers[16];
  b.n_inputs = *fields[2] ? cut(fields[2], ";", ports, MAX_PORTS) : 0;
  while (b.n_inputs && strcmp(ports[b.n_inputs - 1], "-") == 0) b.n_inputs--;
  for (int32_t i = 0; i < b.n_inputs; i++) {
    if (strcmp(ports[i], "-") == 0) continue;
    parse_port(b.m, ports[i], &b.inputs[i], &constants[i], numbers);
    char name[16];
    (void)snprintf(name, sizeof name, "i%d", i);
    b.values[i] = b.inputs[i].constant ? npuc_graph_add_constant(b.g, name, b.inputs[i].constant)
                                       : npuc_graph_add_input(b.g, name, b.inputs[i].type, &b.inputs[i].shape);
    b.refs[i] = &b.inputs[i];
  }
  bool refused = strcmp(fields[3], "error") == 0;
  int32_t n_outputs = refused ? 1 : cut(fields[3], ";", wanted, MAX_PORTS);
  int n_attributes = *fields[1] ? cut(fields[1], " ", attributes, 16) : 0;
  if (strcmp(op->type, "Split") == 0) { /* its arity is part of the case */
    for (int i = 0; i < n_attributes && refused; i++) {
      if (strncmp(attributes[i], "num_outputs=", 12) == 0) n_outputs = atoi(attributes[i] + 12);
    }
  }
  node *n = npuc_graph_insert_node(b.g, NULL, op, "n", b.values, b.n_inputs, n_outputs, NULL);
  for (int i = 0; i < n_attributes; i++) set_attribute(b.m, n, attributes[i], &constants[MAX_PORTS]);
  fact outputs[MAX_PORTS];
  for (int i = 0; i < MAX_PORTS; i++) outputs[i] = (fact){.shape = SHAPE_UNKNOWN};
  npuc_status status = judge(&b, n, outputs, scratch);
  bool good = refused ? status != NPUC_OK && npuc_diag_first_error(b.d) != NULL : status == NPUC_OK;
  for (int32_t i = 0; good && !refused && i < n_outputs; i++) {
    fact onnx;
    parse_port(b.m, wanted[i], &onnx, NULL, NULL);
    good = agrees(&outputs[i], &onnx);
  }
  npuc_arena_destroy(scratch);
  npuc_module_destroy(b.m);
  npuc_diag_destroy(b.d);
  for (int i = 0; i <= MAX_PORTS; i++) npuc_tensor_release(&constants[i]);
  return good;
}

static void agrees_with_onnx(void **state) {
  (void)state;
  FILE *file = fopen(NPUC_SOURCE_DIR "/tests/unit/ir_ops/infer_cases.txt", "r");
  assert_non_null(file);
  char line[LINE], shown[LINE];
  int cases = 0, wrong = 0;
  while (fgets(line, sizeof line, file)) {
    if (line[0] == '#') continue;
    memcpy(shown, line, sizeof line);
    cases++;
    if (!run_case(line)) {
      wrong++;
      print_error("%s", shown);
    }
  }
  (void)fclose(file);
  assert_true(cases > 2000);
  assert_int_equal(wrong, 0);
}

/* The judge itself must be able to say no. */
static void wrong_cases_are_told(void **state) {
  (void)state;
  char wrong_dim[] = "Conv | kernel_shape=3 | 1:1,2,8 ; 1:4,2,3 | 1:1,4,7";
  char wrong_type[] = "Relu |  | 1:2,3 | 7:2,3";
  char not_refused[] = "Relu |  | 1:2,3 | error";
  assert_false(run_case(wrong_dim));
  assert_false(run_case(wrong_type));
  assert_false(run_case(not_refused));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_onnx), cmocka_unit_test(wrong_cases_are_told)};
  return cmocka_run_group_tests_name("ir_ops/infer", tests, NULL, NULL);
}
