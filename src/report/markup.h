/* SPDX-License-Identifier: Apache-2.0 */
/* HTML as text. Names of a model are hostile strings, so escaping is what happens when nobody thinks of it: every %s is escaped, and only text of our own
 * (npuc_markup_raw) is not. */
#ifndef NPUC_REPORT_MARKUP_H
#define NPUC_REPORT_MARKUP_H

#include <jansson.h>
#include <stddef.h>

#include "base/arena.h"

/* Zero-initialised; `text` ends with a NUL, or is NULL while empty. */
typedef struct markup {
  char *text;
  size_t bytes, capacity;
} markup;

void npuc_markup_destroy(markup *m);
/* A string literal, or markup that was made here. */
void npuc_markup_raw(markup *m, const char *html);
void npuc_markup_bytes(markup *m, const char *html, size_t n);
/* As printf, with the conversions %s, %zu, %d and %% alone: the text of a %s is escaped for element content and for quoted attributes (& < > " ' become references; bytes
 * that are no UTF-8 and control characters U+FFFD). Numbers that need a form of their own come as text (report/format.h). */
void npuc_markup_print(markup *m, const char *format, ...) NPUC_PRINTF(2, 3);
/* A coordinate: at most two decimals, no more digits than it needs. */
void npuc_markup_number(markup *m, double v);
/* JSON for a <script type="application/json"> element: compact, ASCII, and no '<', '>' or '&' in it, so that nothing in it ends the element. */
void npuc_markup_json(markup *m, const json_t *value);

/* `text` as JSON; bytes that are no UTF-8 become U+FFFD (jansson refuses them). */
json_t *npuc_json_text(const char *text);

#endif
