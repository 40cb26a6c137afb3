/* SPDX-License-Identifier: Apache-2.0 */
/* Where the NPU's cycles go: layer by layer, and which unit was busy meanwhile. */
#include <math.h>
#include <string.h>

#include "report/section.h"

static const struct {
  const char *member, *title, *class;
} lanes[] = {{"array_busy", "Array", "array"}, {"vector_busy", "Vector", "vector"}, {"dma_busy", "DMA", "dma"}};

enum { LANES = 3, NAMED_LAYERS = 600, LANE_HEIGHT = 30, WIDTH = 1000 };

/* One lane a unit, time from left to right: a layer is as wide as its cycles, as high as the unit was busy in them. */
static void lane(page *p, const json_t *layers, double total, size_t which) {
  markup *m = &p->out;
  size_t i;
  const json_t *layer;
  double at = 0;
  npuc_markup_print(
      m, "<div class=\"lane\"><span aria-hidden=\"true\">%s</span><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" ",
      lanes[which].title, WIDTH, LANE_HEIGHT);
  npuc_markup_print(m, "aria-label=\"How busy the unit %s was in each layer; the table below has the numbers\">\n", lanes[which].title);
  json_array_foreach(layers, i, layer) {
    double cycles = npuc_json_member(layer, "cycles"), busy = npuc_json_member(layer, lanes[which].member);
    double width = total > 0 ? cycles / total * WIDTH : 0, share = cycles > 0 ? busy / cycles : 0;
    double height = LANE_HEIGHT * (share > 1 ? 1 : share);
    if (busy > 0 && cycles > 0) {
      npuc_markup_print(m, "<rect class=\"%s\" x=\"", lanes[which].class);
      npuc_markup_number(m, at);
      npuc_markup_raw(m, "\" width=\"");
      npuc_markup_number(m, width);
      npuc_markup_raw(m, "\" y=\"");
      npuc_markup_number(m, LANE_HEIGHT - height);
      npuc_markup_raw(m, "\" height=\"");
      npuc_markup_number(m, height);
      if (json_array_size(layers) <= NAMED_LAYERS)
        npuc_markup_print(m, "\"><title>%s (%s): busy %s of %s cycles</title></rect>\n", npuc_json_member_text(layer, "name"),
                          npuc_json_member_text(layer, "op"), npuc_format_count(p->arena, busy), npuc_format_count(p->arena, cycles));
      else
        npuc_markup_raw(m, "\"/>\n");
    }
    at += width;
  }
  npuc_markup_raw(m, "</svg></div>\n");
}

static void timeline(page *p, const json_t *layers, double total) {
  npuc_markup_raw(&p->out,
                  "<figure class=\"chart lanes\">\n<figcaption>One inference from left to right. A full lane is a unit at work; where all "
                  "three are low, the machine "
                  "waits.</figcaption>\n");
  for (size_t i = 0; i < LANES; i++) lane(p, layers, total, i);
  npuc_markup_print(&p->out, "<div class=\"ends\" aria-hidden=\"true\"><span>0</span><span>%s cycles</span></div>\n</figure>\n",
                    npuc_format_count(p->arena, total));
}

static void units(page *p, const json_t *of, double total) {
  static const char *const columns[] = {"Unit", "#Busy", "#of all", "#Blocked", NULL};
  const char *name;
  json_t *unit;
  if (!of) return;
  npuc_table_open(p, "Units", columns);
  json_object_foreach((json_t *)(uintptr_t)of, name, unit) {
    double busy = npuc_json_member(unit, "busy");
    npuc_markup_print(&p->out, "<tr><th scope=\"row\">%s</th><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
                      name, npuc_format_count(p->arena, busy), npuc_format_percent(p->arena, total > 0 ? busy / total : NAN, 1),
                      npuc_format_count(p->arena, npuc_json_member(unit, "stalled")));
  }
  npuc_table_close(p);
}

static void rows(page *p, const json_t *layers, double total) {
  static const char *const columns[] = {"Node", "Operator", "#Cycles", "Share", "#Array", "#Vector", "#DMA", "#MACs", "#Used", NULL};
  arena *a = p->arena;
  size_t i;
  const json_t *layer;
  npuc_fold_open(p, "All layers", json_array_size(layers));
  npuc_table_open(p, "Cycles by layer", columns);
  json_array_foreach(layers, i, layer) {
    double cycles = npuc_json_member(layer, "cycles"), share = total > 0 ? cycles / total : 0;
    npuc_markup_print(&p->out,
                      "<tr><th scope=\"row\"><code>%s</code></th><td>%s</td><td class=\"n\">%s</td><td class=\"share\" style=\"--v:",
                      npuc_json_member_text(layer, "name"), npuc_json_member_text(layer, "op"), npuc_format_count(a, cycles));
    npuc_markup_number(&p->out, share);
    npuc_markup_print(&p->out,
                      "\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td "
                      "class=\"n\">%s</td></tr>\n",
                      npuc_format_percent(a, share, 1), npuc_format_count(a, npuc_json_member(layer, "array_busy")),
                      npuc_format_count(a, npuc_json_member(layer, "vector_busy")),
                      npuc_format_count(a, npuc_json_member(layer, "dma_busy")), npuc_format_count(a, npuc_json_member(layer, "macs")),
                      npuc_format_percent(a, npuc_json_member(layer, "utilization"), 1));
  }
  npuc_table_close(p);
  npuc_fold_close(p, json_array_size(layers));
}

static const json_t *longest(const json_t *layers) {
  const json_t *layer, *best = NULL;
  size_t i;
  json_array_foreach(layers, i, layer) if (!best || npuc_json_member(layer, "cycles") > npuc_json_member(best, "cycles")) best = layer;
  return best;
}

void npuc_section_cycles(page *p, const json_t *report) {
  const json_t *layers = json_object_get(report, "layers"), *most = longest(layers);
  double total = npuc_json_member(report, "cycles");
  if (!json_array_size(layers)) return;
  npuc_section_lead(
      p, npuc_arena_printf(
             p->arena,
             "%s cycles for one inference, exact by the machine's rules; the array works %s of its peak. The longest layer is %s with %s.",
             npuc_format_count(p->arena, total), npuc_format_percent(p->arena, npuc_json_member(report, "utilization"), 1),
             npuc_json_member_text(most, "name"),
             npuc_format_percent(p->arena, total > 0 ? npuc_json_member(most, "cycles") / total : NAN, 1)));
  timeline(p, layers, total);
  units(p, json_object_get(report, "units"), total);
  rows(p, layers, total);
}
