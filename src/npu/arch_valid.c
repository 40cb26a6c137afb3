/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from arch.c, because the runtime's reader of `.npu` files asks it and has no JSON. */
#include "npu/arch.h"

bool npuc_npu_arch_valid(const npu_arch *arch) {
  return (arch->n == 8 || arch->n == 16 || arch->n == 32) && arch->scratchpad_bytes >= 4096 && arch->scratchpad_bytes <= 1u << 19 &&
         arch->weight_buffer_bytes >= 4 * arch->n * arch->n && arch->weight_buffer_bytes <= 1u << 19 &&
         arch->accumulator_rows == NPU_ACC_ROWS && arch->dma_bytes_per_cycle >= 1 && arch->dma_bytes_per_cycle <= 1024 &&
         arch->dma_descriptor_cycles <= 1u << 16 && arch->vector_latency <= 1024 && arch->row_file_entries == NPU_ROW_ENTRIES;
}
