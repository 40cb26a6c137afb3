/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/passes.md from src/passes/passes.def, the pipelines and the patterns. */
#include <stdio.h>
#include <string.h>

#include "passes/edits/edits.h"

static const char *parity_name(parity p) {
  return p == PARITY_EXACT ? "exact" : p == PARITY_REASSOCIATING ? "reassociating" : "approximate";
}

static void print_head(void) {
  printf(
      "# Passes\n\n"
      "Written by `make docs` from `src/passes/passes.def`, `src/passes/pipelines.c` and the patterns.\n\n"
      "A pass is a function from graph to graph. The manager (`src/passes/manager.c`) runs a pipeline over every part of the module, "
      "verifies the graph\n"
      "after each pass, and records what fired, how often and where first. `--print-after PASS|all` shows the graph, `--stop-after PASS` "
      "ends early,\n"
      "`--pass-limit N` allows N rewrites and no more: bisect with it to the rewrite that does harm.\n\n"
      "Every rewrite has a parity, and the stage's gate is that of the weakest that fired: `exact`, equal bit for bit; `reassociating`, "
      "floats differ by\n"
      "rounding (at most 1e-5 of the largest, 100 dB). Each pattern has cases in `tests/passes/*.txt` where it fires and where it must "
      "not; every\n"
      "case is run by the executor before and after, too (`tests/unit/passes/golden_test.c`; `NPUC_BLESS=1` writes the expected texts "
      "anew).\n\n"
      "What replaces a node takes its name, so stages can be compared value by value. Names of the source that had to be changed are kept "
      "in\n"
      "the module's metadata (`src/passes/names.h`).\n\n");
}

static void print_pipeline(const char *name, const char *purpose) {
  size_t n;
  const pipeline_step *steps = npuc_pipeline(name, &n);
  printf("## Pipeline %s\n\n%s\n\n", name, purpose);
  for (size_t i = 0; i < n; i++) printf("%zu. `%s`: %s\n", i + 1, steps[i].pass, steps[i].reason);
  printf("\n");
}

/* Passes that stand in a pipeline; the others are edits, which docs/edits.md has. */
static bool stands_in_pipeline(const char *pass) {
  static const char *const names[] = {"normalize", "static", "adapt"};
  for (size_t i = 0; i < 3; i++) {
    size_t n;
    const pipeline_step *steps = npuc_pipeline(names[i], &n);
    for (size_t k = 0; k < n; k++) {
      if (strcmp(steps[k].pass, pass) == 0) return true;
    }
  }
  return false;
}

static void print_pass(const pass_info *pass) {
  printf("### %s\n\n%s.\n\nParity: %s.", pass->name, pass->summary, parity_name(pass->parity));
  if (pass->requires)
    printf(" Requires:%s%s.", pass->requires & GRAPH_SHAPES ? " shapes" : "", pass->requires & GRAPH_STATIC ? " static dims" : "");
  if (pass->breaks) printf(" Breaks: shapes.");
  printf("\n\n");
  size_t n;
  bool any = false;
  const pass_patterns *sets = npuc_pass_patterns(&n);
  for (size_t i = 0; i < n; i++) {
    if (strcmp(sets[i].pass, pass->name) != 0) continue;
    for (size_t k = 0; k < sets[i].set->count; k++) {
      const pattern *p = sets[i].set->patterns[k];
      if (!any) printf("| pattern | algebra | parity |\n| --- | --- | --- |\n");
      any = true;
      printf("| `%s` | `%s` | %s |\n", p->name, p->doc, parity_name(p->parity));
    }
  }
  if (any) printf("\n");
}

int main(void) {
  print_head();
  print_pipeline("normalize", "The source's graph, whatever exporter wrote it, in one form. Dims may still be symbols.");
  print_pipeline("static", "Every dim becomes a number: from `--dim`, from the batch rule, and by computing what follows.");
  print_pipeline("adapt", "The forms that the target's compiler knows, and a place for each node.");
  printf("## The passes\n\nPasses that are asked for by name are [edits](edits.md).\n\n");
  size_t n;
  const pass_info *passes = npuc_pass_table(&n);
  for (size_t i = 0; i < n; i++) {
    const edit_info *edit = npuc_edit_find(passes[i].name);
    if (!edit || stands_in_pipeline(passes[i].name)) print_pass(&passes[i]);
  }
  printf(
      "## Adding a rewrite\n\n"
      "Write the pattern in the file of its concern (`src/ir/rewrite.h` has the language): root and captures, a condition that only looks, "
      "a rewrite that\n"
      "builds and replaces. Give it a name, its algebra and its parity, put it into the file's list, and add a case that fires it and one "
      "that is\n"
      "near and must not. What needs more than a pattern is a pass of its own: a line in `passes.def` and a function "
      "`npuc_pass_SYMBOL`.\n");
  return 0;
}
