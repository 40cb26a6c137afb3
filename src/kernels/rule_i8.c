/* SPDX-License-Identifier: Apache-2.0 */
/* Which arithmetic a set of multipliers allows. */
#include "kernels/int8.h"

/* M and s times the same power of two: no result changes. |M| stays below 2^31. */
static void normalize(int32_t *m, int32_t *s) {
  while (*s < 32 && *m < (INT32_C(1) << 30) && *m >= -(INT32_C(1) << 30)) {
    *m *= 2;
    ++*s;
  }
}

rule_kind npuc_rule_kind(const int32_t *m, const int32_t *s, int64_t n) {
  bool is_short = true, is_long = true;
  for (int64_t i = 0; i < n; i++) {
    int32_t factor = m[i], shift = s[i];
    if (factor == 0) continue;
    is_short = is_short && factor > 0 && factor < 32768 && shift >= 17 && shift <= 47;
    normalize(&factor, &shift);
    is_long = is_long && shift >= 32;
  }
  return is_short ? RULE_SHORT : is_long ? RULE_LONG : RULE_ANY;
}

void npuc_rule_prepare(rule_kind kind, int32_t *m, int32_t *s, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (m[i] == 0) {
      s[i] = 32;
    } else if (kind == RULE_LONG) {
      normalize(&m[i], &s[i]);
    }
  }
}
