/* SPDX-License-Identifier: Apache-2.0 */
/* Exported programs as torch writes them (tests/data/torch/make.py): a convolution with a write in place through a view, a buffer that the
 * program writes, a transposed weight. Every layout of the archive gives torch's own outputs (net.npz); archives that lie are refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "formats/npz.h"
#include "import/pt2/pt2.h"
#include "support/damage.h"

#define DATA NPUC_SOURCE_DIR "/tests/data/torch/"

static double distance(const tensor *a, const tensor *b) {
  double worst = 0.0;
  assert_int_equal(npuc_tensor_elements(a), npuc_tensor_elements(b));
  for (int64_t i = 0; i < npuc_tensor_elements(a); i++) worst = fmax(worst, fabs(npuc_tensor_get(a, i) - npuc_tensor_get(b, i)));
  return worst;
}

typedef struct distances {
  double y, index, count;
} distances;

/* Runs the program on torch's input, with `begin` in the buffer. */
static distances run(const char *path, double begin) {
  module *m;
  executor *e;
  npz z;
  tensor count, outputs[3];
  assert_int_equal(npuc_pt2_read(NULL, path, &m), NPUC_OK);
  graph *g = m->graphs[0];
  assert_int_equal(g->n_inputs, 2);
  assert_int_equal(g->n_outputs, 3);
  assert_string_equal(g->inputs[1]->name, "count");
  assert_string_equal(npuc_map_get(m->metadata, "npuc.state.0"), "count.next > count");
  assert_int_equal(npuc_npz_read(NULL, DATA "net.npz", &z), NPUC_OK);
  assert_int_equal(npuc_tensor_of_floats(NULL, DTYPE_F32, (double[]){begin, begin}, 2, &count), NPUC_OK);
  assert_int_equal(npuc_executor_create(NULL, g, &(exec_options){0}, &e), NPUC_OK);
  tensor inputs[2] = {*npuc_npz_get(&z, "x"), count};
  assert_int_equal(npuc_executor_run(e, NULL, inputs, outputs), NPUC_OK);
  const distances d = {.y = distance(&outputs[0], npuc_npz_get(&z, "y")),
                       .index = distance(&outputs[1], npuc_npz_get(&z, "index")),
                       .count = distance(&outputs[2], npuc_npz_get(&z, "count"))};
  npuc_executor_destroy(e);
  npuc_tensor_release(&count);
  npuc_npz_release(&z);
  npuc_module_destroy(m);
  return d;
}

static void every_layout_gives_torchs_outputs(void **state) {
  (void)state;
  static const char *const files[] = {DATA "net.pt2", DATA "net_pickled.pt2", DATA "net_flat.pt2"};
  for (size_t i = 0; i < 3; i++) {
    distances d = run(files[i], 0.0);
    assert_true(d.y < 2e-6);
    assert_true(d.index == 0.0);
    assert_true(d.count < 2e-6);
  }
}

/* Control: another content of the buffer shows in what is written to it, and nowhere else. */
static void the_buffer_is_an_input(void **state) {
  (void)state;
  distances d = run(DATA "net.pt2", 1.0);
  assert_true(d.y < 2e-6);
  assert_true(fabs(d.count - 1.0) < 1e-5);
}

/* LSTM, GRU and RNN keep torch's order of gates, layers and directions. The buffer of ones that is written before it is read is no state. */
static void recurrent_layers_give_torchs_outputs(void **state) {
  (void)state;
  module *m;
  executor *e;
  npz z;
  tensor outputs[5], zeros;
  assert_int_equal(npuc_pt2_read(NULL, DATA "recurrent.pt2", &m), NPUC_OK);
  graph *g = m->graphs[0];
  assert_int_equal(g->n_inputs, 2);
  assert_int_equal(g->n_outputs, 5);
  assert_null(npuc_map_get(m->metadata, "npuc.state.0"));
  assert_int_equal(npuc_npz_read(NULL, DATA "recurrent.npz", &z), NPUC_OK);
  assert_int_equal(npuc_executor_create(NULL, g, &(exec_options){0}, &e), NPUC_OK);
  tensor inputs[2] = {*npuc_npz_get(&z, "x"), *npuc_npz_get(&z, "h")};
  assert_int_equal(npuc_executor_run(e, NULL, inputs, outputs), NPUC_OK);
  static const char *const names[] = {"y0", "y1", "y2", "y3", "y4"};
  for (size_t i = 0; i < 5; i++) assert_true(distance(&outputs[i], npuc_npz_get(&z, names[i])) < 2e-6);
  assert_int_equal(npuc_tensor_of_floats(NULL, DTYPE_F32, (double[10]){0}, 10, &zeros), NPUC_OK);
  zeros.shape = inputs[1].shape;
  inputs[1] = zeros; /* control: without its state the GRU gives something else */
  assert_int_equal(npuc_executor_run(e, NULL, inputs, outputs), NPUC_OK);
  assert_true(distance(&outputs[3], npuc_npz_get(&z, "y3")) > 1e-3);
  npuc_tensor_release(&zeros);
  npuc_executor_destroy(e);
  npuc_npz_release(&z);
  npuc_module_destroy(m);
}

