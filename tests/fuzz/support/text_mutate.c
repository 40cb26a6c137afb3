/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/support/text_mutate.h"

#include <stdio.h>
#include <string.h>

#include "fuzz/support/target.h"
#include "ir/op.h"
#include "support/random.h"

enum { MOST_TOKENS = 4096, ROOM = 1 << 16 };

typedef struct token {
  const char *at;
  size_t n;
} token;

typedef struct words {
  token tokens[MOST_TOKENS];
  size_t n;
  uint64_t random;
  char copy[ROOM];
  char made[ROOM];
  size_t used; /* of made */
} words;

static size_t below(words *w, size_t n) { return n ? (size_t)(random_next(&w->random) % n) : 0; }

static int is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.'; }

/* Words, texts in quotes, and single other characters; blanks and comments go. */
static void split(words *w, const char *at, size_t n) {
  const char *end = at + n;
  w->n = 0;
  while (at < end && w->n < MOST_TOKENS) {
    const char *first = at++;
    if (*first == ' ' || *first == '\n' || *first == '\t') continue;
    if (is_word(*first) || *first == '-') {
      while (at < end && (is_word(*at) || ((at[-1] == 'e' || at[-1] == 'E') && (*at == '-' || *at == '+')))) at++;
    } else if (*first == '"') {
      while (at < end && *at++ != '"') continue;
    }
    w->tokens[w->n++] = (token){first, (size_t)(at - first)};
  }
}

static token make(words *w, const char *text) {
  size_t n = strlen(text);
  if (n > ROOM - w->used) return (token){"x", 1};
  char *at = memcpy(w->made + w->used, text, n);
  w->used += n;
  return (token){at, n};
}

static token number(words *w) {
  static const char *const numbers[] = {"0",
                                        "1",
                                        "-1",
                                        "2",
                                        "3",
                                        "7",
                                        "16",
                                        "28",
                                        "255",
                                        "-128",
                                        "0.5",
                                        "1e9",
                                        "inf",
                                        "nan",
                                        "-0",
                                        "1.5",
                                        "65536",
                                        "2147483648",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "1e39",
                                        "1e-46"};
  return make(w, numbers[below(w, sizeof numbers / sizeof *numbers)]);
}

static token any_word(words *w) {
  static const char *const language[] = {"<",         ">",      "(",        ")",          "{",
                                         "}",         "[",      "]",        "=",          "=>",
                                         ",",         ":",      "\"\"",     "float",      "int64",
                                         "int8",      "uint8",  "bool",     "float16",    "double",
                                         "int32",     "string", "N",        "ir_version", "opset_import",
                                         "npuc",      "x",      "y",        "{...}",      "npuc.QConv",
                                         "int4",      "uint16", "@a",       "ints",       "floats",
                                         "tensor",    "seq",    "optional", "?",          "float[]",
                                         "\"\\x00\"", "#"};
  const op_def *op = npuc_op((op_id)below(w, OP_COUNT));
  switch (below(w, 6)) {
    case 0:
      return make(w, language[below(w, sizeof language / sizeof *language)]);
    case 1:
      return make(w, op->type);
    case 2:
      return op->n_attributes ? make(w, op->attributes[below(w, (size_t)op->n_attributes)].name) : number(w);
    case 3:
      return number(w);
    default:
      return w->n ? w->tokens[below(w, w->n)] : number(w);
  }
}

static void change(words *w) {
  size_t at = below(w, w->n), count = 1 + below(w, 8);
  if (count > w->n - at) count = w->n - at;
  switch (w->n ? below(w, 6) : 1) {
    case 0: /* out */
      memmove(&w->tokens[at], &w->tokens[at + count], (w->n - at - count) * sizeof(token));
      w->n -= count;
      return;
    case 1: /* in */
      if (w->n == MOST_TOKENS) return;
      memmove(&w->tokens[at + 1], &w->tokens[at], (w->n - at) * sizeof(token));
      w->tokens[at] = any_word(w);
      w->n++;
      return;
    case 2: { /* exchanged */
      size_t other = below(w, w->n);
      token t = w->tokens[at];
      w->tokens[at] = w->tokens[other];
      w->tokens[other] = t;
      return;
    }
    case 3: /* a piece twice */
      if (w->n + count > MOST_TOKENS) return;
      memmove(&w->tokens[at + count], &w->tokens[at], (w->n - at) * sizeof(token));
      w->n += count;
      return;
    default:
      w->tokens[at] = any_word(w);
  }
}

static size_t join(const words *w, uint8_t *out, size_t most) {
  size_t n = 0;
  for (size_t i = 0; i < w->n; i++) {
    const token *t = &w->tokens[i];
    if (n + t->n + 1 > most) break;
    if (i && is_word(out[n - 1] ? (char)out[n - 1] : 0) && is_word(t->at[0])) out[n++] = ' ';
    memcpy(out + n, t->at, t->n);
    n += t->n;
  }
  return n;
}

