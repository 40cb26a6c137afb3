/* SPDX-License-Identifier: Apache-2.0 */
/* A loaded `.npu` file: the mapped container, its integer graph, and for each hardware configuration the decoded streams and steps. Everything in it has been verified (src/npu/read.c). */
#ifndef NPUC_RUNTIME_PROGRAM_H
#define NPUC_RUNTIME_PROGRAM_H

#include "formats/npu_file.h"
#include "npu/program.h"
#include "npu/qgraph.h"
#include "npuc/runtime.h"

struct npuc_program {
  arena *arena;
  npu_file file;
  qgraph *graph;          /* constants point into the mapped file */
  npu_program **programs; /* by configuration */
  size_t n_configurations;
  npuc_port *inputs, *outputs;
};

/* As npuc_program_load, with diagnostics. */
npuc_status npuc_program_open(diag *d, const char *path, npuc_program **out_program) NPUC_MUST_USE;
/* First error of `d` into the public struct; returns status. */
npuc_status npuc_error_from(const diag *d, npuc_status status, npuc_error *out_error);

#endif
