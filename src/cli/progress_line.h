/* SPDX-License-Identifier: Apache-2.0 */
/* The line that shows progress on a terminal: `calibrate  512/1000  51 %  830/s  0.6 s left`. */
#ifndef NPUC_CLI_PROGRESS_LINE_H
#define NPUC_CLI_PROGRESS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct progress_line {
  char what[48];     /* of the work being shown */
  uint64_t at_start; /* units done when it began to be shown */
  double started, shown;
} progress_line;

/* Notes a report at time `now` (seconds). True when the line is due: ten times a second, and always for the last unit. */
bool npuc_progress_line_due(progress_line *p, const char *what, uint64_t done, uint64_t total, double now);
/* Units a second since the work began, 0 while that is not known; seconds that the rest will take at that rate, negative when not known. */
double npuc_progress_line_rate(const progress_line *p, uint64_t done, uint64_t total, double now, double *out_left);
/* The line without its colours and cursor moves, at most `columns` wide. */
void npuc_progress_line_text(const progress_line *p, uint64_t done, uint64_t total, double now, size_t columns, char *out, size_t n);

#endif
