/* SPDX-License-Identifier: Apache-2.0 */
/* The hardware description: what docs/refnpu.md section 1 fixes for a size of refnpu. It is read from share/npuc/targets/refnpu-*.json ("hardware"), and kept
 * apart from compiler options: there is nothing to tune in it. */
#ifndef NPUC_NPU_ARCH_H
#define NPUC_NPU_ARCH_H

#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"

enum {
  NPU_QUEUES = 4,
  NPU_REGISTERS = 8,
  NPU_MAX_LANES = 32,  /* largest N */
  NPU_PASS_ROWS = 512, /* rows of a pass: half the accumulators */
  NPU_ACC_ROWS = 1024,
  NPU_ROW_ENTRIES = 512 /* row file */
};

typedef enum npu_queue { QUEUE_DMA0, QUEUE_DMA1, QUEUE_ARRAY, QUEUE_VECTOR } npu_queue;

typedef struct npu_arch {
  const char *name; /* "refnpu-n16" */
  uint32_t n;       /* side of the array: 8, 16, 32 */
  uint32_t scratchpad_bytes;
  uint32_t weight_buffer_bytes;
  uint32_t accumulator_rows;
  uint32_t dma_bytes_per_cycle;
  uint32_t dma_descriptor_cycles;
  uint32_t vector_latency;
  uint32_t row_file_entries;
} npu_arch;

/* Reads a target file. Strings go to the arena. A file that is not a refnpu target, or whose numbers the machine cannot have, is refused (E0801). */
npuc_status npuc_npu_arch_load(diag *d, arena *a, const char *path, npu_arch *out_arch) NPUC_MUST_USE;

/* Whether the numbers describe a machine that docs/refnpu.md allows: what both the loader of JSON and the reader of `.npu` check. */
bool npuc_npu_arch_valid(const npu_arch *arch);

#endif
