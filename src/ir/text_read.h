/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the textual syntax: a cursor over the text (text_lex.c) and the pieces that models and functions share (text_syntax.c).
 * The first failure is reported with line and column and stays in `status`; everything after it does nothing, so that callers
 * check once per statement instead of once per token. */
#ifndef NPUC_IR_TEXT_READ_H
#define NPUC_IR_TEXT_READ_H

#include "ir/text.h"

typedef struct text_cursor {
  diag *d;
  arena *a; /* what is read lives here */
  const char *file;
  const char *start, *next, *end;
  const char *line_start; /* of the line that `next` is in */
  uint32_t line;
  npuc_status status;
} text_cursor;

typedef enum literal_kind { LITERAL_NONE, LITERAL_INT, LITERAL_FLOAT, LITERAL_STRING } literal_kind;
typedef struct literal {
  literal_kind kind;
  const char *text; /* NUL-terminated, in the arena; strings without quotes and escapes */
} literal;

/* -- text_lex.c -- */
text_cursor npuc_text_open(diag *d, arena *a, const char *file, const char *text, size_t n);
bool npuc_text_ok(const text_cursor *t);
void npuc_text_fail(text_cursor *t, diag_code code, const char *format, ...) NPUC_PRINTF(3, 4);
/* After blanks and comments: the next character, 0 at the end. */
char npuc_text_peek(text_cursor *t);
bool npuc_text_take(text_cursor *t, char c); /* takes it when it is next */
void npuc_text_expect(text_cursor *t, char c);
uint32_t npuc_text_column(const text_cursor *t);
const char *npuc_text_identifier(text_cursor *t); /* NULL when there is none */
/* Identifier or quoted string; NULL when there is neither. */
const char *npuc_text_name(text_cursor *t);
const char *npuc_text_string(text_cursor *t); /* quoted; "" after a failure */
literal npuc_text_literal(text_cursor *t);
int64_t npuc_text_int(text_cursor *t);
bool npuc_literal_int(const literal *l, int64_t *out_value);
bool npuc_literal_unsigned(const literal *l, uint64_t *out_value);
float npuc_literal_float(const literal *l);
double npuc_literal_double(const literal *l);

/* -- text_syntax.c -- */
/* A growing array in the arena. */
typedef struct text_list {
  void *items;
  size_t count, capacity;
} text_list;
void *npuc_text_append(text_cursor *t, text_list *list, size_t element_bytes);
bool npuc_text_dtype(const char *name, dtype *out_type);
/* Whether `word`, which was just read, begins a type. */
bool npuc_text_is_type(text_cursor *t, const char *word);
const char *npuc_text_dtype_name(dtype type);
/* Dims that are names become symbols of `m`; with m NULL they are a failure. */
void npuc_text_type(text_cursor *t, module *m, const char *type_name, dtype *out_type, shape *out_shape);
/* `{...}` of a tensor of this type and static shape. */
const tensor *npuc_text_tensor_data(text_cursor *t, dtype type, const shape *s);
text_attribute npuc_text_attribute(text_cursor *t, const char *name);
text_node npuc_text_node(text_cursor *t);
/* ["" : 21, "npuc" : 1] */
void npuc_text_opsets(text_cursor *t, text_list *out_opsets);
/* Behind the header, if any. */
void npuc_text_function(text_cursor *t, function_text *out_function);

#endif
