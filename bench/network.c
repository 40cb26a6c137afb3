/* SPDX-License-Identifier: Apache-2.0 */
/* bench_network MODEL.onnx THREADS INPUT.f32 DIM... : runs the model's first graph on one float32 input of these dims, once per line of
 * standard input, and answers each line with the seconds of that run, of the clock and of the processors. After the last line the first output's floats go to INPUT.f32.out.
 * bench/peers.py drives it, in turns with its peers. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "exec/executor.h"
#include "import/onnx/onnx.h"

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int read_floats(const char *path, tensor *t) {
  FILE *f = fopen(path, "rb");
  if (!f) return 0;
  t->data = npuc_buffer_create(t->bytes);
  size_t got = t->data ? fread(t->data, 1, t->bytes, f) : 0;
  fclose(f);
  return got == t->bytes;
}

static int write_floats(const char *input, const tensor *t) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s.out", input) >= (int)sizeof path) return 0;
  FILE *f = fopen(path, "wb");
  if (!f) return 0;
  size_t put = fwrite(t->data, 1, t->bytes, f);
  return fclose(f) == 0 && put == t->bytes;
}

static npuc_status serve(executor *e, diag *d, const tensor *x, tensor *out_y) {
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    double start = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    NPUC_TRY(npuc_executor_run(e, d, x, out_y));
    printf("%.9f %.9f\n", seconds(CLOCK_MONOTONIC) - start, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    fflush(stdout);
  }
  return NPUC_OK;
}

static npuc_status bench(const char *model, size_t threads, const char *input, tensor *x, diag *d) {
  module *m;
  executor *e;
  NPUC_TRY(npuc_onnx_read(d, model, &m));
  exec_options options = {.pool = npuc_pool_create(threads)};
  NPUC_TRY(npuc_executor_create(d, m->graphs[0], &options, &e));
  tensor *y = npuc_xcalloc(m->graphs[0]->n_outputs + 1, sizeof *y);
  npuc_status status = read_floats(input, x) ? serve(e, d, x, y) : NPUC_BAD_INPUT;
  if (status == NPUC_OK && y[0].data && !write_floats(input, &y[0])) status = NPUC_ENVIRONMENT;
  fprintf(stderr, "activations %zu bytes\n", npuc_executor_memory(e));
  free(y);
  npuc_buffer_destroy(x->data);
  npuc_executor_destroy(e);
  npuc_pool_destroy(options.pool);
  npuc_module_destroy(m);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 5 || argc - 4 > MAX_RANK) {
    fprintf(stderr, "usage: bench_network MODEL.onnx THREADS INPUT.f32 DIM...\n");
    return 2;
  }
  tensor x = {.type = DTYPE_F32, .shape = {.rank = argc - 4}, .bytes = sizeof(float)};
  for (int i = 4; i < argc; i++) {
    x.shape.dims[i - 4] = strtol(argv[i], NULL, 10);
    x.bytes *= (size_t)x.shape.dims[i - 4];
  }
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_status status = bench(argv[1], strtoul(argv[2], NULL, 10), argv[3], &x, d);
  const diag_record *r = npuc_diag_first_error(d);
  if (r) fprintf(stderr, "%s: %s: %s\n", npuc_diag_info(r->code)->text_code, r->place.node ? r->place.node : "", r->reason);
  npuc_diag_destroy(d);
  return (int)status;
}
