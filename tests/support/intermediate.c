/* SPDX-License-Identifier: Apache-2.0 */
#include "support/intermediate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exec/executor.h"
#include "npu/from_ir.h"
#include "npu/lower.h"
#include "npu/run.h"
#include "npu/write.h"
#include "runtime/session.h"
#include "support/scratch.h"

static void must(const diag *d, npuc_status status, const char *what) {
  if (status == NPUC_OK) return;
  const diag_record *r = npuc_diag_first_error(d);
  fail_msg("%s: %s: %s", what, r && r->place.node ? r->place.node : "-", r ? r->reason : "no reason given");
}

static void show_everything(qgraph *g) {
  for (size_t i = 0; i < g->n_nodes; i++) {
    for (int32_t k = 0; k < g->nodes[i].n_outputs; k++) {
      int32_t t = g->nodes[i].outputs[k];
      if (g->tensors[t].role != QROLE_ACTIVATION) continue;
      g->tensors[t].role = QROLE_OUTPUT;
      npuc_qgraph_add_output(g, t);
    }
  }
}

static void build_variant(diag *d, const graph *g, int n, bool damage, const char *path) {
  arena *a = npuc_arena_create();
  npu_arch arch;
  qgraph *q = NULL;
  npu_program *p = NULL;
  must(d, npuc_npu_arch_load(d, a, npuc_arena_printf(a, "%s/share/npuc/targets/refnpu-n%d.json", NPUC_SOURCE_DIR, n), &arch), "target");
  must(d, npuc_npu_from_ir(d, a, g, &q), "integer graph");
  show_everything(q);
  must(d, npuc_npu_compile(d, a, q, &arch, &p), "compile");
  for (size_t i = 0; damage && i < 1024 && i < p->constants_bytes / 4; i++) p->constants[p->constants_bytes * 3 / 4 + i] ^= 0x40;
  must(d, npuc_npu_write(d, path, q, p, NULL, NULL), "write");
  npuc_arena_destroy(a);
}

static npuc_status run_stream(void *user, diag *d, const npu_program *p, uint32_t stream, void *const *tensors) {
  (void)user;
  npu_sim_result result;
  return npuc_npu_run_stream(d, p, &p->streams[stream], tensors, NULL, NULL, &result);
}

static size_t stream_outputs(const npuc_program *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->programs[0]->n_streams; i++) {
    const npu_stream *s = &p->programs[0]->streams[i];
    for (size_t k = 0; k < s->n_bindings; k++) n += s->bindings[k].is_output;
  }
  return n;
}

static size_t compare_outputs(const graph *g, const executor *e, const npuc_program *p, void *const *outputs) {
  size_t different = 0;
  for (size_t i = 0; i < npuc_program_outputs(p); i++) {
    const npuc_port *port = npuc_program_output(p, i);
    const value *v = npuc_graph_value(g, port->name);
    assert_non_null(v);
    const tensor *want = npuc_executor_value(e, v);
    assert_non_null(want);
    assert_int_equal(want->bytes, port->bytes);
    different += memcmp(want->data, outputs[i], port->bytes) != 0;
  }
  return different;
}

static void run_samples(diag *d, arena *a, const graph *g, const npuc_program *p, const tensor *floats, intermediate_counts *counts) {
  executor *e;
  npuc_session *s;
  npuc_error error;
  const npuc_port *port = npuc_program_input(p, 0);
  const size_t elements = (size_t)npuc_tensor_elements(floats) / (size_t)floats->shape.dims[0];
  assert_int_equal(npuc_program_inputs(p), 1);
  assert_int_equal(port->bytes, elements);
  must(d, npuc_executor_create(d, g, &(exec_options){.keep_all = true}, &e), "executor");
  assert_int_equal(npuc_session_create(p, NULL, &s, &error), NPUC_OK);
  npuc_session_set_stream_executor(s, run_stream, NULL);
  uint8_t *input = npuc_arena_alloc(a, elements);
  void **outputs = NPUC_NEW_ARRAY(a, npuc_program_outputs(p), void *);
  tensor *ignored = NPUC_NEW_ARRAY(a, g->n_outputs, tensor);
  for (size_t i = 0; i < npuc_program_outputs(p); i++) outputs[i] = npuc_arena_alloc(a, npuc_program_output(p, i)->bytes);
  for (size_t i = 0; i < counts->samples; i++) {
    npuc_port_quantize(port, (const float *)floats->data + i * elements, input, elements);
    const tensor in = {.type = g->inputs[0]->type, .shape = g->inputs[0]->shape, .data = input, .bytes = elements};
    must(d, npuc_executor_run(e, d, &in, ignored), "run in the executor");
    must(d, npuc_session_run_diag(s, d, &(const void *){input}, outputs), "run in the simulator");
    counts->different += compare_outputs(g, e, p, outputs);
  }
  npuc_session_destroy(s);
  npuc_executor_destroy(e);
}

void npuc_intermediate_compare(const module *integer, int n, const tensor *floats, int64_t count, bool damage,
                               intermediate_counts *out_counts) {
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  const graph *g = integer->graphs[0];
  char *dir = npuc_scratch_create(a), *path = npuc_path_join(a, dir, "every.npu");
  npuc_program *p = NULL;
  build_variant(d, g, n, damage, path);
  must(d, npuc_program_open(d, path, &p), "load");
  *out_counts = (intermediate_counts){.samples = (size_t)count, .tensors = npuc_program_outputs(p), .from_streams = stream_outputs(p)};
  run_samples(d, a, g, p, floats, out_counts);
  npuc_program_destroy(p);
  npuc_scratch_remove(dir);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
}
