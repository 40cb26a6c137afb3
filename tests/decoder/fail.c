/* SPDX-License-Identifier: Apache-2.0 */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void decoder_fail(int status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("npu-decode: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(status);
}

void *decoder_alloc(size_t count, size_t size) {
  void *memory = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
  if (memory == NULL) decoder_fail(EXIT_ENVIRONMENT, "no memory for %zu elements of %zu bytes", count, size);
  return memory;
}
