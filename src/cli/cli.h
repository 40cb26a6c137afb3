/* SPDX-License-Identifier: Apache-2.0 */
/* What every command has: its parsed line, the diagnostics, the threads, and the two faces of its result (text, JSON). */
#ifndef NPUC_CLI_CLI_H
#define NPUC_CLI_CLI_H

#include <jansson.h>

#include "base/progress.h"
#include "base/threads.h"
#include "cli/options.h"

struct cli {
  parsed_line line;
  arena *arena; /* the whole command's */
  diag *diag;
  thread_pool *pool;
  progress progress;
  bool json, quiet, verbose, color;
  bool terminal; /* stderr is a terminal: progress is drawn */
  unsigned long long seed;
  FILE *log;
  json_t *result; /* the command's document; commands add keys, main prints it with --json */
  size_t diagnostics_shown;
  double started;
};

/* Prints the records that are new since the last call (text or JSON lines) to stderr and the log. */
void npuc_cli_flush(cli *c);
/* Text output of the result; silent with --json or --quiet. */
void npuc_cli_say(const cli *c, const char *format, ...) NPUC_PRINTF(2, 3);
/* Takes the reference of value. */
void npuc_cli_set(cli *c, const char *key, json_t *value);
/* `[` `{` of columns: a table whose column widths fit their content; cells[row*columns + column]; right-aligned where the bit is set. */
void npuc_cli_table(const cli *c, const char *const *header, const char *const *cells, size_t rows, size_t columns, unsigned right_mask);

/* The commands: commands.def */
#define COMMAND(symbol) extern const command npuc_command_##symbol;
#include "cli/commands.def"
#undef COMMAND

#endif
