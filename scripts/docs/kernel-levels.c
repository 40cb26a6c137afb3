/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/kernel-levels.md from src/kernels/kernels.def: which kernel a level has of its own, and what showed that it is right. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"

typedef struct line {
  const char *slot, *type;
  unsigned levels; /* that have a kernel of their own */
} line;

enum { MOST_SLOTS = 64 };
typedef struct table {
  line lines[MOST_SLOTS];
  size_t n;
} table;

static void add_slot(table *t, const char *slot, const char *type) {
  if (t->n == MOST_SLOTS) return; /* the page's test would show the missing line */
  t->lines[t->n++] = (line){slot, type, 1u << CPU_SCALAR};
}

static void add_fast(table *t, const char *slot, cpu_level level) {
  for (size_t i = 0; i < t->n; i++) {
    if (strcmp(t->lines[i].slot, slot) == 0) t->lines[i].levels |= 1u << level;
  }
}

static void fill(table *t) {
#define NPUC_KERNELS_OF_ALL /* of every architecture: names alone */
#define KERNEL_SLOT(slot, type, function) add_slot(t, #slot, #type);
#define KERNEL_FAST(slot, type, level, function) add_fast(t, #slot, CPU_##level);
#include "kernels/kernels.def"
#undef KERNEL_SLOT
#undef KERNEL_FAST
}

static const cpu_level shown[] = {CPU_SCALAR, CPU_AVX2, CPU_AVX512, CPU_AMX, CPU_NEON, CPU_DOTPROD};
enum { SHOWN = sizeof shown / sizeof shown[0] };

static const char *const evidence[CPU_LEVELS] = {
    [CPU_SCALAR] = "executed: `make test` compares it with the readable loops",
    [CPU_AVX2] = "executed: `make test` on a processor that has it",
    [CPU_AVX512] = "executed by `make test` where the processor has it; elsewhere compiled only",
    [CPU_AMX] = ("executed by `make test` where the processor has it; else the kernel's source runs on a model of the tile instructions "
                 "(`tests/unit/kernels/quads_test.c`), and the instructions themselves are compiled only"),
    [CPU_NEON] = "emulated: `tests/extra/arm.sh` runs the tests and the demo network under qemu-user, as a Cortex-A53",
    [CPU_DOTPROD] = "emulated: the same as a Neoverse N1",
};

int main(void) {
  table t = {.n = 0};
  fill(&t);
  printf(
      "# Kernels by level\n\n"
      "Written by `make docs` from `src/kernels/kernels.def`. A cross is a kernel of the level's own; where there is none, the level "
      "before it "
      "serves (of the same\narchitecture). What they compute and how they are organized: [kernels.md](kernels.md).\n\n"
      "| kernel | type |");
  for (size_t l = 0; l < SHOWN; l++) printf(" %s |", npuc_cpu_name(shown[l]));
  printf("\n| --- | --- |");
  for (size_t l = 0; l < SHOWN; l++) printf(" --- |");
  printf("\n");
  for (size_t i = 0; i < t.n; i++) {
    printf("| `%s` | `%s` |", t.lines[i].slot, t.lines[i].type);
    for (size_t l = 0; l < SHOWN; l++) printf(" %s |", t.lines[i].levels & 1u << shown[l] ? "x" : "");
    printf("\n");
  }
  printf(
      "\n## What was shown\n\nEvery kernel is compared with the scalar one, and convolutions with the readable loops of `src/kernels/ref`, "
      "bit for bit.\n\n"
      "| level | evidence |\n| --- | --- |\n");
  for (size_t l = 0; l < SHOWN; l++) printf("| %s | %s |\n", npuc_cpu_name(shown[l]), evidence[shown[l]]);
  return 0;
}
