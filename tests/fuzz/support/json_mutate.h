/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a JSON document that keep it one: numbers, names and keys are replaced (by others of the document, by the words of a list), parts are dropped,
 * doubled, exchanged, copied from elsewhere. So a reader behind the parser is reached each time. */
#ifndef NPUC_TESTS_FUZZ_JSON_MUTATE_H
#define NPUC_TESTS_FUZZ_JSON_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* `words`, `n_words`: what strings may become besides. Bytes that are no JSON are changed blindly. */
size_t fuzz_json_mutate(uint8_t *bytes, size_t n, size_t most, unsigned int seed, const char *const *words, size_t n_words);

#endif
