/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern becomes a tree, the tree a program of single steps (Thompson), and a match keeps the set of all places in the program that the characters so far can lead
 * to. Counted repetitions are written out, as RE2 does, so programs have a largest size. */
#include "ir/eval/regex.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

enum { MOST_STEPS = 20000, MOST_WORK = 1 << 20, MOST_DEPTH = 200, MOST_REPEAT = 1000, NO_LIMIT = -1, LAST_CODE = 0x10ffff };

/* -- the tree -- */

typedef struct code_range {
  int32_t first, last;
} code_range;

typedef struct code_class {
  code_range *ranges;
  size_t n, capacity;
  bool negated;
} code_class;

typedef enum tree_kind { TREE_EMPTY, TREE_CLASS, TREE_PAIR, TREE_EITHER, TREE_REPEAT, TREE_ASSERT } tree_kind;
typedef enum assertion { AT_BEGIN, AT_END, AT_WORD_EDGE, AT_NO_WORD_EDGE } assertion;

typedef struct tree {
  tree_kind kind;
  struct tree *a, *b;
  code_class *class;
  int32_t least, most; /* of a repeat */
  assertion what;
} tree;

typedef struct parser {
  arena *a;
  const char *next, *problem;
  int depth;
  bool any_case;
} parser;

static tree *new_tree(parser *p, tree_kind kind, tree *a, tree *b) {
  tree *t = NPUC_NEW(p->a, tree);
  *t = (tree){.kind = kind, .a = a, .b = b};
  return t;
}

static tree *fail(parser *p, const char *problem) {
  if (!p->problem) p->problem = problem;
  return new_tree(p, TREE_EMPTY, NULL, NULL);
}

/* -- classes -- */

static void add_range(parser *p, code_class *c, int32_t first, int32_t last) {
  c->ranges = npuc_arena_grow(p->a, c->ranges, c->n, c->n + 1, sizeof *c->ranges, &c->capacity);
  c->ranges[c->n++] = (code_range){first, last};
}

/* What lies between the ranges, which are sorted and apart. */
static void add_others(parser *p, code_class *c, const code_range *ranges, size_t n) {
  int32_t at = 0;
  for (size_t i = 0; i < n; i++) {
    if (at < ranges[i].first) add_range(p, c, at, ranges[i].first - 1);
    at = ranges[i].last + 1;
  }
  add_range(p, c, at, LAST_CODE);
}

typedef struct named_class {
  const char *name;
  size_t n;
  code_range ranges[4];
} named_class;

static void add_named(parser *p, code_class *c, const named_class *named, bool others) {
  if (others) add_others(p, c, named->ranges, named->n);
  for (size_t i = 0; !others && i < named->n; i++) add_range(p, c, named->ranges[i].first, named->ranges[i].last);
}

