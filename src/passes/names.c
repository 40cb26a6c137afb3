/* SPDX-License-Identifier: Apache-2.0 */
/* sanitize-names: names of values and nodes become [A-Za-z0-9_.]+, still unique; the source's names stay reachable (names.h).
 *
 * "/layer1/conv/Conv_output_0" becomes "layer1_conv_Conv_output_0": other characters become _, those in front are dropped. Where two
 * names fall together, the later one gets a suffix. Values go first, ports before the rest, so that a port's name is the shortest. */
#include "passes/names.h"

#include <stdlib.h>
#include <string.h>

#include "passes/internal.h"

static bool is_clean_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

bool npuc_name_is_clean(const char *name) {
  if (!*name) return false;
  for (const char *c = name; *c; c++) {
    if (!is_clean_character(*c)) return false;
  }
  return true;
}

static char *cleaned(arena *a, const char *name, const char *fallback) {
  while (*name && !is_clean_character(*name)) name++;
  char *text = npuc_arena_str(a, *name ? name : fallback);
  for (char *c = text; *c; c++) {
    if (!is_clean_character(*c)) *c = '_';
  }
  return text;
}

/* -- the map in the metadata: text that grows while the pass runs -- */

typedef struct text {
  char *bytes;
  size_t length, capacity;
} text;

static void append(text *t, const char *piece, char end) {
  size_t n = strlen(piece);
  if (t->length + n + 2 > t->capacity) {
    t->capacity = 2 * (t->length + n + 2);
    t->bytes = npuc_xrealloc(t->bytes, t->capacity);
  }
  memcpy(t->bytes + t->length, piece, n);
  t->length += n;
  t->bytes[t->length++] = end;
  t->bytes[t->length] = '\0';
}

static const char *map_key(arena *a, const graph *g) { return npuc_arena_printf(a, "npuc.names.%s", g->name); }

/* Calls visit for each line until it says stop. */
static void each_name(const graph *g, bool (*visit)(void *user, const char *ours, size_t n_ours, const char *source, size_t n_source),
                      void *user) {
  arena *a = npuc_arena_create();
  const char *at = npuc_map_get(g->module->metadata, map_key(a, g));
  npuc_arena_destroy(a);
  while (at && *at) {
    const char *tab = strchr(at, '\t');
    const char *end = tab ? strchr(tab, '\n') : NULL;
    if (!end) return;
    if (!visit(user, at, (size_t)(tab - at), tab + 1, (size_t)(end - tab - 1))) return;
    at = end + 1;
  }
}

typedef struct search {
  const char *wanted;
  arena *arena;
  const graph *graph;
  const char *name;
  value *found;
} search;

static bool match_ours(void *user, const char *ours, size_t n_ours, const char *source, size_t n_source) {
  search *s = user;
  if (strlen(s->wanted) != n_ours || memcmp(s->wanted, ours, n_ours) != 0) return true;
  s->name = npuc_arena_strn(s->arena, source, n_source);
  return false;
}

const char *npuc_source_name(const graph *g, arena *a, const char *ours) {
  search s = {.wanted = ours, .arena = a};
  each_name(g, match_ours, &s);
  return s.name ? s.name : ours;
}

static bool match_source(void *user, const char *ours, size_t n_ours, const char *source, size_t n_source) {
  search *s = user;
  if (strlen(s->wanted) != n_source || memcmp(s->wanted, source, n_source) != 0) return true;
  arena *a = npuc_arena_create();
  s->found = npuc_graph_value(s->graph, npuc_arena_strn(a, ours, n_ours));
  npuc_arena_destroy(a);
  return s->found == NULL;
}

value *npuc_find_value(const graph *g, const char *name) {
  value *v = npuc_graph_value(g, name);
  if (v) return v;
  search s = {.wanted = name, .graph = g};
  each_name(g, match_source, &s);
  return s.found;
}

typedef struct collection {
  arena *arena;
  map *names;
} collection;

static bool collect(void *user, const char *ours, size_t n_ours, const char *source, size_t n_source) {
  collection *c = user;
  (void)npuc_map_put(c->names, npuc_arena_strn(c->arena, ours, n_ours), npuc_arena_strn(c->arena, source, n_source));
  return true;
}

map *npuc_name_map(arena *a, const graph *g) {
  collection c = {.arena = a, .names = npuc_map_create(a)};
  each_name(g, collect, &c);
  return c.names;
}

void npuc_name_record(graph *g, const char *ours, const char *before) {
  arena *a = g->module->arena;
  const char *key = map_key(a, g), *names = npuc_map_get(g->module->metadata, key), *source = npuc_source_name(g, a, before);
  (void)npuc_map_put(g->module->metadata, key, npuc_arena_printf(a, "%s%s\t%s\n", names ? names : "", ours, source));
}

/* -- the pass -- */

/* A tab or a line end cannot stand in the map; such a source name is kept with blanks there. */
static const char *printable(arena *a, const char *name) {
  char *copy = npuc_arena_str(a, name);
  for (char *c = copy; *c; c++) {
    if (*c == '\t' || *c == '\n') *c = ' ';
  }
  return copy;
}

static void clean_value(pass_context *c, graph *g, value *v, text *names, bool *out_changed) {
  if (npuc_name_is_clean(v->name)) return;
  const char *source = v->name;
  npuc_value_rename(v, npuc_graph_unique_name(g, cleaned(c->scratch, source, "value")));
  append(names, v->name, '\t');
  append(names, printable(c->scratch, source), '\n');
  *out_changed = true;
}

static void clean_node(pass_context *c, graph *g, node *n, bool *out_changed) {
  if (npuc_name_is_clean(n->name)) return;
  if (!n->location) {
    location *l = NPUC_NEW(g->module->arena, location);
    l->name = n->name;
    n->location = l;
  }
  npuc_node_rename(n, npuc_graph_unique_name(g, cleaned(c->scratch, n->name, n->op->type)));
  *out_changed = true;
}

npuc_status npuc_pass_sanitize_names(pass_context *c, graph *g, bool *out_changed) {
  text names = {0};
  const char *key = map_key(g->module->arena, g), *before = npuc_map_get(g->module->metadata, key);
  for (size_t i = 0; i < g->n_inputs; i++) clean_value(c, g, g->inputs[i], &names, out_changed);
  for (size_t i = 0; i < g->n_outputs; i++) clean_value(c, g, g->outputs[i], &names, out_changed);
  graph *body;
  NPUC_EACH_NODE(g, n) {
    clean_node(c, g, n, out_changed);
    for (int32_t i = 0; (body = npuc_node_body(n, i)); i++) NPUC_TRY(npuc_pass_sanitize_names(c, body, out_changed));
    for (int32_t i = 0; i < n->n_inputs; i++) {
      if (n->inputs[i]) clean_value(c, g, n->inputs[i], &names, out_changed);
    }
    for (int32_t i = 0; i < n->n_outputs; i++) {
      if (n->outputs[i]) clean_value(c, g, n->outputs[i], &names, out_changed);
    }
  }
  if (names.length) {
    char *all = npuc_arena_printf(g->module->arena, "%s%s", before ? before : "", names.bytes);
    (void)npuc_map_put(g->module->metadata, key, all);
  }
  free(names.bytes);
  return NPUC_OK;
}
