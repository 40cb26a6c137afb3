/* SPDX-License-Identifier: Apache-2.0 */
/* --trace FILE: opened before any work is done, so that a place that cannot be written to is said at once; FILE.0, FILE.1 where a program has several streams. */
#ifndef NPUC_CLI_TRACE_FILES_H
#define NPUC_CLI_TRACE_FILES_H

#include "base/file.h"
#include "base/trace.h"
#include "cli/cli.h"

typedef struct trace_files {
  file_writer **files; /* NULL entries: none wanted, or written */
  size_t n;
} trace_files;

npuc_status npuc_cli_open_traces(cli *c, size_t n, trace_files *out_files) NPUC_MUST_USE;
npuc_status npuc_cli_write_trace(trace_files *t, size_t index, trace *events) NPUC_MUST_USE;
void npuc_cli_close_traces(trace_files *t); /* leaves nothing where write was not called */

#endif
