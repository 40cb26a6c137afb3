/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npz: a zip archive (stored or deflated) of .npy files. */
#ifndef NPUC_FORMATS_NPZ_H
#define NPUC_FORMATS_NPZ_H

#include "tensor/tensor.h"

typedef struct npz_entry {
  const char *name; /* without .npy */
  tensor array;     /* owned: npuc_tensor_release */
} npz_entry;

typedef struct npz {
  npz_entry *entries; /* in the archive's order */
  size_t n;
} npz;

/* Stored members are views into the mapped file, deflated ones are inflated. On failure nothing is kept. */
npuc_status npuc_npz_read(diag *d, const char *path, npz *out_npz) NPUC_MUST_USE;
void npuc_npz_release(npz *z);
/* NULL when there is none. */
const tensor *npuc_npz_get(const npz *z, const char *name);

#endif
