/* SPDX-License-Identifier: Apache-2.0 */
/* The tile kernel on the processor's tiles. */
#include "kernels/kernels.h"
#include "kernels/target.h"

#if NPUC_X86
#include <immintrin.h>

#include "kernels/x86/tiles.h"

#define NAME(op) npuc_i8_##op##__amx
#define TARGET __attribute__((target("amx-tile,amx-int8")))
/* GCC's intrinsics do not say that they read and write memory; TILES_SEEN makes what they see be there. The tile's number becomes part of a register's
 * name, hence no parentheses. */
#define TILES_SEEN(p) __asm__ volatile("" ::"r"(p) : "memory")
#define TILES_BEGIN(config) \
  TILES_SEEN(config);       \
  _tile_loadconfig(config);
#define TILES_LOAD(tile, from, stride) _tile_loadd(tile, (from), (stride))
#define TILES_DOT(c, a, b, is_signed) \
  do {                                \
    if (is_signed) {                  \
      _tile_dpbssd(c, a, b);          \
    } else {                          \
      _tile_dpbusd(c, a, b);          \
    }                                 \
  } while (0)
#define TILES_STORE(tile, to, stride)   \
  do {                                  \
    _tile_stored(tile, (to), (stride)); \
    TILES_SEEN(to);                     \
  } while (0)
#define TILES_END _tile_release();
#include "kernels/x86/tiles_template.h"

#endif
