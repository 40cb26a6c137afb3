/* SPDX-License-Identifier: Apache-2.0 */
/* The characters of the textual syntax: blanks, `#` comments, identifiers, quoted strings, numbers. Numbers are read and written with a
 * point whatever the process's locale is. In a string a backslash makes the next character plain, nothing more (onnx.parser's rule). */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text_read.h"

text_cursor npuc_text_open(diag *d, arena *a, const char *file, const char *text, size_t n) {
  return (text_cursor){.d = d, .a = a, .file = file, .start = text, .next = text, .end = text + n, .line_start = text, .line = 1};
}

bool npuc_text_ok(const text_cursor *t) { return t->status == NPUC_OK; }

uint32_t npuc_text_column(const text_cursor *t) { return (uint32_t)(t->next - t->line_start) + 1; }

void npuc_text_fail(text_cursor *t, diag_code code, const char *format, ...) {
  if (!npuc_text_ok(t)) return;
  va_list args;
  va_start(args, format);
  const char *reason = npuc_arena_vprintf(t->a, format, args);
  va_end(args);
  diag_place place = {.file = t->file};
  t->status = npuc_fail(t->d, code, &place, "line %u, column %u: %s", (unsigned)t->line, (unsigned)npuc_text_column(t), reason);
}

/* The classes of ctype.h depend on the locale; these do not. */
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void advance(text_cursor *t) {
  if (*t->next++ != '\n') return;
  t->line++;
  t->line_start = t->next;
}

char npuc_text_peek(text_cursor *t) {
  if (!npuc_text_ok(t)) return 0;
  for (bool comment = false; t->next < t->end; advance(t)) {
    char c = *t->next;
    if (c == '#') comment = true;
    if (c == '\n') comment = false;
    if (!comment && c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\v' && c != '\f') return c;
  }
  return 0;
}

bool npuc_text_take(text_cursor *t, char c) {
  if (npuc_text_peek(t) != c || c == 0) return false;
  t->next++;
  return true;
}

void npuc_text_expect(text_cursor *t, char c) {
  char found = npuc_text_peek(t);
  if (found == c)
    t->next++;
  else if (found == 0)
    npuc_text_fail(t, NPUC_DIAG_E0420, "expected '%c', and the text ends", c);
  else
    npuc_text_fail(t, NPUC_DIAG_E0420, "expected '%c', found '%c'", c, found);
}

const char *npuc_text_identifier(text_cursor *t) {
  if (!is_letter(npuc_text_peek(t))) return NULL;
  const char *from = t->next;
  while (t->next < t->end && (is_letter(*t->next) || is_digit(*t->next))) t->next++;
  return npuc_arena_strn(t->a, from, (size_t)(t->next - from));
}

const char *npuc_text_string(text_cursor *t) {
  npuc_text_expect(t, '"');
  if (!npuc_text_ok(t)) return "";
  const char *from = t->next;
  size_t n = 0;
  for (const char *p = from; p < t->end && *p != '"'; p++) {
    if (*p == '\\' && p + 1 < t->end) p++;
    n++;
  }
  char *text = npuc_arena_alloc(t->a, n + 1), *to = text;
  while (t->next < t->end && *t->next != '"') {
    if (*t->next == '\\' && t->next + 1 < t->end) advance(t);
    if (*t->next == 0) {
      npuc_text_fail(t, NPUC_DIAG_E0420, "a zero byte inside a string");
      return "";
    }
    *to++ = *t->next;
    advance(t);
  }
  if (t->next >= t->end)
    npuc_text_fail(t, NPUC_DIAG_E0420, "the string has no end");
  else
    t->next++;
  return text;
}

const char *npuc_text_name(text_cursor *t) { return npuc_text_peek(t) == '"' ? npuc_text_string(t) : npuc_text_identifier(t); }

/* -inf, nan, infinity in any case. */
static bool special_float(const char *p, size_t n) {
  static const char *const names[] = {"inf", "infinity", "nan"};
  for (size_t i = 0; i < 3; i++) {
    if (strlen(names[i]) != n) continue;
    size_t k = 0;
    while (k < n && (p[k] | 0x20) == names[i][k]) k++;
    if (k == n) return true;
  }
  return false;
}

static void skip_digits(text_cursor *t) {
  while (t->next < t->end && is_digit(*t->next)) t->next++;
}

literal npuc_text_literal(text_cursor *t) {
  char c = npuc_text_peek(t);
  if (c == '"') return (literal){LITERAL_STRING, npuc_text_string(t)};
  const char *from = t->next;
  literal result = {.kind = LITERAL_NONE, .text = ""};
  if (!npuc_text_ok(t)) return result;
  if (c == '-') t->next++;
  const char *digits = t->next;
  if (t->next < t->end && is_letter(*t->next)) {
    while (t->next < t->end && (is_letter(*t->next) || is_digit(*t->next))) t->next++;
    if (special_float(digits, (size_t)(t->next - digits))) result.kind = LITERAL_FLOAT;
  } else if (t->next < t->end && is_digit(*t->next)) {
    result.kind = LITERAL_INT;
    skip_digits(t);
    if (t->next < t->end && *t->next == '.') {
      result.kind = LITERAL_FLOAT;
      t->next++;
      skip_digits(t);
    }
    if (t->next < t->end && (*t->next == 'e' || *t->next == 'E')) {
      result.kind = LITERAL_FLOAT;
      t->next++;
      if (t->next < t->end && (*t->next == '+' || *t->next == '-')) t->next++;
      skip_digits(t);
    }
  }
  if (result.kind == LITERAL_NONE) {
    t->next = from;
    npuc_text_fail(t, NPUC_DIAG_E0420, "expected a number or a string");
    return result;
  }
  result.text = npuc_arena_strn(t->a, from, (size_t)(t->next - from));
  return result;
}

bool npuc_literal_int(const literal *l, int64_t *out_value) {
  if (l->kind != LITERAL_INT) return false;
  errno = 0;
  long long v = strtoll(l->text, NULL, 10);
  *out_value = v;
  return errno == 0;
}

bool npuc_literal_unsigned(const literal *l, uint64_t *out_value) {
  if (l->kind != LITERAL_INT || *l->text == '-') return false;
  errno = 0;
  unsigned long long v = strtoull(l->text, NULL, 10);
  *out_value = v;
  return errno == 0;
}

int64_t npuc_text_int(text_cursor *t) {
  npuc_text_peek(t);
  literal l = npuc_text_literal(t);
  int64_t v = 0;
  if (npuc_text_ok(t) && !npuc_literal_int(&l, &v)) npuc_text_fail(t, NPUC_DIAG_E0420, "expected an integer of 64 bits, found %s", l.text);
  return v;
}

/* strtod reads the locale's decimal point; so that is what it is given. */
static const char *localized(const literal *l, char *buffer, size_t bytes) {
  const char *point = localeconv()->decimal_point, *dot = strchr(l->text, '.');
  if (!dot || strcmp(point, ".") == 0) return l->text;
  snprintf(buffer, bytes, "%.*s%s%s", (int)(dot - l->text), l->text, point, dot + 1);
  return buffer;
}

float npuc_literal_float(const literal *l) {
  char buffer[128];
  return strtof(localized(l, buffer, sizeof buffer), NULL);
}

double npuc_literal_double(const literal *l) {
  char buffer[128];
  return strtod(localized(l, buffer, sizeof buffer), NULL);
}
