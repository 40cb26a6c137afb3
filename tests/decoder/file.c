/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include "fail.h"
#include "npy.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 64, ENTRY_BYTES = 48, WCRC_BLOCK = 1 << 20 };

static const struct {
  char name[5];
  uint32_t record_bytes;
} kinds[SECTIONS] = {
    [META] = {"META", 0},  [STRS] = {"STRS", 0},  [INTS] = {"INTS", 8},  [TENS] = {"TENS", 128}, [NODE] = {"NODE", 64},
    [ATTR] = {"ATTR", 16}, [STEP] = {"STEP", 32}, [CONF] = {"CONF", 64}, [STRM] = {"STRM", 96},  [BIND] = {"BIND", 64},
    [INST] = {"INST", 16}, [DBUG] = {"DBUG", 32}, [IOTB] = {"IOTB", 32}, [WGTS] = {"WGTS", 0},   [WCRC] = {"WCRC", 4},
};

uint32_t decoder_u32(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24; }

uint64_t decoder_u64(const uint8_t *at) { return (uint64_t)decoder_u32(at) | (uint64_t)decoder_u32(at + 4) << 32; }

uint32_t decoder_crc32c(const uint8_t *data, uint64_t bytes) {
  uint32_t crc = ~(uint32_t)0;
  for (uint64_t i = 0; i < bytes; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78U : 0);
  }
  return ~crc;
}

static void require(const npu_file *file, bool holds, const char *what) {
  if (!holds) decoder_fail(EXIT_FILE, "%s: %s", file->path, what);
}

static bool all_zero(const uint8_t *data, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i++)
    if (data[i] != 0) return false;
  return true;
}

static void check_header(const npu_file *file) {
  const uint8_t *h = file->data;
  require(file, file->bytes >= HEADER_BYTES && memcmp(h, "\x89NPU\r\n\x1A\n", 8) == 0, "not a .npu file");
  require(file, decoder_u32(h + 60) == decoder_crc32c(h, 60), "the header's checksum differs");
  require(file, decoder_u32(h + 8) == 1, "version other than 1");
  require(file, decoder_u32(h + 12) == HEADER_BYTES && decoder_u32(h + 28) == HEADER_BYTES, "header bytes other than 64");
  require(file, decoder_u64(h + 16) == file->bytes, "the file's length is another than its header says");
  require(file, all_zero(h + 36, 24), "reserved bytes of the header are not 0");
  uint32_t count = decoder_u32(h + 24);
  require(file, count >= 1 && count <= 64 && HEADER_BYTES + (size_t)count * ENTRY_BYTES <= file->bytes, "number of sections");
  require(file, decoder_u32(h + 32) == decoder_crc32c(h + HEADER_BYTES, (uint64_t)count * ENTRY_BYTES),
          "the section table's checksum differs");
}

static int find_kind(const uint8_t *entry) {
  for (int k = 0; k < SECTIONS; k++)
    if (memcmp(entry, kinds[k].name, 4) == 0) return k;
  return SECTIONS;
}

/* One entry; `end` is where the section before it ended. Returns its own end. */
static uint64_t read_entry(npu_file *file, const uint8_t *entry, uint64_t end) {
  const int kind = find_kind(entry);
  section s = {.record_bytes = decoder_u32(entry + 4), .bytes = decoder_u64(entry + 16), .records = decoder_u64(entry + 24)};
  const uint64_t offset = decoder_u64(entry + 8);
  require(file, offset % (kind == WGTS ? 4096 : 64) == 0, "a section's offset is not aligned");
  require(file, offset >= end && offset <= file->bytes && s.bytes <= file->bytes - offset,
          "sections overlap, are out of order or leave the file");
  require(file, all_zero(file->data + end, offset - end), "bytes between sections are not 0");
  require(file, all_zero(entry + 36, 12), "reserved bytes of the section table are not 0");
  require(file, s.record_bytes == 0 ? s.records == 0 : s.bytes % s.record_bytes == 0 && s.bytes / s.record_bytes == s.records,
          "a table's size");
  s.data = file->data + offset;
  const uint32_t crc = decoder_u32(entry + 32);
  require(file, kind == WGTS ? crc == 0 : crc == decoder_crc32c(s.data, s.bytes), "a section's checksum differs");
  if (kind < SECTIONS) {
    require(file, file->section[kind].data == NULL, "a section occurs twice");
    require(file, s.record_bytes == kinds[kind].record_bytes, "a section's record size");
    file->section[kind] = s;
  }
  return offset + s.bytes;
}

static void check_weights(const npu_file *file) {
  const section *w = &file->section[WGTS];
  const section *crc = &file->section[WCRC];
  require(file, crc->records == (w->bytes + WCRC_BLOCK - 1) / WCRC_BLOCK, "WCRC has another number of blocks than WGTS");
  for (uint64_t i = 0; i < crc->records; i++) {
    uint64_t start = i * WCRC_BLOCK;
    uint64_t bytes = w->bytes - start < WCRC_BLOCK ? w->bytes - start : WCRC_BLOCK;
    require(file, decoder_u32(crc->data + 4 * i) == decoder_crc32c(w->data + start, bytes), "a block of WGTS has another checksum");
  }
}

