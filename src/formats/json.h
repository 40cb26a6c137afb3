/* SPDX-License-Identifier: Apache-2.0 */
/* JSON files, by jansson. */
#ifndef NPUC_FORMATS_JSON_H
#define NPUC_FORMATS_JSON_H

#include <jansson.h>

#include "base/diag.h"

/* A whole file; keys that are there twice are refused. A file that cannot be opened or read is E0003 or E0006 (the environment's fault), one that is no JSON is `broken`,
 * with line and reason. json_decref. */
npuc_status npuc_json_read(diag *d, const char *path, diag_code broken, json_t **out_json) NPUC_MUST_USE;

/* jansson's builders answer a lack of memory with a document that lacks members. From this call on small memory that cannot be had goes to the out-of-memory handler, as in
 * arenas (base/arena.h). An allocator that the program has given jansson stays. Call before anything is built. */
void npuc_json_prepare(void);

#endif
