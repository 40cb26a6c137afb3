/* SPDX-License-Identifier: Apache-2.0 */
/* The tables are the C library's, in its locale C.UTF-8, which asks nothing of the process's own locale. */
#include "base/letter_case.h"

#include <locale.h>
#include <stdint.h>
#include <string.h>
#include <wctype.h>

#include "base/utf8.h"

static size_t put_code(uint32_t code, char *out) {
  if (code < 0x80) return out[0] = (char)code, 1;
  size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = n - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)(heads[n] | code);
  return n;
}

static char ascii_case(char c, bool upper) {
  if (upper) return c >= 'a' && c <= 'z' ? (char)(c - 0x20) : c;
  return c >= 'A' && c <= 'Z' ? (char)(c + 0x20) : c;
}

static bool is_ascii(const char *text, size_t n) {
  unsigned char all = 0;
  for (size_t i = 0; i < n; i++) all |= (unsigned char)text[i];
  return all < 0x80;
}

size_t npuc_letter_case(const char *text, size_t n, bool upper, char *out) {
  if (is_ascii(text, n)) {
    for (size_t i = 0; i < n; i++) out[i] = ascii_case(text[i], upper);
    return n;
  }
  locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  if (!unicode) return SIZE_MAX;
  size_t made = 0;
  for (size_t at = 0, step; at < n; at += step) {
    int32_t code;
    step = npuc_utf8_next(text + at, &code);
    if (step == 0 || code == UTF8_BAD) {
      step = 1;
      out[made++] = text[at];
      continue;
    }
    wint_t other = upper ? towupper_l((wint_t)code, unicode) : towlower_l((wint_t)code, unicode);
    made += put_code((uint32_t)other, out + made);
  }
  freelocale(unicode);
  return made;
}
