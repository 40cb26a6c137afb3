/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, and the terminal that they must fit. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/utf8.h"
#include "cli/cli.h"

size_t npuc_cli_columns(int descriptor) {
  const char *text = getenv("COLUMNS");
  char *end = NULL;
  long given = text ? strtol(text, &end, 10) : 0;
  if (given > 0 && *end == '\0') return (size_t)given;
  return npuc_os_terminal_columns(descriptor);
}

static bool is_dumb(void) {
  const char *name = getenv("TERM");
  return !name || !*name || strcmp(name, "dumb") == 0;
}

bool npuc_cli_moves_cursor(int descriptor) { return isatty(descriptor) && !is_dumb(); }

bool npuc_cli_wants_color(int descriptor) {
  const char *no = getenv("NO_COLOR"); /* no-color.org: set, and not empty */
  return npuc_cli_moves_cursor(descriptor) && !(no && *no);
}

enum { GAP = 2, NARROWEST = 12 };

/* The widest column that may give way, or `columns` when none is wider than the narrowest. */
static size_t widest(const size_t *widths, size_t columns, unsigned right_mask) {
  size_t found = columns;
  for (size_t k = 0; k < columns; k++) {
    if (right_mask >> k & 1 || widths[k] <= NARROWEST) continue;
    if (found == columns || widths[k] > widths[found]) found = k;
  }
  return found;
}

static void fit(size_t *widths, size_t columns, unsigned right_mask, size_t limit) {
  size_t total = GAP * (columns - 1);
  for (size_t k = 0; k < columns; k++) total += widths[k];
  for (size_t k; limit && total > limit && (k = widest(widths, columns, right_mask)) < columns; total--) widths[k]--;
}

/* Names lose their middle, which tells least; the last column holds sentences, which lose their end. */
static const char *shortened(arena *a, const char *cell, size_t width, bool last) {
  if (!last || npuc_utf8_columns(cell) <= width) return npuc_utf8_shorten(a, cell, width);
  return npuc_arena_printf(a, "%.*s\u2026", (int)npuc_utf8_fit(cell, width - 1), cell);
}

static void print_cell(arena *a, const char *cell, size_t width, bool right, bool last) {
  const char *text = shortened(a, cell, width, last);
  int blanks = (int)(width - npuc_utf8_columns(text));
  if (right) printf("%*s", blanks, "");
  fputs(text, stdout);
  if (!last) printf("%*s", (right ? 0 : blanks) + GAP, "");
}

void npuc_cli_table(const cli *c, const char *const *header, const char *const *cells, size_t rows, size_t columns, unsigned right_mask) {
  if (c->json || c->quiet) return;
  const char **clean = (const char **)npuc_arena_array(c->arena, (rows + 1) * columns, sizeof(char *));
  size_t *widths = NPUC_NEW_ARRAY(c->arena, columns, size_t), first = header ? 0 : 1;
  for (size_t row = first; row <= rows; row++) {
    for (size_t k = 0; k < columns; k++) {
      size_t at = row * columns + k;
      clean[at] = npuc_utf8_line(c->arena, row == 0 ? header[k] : cells[at - columns]);
      size_t n = npuc_utf8_columns(clean[at]);
      if (n > widths[k]) widths[k] = n;
    }
  }
  fit(widths, columns, right_mask, npuc_cli_columns(STDOUT_FILENO));
  for (size_t row = first; row <= rows; row++) {
    for (size_t k = 0; k < columns; k++) print_cell(c->arena, clean[row * columns + k], widths[k], right_mask >> k & 1, k + 1 == columns);
    putchar('\n');
  }
}

void npuc_cli_row(cli_rows *r, ...) {
  va_list args;
  r->cells = npuc_arena_grow(r->c->arena, r->cells, r->n, r->n + r->columns, sizeof *r->cells, &r->capacity);
  va_start(args, r);
  for (size_t k = 0; k < r->columns; k++) r->cells[r->n++] = npuc_arena_str(r->c->arena, va_arg(args, const char *));
  va_end(args);
}

void npuc_cli_rows_print(const cli_rows *r) { npuc_cli_table(r->c, r->header, r->cells, r->n / r->columns, r->columns, r->right_mask); }
