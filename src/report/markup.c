/* SPDX-License-Identifier: Apache-2.0 */
#include "report/markup.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

void npuc_markup_destroy(markup *m) {
  free(m->text);
  *m = (markup){0};
}

void npuc_markup_bytes(markup *m, const char *html, size_t n) {
  if (m->bytes + n + 1 > m->capacity) {
    m->capacity = (m->bytes + n + 1) * 2;
    m->text = npuc_xrealloc(m->text, m->capacity);
  }
  memcpy(m->text + m->bytes, html, n);
  m->bytes += n;
  m->text[m->bytes] = '\0';
}

void npuc_markup_raw(markup *m, const char *html) { npuc_markup_bytes(m, html, strlen(html)); }

/* -- escaping -- */

/* Length of the UTF-8 sequence at s (RFC 3629: no overlong form, no surrogate, at most U+10FFFF), 0 where there is none. */
static size_t sequence(const unsigned char *s) {
  if (s[0] < 0x80) return s[0] >= 0x20 || s[0] == '\t' || s[0] == '\n' ? 1 : 0;
  size_t n = s[0] >= 0xC2 && s[0] <= 0xDF ? 2 : s[0] >= 0xE0 && s[0] <= 0xEF ? 3 : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4 : 0;
  for (size_t i = 1; i < n; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
  bool beyond = (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF4 && s[1] > 0x8F);
  return overlong || beyond || (s[0] == 0xC2 && s[1] < 0xA0) ? 0 : n; /* U+0080 to U+009F are control characters too */
}

static const char *reference(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return NULL;
  }
}

static void escape(markup *m, const char *text) {
  const unsigned char *s = (const unsigned char *)text;
  while (*s) {
    size_t n = sequence(s);
    const char *as = n == 1 ? reference((char)*s) : n == 0 ? replacement : NULL;
    if (as)
      npuc_markup_raw(m, as);
    else
      npuc_markup_bytes(m, (const char *)s, n);
    s += n ? n : 1;
  }
}

/* -- printing -- */

void npuc_markup_number(markup *m, double v) {
  char text[64];
  int n = snprintf(text, sizeof text, "%.2f", isfinite(v) && fabs(v) < 1e12 ? v : 0.0);
  while (n > 1 && text[n - 1] == '0') n--;
  if (text[n - 1] == '.') n--;
  npuc_markup_bytes(m, strncmp(text, "-0", (size_t)n) == 0 ? "0" : text, strncmp(text, "-0", (size_t)n) == 0 ? 1 : (size_t)n);
}

void npuc_markup_print(markup *m, const char *format, ...) {
  va_list arguments;
  char number[32];
  va_start(arguments, format);
  for (const char *at = format; *at;) {
    size_t plain = strcspn(at, "%");
    npuc_markup_bytes(m, at, plain);
    at += plain;
    if (!*at) break;
    if (at[1] == 's') {
      escape(m, va_arg(arguments, const char *));
    } else if (at[1] == 'd') {
      snprintf(number, sizeof number, "%d", va_arg(arguments, int));
      npuc_markup_raw(m, number);
    } else if (at[1] == 'z' && at[2] == 'u') {
      snprintf(number, sizeof number, "%zu", va_arg(arguments, size_t));
      npuc_markup_raw(m, number);
      at++;
    } else {
      assert(at[1] == '%');
      npuc_markup_raw(m, "%");
    }
    at += 2;
  }
  va_end(arguments);
}

/* -- JSON -- */

void npuc_markup_json(markup *m, const json_t *value) {
  char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
  assert(text);
  for (const char *s = text; *s; s++) { /* these three stand in JSON only inside strings */
    if (*s == '<' || *s == '>' || *s == '&')
      npuc_markup_raw(m, *s == '<' ? "\\u003c" : *s == '>' ? "\\u003e" : "\\u0026");
    else
      npuc_markup_bytes(m, s, 1);
  }
  free(text);
}

json_t *npuc_json_text(const char *text) {
  json_t *whole = json_string(text);
  if (whole) return whole;
  markup m = {0};
  for (const unsigned char *s = (const unsigned char *)text; *s;) {
    size_t n = sequence(s);
    if (n)
      npuc_markup_bytes(&m, (const char *)s, n);
    else
      npuc_markup_raw(&m, replacement);
    s += n ? n : 1;
  }
  json_t *mended = json_string(m.text ? m.text : "");
  npuc_markup_destroy(&m);
  return mended;
}
