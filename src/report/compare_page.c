/* SPDX-License-Identifier: Apache-2.0 */
/* Two builds side by side: what each number became, and which layers, places and options are not the same. Layers, nodes and values are matched by name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "report/page.h"
#include "report/section.h"

/* Beyond these a difference is coloured: decibels, and the share of a layer's cycles. */
static const double telling_db = 0.5, telling_share = 0.01;

typedef struct pairing {
  const char *name;
  const json_t *a, *b; /* NULL: only in the other */
} pairing;

/* Entries of two lists by a member's text: in the order of the first, then what only the second has. */
static pairing *match(arena *arena_of, const json_t *a, const json_t *b, const char *key, size_t *out_n) {
  map *by_name = npuc_map_create(arena_of);
  size_t i, n = 0;
  json_t *entry;
  pairing *pairs = NPUC_NEW_ARRAY(arena_of, json_array_size(a) + json_array_size(b) + 1, pairing);
  json_array_foreach(a, i, entry) {
    pairs[n] = (pairing){.name = npuc_json_member_text(entry, key), .a = entry};
    npuc_map_put(by_name, pairs[n].name, &pairs[n]);
    n++;
  }
  json_array_foreach(b, i, entry) {
    pairing *found = npuc_map_get(by_name, npuc_json_member_text(entry, key));
    if (found && !found->b)
      found->b = entry;
    else
      pairs[n++] = (pairing){.name = npuc_json_member_text(entry, key), .b = entry};
  }
  *out_n = n;
  return pairs;
}

/* -- the figures -- */

typedef const char *format_function(arena *a, double v);

static const char *as_percent_points(arena *a, double v) {
  return isnan(v) ? npuc_format_fixed(a, v, 0) : npuc_arena_printf(a, "%.2f %%", v);
}
static const char *as_decibels(arena *a, double v) {
  return isnan(v) ? npuc_format_fixed(a, v, 0) : npuc_arena_printf(a, "%s dB", npuc_format_fixed(a, v, 1));
}
static const char *as_share(arena *a, double v) { return npuc_format_percent(a, v, 1); }

/* `better`: +1 when more is better, -1 when less is, 0 when neither. */
static const char *tone_of(double change, int better) {
  if (better == 0 || change == 0 || isnan(change)) return "n";
  return (change > 0) == (better > 0) ? "n better" : "n worse";
}

static void figure_row(page *p, const char *name, double a, double b, format_function *format, int better) {
  if (isnan(a) && isnan(b)) return;
  double change = b - a;
  const char *text = isnan(change) ? ""
                     : change == 0 ? "0"
                                   : npuc_arena_printf(p->arena, "%s%s", change > 0 ? "+" : "", format(p->arena, change));
  if (a > 0 && change != 0 && isfinite(change) && (format == npuc_format_count || format == npuc_format_bytes))
    text = npuc_arena_printf(p->arena, "%s (%+.1f %%)", text, 100 * change / a);
  npuc_markup_print(&p->out, "<tr><th scope=\"row\">%s</th><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"%s\">%s</td></tr>\n",
                    name, format(p->arena, a), format(p->arena, b), tone_of(change, better), text);
}

static double output_sqnr(const json_t *report) {
  const json_t *nodes = json_object_get(json_object_get(report, "parity"), "nodes");
  size_t n = json_array_size(nodes);
  return n ? npuc_json_member(json_array_get(nodes, n - 1), "sqnr_db") : NAN;
}

static double on_npu(const json_t *report) {
  const json_t *placement = json_object_get(report, "placement"), *entry;
  size_t i, n = 0;
  json_array_foreach(placement, i, entry) n += strcmp(npuc_json_member_text(entry, "place"), "npu") == 0;
  return json_array_size(placement) ? (double)n : NAN;
}

static double peak(const json_t *report) {
  double most = NAN;
  size_t i;
  const json_t *step;
  json_array_foreach(json_object_get(json_object_get(json_object_get(report, "memory"), "scratchpad"), "steps"), i, step) most =
      fmax(most, npuc_json_member(step, "bytes"));
  return most;
}

