/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/foreign-operators.md from the table of operators of other domains. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "import/onnx/foreign.h"

static const char *name_of(const char *domain) {
  return strcmp(domain, "qonnx") == 0 ? "QONNX" : domain[0] ? domain : "default domain, ONNX Runtime's";
}

/* "!4 activation=Relu channels_last=0?" for readers. */
static void print_conditions(const char *when) {
  const char *c = when;
  if (!*c) printf("any");
  while (*c) {
    size_t n = strcspn(c, " ");
    if (c != when) printf(", ");
    if (c[0] == '!') {
      printf("without input %.*s", (int)n - 1, c + 1);
    } else if (memchr(c, ':', n)) {
      printf("input %.*s is %.*s", (int)strcspn(c, ":"), c, (int)(n - strcspn(c, ":") - 1), c + strcspn(c, ":") + 1);
    } else if (c[n - 1] == '!' || c[n - 1] == '*') {
      printf("%s `%.*s`", c[n - 1] == '!' ? "without" : "with", (int)n - 1, c);
    } else if (memchr(c, '=', n)) {
      bool optional = c[n - 1] == '?';
      printf("`%.*s`%s", (int)(n - optional), c, optional ? " or absent" : "");
    } else {
      printf("with input %.*s", (int)n, c);
    }
    c += n;
    c += strspn(c, " ");
  }
}

int main(void) {
  printf(
      "# Operators of other domains\n\n"
      "Written by `make docs` from `src/import/onnx/foreign_forms.c`. These operators become operators of the default domain as a model "
      "is\n"
      "read: a node is replaced by the nodes of its formula, named behind it, so that folding, quantization and targets treat them as what "
      "they\n"
      "are. A node in a form that is not in this table ends in NPUC-E0443, one of an unknown operator in NPUC-E0421; nothing is guessed.\n"
      "`tests/data/foreign` has a case for each, with ONNX Runtime's answer, or QONNX's or ONNX's formula's.\n\n"
      "QONNX's domains are `qonnx.custom_op.general`, `finn.custom_op.general` and `onnx.brevitas`; files that use them without importing\n"
      "them are read too. Inputs are counted from 0.\n\n"
      "| operator | domain | form |\n| --- | --- | --- |\n");
  for (size_t i = 0; i < npuc_foreign_count; i++) {
    const foreign_form *f = &npuc_foreign_forms[i];
    printf("| %s | %s | ", f->type, name_of(f->domain));
    print_conditions(f->when);
    printf(" |\n");
  }
  printf(
      "\nAlso left out, by name: training operators (`ai.onnx.preview.training`), other operators of classical machine learning "
      "(`ai.onnx.ml`).\n");
  return 0;
}
