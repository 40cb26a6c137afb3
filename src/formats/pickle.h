/* SPDX-License-Identifier: Apache-2.0 */
/* Python's pickle, read as data. A pickle is a program for a stack machine whose instructions can import and call anything; here
 * nothing is imported or called. What the program would call stays in the tree as a CALL of a GLOBAL with its arguments, and the
 * caller decides which names mean something to it. Protocols 0 to 5 (Python's Lib/pickletools.py describes each instruction). */
#ifndef NPUC_FORMATS_PICKLE_H
#define NPUC_FORMATS_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"

typedef enum pickle_kind {
  PICKLE_NONE,
  PICKLE_BOOL,
  PICKLE_INT,
  PICKLE_BIG_INT, /* more than 64 bits: little-endian two's complement in `text` */
  PICKLE_FLOAT,
  PICKLE_STRING,
  PICKLE_BYTES,
  PICKLE_TUPLE,
  PICKLE_LIST,
  PICKLE_SET,
  PICKLE_DICT,      /* items: key, value, key, value ... */
  PICKLE_GLOBAL,    /* text: "module.name" */
  PICKLE_CALL,      /* callable(args), then state, items (keys and values) and appended elements put on it */
  PICKLE_PERSISTENT /* args: the id */
} pickle_kind;

typedef struct pickle_value pickle_value;
struct pickle_value {
  pickle_kind kind;
  int64_t integer;  /* BOOL, INT */
  double number;    /* FLOAT */
  const char *text; /* ends with a zero byte that does not count */
  size_t n_text;
  pickle_value **items;
  size_t n_items, items_capacity;
  const pickle_value *callable, *args, *state; /* CALL; args: PERSISTENT too */
};

/* The first object of `bytes`; *out_used is where the bytes after it begin. The tree lives in `a` and may share parts and hold cycles:
 * bound your walks. `name` stands for the file in messages. */
npuc_status npuc_pickle_read(diag *d, arena *a, const char *name, const void *data, size_t bytes, const pickle_value **out_value,
                             size_t *out_used) NPUC_MUST_USE;

/* Item of a DICT (or of the items of a CALL, an OrderedDict say) under a string key, or NULL. */
const pickle_value *npuc_pickle_get(const pickle_value *v, const char *key);
static inline bool npuc_pickle_is(const pickle_value *v, pickle_kind kind) { return v && v->kind == kind; }
/* Whether it is the global called so. */
bool npuc_pickle_is_global(const pickle_value *v, const char *name);

#endif
