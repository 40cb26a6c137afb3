/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise template for AVX2 with FMA: the compiler vectorizes its loops, fmaf is one instruction. */
#include "kernels/kernels.h"
#include "kernels/math_f32.h"

#if NPUC_X86

#define TARGET NPUC_TARGET_AVX2
#define NAME(op) npuc_f32_##op##__avx2
#include "kernels/elementwise_template.h"

#endif
