/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rounds MODEL.onnx [BATCH] [THREADS]: the executor as one side of an interleaved measurement. Each line on stdin asks for one run,
 * whose milliseconds are the answer on stdout; inputs are bytes by chance. bench/int8_peers.py drives it. A model whose first axis is a
 * batch of 1 is given BATCH instead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/executor.h"
#include "import/onnx/onnx.h"

static double milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Random bytes; floats get small multiples of 1/64. */
static void fill(tensor *t) {
  uint32_t state = 1;
  for (size_t i = 0; i < t->bytes; i++) {
    state = state * 1664525u + 1013904223u;
    ((unsigned char *)t->data)[i] = (unsigned char)(state >> 24);
  }
  if (t->type != DTYPE_F32) return;
  float *x = t->data;
  for (size_t i = 0; i < t->bytes / sizeof *x; i++) x[i] = (float)((int)(i * 37 % 256) - 128) / 64.0f;
}

static npuc_status make_input(diag *d, const value *v, int64_t batch, tensor *out) {
  *out = (tensor){.type = v->type, .shape = v->shape};
  out->shape.dims[0] = batch;
  int64_t n;
  if (!npuc_shape_is_static(&out->shape) || !npuc_shape_elements(&out->shape, &n) || !npuc_dtype_bytes(v->type, n, &out->bytes))
    return npuc_fail(d, NPUC_DIAG_E0601, NULL, "input \"%s\" has no static shape", v->name);
  out->data = npuc_buffer_create(out->bytes);
  if (!out->data) return npuc_fail(d, NPUC_DIAG_E0002, NULL, "%zu bytes of input", out->bytes);
  fill(out);
  return NPUC_OK;
}

static npuc_status serve(diag *d, const char *path, int64_t batch, size_t threads) {
  module *m;
  NPUC_TRY(npuc_onnx_read(d, path, &m));
  graph *g = m->graphs[0];
  npuc_graph_forget_shapes(g);
  g->inputs[0]->shape.dims[0] = batch;
  NPUC_TRY(npuc_graph_infer(d, g));
  exec_options options = {.pool = npuc_pool_create(threads)};
  executor *e;
  NPUC_TRY(npuc_executor_create(d, g, &options, &e));
  tensor input, *outputs = malloc((g->n_outputs + 1) * sizeof *outputs);
  if (!outputs) return NPUC_ENVIRONMENT;
  npuc_status status = make_input(d, g->inputs[0], batch, &input);
  char line[64];
  while (status == NPUC_OK && fgets(line, sizeof line, stdin)) {
    double start = milliseconds();
    status = npuc_executor_run(e, d, &input, outputs);
    printf("%.6f\n", milliseconds() - start);
    fflush(stdout);
  }
  free(outputs);
  npuc_buffer_destroy(input.data);
  npuc_executor_destroy(e);
  npuc_pool_destroy(options.pool);
  npuc_module_destroy(m);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: bench_rounds MODEL.onnx [BATCH] [THREADS] < LINES\n");
    return 2;
  }
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_status status = serve(d, argv[1], argc > 2 ? atoll(argv[2]) : 1, argc > 3 ? strtoul(argv[3], NULL, 10) : 1);
  const diag_record *r = npuc_diag_first_error(d);
  if (r) fprintf(stderr, "%s: %s: %s\n", npuc_diag_info(r->code)->text_code, r->place.node ? r->place.node : "", r->reason);
  npuc_diag_destroy(d);
  return (int)status;
}
