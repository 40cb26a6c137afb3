/* SPDX-License-Identifier: Apache-2.0 */
/* Memory over time: what lives when, on the host's executor and in the NPU's scratchpad. */
#include <math.h>

#include "report/section.h"

typedef struct curve {
  const json_t *steps; /* [{node, bytes}] */
  double limit;        /* capacity, or NaN */
  const char *title, *caption;
} curve;

static const json_t *peak_of(const json_t *steps) {
  const json_t *step, *peak = NULL;
  size_t i;
  json_array_foreach(steps, i, step) if (!peak || npuc_json_member(step, "bytes") > npuc_json_member(peak, "bytes")) peak = step;
  return peak;
}

static void draw(page *p, const curve *v) {
  arena *a = p->arena;
  size_t i, n = json_array_size(v->steps);
  const json_t *step, *peak = peak_of(v->steps);
  if (n == 0) return;
  double most = npuc_json_member(peak, "bytes");
  chart_point *points = NPUC_NEW_ARRAY(a, n + 1, chart_point);
  json_array_foreach(v->steps, i, step) points[i] = (chart_point){.name = npuc_json_member_text(step, "node"),
                                                                  .value = npuc_json_member(step, "bytes"),
                                                                  .text = npuc_format_bytes(a, npuc_json_member(step, "bytes")),
                                                                  .marked = step == peak};
  double top = isnan(v->limit) ? most * 1.1 : v->limit * 1.02;
  chart c = {
      .caption = npuc_arena_printf(a, "%s The peak, %s%s, is at %s.", v->caption, npuc_format_bytes(a, most),
                                   isnan(v->limit) ? "" : npuc_arena_printf(a, " (%s of it)", npuc_format_percent(a, most / v->limit, 1)),
                                   npuc_json_member_text(peak, "node")),
      .label = npuc_arena_printf(a, "%s over time; the table below has the numbers", v->title),
      .unit = "",
      .top = top > 0 ? top : 1,
      .top_text = npuc_format_bytes(a, isnan(v->limit) ? most * 1.1 : v->limit),
      .first_text = "first node",
      .last_text = "last node",
      .limit = v->limit,
      .limit_text = "capacity"};
  npuc_markup_print(&p->out, "<h3>%s</h3>\n", v->title);
  npuc_chart_steps(&p->out, &c, points, n);
}

static void rows(page *p, const curve *v) {
  static const char *const columns[] = {"#", "Node", "#Bytes alive", NULL};
  const json_t *step;
  size_t i;
  npuc_markup_print(&p->out, "<details class=\"fold\"><summary>%s by step <span class=\"count\">%zu</span></summary>\n", v->title,
                    json_array_size(v->steps));
  npuc_table_open(p, v->title, columns);
  json_array_foreach(v->steps, i, step)
      npuc_markup_print(&p->out, "<tr><td class=\"n\">%zu</td><th scope=\"row\"><code>%s</code></th><td class=\"n\">%s</td></tr>\n", i + 1,
                        npuc_json_member_text(step, "node"), npuc_format_count(p->arena, npuc_json_member(step, "bytes")));
  npuc_table_close(p);
  npuc_markup_raw(&p->out, "</details>\n");
}

void npuc_section_memory(page *p, const json_t *report) {
  const json_t *memory = json_object_get(report, "memory"), *pad = json_object_get(memory, "scratchpad"),
               *host = json_object_get(memory, "executor");
  curve curves[] = {
      {.steps = json_object_get(pad, "steps"),
       .limit = npuc_json_member(pad, "capacity"),
       .title = "Scratchpad of the NPU",
       .caption = "Tensors, parameters and temporaries that live while each node runs; the line is the capacity."},
      {.steps = json_object_get(host, "steps"),
       .limit = NAN,
       .title = "Activations on the host",
       .caption = npuc_arena_printf(p->arena, "The executor's plan for the integer module: %s, shared by values that never live together.",
                                    npuc_format_bytes(p->arena, npuc_json_member(host, "bytes")))}};
  for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
    if (!json_array_size(curves[i].steps)) continue;
    draw(p, &curves[i]);
    rows(p, &curves[i]);
  }
}
