/* SPDX-License-Identifier: Apache-2.0 */
/* npuc doctor: the toolchains of others that are there, what each allows, and how to get the rest. */
#include <string.h>

#include "base/map.h"
#include "cli/cli.h"
#include "stages/tools.h"

static const char *how_to_get(arena *a, const tool_info *t) {
  return t->is_package ? npuc_arena_printf(a, "npuc doctor --install %s", t->name) : npuc_arena_printf(a, "apt-get install %s", t->source);
}

static json_t *steps_json(arena *a, const tool_info *t) {
  const char *const **steps;
  json_t *list = json_array();
  size_t n = t->is_package ? npuc_tool_steps(a, t, &steps) : 0;
  for (size_t i = 0; i < n; i++) {
    json_t *step = json_array();
    for (const char *const *word = steps[i]; *word; word++) json_array_append_new(step, json_string(*word));
    json_array_append_new(list, step);
  }
  return list;
}

static npuc_status look(cli *c) {
  static const char *const header[] = {"tool", "", "version", "allows", "where, or how to get it"};
  cli_rows rows = {.c = c, .header = header, .columns = 5};
  json_t *list = json_array();
  size_t n;
  const tool_info *tools = npuc_tool_table(&n);
  for (size_t i = 0; i < n; i++) {
    tool_state s = npuc_tool_look(c->arena, &tools[i], npuc_cli_value(&c->line, "--python"));
    json_t *o = json_pack("{s:s, s:s, s:b, s:s}", "name", tools[i].name, "title", tools[i].title, "installed", s.place != NULL, "allows",
                          tools[i].allows);
    if (s.place) json_object_set_new(o, "place", json_string(s.place)), json_object_set_new(o, "version", json_string(s.version));
    json_object_set_new(o, "get", json_string(how_to_get(c->arena, &tools[i])));
    json_object_set_new(o, "steps", steps_json(c->arena, &tools[i]));
    json_array_append_new(list, o);
    npuc_cli_row(&rows, tools[i].title, s.place ? "yes" : "no", s.place ? s.version : "", tools[i].allows,
                 s.place ? s.place : how_to_get(c->arena, &tools[i]));
  }
  npuc_cli_set(c, "tools", list);
  npuc_cli_rows_print(&rows);
  return NPUC_OK;
}

static npuc_status install(cli *c, const char *name) {
  const tool_info *t = npuc_tool_find(name);
  if (!t) {
    size_t n;
    const tool_info *tools = npuc_tool_table(&n);
    const char **names = (const char **)npuc_arena_array(c->arena, n, sizeof(char *));
    for (size_t i = 0; i < n; i++) names[i] = tools[i].name;
    npuc_status status = npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--install"}, "there is no tool '%s'", name);
    const char *near = npuc_nearest(name, names, n);
    npuc_fix(c->diag, near ? "npuc doctor --install %s" : "npuc doctor", near);
    return status;
  }
  tool_state s = npuc_tool_look(c->arena, t, NULL);
  if (!s.place) {
    NPUC_TRY(npuc_tool_install(c->diag, c->arena, t));
    s = npuc_tool_look(c->arena, t, NULL);
  }
  npuc_cli_set(c, "name", json_string(t->name));
  npuc_cli_set(c, "version", json_string(s.version));
  npuc_cli_set(c, "place", json_string(s.place));
  npuc_cli_say(c, "%s %s is in %s\n", t->title, s.version, s.place);
  return NPUC_OK;
}

static npuc_status run(cli *c) {
  const char *tool = npuc_cli_value(&c->line, "--install");
  return tool ? install(c, tool) : look(c);
}

static const option options[] = {
    {"--install", 0, OPTION_VALUE, "TOOL",
     "install a tool into a private environment, $XDG_CACHE_HOME/npuc/tools/TOOL (~/.cache by default)"},
    {"--python", 0, OPTION_VALUE, "ENV", "a Python environment (or its interpreter) to look in too"},
};
static const option_group group = {"Doctor", options, sizeof options / sizeof *options};
static const option_group *const groups[] = {&group, NULL};
static const char *const examples[] = {"npuc doctor", NULL};

const command npuc_command_doctor = {.name = "doctor",
                                     .arguments = "",
                                     .purpose = "say which tools of others are installed, and get one",
                                     .groups = groups,
                                     .examples = examples,
                                     .run = run};
