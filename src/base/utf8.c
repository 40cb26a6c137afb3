/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF. Widths follow Unicode's East Asian Width in whole blocks. */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

size_t npuc_utf8_next(const char *text, int32_t *out_code) {
  const unsigned char *s = (const unsigned char *)text;
  static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  *out_code = s[0];
  if (s[0] == 0) return 0;
  if (s[0] < 0x80) return 1;
  size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
  int32_t code = n == 4 ? s[0] & 7 : n == 3 ? s[0] & 15 : s[0] & 31;
  bool good = n != 0 && s[0] < 0xf8;
  for (size_t i = 1; good && i < n; i++) {
    good = (s[i] & 0xc0) == 0x80; /* a NUL ends here too */
    code = code << 6 | (s[i] & 0x3f);
  }
  good = good && code >= least[n] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  *out_code = good ? code : UTF8_BAD;
  return good ? n : 1;
}

static size_t width_of(int32_t code) {
  static const struct {
    int32_t first, last;
    size_t width;
  } ranges[] = {{0x300, 0x36f, 0},   {0x200b, 0x200f, 0},   {0x20d0, 0x20ff, 0},   {0xfe00, 0xfe0f, 0},  {0x1100, 0x115f, 2},
                {0x2e80, 0xa4cf, 2}, {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},  {0xff00, 0xff60, 2},
                {0xffe0, 0xffe6, 2}, {0x1f300, 0x1f64f, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (code >= ranges[i].first && code <= ranges[i].last) return ranges[i].width;
  return 1;
}

size_t npuc_utf8_columns(const char *text) {
  size_t columns = 0;
  int32_t code;
  for (size_t n; (n = npuc_utf8_next(text, &code)) != 0; text += n) columns += width_of(code);
  return columns;
}

size_t npuc_utf8_fit(const char *text, size_t columns) {
  size_t bytes = 0, used = 0;
  int32_t code;
  for (size_t n; (n = npuc_utf8_next(text + bytes, &code)) != 0; bytes += n) {
    used += width_of(code);
    if (used > columns) break;
  }
  return bytes;
}

const char *npuc_utf8_shorten(arena *a, const char *text, size_t columns) {
  size_t whole = npuc_utf8_columns(text);
  if (whole <= columns) return text;
  if (columns == 0) return "";
  size_t left = (columns - 1) / 2, right = columns - 1 - left, head = npuc_utf8_fit(text, left);
  const char *tail = text + head;
  while (npuc_utf8_columns(tail) > right) {
    int32_t code;
    tail += npuc_utf8_next(tail, &code);
  }
  for (int32_t code; *tail; tail += npuc_utf8_next(tail, &code)) { /* a mark whose letter went goes too */
    (void)npuc_utf8_next(tail, &code);
    if (width_of(code) != 0) break;
  }
  return npuc_arena_printf(a, "%.*s\u2026%s", (int)head, text, tail);
}

static bool shows_in_line(int32_t code) { return (code >= 0x20 && code < 0x7f) || code > 0x9f; }
static bool shows_in_text(int32_t code) { return code == '\n' || code == '\t' || shows_in_line(code); }

static const char *cleaned(arena *a, const char *text, bool (*shows)(int32_t)) {
  static const char digits[] = "0123456789abcdef";
  size_t bad = 0;
  int32_t code;
  for (size_t i = 0, n; (n = npuc_utf8_next(text + i, &code)) != 0; i += n) bad += shows(code) ? 0 : n;
  if (bad == 0) return text;
  char *clean = npuc_arena_array(a, strlen(text) + 3 * bad + 1, 1), *to = clean;
  for (size_t n; (n = npuc_utf8_next(text, &code)) != 0; text += n) {
    for (size_t i = 0; i < n; i++) {
      unsigned char byte = (unsigned char)text[i];
      if (shows(code)) {
        *to++ = (char)byte;
      } else {
        *to++ = '\\', *to++ = 'x', *to++ = digits[byte >> 4], *to++ = digits[byte & 15];
      }
    }
  }
  *to = '\0';
  return clean;
}

const char *npuc_utf8_clean(arena *a, const char *text) { return cleaned(a, text, shows_in_text); }

const char *npuc_utf8_line(arena *a, const char *text) { return cleaned(a, text, shows_in_line); }
