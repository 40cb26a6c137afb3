/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the edit distance of Damerau and Levenshtein in its restricted form (insert, delete, replace, swap of
 * neighbours; no substring is edited twice), one row at a time. Case costs nothing: `conv` is nearest
 * to `Conv`. */
#include <string.h>

#include "base/map.h"

#define LONGEST 64

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static int folded(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

static size_t edit_distance(const char *a, size_t n, const char *b, size_t m) {
  size_t rows[3][LONGEST + 1]; /* rows[i % 3][j]: distance of a[0..i) and b[0..j) */
  for (size_t j = 0; j <= m; j++) rows[0][j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t *row = rows[i % 3];
    const size_t *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t replace = above[j - 1] + (folded(a[i - 1]) != folded(b[j - 1]));
      row[j] = smaller(replace, smaller(above[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]))
        row[j] = smaller(row[j], two_above[j - 2] + 1);
    }
  }
  return rows[n % 3][m];
}

const char *npuc_nearest(const char *text, const char *const *names, size_t n) {
  size_t length = strlen(text);
  if (length > LONGEST) return NULL;
  /* A slip changes a third of the letters at most; one letter alone is never enough to guess from. */
  size_t best = length / 3 + (length >= 2);
  const char *nearest = NULL;
  for (size_t i = 0; i < n; i++) {
    size_t name_length = strlen(names[i]);
    if (name_length > LONGEST) continue;
    size_t distance = edit_distance(text, length, names[i], name_length);
    if (distance >= name_length && distance > 0) continue; /* nothing in common */
    if (distance < best || (distance == best && !nearest)) {
      best = distance;
      nearest = names[i];
    }
  }
  return nearest;
}
