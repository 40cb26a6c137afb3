/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of docs/refnpu.md sections 1 and 2: its memories and what the queues have configured, and the exact effect of each
 * instruction. Time is not here (cycles.h), nor is the order of the queues (stream.h). */
#ifndef DECODER_MACHINE_H
#define DECODER_MACHINE_H

#include "isa.h"

#include <stddef.h>

typedef struct row_entry { /* of the row file */
  int64_t v;
  uint32_t r; /* u16 */
  int e;      /* 0..63 */
} row_entry;

typedef struct region { /* of DRAM */
  uint8_t *data;
  uint64_t bytes;
} region;

typedef struct source_shape { /* what MM (ACFG) and VWIN (VGEO, slot A) read */
  bool is_signed;
  int zp;
  int64_t width, height, row_pitch, pixel_pitch, stride_x, stride_y;
} source_shape;

typedef struct lane_rule { /* VPAR of one lane */
  int64_t bias, m;
  unsigned s;
} lane_rule;

typedef struct machine {
  hardware hw;
  uint8_t *sp, *wb;
  int32_t *acc;     /* [acc_rows, N] */
  row_entry *rf;    /* [rf_entries] */
  int8_t *plane[2]; /* [N, N] each: w[k][n] */
  unsigned current; /* plane that MM uses; the other one is the next */
  bool next_loaded; /* by an LDW since the last swap */
  uint32_t reg[8];
  region dram[3];
  int64_t dram_pitch[2], local_pitch[2]; /* DCFG of DMA0, DMA1 */
  source_shape array;
  source_shape slot[3]; /* VGEO A, B, D */
  bool per_lane;
  int64_t zp, lo, hi, mb, cnt;
  lane_rule *lane; /* [N] */
  const char *stream;
  unsigned queue, pc; /* for messages */
} machine;

void decoder_machine_create(machine *m, const hardware *hw);
void decoder_machine_destroy(machine *m);

/* The run's end, with the place of the instruction. */
_Noreturn void decoder_machine_fail(const machine *m, const char *why);

/* SP[address, address + bytes) or a failed run. */
uint8_t *decoder_sp(const machine *m, int64_t address, int64_t bytes);

/* byte or byte - zp with the sign that the source says. */
int decoder_byte(bool is_signed, uint8_t byte);

/* RULE(t, M, s) of section 4, with zp, lo, hi of VPAR. */
int64_t decoder_rule(const machine *m, int64_t t, int64_t multiplier, unsigned s);

/* The value modulo 2^64, signed: what every sum, difference and product of the vector unit is. */
int64_t decoder_wrap(__int128 value);

int64_t decoder_shift_round(__int128 value, unsigned s); /* (value + rnd(s)) >> s */

void decoder_exec_dma(machine *m, const insn *in);
void decoder_exec_array(machine *m, const insn *in);
void decoder_exec_vector(machine *m, const insn *in);
void decoder_exec_rows(machine *m, const insn *in); /* VRED, VROW, VNRM, VSEL, VEXP */

/* Address of pixel (ix, iy) in a slot; the lanes follow. */
int64_t decoder_pixel(const source_shape *slot, int64_t base, int64_t ix, int64_t iy);

/* a(ix, iy, j) for lanes j < count; low < 0 where the operand is one plane. */
void decoder_operand(const machine *m, const source_shape *slot, int64_t base, int64_t low, int64_t ix, int64_t iy, int64_t count,
                     int64_t *out_a);

/* Results of one pixel to slot D; low < 0 where the result is one plane. */
void decoder_result(const machine *m, int64_t base, int64_t low, int64_t ix, int64_t iy, int64_t count, const int64_t *d);

row_entry *decoder_row(const machine *m, int64_t index);

/* ROW(t, i) of VRQ and VNRM. */
int64_t decoder_row_multiply(const machine *m, int64_t index, int64_t t, int64_t shift);

#endif
