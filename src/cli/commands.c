/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

static const command *const commands[] = {
#define COMMAND(symbol) &npuc_command_##symbol,
#include "cli/commands.def"
#undef COMMAND
};

const command *const *npuc_cli_commands(size_t *out_count) {
  *out_count = sizeof commands / sizeof *commands;
  return commands;
}
