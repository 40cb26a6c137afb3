/* SPDX-License-Identifier: Apache-2.0 */
/* Every intermediate tensor of an integer module, in the simulator and in the executor. The module's graph is compiled with each activation as an output of the model, so that
 * streams must leave it in memory; the file is written, loaded and run; each tensor is compared with the executor's value of the same name. */
#ifndef NPUC_TESTS_SUPPORT_INTERMEDIATE_H
#define NPUC_TESTS_SUPPORT_INTERMEDIATE_H

#include "ir/graph.h"
#include "tensor/tensor.h"

typedef struct intermediate_counts {
  size_t samples;
  size_t tensors;      /* compared for each sample */
  size_t from_streams; /* of these, left by the simulator (the rest are the host's) */
  size_t different;    /* over all samples */
} intermediate_counts;

/* floats: [samples, ...], the model's one input before quantization. damage: bytes of the weights' images are flipped before the file is written, which must be seen. Fails the test
 * when a step fails. */
void npuc_intermediate_compare(const module *integer, int n, const tensor *floats, int64_t count, bool damage,
                               intermediate_counts *out_counts);

#endif