/* \d \w \s and their opposites; false for other letters. */
static bool add_perl(parser *p, code_class *c, char letter) {
  static const named_class rows[] = {{"d", 1, {{'0', '9'}}},
                                     {"s", 3, {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}},
                                     {"w", 4, {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if ((letter | 0x20) != rows[i].name[0]) continue;
    add_named(p, c, &rows[i], letter != rows[i].name[0]);
    return true;
  }
  return false;
}

/* [:alpha:] and its like, behind the bracket. */
static bool add_posix(parser *p, code_class *c) {
  static const named_class rows[] = {{"alnum", 3, {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
                                     {"alpha", 2, {{'A', 'Z'}, {'a', 'z'}}},
                                     {"ascii", 1, {{0, 0x7f}}},
                                     {"blank", 2, {{'\t', '\t'}, {' ', ' '}}},
                                     {"cntrl", 2, {{0, 0x1f}, {0x7f, 0x7f}}},
                                     {"digit", 1, {{'0', '9'}}},
                                     {"graph", 1, {{'!', '~'}}},
                                     {"lower", 1, {{'a', 'z'}}},
                                     {"print", 1, {{' ', '~'}}},
                                     {"punct", 4, {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
                                     {"space", 2, {{'\t', '\r'}, {' ', ' '}}},
                                     {"upper", 1, {{'A', 'Z'}}},
                                     {"word", 4, {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
                                     {"xdigit", 3, {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};
  const char *name = p->next + 2;
  bool others = *name == '^';
  name += others;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t n = strlen(rows[i].name);
    if (strncmp(name, rows[i].name, n) != 0 || strncmp(name + n, ":]", 2) != 0) continue;
    add_named(p, c, &rows[i], others);
    p->next = name + n + 2;
    return true;
  }
  return false;
}

static int32_t take_code(parser *p) {
  int32_t code;
  p->next += npuc_utf8_next(p->next, &code);
  if (code == UTF8_BAD) fail(p, "the pattern is no UTF-8");
  return code;
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

/* \x7F or \x{10FFFF}, behind the x. */
static int32_t take_hex(parser *p) {
  bool braces = *p->next == '{';
  p->next += braces;
  int32_t code = 0, digits = 0;
  for (; hex_digit(*p->next) >= 0 && digits < (braces ? 6 : 2); digits++) code = code * 16 + hex_digit(*p->next++);
  if (digits == 0 || (!braces && digits != 2) || code > LAST_CODE || (braces && *p->next++ != '}')) fail(p, "a wrong \\x");
  return code;
}

/* The character that an escape stands for, behind the backslash. */
static int32_t take_escape(parser *p) {
  static const char letters[] = "afnrtv", codes[] = "\a\f\n\r\t\v";
  char c = *p->next;
  const char *at = c ? strchr(letters, c) : NULL;
  if (at) return p->next++, codes[at - letters];
  if (c == 'x') return p->next++, take_hex(p);
  bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  if (c == 0 || plain) {
    fail(p, "an escape that is not supported");
    return 0;
  }
  return take_code(p);
}

static int32_t class_code(parser *p) { return *p->next == '\\' ? (p->next++, take_escape(p)) : take_code(p); }

/* Behind the '['. */
static code_class *take_class(parser *p) {
  code_class *c = NPUC_NEW(p->a, code_class);
  c->negated = *p->next == '^';
  p->next += c->negated;
  bool first = true;
  for (; *p->next && (*p->next != ']' || first) && !p->problem; first = false) {
    if (strncmp(p->next, "[:", 2) == 0 && add_posix(p, c)) continue;
    if (*p->next == '\\' && add_perl(p, c, p->next[1])) {
      p->next += 2;
      continue;
    }
    int32_t from = class_code(p), to = from;
    if (*p->next == '-' && p->next[1] && p->next[1] != ']') {
      p->next++;
      to = class_code(p);
    }
    if (to < from) fail(p, "a range whose end is before its beginning");
    add_range(p, c, from, to);
  }
  if (*p->next != ']')
    fail(p, "a missing ]");
  else
    p->next++;
  return c;
}

static tree *class_tree(parser *p, code_class *c) {
  size_t n = c->n;
  for (size_t i = 0; p->any_case && i < n; i++) { /* of letters of ASCII */
    for (int32_t code = 'a'; code <= 'z'; code++) {
      const code_range r = c->ranges[i];
      if (code >= r.first && code <= r.last) add_range(p, c, code - 0x20, code - 0x20);
      if (code - 0x20 >= r.first && code - 0x20 <= r.last) add_range(p, c, code, code);
    }
  }
  tree *t = new_tree(p, TREE_CLASS, NULL, NULL);
  t->class = c;
  return t;
}

/* -- expressions -- */

static tree *take_either(parser *p);

static tree *assertion_tree(parser *p, assertion what) {
  tree *t = new_tree(p, TREE_ASSERT, NULL, NULL);
  t->what = what;
  return t;
}

/* Behind the '('. */
static tree *take_group(parser *p) {
  if (strncmp(p->next, "?:", 2) == 0) {
    p->next += 2;
  } else if (strncmp(p->next, "?P<", 3) == 0 || strncmp(p->next, "?<", 2) == 0) {
    while (*p->next && *p->next != '>') p->next++;
    if (*p->next) p->next++;
  } else if (*p->next == '?') {
    return fail(p, "flags other than (?i) at the beginning");
  }
  if (++p->depth > MOST_DEPTH) return fail(p, "groups that are nested too deep");
  tree *inner = take_either(p);
  p->depth--;
  if (*p->next != ')') return fail(p, "a missing )");
  p->next++;
  return inner;
}

static tree *take_backslash(parser *p) {
  code_class *c = NPUC_NEW(p->a, code_class);
  if (add_perl(p, c, *p->next)) {
    p->next++;
    return class_tree(p, c);
  }
  switch (*p->next) {
    case 'A':
      return p->next++, assertion_tree(p, AT_BEGIN);
    case 'z':
      return p->next++, assertion_tree(p, AT_END);
    case 'b':
      return p->next++, assertion_tree(p, AT_WORD_EDGE);
    case 'B':
      return p->next++, assertion_tree(p, AT_NO_WORD_EDGE);
    default:
      break;
  }
  int32_t code = take_escape(p);
  add_range(p, c, code, code);
  return class_tree(p, c);
}

static tree *take_atom(parser *p) {
  code_class *c = NPUC_NEW(p->a, code_class);
  switch (*p->next) {
    case '(':
      return p->next++, take_group(p);
    case '[':
      return p->next++, class_tree(p, take_class(p));
    case '\\':
      return p->next++, take_backslash(p);
    case '^':
      return p->next++, assertion_tree(p, AT_BEGIN);
    case '$':
      return p->next++, assertion_tree(p, AT_END);
    case '.':
      p->next++;
      c->negated = true;
      add_range(p, c, '\n', '\n');
      return class_tree(p, c);
    case '*':
    case '+':
    case '?':
      return fail(p, "a repetition of nothing");
    default:
      break;
  }
  int32_t code = take_code(p);
  add_range(p, c, code, code);
  return class_tree(p, c);
}

static bool take_number(parser *p, int32_t *out) {
  const char *from = p->next;
  for (*out = 0; *p->next >= '0' && *p->next <= '9' && *out <= MOST_REPEAT; p->next++) *out = *out * 10 + (*p->next - '0');
  return p->next > from;
}

/* {2}, {2,}, {2,5}; what is none of these is plain text. */
static bool take_braces(parser *p, int32_t *out_least, int32_t *out_most) {
  const char *from = p->next++;
  bool good = take_number(p, out_least);
  *out_most = *out_least;
  if (good && *p->next == ',') {
    p->next++;
    if (!take_number(p, out_most)) *out_most = NO_LIMIT;
  }
  good = good && *p->next == '}';
  if (!good) return p->next = from, false;
  p->next++;
  if (*out_least > MOST_REPEAT || *out_most > MOST_REPEAT || (*out_most != NO_LIMIT && *out_most < *out_least)) fail(p, "a wrong {count}");
  return true;
}

static tree *take_repeated(parser *p) {
  tree *t = take_atom(p);
  for (;;) {
    int32_t least = *p->next == '+', most = *p->next == '?' ? 1 : NO_LIMIT;
    if (*p->next == '{') {
      if (!take_braces(p, &least, &most)) return t;
    } else if (*p->next && strchr("*+?", *p->next)) {
      p->next++;
    } else {
      return t;
    }
    if (*p->next == '?') p->next++; /* as few as possible: the same texts match */
    if (++p->depth > MOST_DEPTH) return fail(p, "repetitions that are nested too deep");
    t = new_tree(p, TREE_REPEAT, t, NULL);
    t->least = least;
    t->most = most;
  }
}

static tree *take_row(parser *p) {
  tree *row = new_tree(p, TREE_EMPTY, NULL, NULL);
  int depth = p->depth;
  while (*p->next && *p->next != '|' && *p->next != ')' && !p->problem) {
    row = new_tree(p, TREE_PAIR, row, take_repeated(p));
    p->depth = depth;
  }
  return row;
}

static tree *take_either(parser *p) {
  tree *t = take_row(p);
  while (*p->next == '|' && !p->problem) {
    p->next++;
    t = new_tree(p, TREE_EITHER, t, take_row(p));
  }
  return t;
}

/* -- the program -- */

typedef enum step_kind { STEP_CLASS, STEP_FORK, STEP_ASSERT, STEP_MATCH } step_kind;

typedef struct step {
  step_kind kind;
  uint32_t a, b; /* where to go on; a fork goes both ways */
  const code_class *class;
  assertion what;
} step;

struct regex {
  step *steps;
  size_t n, capacity;
  uint32_t first;
  arena *a;
  size_t work; /* of writing repetitions out, which may be of nothing */
  bool too_long;
};

static uint32_t add_step(regex *r, step s) {
  if (r->n >= MOST_STEPS) {
    r->too_long = true;
    return 0;
  }
  r->steps = npuc_arena_grow(r->a, r->steps, r->n, r->n + 1, sizeof *r->steps, &r->capacity);
  r->steps[r->n] = s;
  return (uint32_t)r->n++;
}

/* The steps of `t`, behind which `next` comes; the first of them. */
static uint32_t emit(regex *r, const tree *t, uint32_t next);

static uint32_t emit_repeat(regex *r, const tree *t, uint32_t next) {
  if (t->most == NO_LIMIT) { /* a loop, and in front of it what must be there */
    uint32_t loop = add_step(r, (step){.kind = STEP_FORK, .b = next});
    uint32_t body = emit(r, t->a, loop);
    if (!r->too_long) r->steps[loop].a = body;
    next = loop;
  }
  for (int32_t i = t->least; i < t->most && !r->too_long; i++)
    next = add_step(r, (step){.kind = STEP_FORK, .a = emit(r, t->a, next), .b = next});
  for (int32_t i = 0; i < t->least && !r->too_long; i++) next = emit(r, t->a, next);
  return next;
}

static uint32_t emit(regex *r, const tree *t, uint32_t next) {
  r->too_long = r->too_long || ++r->work > MOST_WORK;
  if (r->too_long) return 0;
  switch (t->kind) {
    case TREE_EMPTY:
      return next;
    case TREE_CLASS:
      return add_step(r, (step){.kind = STEP_CLASS, .a = next, .class = t->class});
    case TREE_ASSERT:
      return add_step(r, (step){.kind = STEP_ASSERT, .a = next, .what = t->what});
    case TREE_PAIR: /* a row leans to the left: a loop, not depth */
      for (; t->kind == TREE_PAIR; t = t->a) next = emit(r, t->b, next);
      return emit(r, t, next);
    case TREE_EITHER: {
      uint32_t others = emit(r, t->b, next);
      for (t = t->a; t->kind == TREE_EITHER; t = t->a)
        others = add_step(r, (step){.kind = STEP_FORK, .a = emit(r, t->b, next), .b = others});
      return add_step(r, (step){.kind = STEP_FORK, .a = emit(r, t, next), .b = others});
    }
    case TREE_REPEAT:
      return emit_repeat(r, t, next);
  }
  return next;
}

const regex *npuc_regex_compile(arena *a, const char *pattern, const char **out_problem) {
  parser p = {.a = a, .next = pattern};
  if (strncmp(pattern, "(?i)", 4) == 0) {
    p.any_case = true;
    p.next += 4;
  }
  const tree *t = take_either(&p);
  if (!p.problem && *p.next) p.problem = "a ) without a (";
  regex *r = NPUC_NEW(a, regex);
  r->a = a;
  uint32_t match = add_step(r, (step){.kind = STEP_MATCH});
  if (!p.problem) r->first = emit(r, t, match);
  *out_problem = p.problem ? p.problem : r->too_long ? "a pattern that is too long when its repetitions are written out" : NULL;
  return *out_problem ? NULL : r;
}

/* -- matching -- */

/* Places in the program, each once. */
typedef struct place_set {
  uint32_t *places, *mark; /* mark[p]: the turn in which p was added */
  size_t n;
} place_set;

typedef struct matcher {
  const regex *r;
  place_set now, next;
  uint32_t *stack;
  uint32_t turn;
  bool begins, ends, word_before, word_behind;
} matcher;

size_t npuc_regex_scratch(const regex *r) { return (6 * r->n + 2) * sizeof(uint32_t); }

static bool is_word(int32_t c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

static bool holds(const matcher *m, assertion what) {
  switch (what) {
    case AT_BEGIN:
      return m->begins;
    case AT_END:
      return m->ends;
    case AT_WORD_EDGE:
      return m->word_before != m->word_behind;
    case AT_NO_WORD_EDGE:
      return m->word_before == m->word_behind;
  }
  return false;
}

/* The place and all that it leads to without a character. The stack holds each place twice at most: by the two ways of forks. */
static void add_place(matcher *m, place_set *set, uint32_t first) {
  size_t n = 0;
  m->stack[n++] = first;
  while (n) {
    uint32_t at = m->stack[--n];
    if (set->mark[at] == m->turn) continue;
    set->mark[at] = m->turn;
    const step *s = &m->r->steps[at];
    if (s->kind == STEP_FORK) {
      m->stack[n++] = s->b;
      m->stack[n++] = s->a;
    } else if (s->kind == STEP_ASSERT) {
      if (holds(m, s->what)) m->stack[n++] = s->a;
    } else {
      set->places[set->n++] = at;
    }
  }
}

static bool is_in(const code_class *c, int32_t code) {
  bool found = false;
  for (size_t i = 0; i < c->n && !found; i++) found = code >= c->ranges[i].first && code <= c->ranges[i].last;
  return found != c->negated;
}

/* What stands at `at` decides the assertions there. */
static int32_t look(matcher *m, const char *text, size_t n, size_t at, size_t *out_bytes) {
  int32_t code = UTF8_BAD;
  *out_bytes = at < n ? npuc_utf8_next(text + at, &code) : 0;
  if (at < n && *out_bytes == 0) *out_bytes = 1; /* a byte 0 in the text */
  m->begins = at == 0;
  m->ends = at == n;
  m->word_behind = at < n && is_word(code);
  return code;
}

bool npuc_regex_matches(const regex *r, const char *text, size_t n, void *scratch) {
  uint32_t *memory = memset(scratch, 0, npuc_regex_scratch(r));
  matcher m = {
      .r = r, .now = {memory, memory + r->n, 0}, .next = {memory + 2 * r->n, memory + 3 * r->n, 0}, .stack = memory + 4 * r->n, .turn = 1};
  size_t bytes, at = 0;
  int32_t code = look(&m, text, n, 0, &bytes);
  add_place(&m, &m.now, r->first);
  while (at < n && m.now.n) {
    const int32_t here = code;
    at += bytes;
    m.turn++;
    m.word_before = is_word(here);
    code = look(&m, text, n, at, &bytes);
    m.next.n = 0;
    for (size_t i = 0; i < m.now.n; i++) {
      const step *s = &r->steps[m.now.places[i]];
      if (s->kind == STEP_CLASS && is_in(s->class, here)) add_place(&m, &m.next, s->a);
    }
    place_set swapped = m.now;
    m.now = m.next;
    m.next = swapped;
  }
  for (size_t i = 0; at == n && i < m.now.n; i++) {
    if (r->steps[m.now.places[i]].kind == STEP_MATCH) return true;
  }
  return false;
}
