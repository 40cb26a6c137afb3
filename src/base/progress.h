/* SPDX-License-Identifier: Apache-2.0 */
/* Progress and time: the library reports, the caller shows. Cancellation is asked through the same object. */
#ifndef NPUC_BASE_PROGRESS_H
#define NPUC_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
  /* what: "calibrate"; done of total units (total 0: unknown). May be called from any one thread at a time. */
  void (*report)(void *user, const char *what, uint64_t done, uint64_t total);
  /* true: stop soon, return NPUC_ENVIRONMENT with E0005. */
  bool (*cancelled)(void *user);
  void *user;
} progress;

/* Both accept NULL. */
void npuc_progress_report(const progress *p, const char *what, uint64_t done, uint64_t total);
bool npuc_progress_cancelled(const progress *p);

/* Monotonic seconds; resident-set peak in bytes (getrusage). */
double npuc_clock_seconds(void);
uint64_t npuc_peak_rss_bytes(void);

#endif
