/* SPDX-License-Identifier: Apache-2.0 */
/* Files of torch.save: the zip form (1.6 and later: data.pkl, data/KEY, byteorder) and the legacy one (pickles one after another, then the
 * storages). What is in them is a tree of containers with tensors; it comes out as a list of named tensors, views into the file where their
 * strides allow it. Nothing in a pickle is executed: a name that is not in the reader's own table is refused. */
#ifndef NPUC_IMPORT_TORCH_TORCH_H
#define NPUC_IMPORT_TORCH_TORCH_H

#include "tensor/tensor.h"

typedef struct torch_tensor {
  const char *name; /* path through the containers, joined with '.': "state_dict.conv1.weight"; "" when the file holds one tensor only */
  tensor value;     /* owned by the file */
} torch_tensor;

typedef struct torch_file torch_file;

/* `path` is mapped. Refused (E0215, E0330): damaged streams, objects other than tensors and plain containers, TorchScript archives, quantized,
 * sparse and meta tensors, storages shorter than what their tensors need. */
npuc_status npuc_torch_open(diag *d, const char *path, torch_file **out_file) NPUC_MUST_USE;
/* The same from bytes that `owner` keeps. */
npuc_status npuc_torch_open_bytes(diag *d, const char *name, blob *owner, const void *data, size_t bytes,
                                  torch_file **out_file) NPUC_MUST_USE;
void npuc_torch_close(torch_file *f); /* NULL is fine; tensors that were retained live on */
size_t npuc_torch_count(const torch_file *f);
const torch_tensor *npuc_torch_at(const torch_file *f, size_t index); /* in the order of the containers */
const torch_tensor *npuc_torch_find(const torch_file *f, const char *name);

/* A tensor of PyTorch: a window on a storage, in elements. */
typedef struct strided {
  dtype type;
  int32_t rank;
  int64_t sizes[MAX_RANK], strides[MAX_RANK], offset;
  blob *storage; /* keeps the bytes; not owned by this record */
  const uint8_t *data;
  size_t bytes;
} strided;

/* Row-major: a view when the strides say so (sizes of 1 may have any stride), else a copy. E0330 when a dim is negative or the window leaves
 * the storage. `name` is the tensor's, for messages. Expanded tensors (stride 0) are copied, up to what memory allows. */
npuc_status npuc_strided_tensor(diag *d, const char *name, const strided *s, tensor *out_tensor) NPUC_MUST_USE;

#endif
