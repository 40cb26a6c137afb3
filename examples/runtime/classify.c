/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies the demo's pictures with libnpuc-runtime: load, create a session, then for each picture floats to integers, run, and the largest of the outputs.
 *
 *   cc classify.c $(pkg-config --cflags --libs npuc-runtime) -o classify
 *   ./classify MODEL.npu PICTURES.npy LABELS.npy */
#include <npuc/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The array of a .npy file (version 1), as it lies in the file; *out_bytes its length. Exits on failure: this is an example. */
static unsigned char *read_npy(const char *path, size_t *out_bytes) {
  unsigned char head[10], *data = NULL;
  FILE *f = fopen(path, "rb");
  long end;
  size_t skip;
  if (!f || fread(head, 1, 10, f) != 10 || memcmp(head, "\x93NUMPY", 6) != 0 || fseek(f, 0, SEEK_END) != 0 || (end = ftell(f)) < 10) {
    fprintf(stderr, "%s: no .npy file\n", path);
    exit(1);
  }
  skip = 10 + (size_t)head[8] + 256 * (size_t)head[9];
  *out_bytes = (size_t)end - skip;
  data = malloc(*out_bytes);
  if (!data || fseek(f, (long)skip, SEEK_SET) != 0 || fread(data, 1, *out_bytes, f) != *out_bytes) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(1);
  }
  fclose(f);
  return data;
}

static int fail(const npuc_error *e) {
  fprintf(stderr, "error[%s]: %s\n", e->code, e->message);
  return (int)e->status;
}

static size_t largest(const float *v, size_t n) {
  size_t best = 0;
  for (size_t i = 1; i < n; i++) {
    if (v[i] > v[best]) best = i;
  }
  return best;
}

/* Pictures are bytes; the network was trained on (x / 255 - 0.5) / 0.25. The order of operations is that of --preprocess scale=1/255,mean=...,std=...: the input has one step for each
 * grey level, so that a last bit decides between neighbours, and only the same floats give the same integers. */
static int classify(npuc_session *session, const npuc_port *in, const npuc_port *out, const unsigned char *pictures, size_t n,
                    const unsigned char *labels) {
  float *real = malloc(in->bytes * sizeof *real), *logits = malloc(out->bytes * sizeof *logits);
  unsigned char *q_in = malloc(in->bytes), *q_out = malloc(out->bytes);
  npuc_error error = {NPUC_OK, "", ""};
  size_t right = 0;
  if (!real || !logits || !q_in || !q_out) return NPUC_ENVIRONMENT;
  for (size_t i = 0; i < n && error.status == NPUC_OK; i++) {
    const void *inputs[] = {q_in};
    void *outputs[] = {q_out};
    for (size_t k = 0; k < in->bytes; k++) real[k] = ((float)pictures[i * in->bytes + k] * (1.0f / 255.0f) - 0.5f) / 0.25f;
    npuc_port_quantize(in, real, q_in, in->bytes);
    if (npuc_session_run(session, inputs, outputs, &error) != NPUC_OK) break;
    npuc_port_dequantize(out, q_out, logits, out->bytes);
    right += largest(logits, out->bytes) == labels[8 * i]; /* int64, little-endian, small */
  }
  free(real), free(logits), free(q_in), free(q_out);
  if (error.status != NPUC_OK) return fail(&error);
  printf("%zu of %zu pictures are right\n", right, n);
  return 0;
}

int main(int argc, char **argv) {
  npuc_error error;
  npuc_program *program;
  npuc_session *session;
  size_t bytes, label_bytes;
  if (argc != 4) {
    fprintf(stderr, "usage: classify MODEL.npu PICTURES.npy LABELS.npy\n");
    return NPUC_USAGE;
  }
  if (npuc_program_load(argv[1], &program, &error) != NPUC_OK) return fail(&error);
  const npuc_port *in = npuc_program_input(program, 0), *out = npuc_program_output(program, 0);
  printf("%s: input %s, %zu bytes, scale %g, zero point %d\n", argv[1], in->name, in->bytes, (double)in->scale, (int)in->zero_point);
  if (npuc_session_create(program, NULL, &session, &error) != NPUC_OK) return fail(&error);
  printf("activations take %zu bytes\n", npuc_session_memory(session));
  unsigned char *pictures = read_npy(argv[2], &bytes), *labels = read_npy(argv[3], &label_bytes);
  size_t n = bytes / in->bytes < label_bytes / 8 ? bytes / in->bytes : label_bytes / 8;
  int status = classify(session, in, out, pictures, n, labels);
  free(pictures), free(labels);
  npuc_session_destroy(session);
  npuc_program_destroy(program);
  return status;
}