static void figures(page *p, const json_t *a, const json_t *b) {
  static const char *const columns[] = {"", "#A", "#B", "#Change", NULL};
  const json_t *ma = json_object_get(a, "metric"), *mb = json_object_get(b, "metric");
  npuc_table_open(p, "The two builds in numbers", columns);
  figure_row(p, "Top-1, float", npuc_json_member(ma, "float_top1"), npuc_json_member(mb, "float_top1"), as_percent_points, 1);
  figure_row(p, "Top-1, integers", npuc_json_member(ma, "integer_top1"), npuc_json_member(mb, "integer_top1"), as_percent_points, 1);
  figure_row(p, "Top-5, integers", npuc_json_member(ma, "integer_top5"), npuc_json_member(mb, "integer_top5"), as_percent_points, 1);
  figure_row(p, "SQNR of the last value", output_sqnr(a), output_sqnr(b), as_decibels, 1);
  figure_row(p, "Cycles", npuc_json_member(a, "cycles"), npuc_json_member(b, "cycles"), npuc_format_count, -1);
  figure_row(p, "MACs", npuc_json_member(a, "macs"), npuc_json_member(b, "macs"), npuc_format_count, 0);
  figure_row(p, "Array utilization", npuc_json_member(a, "utilization"), npuc_json_member(b, "utilization"), as_share, 1);
  figure_row(p, "Artifact", npuc_json_member(a, "artifact_bytes"), npuc_json_member(b, "artifact_bytes"), npuc_format_bytes, -1);
  figure_row(p, "Scratchpad, peak", peak(a), peak(b), npuc_format_bytes, 0);
  figure_row(p, "Nodes on the NPU", on_npu(a), on_npu(b), npuc_format_count, 0);
  npuc_table_close(p);
}

/* -- the differences -- */

static void cycles(page *p, const json_t *a, const json_t *b) {
  static const char *const columns[] = {"Node", "Operator", "#A", "#B", "#Change", "#of A's all", NULL};
  size_t n;
  double all = npuc_json_member(a, "cycles");
  pairing *pairs = match(p->arena, json_object_get(a, "layers"), json_object_get(b, "layers"), "name", &n);
  if (!n) return;
  npuc_section_lead(p, "Layers by name. A layer that only one build has was merged, split or renamed in the other.");
  npuc_table_open(p, "Cycles by layer", columns);
  for (size_t i = 0; i < n; i++) {
    double before = npuc_json_member(pairs[i].a, "cycles"), after = npuc_json_member(pairs[i].b, "cycles"), change = after - before;
    bool telling = fabs(change) > telling_share * all;
    npuc_markup_print(&p->out, "<tr><th scope=\"row\"><code>%s</code></th><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>",
                      pairs[i].name, npuc_json_member_text(pairs[i].a ? pairs[i].a : pairs[i].b, "op"), npuc_format_count(p->arena, before),
                      npuc_format_count(p->arena, after));
    npuc_markup_print(&p->out, "<td class=\"%s\">%s</td><td class=\"n\">%s</td></tr>\n", telling ? tone_of(change, -1) : "n",
                      isnan(change) ? ""
                      : change == 0 ? "0"
                                    : npuc_arena_printf(p->arena, "%s%s", change > 0 ? "+" : "", npuc_format_count(p->arena, change)),
                      isnan(change) || change == 0 ? "" : npuc_arena_printf(p->arena, "%+.1f %%", 100 * change / all));
  }
  npuc_table_close(p);
}

static void parity(page *p, const json_t *a, const json_t *b) {
  static const char *const columns[] = {"Value", "#A, dB", "#B, dB", "#Change", NULL};
  size_t n;
  pairing *pairs = match(p->arena, json_object_get(json_object_get(a, "parity"), "nodes"),
                         json_object_get(json_object_get(b, "parity"), "nodes"), "value", &n);
  if (!n) return;
  npuc_section_lead(p, "SQNR of each value against its own build's float model. The first large change is where the builds part.");
  npuc_table_open(p, "Parity by value", columns);
  for (size_t i = 0; i < n; i++) {
    double before = npuc_json_member(pairs[i].a, "sqnr_db"), after = npuc_json_member(pairs[i].b, "sqnr_db"), change = after - before;
    npuc_markup_print(
        &p->out, "<tr><th scope=\"row\"><code>%s</code></th><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"%s\">%s</td></tr>\n",
        pairs[i].name, npuc_format_fixed(p->arena, before, 1), npuc_format_fixed(p->arena, after, 1),
        fabs(change) >= telling_db ? tone_of(change, 1) : "n", isfinite(change) ? npuc_arena_printf(p->arena, "%+.1f", change) : "");
  }
  npuc_table_close(p);
}

