/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of its own for each test that writes: made under the build's folder, removed at the end. */
#ifndef NPUC_TESTS_SUPPORT_SCRATCH_H
#define NPUC_TESTS_SUPPORT_SCRATCH_H

#include "base/arena.h"

/* Creates an empty folder and returns its path, in the arena. Fails the test when it cannot. */
char *npuc_scratch_create(arena *a);
/* Removes it with all that is in it. */
void npuc_scratch_remove(const char *path);

#endif
