/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit floats, round to nearest even, NaN kept quiet, subnormals kept. */
#ifndef NPUC_BASE_HALF_H
#define NPUC_BASE_HALF_H

#include <stdint.h>

float npuc_f16_to_f32(uint16_t h);
uint16_t npuc_f32_to_f16(float f);
float npuc_bf16_to_f32(uint16_t h);
uint16_t npuc_f32_to_bf16(float f);

#endif
