/* SPDX-License-Identifier: Apache-2.0 */
/* `.npu` files from a compiled graph, and back (docs/refnpu.md section 6). */
#ifndef NPUC_NPU_WRITE_H
#define NPUC_NPU_WRITE_H

#include "formats/npu_file.h"
#include "npu/program.h"
#include "npu/qgraph.h"

/* Writes graph and program. meta: JSON text for people (NULL: "{}"). Same input, same bytes. *out_bytes (may be NULL): the file's length. */
npuc_status npuc_npu_write(diag *d, const char *path, const qgraph *g, const npu_program *p, const char *meta,
                           uint64_t *out_bytes) NPUC_MUST_USE;

/* Reads an open file. Everything that section 6.4 asks for is checked (E1004), instructions included; weight blocks are checked too. Constants point into the file, which must
 * stay open. `configuration` is a record of CONF; the program has that configuration's steps and all streams of the file that belong to it. */
npuc_status npuc_npu_read(diag *d, arena *a, const npu_file *f, uint32_t configuration, qgraph **out_graph,
                          npu_program **out_program) NPUC_MUST_USE;

#endif
