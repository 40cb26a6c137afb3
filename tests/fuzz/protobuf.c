/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf's wire: every field is read in a way that the first bytes choose, right for its wire type or not, sub-messages in each other. */
#include <stdlib.h>

#include "formats/protobuf.h"
#include "fuzz/support/target.h"

static void read_list(pb_reader *r, const pb_field *f, size_t width) {
  size_t n = width ? npuc_pb_count_fixed(r, f, width) : npuc_pb_count_varints(r, f), done = 0;
  char *out = malloc(n * 8 + 1); /* exactly what was counted, but for width 4 */
  fuzz_expect(out != NULL, "memory");
  if (width)
    npuc_pb_read_fixed(r, f, width, out, &done);
  else
    npuc_pb_read_varints(r, f, (int64_t *)(void *)out, &done);
  fuzz_expect(done <= n, "no more elements than were counted");
  if (!r->problem) fuzz_expect(done == n, "as many elements as were counted");
  free(out);
}

static void walk(diag *d, pb_reader r, fuzz_bytes *choices) {
  pb_field f;
  while (npuc_pb_next(&r, &f)) {
    switch (fuzz_take(choices) % 8) {
      case 0:
        (void)npuc_pb_int(&r, &f);
        break;
      case 1:
        (void)npuc_pb_float(&r, &f);
        break;
      case 2: {
        pb_span s = npuc_pb_span(&r, &f);
        unsigned sum = 0;
        for (size_t i = 0; i < s.n; i++) sum += s.bytes[i];
        fuzz_expect(sum <= 255 * s.n, "bytes");
        break;
      }
      case 3:
        read_list(&r, &f, 0);
        break;
      case 4:
        read_list(&r, &f, 4);
        break;
      case 5:
        read_list(&r, &f, 8);
        break;
      default:
        if (f.wire == PB_LENGTH) walk(d, npuc_pb_message(&r, &f), choices);
    }
  }
  fuzz_expect_told(d, npuc_pb_finish(&r, d, "a message"));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_bytes all = {bytes, n}, choices;
  size_t n_choices = fuzz_take(&all) % 32;
  choices.at = fuzz_take_span(&all, n_choices, &choices.left);
  diag *d = npuc_diag_create(NULL, NULL);
  walk(d, npuc_pb_open(all.at, all.left), &choices);
  npuc_diag_destroy(d);
  return 0;
}
