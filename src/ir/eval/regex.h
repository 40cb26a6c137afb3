/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions in RE2's syntax, whether a text as a whole matches: time is bounded by program size times length, whatever the pattern. */
#ifndef NPUC_IR_EVAL_REGEX_H
#define NPUC_IR_EVAL_REGEX_H

#include <stdbool.h>

#include "base/arena.h"

typedef struct regex regex;
/* NULL with a sentence in *out_problem: the pattern is wrong or holds what is not supported. */
const regex *npuc_regex_compile(arena *a, const char *pattern, const char **out_problem);
/* Bytes of scratch memory that a match takes. */
size_t npuc_regex_scratch(const regex *r);
/* The byte behind the text is readable and 0. Bytes that are no UTF-8 match nothing but negated classes and `.`. */
bool npuc_regex_matches(const regex *r, const char *text, size_t n, void *scratch);

#endif
