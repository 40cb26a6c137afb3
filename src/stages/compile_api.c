/* SPDX-License-Identifier: Apache-2.0 */
/* npuc_compile: the public call on top of the pipeline. */
#include "npuc/compiler.h"

#include <string.h>

#include "formats/json.h"
#include "stages/stages.h"

void npuc_compile_options_init(npuc_compile_options *out_options) {
  memset(out_options, 0, sizeof *out_options);
  out_options->struct_bytes = sizeof *out_options;
  out_options->max_drop = 0.5;
}

const char *npuc_explain(const char *code) {
  diag_code found;
  return code && npuc_diag_find(code, &found) ? npuc_diag_info(found)->explanation : NULL;
}

static void on_stage(void *user, stage_id s, const char *target, const char *status, double seconds, const json_t *gate) {
  (void)gate;
  const npuc_compile_options *o = user;
  if (o->on_stage) o->on_stage(o->user, npuc_stage_name(s), target, status, seconds);
}

static void deliver(const npuc_compile_options *o, const diag *d) {
  for (size_t i = 0; o->on_diagnostic && i < npuc_diag_count(d); i++) {
    const diag_record *r = npuc_diag_at(d, i);
    npuc_diagnostic out = {.severity = (npuc_severity)r->severity,
                           .code = npuc_diag_info(r->code)->text_code,
                           .file = r->place.file,
                           .part = r->place.part,
                           .node = r->place.node,
                           .op = r->place.op,
                           .attribute = r->place.attribute,
                           .reason = r->reason,
                           .fixes = r->fixes,
                           .n_fixes = r->n_fixes,
                           .count = r->count};
    o->on_diagnostic(o->user, &out);
  }
}

static npuc_status compile_in(build *b, const npuc_compile_options *o, thread_pool *pool, const progress *p) {
  b->pool = pool;
  b->progress = p;
  b->seed = o->seed;
  b->options = (build_options){.model = o->model,
                               .targets = o->targets,
                               .n_targets = o->n_targets,
                               .observer = o->observer,
                               .calib = o->calibration,
                               .eval = o->evaluation,
                               .preprocess = o->preprocess,
                               .reference = o->reference,
                               .max_drop = o->max_drop,
                               .bias_correction = true};
  NPUC_TRY(npuc_build_options_save(b));
  if (o->force) NPUC_TRY(npuc_build_strike(b, STAGE_BASELINE, NULL));
  return npuc_pipeline_run(b, STAGE_BASELINE, STAGE_VERIFY, on_stage, (void *)(uintptr_t)o);
}

static npuc_status check(diag *d, const npuc_compile_options *o) {
  if (o->struct_bytes != sizeof *o || !o->model || !o->output || o->n_targets == 0 || !o->targets)
    return npuc_fail(d, NPUC_DIAG_E0104, NULL, "npuc_compile wants initialised options with model, output and at least one target");
  return NPUC_OK;
}

npuc_status npuc_compile(const npuc_compile_options *options) {
  npuc_json_prepare();
  diag *d = npuc_diag_create(NULL, NULL);
  if (!d) return NPUC_ENVIRONMENT;
  arena *a = npuc_arena_create();
  build *b = NULL;
  thread_pool *pool = NULL;
  progress p = {.report = options->on_progress, .cancelled = options->cancelled, .user = options->user};
  npuc_status status = check(d, options);
  if (status == NPUC_OK && !(pool = npuc_pool_create(options->threads)))
    status = npuc_fail(d, NPUC_DIAG_E0002, NULL, "threads cannot be started");
  if (status == NPUC_OK) status = npuc_build_open(d, a, options->output, true, &b);
  if (status == NPUC_OK) status = compile_in(b, options, pool, &p);
  npuc_build_close(b);
  npuc_pool_destroy(pool);
  deliver(options, d);
  npuc_arena_destroy(a);
  npuc_diag_destroy(d);
  return status;
}
