/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/pytorch-operators.md from src/import/pt2/aten.def and tests/peers/aten_ops.tsv, the last run of the operator suite. An operator without a
 * line there is an error: it was added and never run. */
#include <stdio.h>
#include <string.h>

#include "import/pt2/pt2.h"

enum { LINE = 4096, COLUMNS = 5 };
#define RESULTS "tests/peers/aten_ops.tsv"

/* "aten.conv2d" and "_operator.add" stand under "aten" and "_operator". */
static size_t family(const char *name) { return strcspn(name, "."); }

/* The columns of the operator's line, cut in `line`. */
static bool find_row(FILE *f, const char *name, char *line, char **out_columns) {
  rewind(f);
  while (fgets(line, LINE, f)) {
    line[strcspn(line, "\n")] = '\0';
    char *at = line;
    for (size_t i = 0; i < COLUMNS; i++) {
      out_columns[i] = at;
      at += strcspn(at, "\t");
      if (*at) *at++ = '\0';
    }
    if (strcmp(line, name) == 0) return true;
  }
  return false;
}

/* '|' would end the cell. */
static void print_cell(const char *text) {
  printf(" ");
  for (const char *c = text; *c; c++) printf(*c == '|' ? "\\|" : "%c", *c);
  printf(" |");
}

static int print_operators(FILE *f, const char *wanted) {
  const char *name;
  char line[LINE], *columns[COLUMNS];
  size_t n = family(wanted);
  printf("\n## %.*s\n\n| operator | cases | types | ulp | refused |\n| --- | --- | --- | --- | --- |\n", (int)n, wanted);
  for (size_t i = 0; (name = npuc_pt2_operator(i)); i++) {
    if (family(name) != n || strncmp(name, wanted, n) != 0) continue;
    if (!find_row(f, name, line, columns)) {
      fprintf(stderr, "%s: no line in " RESULTS ": run tests/peers/aten_ops.py --results\n", name);
      return 1;
    }
    printf("| `%s` |", name + n + 1);
    for (size_t k = 1; k < COLUMNS; k++) print_cell(columns[k]);
    printf("\n");
  }
  return 0;
}

static void print_refused(void) {
  const char *name, *reason;
  printf(
      "\n## Core ATen that is not read\n\nWhat torch 2.13 marks as core and `run_decompositions()` leaves in a program.\n\n| operator | "
      "reason |\n| --- | --- |\n");
  for (size_t i = 0; (name = npuc_pt2_refused_operator(i, &reason)); i++) printf("| `%s` | %s |\n", name + 5, reason);
}

/* Each family once, in the order of its first operator. */
static int print_families(FILE *f) {
  const char *name, *before;
  int failed = 0;
  for (size_t i = 0; (name = npuc_pt2_operator(i)) && !failed; i++) {
    bool seen = false;
    for (size_t k = 0; k < i && !seen; k++) {
      before = npuc_pt2_operator(k);
      seen = family(before) == family(name) && strncmp(before, name, family(name)) == 0;
    }
    if (!seen) failed = print_operators(f, name);
  }
  return failed;
}

int main(void) {
  FILE *f = fopen(NPUC_SOURCE_DIR "/" RESULTS, "r");
  if (!f) return 1;
  printf(
      "# Operators of PyTorch\n\n"
      "Written by `make docs` from `src/import/pt2/aten.def` and `" RESULTS
      "`. These are read from `.pt2` archives, in every overload whose\n"
      "arguments the translation knows; an argument or a value of one that it does not know is an error (NPUC-E0335, E0336) that names "
      "it.\n"
      "In-place forms (`relu_`) come with their plain one. Any other operator is an error (NPUC-E0336) that names the Python line;\n"
      "`ep.run_decompositions()` before saving rewrites most of them.\n\n"
      "`tests/peers/aten_ops.py` exports small programs with torch, runs them with npuc, and compares with torch: floats to rtol 1e-4 and "
      "atol 1e-5,\n"
      "all else exactly. *Cases* counts the programs that have the operator, *types* those of its operands and results. *ulp* is the "
      "largest difference seen, in\n"
      "units of the last place of torch's value (a value below a thousandth of the tensor's largest counts as that), rounded up to 1, 2 or "
      "5 times a power of ten:\n"
      "of programs in which nothing else computes, or, with <=, of whole programs. *refused* holds the reasons that the suite's cases were "
      "given.\n");
  int failed = print_families(f);
  print_refused();
  return fclose(f) || failed;
}
