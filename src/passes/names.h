/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the source and names of ours. sanitize-names keeps what it changed in the module's metadata, one entry a part:
 *   npuc.names.PART = "ours\tsource\n" ...
 * so that the map travels in every stage's file; a name that is not in it is the source's own. */
#ifndef NPUC_PASSES_NAMES_H
#define NPUC_PASSES_NAMES_H

#include "ir/graph.h"

/* True when made of [A-Za-z0-9_.] only, and not empty. */
bool npuc_name_is_clean(const char *name);
/* The source's name of one of our values or nodes (itself when unchanged). In `a`, or the argument. */
const char *npuc_source_name(const graph *g, arena *a, const char *ours);
/* The value that a person means by its present name or by the source's; NULL when there is none. */
value *npuc_find_value(const graph *g, const char *name);
/* `ours`, a name that a pass gave, stands for what the source calls as `before` (a name of ours until now). */
void npuc_name_record(graph *g, const char *ours, const char *before);
/* ours -> source (char *), for module.json; empty when nothing was renamed. Lives in `a`. */
map *npuc_name_map(arena *a, const graph *g);

#endif
