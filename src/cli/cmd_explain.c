/* SPDX-License-Identifier: Apache-2.0 */
/* npuc explain CODE: the story of a diagnostic, from the one table. */
#include <string.h>

#include "cli/cli.h"

static json_t *describe(const diag_info *info) {
  return json_pack("{s:s, s:s, s:s, s:s, s:i}", "code", info->text_code, "name", info->name, "summary", info->summary, "explanation",
                   info->explanation, "exit_status", (int)info->status);
}

static npuc_status list_all(cli *c) {
  json_t *all = json_array();
  cli_rows rows = {.c = c, .columns = 3};
  for (int i = 0; i < NPUC_DIAG_COUNT; i++) {
    const diag_info *info = npuc_diag_info((diag_code)i);
    json_array_append_new(all, describe(info));
    npuc_cli_row(&rows, info->text_code, info->name, info->summary);
  }
  npuc_cli_rows_print(&rows);
  npuc_cli_set(c, "codes", all);
  return NPUC_OK;
}

/* Words broken at 100 columns. */
static void say_wrapped(const cli *c, const char *text) {
  size_t column = 0;
  while (*text) {
    size_t n = strcspn(text, " \n");
    if (column && column + n + 1 > 100) npuc_cli_say(c, "\n"), column = 0;
    npuc_cli_say(c, "%s%.*s", column ? " " : "", (int)n, text);
    column += n + (column ? 1 : 0);
    text += n;
    text += strspn(text, " \n");
  }
  npuc_cli_say(c, "\n");
}

static npuc_status run(cli *c) {
  if (c->line.n_arguments == 0) return list_all(c);
  diag_code code;
  if (!npuc_diag_find(c->line.arguments[0], &code)) {
    npuc_status status = npuc_fail(c->diag, NPUC_DIAG_E0106, NULL, "there is no diagnostic '%s'", c->line.arguments[0]);
    npuc_fix(c->diag, "npuc explain");
    return status;
  }
  const diag_info *info = npuc_diag_info(code);
  json_t *o = describe(info);
  json_object_update(c->result, o);
  npuc_cli_set(c, "code_exit_status", json_integer((json_int_t)info->status)); /* exit_status is this command's */
  json_decref(o);
  npuc_cli_say(c, "%s %s (exit status %d)\n%s\n\n", info->text_code, info->name, (int)info->status, info->summary);
  say_wrapped(c, info->explanation);
  return NPUC_OK;
}

static const char *const examples[] = {"npuc explain E0901", "npuc explain gate-accuracy", "npuc explain", NULL};

const command npuc_command_explain = {.name = "explain",
                                      .arguments = "[CODE]",
                                      .purpose = "tell what a diagnostic means and what to do",
                                      .max_arguments = 1,
                                      .examples = examples,
                                      .run = run};
