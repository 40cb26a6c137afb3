/* SPDX-License-Identifier: Apache-2.0 */
#include "npuc/library.h"

const char *npuc_version(void) { return NPUC_VERSION; /* given by CMake to this file alone, so that a new number rebuilds one file */ }
