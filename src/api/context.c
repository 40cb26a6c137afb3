/* SPDX-License-Identifier: Apache-2.0 */
/* The context: what the calls of one user share. Its diagnostics are the records of one `diag`, shown as they are. */
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "base/arena.h"
#include "formats/json.h"

void npuc_context_options_init(npuc_context_options *out_options) {
  *out_options = (npuc_context_options){.struct_bytes = sizeof *out_options};
}

npuc_status npuc_context_create(const npuc_context_options *options, npuc_context **out_context) {
  *out_context = NULL;
  if (options && options->struct_bytes != sizeof *options) return NPUC_USAGE;
  npuc_json_prepare();
  npuc_context *c = npuc_xcalloc(1, sizeof *c);
  if (options) c->options = *options;
  c->progress = (progress){.report = c->options.on_progress, .cancelled = c->options.cancelled, .user = c->options.user};
  c->diag = npuc_diag_create(NULL, NULL);
  c->pool = npuc_pool_create(c->options.threads);
  if (!c->diag || !c->pool) {
    npuc_context_destroy(c);
    return NPUC_ENVIRONMENT;
  }
  *out_context = c;
  return NPUC_OK;
}

void npuc_context_destroy(npuc_context *c) {
  if (!c) return;
  npuc_pool_destroy(c->pool);
  npuc_diag_destroy(c->diag);
  free(c);
}

size_t npuc_context_diagnostics(const npuc_context *c) { return npuc_diag_count(c->diag); }

bool npuc_context_diagnostic(const npuc_context *c, size_t index, npuc_diagnostic *out_diagnostic) {
  const diag_record *r = npuc_diag_at(c->diag, index);
  if (!r) return false;
  const diag_info *info = npuc_diag_info(r->code);
  *out_diagnostic = (npuc_diagnostic){.severity = (npuc_severity)r->severity,
                                      .status = info->status,
                                      .code = info->text_code,
                                      .file = r->place.file,
                                      .part = r->place.part,
                                      .node = r->place.node,
                                      .op = r->place.op,
                                      .attribute = r->place.attribute,
                                      .reason = r->reason,
                                      .fixes = r->fixes,
                                      .n_fixes = r->n_fixes,
                                      .count = r->count};
  return true;
}

void npuc_context_clear(npuc_context *c) { npuc_diag_clear(c->diag); }

const char *npuc_explain(const char *code) {
  diag_code found;
  return code && npuc_diag_find(code, &found) ? npuc_diag_info(found)->explanation : NULL;
}
