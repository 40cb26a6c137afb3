/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as inline SVG that stretches with the page: shapes only, in units of their own; words and numbers stand around it as text, so that they keep their size in a narrow
 * window. */
#ifndef NPUC_REPORT_CHART_H
#define NPUC_REPORT_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "report/markup.h"

typedef struct chart_point {
  const char *name; /* shown on hover */
  const char *text; /* the value as text */
  double value;     /* NaN: nothing; +infinity: the top */
  bool marked;
} chart_point;

typedef struct chart {
  const char *caption; /* what to look at */
  const char *label;   /* for readers that see no picture */
  const char *unit;    /* beside the top number of the y axis */
  const char *top_text, *first_text, *last_text;
  double top;   /* value at the upper edge, > 0 */
  double limit; /* a line across, or NaN */
  const char *limit_text;
} chart;

/* One bar a point. */
void npuc_chart_bars(markup *m, const chart *c, const chart_point *points, size_t n);
/* An area whose height is the value from one step to the next. */
void npuc_chart_steps(markup *m, const chart *c, const chart_point *points, size_t n);

#endif
