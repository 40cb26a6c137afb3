/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX files in and out. In: opset 1 to 28, normalized to 28, weights are views into the mapped file or its external data. Out: deterministic, lowest opset
 * from 21 up that has every operator version used, valid under onnx.checker with full shape inference. */
#ifndef NPUC_IMPORT_ONNX_ONNX_H
#define NPUC_IMPORT_ONNX_ONNX_H

#include "base/map.h"
#include "ir/graph.h"

/* Reads, upgrades to opset 28, verifies and infers. Names stay the source's. External data is looked for beside the file, never above its folder. */
npuc_status npuc_onnx_read(diag *d, const char *path, module **out_module) NPUC_MUST_USE;

/* Adds to `locations` the names of the files that hold external data, as the model's bytes write them. What is no model has none. */
void npuc_onnx_locations(arena *a, const void *bytes, size_t n, map *locations);

/* Where constants go when a file is written. */
typedef struct onnx_weights {
  /* Constants of at least this many bytes are handed to `place` and become external data; smaller ones (and all, when place is NULL) go inside. */
  size_t min_bytes;
  /* Stores the bytes (or finds them stored) and gives a location relative to the written file and an offset. */
  npuc_status (*place)(void *user, diag *d, const tensor *t, const char **out_location, uint64_t *out_offset);
  /* After every constant was placed: the texts of the references (reference.h) 0, 1, ... that `place` gave as locations, which the model's metadata must hold. NULL: none. */
  const char *const *(*references)(void *user, size_t *out_count);
  void *user;
} onnx_weights;

/* Atomic. weights may be NULL: everything inside. Operators of domain npuc bring their bodies as model-local functions. */
npuc_status npuc_onnx_write(diag *d, const module *m, const char *path, const onnx_weights *weights) NPUC_MUST_USE;

#endif
