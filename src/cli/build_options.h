/* SPDX-License-Identifier: Apache-2.0 */
/* The options that make a build, shared by `compile` and the commands of single stages; merged with what the build's manifest recorded. */
#ifndef NPUC_CLI_BUILD_OPTIONS_H
#define NPUC_CLI_BUILD_OPTIONS_H

#include "cli/cli.h"
#include "stages/stages.h"

extern const option_group npuc_cli_target_group, npuc_cli_model_group, npuc_cli_state_group, npuc_cli_data_group, npuc_cli_quantize_group,
    npuc_cli_edit_group, npuc_cli_pass_group, npuc_cli_pipeline_group;

/* "N=1", each. */
npuc_status npuc_cli_dims(cli *c, const char *name, const symbol_binding **out_dims, size_t *out_count) NPUC_MUST_USE;

/* --state-dict of a command without a build: into the module, and told. */
npuc_status npuc_cli_load_state(cli *c, module *m) NPUC_MUST_USE;
/* Of a program for an NPU, whose weights are what they are. */
npuc_status npuc_cli_refuse_state(cli *c, const char *label) NPUC_MUST_USE;

/* Fills b->options: the recorded ones, then the command line's over them (an override is noted); records the result in the manifest. `model` may be NULL for a command that goes on. */
npuc_status npuc_cli_build_options(cli *c, build *b, const char *model) NPUC_MUST_USE;

#endif