static void placement(page *p, const json_t *a, const json_t *b) {
  static const char *const columns[] = {"Node", "Operator", "A", "B", "Reason in B", NULL};
  size_t n, changed = 0;
  pairing *pairs = match(p->arena, json_object_get(a, "placement"), json_object_get(b, "placement"), "node", &n);
  for (size_t i = 0; i < n; i++) {
    const char *before = npuc_json_member_text(pairs[i].a, "place"), *after = npuc_json_member_text(pairs[i].b, "place");
    if (strcmp(before, after) == 0) continue;
    if (changed++ == 0) npuc_table_open(p, "Nodes that are elsewhere, or in one build only", columns);
    npuc_markup_print(&p->out, "<tr><th scope=\"row\"><code>%s</code></th><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
                      pairs[i].name, npuc_json_member_text(pairs[i].a ? pairs[i].a : pairs[i].b, "op"), *before ? before : "absent",
                      *after ? after : "absent", npuc_json_member_text(pairs[i].b, "reason"));
  }
  if (changed)
    npuc_table_close(p);
  else if (n)
    npuc_section_lead(p, npuc_arena_printf(p->arena, "All %zu nodes are where they were.", n));
}

static const char *value_text(arena *a, const json_t *value) {
  if (!value) return "";
  if (json_is_string(value)) return json_string_value(value);
  char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
  const char *kept = npuc_arena_str(a, text ? text : "");
  free(text);
  return kept;
}

static void option_row(page *p, const char *key, const json_t *before, const json_t *after) {
  if (before && after && json_equal(before, after)) return;
  npuc_markup_print(&p->out, "<tr><th scope=\"row\">%s</th><td><code>%s</code></td><td><code>%s</code></td></tr>\n", key,
                    value_text(p->arena, before), value_text(p->arena, after));
}

static void options(page *p, const json_t *a, const json_t *b) {
  static const char *const columns[] = {"Option", "A", "B", NULL};
  json_t *oa = json_object_get(a, "options"), *ob = json_object_get(b, "options"), *value;
  const char *key;
  if (json_equal(oa, ob)) {
    npuc_section_lead(p, "Both builds were asked for the same.");
    return;
  }
  npuc_table_open(p, "Options that differ", columns);
  json_object_foreach(oa, key, value) option_row(p, key, value, json_object_get(ob, key));
  json_object_foreach(ob, key, value) if (!json_object_get(oa, key)) option_row(p, key, NULL, value);
  npuc_table_close(p);
}

/* -- the page -- */

typedef void part_function(page *p, const json_t *a, const json_t *b);

static const struct {
  const char *id, *title;
  part_function *write;
} parts[] = {
    {"options", "Options", options}, {"cycles", "Cycles", cycles}, {"parity", "Parity", parity}, {"placement", "Placement", placement}};

static void label_row(page *p, const char *letter, const char *label, const json_t *report) {
  npuc_markup_print(&p->out, "<tr><th scope=\"row\">%s</th><td><code>%s</code></td><td>%s</td><td>%s</td><td>%s</td></tr>\n", letter, label,
                    npuc_base_name(npuc_json_member_text(json_object_get(report, "options"), "model")),
                    npuc_json_member_text(report, "target"), npuc_json_member_text(report, "evidence"));
}

void npuc_report_compare_page(const json_t *a, const char *a_label, const json_t *b, const char *b_label, markup *out_page) {
  static const char *const columns[] = {"", "Build", "Model", "Target", "Evidence", NULL};
  page p = {.arena = npuc_arena_create()};
  npuc_page_open(&p.out, npuc_arena_printf(p.arena, "%s against %s", a_label, b_label));
  npuc_page_head(&p.out, "Comparison of two builds",
                 npuc_arena_printf(p.arena, "%s against %s", npuc_base_name(a_label), npuc_base_name(b_label)),
                 "B's change against A; green is better, red is worse");
  npuc_markup_raw(&p.out, "<nav aria-label=\"Sections\"><ul>\n");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    npuc_markup_print(&p.out, "<li><a href=\"#%s\">%s</a></li>\n", parts[i].id, parts[i].title);
  npuc_markup_raw(&p.out, "</ul></nav>\n<main id=\"content\">\n");
  npuc_table_open(&p, "The two builds", columns);
  label_row(&p, "A", a_label, a);
  label_row(&p, "B", b_label, b);
  npuc_table_close(&p);
  figures(&p, a, b);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    npuc_markup_print(&p.out, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n", parts[i].id, parts[i].id,
                      parts[i].id, parts[i].title);
    parts[i].write(&p, a, b);
    npuc_markup_raw(&p.out, "</section>\n");
  }
  npuc_page_close(&p.out);
  npuc_arena_destroy(p.arena);
  *out_page = p.out;
}
