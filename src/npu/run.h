/* SPDX-License-Identifier: Apache-2.0 */
/* One stream on dense tensors: what an executor calls for an NPU step. */
#ifndef NPUC_NPU_RUN_H
#define NPUC_NPU_RUN_H

#include "npu/sim.h"

/* Packs the bound inputs, runs the stream in the simulator, unpacks the bound outputs. tensors: row-major bytes of each tensor of the graph by its index; those that the
 * stream's bindings name must be there. state: s->state_bytes bytes that live on between runs, NULL when there are none. options and out_result may be NULL. */
npuc_status npuc_npu_run_stream(diag *d, const npu_program *p, const npu_stream *s, void *const *tensors, uint8_t *state,
                                const npu_sim_options *options, npu_sim_result *out_result) NPUC_MUST_USE;

#endif
