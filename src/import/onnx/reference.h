/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that stay in a source file outside the model's folder: external data whose location is npuc.source.K, and metadata of that name that says which file it is. */
#ifndef NPUC_IMPORT_ONNX_REFERENCE_H
#define NPUC_IMPORT_ONNX_REFERENCE_H

#include "base/file.h"

#define ONNX_REFERENCE "npuc.source." /* followed by 0, 1, ... */
/* Files above this are referenced by stage models, and their weights are not looked through while a model is read. */
#define ONNX_LARGE_BYTES ((size_t)256 << 20)

/* "SIZE TIME SAMPLE PATH": bytes, time of the last change in nanoseconds, hash of sampled blocks, absolute path. */
npuc_status npuc_onnx_reference_text(diag *d, arena *a, const mapped_file *file, const char **out_text) NPUC_MUST_USE;
/* Maps the file that `text` says; E0343 when it is not there or not as it was. */
npuc_status npuc_onnx_reference_map(diag *d, const diag_place *place, const char *text, mapped_file **out_file) NPUC_MUST_USE;

#endif
