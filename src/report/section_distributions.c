/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of activations and weights with the range that the integers cover. */
#include <math.h>
#include <string.h>

#include "report/section.h"

enum { WIDTH = 128, HEIGHT = 40, SHOWN_FIRST = 24 };

typedef struct window {
  double from, to; /* what the picture spans */
} window;

static window span_of(const json_t *h) {
  double from = npuc_json_member(h, "from"), to = from + npuc_json_member(h, "width") * (double)json_array_size(json_object_get(h, "bins"));
  double lo = npuc_json_member(h, "lo"), hi = npuc_json_member(h, "hi");
  if (isfinite(lo) && lo < from) from = lo;
  if (isfinite(hi) && hi > to) to = hi;
  double margin = (to - from) * 0.02;
  return (window){from - margin, to + margin};
}

static double x_of(window w, double v) { return w.to > w.from ? (v - w.from) / (w.to - w.from) * WIDTH : 0; }

/* Heights by the square root: the tails are what clipping is about, and zeros of a ReLU would leave nothing else to see. */
static void bars(page *p, const json_t *h, window w) {
  const json_t *bins = json_object_get(h, "bins"), *bin;
  double most = 1, from = npuc_json_member(h, "from"), width = npuc_json_member(h, "width");
  size_t i;
  json_array_foreach(bins, i, bin) if (json_number_value(bin) > most) most = json_number_value(bin);
  npuc_markup_raw(&p->out, "<path class=\"bars\" d=\"");
  json_array_foreach(bins, i, bin) {
    double height = HEIGHT * sqrt(json_number_value(bin) / most);
    npuc_markup_raw(&p->out, i == 0 ? "M" : "H");
    npuc_markup_number(&p->out, x_of(w, from + width * (double)i));
    if (i == 0) npuc_markup_print(&p->out, " %d", HEIGHT);
    npuc_markup_raw(&p->out, "V");
    npuc_markup_number(&p->out, HEIGHT - height);
  }
  npuc_markup_raw(&p->out, "H");
  npuc_markup_number(&p->out, x_of(w, from + width * (double)json_array_size(bins)));
  npuc_markup_print(&p->out, "V%dZ\"/>", HEIGHT);
}

static void mark(page *p, const char *class, window w, double v) {
  if (!isfinite(v)) return;
  npuc_markup_print(&p->out, "<path class=\"%s\" d=\"M", class);
  npuc_markup_number(&p->out, x_of(w, v));
  npuc_markup_print(&p->out, " 0V%d\"/>", HEIGHT);
}

static void picture(page *p, const json_t *h, size_t index) {
  arena *a = p->arena;
  window w = span_of(h);
  const char *kind = npuc_json_member_text(h, "kind");
  double clipped = npuc_json_member(h, "clipped"), count = npuc_json_member(h, "count"), channels = npuc_json_member(h, "channels");
  npuc_markup_print(&p->out,
                    "<figure class=\"histogram %s\" id=\"h%zu\">\n<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" ",
                    kind, index, WIDTH, HEIGHT);
  npuc_markup_print(&p->out, "aria-label=\"Histogram of %s, %s to %s\">", npuc_json_member_text(h, "tensor"),
                    npuc_format_short(a, npuc_json_member(h, "min")), npuc_format_short(a, npuc_json_member(h, "max")));
  bars(p, h, w);
  mark(p, "zero", w, 0.0);
  mark(p, "clip", w, npuc_json_member(h, "lo"));
  mark(p, "clip", w, npuc_json_member(h, "hi"));
  npuc_markup_print(&p->out, "</svg>\n<figcaption><code>%s</code><span>%s %s</span>", npuc_json_member_text(h, "tensor"),
                    npuc_json_member_text(h, "dtype"), kind);
  npuc_markup_print(&p->out, "<span>%s \xe2\x80\xa6 %s</span>", npuc_format_short(a, npuc_json_member(h, "min")),
                    npuc_format_short(a, npuc_json_member(h, "max")));
  if (channels > 1)
    npuc_markup_print(&p->out, "<span>%s channels, scale %s \xe2\x80\xa6 %s</span>", npuc_format_count(a, channels),
                      npuc_format_short(a, npuc_json_member(h, "least_scale")), npuc_format_short(a, npuc_json_member(h, "scale")));
  else
    npuc_markup_print(&p->out, "<span>scale %s, zero point %s</span>", npuc_format_short(a, npuc_json_member(h, "scale")),
                      npuc_format_count(a, npuc_json_member(h, "zero_point")));
  if (clipped > 0)
    npuc_markup_print(&p->out, "<span class=\"clipped\">%s clipped</span>", npuc_format_percent(a, count > 0 ? clipped / count : NAN, 3));
  npuc_markup_raw(&p->out, "</figcaption>\n</figure>\n");
}

static size_t group(page *p, const json_t *all, const char *kind, const char *title) {
  size_t i, n = 0;
  const json_t *h;
  json_array_foreach(all, i, h) {
    if (strcmp(npuc_json_member_text(h, "kind"), kind) != 0) continue;
    if (n == 0) npuc_markup_print(&p->out, "<h3>%s</h3>\n<div class=\"histograms\">\n", title);
    if (n == SHOWN_FIRST)
      npuc_markup_raw(&p->out, "</div>\n<details class=\"fold\"><summary>The others</summary>\n<div class=\"histograms\">\n");
    picture(p, h, i);
    n++;
  }
  if (n) npuc_markup_raw(&p->out, n > SHOWN_FIRST ? "</div>\n</details>\n" : "</div>\n");
  return n;
}

void npuc_section_distributions(page *p, const json_t *report) {
  const json_t *all = json_object_get(report, "histograms");
  if (!json_array_size(all)) return;
  npuc_section_lead(p,
                    "Values of the float model, and between the two lines what its integers can hold. Much empty room between the lines "
                    "wastes resolution; values "
                    "outside are clipped. Heights by square root.");
  group(p, all, "activation", "Activations");
  group(p, all, "weight", "Weights");
}
