/* SPDX-License-Identifier: Apache-2.0 */
/* IDX, the format of MNIST's files, plain or gzipped (recognised by content): 0 0 type rank, the dims as big-endian u32, the elements in C order, big-endian. */
#ifndef NPUC_FORMATS_IDX_H
#define NPUC_FORMATS_IDX_H

#include "tensor/tensor.h"

/* A plain file of bytes is a view; what is compressed or wider than a byte is a copy in this machine's byte order. npuc_tensor_release. */
npuc_status npuc_idx_read(diag *d, const char *path, tensor *out_tensor) NPUC_MUST_USE;

#endif
