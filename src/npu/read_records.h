/* SPDX-License-Identifier: Apache-2.0 */
/* What a record of a `.npu` file must say by itself, before anything is built from it (docs/refnpu.md section 6.3): reserved bytes, names, keys, numbers with few values. */
#ifndef NPUC_NPU_READ_RECORDS_H
#define NPUC_NPU_READ_RECORDS_H

#include "formats/npu_file.h"

/* STRS ends in NUL (checked before). E1004 names table and record. */
npuc_status npuc_npu_check_records(diag *d, const npu_file *f) NPUC_MUST_USE;

#endif
