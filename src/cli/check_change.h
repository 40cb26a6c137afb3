/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a changed model still answers as the one it was made from: both run on the same seeded random inputs, for commands that change a model and judge the change. */
#ifndef NPUC_CLI_CHECK_CHANGE_H
#define NPUC_CLI_CHECK_CHANGE_H

#include "cli/cli.h"
#include "ir/graph.h"
#include "tensor/compare.h"

enum { CHECK_SAMPLES = 4 };

/* One sum for each output, in the command's arena; *out_why is NULL, or why they cannot be compared (a dim without a number, a model that does not run) and the sums are NULL.
 * Inputs that have another type in `after` get the same numbers in that type. */
npuc_status npuc_cli_check_change(cli *c, const module *before, const module *after, comparison_sum **out_sums,
                                  const char **out_why) NPUC_MUST_USE;

#endif
