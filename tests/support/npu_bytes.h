/* SPDX-License-Identifier: Apache-2.0 */
/* `.npu` files as bytes, for tests that change them: read, written without ceremony, and every checksum put right again (docs/refnpu.md section 6). */
#ifndef NPUC_TESTS_SUPPORT_NPU_BYTES_H
#define NPUC_TESTS_SUPPORT_NPU_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

uint8_t *npuc_npu_bytes_read(arena *a, const char *path, size_t *out_n);
void npuc_npu_bytes_write(const char *path, const uint8_t *bytes, size_t n);
/* Checksums of header, table, sections and weight blocks. The table must lie inside the bytes. */
void npuc_npu_bytes_seal(uint8_t *bytes);
/* Where a section lies. */
void npuc_npu_bytes_find(const uint8_t *bytes, const char *kind, uint64_t *out_offset, uint64_t *out_bytes);

#endif
