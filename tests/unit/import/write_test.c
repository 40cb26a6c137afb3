/* SPDX-License-Identifier: Apache-2.0 */
/* What is written is read back the same: operators of both domains, scales, places, locations, external weights; and the file is the same bytes each time. That
 * other tools take the files is shown by tests/peers/check_onnx.py (onnx.checker with strict inference, ONNX Runtime through the bodies). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import/onnx/onnx.h"
#include "ir/attributes.h"
#include "support/scratch.h"

static tensor ints(arena *a, dtype type, int32_t rank, const int64_t *dims, int64_t first) {
  tensor t = {.type = type, .shape = {.rank = rank}};
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) {
    t.shape.dims[i] = dims[i];
    n *= dims[i];
  }
  assert_true(npuc_dtype_bytes(type, n, &t.bytes));
  t.data = npuc_arena_alloc(a, t.bytes);
  for (int64_t i = 0; i < n; i++) npuc_tensor_set_int(&t, i, first + i);
  return t;
}

static value *weights(graph *g, const char *name, dtype type, int32_t rank, const int64_t *dims, int64_t first) {
  tensor t = ints(g->module->arena, type, rank, dims, first);
  return npuc_graph_add_constant(g, name, &t);
}

static int_list list(module *m, const int64_t *values, int32_t n) {
  return (int_list){npuc_arena_copy(m->arena, values, (size_t)n * sizeof *values), n};
}

/* x [N,2,5,5] u8 -> QConv -> [N,3,5,5] -> QGlobalAveragePool -> Flatten -> y [N,3] */
static module *integer_module(void) {
  module *m = npuc_module_create();
  graph *g = npuc_graph_create(m, "integers");
  shape in = {.rank = 4, .dims = {npuc_module_symbol(m, "N"), 2, 5, 5}};
  value *x = npuc_graph_add_input(g, "x", DTYPE_U8, &in);
  const int64_t w_dims[] = {3, 2, 3, 3}, three = 3, one = 1, big = INT64_C(1) << 30;
  value *w = weights(g, "w", DTYPE_I8, 4, w_dims, -20), *b = weights(g, "b", DTYPE_I32, 1, &three, 1000);
  value *multiplier = weights(g, "M", DTYPE_I32, 1, &three, big), *shift = weights(g, "s", DTYPE_I32, 1, &three, 35);
  value *inputs[] = {x, w, b, multiplier, shift};
  static const location from = {.name = "features.0"};
  node *conv = npuc_graph_insert_node(g, NULL, npuc_op(OP_QCONV), "conv", inputs, 5, 1, &from);
  qconv_attributes *a = NPUC_ATTRS(qconv_attributes, conv);
  const int64_t k[] = {3, 3}, ones[] = {1, 1}, pads[] = {1, 1, 1, 1};
  a->kernel_shape = list(m, k, 2);
  a->strides = a->dilations = list(m, ones, 2);
  a->pads = list(m, pads, 4);
  a->group = 1;
  a->x_zero_point = 3;
  a->y_zero_point = 128;
  a->hi = 255;
  a->y_dtype = DTYPE_U8;
  conv->place = "npu";
  conv->place_reason = "fits";
  float scale[3] = {0.5f, 0.25f, 1e-3f};
  quant per_channel = {.axis = 0,
                       .scale = {.type = DTYPE_F32, .shape = {.rank = 1, .dims = {3}}, .data = scale, .bytes = sizeof scale},
                       .zero_point = ints(m->arena, DTYPE_I8, 1, &three, 0)};
  npuc_value_set_quant(w, &per_channel);
  quant per_tensor = {.axis = -1,
                      .scale = {.type = DTYPE_F32, .data = &scale[1], .bytes = sizeof(float)},
                      .zero_point = ints(m->arena, DTYPE_U8, 0, NULL, 128)};
  npuc_value_set_quant(conv->outputs[0], &per_tensor);
  value *pool_inputs[] = {conv->outputs[0], weights(g, "pool_M", DTYPE_I32, 1, &one, big), weights(g, "pool_s", DTYPE_I32, 1, &one, 34)};
  node *pool = npuc_graph_insert_node(g, NULL, npuc_op(OP_QGLOBALAVERAGEPOOL), "pool", pool_inputs, 3, 1, &from);
  qunary_attributes *p = NPUC_ATTRS(qunary_attributes, pool);
  *p = (qunary_attributes){.x_zero_point = 128, .y_zero_point = 10, .hi = 255, .y_dtype = DTYPE_U8};
  node *flat = npuc_graph_insert_node(g, NULL, npuc_op(OP_FLATTEN), "y", &pool->outputs[0], 1, 1, NULL);
  npuc_graph_add_output(g, flat->outputs[0]);
  npuc_map_put(m->metadata, "npuc.scheme", npuc_arena_str(m->arena, "w8a8"));
  return m;
}

