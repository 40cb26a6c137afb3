/* SPDX-License-Identifier: Apache-2.0 */
/* SPEC of --preprocess, inline or as JSON; what is understood is printed and read again, planned for a picture whose size the input chooses, and applied. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/support/files.h"
#include "fuzz/support/target.h"
#include "media/preprocess.h"

static shape take_shape(fuzz_bytes *b) {
  shape s = {.rank = fuzz_take(b) % 5};
  for (int32_t i = 0; i < s.rank; i++) s.dims[i] = fuzz_take(b) % 12;
  return s;
}

static void apply(diag *d, const preprocess *p, fuzz_bytes *b) {
  static const dtype types[] = {DTYPE_U8, DTYPE_I8, DTYPE_F32, DTYPE_I16, DTYPE_F64, DTYPE_U16, DTYPE_I64, DTYPE_BOOL, DTYPE_F16};
  dtype type = types[fuzz_take(b) % (sizeof types / sizeof *types)];
  shape record = take_shape(b), wanted = take_shape(b);
  preprocess_plan plan;
  npuc_status status = npuc_preprocess_plan(d, p, type, &record, &wanted, &plan);
  fuzz_expect_told(d, status);
  if (status != NPUC_OK) return;
  int64_t from = 0, to = 0;
  size_t bytes = 0;
  fuzz_expect(npuc_shape_elements(&record, &from) && npuc_shape_elements(&wanted, &to) && npuc_dtype_bytes(type, from, &bytes), "sizes");
  char *in = calloc(bytes + 1, 1); /* one byte off: any alignment */
  float *out = malloc((size_t)to * sizeof *out + 1);
  fuzz_expect(in && out, "memory");
  size_t n;
  const uint8_t *content = fuzz_take_span(b, bytes, &n);
  if (n) memcpy(in + 1, content, n);
  fuzz_expect_told(d, npuc_preprocess_apply(d, &plan, in + 1, out));
  free(in);
  free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  fuzz_bytes b = {bytes, n};
  bool json = fuzz_take(&b) % 2;
  size_t length;
  const uint8_t *text = fuzz_take_span(&b, fuzz_take(&b), &length);
  const char *spec = npuc_arena_strn(a, (const char *)text, length);
  if (json) fuzz_files_put("spec.json", text, length);
  preprocess *p;
  npuc_status status = npuc_preprocess_parse(d, a, json ? "spec.json" : spec, &p);
  fuzz_expect_told(d, status);
  if (status == NPUC_OK) {
    preprocess *again;
    const char *printed = npuc_preprocess_print(a, p);
    fuzz_expect(npuc_preprocess_parse(d, a, printed, &again) == NPUC_OK, "what is printed is understood");
    fuzz_expect(memcmp(p, again, sizeof *p) == 0, "and means the same");
    apply(d, p, &b);
  }
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
  fuzz_files_clear();
  return 0;
}
