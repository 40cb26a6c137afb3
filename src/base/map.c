/* SPDX-License-Identifier: Apache-2.0 */
/* Two arrays: entries in insertion order, and an open-addressed table of entry numbers (linear probing, at most 3/4 full). A slot holds half of
 * the hash too, so that a probe of another key does not touch its entry.
 * Iteration walks the entries, so no order ever comes from a hash. A removed entry stays as a tombstone (value NULL) until the
 * next rebuild. */
#include "base/map.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"

typedef struct entry {
  const char *key;
  size_t key_length;
  uint64_t hash;
  void *value; /* NULL: removed */
} entry;

typedef struct slot {
  uint32_t hash;  /* upper half */
  uint32_t entry; /* number + 1; 0: free */
} slot;

struct map {
  arena *memory;
  entry *entries;
  size_t n_entries, capacity; /* with tombstones */
  size_t live;
  slot *slots;
  size_t n_slots; /* a power of two */
};

map *npuc_map_create(arena *a) {
  map *m = NPUC_NEW(a, map);
  m->memory = a;
  return m;
}

static size_t find_slot(const map *m, const char *key, size_t n, uint64_t hash) {
  size_t mask = m->n_slots - 1;
  size_t i = (size_t)hash & mask;
  for (; m->slots[i].entry; i = (i + 1) & mask) {
    if (m->slots[i].hash != (uint32_t)(hash >> 32)) continue;
    const entry *e = &m->entries[m->slots[i].entry - 1];
    if (e->hash == hash && e->key_length == n && (n == 0 || memcmp(e->key, key, n) == 0)) return i;
  }
  return i;
}

static void set_slot(map *m, size_t at, uint64_t hash, size_t number) {
  assert(number < UINT32_MAX);
  m->slots[at] = (slot){(uint32_t)(hash >> 32), (uint32_t)number + 1};
}

/* Drops the tombstones, and makes a table that is at most half full. */
static void rebuild(map *m) {
  size_t kept = 0;
  for (size_t i = 0; i < m->n_entries; i++) {
    if (m->entries[i].value) m->entries[kept++] = m->entries[i];
  }
  m->n_entries = kept;
  size_t n = 16;
  while (n < 2 * (kept + 1)) n *= 2;
  if (n > m->n_slots) {
    m->slots = NPUC_NEW_ARRAY(m->memory, n, slot);
    m->n_slots = n;
  } else {
    memset(m->slots, 0, m->n_slots * sizeof *m->slots);
  }
  for (size_t i = 0; i < kept; i++) {
    const entry *e = &m->entries[i];
    set_slot(m, find_slot(m, e->key, e->key_length, e->hash), e->hash, i);
  }
}

static void *put(map *m, const char *key, size_t n, void *value) {
  if (4 * (m->n_entries + 1) > 3 * m->n_slots) rebuild(m);
  uint64_t hash = npuc_hash_bytes(key, n);
  size_t at = find_slot(m, key, n, hash);
  if (m->slots[at].entry) {
    entry *e = &m->entries[m->slots[at].entry - 1];
    void *earlier = e->value;
    if (earlier) {
      e->value = value;
      return earlier;
    }
    /* Put again after a removal: a new entry at the end takes the slot over, the tombstone goes at the next rebuild. */
  }
  m->entries = npuc_arena_grow(m->memory, m->entries, m->n_entries, m->n_entries + 1, sizeof *m->entries, &m->capacity);
  m->entries[m->n_entries] = (entry){npuc_arena_strn(m->memory, key, n), n, hash, value};
  set_slot(m, at, hash, m->n_entries++);
  m->live++;
  return NULL;
}

void *npuc_map_put(map *m, const char *key, void *value) { return put(m, key, strlen(key), value); }

static entry *find(const map *m, const char *key, size_t n) {
  if (m->n_slots == 0) return NULL;
  size_t at = find_slot(m, key, n, npuc_hash_bytes(key, n));
  return m->slots[at].entry ? &m->entries[m->slots[at].entry - 1] : NULL;
}

void *npuc_map_getn(const map *m, const char *key, size_t n) {
  const entry *e = find(m, key, n);
  return e ? e->value : NULL;
}

void *npuc_map_get(const map *m, const char *key) { return npuc_map_getn(m, key, strlen(key)); }

bool npuc_map_remove(map *m, const char *key) {
  entry *e = find(m, key, strlen(key));
  if (!e || !e->value) return false;
  e->value = NULL;
  m->live--;
  return true;
}

size_t npuc_map_count(const map *m) { return m->live; }

bool npuc_map_next(const map *m, size_t *cursor, const char **out_key, void **out_value) {
  while (*cursor < m->n_entries) {
    const entry *e = &m->entries[(*cursor)++];
    if (!e->value) continue;
    if (out_key) *out_key = e->key;
    if (out_value) *out_value = e->value;
    return true;
  }
  return false;
}

/* An interner is a map whose values are its own keys. */
struct interner {
  map *names;
};

interner *npuc_interner_create(arena *a) {
  interner *in = NPUC_NEW(a, interner);
  in->names = npuc_map_create(a);
  return in;
}

const char *npuc_internn(interner *in, const char *text, size_t n) {
  const char *known = npuc_map_getn(in->names, text, n);
  if (known) return known;
  map *m = in->names;
  put(m, text, n, m);
  entry *e = &m->entries[m->n_entries - 1];
  e->value = (void *)(uintptr_t)e->key;
  return e->key;
}

const char *npuc_intern(interner *in, const char *text) { return npuc_internn(in, text, strlen(text)); }
