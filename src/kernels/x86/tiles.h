/* SPDX-License-Identifier: Apache-2.0 */
/* The memory operand of LDTILECFG, 64 bytes (Intel SDM vol. 1, section 18.3, palette 1: eight tiles of up to 16 rows by 64 bytes). */
#ifndef NPUC_KERNELS_X86_TILES_H
#define NPUC_KERNELS_X86_TILES_H

#include <stdint.h>

enum { TILES = 8 };
typedef struct tile_config {
  uint8_t palette, start_row, reserved[14];
  uint16_t columns[16]; /* bytes of a row */
  uint8_t rows[16];
} tile_config;

#endif
