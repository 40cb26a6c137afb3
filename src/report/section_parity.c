/* SPDX-License-Identifier: Apache-2.0 */
/* Float against integers, value by value in the order of execution: where the first error grows. */
#include <math.h>
#include <string.h>

#include "report/section.h"

static const json_t *steepest_of(const json_t *parity) {
  const json_t *nodes = json_object_get(parity, "nodes"), *entry;
  const char *value = npuc_json_member_text(parity, "steepest");
  size_t i;
  json_array_foreach(nodes, i, entry) if (*value && strcmp(npuc_json_member_text(entry, "value"), value) == 0) return entry;
  return NULL;
}

static void lead(page *p, const json_t *parity) {
  arena *a = p->arena;
  const json_t *steepest = steepest_of(parity);
  const char *text =
      npuc_arena_printf(a,
                        "Signal to quantization noise of each value, integers against float on %s samples, in order of execution. "
                        "Each bar carries all noise from above; what matters is where it falls.",
                        npuc_format_count(a, npuc_json_member(parity, "samples")));
  if (steepest)
    text = npuc_arena_printf(a, "%s The steepest fall is at %s (%s): %s dB below its weakest input.", text,
                             npuc_json_member_text(steepest, "node"), npuc_json_member_text(steepest, "op"),
                             npuc_format_fixed(a, npuc_json_member(steepest, "fall_db"), 1));
  npuc_section_lead(p, text);
}

static void bars(page *p, const json_t *parity) {
  const json_t *nodes = json_object_get(parity, "nodes"), *entry;
  size_t i, n = json_array_size(nodes);
  chart_point *points = NPUC_NEW_ARRAY(p->arena, n + 1, chart_point);
  double top = 10;
  json_array_foreach(nodes, i, entry) {
    double v = npuc_json_member(entry, "sqnr_db");
    if (isfinite(v) && v > top) top = v;
    points[i] = (chart_point){.name = npuc_json_member_text(entry, "value"),
                              .value = v,
                              .text = npuc_arena_printf(p->arena, "%s dB", npuc_format_fixed(p->arena, v, 1)),
                              .marked = strcmp(npuc_json_member_text(entry, "value"), npuc_json_member_text(parity, "steepest")) == 0};
  }
  top = ceil(top / 10) * 10;
  chart c = {
      .caption = "SQNR by value. A higher bar is closer to float; the marked one falls most.",
      .label = "Bar chart of the signal to quantization noise ratio of each value, in order of execution; the table below has the numbers",
      .unit = "dB",
      .top = top,
      .top_text = npuc_format_fixed(p->arena, top, 0),
      .first_text = "first node",
      .last_text = "last node",
      .limit = NAN};
  npuc_chart_bars(&p->out, &c, points, n);
}

static void rows(page *p, const json_t *parity) {
  static const char *const columns[] = {"#", "Node", "Operator", "#SQNR dB", "#Fall dB", "#Cosine", "#max|d|", "#RMSE", NULL};
  const json_t *nodes = json_object_get(parity, "nodes"), *entry;
  arena *a = p->arena;
  size_t i;
  npuc_fold_open(p, "All values", json_array_size(nodes));
  npuc_table_open(p, "Parity by node", columns);
  json_array_foreach(nodes, i, entry) {
    bool marked = strcmp(npuc_json_member_text(entry, "value"), npuc_json_member_text(parity, "steepest")) == 0;
    npuc_markup_print(&p->out, "<tr><td class=\"n\">%zu</td><th scope=\"row\"><code>%s</code></th><td>%s</td><td class=\"n\">%s</td>",
                      i + 1, npuc_json_member_text(entry, "node"), npuc_json_member_text(entry, "op"),
                      npuc_format_fixed(a, npuc_json_member(entry, "sqnr_db"), 1));
    npuc_markup_print(&p->out, "<td class=\"%s\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
                      marked ? "n mark" : "n", npuc_format_fixed(a, npuc_json_member(entry, "fall_db"), 1),
                      npuc_format_fixed(a, npuc_json_member(entry, "cosine"), 6), npuc_format_short(a, npuc_json_member(entry, "max_abs")),
                      npuc_format_short(a, npuc_json_member(entry, "rmse")));
  }
  npuc_table_close(p);
  npuc_fold_close(p, json_array_size(nodes));
}

void npuc_section_parity(page *p, const json_t *report) {
  const json_t *parity = json_object_get(report, "parity");
  if (!json_array_size(json_object_get(parity, "nodes"))) return;
  lead(p, parity);
  bars(p, parity);
  rows(p, parity);
}
