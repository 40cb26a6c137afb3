/* SPDX-License-Identifier: Apache-2.0 */
/* Cast between numbers and texts. A float is written with the fewest digits that read back to it, as Python and numpy write it: 0.1, 1e-05, nan. Read are decimal
 * numbers, INF, -INF and NaN in any case; what is none of these is an error that names the element. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/eval/text.h"
#include "tensor/minifloat.h"

enum { MOST_NUMBER = 400 };

/* -- to texts -- */

/* What a double that was read is in type `type`. */
static double rounded(dtype type, double x) {
  if (type == DTYPE_F64) return x;
  if (type == DTYPE_F32) return (double)(float)x;
  return npuc_minifloat_decode(type, npuc_minifloat_encode(type, x));
}

/* strtod reads the locale's decimal point, which is what snprintf writes. float32 is read by strtof: through double it would be rounded twice. */
static bool reads_back(dtype type, const char *text, double x) {
  return type == DTYPE_F32 ? (double)strtof(text, NULL) == x : rounded(type, strtod(text, NULL)) == x;
}

/* The digits and the power of ten of the first one. */
static int shortest(dtype type, double x, char digits[24]) {
  char text[64];
  for (int n = 1; n <= 17; n++) {
    (void)snprintf(text, sizeof text, "%.*e", n - 1, x);
    if (reads_back(type, text, x)) break;
  }
  size_t n = 0;
  const char *p = text;
  for (; *p && *p != 'e'; p++) {
    if (*p >= '0' && *p <= '9' && n < 23) digits[n++] = *p;
  }
  while (n > 1 && digits[n - 1] == '0') n--;
  digits[n] = '\0';
  return *p ? (int)strtol(p + 1, NULL, 10) : 0;
}

static size_t put_float(dtype type, double x, char *out, size_t room) {
  if (isnan(x)) return (size_t)snprintf(out, room, "nan");
  if (isinf(x)) return (size_t)snprintf(out, room, x < 0 ? "-inf" : "inf");
  if (x == 0.0) return (size_t)snprintf(out, room, signbit(x) ? "-0.0" : "0.0");
  char digits[24];
  const char *sign = x < 0 ? "-" : "";
  int power = shortest(type, fabs(x), digits), n = (int)strlen(digits);
  if (power < -4 || power >= 16)
    return (size_t)snprintf(out, room, "%s%c%s%se%c%02d", sign, digits[0], n > 1 ? "." : "", digits + 1, power < 0 ? '-' : '+', abs(power));
  if (power < 0) return (size_t)snprintf(out, room, "%s0.%.*s%s", sign, -power - 1, "000", digits);
  if (power >= n - 1) return (size_t)snprintf(out, room, "%s%s%.*s.0", sign, digits, power - n + 1, "0000000000000000");
  return (size_t)snprintf(out, room, "%s%.*s.%s", sign, power + 1, digits, digits + power + 1);
}

static npuc_status to_texts(const eval_context *c, const tensor *x, tensor *y) {
  dtype_kind kind = npuc_dtype_kind(x->type);
  for (int64_t i = 0; i < npuc_tensor_elements(x); i++) {
    char text[64];
    size_t n;
    if (kind == KIND_FLOAT)
      n = put_float(x->type, npuc_tensor_get(x, i), text, sizeof text);
    else if (kind == KIND_BOOL)
      n = (size_t)snprintf(text, sizeof text, npuc_tensor_get_int(x, i) ? "True" : "False");
    else if (x->type == DTYPE_U64)
      n = (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)npuc_tensor_get_int(x, i));
    else
      n = (size_t)snprintf(text, sizeof text, "%lld", (long long)npuc_tensor_get_int(x, i));
    NPUC_TRY(npuc_eval_keep_text(c, (text_span){text, n}, (text_span){"", 0}, y, i));
  }
  return NPUC_OK;
}

/* -- from texts -- */

static bool is_word(const char *text, const char *lower) {
  for (; *lower && (*text | 0x20) == *lower; text++) lower++;
  return *lower == '\0' && *text == '\0';
}