void decoder_file_read(const char *path, npu_file *out) {
  memset(out, 0, sizeof *out);
  out->path = path;
  out->data = decoder_read_file(path, &out->bytes);
  check_header(out);
  const uint32_t count = decoder_u32(out->data + 24);
  uint64_t end = HEADER_BYTES + (uint64_t)count * ENTRY_BYTES;
  for (uint32_t i = 0; i < count; i++) end = read_entry(out, out->data + HEADER_BYTES + (size_t)i * ENTRY_BYTES, end);
  require(out, all_zero(out->data + end, out->bytes - end), "bytes behind the last section are not 0");
  for (int k = 0; k < SECTIONS; k++)
    if (out->section[k].data == NULL) decoder_fail(EXIT_FILE, "%s: no section %s", path, kinds[k].name);
  check_weights(out);
}

void decoder_file_free(npu_file *file) { free(file->data); }

const uint8_t *decoder_record(const npu_file *file, section_kind kind, uint64_t i) {
  if (i >= file->section[kind].records)
    decoder_fail(EXIT_FILE, "%s: record %llu of %s is beyond its end", file->path, (unsigned long long)i, kinds[kind].name);
  return file->section[kind].data + i * file->section[kind].record_bytes;
}

static span read_span(const uint8_t *at) { return (span){decoder_u32(at), decoder_u32(at + 4)}; }

tensor_record decoder_tensor(const npu_file *file, uint32_t i) {
  const uint8_t *r = decoder_record(file, TENS, i);
  tensor_record t = {.name = decoder_u32(r), .dtype = r[4], .rank = r[5], .role = r[6], .is_quantized = r[7] != 0};
  for (unsigned k = 0; k < 8; k++) t.dims[k] = (int64_t)decoder_u64(r + 8 + 8 * k);
  const uint64_t scale = decoder_u64(r + 72);
  memcpy(&t.scale, &scale, sizeof scale);
  t.zero_point = (int64_t)decoder_u64(r + 80);
  t.offset = decoder_u64(r + 88);
  t.bytes = decoder_u64(r + 96);
  t.source_name = decoder_u32(r + 104);
  return t;
}

node_record decoder_node(const npu_file *file, uint32_t i) {
  const uint8_t *r = decoder_record(file, NODE, i);
  return (node_record){.op = decoder_u32(r),
                       .name = decoder_u32(r + 4),
                       .inputs = read_span(r + 8),
                       .outputs = read_span(r + 16),
                       .attributes = read_span(r + 24),
                       .place = decoder_u32(r + 32),
                       .reason = decoder_u32(r + 36),
                       .source_name = decoder_u32(r + 40)};
}

step_record decoder_step(const npu_file *file, uint32_t i) {
  const uint8_t *r = decoder_record(file, STEP, i);
  return (step_record){decoder_u32(r), decoder_u32(r + 4), decoder_u32(r + 8), decoder_u32(r + 12), decoder_u32(r + 16)};
}

stream_record decoder_stream(const npu_file *file, uint32_t i) {
  const uint8_t *r = decoder_record(file, STRM, i);
  stream_record s = {.name = decoder_u32(r),
                     .configuration = decoder_u32(r + 4),
                     .arena_bytes = decoder_u64(r + 8),
                     .state_bytes = decoder_u64(r + 16),
                     .bindings = read_span(r + 24),
                     .cycles = decoder_u64(r + 64),
                     .macs = decoder_u64(r + 72),
                     .debug = read_span(r + 80)};
  for (unsigned q = 0; q < QUEUES; q++) s.queue[q] = read_span(r + 32 + 8 * q);
  return s;
}

binding_record decoder_binding(const npu_file *file, uint32_t i) {
  const uint8_t *r = decoder_record(file, BIND, i);
  return (binding_record){.tensor = decoder_u32(r),
                          .direction = decoder_u32(r + 4),
                          .offset = decoder_u64(r + 8),
                          .bytes = decoder_u64(r + 16),
                          .c = decoder_u32(r + 24),
                          .h = decoder_u32(r + 28),
                          .w = decoder_u32(r + 32),
                          .pixel_pitch = decoder_u32(r + 36),
                          .n = decoder_u32(r + 40),
                          .order = decoder_u32(r + 44)};
}

io_record decoder_io(const npu_file *file, uint32_t i) {
  const uint8_t *r = decoder_record(file, IOTB, i);
  return (io_record){decoder_u32(r), decoder_u32(r + 4), decoder_u32(r + 8)};
}

hardware decoder_hardware(const npu_file *file, uint32_t i) {
  const uint8_t *r = decoder_record(file, CONF, i);
  return (hardware){.n = decoder_u32(r + 4),
                    .sp_bytes = decoder_u32(r + 8),
                    .wb_bytes = decoder_u32(r + 12),
                    .acc_rows = decoder_u32(r + 16),
                    .dma_bytes = decoder_u32(r + 20),
                    .dma_latency = decoder_u32(r + 24),
                    .vector_latency = decoder_u32(r + 28),
                    .rf_entries = decoder_u32(r + 32)};
}

int64_t decoder_int(const npu_file *file, span list, uint32_t i) {
  if (i >= list.count) decoder_fail(EXIT_FILE, "%s: a list is too short", file->path);
  return (int64_t)decoder_u64(decoder_record(file, INTS, (uint64_t)list.first + i));
}

const char *decoder_string(const npu_file *file, uint32_t offset) {
  if (offset >= file->section[STRS].bytes) decoder_fail(EXIT_FILE, "%s: a string outside STRS", file->path);
  return (const char *)file->section[STRS].data + offset;
}

unsigned decoder_element_bytes(unsigned dtype) {
  switch (dtype) {
    case 2:
    case 3:
      return 1;
    case 4:
    case 5:
      return 2;
    case 1:
    case 6:
      return 4;
    case 7:
      return 8;
    default:
      return 0;
  }
}
