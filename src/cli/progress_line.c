/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const double interval = 0.1;

bool npuc_progress_line_due(progress_line *p, const char *what, uint64_t done, uint64_t total, double now) {
  if (strncmp(p->what, what, sizeof p->what - 1) != 0 || done < p->at_start) { /* other work, or the same anew */
    *p = (progress_line){.at_start = done, .started = now};
    snprintf(p->what, sizeof p->what, "%s", what);
  } else if (done != total && now - p->shown < interval) {
    return false;
  }
  p->shown = now;
  return true;
}

double npuc_progress_line_rate(const progress_line *p, uint64_t done, uint64_t total, double now, double *out_left) {
  double seconds = now - p->started, units = (double)(done - p->at_start);
  *out_left = -1;
  if (seconds < interval || units <= 0) return 0;
  double rate = units / seconds;
  if (total >= done) *out_left = (double)(total - done) / rate;
  return rate;
}

static void print_left(double left, char *out, size_t n) {
  if (left < 0)
    snprintf(out, n, "%s", "");
  else if (left < 10)
    snprintf(out, n, "  %.1f s left", left);
  else if (left < 100)
    snprintf(out, n, "  %.0f s left", left);
  else if (left < 100 * 60)
    snprintf(out, n, "  %.0f min left", left / 60);
  else
    snprintf(out, n, "  %.1f h left", left / 3600);
}

void npuc_progress_line_text(const progress_line *p, uint64_t done, uint64_t total, double now, size_t columns, char *out, size_t n) {
  double left, rate = npuc_progress_line_rate(p, done, total, now, &left);
  char amount[64], speed[32] = "", rest[32];
  if (total)
    snprintf(amount, sizeof amount, "%" PRIu64 "/%" PRIu64 "  %.0f %%", done, total, 100.0 * (double)done / (double)total);
  else
    snprintf(amount, sizeof amount, "%" PRIu64, done);
  if (rate > 0) snprintf(speed, sizeof speed, rate < 10 ? "  %.2f/s" : "  %.0f/s", rate);
  print_left(total ? left : -1, rest, sizeof rest);
  snprintf(out, n, "%s  %s%s%s", p->what, amount, speed, rest);
  out[npuc_utf8_fit(out, columns)] = '\0';
}
