/* SPDX-License-Identifier: Apache-2.0 */
/* The stack machine: a stack of values, a stack of marks, a memo. One function per family of instructions; every length is compared with the
 * bytes that are left before anything is taken, and memory stays within a constant of the stream's length. */
#include "formats/pickle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

typedef struct machine {
  arena *a;
  const uint8_t *at, *end;
  pickle_value **stack;
  size_t n_stack, stack_capacity;
  size_t *marks;
  size_t n_marks, marks_capacity;
  pickle_value **memo;
  size_t n_memo;
  const char *problem;
} machine;

/* -- reading -- */
static const uint8_t *take(machine *m, uint64_t n) {
  if (n > (uint64_t)(m->end - m->at)) {
    m->problem = "it is cut off";
    return NULL;
  }
  const uint8_t *p = m->at;
  m->at += n;
  return p;
}

static uint64_t take_number(machine *m, unsigned bytes) {
  const uint8_t *p = take(m, bytes);
  uint64_t v = 0;
  for (unsigned i = 0; p && i < bytes; i++) v |= (uint64_t)p[i] << (8 * i);
  return v;
}

/* A line without its end, as a string in the arena. */
static const char *take_line(machine *m, size_t *out_n) {
  const uint8_t *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
  if (!end) {
    m->problem = "it is cut off inside a line";
    return NULL;
  }
  *out_n = (size_t)(end - m->at);
  const char *text = npuc_arena_strn(m->a, (const char *)m->at, *out_n);
  m->at = end + 1;
  return text;
}

/* -- the stacks -- */
static pickle_value *new_value(machine *m, pickle_kind kind) {
  pickle_value *v = NPUC_NEW(m->a, pickle_value);
  v->kind = kind;
  return v;
}

static void push(machine *m, pickle_value *v) {
  m->stack = npuc_arena_grow(m->a, m->stack, m->n_stack, m->n_stack + 1, sizeof *m->stack, &m->stack_capacity);
  m->stack[m->n_stack++] = v;
}

static size_t floor_of(const machine *m) { return m->n_marks ? m->marks[m->n_marks - 1] : 0; }

static pickle_value *pop(machine *m) {
  if (m->n_stack > floor_of(m)) return m->stack[--m->n_stack];
  m->problem = "an instruction takes more from the stack than is there";
  return NULL;
}

static pickle_value *top(machine *m) {
  if (m->n_stack > floor_of(m)) return m->stack[m->n_stack - 1];
  m->problem = "an instruction takes more from the stack than is there";
  return NULL;
}

/* Where the values since the last mark begin; the mark is gone. */
static size_t pop_mark(machine *m) {
  if (m->n_marks) return m->marks[--m->n_marks];
  m->problem = "an instruction needs a mark and there is none";
  return m->n_stack;
}

static void push_mark(machine *m) {
  m->marks = npuc_arena_grow(m->a, m->marks, m->n_marks, m->n_marks + 1, sizeof *m->marks, &m->marks_capacity);
  m->marks[m->n_marks++] = m->n_stack;
}

static void add_items(machine *m, pickle_value *to, pickle_value *const *items, size_t n) {
  to->items = npuc_arena_grow(m->a, to->items, to->n_items, to->n_items + n, sizeof *to->items, &to->items_capacity);
  if (n) memcpy(to->items + to->n_items, items, n * sizeof *items);
  to->n_items += n;
}

/* The values from `from` up become the items of a new value, which replaces them. */
static void collect(machine *m, pickle_kind kind, size_t from) {
  pickle_value *v = new_value(m, kind);
  if (m->n_stack > from) add_items(m, v, m->stack + from, m->n_stack - from); /* there is no stack before the first push */
  m->n_stack = from;
  if (kind == PICKLE_DICT && v->n_items % 2) m->problem = "a dict has a key without a value";
  push(m, v);
}

static void collect_last(machine *m, size_t n) {
  if (m->n_stack - floor_of(m) < n) {
    m->problem = "an instruction takes more from the stack than is there";
    return;
  }
  collect(m, PICKLE_TUPLE, m->n_stack - n);
}

/* -- scalars -- */
static void push_int(machine *m, int64_t v) {
  pickle_value *p = new_value(m, PICKLE_INT);
  p->integer = v;
  push(m, p);
}

static void push_bool(machine *m, bool v) {
  pickle_value *p = new_value(m, PICKLE_BOOL);
  p->integer = v;
  push(m, p);
}

static void push_text(machine *m, pickle_kind kind, uint64_t n) {
  const uint8_t *p = take(m, n);
  if (!p) return;
  pickle_value *v = new_value(m, kind);
  v->text = npuc_arena_strn(m->a, (const char *)p, (size_t)n);
  v->n_text = (size_t)n;
  push(m, v);
}

