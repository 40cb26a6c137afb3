/* SPDX-License-Identifier: Apache-2.0 */
/* npuc materialize OUT: all weights into OUT, so that its models are standard ONNX and the source may go. */
#include "cli/build_options.h"

static npuc_status run(cli *c) {
  build *b = NULL;
  NPUC_TRY(npuc_build_open(c->diag, c->arena, c->line.arguments[0], false, &b));
  b->pool = c->pool;
  b->progress = &c->progress;
  npuc_status status = npuc_build_options_load(b);
  if (status == NPUC_OK) status = npuc_build_materialize(b);
  if (status == NPUC_OK) {
    npuc_cli_set(c, "weights", json_string(npuc_path_join(c->arena, b->path, "weights")));
    npuc_cli_say(c, "all weights are in %s/weights\n", b->path);
  }
  npuc_build_close(b);
  return status;
}

static const char *const examples[] = {"npuc materialize build/demo", NULL};

const command npuc_command_materialize = {.name = "materialize",
                                          .arguments = "OUT",
                                          .purpose = "copy the weights that stayed in a large source file into OUT",
                                          .min_arguments = 1,
                                          .max_arguments = 1,
                                          .examples = examples,
                                          .run = run};
