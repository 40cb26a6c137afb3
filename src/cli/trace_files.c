/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_files.h"

npuc_status npuc_cli_open_traces(cli *c, size_t n, trace_files *out_files) {
  const char *name = npuc_cli_value(&c->line, "--trace");
  *out_files = (trace_files){.files = (file_writer **)npuc_arena_array(c->arena, n + 1, sizeof(file_writer *)), .n = n};
  for (size_t i = 0; name && i < n; i++)
    NPUC_TRY(npuc_writer_create(c->diag, n == 1 ? name : npuc_arena_printf(c->arena, "%s.%zu", name, i), &out_files->files[i]));
  return NPUC_OK;
}

npuc_status npuc_cli_write_trace(trace_files *t, size_t index, trace *events) {
  file_writer *w = t->files[index];
  size_t bytes;
  const char *text = npuc_trace_text(events, &bytes);
  npuc_status status = npuc_writer_write(w, text, bytes);
  if (status != NPUC_OK) return status;
  t->files[index] = NULL; /* commit ends it, come what may */
  return npuc_writer_commit(w);
}

void npuc_cli_close_traces(trace_files *t) {
  for (size_t i = 0; i < t->n; i++)
    if (t->files[i]) npuc_writer_abandon(t->files[i]);
}
