/* SPDX-License-Identifier: Apache-2.0 */
/* `.pt2` archives of torch.export.save, read without Python: a zip with the exported program as JSON and the weights as stored members.
 * The graph is taken as exported (ATen before decomposition, in-place operators and views included), as core ATen after
 * run_decompositions(), and both mixed; weights stay views into the mapped archive. */
#ifndef NPUC_IMPORT_PT2_PT2_H
#define NPUC_IMPORT_PT2_PT2_H

#include "formats/zip.h"
#include "ir/graph.h"

/* Whether the archive's members are those of an exported program. */
bool npuc_pt2_is(const zip_archive *z);

/* The module has one graph, verified and inferred. Parameters keep their names in the nn.Module ("layer1.0.conv1.weight"). Buffers that the
 * program writes become states: an input and an output each, paired in the metadata "npuc.state.K" (docs/from-pytorch.md). */
npuc_status npuc_pt2_read(diag *d, const char *path, module **out_module) NPUC_MUST_USE;

/* The operators of PyTorch that are read, in aten.def's order: "aten.conv2d"; NULL past the last. */
const char *npuc_pt2_operator(size_t index);
/* Core operators that are not, each with the reason; NULL past the last. */
const char *npuc_pt2_refused_operator(size_t index, const char **out_reason);

#endif
