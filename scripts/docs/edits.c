/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/edits.md from src/passes/edits/edits.def and the patterns. */
#include <stdio.h>
#include <string.h>

#include "passes/edits/edits.h"

static const char *parity_name(parity p) {
  return p == PARITY_EXACT ? "exact" : p == PARITY_REASSOCIATING ? "reassociating" : "approximate";
}

static void print_head(void) {
  printf(
      "# Edits\n\n"
      "Written by `make docs` from `src/passes/edits/edits.def` and the patterns.\n\n"
      "An edit is a pass that somebody asks for: a target (`edits` in its JSON file), a list, or the command line. `npuc edit MODEL -o "
      "DIR` "
      "applies edits\n"
      "to a model and compares the results with the source's; `npuc compile` and `npuc adapt` apply them at the beginning of stage adapt, "
      "where the gate\n"
      "compares.\n\n"
      "    npuc edit model.onnx -o out --edit remove-is-nan --edit eliminate-expand:ops=Mul,Where --dump-after-edit\n"
      "    npuc edit model.onnx -o out --edits edits.yaml --skip-edit fold-scalar-mat-mul\n\n"
      "* The command line is stronger than a list, a list than the target. An edit that is given again keeps its place and takes the later "
      "arguments (a bare name takes none\n"
      "  away); a new one comes last; what is skipped is removed at the end. An unknown name or argument is an error with the nearest "
      "right "
      "one.\n"
      "* Arguments are `NAME:key=value,key=value`; a list is `a,b,c`. `NAME:[a, b]` gives them in the order of the tables below.\n"
      "* A list is YAML or JSON: names or `{name, args}`, args a list, an object or one value; or an object with `edits` (or "
      "`graph_edits`) and `excludes`. torq-tools' own lists load: its\n"
      "  names are found without regard to case, `-` and `_` (`RemoveIsNaN` is `remove-is-nan`). YAML is read by libyaml, which Debian has "
      "and which "
      "reads JSON too, so there\n"
      "  is one reader; documents are bounded (1 MiB, 65,536 values, 64 levels, no tags).\n"
      "* `--dump-after-edit` writes `intermediates/0001_EDIT_MODEL.onnx`, one for each edit.\n"
      "* An edit that changes inputs or outputs is refused in a build (E0511), whose stages are compared on the same inputs: `npuc edit` "
      "makes a model of its "
      "own.\n"
      "* Parity: `exact`, equal bit for bit; `reassociating`, floats differ by rounding (at most 1e-5 of the largest, 100 dB); "
      "`approximate`, as the "
      "edit says. Each pattern has cases\n"
      "  in `tests/passes/edit_*.txt` where it fires and where it must not, and every case is run before and after.\n\n");
}

static void print_parameters(const edit_info *e) {
  if (!e->n_parameters) return;
  printf("| parameter | default | |\n| --- | --- | --- |\n");
  for (size_t i = 0; i < e->n_parameters; i++) {
    const edit_parameter *p = &e->parameters[i];
    printf("| `%s` | %s%s%s | %s |\n", p->name, p->fallback ? "`" : "", p->fallback ? p->fallback : "must be given", p->fallback ? "`" : "",
           p->doc);
  }
  printf("\n");
}

static void print_patterns(const edit_info *e) {
  if (!e->patterns) return;
  printf("| pattern | algebra | parity |\n| --- | --- | --- |\n");
  for (size_t i = 0; i < e->patterns->count; i++) {
    const pattern *p = e->patterns->patterns[i];
    printf("| `%s` | `%s` | %s |\n", p->name, p->doc, parity_name(p->parity));
  }
  printf("\n");
}

int main(void) {
  size_t n;
  const edit_info *edits = npuc_edit_table(&n);
  const char *concern = "";
  print_head();
  for (size_t i = 0; i < n; i++) {
    const edit_info *e = &edits[i];
    if (strcmp(concern, e->concern) != 0) printf("## %s\n\n", concern = e->concern);
    printf("### %s\n\n%s. Parity: %s.%s\n\n", e->name, e->summary, parity_name(e->parity),
           e->changes_ports ? " Changes inputs or outputs." : "");
    print_parameters(e);
    print_patterns(e);
  }
  return 0;
}
