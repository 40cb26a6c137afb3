/* SPDX-License-Identifier: Apache-2.0 */
/* Text for a terminal: how wide it is, where it may be cut, and what must not reach the screen. */
#ifndef NPUC_BASE_UTF8_H
#define NPUC_BASE_UTF8_H

#include <stdint.h>

#include "base/arena.h"

/* Bytes of the character that begins at `text` (1 to 4) and its code point; 0 at the end. A byte that begins none is one of its own, UTF8_BAD. */
enum { UTF8_BAD = -1 };
size_t npuc_utf8_next(const char *text, int32_t *out_code);
/* Columns on a terminal: 0 for combining marks, 2 for the wide characters of East Asia and pictures, else 1. */
size_t npuc_utf8_columns(const char *text);
/* Bytes of the longest beginning of whole characters that is no wider than `columns`. */
size_t npuc_utf8_fit(const char *text, size_t columns);
/* At most `columns` wide: the middle goes, "block1…conv2". Itself when it fits. */
const char *npuc_utf8_shorten(arena *a, const char *text, size_t columns);
/* Control characters (not newline and tab) and bytes that are no UTF-8 written as \xNN. Itself when there are none. */
const char *npuc_utf8_clean(arena *a, const char *text);
/* The same for a name, which is no text: newline and tab are written so too, and no name looks like a line of ours. */
const char *npuc_utf8_line(arena *a, const char *text);

#endif
