/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines from tables: a command is one `command` record, an option one `option` line; parsing, --help, "did you mean" and the
 * docs come from them. Options may stand anywhere; `--name value`, `--name=value`, `-n value`; `--` ends options. */
#ifndef NPUC_CLI_OPTIONS_H
#define NPUC_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/diag.h"

typedef enum option_kind { OPTION_FLAG, OPTION_VALUE, OPTION_LIST /* may repeat */ } option_kind;

typedef struct option {
  const char *name; /* "--calib" */
  char letter;      /* 't' for -t, or 0 */
  option_kind kind;
  const char *value; /* name of the value in help: "DATA" */
  const char *help;
} option;

typedef struct option_group {
  const char *title;
  const option *options;
  size_t n_options;
} option_group;

typedef struct cli cli;

typedef struct command {
  const char *name;
  const char *arguments; /* "MODEL" as in the synopsis */
  const char *purpose;   /* one sentence */
  size_t min_arguments, max_arguments;
  const option_group *const *groups; /* NULL-ended; the global group is always added */
  const char *const *examples;       /* NULL-ended; each runs as it stands in the repository's root, after `make demo` */
  npuc_status (*run)(cli *c);
} command;

typedef struct parsed_option {
  const option *option;
  const char *value; /* NULL for flags */
} parsed_option;

typedef struct parsed_line {
  const command *command; /* NULL: none given */
  const char **arguments;
  size_t n_arguments;
  parsed_option *options;
  size_t n_options;
  const char *text; /* all words, for the record */
} parsed_line;

extern const option_group npuc_cli_global_group;

/* Parses argv[1..]; every slip is a diagnostic E01xx with the nearest right spelling. */
npuc_status npuc_cli_parse(diag *d, arena *a, const command *const *commands, size_t n_commands, int argc, char **argv,
                           parsed_line *out_line) NPUC_MUST_USE;
const char *npuc_cli_value(const parsed_line *line, const char *name); /* last value, or NULL */
bool npuc_cli_flag(const parsed_line *line, const char *name);
/* Values of a repeating option, in order; returns how many. */
size_t npuc_cli_list(const parsed_line *line, arena *a, const char *name, const char ***out_values);
/* A value as a whole number in [lo, hi] / as a real; `fallback` when the option is absent. */
npuc_status npuc_cli_int(diag *d, const parsed_line *line, const char *name, long long lo, long long hi, long long fallback,
                         long long *out_value) NPUC_MUST_USE;
npuc_status npuc_cli_real(diag *d, const parsed_line *line, const char *name, double fallback, double *out_value) NPUC_MUST_USE;
/* Bytes, with K, M, G or T behind them. */
npuc_status npuc_cli_size(diag *d, const parsed_line *line, const char *name, size_t fallback, size_t *out_bytes) NPUC_MUST_USE;

/* columns: of the terminal, 0 where lines stay whole. */
void npuc_cli_help(FILE *out, const command *const *commands, size_t n_commands, size_t columns);
void npuc_cli_command_help(FILE *out, const command *c, size_t columns);
/* What MODEL and DATA mean, and the exit statuses: for --help and the man page. */
extern const char npuc_cli_words[], npuc_cli_exit_statuses[];

#endif