/* LONG1, LONG4: little-endian two's complement of any length. */
static void push_long(machine *m, uint64_t n) {
  const uint8_t *p = take(m, n);
  if (!p) return;
  if (n > 8) {
    m->at = p;
    push_text(m, PICKLE_BIG_INT, n);
    return;
  }
  uint64_t v = 0;
  for (uint64_t i = 0; i < n; i++) v |= (uint64_t)p[i] << (8 * i);
  if (n && n < 8 && p[n - 1] & 0x80) v |= ~(uint64_t)0 << (8 * n);
  push_int(m, (int64_t)v);
}

static void push_double(machine *m) { /* big-endian */
  const uint8_t *p = take(m, 8);
  if (!p) return;
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++) bits = bits << 8 | p[i];
  pickle_value *v = new_value(m, PICKLE_FLOAT);
  memcpy(&v->number, &bits, sizeof bits);
  push(m, v);
}

/* Protocol 0: numbers and strings as lines. INT's "00" and "01" are booleans; LONG ends with an L; STRING is quoted. */
static void push_line(machine *m, uint8_t code) {
  size_t n;
  const char *text = take_line(m, &n);
  char *rest;
  if (!text) return;
  if (code == 'F') {
    pickle_value *v = new_value(m, PICKLE_FLOAT);
    v->number = strtod(text, &rest);
    if (rest == text || *rest) m->problem = "a number cannot be read";
    push(m, v);
  } else if (code == 'I' || code == 'L') {
    if (code == 'I' && n == 2 && text[0] == '0' && (text[1] == '0' || text[1] == '1')) {
      push_bool(m, text[1] == '1');
      return;
    }
    long long v = strtoll(text, &rest, 10);
    if (code == 'L' && *rest == 'L') rest++;
    if (rest == text || *rest) m->problem = "a number cannot be read";
    push_int(m, v);
  } else {
    bool quoted = code == 'S' && n >= 2 && (text[0] == '\'' || text[0] == '"') && text[n - 1] == text[0];
    if (code == 'S' && !quoted) m->problem = "a string is not quoted";
    if (memchr(text, '\\', n)) m->problem = "a string of protocol 0 holds an escape";
    pickle_value *v = new_value(m, PICKLE_STRING);
    v->text = quoted ? npuc_arena_strn(m->a, text + 1, n - 2) : text;
    v->n_text = quoted ? n - 2 : n;
    push(m, v);
  }
}

/* -- objects -- */
static pickle_value *global_of(machine *m, const char *module, const char *name) {
  pickle_value *v = new_value(m, PICKLE_GLOBAL);
  v->text = npuc_arena_printf(m->a, "%s.%s", module, name);
  v->n_text = strlen(v->text);
  return v;
}

static void push_global(machine *m) {
  size_t n;
  const char *module = take_line(m, &n), *name = module ? take_line(m, &n) : NULL;
  if (name) push(m, global_of(m, module, name));
}

static void push_stack_global(machine *m) {
  const pickle_value *name = pop(m), *module = name ? pop(m) : NULL;
  if (!module) return;
  if (name->kind != PICKLE_STRING || module->kind != PICKLE_STRING) {
    m->problem = "a global's name is no string";
    return;
  }
  push(m, global_of(m, module->text, name->text));
}

static void push_call(machine *m, const pickle_value *callable, const pickle_value *args) {
  pickle_value *v = new_value(m, PICKLE_CALL);
  v->callable = callable;
  v->args = args;
  push(m, v);
}

static void reduce(machine *m, bool with_keywords) {
  if (with_keywords) (void)pop(m); /* NEWOBJ_EX: keyword arguments; no class that is known takes any */
  const pickle_value *args = pop(m), *callable = args ? pop(m) : NULL;
  if (callable) push_call(m, callable, args);
}

/* INST: the class is named in the stream; OBJ: it is the first value after the mark. */
static void push_instance(machine *m, bool named) {
  pickle_value *callable = NULL;
  if (named) {
    size_t n;
    const char *module = take_line(m, &n), *name = module ? take_line(m, &n) : NULL;
    if (!name) return;
    callable = global_of(m, module, name);
  }
  size_t from = pop_mark(m);
  if (m->problem) return;
  if (!named) {
    if (from == m->n_stack) {
      m->problem = "an object has no class";
      return;
    }
    callable = m->stack[from];
    memmove(m->stack + from, m->stack + from + 1, (m->n_stack - from - 1) * sizeof *m->stack);
    m->n_stack--;
  }
  collect(m, PICKLE_TUPLE, from);
  push_call(m, callable, pop(m));
}

static void build(machine *m) {
  const pickle_value *state = pop(m);
  pickle_value *v = state ? top(m) : NULL;
  if (!v) return;
  if (v->kind == PICKLE_CALL)
    v->state = state;
  else if (v->kind != PICKLE_GLOBAL)
    m->problem = "a state is given to something that is no object";
}

