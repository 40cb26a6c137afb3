/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/file.h"
#include "support/scratch.h"

char *npuc_scratch_create(arena *a) {
  char *path = npuc_arena_str(a, NPUC_BINARY_DIR "/scratch-XXXXXX");
  assert_non_null(mkdtemp(path));
  return path;
}

void npuc_scratch_remove(const char *path) { assert_int_equal(npuc_path_remove(NULL, path), NPUC_OK); }
