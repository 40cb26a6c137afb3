/* SPDX-License-Identifier: Apache-2.0 */
/* npuc targets [NAME]: the targets, or one of them with its operators and limits. */
#include <string.h>

#include "cli/cli.h"
#include "stages/target.h"

static const char *text_of(const json_t *o, const char *key) {
  const char *text = json_string_value(json_object_get(o, key));
  return text ? text : "";
}

static npuc_status list_targets(cli *c) {
  char **names;
  size_t n;
  NPUC_TRY(npuc_target_list(c->diag, c->arena, &names, &n));
  json_t *list = json_array();
  cli_rows rows = {.c = c, .columns = 2};
  for (size_t i = 0; i < n; i++) {
    target_file t;
    NPUC_TRY(npuc_target_open(c->diag, c->arena, names[i], &t));
    json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", names[i], "description", text_of(t.description, "description"),
                                          "artifact", text_of(t.description, "artifact")));
    npuc_cli_row(&rows, names[i], text_of(t.description, "description"));
    npuc_target_close(&t);
  }
  npuc_cli_rows_print(&rows);
  npuc_cli_set(c, "targets", list);
  return NPUC_OK;
}

static void show_operators(cli *c, const json_t *operators) {
  const char *op;
  json_t *entry;
  static const char *const header[] = {"operator", "place", "limits or reason"};
  cli_rows rows = {.c = c, .header = header, .columns = 3};
  npuc_cli_say(c, "\n");
  json_object_foreach((json_t *)operators, op, entry) {
    const char *limits = text_of(entry, "limits");
    npuc_cli_row(&rows, op, text_of(entry, "place"), *limits ? limits : text_of(entry, "reason"));
  }
  npuc_cli_rows_print(&rows);
}

static npuc_status run(cli *c) {
  if (c->line.n_arguments == 0) return list_targets(c);
  target_file t;
  NPUC_TRY(npuc_target_open(c->diag, c->arena, c->line.arguments[0], &t));
  const char *key;
  json_t *value;
  npuc_cli_say(c, "%s: %s\n\n", t.name, text_of(t.description, "description"));
  cli_rows rows = {.c = c, .columns = 2};
  json_object_foreach(json_object_get(t.description, "hardware"), key, value)
      npuc_cli_row(&rows, key, npuc_arena_printf(c->arena, "%lld", (long long)json_integer_value(value)));
  npuc_cli_rows_print(&rows);
  show_operators(c, json_object_get(t.description, "operators"));
  npuc_cli_set(c, "target", json_incref(t.description));
  npuc_target_close(&t);
  return NPUC_OK;
}

static const char *const examples[] = {"npuc targets", "npuc targets refnpu-n16", NULL};

const command npuc_command_targets = {.name = "targets",
                                      .arguments = "[NAME]",
                                      .purpose = "list the targets, or show one with its operators and limits",
                                      .max_arguments = 1,
                                      .examples = examples,
                                      .run = run};
