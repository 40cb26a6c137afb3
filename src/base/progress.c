/* SPDX-License-Identifier: Apache-2.0 */
/* Progress is a pair of callbacks that may be missing, so that callees report without asking whether anybody looks. */
#include "base/progress.h"

#include <time.h>

#include "base/os.h"

void npuc_progress_report(const progress *p, const char *what, uint64_t done, uint64_t total) {
  if (p && p->report) p->report(p->user, what, done, total);
}

bool npuc_progress_cancelled(const progress *p) { return p && p->cancelled && p->cancelled(p->user); }

double npuc_clock_seconds(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t npuc_peak_rss_bytes(void) { return npuc_os_peak_rss_bytes(); }