/* -- a new model -- */
static void write_attribute(words *w, FILE *out, const attr_field *a) {
  static const char *const texts[] = {"\"SAME_UPPER\"", "\"VALID\"", "\"constant\"", "\"edge\"", "\"NOTSET\"", "\"\""};
  static const char *const lists[] = {"[1, 1]", "[3, 3]", "[0, 0, 1, 1]", "[2]", "[]", "[0, 2, 3, 1]", "[-1, 1]", "[1, 1, 1, 1]"};
  fprintf(out, "%s = ", a->name);
  switch (a->kind) {
    case ATTR_INT:
      fprintf(out, "%d", (int)below(w, 6) - 1);
      break;
    case ATTR_FLOAT:
      fprintf(out, "%g", (double)below(w, 9) / 4 - 1);
      break;
    case ATTR_STRING:
      fputs(texts[below(w, sizeof texts / sizeof *texts)], out);
      break;
    case ATTR_INTS:
      fputs(lists[below(w, sizeof lists / sizeof *lists)], out);
      break;
    case ATTR_FLOATS:
      fputs("[0.5, 1.5]", out);
      break;
    case ATTR_GRAPH:
      fputs("b () => (float t) { t = Constant <value = float {1}> () }", out);
      break;
    case ATTR_STRINGS:
      fputs("[\"Tanh\", \"Relu\"]", out);
      break;
    case ATTR_TYPE:
      fputs("optional(seq(float[]))", out);
      break;
    case ATTR_TENSOR:
      fputs(below(w, 2) ? "float[2] {1, 2}" : "int64[1] {3}", out);
      break;
  }
}

static void write_node(words *w, FILE *out, int index) {
  const op_def *op = npuc_op((op_id)below(w, OP_COUNT));
  int outputs = op->n_outputs > 1 ? 1 + (int)below(w, 2) : 1;
  for (int k = 0; k < outputs; k++) fprintf(out, "%sv%d%s", k ? ", " : "  ", index, k ? "b" : "");
  fprintf(out, " = %s%s%s", op->domain, op->domain[0] ? "." : "", op->type);
  bool any = false;
  for (int32_t i = 0; i < op->n_attributes; i++) {
    if (!op->attributes[i].required && below(w, 3)) continue;
    fputs(any ? ", " : " <", out);
    write_attribute(w, out, &op->attributes[i]);
    any = true;
  }
  fputs(any ? "> (" : " (", out);
  int n = op->min_inputs + (int)below(w, (size_t)(op->n_inputs - op->min_inputs + 1));
  for (int k = 0; k < n; k++) {
    static const char *const constants[] = {"w", "b", "i", "s"};
    fputs(k ? ", " : "", out);
    if (k && below(w, 3))
      fputs(constants[below(w, 4)], out);
    else if (index && below(w, 4))
      fprintf(out, "v%d", (int)below(w, (size_t)index));
    else
      fputs("x", out);
  }
  fputs(")\n", out);
}

static size_t write_model(words *w, uint8_t *to, size_t most) {
  static const char *const inputs[] = {"float[1,2,4,4] x", "float[N,2,4,4] x", "float[2,3] x", "uint8[1,2,4,4] x",
                                       "int64[2] x",       "float[] x",        "float[A,B] x"};
  static const char *const weights[] = {"float[2,2,3,3] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}",
                                        "float[2] w = {1, 2}", "float[3,2] w = {1,2,3,4,5,6}", "int8[2,2,1,1] w = {1,2,3,4}"};
  FILE *out = fmemopen(to, most, "w");
  if (!out) return 0;
  int n = 1 + (int)below(w, 5);
  fprintf(out,
          "M<ir_version: 10, opset_import: [\"\" : 28, \"npuc\" : 1]>\nmain (%s) => (v%d)\n<%s, float[2] b = {0.5, -1}, int64[2] i = {1, "
          "0}, float s = {2}>\n{\n",
          inputs[below(w, 7)], n - 1, weights[below(w, 4)]);
  for (int i = 0; i < n; i++) write_node(w, out, i);
  fputs("}\n", out);
  long size = ftell(out);
  fclose(out);
  return size > 0 && (size_t)size < most ? (size_t)size : 0;
}

size_t fuzz_text_mutate(uint8_t *bytes, size_t n, size_t most, unsigned int seed) {
  static words w;
  w.random = seed;
  w.used = 0;
  size_t way = below(&w, 16);
  if (way == 0 || n > ROOM || most < 1024) return LLVMFuzzerMutate(bytes, n, most);
  if (way <= 2 || n == 0) return write_model(&w, bytes, most);
  memcpy(w.copy, bytes, n);
  split(&w, w.copy + 1, n - 1); /* the first byte says what it is */
  for (size_t k = 1 + below(&w, 4); k > 0; k--) change(&w);
  return 1 + join(&w, bytes + 1, most - 1);
}
