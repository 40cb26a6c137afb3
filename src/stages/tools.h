/* SPDX-License-Identifier: Apache-2.0 */
/* Which toolchains of others are there, and how to get one. */
#ifndef NPUC_STAGES_TOOLS_H
#define NPUC_STAGES_TOOLS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"

typedef struct tool_info {
  const char *name, *title;
  const char *needs;  /* distribution whose .dist-info is looked for, or the program */
  const char *source; /* steps of pip, or the package of Debian */
  const char *allows;
  bool is_package;
} tool_info;
const tool_info *npuc_tool_table(size_t *out_count);
const tool_info *npuc_tool_find(const char *name); /* NULL: none */

typedef struct tool_state {
  const char *place;   /* environment or file; NULL: not there */
  const char *version; /* "" where it is not known without running it */
} tool_state;
/* A package in its own environment of npuc, in `python` (may be NULL) or in VIRTUAL_ENV; a program on PATH. */
tool_state npuc_tool_look(arena *a, const tool_info *t, const char *python);
/* The commands that install a package tool, each NULL-ended, as they would be typed; python3 -m venv FOLDER first. */
size_t npuc_tool_steps(arena *a, const tool_info *t, const char *const ***out_steps);
/* Runs them. A failure leaves no environment behind. E0930 for a PROGRAM tool, with how to get it. */
npuc_status npuc_tool_install(diag *d, arena *a, const tool_info *t) NPUC_MUST_USE;

#endif
