/* SPDX-License-Identifier: Apache-2.0 */
/* Which 8-bit images the executor keeps channels-last between integer operators. The graph is not changed: its shapes stay those of ONNX,
 * and graph inputs, outputs and constants stay channels-first. */
#ifndef NPUC_EXEC_CHANNELS_LAST_H
#define NPUC_EXEC_CHANNELS_LAST_H

#include "ir/op.h"

/* By value id; facts are static. */
const bool *npuc_exec_channels_last(arena *scratch, const graph *g, const fact *facts);

#endif
