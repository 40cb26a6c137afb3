/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of docs/refnpu.md section 4: their bits as tables, and what a 16-byte instruction says. */
#ifndef DECODER_ISA_H
#define DECODER_ISA_H

#include <stdbool.h>
#include <stdint.h>

typedef enum opcode {
  OP_NOP = 0x00,
  OP_WAIT = 0x01,
  OP_IDX = 0x02,
  OP_HALT = 0x03,
  OP_DCFG = 0x10,
  OP_DLD = 0x11,
  OP_DST = 0x12,
  OP_ACFG = 0x20,
  OP_LDW = 0x21,
  OP_MM = 0x22,
  OP_VGEO = 0x30,
  OP_VPAR = 0x31,
  OP_VRQ = 0x32,
  OP_VWIN = 0x33,
  OP_VMOV = 0x34,
  OP_VBIN = 0x35,
  OP_VFIL = 0x36,
  OP_VRED = 0x37,
  OP_VROW = 0x38,
  OP_VNRM = 0x39,
  OP_VSEL = 0x3A,
  OP_VEXP = 0x3B,
} opcode;

enum { QUEUES = 4, QUEUE_ARRAY = 2, QUEUE_VECTOR = 3, INSN_BYTES = 16, MAX_FIELDS = 12 };

/* Field numbers of each instruction, in the order of its table. */
enum { WAIT_T0 };
enum { IDX_N, IDX_REG0, IDX_BIT0, IDX_PITCH0 }; /* modifier i: 1 + 3*i ... */
enum { DCFG_DRAM_PITCH, DCFG_LOCAL_PITCH };
enum { DLD_MEM, DLD_REGION, DLD_DRAM, DLD_LOCAL, DLD_BYTES, DLD_ROWS };
enum { DST_REGION, DST_DRAM, DST_LOCAL, DST_BYTES, DST_ROWS };
enum { ACFG_SIGNED, ACFG_ZP, ACFG_WIDTH, ACFG_HEIGHT, ACFG_ROW_PITCH, ACFG_PIXEL_PITCH, ACFG_STRIDE_X, ACFG_STRIDE_Y };
enum { LDW_MEM, LDW_INT4, LDW_TRANSPOSE, LDW_ADDR, LDW_PITCH, LDW_ROWS, LDW_COLS };
enum { MM_ACCUMULATE, MM_SWAP, MM_BASE, MM_X0, MM_Y0, MM_NX, MM_NY, MM_ACC };
enum { VGEO_SLOT, VGEO_SIGNED, VGEO_ZP, VGEO_WIDTH, VGEO_HEIGHT, VGEO_ROW_PITCH, VGEO_PIXEL_PITCH, VGEO_STRIDE_X, VGEO_STRIDE_Y };
enum { VPAR_PER_LANE, VPAR_WIDE, VPAR_ADDR, VPAR_ZP, VPAR_LO, VPAR_HI, VPAR_BIAS, VPAR_M, VPAR_S };
enum { VRQ_WIDE_ACC, VRQ_WIDE_OUT, VRQ_BY_ROW, VRQ_ACC, VRQ_ACC_LO, VRQ_DST, VRQ_DST_LO, VRQ_NX, VRQ_NY, VRQ_LANES, VRQ_RF, VRQ_SHIFT };
enum { VWIN_MODE, VWIN_ACCUMULATE, VWIN_HOLD, VWIN_BASE, VWIN_X0, VWIN_Y0, VWIN_NX, VWIN_NY, VWIN_ACC, VWIN_WEIGHTS };
enum { VMOV_OP, VMOV_SRC, VMOV_DST, VMOV_NX, VMOV_NY, VMOV_LANES, VMOV_TABLE };
enum { VBIN_OP, VBIN_A, VBIN_B, VBIN_DST, VBIN_NX, VBIN_NY, VBIN_LANES };
enum { VFIL_VALUE, VFIL_DST, VFIL_NX, VFIL_NY, VFIL_LANES };
enum { VRED_MODE, VRED_ACCUMULATE, VRED_WIDE, VRED_SRC, VRED_SRC_LO, VRED_NX, VRED_NY, VRED_LANES, VRED_RF };
enum { VROW_OP, VROW_DST, VROW_A, VROW_B, VROW_N, VROW_CNT, VROW_ADD, VROW_IMM };
enum {
  VNRM_WIDE,
  VNRM_WIDE_OUT,
  VNRM_FINAL,
  VNRM_CENTRE,
  VNRM_SRC,
  VNRM_SRC_LO,
  VNRM_DST,
  VNRM_DST_LO,
  VNRM_NX,
  VNRM_LANES,
  VNRM_RF,
  VNRM_SHIFT
};
enum { VSEL_REG, VSEL_STEP, VSEL_SRC, VSEL_DST, VSEL_NX, VSEL_NY, VSEL_LANES, VSEL_VALUE, VSEL_FIRST };
enum { VEXP_SRC, VEXP_DST, VEXP_DST_LO, VEXP_TABLE, VEXP_NX, VEXP_LANES, VEXP_RF };

typedef struct insn_field {
  const char *name;
  uint8_t hi, lo;
  char type; /* 'u' or 's' */
  char mark; /* 'A', 'C' or '-' */
} insn_field;

typedef struct insn_spec {
  opcode code;
  const char *name;
  unsigned queues; /* bit q: may stand in queue q */
  bool control;    /* VPAR: see decoder_insn_is_control */
  unsigned fields;
  insn_field field[MAX_FIELDS];
} insn_spec;

typedef struct insn {
  const insn_spec *spec;
  bool signal;
  int64_t f[MAX_FIELDS];
} insn;

/* What a hardware configuration (CONF) says. */
typedef struct hardware {
  uint32_t n, sp_bytes, wb_bytes, acc_rows, dma_bytes, dma_latency, vector_latency, rf_entries;
} hardware;

/* NULL, or why these 16 bytes are no instruction of that queue. */
const char *decoder_insn_decode(const uint8_t bytes[INSN_BYTES], unsigned queue, const hardware *hw, insn *out);

/* NULL, or why some value is outside its stated range (again after IDX). */
const char *decoder_insn_check(const insn *in, const hardware *hw);

bool decoder_insn_is_control(const insn *in);

/* True when a count is 0, so that the instruction does nothing. LDW never: it loads zeros. */
bool decoder_insn_is_empty(const insn *in);

/* Changes `in` as the IDX before it says. NULL, or why it cannot. */
const char *decoder_insn_apply(const insn *idx, const uint32_t reg[8], const hardware *hw, insn *in);

#endif
