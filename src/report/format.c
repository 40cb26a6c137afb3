/* SPDX-License-Identifier: Apache-2.0 */
#include "report/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char none[] = "\xe2\x80\x93"; /* en dash */

double npuc_json_value(const json_t *number) {
  if (json_is_number(number)) return json_number_value(number);
  const char *text = json_string_value(number);
  if (text && strcmp(text, "inf") == 0) return INFINITY;
  if (text && strcmp(text, "-inf") == 0) return -INFINITY;
  return NAN;
}

double npuc_json_member(const json_t *object, const char *key) { return npuc_json_value(json_object_get(object, key)); }

const char *npuc_json_member_text(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

const char *npuc_format_count(arena *a, double v) {
  if (!isfinite(v)) return none;
  char digits[400], *out = npuc_arena_alloc(a, 560);
  int n = snprintf(digits, sizeof digits, "%.0f", v);
  size_t to = 0;
  for (int i = 0; i < n; i++) {
    if (i > 0 && digits[i - 1] != '-' && (n - i) % 3 == 0) out[to++] = ',';
    out[to++] = digits[i];
  }
  return out;
}

const char *npuc_format_fixed(arena *a, double v, int decimals) {
  if (isnan(v)) return none;
  if (isinf(v)) return v > 0 ? "\xe2\x88\x9e" : "-\xe2\x88\x9e";
  return npuc_arena_printf(a, "%.*f", decimals, v);
}

const char *npuc_format_short(arena *a, double v) {
  if (!isfinite(v)) return npuc_format_fixed(a, v, 0);
  return npuc_arena_printf(a, "%.3g", v);
}

const char *npuc_format_bytes(arena *a, double v) {
  static const char *const units[] = {"kB", "MB", "GB", "TB"};
  if (!isfinite(v)) return none;
  if (v < 10000) return npuc_arena_printf(a, "%s B", npuc_format_count(a, v));
  size_t i = 0;
  for (v /= 1000; v >= 999.5 && i + 1 < sizeof units / sizeof *units; v /= 1000) i++;
  return npuc_arena_printf(a, v < 9.95 ? "%.2f %s" : v < 99.5 ? "%.1f %s" : "%.0f %s", v, units[i]);
}

const char *npuc_format_seconds(arena *a, double v) {
  if (!isfinite(v)) return none;
  if (v < 0.0995) return npuc_arena_printf(a, "%.1f ms", v * 1000);
  return npuc_arena_printf(a, v < 9.95 ? "%.2f s" : "%.1f s", v);
}

const char *npuc_format_percent(arena *a, double ratio, int decimals) {
  if (!isfinite(ratio)) return none;
  return npuc_arena_printf(a, "%.*f %%", decimals, 100.0 * ratio);
}

const char *npuc_format_dims(arena *a, const json_t *dims) {
  if (!json_is_array(dims)) return none;
  if (json_array_size(dims) == 0) return "scalar";
  const char *text = "";
  size_t i;
  json_t *dim;
  json_array_foreach(dims, i, dim) {
    const char *one = json_is_integer(dim) ? npuc_arena_printf(a, "%lld", (long long)json_integer_value(dim)) : json_string_value(dim);
    text = npuc_arena_printf(a, "%s%s%s", text, i ? "\xc3\x97" : "", one ? one : "?");
  }
  return text;
}
