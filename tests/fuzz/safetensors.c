/* SPDX-License-Identifier: Apache-2.0 */
/* A safetensors file: eight bytes with the header's length, the header in JSON, the data. Every tensor's elements are read. The mutator changes the JSON as JSON
 * and writes the length again, or changes bytes blindly. */
#include <string.h>

#include "fuzz/support/files.h"
#include "fuzz/support/json_mutate.h"
#include "fuzz/support/target.h"
#include "import/state_dict.h"

enum { PREFIX = 8, MOST_HEADER = 1 << 14 };

static size_t header_length(const uint8_t *bytes) {
  uint64_t v = 0;
  for (int i = 0; i < PREFIX; i++) v |= (uint64_t)bytes[i] << (8 * i);
  return v < SIZE_MAX ? (size_t)v : SIZE_MAX;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned int seed) {
  static const char *const words[] = {"F32", "F16", "BF16",         "I64",   "U8",    "BOOL",        "F8_E4M3",
                                      "F64", "I4",  "__metadata__", "dtype", "shape", "data_offsets"};
  static uint8_t header[MOST_HEADER], data[MOST_HEADER];
  size_t length = n >= PREFIX ? header_length(bytes) : n;
  if (seed % 8 == 0 || n < PREFIX || length > n - PREFIX || length > MOST_HEADER || n - PREFIX - length > sizeof data)
    return LLVMFuzzerMutate(bytes, n, most);
  size_t n_data = n - PREFIX - length, room = most > PREFIX + n_data ? most - PREFIX - n_data : 0;
  if (room < length) return n;
  memcpy(header, bytes + PREFIX, length);
  memcpy(data, bytes + PREFIX + length, n_data);
  size_t made = fuzz_json_mutate(header, length, room < MOST_HEADER ? room : MOST_HEADER, seed, words, sizeof words / sizeof *words);
  for (int i = 0; i < PREFIX; i++) bytes[i] = (uint8_t)((uint64_t)made >> (8 * i));
  memcpy(bytes + PREFIX, header, made);
  memcpy(bytes + PREFIX + made, data, n_data);
  return PREFIX + made + n_data;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_files_put("m.safetensors", bytes, n);
  diag *d = npuc_diag_create(NULL, NULL);
  state_dict *s;
  npuc_status status = npuc_state_dict_open(d, "m.safetensors", &s);
  fuzz_expect_told(d, status);
  if (status == NPUC_OK) {
    unsigned sum = 0;
    for (size_t i = 0; i < npuc_state_dict_count(s) && i < 64; i++) {
      const tensor *t = &npuc_state_dict_at(s, i)->value;
      for (size_t k = 0; k < t->bytes && k < 1 << 16; k++) sum += ((const uint8_t *)t->data)[k];
      if (t->bytes) sum += ((const uint8_t *)t->data)[t->bytes - 1];
    }
    fuzz_expect(sum < UINT32_MAX, "bytes");
    npuc_state_dict_close(s);
  }
  npuc_diag_destroy(d);
  fuzz_files_clear();
  return 0;
}
