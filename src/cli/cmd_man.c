/* SPDX-License-Identifier: Apache-2.0 */
/* npuc man: the manual page, in man(7)'s macros, made of the tables that parse the line. */
#include <stdlib.h>
#include <string.h>

#include "base/build_info.h"
#include "cli/cli.h"

/* A hyphen that is typed is `\-`; a backslash is `\e`; a dot or an apostrophe at a line's start is no request. */
static void put_escaped(FILE *out, const char *text) {
  bool begins = true;
  for (; *text; text++) {
    if (begins && (*text == '.' || *text == '\'')) fputs("\\&", out);
    if (*text == '\\')
      fputs("\\e", out);
    else if (*text == '-')
      fputs("\\-", out);
    else
      fputc(*text, out);
    begins = *text == '\n';
  }
}

static void put_line(FILE *out, const char *text) {
  put_escaped(out, text);
  fputc('\n', out);
}

static void put_group(FILE *out, const option_group *g) {
  fprintf(out, ".PP\n");
  put_escaped(out, g->title);
  fputs(":\n", out);
  for (size_t i = 0; i < g->n_options; i++) {
    const option *o = &g->options[i];
    fputs(".TP\n", out);
    if (o->letter) fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB", out);
    put_escaped(out, o->name);
    fputs("\\fR", out);
    if (o->value) fputs(" \\fI", out), put_escaped(out, o->value), fputs("\\fR", out);
    fputc('\n', out);
    put_escaped(out, o->help);
    fputs(o->kind == OPTION_LIST ? " (may repeat)\n" : "\n", out);
  }
}

static void put_command(FILE *out, const command *c) {
  fputs(".SS npuc ", out), put_line(out, c->name);
  put_line(out, c->purpose);
  fputs(".PP\n\\fBnpuc ", out), put_escaped(out, c->name), fputs("\\fR \\fI", out), put_escaped(out, c->arguments);
  fputs("\\fR [OPTIONS]\n", out);
  for (size_t i = 0; c->groups && c->groups[i]; i++) put_group(out, c->groups[i]);
  if (!c->examples || !c->examples[0]) return;
  fputs(".PP\nExamples:\n.PP\n.nf\n.RS 4\n", out);
  for (size_t i = 0; c->examples[i]; i++) put_line(out, c->examples[i]);
  fputs(".RE\n.fi\n", out);
}

static void put_page(FILE *out) {
  size_t n;
  const command *const *commands = npuc_cli_commands(&n);
  fprintf(out, ".TH NPUC 1 \"\" \"npuc %s\" \"User Commands\"\n", NPUC_BUILD_VERSION);
  fputs(".SH NAME\nnpuc \\- from a trained network to the NPU, every step checked\n", out);
  fputs(".SH SYNOPSIS\n\\fBnpuc\\fR \\fICOMMAND\\fR \\fIARGUMENTS\\fR [OPTIONS]\n.SH DESCRIPTION\n", out);
  put_line(out, npuc_cli_words + strspn(npuc_cli_words, "\n"));
  fputs(".SH OPTIONS\n", out);
  put_group(out, &npuc_cli_global_group);
  fputs(".SH COMMANDS\n", out);
  for (size_t i = 0; i < n; i++) put_command(out, commands[i]);
  fputs(".SH EXIT STATUS\n.nf\n", out);
  put_line(out, npuc_cli_exit_statuses + strspn(npuc_cli_exit_statuses, "\n"));
  fputs(".fi\n.SH ENVIRONMENT\n", out);
  static const char *const variables[][2] = {{"NPUC_CPU", "level of the kernels: scalar, avx2, avx512; results do not depend on it"},
                                             {"NPUC_SHARE", "folder of targets and presets, instead of the one beside the program"},
                                             {"NPUC_ONNXRUNTIME, NPUC_OPENVINO", "library of the peer, or a folder above it, for bench"},
                                             {"COLUMNS, NO_COLOR, TERM", "width and colours of the output"},
                                             {"XDG_CACHE_HOME", "where private environments of other tools lie"}};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    fputs(".TP\n.B ", out), put_line(out, variables[i][0]);
    put_line(out, variables[i][1]);
  }
}

static npuc_status run(cli *c) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *memory = open_memstream(&text, &bytes);
  if (!memory) return npuc_fail(c->diag, NPUC_DIAG_E0002, NULL, "memory of the page");
  put_page(memory);
  npuc_status status = fclose(memory) == 0 ? NPUC_OK : npuc_fail(c->diag, NPUC_DIAG_E0002, NULL, "memory of the page");
  if (status == NPUC_OK) {
    npuc_cli_set(c, "page", json_string(text));
    npuc_cli_say(c, "%s", text);
  }
  free(text);
  return status;
}

static const char *const examples[] = {"npuc man > npuc.1", NULL};

const command npuc_command_man = {.name = "man", .arguments = "", .purpose = "print the manual page", .examples = examples, .run = run};