static void same_value(const value *a, const value *b) {
  assert_string_equal(a->name, b->name);
  assert_int_equal(a->type, b->type);
  assert_int_equal(a->shape.rank, b->shape.rank);
  assert_int_equal(a->constant != NULL, b->constant != NULL);
  if (a->constant) assert_true(npuc_tensor_equal(a->constant, b->constant));
  assert_int_equal(a->quant != NULL, b->quant != NULL);
  if (!a->quant) return;
  assert_int_equal(a->quant->axis, b->quant->axis);
  assert_true(npuc_tensor_equal(&a->quant->scale, &b->quant->scale));
  assert_true(npuc_tensor_equal(&a->quant->zero_point, &b->quant->zero_point));
}

static void same_text(const char *a, const char *b) {
  assert_int_equal(a != NULL, b != NULL);
  if (a) assert_string_equal(a, b);
}

static void same_module(const module *a, const module *b) {
  const graph *g = a->graphs[0], *h = b->graphs[0];
  assert_int_equal(g->n_nodes, h->n_nodes);
  assert_int_equal(npuc_map_count(g->values), npuc_map_count(h->values));
  assert_int_equal(npuc_map_count(a->metadata), npuc_map_count(b->metadata));
  const node *q = h->first;
  for (const node *n = g->first; n; n = n->next, q = q->next) {
    assert_string_equal(n->name, q->name);
    assert_ptr_equal(n->op, q->op);
    assert_int_equal(n->n_inputs, q->n_inputs);
    assert_true(npuc_attributes_equal(n->op, n->attributes, q->attributes));
    for (int32_t i = 0; i < n->n_inputs; i++) same_value(n->inputs[i], q->inputs[i]);
    for (int32_t i = 0; i < n->n_outputs; i++) same_value(n->outputs[i], q->outputs[i]);
    same_text(n->place, q->place);
    same_text(n->place_reason, q->place_reason);
    assert_string_equal(n->location ? n->location->name : n->name, q->location->name);
  }
}

static void write_and_read(const module *m, const char *path, const onnx_weights *w, module **out) {
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_status status = npuc_onnx_write(d, m, path, w);
  if (status == NPUC_OK) status = npuc_onnx_read(d, path, out);
  if (status != NPUC_OK) fail_msg("%s: %s", path, npuc_diag_first_error(d)->reason);
  npuc_diag_destroy(d);
}

static void same_bytes(const char *a, const char *b) {
  mapped_file *f, *g;
  assert_int_equal(npuc_file_map(NULL, a, &f), NPUC_OK);
  assert_int_equal(npuc_file_map(NULL, b, &g), NPUC_OK);
  assert_int_equal(npuc_file_size(f), npuc_file_size(g));
  assert_memory_equal(npuc_file_bytes(f), npuc_file_bytes(g), npuc_file_size(f));
  npuc_file_release(f);
  npuc_file_release(g);
}

