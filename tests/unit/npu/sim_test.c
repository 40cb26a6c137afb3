/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator by itself: hand-written programs against formulas computed here, and cycles against the rules of docs/refnpu.md section 5 worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "npu/sim.h"

enum { N = 8, ARENA = 4096 };

static const npu_arch machine8 = {.name = "n8",
                                  .n = N,
                                  .scratchpad_bytes = 131072,
                                  .weight_buffer_bytes = 65536,
                                  .accumulator_rows = 1024,
                                  .dma_bytes_per_cycle = 16,
                                  .dma_descriptor_cycles = 64,
                                  .vector_latency = 8,
                                  .row_file_entries = 512};

typedef struct bench {
  arena *a;
  npu_program *p;
  npu_stream *s;
  uint8_t constants[8192];
  uint8_t memory[ARENA];
  uint32_t registers[NPU_REGISTERS];
} bench;

static void start(bench *b) {
  memset(b, 0, sizeof *b);
  b->a = npuc_arena_create();
  b->p = npuc_npu_program_create(b->a, &machine8);
  b->s = npuc_npu_program_add_stream(b->p, "test");
  b->s->arena_bytes = ARENA;
}

/* put(b, queue, op, signal, n, field, value, ...) */
static void put(bench *b, npu_queue queue, isa_op op, bool signal, int n, ...) {
  instr in = {.op = (uint8_t)op, .signal = signal};
  va_list args;
  va_start(args, n);
  for (int i = 0; i < n; i++) {
    int field = va_arg(args, int);
    in.f[field] = va_arg(args, int);
  }
  va_end(args);
  npuc_npu_stream_append(b->p, b->s, queue, &in, 0);
}

static void wait_for(bench *b, npu_queue queue, int t0, int t1, int t2, int t3) {
  put(b, queue, ISA_WAIT, false, 4, NPU_WAIT_t0, t0, NPU_WAIT_t1, t1, NPU_WAIT_t2, t2, NPU_WAIT_t3, t3);
}

static npuc_status finish(bench *b, npu_sim_result *out_result) {
  for (int q = 0; q < NPU_QUEUES; q++) put(b, (npu_queue)q, ISA_HALT, false, 0);
  npu_memory memory = {.constants = b->constants, .constants_bytes = sizeof b->constants, .arena = b->memory, .arena_bytes = ARENA};
  npu_sim_options options = {0};
  memcpy(options.registers, b->registers, sizeof options.registers);
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_status status = npuc_npu_simulate(d, &machine8, b->s, &memory, &options, out_result);
  if (status != NPUC_OK) assert_int_equal(npuc_diag_first_error(d)->code, NPUC_DIAG_E0803);
  npuc_diag_destroy(d);
  npuc_arena_destroy(b->a);
  return status;
}

/* -- time -- */

static void test_dma_time(void **state) {
  (void)state;
  bench b;
  npu_sim_result r;
  start(&b);
  /* DMA0 asks for the port at 64 and has it for 10 cycles (160 bytes); DMA1 asks at 64 too and gets it at 74 for 2 rows of 2 cycles; DMA0's next descriptor starts at 74, asks at 138. */
  put(&b, QUEUE_DMA0, ISA_DLD, true, 2, NPU_DLD_bytes, 160, NPU_DLD_rows, 1);
  put(&b, QUEUE_DMA0, ISA_DLD, true, 3, NPU_DLD_bytes, 1, NPU_DLD_rows, 1, NPU_DLD_local, 1000);
  put(&b, QUEUE_DMA1, ISA_DLD, true, 3, NPU_DLD_bytes, 17, NPU_DLD_rows, 2, NPU_DLD_local, 512);
  assert_int_equal(finish(&b, &r), NPUC_OK);
  assert_int_equal(r.cycles, 139);
  assert_int_equal(r.busy[QUEUE_DMA0], 11);
  assert_int_equal(r.busy[QUEUE_DMA1], 4);
}

static void test_array_time(void **state) {
  (void)state;
  bench b;
  npu_sim_result r;
  start(&b);
  put(&b, QUEUE_ARRAY, ISA_ACFG, false, 4, NPU_ACFG_width, 64, NPU_ACFG_height, 1, NPU_ACFG_pixel_pitch, 8, NPU_ACFG_stride_x,
      1);                                                                                            /* issues at 0 */
  put(&b, QUEUE_ARRAY, ISA_LDW, true, 3, NPU_LDW_rows, 8, NPU_LDW_cols, 8, NPU_LDW_pitch, 8);        /* 1..9 */
  put(&b, QUEUE_ARRAY, ISA_MM, true, 3, NPU_MM_swap, 1, NPU_MM_nx, 20, NPU_MM_ny, 1);                /* 9..29, complete 45 */
  put(&b, QUEUE_ARRAY, ISA_LDW, true, 3, NPU_LDW_rows, 8, NPU_LDW_cols, 8, NPU_LDW_pitch, 8);        /* 10..18 */
  put(&b, QUEUE_ARRAY, ISA_MM, true, 4, NPU_MM_swap, 1, NPU_MM_nx, 2, NPU_MM_ny, 1, NPU_MM_acc, 20); /* 29..31, complete 47 */
  put(&b, QUEUE_ARRAY, ISA_LDW, true, 3, NPU_LDW_rows, 8, NPU_LDW_cols, 8, NPU_LDW_pitch, 8);        /* 30..38 */
  put(&b, QUEUE_ARRAY, ISA_MM, true, 4, NPU_MM_swap, 1, NPU_MM_nx, 2, NPU_MM_ny, 1, NPU_MM_acc, 22); /* 38..40, complete 56 */
  wait_for(&b, QUEUE_VECTOR, 0, 0, 6, 0);                                                            /* blocked to 56 */
  put(&b, QUEUE_VECTOR, ISA_VGEO, false, 2, NPU_VGEO_slot, 2, NPU_VGEO_pixel_pitch, 8);              /* 57 */
  put(&b, QUEUE_VECTOR, ISA_VRQ, true, 3, NPU_VRQ_nx, 24, NPU_VRQ_ny, 1, NPU_VRQ_lanes, 8);          /* 58..82, complete 90 */
  assert_int_equal(finish(&b, &r), NPUC_OK);
  assert_int_equal(r.stalled[QUEUE_VECTOR], 56);
  assert_int_equal(r.cycles, 90);
}

