/* SPDX-License-Identifier: Apache-2.0 */
/* The container of `.npu` files (docs/refnpu.md section 6): header, section table, checksums, and the records of its tables as C structs. Syntax only: what the
 * records mean is checked by who reads them. Little-endian hosts read the tables in place; the structs have no padding (asserted).
 *
 *   0            64              4096-aligned, last but one
 *   +--------+---------------+-- ... --+----------------+------+
 *   | header | section table | tables  | WGTS (weights) | WCRC |
 *   +--------+---------------+-- ... --+----------------+------+ */
#ifndef NPUC_FORMATS_NPU_FILE_H
#define NPUC_FORMATS_NPU_FILE_H

#include "base/file.h"

enum { NPU_FILE_VERSION = 1, NPU_SECTION_ALIGN = 64, NPU_WEIGHTS_ALIGN = 4096, NPU_WEIGHT_BLOCK = 1 << 20 };
extern const uint8_t npuc_npu_magic[8];

/* Sections in the file's order: SECTION(name, record bytes). */
#define NPU_SECTIONS(SECTION) \
  SECTION(META, 0)            \
  SECTION(STRS, 0)            \
  SECTION(INTS, 8)            \
  SECTION(TENS, 128)          \
  SECTION(NODE, 64)           \
  SECTION(ATTR, 16)           \
  SECTION(STEP, 32)           \
  SECTION(CONF, 64)           \
  SECTION(STRM, 96)           \
  SECTION(BIND, 64)           \
  SECTION(INST, 16)           \
  SECTION(DBUG, 32)           \
  SECTION(IOTB, 32)           \
  SECTION(WGTS, 0)            \
  SECTION(WCRC, 4)

typedef enum npu_section_kind {
#define SECTION(name, bytes) NPU_##name,
  NPU_SECTIONS(SECTION)
#undef SECTION
      NPU_SECTION_COUNT
} npu_section_kind;
const char *npuc_npu_section_name(npu_section_kind kind);
size_t npuc_npu_section_record(npu_section_kind kind); /* bytes of a record, 0: no table */

typedef struct npu_list {
  uint32_t first, count; /* records of INTS (or of the table that the field names) */
} npu_list;

typedef struct npu_tens_record {
  uint32_t name;
  uint8_t dtype, rank, role, has_quant;
  int64_t dims[8];
  double scale;
  int64_t zero_point;
  uint64_t offset, bytes;
  uint32_t source;
  uint8_t zero[20];
} npu_tens_record;

typedef struct npu_node_record {
  uint32_t op, name;
  npu_list inputs, outputs, attributes;
  uint32_t place, reason, source;
  uint8_t zero[20];
} npu_node_record;

typedef struct npu_attr_record {
  uint32_t key, zero;
  npu_list values;
} npu_attr_record;

typedef struct npu_step_record {
  uint32_t configuration, kind, first_node, n_nodes, stream;
  uint8_t zero[12];
} npu_step_record;

typedef struct npu_conf_record {
  uint32_t name, n, scratchpad_bytes, weight_buffer_bytes, accumulator_rows, dma_bytes_per_cycle, dma_descriptor_cycles, vector_latency,
      row_file_entries;
  uint8_t zero[28];
} npu_conf_record;

typedef struct npu_strm_record {
  uint32_t name, configuration;
  uint64_t arena_bytes, state_bytes;
  npu_list bindings, queues[4];
  uint64_t predicted_cycles, macs;
  npu_list debug;
  uint8_t zero[8];
} npu_strm_record;

typedef struct npu_bind_record {
  uint32_t tensor, direction;
  uint64_t offset, bytes;
  uint32_t c, h, w, pitch, n, order;
  uint8_t zero[16];
} npu_bind_record;

typedef struct npu_dbug_record {
  uint32_t queue, first, count, node;
  uint8_t zero[16];
} npu_dbug_record;

typedef struct npu_iotb_record {
  uint32_t tensor, direction, layout;
  uint8_t zero[20];
} npu_iotb_record;

_Static_assert(sizeof(npu_tens_record) == 128 && sizeof(npu_node_record) == 64 && sizeof(npu_attr_record) == 16, "records have no padding");
_Static_assert(sizeof(npu_step_record) == 32 && sizeof(npu_conf_record) == 64 && sizeof(npu_strm_record) == 96, "records have no padding");
_Static_assert(sizeof(npu_bind_record) == 64 && sizeof(npu_dbug_record) == 32 && sizeof(npu_iotb_record) == 32, "records have no padding");

/* -- reading -- */
typedef struct npu_section {
  const void *data; /* 64-byte aligned in the map */
  size_t bytes, records;
} npu_section;

typedef struct npu_file {
  mapped_file *file; /* owned */
  npu_section sections[NPU_SECTION_COUNT];
} npu_file;

/* Maps, and checks header, table, order, bounds, record sizes, every section's CRC but WGTS', padding between sections. E10xx names section and reason. */
npuc_status npuc_npu_file_open(diag *d, const char *path, npu_file *out_file) NPUC_MUST_USE;
void npuc_npu_file_close(npu_file *f);
/* CRC32C of the weight blocks [first, first + count); E10xx names the block. */
npuc_status npuc_npu_file_check_weights(diag *d, const npu_file *f, size_t first, size_t count) NPUC_MUST_USE;
size_t npuc_npu_file_weight_blocks(const npu_file *f);

/* -- writing -- */
/* Sections' bytes in NPU_SECTIONS order; WCRC is computed here (give it empty). Atomic; *out_bytes may be NULL. */
npuc_status npuc_npu_file_write(diag *d, const char *path, const npu_section sections[NPU_SECTION_COUNT],
                                uint64_t *out_bytes) NPUC_MUST_USE;

#endif
