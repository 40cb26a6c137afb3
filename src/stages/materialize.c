/* SPDX-License-Identifier: Apache-2.0 */
/* materialize: every stage model of a build is written again, its weights in OUT/weights, so that OUT needs its source no more and any ONNX tool opens each step. Constant
 * after constant is copied from the mapped source: memory holds none of them. Nothing is computed: the models are what they were, and records and keys, which hold hashes of
 * the files, are brought up to date, so that no stage runs again. */
#include <string.h>

#include "stages/stages.h"

static npuc_status must_hold(build *b, stage_id s, const char *target) {
  const char *key, *inputs;
  NPUC_TRY(npuc_stage_key(b, s, target, false, &key, &inputs));
  if (npuc_build_holds(b, s, target, key)) return NPUC_OK;
  npuc_status status = npuc_fail(b->diag, NPUC_DIAG_E0905, &(diag_place){.file = b->path},
                                 "stage %s was done with other options or files: its weights can no longer be trusted", npuc_stage_name(s));
  npuc_fix(b->diag, "npuc %s %s%s%s", npuc_stage_name(s), b->path, target ? " -t " : "", target ? target : "");
  return status;
}

static bool is_model(const char *file) {
  size_t n = strlen(file);
  return n > 5 && strcmp(file + n - 5, ".onnx") == 0;
}

static npuc_status write_again(build *b, const char *path) {
  module *m;
  npuc_diag_set_file(b->diag, path);
  NPUC_TRY(npuc_onnx_read(b->diag, path, &m));
  npuc_status status = npuc_build_write_model(b, m, path);
  npuc_module_destroy(m);
  return status;
}

static npuc_status materialize_stage(build *b, stage_id s, const char *target) {
  json_t *record = npuc_build_record(b, s, target), *list = json_object_get(record, "outputs"), *entry;
  const char **outputs = (const char **)npuc_arena_array(b->arena, json_array_size(list) + 1, sizeof(char *));
  const char *key, *inputs;
  size_t n = 0, i;
  json_array_foreach(list, i, entry) {
    const char *file = json_string_value(json_object_get(entry, "file"));
    if (file) outputs[n++] = npuc_arena_str(b->arena, file);
  }
  for (i = 0; i < n; i++)
    if (is_model(outputs[i])) NPUC_TRY(write_again(b, npuc_path_join(b->arena, b->path, outputs[i])));
  NPUC_TRY(npuc_stage_key(b, s, target, false, &key, &inputs)); /* of the stage before's new outputs */
  json_object_set_new(record, "key", json_string(key));
  json_object_set_new(record, "inputs", json_string(inputs));
  return npuc_build_done(b, s, target, json_incref(record), outputs, n);
}

static npuc_status each_stage(build *b, npuc_status (*act)(build *b, stage_id s, const char *target)) {
  for (int s = 0; s < STAGE_COUNT; s++) {
    bool per_target = npuc_stage_per_target((stage_id)s);
    for (size_t i = 0; i < (per_target ? b->options.n_targets : 1); i++) {
      const char *target = per_target ? b->options.targets[i] : NULL;
      if (npuc_build_record(b, (stage_id)s, target)) NPUC_TRY(act(b, (stage_id)s, target));
    }
  }
  return NPUC_OK;
}

npuc_status npuc_build_materialize(build *b) {
  b->reference_above = SIZE_MAX;
  NPUC_TRY(npuc_build_check_pool(b));
  NPUC_TRY(each_stage(b, must_hold));
  return each_stage(b, materialize_stage);
}