static void test_vector_time(void **state) {
  (void)state;
  bench b;
  npu_sim_result r;
  start(&b);
  put(&b, QUEUE_VECTOR, ISA_VGEO, false, 4, NPU_VGEO_slot, 0, NPU_VGEO_width, 4, NPU_VGEO_height, 1, NPU_VGEO_pixel_pitch, 8); /* 0 */
  put(&b, QUEUE_VECTOR, ISA_VWIN, true, 3, NPU_VWIN_mode, 1, NPU_VWIN_nx, 4, NPU_VWIN_ny, 1);                                  /* 1, D 4 */
  put(&b, QUEUE_VECTOR, ISA_VWIN, true, 4, NPU_VWIN_mode, 1, NPU_VWIN_accumulate, 1, NPU_VWIN_nx, 4, NPU_VWIN_ny,
      1);                                                         /* 9 (max(4, 8) later), free at 21 */
  put(&b, QUEUE_VECTOR, ISA_VPAR, true, 1, NPU_VPAR_per_lane, 1); /* 21, free at 25 */
  put(&b, QUEUE_VECTOR, ISA_VMOV, true, 4, NPU_VMOV_op, 2, NPU_VMOV_nx, 3, NPU_VMOV_ny, 2, NPU_VMOV_lanes,
      8);                                                                                      /* 25, D 6 + 32, complete 71 */
  put(&b, QUEUE_VECTOR, ISA_VROW, true, 1, NPU_VROW_n, 5);                                     /* 71, D 37, complete 116 */
  put(&b, QUEUE_VECTOR, ISA_VFIL, true, 3, NPU_VFIL_nx, 9, NPU_VFIL_ny, 1, NPU_VFIL_lanes, 0); /* 116, D 1, complete 125 */
  assert_int_equal(finish(&b, &r), NPUC_OK);
  assert_int_equal(r.cycles, 125);
}

/* -- faults -- */

static void test_faults(void **state) {
  (void)state;
  bench b;
  start(&b);
  wait_for(&b, QUEUE_ARRAY, 0, 0, 0, 1);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* deadlock */
  start(&b);
  put(&b, QUEUE_ARRAY, ISA_MM, true, 3, NPU_MM_swap, 1, NPU_MM_nx, 1, NPU_MM_ny, 1);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* swap without a tile */
  start(&b);
  put(&b, QUEUE_DMA0, ISA_DLD, true, 3, NPU_DLD_bytes, 16, NPU_DLD_rows, 1, NPU_DLD_dram, 8180);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* past the constants */
  start(&b);
  put(&b, QUEUE_DMA0, ISA_DST, true, 3, NPU_DST_bytes, 16, NPU_DST_rows, 1, NPU_DST_region, 0);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* constants are read-only */
  start(&b);
  put(&b, QUEUE_VECTOR, ISA_VFIL, true, 4, NPU_VFIL_nx, 1, NPU_VFIL_ny, 1, NPU_VFIL_lanes, 8, NPU_VFIL_dst, 131068);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* past the scratchpad */
  start(&b);
  put(&b, QUEUE_DMA1, ISA_LDW, true, 0);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* wrong queue */
  start(&b);
  put(&b, QUEUE_VECTOR, ISA_VPAR, false, 2, NPU_VPAR_lo, 1, NPU_VPAR_hi, 0);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* lo above hi */
  start(&b);
  put(&b, QUEUE_VECTOR, ISA_VPAR, false, 1, NPU_VPAR_zp, -129);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* no zero point */
  start(&b);
  put(&b, QUEUE_ARRAY, ISA_LDW, true, 3, NPU_LDW_int4, 1, NPU_LDW_rows, 1, NPU_LDW_cols, 1);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* a sub-scale of 0 */
  start(&b);
  put(&b, QUEUE_ARRAY, ISA_MM, true, 2, NPU_MM_nx, 1, NPU_MM_ny, 1);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* no ACFG before */
  start(&b);
  put(&b, QUEUE_DMA0, ISA_HALT, false, 0);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* HALT in the middle */
  start(&b);
  put(&b, QUEUE_VECTOR, ISA_IDX, false, 3, NPU_IDX_n, 1, NPU_IDX_bit0, 36, NPU_IDX_pitch1, 1);
  put(&b, QUEUE_VECTOR, ISA_VFIL, true, 0);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* an unused modifier is not 0 */
  start(&b);
  put(&b, QUEUE_ARRAY, ISA_MM, true, 2, NPU_MM_nx, 513, NPU_MM_ny, 1);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* a pass of more than 512 rows */
}

