/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and the little that surrounds them. */
#include "report/section.h"

enum { LONG_TABLE = 14 };

void npuc_section_lead(page *p, const char *text) { npuc_markup_print(&p->out, "<p class=\"lead\">%s</p>\n", text); }

void npuc_table_open(page *p, const char *caption, const char *const *columns) {
  npuc_markup_print(&p->out,
                    "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n<table>\n<caption>%s</caption>\n<thead><tr>",
                    caption, caption);
  for (; *columns; columns++) {
    const char *name = *columns;
    npuc_markup_print(&p->out, name[0] == '#' ? "<th scope=\"col\" class=\"n\">%s</th>" : "<th scope=\"col\">%s</th>",
                      name + (name[0] == '#'));
  }
  npuc_markup_raw(&p->out, "</tr></thead>\n<tbody>\n");
}

void npuc_table_close(page *p) { npuc_markup_raw(&p->out, "</tbody>\n</table>\n</div>\n"); }

void npuc_fold_open(page *p, const char *title, size_t rows) {
  if (rows > LONG_TABLE)
    npuc_markup_print(&p->out, "<details class=\"fold\"><summary>%s <span class=\"count\">%zu</span></summary>\n", title, rows);
}

void npuc_fold_close(page *p, size_t rows) {
  if (rows > LONG_TABLE) npuc_markup_raw(&p->out, "</details>\n");
}
