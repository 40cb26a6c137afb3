/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic with numpy's broadcasting. Exporters compute Pad and Reshape arguments with it, so integer contents are carried. */
#include <stddef.h>

#include "ir/ops/support.h"

static const op_port binary_inputs[] = {{.name = "A", .doc = "any shape"}, {.name = "B", .doc = "broadcasts with A"}};
static const op_port binary_outputs[] = {{.name = "C", .doc = "the broadcast shape"}};
static const op_port variadic_inputs[] = {{.name = "data_0", .variadic = true, .doc = "any number of tensors that broadcast together"}};
static const op_port max_outputs[] = {{.name = "max", .doc = "the broadcast shape"}};
static const op_port min_outputs[] = {{.name = "min", .doc = "the broadcast shape"}};

static element unknown_element(void) { return (element){.is_number = false, .symbol = DIM_UNKNOWN}; }

/* What int64 arithmetic says, or unknown where it overflows or has no meaning. */
static element combine_numbers(op_id op, int64_t a, int64_t b) {
  int64_t result;
  switch (op) {
    case OP_ADD:
      return __builtin_add_overflow(a, b, &result) ? unknown_element() : element_of_number(result);
    case OP_SUB:
      return __builtin_sub_overflow(a, b, &result) ? unknown_element() : element_of_number(result);
    case OP_MUL:
      return __builtin_mul_overflow(a, b, &result) ? unknown_element() : element_of_number(result);
    case OP_DIV:
      return b == 0 || (a == INT64_MIN && b == -1) ? unknown_element() : element_of_number(a / b);
    case OP_MAX:
      return element_of_number(a > b ? a : b);
    case OP_MIN:
      return element_of_number(a < b ? a : b);
    default:
      return unknown_element();
  }
}

static bool is_number(const element *e, int64_t number) { return e->is_number && e->number == number; }

/* A symbol stays itself under + 0, - 0, * 1, / 1; x - x is 0 and max(x, x) is x. */
static element combine(op_id op, const element *a, const element *b) {
  if (a->is_number && b->is_number) return combine_numbers(op, a->number, b->number);
  bool same = !a->is_number && !b->is_number && a->symbol == b->symbol && dim_is_symbol(a->symbol);
  switch (op) {
    case OP_ADD:
      if (is_number(b, 0)) return *a;
      if (is_number(a, 0)) return *b;
      break;
    case OP_SUB:
      if (is_number(b, 0)) return *a;
      if (same) return element_of_number(0);
      break;
    case OP_MUL:
      if (is_number(b, 1)) return *a;
      if (is_number(a, 1)) return *b;
      break;
    case OP_DIV:
      if (is_number(b, 1)) return *a;
      break;
    case OP_MAX:
    case OP_MIN:
      if (same) return *a;
      break;
    default:
      break;
  }
  return unknown_element();
}

/* a becomes a op b with broadcasting of one element; false when the counts do not fit. */
static bool combine_elements(op_id op, elements *a, const elements *b) {
  int32_t count = a->count == 1 ? b->count : a->count;
  if (b->count != 1 && b->count != count) return false;
  elements result = {.rank = a->rank > b->rank ? a->rank : b->rank, .count = count};
  for (int32_t i = 0; i < count; i++) result.at[i] = combine(op, &a->at[a->count == 1 ? 0 : i], &b->at[b->count == 1 ? 0 : i]);
  *a = result;
  return true;
}

static npuc_status arithmetic_infer(infer_context *c) {
  NPUC_TRY(npuc_infer_broadcast(c));
  if (c->outputs[0].shape.rank > 1 || c->outputs[0].type != DTYPE_I64) return NPUC_OK;
  elements sum, next;
  if (!npuc_elements_read(npuc_fact_input(c, 0), &sum)) return NPUC_OK;
  for (int32_t i = 1; i < c->node->n_inputs; i++) {
    if (!npuc_elements_read(npuc_fact_input(c, i), &next) || !combine_elements(c->node->op->id, &sum, &next)) return NPUC_OK;
  }
  npuc_elements_write(c, 0, &sum);
  return NPUC_OK;
}

#define BINARY(op_symbol, op_enum, name, flags, since, text, rule) \
  const op_def npuc_op_##op_symbol = {                             \
      .id = op_enum,                                               \
      .domain = "",                                                \
      .type = name,                                                \
      .since_version = since,                                      \
      .oldest_version = 7,                                         \
      .traits = TRAIT_ELEMENTWISE | (flags),                       \
      .summary = text,                                             \
      .formula = rule,                                             \
      .source = "ONNX " name "-14; broadcasting as numpy",         \
      PORTS_IN(binary_inputs, 2),                                  \
      PORTS_OUT(binary_outputs, 1),                                \
      .infer = arithmetic_infer,                                   \
      .eval = npuc_eval_##op_symbol,                               \
  }

BINARY(add, OP_ADD, "Add", TRAIT_COMMUTATIVE, 14, "Sum.", "C = A + B");
BINARY(sub, OP_SUB, "Sub", 0, 14, "Difference.", "C = A - B");
BINARY(mul, OP_MUL, "Mul", TRAIT_COMMUTATIVE, 14, "Product.", "C = A * B");
BINARY(div, OP_DIV, "Div", 0, 14, "Quotient; integers truncate toward 0.", "C = A / B");

const op_def npuc_op_max = {
    .id = OP_MAX,
    .domain = "",
    .type = "Max",
    .since_version = 13,
    .oldest_version = 12,
    .traits = TRAIT_ELEMENTWISE | TRAIT_COMMUTATIVE,
    .summary = "Largest of any number of tensors, element by element.",
    .formula = "max = max(data_0, data_1, ...)",
    .source = "ONNX Max-13",
    PORTS_IN(variadic_inputs, 1),
    PORTS_OUT(max_outputs, 1),
    .infer = arithmetic_infer,
    .eval = npuc_eval_max,
};

const op_def npuc_op_min = {
    .id = OP_MIN,
    .domain = "",
    .type = "Min",
    .since_version = 13,
    .oldest_version = 12,
    .traits = TRAIT_ELEMENTWISE | TRAIT_COMMUTATIVE,
    .summary = "Smallest of any number of tensors, element by element.",
    .formula = "min = min(data_0, data_1, ...)",
    .source = "ONNX Min-13",
    PORTS_IN(variadic_inputs, 1),
    PORTS_OUT(min_outputs, 1),
    .infer = arithmetic_infer,
    .eval = npuc_eval_min,
};
