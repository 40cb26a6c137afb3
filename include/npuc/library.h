/* SPDX-License-Identifier: Apache-2.0 */
/* What concerns the library as a whole. Both libnpuc and libnpuc-runtime have it. */
#ifndef NPUC_LIBRARY_H
#define NPUC_LIBRARY_H

#include <stddef.h>

#include "npuc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "MAJOR.MINOR.PATCH" of the library that is linked, a static string. */
NPUC_API const char *npuc_version(void);

/* Called when small memory cannot be had; must not return. Default: abort. Large memory (tensors, files) never comes here: its
 * failure is a status. Set once, before any other call of the library. */
NPUC_API void npuc_set_oom_handler(void (*handler)(size_t bytes));

#ifdef __cplusplus
}
#endif
#endif
