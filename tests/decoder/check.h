/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader checks beyond sections and checksums (docs/refnpu.md section 6.4). What operators require of their tensors and attributes is
 * asked when they run (graph*.c). */
#ifndef DECODER_CHECK_H
#define DECODER_CHECK_H

#include "file.h"

/* Ends the program at the first thing that is wrong. Afterwards every string, list and index in the records may be followed. */
void decoder_check(const npu_file *file);

#endif