static void integers_come_back_the_same(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *first = npuc_path_join(a, dir, "a.onnx"), *second = npuc_path_join(a, dir, "b.onnx");
  module *m = integer_module(), *again = NULL, *third = NULL;
  assert_int_equal(npuc_graph_infer(NULL, m->graphs[0]), NPUC_OK);
  write_and_read(m, first, NULL, &again);
  same_module(m, again);
  write_and_read(again, second, NULL, &third);
  same_bytes(first, second);
  const char *keep = getenv("NPUC_KEEP_ONNX"); /* for tests/peers */
  if (keep) assert_int_equal(npuc_onnx_write(NULL, m, keep, NULL), NPUC_OK);
  npuc_module_destroy(m);
  npuc_module_destroy(again);
  npuc_module_destroy(third);
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

static void the_demo_comes_back_the_same(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *first = npuc_path_join(a, dir, "a.onnx"), *second = npuc_path_join(a, dir, "b.onnx");
  module *m = NULL, *again = NULL, *third = NULL;
  assert_int_equal(npuc_onnx_read(NULL, NPUC_SOURCE_DIR "/examples/demo/model.onnx", &m), NPUC_OK);
  write_and_read(m, first, NULL, &again);
  same_module(m, again);
  write_and_read(again, second, NULL, &third);
  same_bytes(first, second);
  npuc_module_destroy(m);
  npuc_module_destroy(again);
  npuc_module_destroy(third);
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

typedef struct pool {
  file_writer *file;
  char *dir;
  int n_placed;
} pool;

static npuc_status place(void *user, diag *d, const tensor *t, const char **out_location, uint64_t *out_offset) {
  (void)d;
  pool *p = user;
  *out_location = "weights/pool.bin";
  *out_offset = npuc_writer_offset(p->file);
  p->n_placed++;
  return npuc_writer_write(p->file, t->data, t->bytes);
}

static void external_weights_come_back_the_same(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *path = npuc_path_join(a, dir, "a.onnx"), *weights_dir = npuc_path_join(a, dir, "weights");
  module *m = NULL, *again = NULL;
  assert_int_equal(npuc_onnx_read(NULL, NPUC_SOURCE_DIR "/examples/demo/model.onnx", &m), NPUC_OK);
  assert_int_equal(npuc_dir_create(NULL, weights_dir), NPUC_OK);
  pool p = {.dir = dir};
  char *bin = npuc_path_join(a, weights_dir, "pool.bin");
  assert_int_equal(npuc_writer_create(NULL, bin, &p.file), NPUC_OK);
  const onnx_weights w = {.min_bytes = 256, .place = place, .user = &p};
  assert_int_equal(npuc_onnx_write(NULL, m, path, &w), NPUC_OK);
  assert_int_equal(npuc_writer_commit(p.file), NPUC_OK);
  assert_true(p.n_placed > 5);
  assert_int_equal(npuc_onnx_read(NULL, path, &again), NPUC_OK);
  same_module(m, again);
  npuc_module_destroy(again);
  /* Control: one byte less, and the last tensor is named. */
  mapped_file *f;
  assert_int_equal(npuc_file_map(NULL, bin, &f), NPUC_OK);
  assert_int_equal(npuc_file_write_all(NULL, npuc_path_join(a, dir, "short"), npuc_file_bytes(f), npuc_file_size(f) - 1), NPUC_OK);
  npuc_file_release(f);
  assert_int_equal(rename(npuc_path_join(a, dir, "short"), bin), 0);
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_onnx_read(d, path, &again), NPUC_BAD_INPUT);
  assert_int_equal(npuc_diag_first_error(d)->code, NPUC_DIAG_E0306);
  assert_non_null(strstr(npuc_diag_first_error(d)->reason, "weights/pool.bin"));
  npuc_diag_destroy(d);
  npuc_module_destroy(m);
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers_come_back_the_same),
      cmocka_unit_test(the_demo_comes_back_the_same),
      cmocka_unit_test(external_weights_come_back_the_same),
  };
  return cmocka_run_group_tests_name("onnx write", tests, NULL, NULL);
}
