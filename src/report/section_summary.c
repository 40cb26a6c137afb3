/* SPDX-License-Identifier: Apache-2.0 */
/* The answer first: did the build hold, what did it cost in accuracy, what does it cost to run. */
#include <math.h>
#include <string.h>

#include "report/section.h"

static void figure(page *p, const char *value, const char *name, const char *note, const char *tone) {
  npuc_markup_print(&p->out, "<div class=\"figure %s\"><dt>%s</dt><dd><strong>%s</strong> <span>%s</span></dd></div>\n", tone, name, value,
                    note);
}

static void verdict(page *p, const json_t *report) {
  size_t i, passed = 0, n = json_array_size(json_object_get(report, "stages"));
  const json_t *stage;
  const char *failed = NULL, *open = NULL;
  json_array_foreach(json_object_get(report, "stages"), i, stage) {
    const json_t *pass = json_object_get(json_object_get(stage, "gate"), "pass");
    passed += json_is_true(pass);
    if (json_is_false(pass) && !failed) failed = npuc_json_member_text(stage, "name");
    if (!pass && !open) open = npuc_json_member_text(stage, "name");
  }
  if (failed)
    figure(p, "stopped", "Gates", npuc_arena_printf(p->arena, "at %s", failed), "bad");
  else if (open)
    figure(p, npuc_arena_printf(p->arena, "%zu of %zu", passed, n), "Gates passed", npuc_arena_printf(p->arena, "next: %s", open), "");
  else
    figure(p, "all pass", "Gates", npuc_arena_printf(p->arena, "%zu stages, %s", n, npuc_json_member_text(report, "evidence")), "good");
}

static void quality(page *p, const json_t *report) {
  const json_t *metric = json_object_get(report, "metric");
  double before = npuc_json_member(metric, "float_top1"), after = npuc_json_member(metric, "integer_top1");
  if (!isnan(after)) {
    figure(p, npuc_arena_printf(p->arena, "%s %%", npuc_format_fixed(p->arena, after, 2)), "Top-1, integers",
           npuc_arena_printf(p->arena, "float %s %%", npuc_format_fixed(p->arena, before, 2)), "");
    return;
  }
  size_t i;
  const json_t *stage;
  json_array_foreach(json_object_get(report, "stages"), i, stage) {
    const json_t *gate = json_object_get(stage, "gate");
    if (json_object_get(gate, "least_sqnr_db") && strcmp(npuc_json_member_text(stage, "name"), "quantize") == 0)
      figure(p, npuc_arena_printf(p->arena, "%s dB", npuc_format_fixed(p->arena, npuc_json_member(gate, "sqnr_db"), 1)), "Output SQNR",
             npuc_arena_printf(p->arena, "at least %s dB", npuc_format_fixed(p->arena, npuc_json_member(gate, "least_sqnr_db"), 0)), "");
  }
}

static void placed(page *p, const json_t *report) {
  size_t i, npu = 0, n = json_array_size(json_object_get(report, "placement"));
  const json_t *entry;
  if (!n) return;
  json_array_foreach(json_object_get(report, "placement"), i, entry) npu += strcmp(npuc_json_member_text(entry, "place"), "npu") == 0;
  figure(p, npu == n ? "all" : npuc_arena_printf(p->arena, "%zu of %zu", npu, n), "Nodes on the NPU",
         npu == n ? npuc_arena_printf(p->arena, "%zu nodes", n) : npuc_arena_printf(p->arena, "%zu on the host", n - npu), "");
}

void npuc_section_summary(page *p, const json_t *report) {
  npuc_markup_raw(&p->out, "<dl class=\"figures\" aria-label=\"Summary\">\n");
  verdict(p, report);
  quality(p, report);
  if (json_object_get(report, "cycles")) {
    figure(p, npuc_format_count(p->arena, npuc_json_member(report, "cycles")), "Cycles",
           npuc_arena_printf(p->arena, "%s MACs", npuc_format_count(p->arena, npuc_json_member(report, "macs"))), "");
    figure(p, npuc_format_percent(p->arena, npuc_json_member(report, "utilization"), 1), "Array utilization", "of its peak", "");
  }
  placed(p, report);
  if (json_object_get(report, "artifact_bytes"))
    figure(p, npuc_format_bytes(p->arena, npuc_json_member(report, "artifact_bytes")), "Artifact", "model.npu", "");
  npuc_markup_raw(&p->out, "</dl>\n");
}
