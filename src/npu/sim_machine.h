/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated machine's state, shared by the simulator's files only. */
#ifndef NPUC_NPU_SIM_MACHINE_H
#define NPUC_NPU_SIM_MACHINE_H

#include "npu/sim.h"

typedef struct row_entry {
  int64_t v;
  uint32_t r, e;
} row_entry;

/* Geometry of a source or destination: ACFG and VGEO. */
typedef struct geometry {
  bool is_signed;
  int32_t zp;
  int32_t width, height;
  uint32_t row_pitch, pixel_pitch;
  int32_t stride_x, stride_y;
} geometry;

typedef struct vector_parameters {
  bool wide;
  int32_t zp, lo, hi, mb;
  int64_t count; /* VNRM's cnt: the bias field of a per_lane VPAR */
  bool per_lane;
  int64_t bias[NPU_MAX_LANES];
  int64_t m[NPU_MAX_LANES];
  uint32_t s[NPU_MAX_LANES];
} vector_parameters;

typedef struct machine {
  npu_arch arch;
  npu_memory memory;
  uint32_t registers[NPU_REGISTERS];
  uint8_t *sp;                                     /* scratchpad */
  uint8_t *wb;                                     /* weight buffer */
  int32_t *acc;                                    /* [1024][N] */
  int16_t planes[2][NPU_MAX_LANES][NPU_MAX_LANES]; /* [plane][k][n], widened once when loaded: 8 bits, or 4 bits times a sub-scale */
  int current;                                     /* plane in use */
  bool next_loaded;                                /* an LDW since the last swap */
  row_entry rf[NPU_ROW_ENTRIES];
  uint32_t dram_pitch[2], local_pitch[2]; /* by DMA queue */
  geometry source;                        /* ACFG */
  geometry slots[3];                      /* A, B, D */
  vector_parameters par;
  const char *fault; /* text of the first broken rule; static */
} machine;

/* Each executes one instruction (IDX applied, ranges checked) and returns false with m->fault set when a rule is broken. */
bool npuc_sim_dma(machine *m, int queue, const instr *in);
bool npuc_sim_array(machine *m, const instr *in);
bool npuc_sim_vector(machine *m, const instr *in);

static inline bool sim_fault(machine *m, const char *text) {
  m->fault = text;
  return false;
}

/* Whether `bytes` bytes from `address` lie in a memory of `size`. */
static inline bool sim_inside(uint64_t address, uint64_t bytes, uint64_t size) { return bytes <= size && address <= size - bytes; }

/* The vector unit's numbers have 64 bits and wrap modulo 2^64. */
static inline int64_t sim_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t sim_subtract(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t sim_multiply(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

static inline int32_t sim_byte(const geometry *g, uint8_t byte) { return g->is_signed ? (int8_t)byte : byte; }

#endif
