/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/pytorch-operators.md from src/import/pt2/aten.def. */
#include <stdio.h>
#include <string.h>

#include "import/pt2/pt2.h"

/* "aten.conv2d" and "_operator.add" stand under "aten" and "_operator". */
static size_t family(const char *name) { return strcspn(name, "."); }

int main(void) {
  printf(
      "# Operators of PyTorch\n\n"
      "Written by `make docs` from `src/import/pt2/aten.def`. These are read from `.pt2` archives, in every overload whose arguments the\n"
      "translation knows; an argument or a value of one that it does not know is an error (NPUC-E0335) that names it. In-place forms "
      "(`relu_`)\n"
      "come with their plain one. Any other operator is an error (NPUC-E0336) that names the Python line; `ep.run_decompositions()` before "
      "saving\n"
      "rewrites most of them.\n");
  const char *name, *before = "";
  for (size_t i = 0; (name = npuc_pt2_operator(i)); i++) {
    bool same = family(before) == family(name) && strncmp(before, name, family(name)) == 0;
    if (!same) printf("%s\n## %.*s\n\n", i ? "\n" : "", (int)family(name), name);
    printf("%s`%s`", same ? ", " : "", name + family(name) + 1);
    before = name;
  }
  printf("\n");
  return 0;
}
