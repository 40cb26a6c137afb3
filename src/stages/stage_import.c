/* SPDX-License-Identifier: Apache-2.0 */
/* Stage 1: the source as our own model file. The gate reads the written file back and runs it: it must answer the baseline bit for bit, and the source framework's own outputs, where given, within
 * float rounding. */
#include "stages/stages.h"

/* What a source above 256 MiB is spared: a copy, and a look through its weights. */
static void tell_references(stage_work *w, const module *m) {
  size_t n = 0, bytes = 0, at = 0;
  void *item;
  while (npuc_map_next(m->graphs[0]->values, &at, NULL, &item)) {
    const value *v = item;
    if (!v->constant || !v->n_uses || !npuc_build_stays_in_source(w->b, v->constant)) continue;
    n++;
    bytes += v->constant->bytes;
  }
  if (n == 0) return;
  json_object_set_new(w->extras, "referenced",
                      json_pack("{s:I, s:I, s:b}", "constants", (json_int_t)n, "bytes", (json_int_t)bytes, "looked_through", 0));
  npuc_note(w->b->diag, NPUC_DIAG_E0935, &(diag_place){.file = w->b->options.model},
            "%zu constants of %zu MiB are read from it in place, and were not looked through for NaN", n, bytes >> 20);
  npuc_fix(w->b->diag, "npuc materialize %s", w->b->path);
}

static npuc_status gate(stage_work *w, const module *source) {
  module *written = NULL;
  NPUC_TRY(npuc_stage_model(w, STAGE_IMPORT, &written));
  npuc_status status = npuc_apply_dims(w->b, written);
  if (status == NPUC_OK) status = npuc_gate_parity(w, source->graphs[0], written->graphs[0], PARITY_EXACT);
  if (status == NPUC_OK && w->b->options.reference) status = npuc_gate_reference(w, written->graphs[0]);
  npuc_module_destroy(written);
  return status;
}

npuc_status npuc_stage_import(stage_work *w) {
  module *m = NULL;
  json_t *report;
  NPUC_TRY(npuc_build_source(w->b, &m, &report));
  if (report) json_object_set_new(w->extras, "state_dict", report);
  module *written = npuc_module_clone(m);
  npuc_status status = w->b->tamper ? w->b->tamper(w->b->tamper_user, w->stage, written, NULL) : NPUC_OK;
  if (status == NPUC_OK) tell_references(w, written);
  if (status == NPUC_OK) status = npuc_stage_write(w, written);
  npuc_module_destroy(written);
  if (status == NPUC_OK) status = npuc_apply_dims(w->b, m);
  if (status == NPUC_OK) status = gate(w, m);
  if (status != NPUC_OK) {
    npuc_status removed = npuc_path_remove(w->b->diag, npuc_build_path(w->b, STAGE_IMPORT, NULL));
    if (removed == NPUC_OK) status = npuc_stage_gate_failed(w, m, status);
  }
  npuc_module_destroy(m);
  return status;
}
