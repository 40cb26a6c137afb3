/* SPDX-License-Identifier: Apache-2.0 */
/* Damage: a reader of untrusted files is given every prefix of a small valid file, and the file with each byte changed in turn (one bit low, one bit high, all bits). It must
 * return each time: with success, or with a failure that is none of ours (not NPUC_INTERNAL) and has a diagnostic. Sanitizer builds see the rest. */
#ifndef NPUC_TESTS_SUPPORT_DAMAGE_H
#define NPUC_TESTS_SUPPORT_DAMAGE_H

#include "base/diag.h"

/* Reads `path`, releases what it got, returns the status. */
typedef npuc_status damage_reader(diag *d, const char *path);

/* Each damaged file is written as `as` in a scratch folder (its name may matter to the reader). Returns how many of them were refused. */
size_t npuc_damage_try(const char *valid, const char *as, damage_reader *read);
/* A file of our own bytes instead, once: the status. */
npuc_status npuc_damage_bytes(const void *bytes, size_t n, const char *as, damage_reader *read, diag_code *out_code);

#endif