/* tests/data/torch/make_control.py: outputs chosen, turns, grown, mapped, last, running of run `k`, beside torch's own of run `want`; the largest difference. */
static double control_distance(executor *e, const npz *z, int k, int want) {
  char name[16];
  tensor outputs[6];
  double worst = 0.0;
  (void)snprintf(name, sizeof name, "x%d", k);
  tensor x = *npuc_npz_get(z, name);
  (void)snprintf(name, sizeof name, "n%d", k);
  assert_int_equal(npuc_executor_run(e, NULL, (tensor[]){x, *npuc_npz_get(z, name)}, outputs), NPUC_OK);
  for (int i = 0; i < 6; i++) {
    (void)snprintf(name, sizeof name, "y%d_%d", want, i);
    worst = fmax(worst, distance(&outputs[i], npuc_npz_get(z, name)));
  }
  return worst;
}

/* cond, while_loop, map and scan, with weights, sizes and outer values inside: every branch is taken, the loop turns 0, 3 and 1 times. */
static void graphs_inside_the_graph_give_torchs_outputs(void **state) {
  (void)state;
  static const char *const ops[] = {"If", "Loop", "Scan"};
  const int counts[] = {1, 1, 2};
  module *m;
  executor *e;
  npz z;
  assert_int_equal(npuc_pt2_read(NULL, DATA "control.pt2", &m), NPUC_OK);
  for (int i = 0; i < 3; i++) {
    int found = 0;
    NPUC_EACH_NODE(m->graphs[0], n) found += strcmp(n->op->type, ops[i]) == 0;
    assert_int_equal(found, counts[i]);
  }
  assert_int_equal(npuc_npz_read(NULL, DATA "control.npz", &z), NPUC_OK);
  assert_int_equal(npuc_executor_create(NULL, m->graphs[0], &(exec_options){0}, &e), NPUC_OK);
  for (int k = 0; k < 3; k++) assert_true(control_distance(e, &z, k, k) < 2e-6);
  assert_true(control_distance(e, &z, 1, 2) > 1e-2); /* control: another run's values are not these */
  npuc_executor_destroy(e);
  npuc_npz_release(&z);
  npuc_module_destroy(m);
}

/* Three runs of make_control.py's Begins, states carried by their pairs; `begun` as the first run finds it. The largest difference to torch. */
static double begins_distance(executor *e, const graph *g, const npz *z, bool begun) {
  enum { STATES = 4 };
  static uint8_t kept[STATES][64];
  tensor in[1 + STATES], out[1 + STATES];
  double worst = 0.0;
  memset(kept, 0, sizeof kept);
  for (size_t i = 0; i < STATES; i++) {
    const value *v = g->inputs[1 + i];
    int64_t count = 0;
    in[1 + i] = (tensor){.type = v->type, .shape = v->shape, .data = kept[i]};
    assert_true(npuc_shape_elements(&v->shape, &count) && npuc_dtype_bytes(v->type, count, &in[1 + i].bytes));
    if (strcmp(v->name, "begun") == 0) kept[i][0] = begun;
  }
  for (int k = 0; k < 3; k++) {
    char name[8];
    (void)snprintf(name, sizeof name, "x%d", k);
    in[0] = *npuc_npz_get(z, name);
    assert_int_equal(npuc_executor_run(e, NULL, in, out), NPUC_OK);
    name[0] = 'y';
    worst = fmax(worst, distance(&out[0], npuc_npz_get(z, name)));
    for (size_t i = 0; i < STATES; i++) { /* the output NAME.next belongs to the input NAME */
      for (size_t o = 1; o <= STATES; o++) {
        const char *to = g->inputs[1 + i]->name;
        if (strncmp(g->outputs[o]->name, to, strlen(to)) == 0) memcpy(kept[i], out[o].data, out[o].bytes);
      }
    }
  }
  return worst;
}