/* APPEND(S) and ADDITEMS: elements; SETITEM(S): keys and values. */
static void put_on(machine *m, size_t from, bool pairs) {
  if (m->problem) return;
  if (from == 0 || from <= floor_of(m)) {
    m->problem = "elements are given to nothing";
    return;
  }
  pickle_value *to = m->stack[from - 1];
  size_t n = m->n_stack - from;
  bool fits = to->kind == PICKLE_CALL || (pairs ? to->kind == PICKLE_DICT : to->kind == PICKLE_LIST || to->kind == PICKLE_SET);
  if (!fits || (pairs && n % 2)) {
    m->problem = "elements are given to something that takes none";
    return;
  }
  add_items(m, to, m->stack + from, n);
  m->n_stack = from;
}

static void push_persistent(machine *m, bool line) {
  pickle_value *v = new_value(m, PICKLE_PERSISTENT);
  if (line) {
    size_t n;
    pickle_value *id = new_value(m, PICKLE_STRING);
    id->text = take_line(m, &n);
    id->n_text = id->text ? n : 0;
    v->args = id;
  } else {
    v->args = pop(m);
  }
  if (!m->problem) push(m, v);
}

/* -- memo -- */
static void memo_put(machine *m, uint64_t index, const uint8_t *begin) {
  pickle_value *v = top(m);
  if (!v) return;
  if (index > (uint64_t)(m->at - begin)) {
    m->problem = "a memo index is larger than the stream is long";
    return;
  }
  if (index >= m->n_memo) {
    size_t n = (size_t)index + 1 > 2 * m->n_memo ? (size_t)index + 1 : 2 * m->n_memo;
    pickle_value **memo = NPUC_NEW_ARRAY(m->a, n, pickle_value *);
    if (m->n_memo) memcpy(memo, m->memo, m->n_memo * sizeof *memo);
    m->memo = memo;
    m->n_memo = n;
  }
  m->memo[index] = v;
}

static void memo_get(machine *m, uint64_t index) {
  if (index < m->n_memo && m->memo[index])
    push(m, m->memo[index]);
  else
    m->problem = "the memo has no such entry";
}

static uint64_t line_index(machine *m) {
  size_t n;
  const char *text = take_line(m, &n);
  return text ? strtoull(text, NULL, 10) : 0;
}

/* -- the instructions -- */
typedef struct run {
  const uint8_t *begin;
  uint64_t memoized; /* MEMOIZE's next index */
} run;

static bool step_scalar(machine *m, uint8_t code) {
  switch (code) {
    case 'N':
      push(m, new_value(m, PICKLE_NONE));
      return true;
    case 0x88:
    case 0x89:
      push_bool(m, code == 0x88);
      return true;
    case 'J':
      push_int(m, (int32_t)(uint32_t)take_number(m, 4));
      return true;
    case 'K':
      push_int(m, (int64_t)take_number(m, 1));
      return true;
    case 'M':
      push_int(m, (int64_t)take_number(m, 2));
      return true;
    case 0x8a:
      push_long(m, take_number(m, 1));
      return true;
    case 0x8b:
      push_long(m, take_number(m, 4));
      return true;
    case 'G':
      push_double(m);
      return true;
    case 'F':
    case 'I':
    case 'L':
    case 'S':
    case 'V':
      push_line(m, code);
      return true;
    default:
      return false;
  }
}

static bool step_text(machine *m, uint8_t code) {
  static const struct {
    uint8_t code, width;
    pickle_kind kind;
  } texts[] = {{'T', 4, PICKLE_STRING},  {'U', 1, PICKLE_STRING},  {'X', 4, PICKLE_STRING},
               {0x8c, 1, PICKLE_STRING}, {0x8d, 8, PICKLE_STRING}, {'B', 4, PICKLE_BYTES},
               {'C', 1, PICKLE_BYTES},   {0x8e, 8, PICKLE_BYTES},  {0x96, 8, PICKLE_BYTES}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (texts[i].code != code) continue;
    push_text(m, texts[i].kind, take_number(m, texts[i].width));
    return true;
  }
  return false;
}

