/* SPDX-License-Identifier: Apache-2.0 */
/* A `.npu` file (docs/refnpu.md section 6): sections found and their checksums compared, records read into structures. */
#ifndef DECODER_FILE_H
#define DECODER_FILE_H

#include "isa.h"

#include <stddef.h>

typedef enum section_kind {
  META,
  STRS,
  INTS,
  TENS,
  NODE,
  ATTR,
  STEP,
  CONF,
  STRM,
  BIND,
  INST,
  DBUG,
  IOTB,
  WGTS,
  WCRC,
  SECTIONS,
} section_kind;

typedef struct section {
  const uint8_t *data;
  uint64_t bytes;
  uint64_t records;
  uint32_t record_bytes;
} section;

typedef struct npu_file {
  const char *path;
  uint8_t *data;
  size_t bytes;
  section section[SECTIONS];
} npu_file;

typedef struct span { /* a run of records of some table */
  uint32_t first, count;
} span;

typedef struct tensor_record {
  uint32_t name, source_name;
  unsigned dtype, rank, role;
  bool is_quantized;
  int64_t dims[8];
  double scale;
  int64_t zero_point;
  uint64_t offset, bytes;
} tensor_record;

typedef struct node_record {
  uint32_t op, name, place, reason, source_name;
  span inputs, outputs, attributes;
} node_record;

typedef struct step_record {
  uint32_t configuration, kind, first_node, nodes, stream;
} step_record;

typedef struct stream_record {
  uint32_t name, configuration;
  uint64_t arena_bytes, state_bytes, cycles, macs;
  span bindings, queue[QUEUES], debug;
} stream_record;

typedef struct binding_record {
  uint32_t tensor, direction;
  uint64_t offset, bytes;
  uint32_t c, h, w, pixel_pitch, n, order;
} binding_record;

typedef struct io_record {
  uint32_t tensor, direction, layout;
} io_record;

/* Reads and checks header, table, placement of sections and every checksum; ends the program where something is wrong. */
void decoder_file_read(const char *path, npu_file *out);
void decoder_file_free(npu_file *file);

uint32_t decoder_u32(const uint8_t *at);
uint64_t decoder_u64(const uint8_t *at);
uint32_t decoder_crc32c(const uint8_t *data, uint64_t bytes);

/* Record i of a table; i must be inside. */
const uint8_t *decoder_record(const npu_file *file, section_kind kind, uint64_t i);
tensor_record decoder_tensor(const npu_file *file, uint32_t i);
node_record decoder_node(const npu_file *file, uint32_t i);
step_record decoder_step(const npu_file *file, uint32_t i);
stream_record decoder_stream(const npu_file *file, uint32_t i);
binding_record decoder_binding(const npu_file *file, uint32_t i);
io_record decoder_io(const npu_file *file, uint32_t i);
hardware decoder_hardware(const npu_file *file, uint32_t i);
int64_t decoder_int(const npu_file *file, span list, uint32_t i);
const char *decoder_string(const npu_file *file, uint32_t offset);

/* Bytes of an element, 0 for a dtype that the format does not have. */
unsigned decoder_element_bytes(unsigned dtype);

#endif
