/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that npuc reads back: the manifest of a build (first byte even; looked at as `npuc status` does, models in it found, its recorded options taken up again)
 * and target files. */
#include <jansson.h>
#include <stdlib.h>

#include "cli/build_options.h"
#include "fuzz/support/files.h"
#include "fuzz/support/target.h"
#include "npu/arch.h"
#include "stages/open_model.h"
#include "stages/stages.h"
#include "stages/target.h"

static void read_manifest(diag *d, arena *a, const uint8_t *bytes, size_t n) {
  static const char *const models[] = {"out",          "out@import", "out@static", "out@adapt",
                                       "out@quantize", "out@build",  "out@7",      "out@adapt.refnpu-n16"};
  fuzz_files_put("out/manifest.json", bytes, n);
  fuzz_files_put("/share/targets/refnpu-n16.json", "{}", 2);
  fuzz_files_put("out/1-import.onnx", "x", 1);
  fuzz_files_put("out/6-build.refnpu-n16/model.npu", "x", 1);
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    opened_model m;
    fuzz_expect_told(d, npuc_model_find(d, a, models[i], &m));
  }
  build *b;
  npuc_status status = npuc_build_look(d, a, "out", &b);
  fuzz_expect_told(d, status);
  if (status != NPUC_OK) return;
  cli c = {.arena = a, .diag = d, .json = true, .result = json_object()};
  static const char *words[] = {"npuc", "status", "out"};
  static const command *const commands[] = {&npuc_command_status};
  fuzz_expect(npuc_cli_parse(d, a, commands, 1, 3, (char **)(uintptr_t)words, &c.line) == NPUC_OK, "a right command line");
  fuzz_expect_told(d, npuc_command_status.run(&c));
  fuzz_expect_told(d, npuc_cli_build_options(&c, b, NULL));
  json_decref(c.result);
  for (int s = 0; s < STAGE_COUNT; s++) {
    (void)npuc_build_holds(b, (stage_id)s, npuc_stage_per_target((stage_id)s) ? "refnpu-n16" : NULL, "k");
    (void)npuc_build_path(b, (stage_id)s, "refnpu-n16");
  }
  npuc_build_close(b);
}

static void read_target(diag *d, arena *a, const uint8_t *bytes, size_t n) {
  fuzz_files_put("/share/targets/t.json", bytes, n);
  npu_arch arch;
  fuzz_expect_told(d, npuc_npu_arch_load(d, a, "/share/targets/t.json", &arch));
  target_file t;
  npuc_status status = npuc_target_open(d, a, "t", &t);
  fuzz_expect_told(d, status);
  if (status == NPUC_OK) npuc_target_close(&t);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return setenv("NPUC_SHARE", "/share", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  arena *a = npuc_arena_create();
  diag *d = npuc_diag_create(NULL, NULL);
  fuzz_bytes b = {bytes, n};
  if (fuzz_take(&b) % 2 == 0)
    read_manifest(d, a, b.at, b.left);
  else
    read_target(d, a, b.at, b.left);
  npuc_diag_destroy(d);
  npuc_arena_destroy(a);
  fuzz_files_clear();
  return 0;
}