/* A count of 0: nothing is read, so no address can be wrong. With counts of 1 the same instructions are refused. */
static void test_nothing_to_do(void **state) {
  (void)state;
  for (int count = 0; count < 2; count++) {
    for (int which = 0; which < 4; which++) {
      bench b;
      start(&b);
      if (which == 0)
        put(&b, QUEUE_VECTOR, ISA_VMOV, true, 5, NPU_VMOV_op, 2, NPU_VMOV_table, 131071, NPU_VMOV_nx, count, NPU_VMOV_ny, 1, NPU_VMOV_lanes,
            1);
      else if (which == 1)
        put(&b, QUEUE_VECTOR, ISA_VEXP, true, 3, NPU_VEXP_table, 131071, NPU_VEXP_nx, 1, NPU_VEXP_lanes, count);
      else if (which == 2)
        put(&b, QUEUE_VECTOR, ISA_VRED, true, 4, NPU_VRED_rf, 511, NPU_VRED_nx, 2, NPU_VRED_ny, 1, NPU_VRED_lanes, count);
      else
        put(&b, QUEUE_VECTOR, ISA_VNRM, true, 4, NPU_VNRM_centre, 1, NPU_VNRM_src, 131071, NPU_VNRM_nx, count, NPU_VNRM_lanes, 8);
      assert_int_equal(finish(&b, NULL), count ? NPUC_BAD_INPUT : NPUC_OK);
    }
  }
}

/* -- registers -- */

static void test_index(void **state) {
  (void)state;
  bench b;
  start(&b);
  b.registers[2] = 3;
  for (int i = 0; i < 256; i++) b.constants[i] = (uint8_t)(i + 1);
  /* dram 16 + 3*32, rows min(8, 3 - 1); both by one IDX. */
  put(&b, QUEUE_DMA0, ISA_DCFG, false, 2, NPU_DCFG_dram_pitch, 4, NPU_DCFG_local_pitch, 8);
  put(&b, QUEUE_DMA0, ISA_IDX, false, 7, NPU_IDX_n, 2, NPU_IDX_reg0, 2, NPU_IDX_bit0, 16, NPU_IDX_pitch0, 32, NPU_IDX_reg1, 2, NPU_IDX_bit1,
      92, NPU_IDX_pitch1, 1);
  put(&b, QUEUE_DMA0, ISA_DLD, true, 3, NPU_DLD_dram, 16, NPU_DLD_bytes, 4, NPU_DLD_rows, 8);
  put(&b, QUEUE_DMA0, ISA_DST, true, 4, NPU_DST_region, 1, NPU_DST_bytes, 4, NPU_DST_rows, 3, NPU_DST_dram, 0);
  assert_int_equal(finish(&b, NULL), NPUC_OK);
  static const uint8_t expected[12] = {113, 114, 115, 116, 117, 118, 119, 120, 0, 0, 0, 0};
  assert_memory_equal(b.memory, expected, 12);
  start(&b);
  put(&b, QUEUE_DMA0, ISA_IDX, false, 2, NPU_IDX_n, 1, NPU_IDX_bit0, 72);
  put(&b, QUEUE_DMA0, ISA_DLD, true, 2, NPU_DLD_bytes, 4, NPU_DLD_rows, 1);
  assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT); /* `bytes` is neither address nor count */
}

/* -- arithmetic that transformers need -- */

static void load(bench *b, int constant, int local, int bytes) {
  put(b, QUEUE_DMA0, ISA_DLD, true, 4, NPU_DLD_dram, constant, NPU_DLD_local, local, NPU_DLD_bytes, bytes, NPU_DLD_rows, 1);
}
static void store(bench *b, int local, int bytes, int vector_tokens) {
  wait_for(b, QUEUE_DMA1, 0, 0, 0, vector_tokens);
  put(b, QUEUE_DMA1, ISA_DST, true, 5, NPU_DST_region, 1, NPU_DST_dram, 0, NPU_DST_local, local, NPU_DST_bytes, bytes, NPU_DST_rows, 1);
}

