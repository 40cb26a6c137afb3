/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/engine.h"

#include <string.h>

#include "stages/npu_engine.h"

static npuc_status open_npu(diag *d, arena *a, thread_pool *pool, const char *kind, engine *e) {
  npu_engine *npu = NULL;
  NPUC_TRY(npuc_npu_engine_open(d, a, e->model.path, kind, &npu));
  e->npu = npu;
  runner_backend backend;
  npuc_npu_engine_backend(npu, &backend);
  return npuc_runner_create_with(d, pool, &backend, &e->runner);
}

npuc_status npuc_engine_open(diag *d, arena *a, thread_pool *pool, const char *text, const char *kind,
                             npuc_status (*bind)(void *user, module *m), void *user, engine *out_engine) {
  engine *e = out_engine;
  if (kind && strcmp(kind, "graph") != 0 && strcmp(kind, "simulator") != 0)
    return npuc_fail(d, NPUC_DIAG_E0104, &(diag_place){.attribute = "--engine"}, "engines are graph and simulator, not '%s'", kind);
  NPUC_TRY(npuc_model_open(d, a, text, &e->model));
  if (e->model.kind == MODEL_NPU) return open_npu(d, a, pool, kind ? kind : "graph", e);
  if (bind) NPUC_TRY(bind(user, e->model.module));
  return npuc_runner_create(d, pool, e->model.module->graphs[0], &e->runner);
}

void npuc_engine_close(engine *e) {
  npuc_runner_destroy(e->runner);
  e->runner = NULL;
  npuc_npu_engine_close(e->npu);
  e->npu = NULL;
  npuc_model_close(&e->model);
}
