/* SPDX-License-Identifier: Apache-2.0 */
/* The whole build in one document: report.json, and report.html, which is made of it. */
#ifndef NPUC_STAGES_BUILD_REPORT_H
#define NPUC_STAGES_BUILD_REPORT_H

#include "stages/stages.h"

/* What the build's records say for one target. Stages that have not been done have no gate. The caller owns it. */
json_t *npuc_build_report(const build *b, const char *target);
/* What is found only by looking at the models (parity by node, distributions, cycles, memory, the graph), from the stage files; what cannot be had yet is left out. */
npuc_status npuc_build_report_observe(build *b, const char *target, json_t *report) NPUC_MUST_USE;
/* report.json and report.html in `folder`. */
npuc_status npuc_build_report_write(diag *d, arena *a, const char *folder, const json_t *report) NPUC_MUST_USE;
/* The document that stage verify left, or where there is none, what can be said of the build so far. The caller owns it. */
npuc_status npuc_build_report_load(build *b, const char *target, json_t **out_report) NPUC_MUST_USE;

#endif
