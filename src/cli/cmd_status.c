/* SPDX-License-Identifier: Apache-2.0 */
/* npuc status OUT: where a build stands, and the next legal command. */
#include <string.h>

#include "cli/build_options.h"

static void recorded_targets(build *b) {
  json_t *targets = json_object_get(json_object_get(b->manifest, "options"), "targets"), *entry;
  const char **names = (const char **)npuc_arena_array(b->arena, json_array_size(targets) + 1, sizeof(char *));
  size_t i;
  json_array_foreach(targets, i, entry) if (json_string_value(entry)) names[b->options.n_targets++] = json_string_value(entry);
  b->options.targets = names;
}

static const char *next_command(cli *c, build *b) {
  const char *target;
  stage_id next = npuc_pipeline_next(b, &target);
  const char *model = json_string_value(json_object_get(json_object_get(b->manifest, "options"), "model"));
  if (next == STAGE_COUNT)
    return npuc_arena_printf(c->arena, "npuc simulate %s/model.npu", npuc_build_path(b, STAGE_BUILD, b->options.targets[0]));
  if (next == STAGE_BASELINE) return npuc_arena_printf(c->arena, "npuc compile %s -t refnpu-n16 -o %s", model ? model : "MODEL", b->path);
  if (target) return npuc_arena_printf(c->arena, "npuc %s %s -t %s", npuc_stage_name(next), b->path, target);
  return npuc_arena_printf(c->arena, "npuc %s %s%s", npuc_stage_name(next), b->path, npuc_stage_per_target(next) ? " -t refnpu-n16" : "");
}

static void show_stages(cli *c, build *b, json_t *list, const char **out_newest) {
  const char *key;
  json_t *record;
  for (int s = 0; s < STAGE_COUNT; s++) {
    const char *name = npuc_stage_name((stage_id)s);
    json_object_foreach(json_object_get(b->manifest, "stages"), key, record) {
      size_t n = strlen(name);
      if (strncmp(key, name, n) != 0 || (key[n] != '\0' && key[n] != '.')) continue;
      *out_newest = name;
      const char *file = json_string_value(json_object_get(json_array_get(json_object_get(record, "outputs"), 0), "file"));
      json_array_append_new(list, json_pack("{s:s, s:s, s:f}", "name", key, "file", file ? file : "", "seconds",
                                            json_number_value(json_object_get(record, "seconds"))));
      npuc_cli_say(c, "%d %-22s %s\n", s, key, file ? file : "");
    }
  }
}

static npuc_status run(cli *c) {
  build *b = NULL;
  NPUC_TRY(npuc_build_look(c->diag, c->arena, c->line.arguments[0], &b));
  recorded_targets(b);
  json_t *list = json_array();
  const char *newest = "none", *next = next_command(c, b);
  show_stages(c, b, list, &newest);
  npuc_cli_set(c, "stages", list);
  npuc_cli_set(c, "stage", json_string(newest));
  npuc_cli_set(c, "next", json_pack("[s]", next));
  npuc_cli_say(c, "next: %s\n", next);
  npuc_build_close(b);
  return NPUC_OK;
}

static const char *const examples[] = {"npuc status out", NULL};

const command npuc_command_status = {.name = "status",
                                     .arguments = "OUT",
                                     .purpose = "say where a build stands and name the next command",
                                     .min_arguments = 1,
                                     .max_arguments = 1,
                                     .examples = examples,
                                     .run = run};
