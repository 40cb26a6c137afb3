/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of a .pt2 archive: {"model": the program, "weights": .., "constants": ..}, put into a valid archive beside storages that are always there. So every
 * execution comes behind the zip, which stops most of those of the target pt2. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/support/files.h"
#include "fuzz/support/json_mutate.h"
#include "fuzz/support/target.h"
#include "import/pt2/pt2.h"
#include "passes/pass.h"
#include "support/zip_bytes.h"

enum { STORAGES = 12, STORAGE_BYTES = 1024, MOST_WORDS = 1024, WORD_BYTES = 96 };

static const char *words[MOST_WORDS];
static size_t n_words;

/* Targets of all operators, and the kinds of arguments. */
static void make_words(void) {
  static char names[MOST_WORDS][WORD_BYTES];
  static const char *const more[] = {
      "Symbol('s77', positive=True, integer=True)", "2*Symbol('s0')", "", "x", "Infinity", "NaN", "torch.ops.aten.relu_.default"};
  const char *name;
  for (size_t i = 0; (name = npuc_pt2_operator(i)) && n_words < MOST_WORDS - 16; i++) {
    bool python = strncmp(name, "_operator", 9) == 0 || strncmp(name, "torch.", 6) == 0;
    (void)snprintf(names[n_words], WORD_BYTES, "%s%s%s", python ? "" : "torch.ops.", name, python ? "" : ".default");
    words[n_words] = names[n_words];
    n_words++;
  }
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) words[n_words++] = more[i];
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned int seed) {
  if (!n_words) make_words();
  return fuzz_json_mutate(bytes, n, most, seed, words, n_words);
}

static void add_json(zip_bytes *z, const char *name, json_t *part) {
  char *text = json_dumps(part, JSON_COMPACT | JSON_ENCODE_ANY);
  zip_bytes_add(z, name, text ? text : "{\"config\":{}}", text ? strlen(text) : 13);
  free(text);
}

static void make_archive(const uint8_t *bytes, size_t n) {
  zip_bytes z = {0};
  uint8_t storage[STORAGE_BYTES];
  char name[64];
  json_t *whole = json_loadb((const char *)bytes, n, 0, NULL), *model = json_object_get(whole, "model");
  memset(storage, 60, sizeof storage); /* small floats, an int64 beyond any size */
  if (model)
    add_json(&z, "m/models/model.json", model);
  else
    zip_bytes_add(&z, "m/models/model.json", bytes, n);
  add_json(&z, "m/data/weights/model_weights_config.json", json_object_get(whole, "weights"));
  add_json(&z, "m/data/constants/model_constants_config.json", json_object_get(whole, "constants"));
  for (int i = 0; i < STORAGES; i++) {
    (void)snprintf(name, sizeof name, "m/data/weights/weight_%d", i);
    zip_bytes_add(&z, name, storage, sizeof storage);
    (void)snprintf(name, sizeof name, "m/data/constants/tensor_%d", i);
    zip_bytes_add(&z, name, storage, sizeof storage);
  }
  zip_bytes_end(&z);
  fuzz_files_put("m.pt2", z.bytes, z.n);
  zip_bytes_free(&z);
  json_decref(whole);
}

/* E0338 is the reader's own mistake, or a program that lies of a result: a mutated one does, and is told so. */
static void expect_told(const diag *d, npuc_status status) {
  const diag_record *r = npuc_diag_first_error(d);
  if (status != NPUC_INTERNAL || !r || r->code != NPUC_DIAG_E0338) fuzz_expect_told(d, status);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  make_archive(bytes, n);
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  module *m;
  npuc_status status = npuc_pt2_read(d, "m.pt2", &m);
  expect_told(d, status);
  if (status == NPUC_OK) {
    pass_report report;
    fuzz_expect_told(d, npuc_passes_run(d, a, m, "normalize", &(pass_options){.limit = -1}, &report));
    npuc_module_destroy(m);
  }
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
  fuzz_files_clear();
  return 0;
}
