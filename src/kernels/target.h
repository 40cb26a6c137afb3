/* SPDX-License-Identifier: Apache-2.0 */
/* Per-function targets: one build of the library holds every level's kernels, and no file needs its own compiler flags. */
#ifndef NPUC_KERNELS_TARGET_H
#define NPUC_KERNELS_TARGET_H

#if defined(__x86_64__)
#define NPUC_X86 1
#define NPUC_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
/* Clang takes no vector width here (it reads it from a function attribute of its own); only the speed is at stake. */
#if defined(__clang__)
#define NPUC_TARGET_AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#else
#define NPUC_TARGET_AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,prefer-vector-width=512")))
#endif
#else
#define NPUC_X86 0
#endif

/* A loop that Clang does not vectorize (the scalar level's, or under a sanitizer) is slower, not wrong. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

/* In-place elementwise loops: element i depends on element i only, so that overlap is never a dependency. */
#if defined(__clang__)
#define NPUC_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define NPUC_IVDEP _Pragma("GCC ivdep")
#endif

/* Loops of a few constant steps over registers. */
#if defined(__clang__)
#define NPUC_UNROLL _Pragma("clang loop unroll(full)")
#else
#define NPUC_UNROLL _Pragma("GCC unroll 16")
#endif

#define NPUC_INLINE static inline __attribute__((always_inline))

#endif
