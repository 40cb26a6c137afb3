/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart.h"

#include <math.h>

/* Names on every bar would outweigh the page of a large model; its table has them. */
enum { HEIGHT = 100, NAMED_POINTS = 600 };

static double y_of(const chart *c, double v) {
  double share = isinf(v) ? 1.0 : v / c->top;
  return HEIGHT * (1.0 - (share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share));
}

static void open_chart(markup *m, const chart *c, size_t n) {
  npuc_markup_print(m,
                    "<figure class=\"chart\">\n<figcaption>%s</figcaption>\n<div class=\"plot\"><div class=\"axis\" "
                    "aria-hidden=\"true\"><span>%s %s</span>",
                    c->caption, c->top_text, c->unit);
  npuc_markup_print(m, "<span>0</span></div>\n<svg viewBox=\"0 0 %zu %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s\">\n",
                    n, HEIGHT, c->label);
  npuc_markup_print(m, "<path class=\"grid\" d=\"M0 25H%zuM0 50H%zuM0 75H%zu\"/>\n", n, n, n);
}

static void close_chart(markup *m, const chart *c, size_t n) {
  if (!isnan(c->limit)) {
    npuc_markup_raw(m, "<path class=\"limit\" d=\"M0 ");
    npuc_markup_number(m, y_of(c, c->limit));
    npuc_markup_print(m, "H%zu\"><title>%s</title></path>\n", n, c->limit_text);
  }
  npuc_markup_print(m, "</svg></div>\n<div class=\"ends\" aria-hidden=\"true\"><span>%s</span><span>%s</span></div>\n</figure>\n",
                    c->first_text, c->last_text);
}

static void hover(markup *m, const chart_point *p, size_t n) {
  if (n <= NAMED_POINTS)
    npuc_markup_print(m, "><title>%s: %s</title></rect>", p->name, p->text);
  else
    npuc_markup_raw(m, "/>");
}

void npuc_chart_bars(markup *m, const chart *c, const chart_point *points, size_t n) {
  open_chart(m, c, n);
  for (size_t i = 0; i < n; i++) {
    if (isnan(points[i].value)) continue;
    double y = y_of(c, points[i].value);
    npuc_markup_print(m, "<rect class=\"%s\" x=\"%zu.1\" width=\".8\" y=\"", points[i].marked ? "bar mark" : "bar", i);
    npuc_markup_number(m, y);
    npuc_markup_raw(m, "\" height=\"");
    npuc_markup_number(m, HEIGHT - y);
    npuc_markup_raw(m, "\"");
    hover(m, &points[i], n);
    npuc_markup_raw(m, "\n");
  }
  close_chart(m, c, n);
}

void npuc_chart_steps(markup *m, const chart *c, const chart_point *points, size_t n) {
  open_chart(m, c, n);
  npuc_markup_print(m, "<path class=\"area\" d=\"M0 %d", HEIGHT);
  for (size_t i = 0; i < n; i++) {
    npuc_markup_raw(m, "V");
    npuc_markup_number(m, isnan(points[i].value) ? (double)HEIGHT : y_of(c, points[i].value));
    npuc_markup_print(m, "H%zu", i + 1);
  }
  npuc_markup_print(m, "V%dZ\"/>\n", HEIGHT);
  for (size_t i = 0; i < n && n <= NAMED_POINTS; i++) {
    double y = points[i].marked && !isnan(points[i].value) ? y_of(c, points[i].value) : 0;
    npuc_markup_print(m, "<rect class=\"%s\" x=\"%zu\" width=\"1\" y=\"", points[i].marked ? "hit mark" : "hit", i);
    npuc_markup_number(m, y);
    npuc_markup_raw(m, "\" height=\"");
    npuc_markup_number(m, HEIGHT - y);
    npuc_markup_raw(m, "\"");
    hover(m, &points[i], n);
    npuc_markup_raw(m, "\n");
  }
  close_chart(m, c, n);
}
