/* SPDX-License-Identifier: Apache-2.0 */
/* npuc report OUT: the page of a build; npuc report A B: of two builds side by side. */
#include <string.h>

#include "cli/cli.h"
#include "report/page.h"
#include "stages/build_report.h"

typedef struct subject {
  build *build;
  const char *target;
  json_t *report;
} subject;

/* The target asked for, or the build's only one. */
static npuc_status choose_target(cli *c, subject *s) {
  json_t *targets = json_object_get(json_object_get(s->build->manifest, "options"), "targets"), *entry;
  const char *asked = npuc_cli_value(&c->line, "--target");
  size_t i;
  json_array_foreach(targets, i, entry) {
    const char *name = json_string_value(entry);
    if (name && (asked ? strcmp(name, asked) == 0 : json_array_size(targets) == 1)) s->target = name;
  }
  if (s->target) return NPUC_OK;
  npuc_status status = npuc_fail(c->diag, NPUC_DIAG_E0907, &(diag_place){.file = s->build->path, .attribute = "--target"},
                                 asked ? "the build has no target %s" : "the build has %s targets; one must be named",
                                 asked                      ? asked
                                 : json_array_size(targets) ? "several"
                                                            : "no");
  json_array_foreach(targets, i, entry) if (json_string_value(entry))
      npuc_fix(c->diag, "npuc report %s%s%s -t %s", c->line.arguments[0], c->line.n_arguments == 2 ? " " : "",
               c->line.n_arguments == 2 ? c->line.arguments[1] : "", json_string_value(entry));
  return status;
}

static npuc_status open_subject(cli *c, const char *folder, subject *s) {
  NPUC_TRY(npuc_build_look(c->diag, c->arena, folder, &s->build));
  s->build->pool = c->pool;
  s->build->progress = &c->progress;
  NPUC_TRY(choose_target(c, s));
  return npuc_build_report_load(s->build, s->target, &s->report);
}

static void close_subject(subject *s) {
  json_decref(s->report);
  npuc_build_close(s->build);
}

static npuc_status run(cli *c) {
  subject a = {0}, b = {0};
  markup page = {0};
  const char *file = npuc_cli_value(&c->line, "--output");
  bool two = c->line.n_arguments == 2;
  if (!file) file = two ? "compare.html" : "report.html";
  npuc_status status = open_subject(c, c->line.arguments[0], &a);
  if (status == NPUC_OK && two) status = open_subject(c, c->line.arguments[1], &b);
  if (status == NPUC_OK && two) npuc_report_compare_page(a.report, c->line.arguments[0], b.report, c->line.arguments[1], &page);
  if (status == NPUC_OK && !two) npuc_report_page(a.report, &page);
  if (status == NPUC_OK) status = npuc_file_write_all(c->diag, file, page.text, page.bytes);
  if (status == NPUC_OK) {
    npuc_cli_set(c, "file", json_string(file));
    npuc_cli_set(c, "bytes", json_integer((json_int_t)page.bytes));
    npuc_cli_say(c, "%s: %zu bytes\n", file, page.bytes);
  }
  npuc_markup_destroy(&page);
  close_subject(&a);
  close_subject(&b);
  return status;
}

static const option options[] = {
    {"--output", 'o', OPTION_VALUE, "FILE", "where the page goes (default report.html, compare.html for two builds)"},
    {"--target", 't', OPTION_VALUE, "TARGET", "which target's build, where OUT has several"},
};
static const option_group group = {"Report", options, sizeof options / sizeof *options};
static const option_group *const groups[] = {&group, NULL};
static const char *const examples[] = {"npuc report build/demo -o build/demo.html",
                                       "npuc report build/demo build/demo -o build/compare.html", NULL};

const command npuc_command_report = {.name = "report",
                                     .arguments = "OUT [OUT2]",
                                     .purpose = "write a build's report, or compare two builds, as one HTML page",
                                     .min_arguments = 1,
                                     .max_arguments = 2,
                                     .groups = groups,
                                     .examples = examples,
                                     .run = run};
