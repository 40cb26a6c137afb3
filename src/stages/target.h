/* SPDX-License-Identifier: Apache-2.0 */
/* Targets are data: share/npuc/targets/NAME.json. The folder is $NPUC_SHARE, else beside the program (../share/npuc), else where it was installed. */
#ifndef NPUC_STAGES_TARGET_H
#define NPUC_STAGES_TARGET_H

#include <jansson.h>

#include "base/arena.h"
#include "base/diag.h"

typedef struct target_file {
  const char *name;
  const char *path;    /* of its JSON file */
  json_t *description; /* owned */
} target_file;

/* E0907 with the nearest name when there is none. */
npuc_status npuc_target_open(diag *d, arena *a, const char *name, target_file *out_target) NPUC_MUST_USE;
void npuc_target_close(target_file *t);
/* Names of all targets, sorted. */
npuc_status npuc_target_list(diag *d, arena *a, char ***out_names, size_t *out_count) NPUC_MUST_USE;

#endif
