/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/support/onnx_mutate.h"

#include <stdlib.h>
#include <string.h>

#include "formats/protobuf.h"
#include "fuzz/support/target.h"
#include "import/onnx/schema.h"
#include "ir/op.h"
#include "support/random.h"

typedef enum message {
  LEAF,
  MODEL,
  GRAPH,
  NODE,
  ATTRIBUTE,
  TENSOR,
  INFO,
  TYPE,
  TENSOR_TYPE,
  SHAPE,
  DIM,
  ENTRY,
  OPSET,
  ANNOTATION,
  FUNCTION
} message;

static const struct {
  message in;
  uint32_t number;
  message holds;
} schema[] = {{MODEL, MODEL_GRAPH, GRAPH},
              {MODEL, MODEL_OPSET_IMPORT, OPSET},
              {MODEL, MODEL_METADATA, ENTRY},
              {MODEL, MODEL_FUNCTIONS, FUNCTION},
              {GRAPH, GRAPH_NODE, NODE},
              {GRAPH, GRAPH_INITIALIZER, TENSOR},
              {GRAPH, GRAPH_INPUT, INFO},
              {GRAPH, GRAPH_OUTPUT, INFO},
              {GRAPH, GRAPH_VALUE_INFO, INFO},
              {GRAPH, GRAPH_ANNOTATION, ANNOTATION},
              {NODE, NODE_ATTRIBUTE, ATTRIBUTE},
              {NODE, NODE_METADATA, ENTRY},
              {ATTRIBUTE, ATTRIBUTE_T, TENSOR},
              {ATTRIBUTE, ATTRIBUTE_G, GRAPH},
              {ATTRIBUTE, ATTRIBUTE_TENSORS, TENSOR},
              {TENSOR, TENSOR_EXTERNAL_DATA, ENTRY},
              {TENSOR, TENSOR_METADATA, ENTRY},
              {INFO, INFO_TYPE, TYPE},
              {INFO, INFO_METADATA, ENTRY},
              {TYPE, TYPE_TENSOR, TENSOR_TYPE},
              {TENSOR_TYPE, TENSOR_TYPE_SHAPE, SHAPE},
              {SHAPE, SHAPE_DIM, DIM},
              {ANNOTATION, ANNOTATION_PARAMETERS, ENTRY},
              {FUNCTION, FUNCTION_NODE, NODE},
              {FUNCTION, FUNCTION_OPSET_IMPORT, OPSET}};

/* A field in a tree. `first` is a list of the sub-message's fields. */
typedef struct field field;
struct field {
  uint32_t number;
  pb_wire wire;
  message in, holds;
  uint64_t value;
  const uint8_t *bytes;
  size_t n;
  field *first, *next;
};

enum { MOST_FIELDS = 8192, ROOM = 1 << 18 };

typedef struct tree {
  field fields[MOST_FIELDS];
  size_t n;
  uint8_t copy[ROOM]; /* of the input, and what is made new behind it */
  size_t used;
  uint64_t random;
} tree;

static size_t below(tree *t, size_t n) { return n ? (size_t)(random_next(&t->random) % n) : 0; }

static message held(message in, uint32_t number) {
  for (size_t i = 0; i < sizeof schema / sizeof *schema; i++)
    if (schema[i].in == in && schema[i].number == number) return schema[i].holds;
  return LEAF;
}

/* The fields of a message as a list; NULL with *good false when it is none, or too large. */
static field *take_apart(tree *t, pb_reader r, message in, int depth, bool *good) {
  field *first = NULL, **end = &first;
  pb_field f;
  while (*good && npuc_pb_next(&r, &f)) {
    if (t->n == MOST_FIELDS || depth > 16) *good = false;
    if (!*good) break;
    field *made = &t->fields[t->n++];
    *made = (field){.number = f.number, .wire = f.wire, .in = in, .holds = LEAF, .value = f.value, .bytes = f.span.bytes, .n = f.span.n};
    if (f.wire == PB_LENGTH) made->holds = held(in, f.number);
    if (made->holds != LEAF) {
      bool whole = true;
      made->first = take_apart(t, npuc_pb_open(f.span.bytes, f.span.n), made->holds, depth + 1, &whole);
      if (!whole) made->holds = LEAF;
    }
    *end = made;
    end = &made->next;
  }
  if (r.problem) *good = false;
  return first;
}