/* sign? digits (. digits)? (e sign? digits)?, with at least one digit in front of the e */
static bool is_decimal(const char *p) {
  int digits = 0;
  p += *p == '+' || *p == '-';
  for (; *p >= '0' && *p <= '9'; p++) digits++;
  if (*p == '.')
    for (p++; *p >= '0' && *p <= '9'; p++) digits++;
  if (digits == 0) return false;
  if ((*p | 0x20) == 'e') {
    p++;
    p += *p == '+' || *p == '-';
    if (*p < '0' || *p > '9') return false;
    while (*p >= '0' && *p <= '9') p++;
  }
  return *p == '\0';
}

static bool is_whole(const char *p) {
  p += *p == '+' || *p == '-';
  if (!*p) return false;
  while (*p >= '0' && *p <= '9') p++;
  return *p == '\0';
}

/* With the decimal point of the process's locale, for strtod. */
static void localize(const char *text, char *out, size_t room) {
  const char *dot = strchr(text, '.');
  if (dot)
    (void)snprintf(out, room, "%.*s%s%s", (int)(dot - text), text, localeconv()->decimal_point, dot + 1);
  else
    (void)snprintf(out, room, "%s", text);
}

static bool set_number(const char *text, tensor *y, int64_t i) {
  char local[MOST_NUMBER + 16];
  const char *unsigned_text = text + (*text == '+' || *text == '-');
  bool infinite = is_word(unsigned_text, "inf") || is_word(unsigned_text, "infinity"), nan = is_word(unsigned_text, "nan");
  if (npuc_dtype_is_integer(y->type) && is_whole(text)) {
    if (y->type == DTYPE_U64) {
      uint64_t raw = *text == '-' ? 0 : strtoull(text, NULL, 10);
      memcpy((char *)y->data + (size_t)i * sizeof raw, &raw, sizeof raw);
    } else {
      npuc_tensor_set_int(y, i, strtoll(text, NULL, 10));
    }
    return true;
  }
  if (y->type == DTYPE_BOOL && (is_word(text, "true") || is_word(text, "false"))) {
    npuc_tensor_set_int(y, i, (*text | 0x20) == 't');
    return true;
  }
  if (!infinite && !nan && !is_decimal(text)) return false;
  localize(text, local, sizeof local);
  double v = infinite               ? (*text == '-' ? -HUGE_VAL : HUGE_VAL)
             : nan                  ? (double)NAN
             : y->type == DTYPE_F32 ? (double)strtof(local, NULL)
                                    : strtod(local, NULL);
  npuc_tensor_set(y, i, npuc_dtype_is_integer(y->type) ? trunc(v) : v);
  return true;
}

/* The text without white space at its ends, as a string of C; false when it is no number's length. */
static bool trimmed(text_span text, char out[MOST_NUMBER]) {
  size_t from = 0, n = text.n;
  while (from < n && (text.bytes[from] == ' ' || (text.bytes[from] >= '\t' && text.bytes[from] <= '\r'))) from++;
  while (n > from && (text.bytes[n - 1] == ' ' || (text.bytes[n - 1] >= '\t' && text.bytes[n - 1] <= '\r'))) n--;
  if (n - from >= MOST_NUMBER || memchr(text.bytes + from, 0, n - from)) return false;
  memcpy(out, text.bytes + from, n - from);
  out[n - from] = '\0';
  return true;
}

static npuc_status from_texts(const eval_context *c, const tensor *x, tensor *y) {
  for (int64_t i = 0; i < npuc_tensor_elements(x); i++) {
    char text[MOST_NUMBER];
    text_span given = npuc_tensor_text(x, i);
    if (trimmed(given, text) && set_number(text, y, i)) continue;
    diag_place place = npuc_eval_place(c);
    return npuc_fail(c->d, NPUC_DIAG_E0605, &place, "element %lld, \"%.60s\", is no number", (long long)i, given.bytes);
  }
  return NPUC_OK;
}

npuc_status npuc_eval_cast_text(const eval_context *c, const tensor *x, tensor *y) {
  if (npuc_dtype_kind(x->type) == KIND_COMPLEX) return npuc_eval_unsupported(c, x->type);
  if (npuc_dtype_kind(y->type) == KIND_COMPLEX) return npuc_eval_unsupported(c, y->type);
  return y->type == DTYPE_STRING ? to_texts(c, x, y) : from_texts(c, x, y);
}
