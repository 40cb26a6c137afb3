/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy: magic, version, a Python dict literal {'descr', 'fortran_order', 'shape'}, then the elements.
 *
 *   93 'N' 'U' 'M' 'P' 'Y' | major minor | header length (u16 in version 1, u32 from 2 on) | header, padded so that data begins at 64 | data
 *
 * Reading gives a view into the mapped file; arrays in Fortran order are brought to C order (a copy). */
#ifndef NPUC_FORMATS_NPY_H
#define NPUC_FORMATS_NPY_H

#include "tensor/tensor.h"

/* out_tensor owns a reference on its bytes: npuc_tensor_release. Big-endian, object, structured and text arrays are refused (E0211). */
npuc_status npuc_npy_read(diag *d, const char *path, tensor *out_tensor) NPUC_MUST_USE;
/* The same from `bytes` bytes at `data`, which `owner` keeps; `name` stands for the file in messages. */
npuc_status npuc_npy_parse(diag *d, const char *name, blob *owner, const void *bytes, size_t n, tensor *out_tensor) NPUC_MUST_USE;
/* Version 1.0, C order, the bytes that numpy.save writes. Types that NumPy lacks are written as the narrowest that holds them: bfloat16 and 8-bit floats as
 * float32, 2- and 4-bit integers as 8-bit ones. */
npuc_status npuc_npy_write(diag *d, const char *path, const tensor *t) NPUC_MUST_USE;

#endif
