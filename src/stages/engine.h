/* SPDX-License-Identifier: Apache-2.0 */
/* Any MODEL as something that runs over samples: ONNX in the executor, .npu in the runtime (`graph`) or the simulator. */
#ifndef NPUC_STAGES_ENGINE_H
#define NPUC_STAGES_ENGINE_H

#include "stages/open_model.h"
#include "stages/runner.h"

typedef struct engine {
  opened_model model;
  runner *runner;
  void *npu; /* what a .npu's runner stands on */
} engine;

/* `kind` for .npu files: "graph" (NULL: the same) or "simulator". dims bind symbols of ONNX models before the runner is made: the caller's callback, or NULL. */
npuc_status npuc_engine_open(diag *d, arena *a, thread_pool *pool, const char *text, const char *kind,
                             npuc_status (*bind)(void *user, module *m), void *user, engine *out_engine) NPUC_MUST_USE;
void npuc_engine_close(engine *e);

#endif
