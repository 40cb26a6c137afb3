/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of pages and sections only. A section writes its body, or nothing. */
#ifndef NPUC_REPORT_SECTION_H
#define NPUC_REPORT_SECTION_H

#include "report/chart.h"
#include "report/format.h"
#include "report/markup.h"

typedef struct page {
  arena *arena;
  markup out;
} page;

#define SECTION(id, title) void npuc_section_##id(page *p, const json_t *report);
#include "report/sections.def"
#undef SECTION

/* -- the frame of every page -- */
void npuc_page_open(markup *m, const char *title);
void npuc_page_head(markup *m, const char *kind, const char *title, const char *subtitle);
void npuc_page_close(markup *m);
const char *npuc_base_name(const char *path);

/* The figures at the top of the page. */
void npuc_section_summary(page *p, const json_t *report);

/* A paragraph that says what to look at. */
void npuc_section_lead(page *p, const char *text);
/* <table> with a caption for readers that see no picture; columns end at NULL. "#name" is right-aligned. */
void npuc_table_open(page *p, const char *caption, const char *const *columns);
void npuc_table_close(page *p);
/* Long tables fold: everything until `fold_close` is behind a <details> when `rows` is more than what a glance takes in. */
void npuc_fold_open(page *p, const char *title, size_t rows);
void npuc_fold_close(page *p, size_t rows);

#endif
