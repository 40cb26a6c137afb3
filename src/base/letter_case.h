/* SPDX-License-Identifier: Apache-2.0 */
/* Letters of any script in the other case: one letter for one letter, as Unicode's simple mappings have it, whatever the process's locale is. */
#ifndef NPUC_BASE_LETTER_CASE_H
#define NPUC_BASE_LETTER_CASE_H

#include <stdbool.h>
#include <stddef.h>

/* Room that the result may need. */
static inline size_t npuc_letter_case_room(size_t n) { return 2 * n + 8; }
/* `text` has a byte 0 behind its n bytes; what is no UTF-8 stays. Returns the result's bytes; SIZE_MAX where the system knows letters of ASCII only and there are others. */
size_t npuc_letter_case(const char *text, size_t n, bool upper, char *out);

#endif
