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

static bool is_short(const int32_t *m, const int32_t *s, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (m[i] != 0 && (m[i] < 0 || m[i] >= 32768 || s[i] < 17 || s[i] > 47)) return false;
  }
  return true;
}

static bool is_long(const int32_t *m, const int32_t *s, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int32_t factor = m[i], shift = s[i];
    if (factor == 0) continue;
    normalize(&factor, &shift);
    if (shift < 32) return false;
  }
  return true;
}

rule_kind npuc_rule_kind(const int32_t *m, const int32_t *s, int64_t n) {
  return is_short(m, s, n) ? RULE_SHORT : is_long(m, s, n) ? RULE_LONG : RULE_ANY;
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
