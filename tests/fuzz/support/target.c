/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/support/target.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(WITH_ADDRESS_SANITIZER)
const char *__asan_default_options(void);
/* Large memory that cannot be had is a status (base/arena.h): malloc returns NULL there as it does on a small machine. */
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=512:detect_stack_use_after_return=1";
}
#endif

void fuzz_expect(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "fuzz: does not hold: %s\n", what);
  abort();
}

void fuzz_expect_told(const diag *d, npuc_status status) {
  if (status == NPUC_OK) return;
  const diag_record *r = npuc_diag_first_error(d);
  fuzz_expect(r != NULL, "a failure says why");
  if (status == NPUC_INTERNAL) fprintf(stderr, "%s: %s\n", npuc_diag_info(r->code)->text_code, r->reason);
  fuzz_expect(status != NPUC_INTERNAL, "no input is our own mistake");
}

uint8_t fuzz_take(fuzz_bytes *b) {
  if (b->left == 0) return 0;
  b->left--;
  return *b->at++;
}

const uint8_t *fuzz_take_span(fuzz_bytes *b, size_t n, size_t *out_n) {
  const uint8_t *span = b->at;
  if (n > b->left) n = b->left;
  b->at += n;
  b->left -= n;
  *out_n = n;
  return span;
}
