/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/cli.md from the tables that the program parses its command line with. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const command *const commands[] = {
#define COMMAND(symbol) &npuc_command_##symbol,
#include "cli/commands.def"
#undef COMMAND
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* A bar would end a table's cell. */
static void print_cell(const char *text) {
  for (; *text; text++) {
    if (*text == '|') fputc('\\', stdout);
    fputc(*text, stdout);
  }
}

static void print_group(const option_group *g) {
  printf("\n| %s | |\n| --- | --- |\n", g->title);
  for (size_t i = 0; i < g->n_options; i++) {
    const option *o = &g->options[i];
    printf("| `%s%s", o->name, o->value ? " " : "");
    print_cell(o->value ? o->value : "");
    printf("`");
    if (o->letter) printf(", `-%c`", o->letter);
    printf(" | ");
    print_cell(o->help);
    printf("%s |\n", o->kind == OPTION_LIST ? " (may repeat)" : "");
  }
}

static void print_command(const command *c) {
  printf("\n## npuc %s\n\n%c%s.\n\n    npuc %s%s%s [OPTIONS]\n", c->name,
         c->purpose[0] >= 'a' && c->purpose[0] <= 'z' ? c->purpose[0] - 'a' + 'A' : c->purpose[0], c->purpose + 1, c->name,
         *c->arguments ? " " : "", c->arguments);
  for (size_t i = 0; c->groups && c->groups[i]; i++) print_group(c->groups[i]);
  if (!c->examples || !c->examples[0]) return;
  printf("\n");
  for (size_t i = 0; c->examples[i]; i++) printf("    %s\n", c->examples[i]);
}

static const char words[] =
    "\n## What the arguments mean\n\n"
    "**MODEL** is recognised by content: an `.onnx` file; a `.pt2` archive of `torch.export.save`; a folder made by an earlier build (its "
    "artifact if built, else its newest "
    "stage); `OUT@STAGE`, the model that a stage left "
    "(`out@quantize`); an `.npu` file.\n\n"
    "**DATA** is `[KIND:]PATH`. Without KIND it is recognised by content.\n\n"
    "| KIND | what |\n| --- | --- |\n"
    "| `npy` | one array, first axis the samples; labels, where needed, in `PATH` with `.labels.npy` instead of `.npy` |\n"
    "| `npz` | an array for each input by its name (`x` serves the only one); labels in `y` or `labels` |\n"
    "| `raw:DTYPE:DIMS` | bytes of samples of that dtype and dims: `raw:uint8:3x32x32:images.bin`; labels in `PATH.labels.npy` |\n"
    "| `dir` | a folder, a sample an entry in the order of names: `NAME.npy`, `NAME.npz`, or a sub-folder with `INPUT.npy` for each input "
    "(or `0.npy`, `1.npy` ... in the inputs' order); "
    "labels in `labels.npy` |\n"
    "| `cifar10` | a CIFAR-10 batch (3,073 bytes a record), labels included |\n"
    "| `mnist` | IDX, `...-images-idx3-ubyte[.gz]`; labels in `...-labels-idx1-ubyte[.gz]` beside it |\n"
    "| `random:N` | N samples by chance, from `--seed` |\n\n"
    "**SPEC** of `--preprocess` is `scale=S,mean=a:b:c,std=a:b:c` (numbers may be fractions, `1/255`) or a JSON file: x becomes ((x * "
    "scale) - mean) / std in float32, in that order. A build "
    "records it, and commands on the build apply it again.\n\n"
    "**STAGE** is one of baseline, import, normalize, static, adapt, quantize, build, verify.\n\n"
    "## Exit status\n\n"
    "0 good, 1 internal error, 2 usage, 3 unsupported, 4 a gate or tolerance failed, 5 environment (missing tool, disk, permission), 6 bad "
    "input file. Diagnostics go to stderr, each with a code that "
    "`npuc explain CODE` explains; results go to stdout.\n\n"
    "## With --json\n\n"
    "stdout is one JSON document: `schema` (`npuc/1`), `command`, the command's own members, `seconds`, `peak_rss_bytes`, `exit_status`. "
    "stderr is JSON lines: diagnostics, stages and progress.\n";

int main(void) {
  printf(
      "# Command line\n\nWritten by `make docs` from the option tables of `src/cli`; `npuc COMMAND --help` prints the same.\n\n| command | "
      "|\n| --- | --- |\n");
  for (size_t i = 0; i < N_COMMANDS; i++) printf("| [`%s`](#npuc-%s) | %s |\n", commands[i]->name, commands[i]->name, commands[i]->purpose);
  printf("\nOptions may stand anywhere; `--name value` and `--name=value` are the same; `--` ends options. Every command has these:\n");
  print_group(&npuc_cli_global_group);
  fputs(words, stdout);
  for (size_t i = 0; i < N_COMMANDS; i++) print_command(commands[i]);
  return 0;
}
