/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums. CRC32C (Castagnoli, reflected, as in RFC 3720 appendix B.4) guards `.npu` blocks; content hashes (XXH3, from libxxhash) name weights and decide
 * whether a stage must run again: they live in src/stages and src/import, not here, because the runtime links no library. */
#ifndef NPUC_BASE_HASH_H
#define NPUC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Start with crc = 0; chainable. */
uint32_t npuc_crc32c(uint32_t crc, const void *bytes, size_t n);
/* The same without the processor's instruction for it. */
uint32_t npuc_crc32c_portable(uint32_t crc, const void *bytes, size_t n);
/* For hash tables only: eight bytes a step, multiplied and folded. Differs between byte orders, so it must not reach a file. */
uint64_t npuc_hash_bytes(const void *bytes, size_t n);

#endif
