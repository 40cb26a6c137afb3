/* SPDX-License-Identifier: Apache-2.0 */
/* Encoder, decoder and disassembler, all from isa.def: every field is copied bit range by bit range, so no instruction has code of its own. */
#include "npu/isa.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One flat table of all fields; `infos` says where each instruction's begin. */
enum {
#define INSTR(name, opcode, queues, class)
#define FIELD(instruction, name, low, width, sign, mark) FLAT_##instruction##_##name,
#include "npu/isa.def"
#undef INSTR
#undef FIELD
  FLAT_COUNT
};

#define SIGN_U false
#define SIGN_S true
static const isa_field flat_fields[FLAT_COUNT] = {
#define INSTR(name, opcode, queues, class)
#define FIELD(instruction, name, low, width, sign, mark) {#name, low, width, SIGN_##sign, ISA_MARK_##mark},
#include "npu/isa.def"
#undef INSTR
#undef FIELD
};

/* The number of an instruction's fields, and of all fields before it, by counting enumerators. */
enum {
#define INSTR(name, opcode, queues, class) BEFORE_##name, AGAIN_##name = BEFORE_##name - 1,
#define FIELD(instruction, name, low, width, sign, mark) AT_##instruction##_##name,
#include "npu/isa.def"
#undef INSTR
#undef FIELD
  BEFORE_END
};

static const uint16_t field_start[ISA_COUNT + 1] = {
#define INSTR(name, opcode, queues, class) BEFORE_##name,
#define FIELD(instruction, name, low, width, sign, mark)
#include "npu/isa.def"
#undef INSTR
#undef FIELD
    BEFORE_END};

static const isa_info infos[ISA_COUNT] = {
#define INSTR(name, opcode, queues, class) {#name, opcode, ISA_QUEUES_##queues, ISA_CLASS_##class},
#define FIELD(instruction, name, low, width, sign, mark)
#include "npu/isa.def"
#undef INSTR
#undef FIELD
};

const isa_info *npuc_isa_info(isa_op op) {
  assert((unsigned)op < ISA_COUNT);
  return &infos[op];
}

const isa_field *npuc_isa_fields(isa_op op, unsigned *out_count) {
  assert((unsigned)op < ISA_COUNT);
  *out_count = (unsigned)field_start[op + 1] - field_start[op];
  return flat_fields + field_start[op];
}

bool npuc_isa_is_unit(const instr *in) {
  if (in->op == ISA_VPAR) return in->f[NPU_VPAR_per_lane] != 0;
  return infos[in->op].class == ISA_CLASS_UNIT;
}

bool npuc_isa_queue_allows(isa_op op, npu_queue queue) {
  switch (infos[op].queues) {
    case ISA_QUEUES_DMA:
      return queue == QUEUE_DMA0 || queue == QUEUE_DMA1;
    case ISA_QUEUES_ARRAY:
      return queue == QUEUE_ARRAY;
    case ISA_QUEUES_VECTOR:
      return queue == QUEUE_VECTOR;
    case ISA_QUEUES_ANY:
      break;
  }
  return true;
}

static bool fits(const isa_field *field, int64_t value) {
  int64_t span = (int64_t)1 << field->width;
  return field->is_signed ? value >= -span / 2 && value < span / 2 : value >= 0 && value < span;
}

static void put_bits(uint8_t bytes[ISA_BYTES], unsigned low, unsigned width, uint64_t value) {
  for (unsigned i = 0; i < width; i++) {
    unsigned bit = low + i;
    if (value >> i & 1) bytes[bit / 8] = (uint8_t)(bytes[bit / 8] | 1u << bit % 8);
  }
}

static uint64_t get_bits(const uint8_t bytes[ISA_BYTES], unsigned low, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; i++) value |= (uint64_t)(bytes[(low + i) / 8] >> (low + i) % 8 & 1) << i;
  return value;
}

bool npuc_isa_encode(const instr *in, uint8_t out_bytes[ISA_BYTES]) {
  unsigned count;
  const isa_field *fields = npuc_isa_fields(in->op, &count);
  for (unsigned i = 0; i < count; i++) {
    if (!fits(&fields[i], in->f[i])) return false;
  }
  if (in->signal && !npuc_isa_is_unit(in)) return false;
  memset(out_bytes, 0, ISA_BYTES);
  out_bytes[0] = infos[in->op].opcode;
  out_bytes[1] = in->signal ? 1 : 0;
  for (unsigned i = 0; i < count; i++) put_bits(out_bytes, fields[i].low, fields[i].width, (uint64_t)in->f[i]);
  return true;
}

static bool find_opcode(uint8_t opcode, uint8_t *out_op) {
  for (unsigned op = 0; op < ISA_COUNT; op++) {
    if (infos[op].opcode == opcode) {
      *out_op = (uint8_t)op;
      return true;
    }
  }
  return false;
}

bool npuc_isa_decode(const uint8_t bytes[ISA_BYTES], instr *out_instr) {
  instr in = {0};
  if (!find_opcode(bytes[0], &in.op)) return false;
  in.signal = bytes[1] & 1;
  unsigned count;
  const isa_field *fields = npuc_isa_fields(in.op, &count);
  for (unsigned i = 0; i < count; i++) {
    assert(fields[i].width > 0);
    uint64_t raw = get_bits(bytes, fields[i].low, fields[i].width);
    if (fields[i].is_signed && raw >> (fields[i].width - 1) & 1) raw |= ~(uint64_t)0 << fields[i].width;
    in.f[i] = (int64_t)raw;
  }
  /* Encoding again yields the same bytes exactly when no stray bit is set. */
  uint8_t again[ISA_BYTES];
  if (!npuc_isa_encode(&in, again) || memcmp(again, bytes, ISA_BYTES) != 0) return false;
  *out_instr = in;
  return true;
}

char *npuc_isa_print(arena *a, const instr *in) {
  unsigned count;
  const isa_field *fields = npuc_isa_fields(in->op, &count);
  char *text = npuc_arena_printf(a, "%s%s", infos[in->op].name, in->signal ? "!" : "");
  for (unsigned i = 0; i < count; i++) {
    if (in->f[i] != 0) text = npuc_arena_printf(a, "%s %s=%" PRId64, text, fields[i].name, in->f[i]);
  }
  return text;
}
