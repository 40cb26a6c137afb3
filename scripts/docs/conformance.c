/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/conformance.md from the lists of recorded ONNX cases that do not pass. */
#include <stdio.h>
#include <string.h>

#include "base/diag.h"

enum { LINE = 2048 };

static FILE *open_list(const char *name) {
  char path[LINE];
  (void)snprintf(path, sizeof path, "%s/tests/conformance/%s.txt", NPUC_SOURCE_DIR, name);
  return fopen(path, "r");
}

/* '|' would end the cell. */
static void print_cell(const char *text) {
  for (const char *c = text; *c; c++) printf(*c == '|' ? "\\|" : "%c", *c);
}

/* Why a recorded value is another than npuc's: what the number alone does not say. The first row whose two parts are in the case's name. */
static const char *note_of(const char *name) {
  static const struct {
    const char *part, *other, *note;
  } rows[] = {
      {"attention", "bf16",
       "recorded by numpy, which rounds to bfloat16 after each step and each partial sum of the softmax (done so, the recorded bits come "
       "out); npuc computes in "
       "double and rounds once"},
      {"attention", "fp16_expanded",
       "the same for float16: each node of the expanded graph rounds, and the recorded softmax rounds inside too"},
      {"dft_inverse", "", "recorded is the float32 noise of numpy's FFT where the result is 0, larger than the case's absolute tolerance"},
      {"cast_FLOAT_to_BFLOAT16", "", "onnx 1.12 recorded it with the lower bits cut off; the specification rounds to nearest even"},
      {"castlike", "BFLOAT16", "the recorded input has another rank than the model declares"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strstr(name, rows[i].part) && strstr(name, rows[i].other)) return rows[i].note;
  }
  return NULL;
}

static int print_list(const char *title, const char *name) {
  char line[LINE];
  FILE *f = open_list(name);
  if (!f) return 1;
  printf("\n## %s\n", title);
  bool head = true;
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    char *space = strchr(line, ' ');
    if (!space) continue;
    if (line[0] == '#') {
      printf("\n%s.\n", space + 1);
      continue;
    }
    if (head) printf("\n| case that does not pass | reason |\n| --- | --- |\n");
    head = false;
    *space = '\0';
    printf("| `%s` | ", line);
    print_cell(space + 1);
    if (note_of(line)) printf(": %s", note_of(line));
    printf(" |\n");
  }
  return fclose(f);
}

int main(void) {
  printf(
      "# Recorded ONNX cases\n\nWritten by `scripts/update-conformance` from `tests/conformance/*.txt`. `npuc-conformance` imports each "
      "case's model, runs it "
      "on the recorded inputs, and compares with the recorded outputs under the case's own tolerance (integers, booleans and strings "
      "exactly); then it writes the "
      "model, reads it again and wants the same bytes, and the same by way of its text. The tests fail when a case that is not named here "
      "fails, and when one that is named "
      "passes.\n");
  return print_list("Debian's libonnx-testdata 1.12 (`make test`)", "debian") |
         print_list("Node cases of PyPI onnx 1.23 (`make test-all`)", "onnx");
}
