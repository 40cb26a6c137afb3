/* SPDX-License-Identifier: Apache-2.0 */
/* CPU levels. A level only changes time, never a bit of a result. NPUC_CPU=scalar|avx2|avx512|neon forces one at or below what the
 * processor has; asking for more is an error (E0007). */
#ifndef NPUC_BASE_CPU_H
#define NPUC_BASE_CPU_H

#include "base/diag.h"

/* AVX2 includes FMA and F16C; AVX512 includes F, BW, VL, DQ and VNNI. */
typedef enum cpu_level { CPU_SCALAR, CPU_NEON, CPU_AVX2, CPU_AVX512 } cpu_level;

cpu_level npuc_cpu_best(void);
/* What NPUC_CPU asks for, or the best. */
npuc_status npuc_cpu_select(diag *d, cpu_level *out_level) NPUC_MUST_USE;
const char *npuc_cpu_name(cpu_level level);

#endif
