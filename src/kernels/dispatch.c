/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a kernel set: all slots scalar, then overwritten by each level up to the one allowed, in the order of kernels.def. */
#include "kernels/kernels.h"

#include "kernels/target.h"

static const kernel_set scalar_set = {
    .level = CPU_SCALAR,
    .lanes = 8,
#define KERNEL_SLOT(slot, type, function) .slot = function,
#define KERNEL_FAST(slot, type, level, function)
#include "kernels/kernels.def"
#undef KERNEL_SLOT
#undef KERNEL_FAST
};

const kernel_set *npuc_kernels_scalar(void) { return &scalar_set; }

void npuc_kernels_for_level(cpu_level level, kernel_set *out_set) {
  kernel_set set = scalar_set;
  set.level = level;
#define KERNEL_SLOT(slot, type, function)
#define KERNEL_FAST(slot, type, least, function) \
  if (level >= CPU_##least) set.slot = function;
#include "kernels/kernels.def"
#undef KERNEL_SLOT
#undef KERNEL_FAST
  if (level >= CPU_AVX512) set.lanes = 16;
  static const quads_kind quads[CPU_LEVELS] = {[CPU_DOTPROD] = QUADS_SIGNED, [CPU_AVX512] = QUADS_UNSIGNED, [CPU_AMX] = QUADS_EITHER};
  set.quads = quads[level];
  *out_set = set;
}

npuc_status npuc_kernels_select(diag *d, kernel_set *out_set) {
  cpu_level level;
  NPUC_TRY(npuc_cpu_select(d, &level));
  npuc_kernels_for_level(level, out_set);
  return NPUC_OK;
}