/* int16 activations in a high and a low pass: 3 pixels of 8 channels; (hi << 8) + lo against 64-bit sums. */
static void test_int16_passes(void **state) {
  (void)state;
  bench b;
  start(&b);
  int16_t x[3][8];
  int8_t w[8][8];
  for (int p = 0; p < 3; p++) {
    for (int c = 0; c < 8; c++) {
      x[p][c] = (int16_t)((p * 8 + c) * 2741 - 31000);
      b.constants[p * 8 + c] = (uint8_t)((uint16_t)x[p][c] >> 8);
      b.constants[64 + p * 8 + c] = (uint8_t)((uint16_t)x[p][c] & 255);
    }
  }
  for (int k = 0; k < 8; k++) {
    for (int n = 0; n < 8; n++) b.constants[128 + k * 8 + n] = (uint8_t)(w[k][n] = (int8_t)((k * 37 + n * 11) % 251 - 125));
  }
  load(&b, 0, 0, 24);
  load(&b, 64, 64, 24);
  put(&b, QUEUE_DMA0, ISA_DLD, true, 5, NPU_DLD_mem, 1, NPU_DLD_dram, 128, NPU_DLD_local, 0, NPU_DLD_bytes, 64, NPU_DLD_rows, 1);
  wait_for(&b, QUEUE_ARRAY, 3, 0, 0, 0);
  put(&b, QUEUE_ARRAY, ISA_LDW, true, 3, NPU_LDW_pitch, 8, NPU_LDW_rows, 8, NPU_LDW_cols, 8);
  put(&b, QUEUE_ARRAY, ISA_ACFG, false, 5, NPU_ACFG_is_signed, 1, NPU_ACFG_width, 3, NPU_ACFG_height, 1, NPU_ACFG_pixel_pitch, 8,
      NPU_ACFG_stride_x, 1);
  put(&b, QUEUE_ARRAY, ISA_MM, true, 3, NPU_MM_swap, 1, NPU_MM_nx, 3, NPU_MM_ny, 1);
  put(&b, QUEUE_ARRAY, ISA_ACFG, false, 4, NPU_ACFG_width, 3, NPU_ACFG_height, 1, NPU_ACFG_pixel_pitch, 8, NPU_ACFG_stride_x, 1);
  put(&b, QUEUE_ARRAY, ISA_MM, true, 4, NPU_MM_base, 64, NPU_MM_nx, 3, NPU_MM_ny, 1, NPU_MM_acc, 512);
  wait_for(&b, QUEUE_VECTOR, 0, 0, 3, 0);
  put(&b, QUEUE_VECTOR, ISA_VGEO, false, 2, NPU_VGEO_slot, 2, NPU_VGEO_pixel_pitch, 8);
  put(&b, QUEUE_VECTOR, ISA_VPAR, false, 4, NPU_VPAR_wide, 1, NPU_VPAR_bias, -777, NPU_VPAR_m, 20011, NPU_VPAR_s, 22);
  put(&b, QUEUE_VECTOR, ISA_VRQ, true, 7, NPU_VRQ_wide_acc, 1, NPU_VRQ_wide_out, 1, NPU_VRQ_acc_lo, 512, NPU_VRQ_dst, 1024, NPU_VRQ_dst_lo,
      1056, NPU_VRQ_nx, 3, NPU_VRQ_ny, 1);
  b.s->queues[QUEUE_VECTOR].items[b.s->queues[QUEUE_VECTOR].count - 1].f[NPU_VRQ_lanes] = 8;
  store(&b, 1024, 64, 1);
  assert_int_equal(finish(&b, NULL), NPUC_OK);
  for (int p = 0; p < 3; p++) {
    for (int n = 0; n < 8; n++) {
      int64_t acc = 0;
      for (int k = 0; k < 8; k++) acc += (int64_t)x[p][k] * w[k][n];
      int64_t y = ((acc - 777) * 20011 + (1 << 21)) >> 22;
      y = y < -32768 ? -32768 : y > 32767 ? 32767 : y;
      int64_t got = (int16_t)(uint16_t)(b.memory[p * 8 + n] << 8 | b.memory[32 + p * 8 + n]);
      assert_int_equal(got, y);
    }
  }
}

/* int4 weights with sub-scales. */
static void test_int4(void **state) {
  (void)state;
  bench b;
  start(&b);
  int w[8][8];
  for (int n = 0; n < 8; n++) b.constants[n / 2] |= (uint8_t)((n + 3) << (n % 2 * 4));
  for (int k = 0; k < 8; k++) {
    for (int n = 0; n < 8; n++) {
      int value = (k * 5 + n * 3) % 16 - 8;
      b.constants[4 + k * 4 + n / 2] |= (uint8_t)((value & 15) << (n % 2 * 4));
      w[k][n] = value * (n + 3);
    }
  }
  for (int c = 0; c < 8; c++) b.constants[64 + c] = (uint8_t)(c * 20);
  put(&b, QUEUE_DMA0, ISA_DLD, true, 3, NPU_DLD_mem, 1, NPU_DLD_bytes, 36, NPU_DLD_rows, 1);
  load(&b, 64, 0, 8);
  wait_for(&b, QUEUE_ARRAY, 2, 0, 0, 0);
  put(&b, QUEUE_ARRAY, ISA_LDW, true, 3, NPU_LDW_int4, 1, NPU_LDW_rows, 8, NPU_LDW_cols, 8);
  put(&b, QUEUE_ARRAY, ISA_ACFG, false, 4, NPU_ACFG_width, 1, NPU_ACFG_height, 1, NPU_ACFG_pixel_pitch, 8, NPU_ACFG_zp, 60);
  put(&b, QUEUE_ARRAY, ISA_MM, true, 3, NPU_MM_swap, 1, NPU_MM_nx, 1, NPU_MM_ny, 1);
  wait_for(&b, QUEUE_VECTOR, 0, 0, 2, 0);
  put(&b, QUEUE_VECTOR, ISA_VPAR, false, 4, NPU_VPAR_m, 16384, NPU_VPAR_s, 20, NPU_VPAR_lo, -128, NPU_VPAR_hi, 127);
  put(&b, QUEUE_VECTOR, ISA_VRQ, true, 4, NPU_VRQ_dst, 256, NPU_VRQ_nx, 1, NPU_VRQ_ny, 1, NPU_VRQ_lanes, 8);
  store(&b, 256, 8, 1);
  assert_int_equal(finish(&b, NULL), NPUC_OK);
  for (int n = 0; n < 8; n++) {
    int64_t acc = 0;
    for (int k = 0; k < 8; k++) acc += (k * 20 - 60) * w[k][n];
    int64_t y = (acc + 32) >> 6;
    assert_int_equal((int8_t)b.memory[n], y < -128 ? -128 : y > 127 ? 127 : y);
  }
}

