/* SPDX-License-Identifier: Apache-2.0 */
/* CPU levels. A level only changes time, never a bit of a result. NPUC_CPU=scalar|avx2|avx512|amx|neon|dotprod forces one at or below
 * what the processor has; asking for more is an error (E0007). */
#ifndef NPUC_BASE_CPU_H
#define NPUC_BASE_CPU_H

#include "base/diag.h"

/* Each includes those before it of its architecture. DOTPROD: NEON with SDOT and UDOT; AVX2: with FMA and F16C; AVX512: F, BW, VL, DQ and
 * VNNI; AMX: TILE and INT8, seen to work. */
typedef enum cpu_level { CPU_SCALAR, CPU_NEON, CPU_DOTPROD, CPU_AVX2, CPU_AVX512, CPU_AMX } cpu_level;
enum { CPU_LEVELS = CPU_AMX + 1 };

cpu_level npuc_cpu_best(void);
bool npuc_cpu_has(cpu_level level);
/* What NPUC_CPU asks for, or the best. */
npuc_status npuc_cpu_select(diag *d, cpu_level *out_level) NPUC_MUST_USE;
const char *npuc_cpu_name(cpu_level level);

#endif
