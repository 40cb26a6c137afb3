/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/operators.md from the op table. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/accuracy.h"
#include "ir/op.h"

static void print_ports(const char *title, const op_port *ports, int32_t count, int32_t least) {
  if (count == 0) return;
  printf("\n%s:\n\n", title);
  for (int32_t i = 0; i < count; i++) {
    const op_port *p = &ports[i];
    printf("- `%s`%s%s%s\n", p->name,
           p->optional || i >= least ? " (optional)"
           : p->variadic             ? " (one or more)"
                                     : "",
           p->doc ? ": " : "", p->doc ? p->doc : "");
  }
}

static void print_default(const attr_field *f) {
  if (f->required) {
    printf("required");
    return;
  }
  switch (f->kind) {
    case ATTR_INT:
      printf("default %" PRId64, f->default_int);
      break;
    case ATTR_FLOAT:
      printf("default %g", (double)f->default_float);
      break;
    case ATTR_STRING:
      printf(f->default_string ? "default `%s`" : "optional", f->default_string);
      break;
    case ATTR_INTS:
    case ATTR_FLOATS:
    case ATTR_TENSOR:
    case ATTR_GRAPH:
    case ATTR_STRINGS:
    case ATTR_TYPE:
      printf("optional");
      break;
  }
}

static void print_attributes(const op_def *op) {
  static const char *const kinds[] = {"int", "float", "string", "ints", "floats", "tensor", "strings", "graph", "type"};
  if (op->n_attributes == 0) return;
  printf("\nAttributes:\n\n");
  for (int32_t i = 0; i < op->n_attributes; i++) {
    const attr_field *f = &op->attributes[i];
    printf("- `%s`, %s, ", f->name, kinds[f->kind]);
    print_default(f);
    printf("%s%s\n", f->doc ? ": " : "", f->doc ? f->doc : "");
  }
}

static void print_traits(unsigned traits) {
  static const char *const names[] = {"commutative",    "elementwise",           "moves data",    "monotone",
                                      "integer module", "dims follow from data", "takes strings", "takes sequences and optionals"};
  const char *separator = "\nTraits: ";
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (!(traits & (1u << i))) continue;
    printf("%s%s", separator, names[i]);
    separator = ", ";
  }
  if (traits) printf(".\n");
}

/* docs/operator-grid.md says how it is tested. */
static void print_accuracy(const op_def *op) {
  static const char *const of[] = {
      [ULP_OF_ELEMENT] = "of the element",
      [ULP_OF_LARGEST] = "of the largest magnitude among the node's inputs and its output",
      [ULP_OF_FLOAT32] = "of the largest magnitude among the node's inputs and its output, in float32 at the finest"};
  op_accuracy a = npuc_op_accuracy(op);
  if (a.ulp > 0) printf("\nAccuracy of floats: %g ulp %s.\n", a.ulp, of[a.of]);
}

static void print_op(const op_def *op) {
  printf("\n### %s%s%s\n\n%s\n", op->domain, *op->domain ? "." : "", op->type, op->summary);
  if (op->formula) printf("\n```\n%s\n```\n", op->formula);
  print_ports("Inputs", op->inputs, op->n_inputs, op->min_inputs);
  print_ports("Outputs", op->outputs, op->n_outputs, op->min_outputs);
  print_attributes(op);
  print_traits(op->traits);
  print_accuracy(op);
  if (op->source) printf("\nSpecified in: %s", op->source);
  if (*op->domain) {
    printf("%s\n", op->source ? "." : "");
  } else {
    printf("%s opset %d; the same node since opset %d.\n", op->source ? ", version of" : "\nVersion of", op->since_version,
           op->oldest_version);
  }
  if (op->body) printf("\nBody that is written into files:\n\n```\n%s\n```\n", op->body);
}

static void print_domain(const char *title, const char *domain) {
  printf("\n## %s\n", title);
  for (int i = 0; i < (int)OP_COUNT; i++) {
    const op_def *op = npuc_op((op_id)i);
    if (op && strcmp(op->domain, domain) == 0) print_op(op);
  }
}

int main(void) {
  printf(
      "# Operators\n\nWritten by `make docs` from the op table (`src/ir/ops.def`, `src/ir/ops`); `npuc ops` lists them. "
      "Where no accuracy is stated, results are exact: moved, compared, or rounded once (docs/operator-grid.md).\n");
  print_domain("ONNX's default domain", "");
  print_domain("Domain `npuc`: the integer module", "npuc");
  return 0;
}
