/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/support/json_mutate.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/support/target.h"
#include "support/random.h"

enum { MOST_PLACES = 8192, MOST_DEPTH = 64 };

/* A part of the document and where it hangs. */
typedef struct place {
  json_t *parent, *part;
  const char *key; /* NULL: in an array, at `index` */
  size_t index;
} place;

typedef struct document {
  place at[MOST_PLACES];
  size_t n;
  uint64_t random;
  const char *const *words;
  size_t n_words;
} document;

static void collect(document *d, json_t *j, int depth) {
  const char *key;
  size_t i;
  json_t *part;
  if (depth > MOST_DEPTH) return;
  json_object_foreach(j, key, part) {
    if (d->n < MOST_PLACES) d->at[d->n++] = (place){j, part, key, 0};
    collect(d, part, depth + 1);
  }
  json_array_foreach(j, i, part) {
    if (d->n < MOST_PLACES) d->at[d->n++] = (place){j, part, NULL, i};
    collect(d, part, depth + 1);
  }
}

static size_t below(document *d, size_t n) { return n ? (size_t)(random_next(&d->random) % n) : 0; }

static void set(const place *p, json_t *value) {
  if (p->key)
    json_object_set_new(p->parent, p->key, value);
  else
    json_array_set_new(p->parent, p->index, value);
}

static json_t *other_number(document *d, json_t *old) {
  static const json_int_t values[] = {0,  1,  -1,  2,       3,         4,         7,         8,         9,  10,       63,
                                      64, 65, 255, 1 << 20, INT32_MAX, 1ll << 32, INT64_MAX, INT64_MIN, -9, 1ll << 62};
  json_int_t v = json_integer_value(old);
  switch (below(d, 4)) {
    case 0:
      return json_integer(v < INT64_MAX ? v + 1 : v);
    case 1:
      return json_integer(v > INT64_MIN ? v - 1 : v);
    case 2:
      return json_real(json_number_value(old) * 1.5);
    default:
      return json_integer(values[below(d, sizeof values / sizeof *values)]);
  }
}

/* A string of the document, or a word. */
static json_t *other_text(document *d) {
  if (d->n_words && below(d, 3) == 0) return json_string(d->words[below(d, d->n_words)]);
  for (int tries = 0; tries < 16; tries++) {
    json_t *part = d->at[below(d, d->n)].part;
    if (json_is_string(part)) return json_copy(part);
  }
  return json_string("");
}

static json_t *literal(document *d) {
  static const char *const texts[] = {"null", "true", "false", "{}", "[]", "\"\"", "0", "-1", "1.5", "[[]]", "\"Infinity\""};
  return json_loads(texts[below(d, sizeof texts / sizeof *texts)], JSON_DECODE_ANY, NULL);
}

/* Keys are copied: setting a member may move the others. */
static void rename_key(document *d, const place *p) {
  char from[128], to[128];
  const char *other = d->at[below(d, d->n)].key;
  if (!p->key || !other || strcmp(p->key, other) == 0 || strlen(p->key) >= sizeof from || strlen(other) >= sizeof to) return;
  (void)snprintf(from, sizeof from, "%s", p->key);
  (void)snprintf(to, sizeof to, "%s", other);
  json_object_set_new(p->parent, to, json_incref(p->part));
  json_object_del(p->parent, from);
}

static void change(document *d, const place *p) {
  switch (below(d, 8)) {
    case 0:
      if (p->key)
        json_object_del(p->parent, p->key);
      else
        json_array_remove(p->parent, p->index);
      return;
    case 1:
      set(p, json_deep_copy(d->at[below(d, d->n)].part));
      return;
    case 2:
      set(p, literal(d));
      return;
    case 3:
      rename_key(d, p);
      return;
    case 4:
      if (json_is_array(p->parent)) json_array_insert_new(p->parent, below(d, json_array_size(p->parent) + 1), json_deep_copy(p->part));
      return;
    default:
      if (json_is_number(p->part))
        set(p, other_number(d, p->part));
      else if (json_is_string(p->part))
        set(p, other_text(d));
      else
        set(p, json_deep_copy(d->at[below(d, d->n)].part));
  }
}

/* `"key":` is written again somewhere behind: a key that comes twice, which no library would write. */
static size_t double_key(document *d, uint8_t *bytes, size_t n, size_t most) {
  static const char twice[] = "\"name\":null,";
  size_t count = sizeof twice - 1, from = below(d, n);
  const uint8_t *open = n ? memchr(bytes + from, '{', n - from) : NULL;
  if (!open || n + count > most) return n;
  size_t at = (size_t)(open - bytes) + 1;
  memmove(bytes + at + count, bytes + at, n - at);
  memcpy(bytes + at, twice, count);
  return n + count;
}

size_t fuzz_json_mutate(uint8_t *bytes, size_t n, size_t most, unsigned int seed, const char *const *words, size_t n_words) {
  static document d;
  d = (document){.random = seed, .words = words, .n_words = n_words};
  json_t *root = json_loadb((const char *)bytes, n, 0, NULL);
  if (!root || below(&d, 64) == 0) {
    json_decref(root);
    return LLVMFuzzerMutate(bytes, n, most);
  }
  for (size_t k = 1 + below(&d, 3); k > 0; k--) {
    d.n = 0;
    collect(&d, root, 0);
    if (d.n == 0) break;
    const place p = d.at[below(&d, d.n)];
    change(&d, &p);
  }
  char *text = json_dumps(root, JSON_COMPACT | JSON_ENCODE_ANY);
  size_t length = text ? strlen(text) : 0;
  if (length && length <= most) {
    memcpy(bytes, text, length);
    n = length;
  }
  free(text);
  json_decref(root);
  return below(&d, 32) == 0 ? double_key(&d, bytes, n, most) : n;
}
