/* SPDX-License-Identifier: Apache-2.0 */
/* What POSIX does not say: the only calls that need the operating system's own interfaces (src/base/os*.c). */
#ifndef NPUC_BASE_OS_H
#define NPUC_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Processors that this process may run on; at least 1. */
size_t npuc_os_processors(void);
/* Memory of the machine; 0 when the system does not say. */
uint64_t npuc_os_memory_bytes(void);
/* Highest resident set so far; 0 when the system does not say. */
uint64_t npuc_os_peak_rss_bytes(void);
/* Columns of the terminal behind a descriptor; 0 when it is none or does not say. */
size_t npuc_os_terminal_columns(int descriptor);
/* The file that this code was loaded from: the shared library, else the program. False when the system does not say, or it does not fit. */
bool npuc_os_own_path(char *out_path, size_t bytes);
/* Drops the pages of a file mapping: they are read again from the file when touched. Hint only. */
void npuc_os_drop_pages(const void *address, size_t bytes);
/* Asks for large pages behind memory that will be used whole: fewer faults. `address` and `bytes` are multiples of 2 MiB. Hint only. */
void npuc_os_large_pages(void *address, size_t bytes);
/* AMX's int8 tiles work: the kernel granted them and a product came out right. Ask only where CPUID has the flags. */
bool npuc_os_tiles(void);
/* aarch64: SDOT and UDOT are there. */
bool npuc_os_dotprod(void);

#endif
