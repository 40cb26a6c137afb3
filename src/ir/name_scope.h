/* SPDX-License-Identifier: Apache-2.0 */
/* What values are called in a file or a text: there a body names the outer values that it reads, and no name may be given twice in a graph and those around it. */
#ifndef NPUC_IR_NAME_SCOPE_H
#define NPUC_IR_NAME_SCOPE_H

#include "ir/graph.h"

typedef struct name_scope {
  const struct name_scope *outer; /* NULL: of a part, whose values keep their names */
  const graph *g;
  const char **names; /* by value id; NULL for a part */
  map *taken;         /* the names of a body's own values; NULL for a part */
} name_scope;

name_scope npuc_name_scope(const graph *part);
/* Of the body of a node in outer->g. Everything lives in the arena; `outer` must outlive it. */
name_scope npuc_name_scope_body(arena *a, const name_scope *outer, const node *n, const graph *body);
const char *npuc_name_in(const name_scope *s, const value *v);

#endif
