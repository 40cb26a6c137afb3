/* SPDX-License-Identifier: Apache-2.0 */
/* A model by what its file holds, whatever its name ends in. */
#ifndef NPUC_IMPORT_READ_H
#define NPUC_IMPORT_READ_H

#include "ir/graph.h"

typedef enum source_format {
  SOURCE_UNKNOWN,
  SOURCE_ONNX,
  SOURCE_PT2,         /* torch.export.save */
  SOURCE_TORCH,       /* torch.save: tensors without a graph */
  SOURCE_SAFETENSORS, /* likewise */
  SOURCE_TORCHSCRIPT, /* torch.jit.save */
  SOURCE_NPU          /* an artifact of our own */
} source_format;

/* Looks at the beginning of the file, and at the directory of a zip archive. A damaged archive is an error; an unknown format is not. */
npuc_status npuc_source_format(diag *d, const char *path, source_format *out_format) NPUC_MUST_USE;
/* E0906 for what has no graph, with what to do instead. */
npuc_status npuc_source_read(diag *d, const char *path, module **out_module) NPUC_MUST_USE;

#endif
