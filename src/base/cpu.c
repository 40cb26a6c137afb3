/* SPDX-License-Identifier: Apache-2.0 */
/* One level stands for the whole set of instructions that its kernels may use, so that a kernel file asks one question. */
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const level_names[CPU_LEVELS] = {"scalar", "neon", "dotprod", "avx2", "avx512", "amx"};

const char *npuc_cpu_name(cpu_level level) { return level_names[level]; }

#if defined(__x86_64__)

static const cpu_level least = CPU_AVX2; /* above CPU_SCALAR: levels of another architecture lie between */

static bool has_bits(unsigned leaf, char of, unsigned bits) {
  unsigned a, b, c, d;
  return __get_cpuid_count(leaf, 0, &a, &b, &c, &d) && ((of == 'c' ? c : d) & bits) == bits;
}

/* __builtin_cpu_supports also asks whether the operating system saves the wide registers. F16C has no name there in Clang 14:
 * it is bit 29 of ECX in CPUID leaf 1, and its registers are AVX's. */
static bool has_f16c(void) { return has_bits(1, 'c', 1u << 29); }

/* AMX-TILE and AMX-INT8. The flags say what the processor knows, npuc_os_tiles whether it works: the kernel gives a process its 8 KiB of
 * tiles on request only, and virtual machines have shown flags of what then faulted. */
static bool has_amx(void) { return has_bits(7, 'd', 1u << 24 | 1u << 25) && npuc_os_tiles(); }

cpu_level npuc_cpu_best(void) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c()) return CPU_SCALAR;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vnni"))
    return CPU_AVX2;
  return has_amx() ? CPU_AMX : CPU_AVX512;
}

#elif defined(__aarch64__)

static const cpu_level least = CPU_NEON;

/* NEON is part of the base architecture, SDOT an extension of Armv8.2. */
cpu_level npuc_cpu_best(void) { return npuc_os_dotprod() ? CPU_DOTPROD : CPU_NEON; }

#else

static const cpu_level least = CPU_SCALAR;

cpu_level npuc_cpu_best(void) { return CPU_SCALAR; }

#endif

bool npuc_cpu_has(cpu_level level) { return level == CPU_SCALAR || (level >= least && level <= npuc_cpu_best()); }

npuc_status npuc_cpu_select(diag *d, cpu_level *out_level) {
  *out_level = npuc_cpu_best();
  const char *asked = getenv("NPUC_CPU");
  if (!asked || !*asked) return NPUC_OK;
  diag_place place = {.attribute = "NPUC_CPU"};
  for (int i = 0; i < CPU_LEVELS; i++) {
    if (strcmp(asked, level_names[i]) != 0) continue;
    if (npuc_cpu_has((cpu_level)i)) {
      *out_level = (cpu_level)i;
      return NPUC_OK;
    }
    npuc_status status =
        npuc_fail(d, NPUC_DIAG_E0007, &place, "NPUC_CPU=%s, and the best level of this processor is %s", asked, level_names[*out_level]);
    npuc_fix(d, "unset NPUC_CPU");
    return status;
  }
  npuc_status status = npuc_fail(d, NPUC_DIAG_E0007, &place, "NPUC_CPU=%s is no level: scalar, neon, dotprod, avx2, avx512 or amx", asked);
  npuc_fix(d, "export NPUC_CPU=%s", level_names[*out_level]);
  return status;
}
