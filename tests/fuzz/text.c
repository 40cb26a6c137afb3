/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX text: what is parsed is printed and parsed again, and must print the same; then inferred, verified, normalized. The first byte chooses a model or a function. The
 * mutator (support/text_mutate.c) knows the words. */
#include <string.h>

#include "fuzz/support/target.h"
#include "fuzz/support/text_mutate.h"
#include "ir/op.h"
#include "ir/text.h"
#include "passes/pass.h"

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned int seed) { return fuzz_text_mutate(bytes, n, most, seed); }

static npuc_status check(diag *d, arena *a, module *m) {
  pass_report report;
  const pass_options options = {.dims = &(dim_binding){"N", 2}, .n_dims = 1, .limit = -1};
  for (size_t i = 0; i < m->n_graphs; i++) NPUC_TRY(npuc_graph_infer(d, m->graphs[i]));
  NPUC_TRY(npuc_module_verify(d, m, NULL));
  NPUC_TRY(npuc_passes_run(d, a, m, "normalize", &options, &report));
  return npuc_passes_run(d, a, m, "static", &options, &report);
}

static void print_and_parse(diag *d, arena *a, const module *m) {
  const text_options options = {.max_elements = -1};
  const char *first = npuc_module_print(a, m, &options);
  if (m->n_graphs != 1) return; /* several parts are printed one after the other, which is read as one */
  module *again;
  fuzz_expect(npuc_module_parse(d, "again", first, strlen(first), &again) == NPUC_OK, "what is printed can be parsed");
  fuzz_expect(strcmp(first, npuc_module_print(a, again, &options)) == 0, "and prints the same");
  npuc_module_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_bytes b = {bytes, n};
  bool function = fuzz_take(&b) == 'F';
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_status status;
  if (function) {
    function_text f;
    status = npuc_function_parse(d, a, "f", npuc_arena_strn(a, (const char *)b.at, b.left), &f);
    fuzz_expect_told(d, status);
  } else {
    module *m;
    status = npuc_module_parse(d, "m", (const char *)b.at, b.left, &m);
    fuzz_expect_told(d, status);
    if (status == NPUC_OK) {
      print_and_parse(d, a, m);
      fuzz_expect_told(d, check(d, a, m));
      npuc_module_destroy(m);
    }
  }
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
  return 0;
}
