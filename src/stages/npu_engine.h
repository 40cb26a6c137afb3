/* SPDX-License-Identifier: Apache-2.0 */
/* A `.npu` file on the host: in the runtime's plain kernels (engine `graph`) or with its streams in the NPU's simulator (engine `simulator`). Equal bytes. */
#ifndef NPUC_STAGES_NPU_ENGINE_H
#define NPUC_STAGES_NPU_ENGINE_H

#include "npu/sim.h"
#include "runtime/session.h"
#include "stages/runner.h"

typedef struct npu_engine {
  npuc_program *program;
  bool simulates;
  size_t configuration;
  model_port *inputs, *outputs;
} npu_engine;

/* In `a`; close releases the file. kind: "graph" or "simulator". */
npuc_status npuc_npu_engine_open(diag *d, arena *a, const char *path, const char *kind, npu_engine **out_engine) NPUC_MUST_USE;
void npuc_npu_engine_close(npu_engine *e); /* NULL is fine */
void npuc_npu_engine_backend(npu_engine *e, runner_backend *out_backend);

/* One run in the simulator with its times. inputs are the ports' integer bytes. */
typedef struct npu_timing {
  uint64_t cycles, macs;
  uint64_t busy[NPU_QUEUES], stalled[NPU_QUEUES];
} npu_timing;
npuc_status npuc_npu_engine_time(npu_engine *e, diag *d, const void *const *inputs, void *const *outputs, tensor_observer *observe,
                                 void *observe_user, npu_timing *timing) NPUC_MUST_USE;

#endif
