/* SPDX-License-Identifier: Apache-2.0 */
/* One level stands for the whole set of instructions that its kernels may use, so that a kernel file asks one question. */
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const level_names[] = {"scalar", "neon", "avx2", "avx512"};
#define LEVELS (sizeof level_names / sizeof level_names[0])

const char *npuc_cpu_name(cpu_level level) { return level_names[level]; }

#if defined(__x86_64__)

/* __builtin_cpu_supports also asks whether the operating system saves the wide registers. F16C has no name there in Clang 14:
 * it is bit 29 of ECX in CPUID leaf 1, and its registers are AVX's. */
static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && ((c >> 29) & 1u);
}

cpu_level npuc_cpu_best(void) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c()) return CPU_SCALAR;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni"))
    return CPU_AVX512;
  return CPU_AVX2;
}

static bool has_level(cpu_level level, cpu_level best) { return level != CPU_NEON && level <= best; }

#elif defined(__aarch64__)

cpu_level npuc_cpu_best(void) { return CPU_NEON; /* part of the base architecture */ }

static bool has_level(cpu_level level, cpu_level best) { return level <= best; }

#else

cpu_level npuc_cpu_best(void) { return CPU_SCALAR; }

static bool has_level(cpu_level level, cpu_level best) { return level <= best; }

#endif

npuc_status npuc_cpu_select(diag *d, cpu_level *out_level) {
  cpu_level best = npuc_cpu_best();
  *out_level = best;
  const char *asked = getenv("NPUC_CPU");
  if (!asked || !*asked) return NPUC_OK;
  diag_place place = {.attribute = "NPUC_CPU"};
  for (size_t i = 0; i < LEVELS; i++) {
    if (strcmp(asked, level_names[i]) != 0) continue;
    if (has_level((cpu_level)i, best)) {
      *out_level = (cpu_level)i;
      return NPUC_OK;
    }
    npuc_status status =
        npuc_fail(d, NPUC_DIAG_E0007, &place, "NPUC_CPU=%s, and the best level of this processor is %s", asked, level_names[best]);
    npuc_fix(d, "unset NPUC_CPU");
    return status;
  }
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0007, &place, "NPUC_CPU=%s is no level: scalar, neon, avx2 or avx512", asked);
  npuc_fix(d, "export NPUC_CPU=%s", level_names[best]);
  return status;
}
