/* SPDX-License-Identifier: Apache-2.0 */
/* DATA of every kind: the first bytes choose the kind, the model's input and the preprocessing, the rest is the file (for a folder: several files). All samples are read. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/support/files.h"
#include "fuzz/support/target.h"
#include "stages/dataset.h"

static const sample_port ports[] = {
    {"x", DTYPE_F32, {4, {1, 1, 2, 3}}}, {"x", DTYPE_F32, {4, {1, 3, 32, 32}}}, {"x", DTYPE_U8, {2, {1, 6}}}, {"x", DTYPE_I64, {2, {2, 3}}},
    {"y", DTYPE_F32, {0, {0}}},          {"y", DTYPE_F32, {3, {1, 4, 4}}},
};
enum { N_PORTS = sizeof ports / sizeof *ports, MOST_SAMPLES = 16 };

static void put_folder(fuzz_bytes *b) {
  static const char *const names[] = {"d/a.npy", "d/b.npy", "d/c.npz", "d/e/x.npy", "d/e/y.npy", "d/labels.npy", "d/.h", "d/p.png"};
  for (size_t i = 0; i < 8 && b->left; i++) {
    size_t n, most = (size_t)fuzz_take(b) << 2;
    const uint8_t *bytes = fuzz_take_span(b, most, &n);
    fuzz_files_put(names[i], bytes, n);
  }
  fuzz_files_put("d/.present", "", 0);
}

static void read_samples(diag *d, const dataset *s, const sample_port *p, size_t n_ports) {
  tensor inputs[2];
  for (size_t k = 0; k < n_ports; k++) fuzz_expect(npuc_tensor_create(d, p[k].type, &p[k].shape, &inputs[k]) == NPUC_OK, "memory");
  for (size_t i = 0; i < npuc_dataset_count(s) && i < MOST_SAMPLES; i++) {
    fuzz_expect_told(d, npuc_dataset_sample(s, d, i, inputs));
    if (npuc_dataset_has_labels(s)) (void)npuc_dataset_label(s, i);
  }
  if (npuc_dataset_count(s) > 0) fuzz_expect_told(d, npuc_dataset_sample(s, d, npuc_dataset_count(s) - 1, inputs));
  fuzz_expect_told(d, npuc_dataset_check(s, d, MOST_SAMPLES));
  for (size_t k = 0; k < n_ports; k++) npuc_tensor_release(&inputs[k]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  static const char *const texts[] = {"f",
                                      "npy:f",
                                      "npz:f",
                                      "raw:uint8:1x2x3:f",
                                      "raw:float32:6:f",
                                      "cifar10:f",
                                      "mnist:f",
                                      "dir:d",
                                      "d",
                                      "images:f",
                                      "random:7",
                                      "f-images-idx3-ubyte",
                                      "raw:",
                                      "mnist:g",
                                      "raw:int64:3:f",
                                      "f.npy"};
  fuzz_bytes b = {bytes, n};
  uint8_t kind = fuzz_take(&b), port = fuzz_take(&b), spec = fuzz_take(&b);
  size_t n_ports = 1 + (port >= 192);
  const sample_port two[] = {ports[port % N_PORTS], ports[(port / N_PORTS) % N_PORTS]};
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  preprocess *p = NULL;
  if (spec % 2)
    fuzz_expect(npuc_preprocess_parse(d, a, spec % 4 == 1 ? "scale=1/255" : "resize=4,crop=2x3,layout=nhwc", &p) == NPUC_OK,
                "a right SPEC");
  size_t n_text;
  const char *text = texts[kind % 16];
  if (kind >= 224) { /* a DATA of the input's own */
    const uint8_t *own = fuzz_take_span(&b, kind % 32, &n_text);
    text = npuc_arena_strn(a, (const char *)own, n_text);
  }
  if (kind % 16 == 7 || kind % 16 == 8)
    put_folder(&b);
  else if (b.left)
    fuzz_files_put("f", b.at, b.left), fuzz_files_put("f.npy", b.at, b.left), fuzz_files_put("f-images-idx3-ubyte", b.at, b.left);
  dataset *s;
  npuc_status status = npuc_dataset_open(d, text, p, two, n_ports, 1, &s);
  fuzz_expect_told(d, status);
  if (status == NPUC_OK) {
    read_samples(d, s, two, n_ports);
    npuc_dataset_destroy(s);
  }
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
  fuzz_files_clear();
  return 0;
}
