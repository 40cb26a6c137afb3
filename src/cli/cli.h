/* SPDX-License-Identifier: Apache-2.0 */
/* What every command has: its parsed line, the diagnostics, the threads, and the two faces of its result (text, JSON). */
#ifndef NPUC_CLI_CLI_H
#define NPUC_CLI_CLI_H

#include <jansson.h>

#include "base/progress.h"
#include "base/threads.h"
#include "cli/options.h"
#include "cli/progress_line.h"

struct cli {
  parsed_line line;
  arena *arena; /* the whole command's */
  diag *diag;
  thread_pool *pool;
  progress progress;
  bool json, quiet, verbose, color;
  bool terminal; /* stderr is a terminal: progress is drawn */
  progress_line line_shown;
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
/* A table whose columns are as wide as their content, and on a terminal no wider than that: the widest left-aligned ones give way. header may be NULL;
 * cells[row*columns + column]; right-aligned where the bit is set. */
void npuc_cli_table(const cli *c, const char *const *header, const char *const *cells, size_t rows, size_t columns, unsigned right_mask);

/* The same, row by row. */
typedef struct cli_rows {
  cli *c;
  const char *const *header; /* or NULL */
  size_t columns;
  unsigned right_mask;
  const char **cells; /* copies, in the command's arena */
  size_t n, capacity;
} cli_rows;
/* columns cells, each a const char *. */
void npuc_cli_row(cli_rows *r, ...);
void npuc_cli_rows_print(const cli_rows *r);

/* Every command, in the order of commands.def. */
const command *const *npuc_cli_commands(size_t *out_count);
/* Columns to fill: COLUMNS, else the terminal's; 0 where there is none (a pipe: lines stay whole). */
size_t npuc_cli_columns(int descriptor);
/* Whether a terminal takes colours (not with NO_COLOR, not a dumb one), and moves of the cursor. */
bool npuc_cli_wants_color(int descriptor);
bool npuc_cli_moves_cursor(int descriptor);

/* The commands: commands.def */
#define COMMAND(symbol) extern const command npuc_command_##symbol;
#include "cli/commands.def"
#undef COMMAND

#endif
