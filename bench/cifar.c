/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cifar MODEL.onnx RECORDS.bin [--batch N] [--threads N] [--limit N] [--repeat N] [--logits FILE.f32]: time (of the clock and of the
 * processors) and top-1 of the executor on CIFAR-10 records (a label byte and 3072 bytes, planes R, G, B), normalized with the usual mean
 * and deviation; and the largest difference to recorded logits of the first records. bench/onnxruntime_cifar.py does the same with ONNX Runtime. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/executor.h"
#include "import/onnx/onnx.h"

enum { RECORD = 3073, PIXELS = 3072, CLASSES = 10 };

typedef struct settings {
  const char *model, *data, *logits;
  size_t batch, threads, limit, repeat;
} settings;

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void normalize(const unsigned char *record, float *out) {
  static const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};
  for (int i = 0; i < PIXELS; i++) out[i] = ((float)record[1 + i] / 255.0f - mean[i / 1024]) / deviation[i / 1024];
}

static unsigned char *read_records(const char *path, size_t *out_count) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  size_t bytes = (size_t)ftell(f);
  rewind(f);
  unsigned char *data = malloc(bytes + 1);
  *out_count = data && fread(data, 1, bytes, f) == bytes ? bytes / RECORD : 0;
  fclose(f);
  return data;
}

static int best_class(const float *logits) {
  int best = 0;
  for (int i = 1; i < CLASSES; i++) {
    if (logits[i] > logits[best]) best = i;
  }
  return best;
}

typedef struct result {
  size_t good;           /* right answers */
  double seconds, cpu;   /* of the executor only */
  double most_different; /* from the recorded logits */
} result;

typedef struct recorded {
  float *logits;
  size_t count;
} recorded;

static recorded read_logits(const char *path) {
  recorded r = {0};
  FILE *f = path ? fopen(path, "rb") : NULL;
  if (!f) return r;
  r.logits = malloc((size_t)10000 * CLASSES * sizeof *r.logits);
  r.count = r.logits ? fread(r.logits, CLASSES * sizeof *r.logits, 10000, f) : 0;
  fclose(f);
  return r;
}

static void judge(const float *logits, size_t index, int label, const recorded *r, result *out) {
  out->good += best_class(logits) == label;
  for (int i = 0; i < CLASSES && index < r->count; i++) {
    double difference = fabs((double)logits[i] - (double)r->logits[index * CLASSES + (size_t)i]);
    if (difference > out->most_different) out->most_different = difference;
  }
}

/* Runs all records once. */
static npuc_status run_all(executor *e, diag *d, const settings *s, const unsigned char *data, size_t count, const recorded *logits,
                           result *out) {
  float *x = npuc_buffer_create(s->batch * PIXELS * sizeof *x);
  npuc_status status = NPUC_OK;
  *out = (result){0};
  for (size_t i = 0; i < count && status == NPUC_OK; i += s->batch) {
    size_t n = count - i < s->batch ? count - i : s->batch;
    for (size_t k = 0; k < n; k++) normalize(data + (i + k) * RECORD, x + k * PIXELS);
    tensor in = {.type = DTYPE_F32, .shape = {.rank = 4, .dims = {(int64_t)n, 3, 32, 32}}, .data = x, .bytes = n * PIXELS * sizeof *x}, y;
    double start = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    status = npuc_executor_run(e, d, &in, &y);
    out->seconds += seconds(CLOCK_MONOTONIC) - start;
    out->cpu += seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    for (size_t k = 0; k < n && status == NPUC_OK; k++)
      judge((const float *)y.data + k * CLASSES, i + k, data[(i + k) * RECORD], logits, out);
  }
  npuc_buffer_destroy(x);
  return status;
}

static npuc_status bench(const settings *s, diag *d) {
  module *m;
  executor *e;
  NPUC_TRY(npuc_onnx_read(d, s->model, &m));
  exec_options options = {.pool = npuc_pool_create(s->threads)};
  NPUC_TRY(npuc_executor_create(d, m->graphs[0], &options, &e));
  size_t count = 0;
  recorded logits = read_logits(s->logits);
  unsigned char *data = read_records(s->data, &count);
  if (s->limit && s->limit < count) count = s->limit;
  for (size_t r = 0; r < s->repeat && count; r++) {
    result all;
    NPUC_TRY(run_all(e, d, s, data, count, &logits, &all));
    printf("%s batch %zu threads %zu: %zu images, %.3f s, cpu %.4f ms an image, top-1 %.2f, activations %zu bytes\n", s->model, s->batch,
           s->threads, count, all.seconds, 1e3 * all.cpu / (double)count, 100.0 * (double)all.good / (double)count,
           npuc_executor_memory(e));
    if (logits.count) printf("largest difference to %zu recorded logits: %.3g\n", logits.count, all.most_different);
  }
  free(data);
  free(logits.logits);
  npuc_executor_destroy(e);
  npuc_pool_destroy(options.pool);
  npuc_module_destroy(m);
  return NPUC_OK;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: bench_cifar MODEL.onnx RECORDS.bin [--batch N] [--threads N] [--limit N] [--repeat N]\n");
    return 2;
  }
  settings s = {.model = argv[1], .data = argv[2], .batch = 64, .threads = 1, .repeat = 1};
  for (int i = 3; i + 1 < argc; i += 2) {
    size_t n = strtoul(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--logits") == 0) s.logits = argv[i + 1];
    if (strcmp(argv[i], "--batch") == 0) s.batch = n ? n : 1;
    if (strcmp(argv[i], "--threads") == 0) s.threads = n;
    if (strcmp(argv[i], "--limit") == 0) s.limit = n;
    if (strcmp(argv[i], "--repeat") == 0) s.repeat = n;
  }
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_status status = bench(&s, d);
  const diag_record *r = npuc_diag_first_error(d);
  if (r) fprintf(stderr, "%s: %s: %s\n", npuc_diag_info(r->code)->text_code, r->place.node ? r->place.node : "", r->reason);
  npuc_diag_destroy(d);
  return (int)status;
}
