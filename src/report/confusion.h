/* SPDX-License-Identifier: Apache-2.0 */
/* What two models answered on the same labelled samples, counted by class. */
#ifndef NPUC_REPORT_CONFUSION_H
#define NPUC_REPORT_CONFUSION_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* {samples, classes, same, lost, won}: samples with equal answers, right before and wrong after, wrong before and right after. Up to 40 classes: `float` and `integer`, matrices
 * [label][answer]; beyond: `pairs`, the 20 most frequent confusions {label, answer, float, integer}. Labels and answers outside [0, classes) are wrong answers that no class gets. */
json_t *npuc_confusion_json(const int64_t *labels, const int64_t *before, const int64_t *after, size_t n, int64_t classes);

#endif