static size_t varint_bytes(uint64_t v) {
  size_t n = 1;
  while (v >>= 7) n++;
  return n;
}

static size_t measure(const field *f);

static size_t content(const field *f) {
  if (f->holds == LEAF) return f->n;
  size_t n = 0;
  for (const field *k = f->first; k; k = k->next) n += measure(k);
  return n;
}

static size_t measure(const field *f) {
  size_t tag = varint_bytes((uint64_t)f->number << 3);
  if (f->wire == PB_VARINT) return tag + varint_bytes(f->value);
  if (f->wire != PB_LENGTH) return tag + (f->wire == PB_FIXED64 ? 8 : 4);
  size_t n = content(f);
  return tag + varint_bytes(n) + n;
}

static uint8_t *put_varint(uint8_t *at, uint64_t v) {
  for (; v >= 0x80; v >>= 7) *at++ = (uint8_t)(v | 0x80);
  *at++ = (uint8_t)v;
  return at;
}

static uint8_t *put_together(uint8_t *at, const field *f) {
  at = put_varint(at, (uint64_t)f->number << 3 | f->wire);
  if (f->wire == PB_VARINT) return put_varint(at, f->value);
  if (f->wire != PB_LENGTH) {
    for (int i = 0; i < (f->wire == PB_FIXED64 ? 8 : 4); i++) *at++ = (uint8_t)(f->value >> (8 * i));
    return at;
  }
  at = put_varint(at, content(f));
  for (const field *k = f->first; f->holds != LEAF && k; k = k->next) at = put_together(at, k);
  if (f->holds == LEAF && f->n) memcpy(at, f->bytes, f->n), at += f->n;
  return at;
}

/* -- changes -- */
static uint64_t number(tree *t, uint64_t old) {
  static const uint64_t values[] = {0,  1,  2,  3,   4,   6,        7,         8,          9,         11,         13,        16,
                                    21, 28, 64, 127, 255, 1u << 16, INT32_MAX, 1ull << 40, INT64_MAX, UINT64_MAX, 1ull << 63};
  switch (below(t, 4)) {
    case 0:
      return old + 1;
    case 1:
      return old - 1;
    default:
      return values[below(t, sizeof values / sizeof *values)];
  }
}

/* A field like `f` elsewhere: the same wire, and the same kind of message inside; with `same`, the same number in the same kind of message. */
static const field *like(tree *t, const field *f, bool same) {
  const field *found = NULL;
  size_t seen = 0;
  for (size_t i = 0; i < t->n; i++) {
    const field *k = &t->fields[i];
    if (k == f || k->wire != f->wire || k->holds != f->holds || (same && (k->in != f->in || k->number != f->number))) continue;
    if (below(t, ++seen) == 0) found = k;
  }
  return found;
}

static void set_text(tree *t, field *f, const char *text) {
  size_t n = strlen(text);
  if (n > ROOM - t->used) return;
  f->bytes = memcpy(t->copy + t->used, text, n);
  f->n = n;
  t->used += n;
}