enum { T = 4, D = 8 }; /* positions 0..3 are valid; queries are rows 2 and 3 */

/* The same in plain integers, and in real numbers. */
static void check_attention(int8_t (*q)[D], int8_t (*k)[D], int8_t (*v)[D], const uint16_t *table, const uint8_t *memory) {
  for (int row = 0; row < 2; row++) {
    int64_t scores[8], e[8], sum = 0, m = -128;
    for (int t = 0; t < 8; t++) {
      int64_t acc = 0;
      for (int c = 0; c < D; c++) acc += q[row][c] * k[t][c];
      int64_t y = t < T ? (acc * 20000 + (1 << 20)) >> 21 : 0;
      scores[t] = t <= 2 + row ? (y < -127 ? -127 : y > 127 ? 127 : y) : -128;
      m = scores[t] > m ? scores[t] : m;
    }
    for (int t = 0; t < 8; t++) sum += e[t] = table[m - scores[t]];
    int64_t log = 0;
    while (sum >> (log + 1)) log++;
    int64_t r = ((1LL << (log + 16)) + sum / 2) / sum;
    if (r > 65535) r = 65535;
    for (int c = 0; c < D; c++) {
      int64_t acc = 0;
      for (int t = 0; t < 8; t++) acc += e[t] * v[t][c];
      int64_t shift = log + 16 - 4, t1 = (acc * r + (1LL << (shift - 1))) >> shift, y = (t1 * 16384 + (1 << 17)) >> 18;
      assert_int_equal((int8_t)memory[row * 8 + c], y < -128 ? -128 : y > 127 ? 127 : y);
      /* And it is attention: within two steps of real arithmetic. */
      double weight = 0, real = 0;
      for (int t = 0; t <= 2 + row; t++)
        weight += exp(-0.05 * (double)(m - scores[t])), real += exp(-0.05 * (double)(m - scores[t])) * v[t][c];
      assert_true(fabs(real / weight - (double)(int8_t)memory[row * 8 + c]) < 2);
    }
  }
}

