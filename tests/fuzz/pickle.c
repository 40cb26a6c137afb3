/* SPDX-License-Identifier: Apache-2.0 */
/* A Python pickle: read as data, then walked as far as a bound. */
#include <string.h>

#include "formats/pickle.h"
#include "fuzz/support/target.h"

static size_t walk(const pickle_value *v, size_t left, int depth) {
  if (!v || left == 0 || depth > 64) return left;
  left--;
  if (v->text) fuzz_expect(v->text[v->n_text] == 0, "texts end with a zero byte");
  for (size_t i = 0; i < v->n_items && left; i++) left = walk(v->items[i], left, depth + 1);
  left = walk(v->callable, left, depth + 1);
  left = walk(v->args, left, depth + 1);
  return walk(v->state, left, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  const pickle_value *v;
  size_t used;
  npuc_status status = npuc_pickle_read(d, a, "x", bytes, n, &v, &used);
  fuzz_expect_told(d, status);
  if (status == NPUC_OK) {
    fuzz_expect(used <= n, "no more was used than there is");
    (void)walk(v, 4096, 0);
    (void)npuc_pickle_get(v, "k");
  }
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
  return 0;
}
