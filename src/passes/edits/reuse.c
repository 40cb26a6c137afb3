/* SPDX-License-Identifier: Apache-2.0 */
/* Edits that are patterns of other passes under the names that torq-tools' users know. */
#include "passes/edits/edits.h"

#define REUSE(symbol, ...)                                                                  \
  npuc_status npuc_pass_##symbol(pass_context *c, graph *g, bool *out_changed) {            \
    static const char *const names[] = {__VA_ARGS__};                                       \
    return npuc_pass_rewrite_named(c, g, names, sizeof names / sizeof *names, out_changed); \
  }

REUSE(remove_redundant_casts, "cast-to-same")
REUSE(replace_constant_div_with_mul, "div-power-of-two-to-mul", "div-constant-to-mul")
REUSE(fold_conv_batch_norm, "batchnorm-into-conv", "mul-into-conv", "add-into-conv")
REUSE(collapse_reshape_chain, "reshape-reshape")