/* One attention row block: q k^T (K transposed from the scratchpad), causal select by a register, softmax as e and a row multiplier, times V. */
static void test_attention(void **state) {
  (void)state;
  bench b;
  start(&b);
  int8_t q[2][D], k[8][D], v[8][D];
  for (int t = 0; t < 8; t++) {
    for (int c = 0; c < D; c++) {
      k[t][c] = (int8_t)((t * 29 + c * 17) % 101 - 50), v[t][c] = (int8_t)((t * 13 + c * 41) % 119 - 59);
      if (t < 2) q[t][c] = (int8_t)((t * 7 + c * 31) % 91 - 45), b.constants[t * 8 + c] = (uint8_t)q[t][c];
      b.constants[64 + t * 8 + c] = (uint8_t)k[t][c], b.constants[128 + t * 8 + c] = (uint8_t)v[t][c];
    }
  }
  uint16_t table[256];
  for (int i = 0; i < 256; i++) {
    table[i] = (uint16_t)(255.0 * exp(-0.05 * i) + 0.5); /* e as u8 in the low plane: the operand of the second product */
    b.constants[512 + 2 * i] = (uint8_t)(table[i] & 255), b.constants[513 + 2 * i] = (uint8_t)(table[i] >> 8);
  }
  b.registers[1] = 2; /* position of the first query */
  b.registers[3] = T; /* valid keys */
  load(&b, 0, 0, 256);
  load(&b, 512, 512, 512);
  wait_for(&b, QUEUE_ARRAY, 2, 0, 0, 0);
  put(&b, QUEUE_ARRAY, ISA_IDX, false, 3, NPU_IDX_n, 1, NPU_IDX_reg0, 3, NPU_IDX_bit0, 56); /* rows = min(8, R3) */
  put(&b, QUEUE_ARRAY, ISA_LDW, true, 6, NPU_LDW_mem, 1, NPU_LDW_transpose, 1, NPU_LDW_addr, 64, NPU_LDW_pitch, 8, NPU_LDW_rows, 8,
      NPU_LDW_cols, 8);
  put(&b, QUEUE_ARRAY, ISA_ACFG, false, 5, NPU_ACFG_is_signed, 1, NPU_ACFG_width, 2, NPU_ACFG_height, 1, NPU_ACFG_pixel_pitch, 8,
      NPU_ACFG_stride_x, 1);
  put(&b, QUEUE_ARRAY, ISA_MM, true, 3, NPU_MM_swap, 1, NPU_MM_nx, 2, NPU_MM_ny, 1);
  wait_for(&b, QUEUE_VECTOR, 0, 0, 2, 0);
  put(&b, QUEUE_VECTOR, ISA_VGEO, false, 3, NPU_VGEO_slot, 2, NPU_VGEO_is_signed, 1, NPU_VGEO_pixel_pitch, 8);
  put(&b, QUEUE_VECTOR, ISA_VGEO, false, 3, NPU_VGEO_slot, 0, NPU_VGEO_is_signed, 1, NPU_VGEO_pixel_pitch, 8);
  put(&b, QUEUE_VECTOR, ISA_VPAR, false, 4, NPU_VPAR_m, 20000, NPU_VPAR_s, 21, NPU_VPAR_lo, -127, NPU_VPAR_hi, 127);
  put(&b, QUEUE_VECTOR, ISA_VRQ, true, 4, NPU_VRQ_dst, 1024, NPU_VRQ_nx, 2, NPU_VRQ_ny, 1, NPU_VRQ_lanes, 8);
  put(&b, QUEUE_VECTOR, ISA_VSEL, true, 8, NPU_VSEL_reg, 1, NPU_VSEL_step, 1, NPU_VSEL_src, 1024, NPU_VSEL_dst, 1088, NPU_VSEL_nx, 2,
      NPU_VSEL_ny, 1, NPU_VSEL_lanes, 8, NPU_VSEL_value, 128);
  put(&b, QUEUE_VECTOR, ISA_VRED, true, 4, NPU_VRED_src, 1088, NPU_VRED_nx, 2, NPU_VRED_ny, 1, NPU_VRED_lanes, 8);
  put(&b, QUEUE_VECTOR, ISA_VEXP, true, 6, NPU_VEXP_src, 1088, NPU_VEXP_dst, 1152, NPU_VEXP_dst_lo, 1216, NPU_VEXP_table, 512, NPU_VEXP_nx,
      2, NPU_VEXP_lanes, 8);
  put(&b, QUEUE_VECTOR, ISA_VGEO, false, 2, NPU_VGEO_slot, 0, NPU_VGEO_pixel_pitch, 8);
  put(&b, QUEUE_VECTOR, ISA_VRED, true, 5, NPU_VRED_mode, 1, NPU_VRED_src, 1216, NPU_VRED_nx, 2, NPU_VRED_ny, 1, NPU_VRED_lanes, 8);
  put(&b, QUEUE_VECTOR, ISA_VROW, true, 1, NPU_VROW_n, 2);
  wait_for(&b, QUEUE_ARRAY, 0, 0, 0, 6);
  put(&b, QUEUE_ARRAY, ISA_LDW, true, 5, NPU_LDW_mem, 1, NPU_LDW_addr, 128, NPU_LDW_pitch, 8, NPU_LDW_rows, 8, NPU_LDW_cols, 8);
  put(&b, QUEUE_ARRAY, ISA_ACFG, false, 4, NPU_ACFG_width, 2, NPU_ACFG_height, 1, NPU_ACFG_pixel_pitch, 8, NPU_ACFG_stride_x, 1);
  put(&b, QUEUE_ARRAY, ISA_MM, true, 5, NPU_MM_swap, 1, NPU_MM_base, 1216, NPU_MM_nx, 2, NPU_MM_ny, 1, NPU_MM_acc, 512);
  wait_for(&b, QUEUE_VECTOR, 0, 0, 4, 0);
  put(&b, QUEUE_VECTOR, ISA_VPAR, false, 4, NPU_VPAR_m, 16384, NPU_VPAR_s, 18, NPU_VPAR_lo, -128, NPU_VPAR_hi, 127);
  put(&b, QUEUE_VECTOR, ISA_VRQ, true, 7, NPU_VRQ_by_row, 1, NPU_VRQ_acc, 512, NPU_VRQ_dst, 2048, NPU_VRQ_nx, 2, NPU_VRQ_ny, 1,
      NPU_VRQ_lanes, 8, NPU_VRQ_shift, -4);
  store(&b, 2048, 16, 7);
  assert_int_equal(finish(&b, NULL), NPUC_OK);
  check_attention(q, k, v, table, b.memory);
}

