/* SPDX-License-Identifier: Apache-2.0 */
/* Changes what stored members of a zip archive hold and puts their checksums right; now and then the archive itself. */
#ifndef NPUC_TESTS_FUZZ_ZIP_MUTATE_H
#define NPUC_TESTS_FUZZ_ZIP_MUTATE_H

#include <stddef.h>
#include <stdint.h>

size_t fuzz_zip_mutate(uint8_t *bytes, size_t n, size_t most, unsigned int seed);

#endif
