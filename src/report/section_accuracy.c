/* SPDX-License-Identifier: Apache-2.0 */
/* Accuracy on labelled data, and which classes are taken for which. */
#include <math.h>
#include <string.h>

#include "report/section.h"

static void metric_row(page *p, const char *name, double before, double after) {
  arena *a = p->arena;
  npuc_markup_print(&p->out,
                    "<tr><th scope=\"row\">%s</th><td class=\"n\">%s %%</td><td class=\"n\">%s %%</td><td class=\"n\">%s</td></tr>\n", name,
                    npuc_format_fixed(a, before, 2), npuc_format_fixed(a, after, 2), npuc_arena_printf(a, "%+.2f", after - before));
}

static void metric_table(page *p, const json_t *metric) {
  static const char *const columns[] = {"", "#Float", "#Integers", "#Change", NULL};
  npuc_table_open(p, "Accuracy, float and integers", columns);
  metric_row(p, "Top-1", npuc_json_member(metric, "float_top1"), npuc_json_member(metric, "integer_top1"));
  metric_row(p, "Top-5", npuc_json_member(metric, "float_top5"), npuc_json_member(metric, "integer_top5"));
  npuc_table_close(p);
}

static double cell(const json_t *matrix, size_t row, size_t column) {
  return json_number_value(json_array_get(json_array_get(matrix, row), column));
}

static double row_sum(const json_t *matrix, size_t row) {
  double sum = 0;
  size_t i;
  const json_t *v;
  json_array_foreach(json_array_get(matrix, row), i, v) sum += json_number_value(v);
  return sum;
}

static void matrix_cell(page *p, double before, double after, double sum, bool right) {
  npuc_markup_print(&p->out, "<td class=\"%s\" style=\"--v:", after == 0 && before == 0 ? "zero" : right ? "right" : "wrong");
  npuc_markup_number(&p->out, sum > 0 ? after / sum : 0);
  npuc_markup_print(&p->out, "\">%s", npuc_format_count(p->arena, after));
  if (before != after) npuc_markup_print(&p->out, "<small>%s</small>", npuc_arena_printf(p->arena, "%+.0f", after - before));
  npuc_markup_raw(&p->out, "</td>");
}

static void matrix_table(page *p, const json_t *before, const json_t *after) {
  size_t n = json_array_size(after);
  npuc_markup_raw(&p->out,
                  "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Confusion matrix\">\n<table "
                  "class=\"matrix\">\n<caption>Confusion matrix of the "
                  "integers: rows are labels, columns answers</caption>\n<thead><tr><th scope=\"col\">label</th>");
  for (size_t k = 0; k < n; k++) npuc_markup_print(&p->out, "<th scope=\"col\" class=\"n\">%zu</th>", k);
  npuc_markup_raw(&p->out, "<th scope=\"col\" class=\"n\">right</th></tr></thead>\n<tbody>\n");
  for (size_t i = 0; i < n; i++) {
    double sum = row_sum(after, i);
    npuc_markup_print(&p->out, "<tr><th scope=\"row\" class=\"n\">%zu</th>", i);
    for (size_t k = 0; k < n; k++) matrix_cell(p, cell(before, i, k), cell(after, i, k), sum, i == k);
    npuc_markup_print(&p->out, "<td class=\"n\">%s</td></tr>\n", npuc_format_percent(p->arena, sum > 0 ? cell(after, i, i) / sum : NAN, 1));
  }
  npuc_table_close(p);
}

static void pairs_table(page *p, const json_t *pairs) {
  static const char *const columns[] = {"#Label", "#Taken for", "#Float", "#Integers", NULL};
  size_t i;
  const json_t *pair;
  npuc_table_open(p, "Most frequent confusions", columns);
  json_array_foreach(pairs, i, pair) npuc_markup_print(
      &p->out, "<tr><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
      npuc_format_count(p->arena, npuc_json_member(pair, "label")), npuc_format_count(p->arena, npuc_json_member(pair, "answer")),
      npuc_format_count(p->arena, npuc_json_member(pair, "float")), npuc_format_count(p->arena, npuc_json_member(pair, "integer")));
  npuc_table_close(p);
}

void npuc_section_accuracy(page *p, const json_t *report) {
  arena *a = p->arena;
  const json_t *metric = json_object_get(report, "metric"), *confusion = json_object_get(report, "confusion");
  if (!metric) return;
  const char *samples = npuc_format_count(a, npuc_json_member(metric, "samples"));
  if (confusion)
    npuc_section_lead(
        p, npuc_arena_printf(
               a,
               "Of %s labelled samples the integers give the float model's answer for %s; they lose %s right answers and win %s. "
               "In the matrix, a small number is the change against float.",
               samples, npuc_format_count(a, npuc_json_member(confusion, "same")),
               npuc_format_count(a, npuc_json_member(confusion, "lost")), npuc_format_count(a, npuc_json_member(confusion, "won"))));
  else
    npuc_section_lead(p, npuc_arena_printf(a, "On %s labelled samples of --eval.", samples));
  metric_table(p, metric);
  if (json_object_get(confusion, "integer")) matrix_table(p, json_object_get(confusion, "float"), json_object_get(confusion, "integer"));
  if (json_array_size(json_object_get(confusion, "pairs"))) pairs_table(p, json_object_get(confusion, "pairs"));
}