/* Layer norm of 16-bit rows: sums, variance, rsqrt, normalization, gamma and beta a lane. */
static void test_layer_norm(void **state) {
  (void)state;
  bench b;
  start(&b);
  enum { ROWS = 3, K = 16, BLOCK = ROWS * 8 };
  int16_t x[ROWS][K];
  for (int i = 0; i < ROWS; i++) {
    for (int c = 0; c < K; c++) {
      x[i][c] = (int16_t)(((i * 16 + c) * 7919) % 20011 - 9000);
      int at = c / 8 * BLOCK + i * 8 + c % 8;
      b.constants[at] = (uint8_t)((uint16_t)x[i][c] >> 8), b.constants[64 + at] = (uint8_t)((uint16_t)x[i][c] & 255);
    }
  }
  for (int c = 0; c < K; c++) { /* lane parameters: bias, M, s */
    int32_t bias = (c - 8) * 300, m = 16384 + c * 500;
    uint8_t *lane = b.constants + 256 + c * 8;
    for (int i = 0; i < 4; i++) lane[i] = (uint8_t)((uint32_t)bias >> 8 * i & 255);
    lane[4] = (uint8_t)(m & 255), lane[5] = (uint8_t)(m >> 8), lane[6] = 20;
  }
  load(&b, 0, 0, 512);
  wait_for(&b, QUEUE_VECTOR, 1, 0, 0, 0);
  put(&b, QUEUE_VECTOR, ISA_VGEO, false, 4, NPU_VGEO_slot, 0, NPU_VGEO_is_signed, 1, NPU_VGEO_pixel_pitch, 8, NPU_VGEO_row_pitch, BLOCK);
  put(&b, QUEUE_VECTOR, ISA_VGEO, false, 3, NPU_VGEO_slot, 2, NPU_VGEO_is_signed, 1, NPU_VGEO_pixel_pitch, 8);
  put(&b, QUEUE_VECTOR, ISA_VRED, true, 7, NPU_VRED_mode, 1, NPU_VRED_wide, 1, NPU_VRED_src_lo, 64, NPU_VRED_nx, ROWS, NPU_VRED_ny, 2,
      NPU_VRED_lanes, 8, NPU_VRED_rf, 0);
  put(&b, QUEUE_VECTOR, ISA_VRED, true, 7, NPU_VRED_mode, 2, NPU_VRED_wide, 1, NPU_VRED_src_lo, 64, NPU_VRED_nx, ROWS, NPU_VRED_ny, 2,
      NPU_VRED_lanes, 8, NPU_VRED_rf, 10);
  put(&b, QUEUE_VECTOR, ISA_VROW, true, 8, NPU_VROW_op, 2, NPU_VROW_dst, 20, NPU_VROW_a, 10, NPU_VROW_b, 0, NPU_VROW_n, ROWS, NPU_VROW_cnt,
      K, NPU_VROW_add, 1, NPU_VROW_imm, 1000);
  put(&b, QUEUE_VECTOR, ISA_VROW, true, 4, NPU_VROW_op, 1, NPU_VROW_dst, 0, NPU_VROW_a, 20, NPU_VROW_n, ROWS);
  for (int block = 0; block < 2; block++) {
    put(&b, QUEUE_VECTOR, ISA_VPAR, true, 6, NPU_VPAR_per_lane, 1, NPU_VPAR_addr, 256 + block * 64, NPU_VPAR_bias, K, NPU_VPAR_zp, 3,
        NPU_VPAR_lo, -128, NPU_VPAR_hi, 127);
    put(&b, QUEUE_VECTOR, ISA_VNRM, true, 8, NPU_VNRM_wide, 1, NPU_VNRM_centre, 1, NPU_VNRM_src, block * BLOCK, NPU_VNRM_src_lo,
        64 + block * BLOCK, NPU_VNRM_dst, 1024 + block * BLOCK, NPU_VNRM_nx, ROWS, NPU_VNRM_lanes, 8, NPU_VNRM_shift, -11);
  }
  store(&b, 1024, 2 * BLOCK, 8);
  assert_int_equal(finish(&b, NULL), NPUC_OK);
  for (int i = 0; i < ROWS; i++) {
    int64_t sum = 0, squares = 0;
    for (int c = 0; c < K; c++) sum += x[i][c], squares += (int64_t)x[i][c] * x[i][c];
    int64_t variance = K * squares - sum * sum + 1000;
    for (int c = 0; c < K; c++) {
      /* u is (x - mean) / deviation in steps of 2^-11; real arithmetic, so one step of u and one of y may differ. */
      double u = (K * (double)x[i][c] - (double)sum) / sqrt((double)variance) * 2048;
      double y = 3 + (u + (c - 8) * 300) * (16384 + c * 500) / 1048576.0;
      y = y < -128 ? -128 : y > 127 ? 127 : y;
      assert_true(fabs(y - (double)(int8_t)b.memory[c / 8 * BLOCK + i * 8 + c % 8]) <= 1.01);
    }
  }
}

/* The table is read once, before the first pixel, also where the result is written over it. */
static void test_table_overwritten(void **state) {
  (void)state;
  bench b;
  start(&b);
  for (int i = 0; i < 256; i++) b.constants[i] = (uint8_t)(255 - i);
  for (int i = 0; i < 16; i++) b.constants[256 + i] = (uint8_t)i; /* two pixels whose indices lie where the results go */
  load(&b, 0, 0, 272);
  wait_for(&b, QUEUE_VECTOR, 1, 0, 0, 0);
  put(&b, QUEUE_VECTOR, ISA_VGEO, false, 2, NPU_VGEO_slot, 0, NPU_VGEO_pixel_pitch, 8);
  put(&b, QUEUE_VECTOR, ISA_VGEO, false, 2, NPU_VGEO_slot, 2, NPU_VGEO_pixel_pitch, 8);
  put(&b, QUEUE_VECTOR, ISA_VMOV, true, 7, NPU_VMOV_op, 2, NPU_VMOV_src, 256, NPU_VMOV_dst, 8, NPU_VMOV_table, 0, NPU_VMOV_nx, 2,
      NPU_VMOV_ny, 1, NPU_VMOV_lanes, 8);
  store(&b, 8, 16, 1);
  assert_int_equal(finish(&b, NULL), NPUC_OK);
  for (int i = 0; i < 16; i++) assert_int_equal(b.memory[i], 255 - i);
}

__extension__ typedef __int128 wide_int;

