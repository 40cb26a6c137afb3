/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs. */
#ifndef NPUC_STAGES_PROCESS_H
#define NPUC_STAGES_PROCESS_H

#include "base/arena.h"
#include "base/diag.h"

/* The file that the shell would run for `name` (PATH), or NULL. */
const char *npuc_program_find(arena *a, const char *name);
/* Runs argv[0] (found by PATH, no shell) with what it prints on stderr, and waits. E0932 when it cannot be started or ends badly. */
npuc_status npuc_program_run(diag *d, const char *const *argv) NPUC_MUST_USE;

#endif
