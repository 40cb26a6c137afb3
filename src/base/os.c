/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os.h"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

size_t npuc_os_processors(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    int count = CPU_COUNT(&set);
    if (count > 0) return (size_t)count;
  }
  /* More processors than a cpu_set_t holds: the affinity call fails, and the online count is the better answer. */
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (size_t)online : 1;
}

uint64_t npuc_os_memory_bytes(void) {
  long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : 0;
}

uint64_t npuc_os_peak_rss_bytes(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0 || usage.ru_maxrss < 0) return 0;
  return (uint64_t)usage.ru_maxrss * 1024; /* Linux counts in KiB */
}

void npuc_os_drop_pages(const void *address, size_t bytes) {
  /* POSIX_MADV_DONTNEED is a no-op in glibc; the real one lets the kernel take clean file pages back. */
  (void)madvise((void *)(uintptr_t)address, bytes, MADV_DONTNEED);
}

void npuc_os_large_pages(void *address, size_t bytes) {
#ifdef MADV_HUGEPAGE
  (void)madvise(address, bytes, MADV_HUGEPAGE);
#else
  (void)address, (void)bytes;
#endif
}

size_t npuc_os_terminal_columns(int descriptor) {
  struct winsize size;
  return isatty(descriptor) && ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
