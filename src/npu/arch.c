/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware description from a target's JSON file. */
#include "npu/arch.h"

#include <string.h>

#include "formats/json.h"

static bool read_number(const json_t *hardware, const char *key, uint32_t *out_value) {
  const json_t *item = json_object_get(hardware, key);
  if (!json_is_integer(item)) return false;
  json_int_t value = json_integer_value(item);
  if (value < 0 || value > INT32_MAX) return false;
  *out_value = (uint32_t)value;
  return true;
}

static npuc_status read_hardware(diag *d, const char *path, const json_t *root, npu_arch *arch) {
  const struct {
    const char *key;
    uint32_t *value;
  } fields[] = {{"array", &arch->n},
                {"scratchpad_bytes", &arch->scratchpad_bytes},
                {"weight_buffer_bytes", &arch->weight_buffer_bytes},
                {"accumulator_rows", &arch->accumulator_rows},
                {"dma_bytes_per_cycle", &arch->dma_bytes_per_cycle},
                {"dma_descriptor_cycles", &arch->dma_descriptor_cycles},
                {"vector_latency", &arch->vector_latency},
                {"row_file_entries", &arch->row_file_entries}};
  const diag_place place = {.file = path, .attribute = "hardware"};
  const json_t *hardware = json_object_get(root, "hardware");
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (!read_number(hardware, fields[i].key, fields[i].value))
      return npuc_fail(d, NPUC_DIAG_E0801, &place, "hardware.%s must be a whole number from 0 to 2147483647", fields[i].key);
  }
  if (!npuc_npu_arch_valid(arch)) return npuc_fail(d, NPUC_DIAG_E0801, &place, "no refnpu has these numbers (docs/refnpu.md, section 1)");
  return NPUC_OK;
}

npuc_status npuc_npu_arch_load(diag *d, arena *a, const char *path, npu_arch *out_arch) {
  json_t *root;
  const diag_place place = {.file = path};
  NPUC_TRY(npuc_json_read(d, path, NPUC_DIAG_E0801, &root));
  npu_arch arch = {0};
  npuc_status status;
  const char *kind = json_string_value(json_object_get(root, "kind"));
  const char *name = json_string_value(json_object_get(root, "name"));
  if (!kind || strcmp(kind, "refnpu") != 0 || !name) {
    status = npuc_fail(d, NPUC_DIAG_E0801, &place, "this is no refnpu target: kind must be \"refnpu\", and name a string");
  } else {
    arch.name = npuc_arena_str(a, name);
    status = read_hardware(d, path, root, &arch);
  }
  json_decref(root);
  if (status == NPUC_OK) *out_arch = arch;
  return status;
}
