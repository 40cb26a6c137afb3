/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise template for AVX2 with FMA and for AVX-512: the compiler vectorizes its loops, fmaf is one instruction. */
#include "kernels/kernels.h"
#include "kernels/math_f32.h"

#if NPUC_X86

#define TARGET NPUC_TARGET_AVX2
#define NAME(op) npuc_f32_##op##__avx2
#include "kernels/elementwise_template.h"
#undef TARGET
#undef NAME

#define TARGET NPUC_TARGET_AVX512
#define NAME(op) npuc_f32_##op##__avx512
#include "kernels/elementwise_template.h"

#endif
