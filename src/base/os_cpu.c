/* SPDX-License-Identifier: Apache-2.0 */
/* What only the kernel knows of the processor. Linux hands out AMX's tiles on request (Documentation/arch/x86/xstate.rst), and a flag
 * alone proves nothing: a child process multiplies two tiles, so that a fault kills nobody else. */
#include "base/os.h"

#if defined(__x86_64__)

#include <errno.h>
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REQUEST_STATE_PERMISSION = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA */

/* GCC's intrinsics do not say that they read and write memory. */
#define SEEN(a, b, c, d) __asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(d) : "memory")

/* -1 * 2 + 3 * -4, in the first of 16 rows by 16 columns, the other bytes zero. */
__attribute__((target("amx-tile,amx-int8"))) static int multiply_tiles(void) {
  struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t colsb[16];
    uint8_t rows[16];
  } config = {.palette = 1, .colsb = {64, 64, 64}, .rows = {16, 16, 16}};
  int8_t a[16][64] = {{-1, 3}}, b[16][64] = {{2, -4}};
  int32_t c[16][16];
  SEEN(&config, a, b, c);
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_loadd(1, a, 64);
  _tile_loadd(2, b, 64);
  _tile_dpbssd(0, 1, 2);
  _tile_stored(0, c, 64);
  _tile_release();
  SEEN(&config, a, b, c);
  return c[0][0] == -14 && c[0][1] == 0 && c[15][15] == 0;
}

bool npuc_os_tiles(void) {
  if (syscall(SYS_arch_prctl, REQUEST_STATE_PERMISSION, TILE_DATA) != 0) return false;
  pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) _exit(multiply_tiles() ? 0 : 1);
  int status;
  while (waitpid(child, &status, 0) != child) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#else

bool npuc_os_tiles(void) { return false; }

#endif

#if defined(__aarch64__)

#include <sys/auxv.h>

enum { DOT_PRODUCT = 1 << 20 }; /* HWCAP_ASIMDDP */

bool npuc_os_dotprod(void) { return (getauxval(AT_HWCAP) & DOT_PRODUCT) != 0; }

#else

bool npuc_os_dotprod(void) { return false; }

#endif