static void change_text(tree *t, field *f) {
  const op_def *op = npuc_op((op_id)below(t, OP_COUNT));
  const field *other;
  if (f->in == NODE && f->number == NODE_OP_TYPE) {
    set_text(t, f, op->type);
  } else if (f->in == ATTRIBUTE && f->number == ATTRIBUTE_NAME && op->n_attributes) {
    set_text(t, f, op->attributes[below(t, (size_t)op->n_attributes)].name);
  } else if (below(t, 4) && (other = like(t, f, below(t, 2))) != NULL) { /* names of values most of all */
    f->bytes = other->bytes;
    f->n = other->n;
  } else if (f->n + 64 <= ROOM - t->used) {
    uint8_t *own = t->copy + t->used;
    if (f->n) memcpy(own, f->bytes, f->n);
    f->n = LLVMFuzzerMutate(own, f->n, f->n + 64);
    f->bytes = own;
    t->used += f->n;
  }
}

static void change_content(tree *t, field *f) {
  const field *other = like(t, f, true);
  if (f->wire == PB_VARINT) {
    f->value = number(t, f->value);
  } else if (f->wire != PB_LENGTH) {
    static const uint32_t floats[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 1, 0x3f800000, 0x7f7fffff, 0x358637bd};
    f->value = floats[below(t, sizeof floats / sizeof *floats)];
  } else if (f->holds == LEAF) {
    change_text(t, f);
  } else if (other) { /* of another node, tensor, attribute; shared from now on */
    f->first = other->first;
  }
}

/* Is `f` in the list or below? A field may not come to hold itself. */
static bool reaches(const field *list, const field *f, int depth) {
  for (; list; list = list->next)
    if (list == f || depth > 20 || reaches(list->first, f, depth + 1)) return true;
  return false;
}

static field **find_link(field **list, const field *f, int depth) {
  for (field **link = list; *link; link = &(*link)->next) {
    if (*link == f) return link;
    field **below_it = depth < 20 ? find_link(&(*link)->first, f, depth + 1) : NULL;
    if (below_it) return below_it;
  }
  return NULL;
}

static void change(tree *t, field **list) {
  field *f = &t->fields[below(t, t->n)];
  field **link = find_link(list, f, 0);
  if (!link) return;
  switch (below(t, 8)) {
    case 0: /* gone */
      *link = f->next;
      return;
    case 1: /* twice */
      if (t->n == MOST_FIELDS) return;
      t->fields[t->n] = *f;
      f->next = &t->fields[t->n++];
      return;
    case 2: { /* exchanged with the next one */
      field *after = f->next;
      if (!after) return;
      f->next = after->next;
      after->next = f;
      *link = after;
      return;
    }
    case 3: { /* another one of its kind is put here too */
      const field *other = like(t, f, true);
      if (!other || t->n == MOST_FIELDS || reaches(other->first, f, 0)) return;
      field *made = &t->fields[t->n++];
      *made = *other;
      made->next = f->next;
      f->next = made;
      return;
    }
    case 4: /* another field of the message */
      if (f->holds == LEAF) f->number = (uint32_t)(1 + below(t, 26));
      return;
    default: {
      const field before = *f;
      change_content(t, f);
      if (f->first != before.first && reaches(f->first, f, 0)) *f = before;
    }
  }
}

size_t fuzz_onnx_mutate(uint8_t *bytes, size_t n, size_t most, unsigned int seed) {
  static tree t;
  t.n = 0;
  t.random = seed;
  t.used = n;
  if (n == 0 || n > ROOM || below(&t, 16) == 0) return LLVMFuzzerMutate(bytes, n, most);
  memcpy(t.copy, bytes, n);
  bool good = true;
  field *list = take_apart(&t, npuc_pb_open(t.copy, n), MODEL, 0, &good);
  if (!good || !list) return LLVMFuzzerMutate(bytes, n, most);
  for (size_t k = 1 + below(&t, 3); k > 0; k--) change(&t, &list);
  const field whole = {.holds = MODEL, .first = list};
  if (content(&whole) > most) return LLVMFuzzerMutate(bytes, n, most);
  uint8_t *at = bytes;
  for (const field *f = list; f; f = f->next) at = put_together(at, f);
  return (size_t)(at - bytes);
}
