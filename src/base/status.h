/* SPDX-License-Identifier: Apache-2.0 */
/* Status: what a call says of itself. The number is the process's exit status too (docs/cli: "Exit status"),
 * so that a failure deep in a reader reaches the shell unchanged. Detail travels beside it, in a `diag`. */
#ifndef NPUC_BASE_STATUS_H
#define NPUC_BASE_STATUS_H

#include "npuc/status.h"

/* Leaves the function with the failure of `expr`; nothing is owned by this macro, so use it only where nothing needs release. */
#define NPUC_TRY(expr)                              \
  do {                                              \
    npuc_status try_status_ = (expr);               \
    if (try_status_ != NPUC_OK) return try_status_; \
  } while (0)

/* The same for functions with one clean-up label: sets `status` (a local) and jumps. */
#define NPUC_TRY_GOTO(status, label, expr) \
  do {                                     \
    (status) = (expr);                     \
    if ((status) != NPUC_OK) goto label;   \
  } while (0)

#endif
