/* SPDX-License-Identifier: Apache-2.0 */
/* Float operators as one readable loop each: the definition that kernels are tested against. */
#ifndef NPUC_KERNELS_REF_FLOAT_H
#define NPUC_KERNELS_REF_FLOAT_H

#include <stdbool.h>

#include "kernels/window.h"

/* x [batch, channels, in...], w [out_channels, channels/group, kernel...], bias [out_channels] or NULL, y [batch, out_channels, out...]. */
void npuc_ref_conv_f32(const kernel_window *g, const float *x, const float *w, const float *bias, float *y);

#endif
