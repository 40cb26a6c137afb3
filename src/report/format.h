/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them; what is not there is a dash. Everything lives in the arena. */
#ifndef NPUC_REPORT_FORMAT_H
#define NPUC_REPORT_FORMAT_H

#include <jansson.h>
#include <stdint.h>

#include "base/arena.h"

/* A number of a report: npuc_json_number writes infinities and NaN as strings. NaN when it is neither. */
double npuc_json_value(const json_t *number);
double npuc_json_member(const json_t *object, const char *key);
/* A member's text, "" when there is none. */
const char *npuc_json_member_text(const json_t *object, const char *key);

const char *npuc_format_count(arena *a, double v);                     /* 13,641 */
const char *npuc_format_fixed(arena *a, double v, int decimals);       /* 34.3; an infinity is "∞" */
const char *npuc_format_short(arena *a, double v);                     /* 3 significant digits: 0.0178, 1.2e-07 */
const char *npuc_format_bytes(arena *a, double v);                     /* 4.3 MB: powers of 1,000 below 10 kB exact */
const char *npuc_format_seconds(arena *a, double v);                   /* 0.28 s, 3.1 ms */
const char *npuc_format_percent(arena *a, double ratio, int decimals); /* 0.78 -> 78.0 % */
/* A JSON array of dims as 1x3x16x16. */
const char *npuc_format_dims(arena *a, const json_t *dims);

#endif
