/* SPDX-License-Identifier: Apache-2.0 */
/* Stage 1: the source as our own model file. The gate reads the written file back and runs it: it must answer the baseline bit for bit, and the source framework's own outputs, where given, within
 * float rounding. */
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "stages/stages.h"

enum { REFERENCE_SQNR_DB = 60 };

static npuc_status compare_reference(stage_work *w, const graph *g, const baseline *base) {
  json_t *list = json_array();
  json_object_set_new(w->gate, "reference", list);
  for (size_t i = 0; i < g->n_outputs; i++) {
    const char *path = npuc_arena_printf(w->b->arena, "%s/%s.npy", w->b->options.reference, g->outputs[i]->name);
    tensor wanted = {0};
    comparison c;
    NPUC_TRY(npuc_npy_read(w->b->diag, path, &wanted));
    npuc_status status = npuc_compare(w->b->diag, &base->outputs[i], &wanted, &c);
    npuc_tensor_release(&wanted);
    NPUC_TRY(status);
    json_array_append_new(list, npuc_comparison_json(g->outputs[i]->name, &c));
    if (c.max_abs > 1e-4 * c.max_ref + 1e-6 || c.sqnr_db < REFERENCE_SQNR_DB)
      return npuc_fail(w->b->diag, NPUC_DIAG_E0919, &(diag_place){.file = path, .node = g->outputs[i]->name},
                       "max|d| %.3g with max|ref| %.3g, SQNR %.1f dB", c.max_abs, c.max_ref, c.sqnr_db);
  }
  return NPUC_OK;
}

static npuc_status gate(stage_work *w, const module *source) {
  module *written = NULL;
  NPUC_TRY(npuc_stage_model(w, STAGE_IMPORT, &written));
  npuc_status status = npuc_apply_dims(w->b, written);
  if (status == NPUC_OK) status = npuc_gate_parity(w, source->graphs[0], written->graphs[0], PARITY_EXACT);
  if (status == NPUC_OK && w->b->options.reference) {
    baseline base;
    status = npuc_baseline_load(w->b, written->graphs[0], &base);
    if (status == NPUC_OK) status = compare_reference(w, written->graphs[0], &base);
    if (status == NPUC_OK) npuc_baseline_release(&base);
  }
  npuc_module_destroy(written);
  return status;
}

npuc_status npuc_stage_import(stage_work *w) {
  module *m = NULL;
  npuc_diag_set_file(w->b->diag, w->b->options.model);
  NPUC_TRY(npuc_onnx_read(w->b->diag, w->b->options.model, &m));
  module *written = npuc_module_clone(m);
  npuc_status status = w->b->tamper ? w->b->tamper(w->b->tamper_user, w->stage, written, NULL) : NPUC_OK;
  if (status == NPUC_OK) status = npuc_stage_write(w, written);
  npuc_module_destroy(written);
  if (status == NPUC_OK) status = npuc_apply_dims(w->b, m);
  if (status == NPUC_OK) status = gate(w, m);
  if (status == NPUC_GATE_FAILED) {
    npuc_status removed = npuc_path_remove(w->b->diag, npuc_build_path(w->b, STAGE_IMPORT, NULL));
    if (removed == NPUC_OK) status = npuc_stage_gate_failed(w, m, status);
  }
  npuc_module_destroy(m);
  return status;
}
