/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar level of the elementwise, sum and softmax kernels: the definition of their results. */
#include "kernels/kernels.h"
#include "kernels/math_f32.h"

#define TARGET
#define NAME(op) npuc_f32_##op##__scalar
#include "kernels/elementwise_template.h"
