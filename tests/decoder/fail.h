/* SPDX-License-Identifier: Apache-2.0 */
/* How the decoder gives up: one sentence on stderr and the end of the program. Nothing here recovers from a bad file. */
#ifndef DECODER_FAIL_H
#define DECODER_FAIL_H

#include <stddef.h>

enum { EXIT_USAGE = 2, EXIT_RUN = 4, EXIT_ENVIRONMENT = 5, EXIT_FILE = 6 };

_Noreturn void decoder_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Zeroed memory for `count` elements of `size` bytes; at least one byte, never NULL. */
void *decoder_alloc(size_t count, size_t size);

#endif
