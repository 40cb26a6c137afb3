/* SPDX-License-Identifier: Apache-2.0 */
/* What the build was asked for, and which rewrites made the model what it is. */
#include <stdlib.h>

#include "report/section.h"

static const char *value_text(arena *a, const json_t *value) {
  if (json_is_string(value)) return json_string_value(value);
  char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
  const char *kept = npuc_arena_str(a, text ? text : "");
  free(text);
  return kept;
}

static void options(page *p, const json_t *report) {
  static const char *const columns[] = {"Option", "Value", NULL};
  json_t *all = json_object_get(report, "options"), *value;
  const char *key;
  npuc_table_open(p, "Options as resolved", columns);
  json_object_foreach(all, key, value)
      npuc_markup_print(&p->out, "<tr><th scope=\"row\">%s</th><td><code>%s</code></td></tr>\n", key, value_text(p->arena, value));
  npuc_table_close(p);
}

static size_t count_rewrites(const json_t *report) {
  size_t i, n = 0;
  const json_t *stage;
  json_array_foreach(json_object_get(report, "stages"), i, stage) n += json_array_size(json_object_get(stage, "rewrites"));
  return n;
}

static void rewrites(page *p, const json_t *report) {
  static const char *const columns[] = {"Stage", "Pass", "Rewrite", "Parity", "#Times", "First node", NULL};
  size_t i, k, n = count_rewrites(report);
  const json_t *stage, *r;
  if (!n) return;
  npuc_fold_open(p, "Rewrites", n);
  npuc_table_open(p, "Rewrites applied", columns);
  json_array_foreach(json_object_get(report, "stages"), i, stage) {
    json_array_foreach(json_object_get(stage, "rewrites"), k, r) npuc_markup_print(
        &p->out, "<tr><td>%s</td><td>%s</td><th scope=\"row\">%s</th><td>%s</td><td class=\"n\">%s</td><td><code>%s</code></td></tr>\n",
        npuc_json_member_text(stage, "name"), npuc_json_member_text(r, "pass"), npuc_json_member_text(r, "pattern"),
        npuc_json_member_text(r, "parity"), npuc_format_count(p->arena, npuc_json_member(r, "count")), npuc_json_member_text(r, "first"));
  }
  npuc_table_close(p);
  npuc_fold_close(p, n);
}

void npuc_section_provenance(page *p, const json_t *report) {
  if (!json_object_size(json_object_get(report, "options"))) return;
  npuc_section_lead(p, "The same model, data and options give the same artifact, byte for byte.");
  options(p, report);
  rewrites(p, report);
}
