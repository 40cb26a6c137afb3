/* SPDX-License-Identifier: Apache-2.0 */
/* map: string -> pointer, insertion-ordered, in an arena. Iteration order is insertion order, so that nothing that is
 * written depends on a hash. intern: one copy of each string, equality by pointer. */
#ifndef NPUC_BASE_MAP_H
#define NPUC_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

typedef struct map map;

map *npuc_map_create(arena *a); /* lives and dies with the arena */
/* Key is copied. Returns the earlier value (and replaces it), or NULL. value must not be NULL. */
void *npuc_map_put(map *m, const char *key, void *value);
void *npuc_map_get(const map *m, const char *key);
void *npuc_map_getn(const map *m, const char *key, size_t n);
bool npuc_map_remove(map *m, const char *key);
size_t npuc_map_count(const map *m);
/* Iterates in insertion order: start with *cursor = 0; false at the end. */
bool npuc_map_next(const map *m, size_t *cursor, const char **out_key, void **out_value);

typedef struct interner interner;
interner *npuc_interner_create(arena *a);
const char *npuc_intern(interner *in, const char *text);
const char *npuc_internn(interner *in, const char *text, size_t n);

/* Nearest of `n` names to `text` by edit distance (transpositions count one); NULL when none is near enough to be a likely slip. */
const char *npuc_nearest(const char *text, const char *const *names, size_t n);

#endif