static bool step_container(machine *m, uint8_t code) {
  switch (code) {
    case '(':
      push_mark(m);
      return true;
    case ')':
      collect(m, PICKLE_TUPLE, m->n_stack);
      return true;
    case ']':
      collect(m, PICKLE_LIST, m->n_stack);
      return true;
    case '}':
      collect(m, PICKLE_DICT, m->n_stack);
      return true;
    case 0x8f:
      collect(m, PICKLE_SET, m->n_stack);
      return true;
    case 't':
      collect(m, PICKLE_TUPLE, pop_mark(m));
      return true;
    case 'l':
      collect(m, PICKLE_LIST, pop_mark(m));
      return true;
    case 'd':
      collect(m, PICKLE_DICT, pop_mark(m));
      return true;
    case 0x91:
      collect(m, PICKLE_SET, pop_mark(m));
      return true;
    case 0x85:
    case 0x86:
    case 0x87:
      collect_last(m, code - 0x84u);
      return true;
    case 'a':
      put_on(m, m->n_stack ? m->n_stack - 1 : 0, false);
      return true;
    case 's':
      put_on(m, m->n_stack > 1 ? m->n_stack - 2 : 0, true);
      return true;
    case 'e':
    case 0x90:
      put_on(m, pop_mark(m), false);
      return true;
    case 'u':
      put_on(m, pop_mark(m), true);
      return true;
    default:
      return false;
  }
}

static bool step_object(machine *m, uint8_t code) {
  switch (code) {
    case 'c':
      push_global(m);
      return true;
    case 0x93:
      push_stack_global(m);
      return true;
    case 'R':
    case 0x81:
    case 0x92:
      reduce(m, code == 0x92);
      return true;
    case 'i':
    case 'o':
      push_instance(m, code == 'i');
      return true;
    case 'b':
      build(m);
      return true;
    case 'P':
    case 'Q':
      push_persistent(m, code == 'P');
      return true;
    default:
      return false;
  }
}

static bool step_stack(machine *m, run *r, uint8_t code) {
  switch (code) {
    case 0x80: {
      uint64_t protocol = take_number(m, 1);
      if (protocol > 5) m->problem = "its protocol is newer than 5";
      return true;
    }
    case 0x95:
      (void)take_number(m, 8); /* a frame's length is a hint for buffered readers */
      return true;
    case '0':
      if (m->n_stack == floor_of(m) && m->n_marks)
        m->n_marks--;
      else
        (void)pop(m);
      return true;
    case '1':
      m->n_stack = pop_mark(m);
      return true;
    case '2': {
      pickle_value *v = top(m);
      if (v) push(m, v);
      return true;
    }
    case 'p':
      memo_put(m, line_index(m), r->begin);
      return true;
    case 'q':
      memo_put(m, take_number(m, 1), r->begin);
      return true;
    case 'r':
      memo_put(m, take_number(m, 4), r->begin);
      return true;
    case 0x94:
      memo_put(m, r->memoized++, r->begin);
      return true;
    case 'g':
      memo_get(m, line_index(m));
      return true;
    case 'h':
      memo_get(m, take_number(m, 1));
      return true;
    case 'j':
      memo_get(m, take_number(m, 4));
      return true;
    default:
      return false;
  }
}

npuc_status npuc_pickle_read(diag *d, arena *a, const char *name, const void *data, size_t bytes, const pickle_value **out_value,
                             size_t *out_used) {
  machine m = {.a = a, .at = data, .end = data ? (const uint8_t *)data + bytes : data};
  run r = {.begin = data};
  diag_place place = {.file = name};
  *out_value = NULL;
  while (!m.problem) {
    const uint8_t *code = take(&m, 1);
    if (!code) break;
    if (*code == '.') {
      pickle_value *v = m.n_stack == 1 && !m.n_marks ? m.stack[0] : NULL;
      if (!v) return npuc_fail(d, NPUC_DIAG_E0215, &place, "the pickle ends with %zu values on its stack, one wanted", m.n_stack);
      *out_value = v;
      *out_used = (size_t)(m.at - r.begin);
      return NPUC_OK;
    }
    if (!step_scalar(&m, *code) && !step_text(&m, *code) && !step_container(&m, *code) && !step_object(&m, *code) &&
        !step_stack(&m, &r, *code)) {
      return npuc_fail(d, NPUC_DIAG_E0215, &place, "byte %zu of the pickle, 0x%02x, is no instruction that can stand in a file",
                       (size_t)(code - r.begin), *code);
    }
  }
  return npuc_fail(d, NPUC_DIAG_E0215, &place, "the pickle is malformed before byte %zu: %s", (size_t)(m.at - r.begin), m.problem);
}

const pickle_value *npuc_pickle_get(const pickle_value *v, const char *key) {
  if (!v || (v->kind != PICKLE_DICT && v->kind != PICKLE_CALL)) return NULL;
  for (size_t i = 0; i + 1 < v->n_items; i += 2) {
    if (v->items[i]->kind == PICKLE_STRING && strcmp(v->items[i]->text, key) == 0) return v->items[i + 1];
  }
  return NULL;
}

bool npuc_pickle_is_global(const pickle_value *v, const char *name) {
  return npuc_pickle_is(v, PICKLE_GLOBAL) && strcmp(v->text, name) == 0;
}
