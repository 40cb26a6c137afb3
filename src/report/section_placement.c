/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes run where, and why. */
#include <string.h>

#include "base/map.h"
#include "report/section.h"

typedef struct group {
  const char *place, *reason;
  size_t count;
} group;

static void groups(page *p, const json_t *placement) {
  static const char *const columns[] = {"Place", "Reason", "#Nodes", NULL};
  map *seen = npuc_map_create(p->arena);
  size_t i, cursor = 0;
  const json_t *entry;
  json_array_foreach(placement, i, entry) {
    const char *place = npuc_json_member_text(entry, "place"), *reason = npuc_json_member_text(entry, "reason");
    const char *key = npuc_arena_printf(p->arena, "%s\n%s", place, reason);
    group *g = npuc_map_get(seen, key);
    if (!g) {
      g = NPUC_NEW(p->arena, group);
      *g = (group){.place = place, .reason = reason};
      npuc_map_put(seen, key, g);
    }
    g->count++;
  }
  npuc_table_open(p, "Places and reasons", columns);
  for (void *item; npuc_map_next(seen, &cursor, NULL, &item);) {
    const group *g = item;
    npuc_markup_print(&p->out, "<tr><th scope=\"row\"><span class=\"badge %s\">%s</span></th><td>%s</td><td class=\"n\">%zu</td></tr>\n",
                      strcmp(g->place, "npu") == 0 ? "npu" : "host", g->place, g->reason, g->count);
  }
  npuc_table_close(p);
}

static void rows(page *p, const json_t *placement) {
  static const char *const columns[] = {"Node", "Operator", "Place", "Reason", NULL};
  size_t i;
  const json_t *entry;
  npuc_fold_open(p, "All nodes", json_array_size(placement));
  npuc_table_open(p, "Placement by node", columns);
  json_array_foreach(placement, i, entry) npuc_markup_print(
      &p->out, "<tr><th scope=\"row\"><code>%s</code></th><td>%s</td><td>%s</td><td>%s</td></tr>\n", npuc_json_member_text(entry, "node"),
      npuc_json_member_text(entry, "op"), npuc_json_member_text(entry, "place"), npuc_json_member_text(entry, "reason"));
  npuc_table_close(p);
  npuc_fold_close(p, json_array_size(placement));
}

void npuc_section_placement(page *p, const json_t *report) {
  const json_t *placement = json_object_get(report, "placement");
  if (!json_array_size(placement)) return;
  npuc_section_lead(p,
                    "Every node has a place and a reason. A node on the host costs a trip over DRAM; its reason says what would move it.");
  groups(p, placement);
  rows(p, placement);
}
