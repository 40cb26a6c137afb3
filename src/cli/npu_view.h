/* SPDX-License-Identifier: Apache-2.0 */
/* .npu files on the command line: inspect, run, simulate. */
#ifndef NPUC_CLI_NPU_VIEW_H
#define NPUC_CLI_NPU_VIEW_H

#include "cli/cli.h"
#include "stages/npu_engine.h"

/* "1x3x16x16"; ? for a dim that is no number. */
const char *npuc_cli_dims_text(arena *a, const shape *s);
npuc_status npuc_cli_inspect_npu(cli *c, const char *path) NPUC_MUST_USE;
npuc_status npuc_cli_run_npu(cli *c, const char *path) NPUC_MUST_USE;

/* An engine with inputs from -i or seeded random, and room for outputs. */
typedef struct npu_run {
  npu_engine *engine;
  size_t n_inputs, n_outputs;
  tensor *inputs, *outputs;
  const void **input_data;
  void **output_data;
} npu_run;
npuc_status npuc_cli_npu_prepare(cli *c, const char *path, const char *kind, npu_run *out_run) NPUC_MUST_USE;
void npuc_cli_npu_finish(npu_run *r); /* also after a failed prepare */

#endif