/* Sums, products and left shifts beyond 64 bits wrap. Here in exact integers, reduced once at the end. */
static void test_wrapping(void **state) {
  (void)state;
  bench b;
  start(&b);
  for (int j = 0; j < 8; j++) {
    b.constants[j] = 0x7f, b.constants[64 + j] = 0xff; /* 32767 */
    uint8_t *lane = b.constants + 128 + 8 * j;
    uint32_t bias = (uint32_t)(j * 1000003), m = (uint32_t)(32767 - 2 * j);
    for (int i = 0; i < 4; i++) lane[i] = (uint8_t)(bias >> 8 * i & 255);
    lane[4] = (uint8_t)(m & 255), lane[5] = (uint8_t)(m >> 8), lane[6] = 48;
  }
  load(&b, 0, 0, 256);
  wait_for(&b, QUEUE_VECTOR, 1, 0, 0, 0);
  put(&b, QUEUE_VECTOR, ISA_VGEO, false, 2, NPU_VGEO_slot, 0, NPU_VGEO_is_signed, 1);
  put(&b, QUEUE_VECTOR, ISA_VRED, true, 6, NPU_VRED_mode, 2, NPU_VRED_wide, 1, NPU_VRED_src_lo, 64, NPU_VRED_nx, 1, NPU_VRED_ny, 1,
      NPU_VRED_lanes, 8);
  put(&b, QUEUE_VECTOR, ISA_VROW, true, 6, NPU_VROW_op, 2, NPU_VROW_dst, 1, NPU_VROW_n, 1, NPU_VROW_cnt, 3, NPU_VROW_add, 1, NPU_VROW_imm,
      5);
  put(&b, QUEUE_VECTOR, ISA_VROW, true, 3, NPU_VROW_dst, 1, NPU_VROW_a, 2, NPU_VROW_n, 1); /* r 65535, e 16 */
  put(&b, QUEUE_VECTOR, ISA_VPAR, true, 4, NPU_VPAR_per_lane, 1, NPU_VPAR_wide, 1, NPU_VPAR_addr, 128, NPU_VPAR_bias, 7);
  put(&b, QUEUE_VECTOR, ISA_VNRM, true, 10, NPU_VNRM_wide, 1, NPU_VNRM_wide_out, 1, NPU_VNRM_centre, 1, NPU_VNRM_src_lo, 64, NPU_VNRM_dst,
      1024, NPU_VNRM_dst_lo, 1032, NPU_VNRM_nx, 1, NPU_VNRM_lanes, 8, NPU_VNRM_rf, 1, NPU_VNRM_shift, -20);
  store(&b, 1024, 16, 5);
  assert_int_equal(finish(&b, NULL), NPUC_OK);
  wide_int sum = (wide_int)8 * 32767 * 32767, v = 3 * sum - sum * sum + 5;
  int differ = 0;
  for (int j = 0; j < 8; j++) {
    wide_int exact = ((7 * 32767 - v) * 65535 * 16 + j * 1000003) * (32767 - 2 * j) + ((wide_int)1 << 47);
    int64_t wrapped = (int64_t)(uint64_t)exact >> 48;
    int64_t got = (int16_t)(uint16_t)(b.memory[j] << 8 | b.memory[8 + j]);
    assert_int_equal(got, wrapped);
    differ += wrapped != 32767; /* control: a wider machine would clamp here */
    assert_true(exact >> 48 > 32767);
  }
  assert_true(differ > 4);
}

/* What a reciprocal and a root can take: 2^46 is the last for the one. */
static void test_row_function_ranges(void **state) {
  (void)state;
  bench b;
  for (int op = 0; op < 2; op++) {
    start(&b);
    memset(b.constants, 0x7f, 128);
    load(&b, 0, 0, 128);
    wait_for(&b, QUEUE_VECTOR, 1, 0, 0, 0);
    put(&b, QUEUE_VECTOR, ISA_VRED, true, 5, NPU_VRED_mode, 2, NPU_VRED_wide, 1, NPU_VRED_nx, 1, NPU_VRED_ny, 1, NPU_VRED_lanes, 8);
    /* 65535 * 8 * 32639^2, about 2^49; times 65535 again above 2^62 */
    put(&b, QUEUE_VECTOR, ISA_VROW, true, 5, NPU_VROW_op, 2, NPU_VROW_dst, 1, NPU_VROW_b, 2, NPU_VROW_n, 1, NPU_VROW_cnt, 65535);
    put(&b, QUEUE_VECTOR, ISA_VROW, true, 6, NPU_VROW_op, 2, NPU_VROW_dst, 3, NPU_VROW_a, 1, NPU_VROW_b, 2, NPU_VROW_n, 1, NPU_VROW_cnt,
        16384);
    put(&b, QUEUE_VECTOR, ISA_VROW, true, 4, NPU_VROW_op, op, NPU_VROW_dst, 4, NPU_VROW_a, op ? 3 : 1, NPU_VROW_n, 1);
    assert_int_equal(finish(&b, NULL), NPUC_BAD_INPUT);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dma_time),
      cmocka_unit_test(test_array_time),
      cmocka_unit_test(test_vector_time),
      cmocka_unit_test(test_faults),
      cmocka_unit_test(test_index),
      cmocka_unit_test(test_int16_passes),
      cmocka_unit_test(test_int4),
      cmocka_unit_test(test_attention),
      cmocka_unit_test(test_layer_norm),
      cmocka_unit_test(test_nothing_to_do),
      cmocka_unit_test(test_table_overwritten),
      cmocka_unit_test(test_wrapping),
      cmocka_unit_test(test_row_function_ranges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
