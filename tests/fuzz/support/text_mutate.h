/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of ONNX text that know its words: tokens are removed, doubled, exchanged, replaced by words of the language, operators and attributes of the op table, or names
 * that the text uses; now and then a whole new model is written by the grammar. */
#ifndef NPUC_TESTS_FUZZ_TEXT_MUTATE_H
#define NPUC_TESTS_FUZZ_TEXT_MUTATE_H

#include <stddef.h>
#include <stdint.h>

size_t fuzz_text_mutate(uint8_t *bytes, size_t n, size_t most, unsigned int seed);

#endif
