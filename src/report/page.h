/* SPDX-License-Identifier: Apache-2.0 */
/* The pages: one self-contained HTML file each, a function of the report's data and nothing else, so that the same report gives the same bytes.
 *
 * report.json holds every number; a page is a view of it. sections.def lists what is shown, in order; a section that has nothing to show is left out. Tables and charts
 * are HTML and inline SVG, made here; scripts (assets/) only add: the graph's viewer, filters, the theme's switch. */
#ifndef NPUC_REPORT_PAGE_H
#define NPUC_REPORT_PAGE_H

#include "report/markup.h"

/* Of one build: `report` is the document of report.json. */
void npuc_report_page(const json_t *report, markup *out_page);
/* Of two builds side by side; labels: as the user named them. */
void npuc_report_compare_page(const json_t *a, const char *a_label, const json_t *b, const char *b_label, markup *out_page);
/* Of a model: {"title", "parts": [of npuc_graph_json]}. */
void npuc_report_graph_page(const json_t *document, markup *out_page);

#endif