static void states_begin_with_their_own_content(void **state) {
  (void)state;
  module *m;
  executor *e;
  npz z;
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(npuc_pt2_read(d, DATA "begins.pt2", &m), NPUC_OK);
  assert_null(npuc_diag_first_error(d));
  assert_string_equal(npuc_map_get(m->metadata, "npuc.state.3"), "begun.next > begun");
  assert_null(npuc_map_get(m->metadata, "npuc.state.4"));
  assert_int_equal(npuc_npz_read(NULL, DATA "begins.npz", &z), NPUC_OK);
  assert_int_equal(npuc_executor_create(NULL, m->graphs[0], &(exec_options){0}, &e), NPUC_OK);
  assert_true(begins_distance(e, m->graphs[0], &z, false) < 2e-6);
  assert_true(begins_distance(e, m->graphs[0], &z, true) > 0.1); /* control: as if all had begun as zeros */
  npuc_executor_destroy(e);
  npuc_npz_release(&z);
  npuc_module_destroy(m);
  npuc_diag_destroy(d);
}

/* A node says where it came from: its module, and the user's own file and line. */
static void nodes_keep_their_source(void **state) {
  (void)state;
  module *m;
  assert_int_equal(npuc_pt2_read(NULL, DATA "net.pt2", &m), NPUC_OK);
  const node *conv = npuc_graph_node(m->graphs[0], "conv2d");
  assert_string_equal(conv->location->name, "conv/conv2d");
  assert_int_equal(conv->location->n_derived, 1);
  assert_non_null(strstr(conv->location->derived[0], "make.py\", line "));
  npuc_module_destroy(m);
}

static void weights_are_not_copied(void **state) {
  (void)state;
  module *m;
  assert_int_equal(npuc_pt2_read(NULL, DATA "net.pt2", &m), NPUC_OK);
  const tensor *w = npuc_graph_value(m->graphs[0], "conv.weight")->constant;
  const mapped_file *file;
  size_t offset;
  assert_true(npuc_blob_locate(w->owner, w->data, &file, &offset));
  npuc_module_destroy(m);
}

static npuc_status read_file(diag *d, const char *path) {
  module *m;
  NPUC_TRY(npuc_pt2_read(d, path, &m));
  npuc_module_destroy(m);
  return NPUC_OK;
}

static void is_refused(const char *path, diag_code code, const char *says) {
  diag *d = npuc_diag_create(NULL, NULL);
  assert_int_equal(read_file(d, path), npuc_diag_info(code)->status);
  assert_int_equal(npuc_diag_first_error(d)->code, code);
  assert_non_null(strstr(npuc_diag_first_error(d)->reason, says));
  npuc_diag_destroy(d);
}

static void archives_that_lie_are_refused(void **state) {
  (void)state;
  is_refused(DATA "newer.pt2", NPUC_DIAG_E0333, "9.20");
  is_refused(DATA "short.pt2", NPUC_DIAG_E0330, "a storage that holds 107");
  is_refused(DATA "missing.pt2", NPUC_DIAG_E0332, "weight_0");
  is_refused(DATA "unknown.pt2", NPUC_DIAG_E0336, "make.py");
  is_refused(DATA "views.pt", NPUC_DIAG_E0332, "no exported program");
}

static void damaged_archives_are_refused(void **state) {
  (void)state;
  assert_true(npuc_damage_try(DATA "tiny.pt2", "x.pt2", read_file) > 4000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_layout_gives_torchs_outputs),
      cmocka_unit_test(the_buffer_is_an_input),
      cmocka_unit_test(recurrent_layers_give_torchs_outputs),
      cmocka_unit_test(graphs_inside_the_graph_give_torchs_outputs),
      cmocka_unit_test(states_begin_with_their_own_content),
      cmocka_unit_test(nodes_keep_their_source),
      cmocka_unit_test(weights_are_not_copied),
      cmocka_unit_test(archives_that_lie_are_refused),
      cmocka_unit_test(damaged_archives_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
