/* SPDX-License-Identifier: Apache-2.0 */
/* A command line, one word a line of the input: parsed by the tables of all commands; where it is one, its options for a build and its -i NAME=FILE are taken too. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/build_options.h"
#include "cli/inputs.h"
#include "fuzz/support/files.h"
#include "fuzz/support/target.h"

static const command *const commands[] = {
#define COMMAND(symbol) &npuc_command_##symbol,
#include "cli/commands.def"
#undef COMMAND
};
enum { N_COMMANDS = sizeof commands / sizeof *commands, MOST_WORDS = 64 };

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return setenv("NPUC_SHARE", "/share", 1);
}

static int split(char *text, char **words) {
  int n = 0;
  words[n++] = text;
  for (char *at = text; *at && n < MOST_WORDS; at++) {
    if (*at != '\n') continue;
    *at = '\0';
    words[n++] = at + 1;
  }
  return n;
}

static void take_options(cli *c) {
  static const char manifest[] = "{\"schema\": \"npuc.manifest/1\", \"options\": {\"model\": \"m\"}, \"stages\": {}}";
  static const char *const names[] = {"a", "b.c"}, *const sources[] = {"x", "b/c"};
  const char *files[2] = {NULL, NULL};
  fuzz_files_put("out/manifest.json", manifest, sizeof manifest - 1);
  fuzz_files_put("/share/targets/refnpu-n16.json", "{}", 2);
  fuzz_expect_told(c->diag, npuc_cli_input_files(c, names, sources, 2, files));
  build *b;
  fuzz_expect(npuc_build_look(c->diag, c->arena, "out", &b) == NPUC_OK, "a right build");
  fuzz_expect_told(c->diag, npuc_cli_build_options(c, b, c->line.n_arguments ? c->line.arguments[0] : NULL));
  npuc_build_close(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  char *words[MOST_WORDS];
  cli c = {.arena = npuc_arena_create(), .diag = npuc_diag_create(NULL, NULL), .json = true};
  char *text = npuc_arena_strn(c.arena, (const char *)bytes, n);
  int count = split(text, words);
  npuc_status status = npuc_cli_parse(c.diag, c.arena, commands, N_COMMANDS, count, words, &c.line);
  fuzz_expect_told(c.diag, status);
  if (status == NPUC_OK && c.line.command) take_options(&c);
  npuc_diag_destroy(c.diag);
  npuc_arena_destroy(c.arena);
  fuzz_files_clear();
  return 0;
}
