/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files, as far as inputs and outputs need them: versions 1 to 3, little-endian, C order. */
#ifndef DECODER_NPY_H
#define DECODER_NPY_H

#include <stddef.h>
#include <stdint.h>

enum { NPY_MAX_RANK = 8 };

typedef struct npy_array {
  char descr[8]; /* as in the file: "|u1", "<f4", ... */
  unsigned rank;
  int64_t dims[NPY_MAX_RANK];
  size_t bytes;
  uint8_t *data;
} npy_array;

/* The whole file; its length goes to out_bytes. The caller frees it. */
uint8_t *decoder_read_file(const char *path, size_t *out_bytes);

/* The caller frees out->data. */
void decoder_npy_read(const char *path, npy_array *out);
void decoder_npy_write(const char *path, const npy_array *array);

#endif
