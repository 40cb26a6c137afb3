/* SPDX-License-Identifier: Apache-2.0 */
/* Unique names. A taken name gets the smallest free suffix _K, so that the choice depends on the names that are there and not on the
 * order of edits that led there: a build resumed from a file chooses what the uninterrupted one chose. `suffixes` remembers for
 * each base name a number below which no suffix is free, so that making n names from one base is linear; releasing base_K lowers it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/internal.h"

typedef struct suffix_hint {
  uint64_t value, node; /* no smaller suffix is free among the values, among the nodes */
} suffix_hint;

static suffix_hint *hint_of(graph *g, const char *name) {
  suffix_hint *hint = npuc_map_get(g->suffixes, name);
  if (hint) return hint;
  hint = NPUC_NEW(g->module->arena, suffix_hint);
  *hint = (suffix_hint){1, 1};
  npuc_map_put(g->suffixes, name, hint);
  return hint;
}

const char *npuc_name_free_in(graph *g, const map *names, const char *name) {
  bool of_values = names != g->node_names, of_nodes = names != g->values; /* NULL: both */
  interner *in = g->module->names;
  if (!(of_values && npuc_map_get(g->values, name)) && !(of_nodes && npuc_map_get(g->node_names, name))) return npuc_intern(in, name);
  suffix_hint *hint = hint_of(g, name);
  size_t bytes = strlen(name) + 24;
  char *text = npuc_xmalloc(bytes);
  uint64_t k = of_values ? hint->value : hint->node;
  if (of_values && of_nodes && hint->node > k) k = hint->node;
  for (;; k++) {
    snprintf(text, bytes, "%s_%llu", name, (unsigned long long)k);
    bool value_taken = npuc_map_get(g->values, text) != NULL, node_taken = npuc_map_get(g->node_names, text) != NULL;
    if (!(of_values && value_taken) && !(of_nodes && node_taken)) break;
    if (value_taken && k == hint->value) hint->value++;
    if (node_taken && k == hint->node) hint->node++;
  }
  const char *result = npuc_intern(in, text);
  free(text);
  return result;
}

void npuc_name_released(graph *g, const char *name) {
  const char *end = name + strlen(name), *digits = end;
  while (digits > name && digits[-1] >= '0' && digits[-1] <= '9') digits--;
  if (digits == end || digits <= name + 1 || digits[-1] != '_' || *digits == '0' || end - digits > 18) return;
  suffix_hint *hint = npuc_map_getn(g->suffixes, name, (size_t)(digits - 1 - name));
  if (!hint) return;
  uint64_t k = strtoull(digits, NULL, 10);
  if (k < hint->value) hint->value = k;
  if (k < hint->node) hint->node = k;
}

const char *npuc_graph_unique_name(graph *g, const char *name) { return npuc_name_free_in(g, NULL, name); }
