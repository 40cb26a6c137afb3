/* SPDX-License-Identifier: Apache-2.0 */
/* What a build came to, gathered from its stages' records. */
#include "stages/stages.h"

static void copy(json_t *to, const char *key, const json_t *record) {
  json_t *v = json_object_get(record, key);
  if (v) json_object_set(to, key, v);
}

json_t *npuc_build_results(const build *b) {
  json_t *each = json_array();
  for (size_t i = 0; i < b->options.n_targets; i++) {
    const char *t = b->options.targets[i];
    json_t *own = json_pack("{s:s}", "target", t);
    json_t *gate = json_object_get(npuc_build_record(b, STAGE_QUANTIZE, t), "gate"), *verified = npuc_build_record(b, STAGE_VERIFY, t);
    if (json_object_get(gate, "metric")) json_object_set(own, "accuracy", json_object_get(gate, "metric"));
    copy(own, "sqnr_db", gate);
    copy(own, "cycles", verified);
    copy(own, "utilization", verified);
    if (npuc_build_record(b, STAGE_BUILD, t))
      json_object_set_new(own, "artifact", json_string(npuc_arena_printf(b->arena, "%s/model.npu", npuc_build_path(b, STAGE_BUILD, t))));
    json_array_append_new(each, own);
  }
  return each;
}
