/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of refnpu: 128 bits, laid out by the one table isa.def (docs/refnpu.md section 4).
 *
 *    bit 127                            16 15     9   8   7      0
 *        +--------------------------------+--------+---+--------+
 *        |  fields                        | flags  | S | opcode |        bit i is bit (i mod 8) of byte i/8
 *        +--------------------------------+--------+---+--------+
 *
 * In memory an instruction is decoded: an `instr` whose f[] is indexed by the enumerators NPU_<INSTR>_<field>. */
#ifndef NPUC_NPU_ISA_H
#define NPUC_NPU_ISA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "npu/arch.h"

typedef enum isa_op {
#define INSTR(name, opcode, queues, class) ISA_##name,
#define FIELD(instruction, name, low, width, sign, mark)
#include "npu/isa.def"
#undef INSTR
#undef FIELD
  ISA_COUNT
} isa_op;

/* Field numbers inside an instruction: each INSTR starts again from 0. */
enum {
#define INSTR(name, opcode, queues, class) NPU_##name##_fields_from = -1,
#define FIELD(instruction, name, low, width, sign, mark) NPU_##instruction##_##name,
#include "npu/isa.def"
#undef INSTR
#undef FIELD
};

enum { ISA_MAX_FIELDS = 12, ISA_BYTES = 16 };

typedef enum isa_queues { ISA_QUEUES_ANY, ISA_QUEUES_DMA, ISA_QUEUES_ARRAY, ISA_QUEUES_VECTOR } isa_queues;
typedef enum isa_class { ISA_CLASS_CONTROL, ISA_CLASS_UNIT } isa_class;
typedef enum isa_mark { ISA_MARK_PLAIN, ISA_MARK_ADDRESS, ISA_MARK_COUNT } isa_mark;

typedef struct isa_field {
  const char *name;
  uint8_t low, width;
  bool is_signed;
  isa_mark mark;
} isa_field;

typedef struct isa_info {
  const char *name;
  uint8_t opcode;
  isa_queues queues;
  isa_class class;
} isa_info;

typedef struct instr {
  uint8_t op;     /* isa_op */
  uint8_t signal; /* adds a token to its queue when complete */
  int64_t f[ISA_MAX_FIELDS];
} instr;

const isa_info *npuc_isa_info(isa_op op);
const isa_field *npuc_isa_fields(isa_op op, unsigned *out_count);
/* VPAR is a unit instruction only when it reads lane parameters. */
bool npuc_isa_is_unit(const instr *in);
bool npuc_isa_queue_allows(isa_op op, npu_queue queue);
/* false when a value does not fit its field (nothing is written then). */
bool npuc_isa_encode(const instr *in, uint8_t out_bytes[ISA_BYTES]);
/* false for an unknown opcode, a bit that no field owns, or `signal` on a control instruction. */
bool npuc_isa_decode(const uint8_t bytes[ISA_BYTES], instr *out_instr);
/* NULL, or the range of section 4 that a field is outside of, on a machine of side n. */
const char *npuc_isa_check(const instr *in, uint32_t n);
/* NULL, or why `idx` may not stand before `in`, whatever the registers hold. */
const char *npuc_isa_check_modified(const instr *idx, const instr *in);
/* A count is 0: nothing is done (LDW never: it loads zeros). */
bool npuc_isa_is_empty(const instr *in);
/* "MM acc=0 nx=32 ..." of the fields that are not zero; in the arena. */
char *npuc_isa_print(arena *a, const instr *in);

#endif
