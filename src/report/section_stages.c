/* SPDX-License-Identifier: Apache-2.0 */
/* Each stage with its gate: what was measured, against which bound. */
#include <math.h>
#include <string.h>

#include "report/section.h"

typedef struct gate_text {
  const char *measured, *bound;
} gate_text;

/* The weakest of the outputs. */
static const json_t *worst_output(const json_t *gate) {
  const json_t *outputs = json_object_get(gate, "outputs"), *entry, *worst = NULL;
  size_t i;
  json_array_foreach(outputs, i, entry) {
    double own = npuc_json_member(entry, "sqnr_db");
    if (!worst || own < npuc_json_member(worst, "sqnr_db")) worst = entry;
  }
  return worst;
}

static gate_text parity_text(page *p, const json_t *gate) {
  arena *a = p->arena;
  const json_t *worst = worst_output(gate);
  double different = npuc_json_member(worst, "different"), sqnr = npuc_json_member(worst, "sqnr_db");
  const char *measured = different > 0
                             ? npuc_arena_printf(a, "max|d| %s, SQNR %s dB", npuc_format_short(a, npuc_json_member(worst, "max_abs")),
                                                 npuc_format_fixed(a, sqnr, 1))
                             : npuc_arena_printf(a, "0 of %s values differ", npuc_format_count(a, npuc_json_member(worst, "elements")));
  if (strcmp(npuc_json_member_text(gate, "kind"), "exact") == 0) return (gate_text){measured, "the same bits"};
  return (gate_text){measured, npuc_arena_printf(a, "max|d| \xe2\x89\xa4 %s max|ref|, SQNR \xe2\x89\xa5 %s dB",
                                                 npuc_format_short(a, npuc_json_member(gate, "max_relative")),
                                                 npuc_format_fixed(a, npuc_json_member(gate, "least_sqnr_db"), 0))};
}

static gate_text quantize_text(page *p, const json_t *gate) {
  arena *a = p->arena;
  const json_t *metric = json_object_get(gate, "metric");
  if (metric)
    return (gate_text){
        npuc_arena_printf(a, "top-1 %s %% \xe2\x86\x92 %s %%, drop %s", npuc_format_fixed(a, npuc_json_member(metric, "float_top1"), 2),
                          npuc_format_fixed(a, npuc_json_member(metric, "integer_top1"), 2),
                          npuc_format_fixed(a, npuc_json_member(metric, "drop"), 2)),
        npuc_arena_printf(a, "drop \xe2\x89\xa4 %s points", npuc_format_fixed(a, npuc_json_member(metric, "max_drop"), 2))};
  return (gate_text){npuc_arena_printf(a, "SQNR %s dB", npuc_format_fixed(a, npuc_json_member(gate, "sqnr_db"), 1)),
                     npuc_arena_printf(a, "SQNR \xe2\x89\xa5 %s dB", npuc_format_fixed(a, npuc_json_member(gate, "least_sqnr_db"), 0))};
}

static gate_text engines_text(page *p, const json_t *gate) {
  static const char *const engines[] = {"graph", "simulator"};
  const char *text = "";
  for (size_t i = 0; i < 2; i++) {
    const json_t *engine = json_object_get(gate, engines[i]);
    if (!engine) continue;
    text = npuc_arena_printf(p->arena, "%s%s%s: %s of %s outputs differ", text, *text ? "; " : "", engines[i],
                             npuc_format_count(p->arena, npuc_json_member(engine, "different")),
                             npuc_format_count(p->arena, npuc_json_member(engine, "tensors")));
  }
  return (gate_text){text, "every byte equal to the integer module"};
}

static gate_text gate_of(page *p, const char *stage, const json_t *gate) {
  arena *a = p->arena;
  if (!gate) return (gate_text){"", ""};
  if (strcmp(stage, "quantize") == 0) return quantize_text(p, gate);
  if (strcmp(stage, "verify") == 0) return engines_text(p, gate);
  if (json_object_get(gate, "outputs")) return parity_text(p, gate);
  if (strcmp(stage, "build") == 0)
    return (gate_text){npuc_arena_printf(a, "%s bytes", npuc_format_count(a, npuc_json_member(gate, "bytes"))),
                       npuc_arena_printf(a, "within 10 %% of %s", npuc_format_count(a, npuc_json_member(gate, "predicted_bytes")))};
  if (strcmp(stage, "baseline") == 0)
    return (gate_text){npuc_arena_printf(a, "%s samples%s%s%s", npuc_format_count(a, npuc_json_member(gate, "samples")),
                                         json_is_true(json_object_get(gate, "finite")) ? ", finite" : "",
                                         json_is_true(json_object_get(gate, "repeatable")) ? ", repeatable" : "",
                                         json_is_false(json_object_get(gate, "constant")) ? ", not constant" : ""),
                       "finite, repeatable, not constant"};
  return (gate_text){"", ""};
}

static void row(page *p, size_t number, const json_t *stage) {
  const char *name = npuc_json_member_text(stage, "name");
  const json_t *gate = json_object_get(stage, "gate"), *pass = json_object_get(gate, "pass");
  gate_text text = gate_of(p, name, gate);
  const char *tone = json_is_true(pass) ? "good" : json_is_false(pass) ? "bad" : "open";
  npuc_markup_print(
      &p->out, "<tr><td class=\"n\">%zu</td><th scope=\"row\">%s</th><td><span class=\"badge %s\">%s</span></td><td>%s</td><td>%s</td>",
      number, name, tone,
      json_is_true(pass)    ? "pass"
      : json_is_false(pass) ? "fail"
                            : "not done",
      text.measured, text.bound);
  npuc_markup_print(&p->out, "<td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
                    npuc_format_seconds(p->arena, npuc_json_member(stage, "seconds")),
                    npuc_format_bytes(p->arena, npuc_json_member(stage, "peak_rss_bytes")));
}

void npuc_section_stages(page *p, const json_t *report) {
  static const char *const columns[] = {"#", "Stage", "Gate", "Measured", "Bound", "#Time", "#Peak memory", NULL};
  const json_t *stages = json_object_get(report, "stages"), *stage;
  size_t i;
  if (!json_array_size(stages)) return;
  npuc_section_lead(p, "Each stage is compared with the one before it; a build goes on only while every gate holds.");
  npuc_table_open(p, "Stages with gates, time and memory", columns);
  json_array_foreach(stages, i, stage) row(p, i, stage);
  npuc_table_close(p);
}
