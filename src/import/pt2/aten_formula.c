/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one or two tensors that ONNX has no operator for, each written in aten.def as the formula that it is, in reverse Polish notation:
 *
 *   "a 0 Equal 1 a 3.14159 Mul Sin a 3.14159 Mul Div Where"      a == 0 ? 1 : sin(pi a) / (pi a)
 *
 * a is `self`, b is `other`, in their common type; any other word is a number of that type or an ONNX operator, which takes as many values from the
 * stack as it has inputs. `formula` promotes integers to float32, as torch does for functions of real numbers; `whole_formula` keeps integers. */
#include <stdlib.h>
#include <string.h>

#include "import/pt2/aten.h"

enum { MOST = 16, WORD = 32 };

typedef struct stack {
  value *at[MOST];
  size_t n;
} stack;

static npuc_status push(pt2_node *n, stack *s, value *v) {
  if (s->n == MOST) return npuc_pt2_fail(n, NPUC_DIAG_E0338, NULL, "the formula in aten.def is too deep");
  s->at[s->n++] = v;
  return NPUC_OK;
}

static npuc_status apply(pt2_node *n, stack *s, const char *op) {
  const op_def *def = npuc_op_find("", op);
  size_t count = !def ? 0 : def->inputs[def->n_inputs - 1].variadic ? 2 : (size_t)def->n_inputs;
  if (!count || count > s->n) return npuc_pt2_fail(n, NPUC_DIAG_E0338, NULL, "the formula in aten.def has '%s' in a wrong place", op);
  node *made;
  s->n -= count;
  if (strcmp(op, "IsNaN") == 0 && !pt2_is_float(s->at[s->n]->type)) return push(n, s, npuc_pt2_constant_int(n, DTYPE_BOOL, 0));
  NPUC_TRY(npuc_pt2_emit(n, op, s->at + s->n, count, 1, &made));
  NPUC_TRY(npuc_node_infer(n->s->d, made));
  return push(n, s, made->outputs[0]);
}

static npuc_status word(pt2_node *n, stack *s, const npuc_pt2_pair *p, const char *text) {
  char *end;
  double number = strtod(text, &end);
  if (!*end) return push(n, s, npuc_pt2_constant(n, p->type, number));
  if (strcmp(text, "a") == 0) return push(n, s, p->a);
  if (strcmp(text, "b") == 0) return push(n, s, p->b);
  return apply(n, s, text);
}

static npuc_status formula(pt2_node *n, bool to_float) {
  npuc_pt2_pair p = {0};
  stack s = {.n = 0};
  if (npuc_pt2_has(n, "other")) {
    NPUC_TRY(npuc_pt2_read_pair(n, "self", "other", to_float, &p));
  } else {
    NPUC_TRY(npuc_pt2_tensor(n, npuc_pt2_has(n, "self") ? "self" : "input", &p.a));
    p.type = to_float && !pt2_is_float(p.a->type) ? DTYPE_F32 : p.a->type;
    NPUC_TRY(npuc_pt2_cast(n, p.a, p.type, &p.a));
  }
  for (const char *at = n->onnx; *at;) {
    char text[WORD];
    size_t length = strcspn(at, " ");
    if (length >= sizeof text) return npuc_pt2_fail(n, NPUC_DIAG_E0338, NULL, "the formula in aten.def has a long word");
    memcpy(text, at, length);
    text[length] = '\0';
    NPUC_TRY(word(n, &s, &p, text));
    at += length + strspn(at + length, " ");
  }
  if (s.n != 1) return npuc_pt2_fail(n, NPUC_DIAG_E0338, NULL, "the formula in aten.def leaves %zu values", s.n);
  return npuc_pt2_result(n, s.at[0]);
}

npuc_status npuc_aten_formula(pt2_node *n) { return formula(n, true); }
npuc_status npuc_aten_whole_formula(pt2_node *n) { return formula(n, false); }

/* NaN, infinity and its negative become numbers: 0 and the type's ends where none are given. */
npuc_status npuc_aten_nan_to_num(pt2_node *n) {
  value *x, *nan, *high, *low, *test;
  NPUC_TRY(npuc_pt2_tensor(n, "self", &x));
  double most = x->type == DTYPE_F16 ? 65504.0 : x->type == DTYPE_F64 ? 1.7976931348623157e308 : 3.4028234663852886e38, replaced[3];
  if (x->type == DTYPE_BF16) most = 3.3895313892515355e38;
  NPUC_TRY(npuc_pt2_float_arg(n, "nan", 0.0, &replaced[0]));
  NPUC_TRY(npuc_pt2_float_arg(n, "posinf", most, &replaced[1]));
  NPUC_TRY(npuc_pt2_float_arg(n, "neginf", -most, &replaced[2]));
  if (!pt2_is_float(x->type)) return npuc_pt2_result(n, x);
  nan = npuc_pt2_constant(n, x->type, replaced[0]);
  high = npuc_pt2_constant(n, x->type, replaced[1]);
  low = npuc_pt2_constant(n, x->type, replaced[2]);
  NPUC_TRY(npuc_pt2_unary(n, "IsNaN", x, &test));
  NPUC_TRY(npuc_pt2_ternary(n, "Where", test, nan, x, &x));
  NPUC_TRY(npuc_pt2_binary(n, "Greater", x, npuc_pt2_constant(n, x->type, most), &test));
  NPUC_TRY(npuc_pt2_ternary(n, "Where", test, high, x, &high));
  NPUC_TRY(npuc_pt2_binary(n, "Less", x, npuc_pt2_constant(n, x->type, -most), &test));
  NPUC_TRY(npuc_pt2_ternary(n, "Where", test, low, high, &x));
  return npuc_pt2_result(n, x);
}
