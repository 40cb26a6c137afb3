/* SPDX-License-Identifier: Apache-2.0 */
/* Changes an ONNX file's meaning and leaves its wire right: the message is taken apart by its schema, one to three fields of it are removed, doubled, exchanged,
 * overwritten by like ones, or given another number, name, operator; then it is put together with right lengths. Now and then bytes are changed blindly. */
#ifndef NPUC_TESTS_FUZZ_ONNX_MUTATE_H
#define NPUC_TESTS_FUZZ_ONNX_MUTATE_H

#include <stddef.h>
#include <stdint.h>

size_t fuzz_onnx_mutate(uint8_t *bytes, size_t n, size_t most, unsigned int seed);

#endif
