/* SPDX-License-Identifier: Apache-2.0 */
/* The array: weight tiles into the next plane, passes of pixels through the current one. */
#include "machine.h"

#include <string.h>

/* Byte `offset` behind the tile's address, from WB or SP. */
static uint8_t tile_byte(const machine *m, const insn *in, int64_t offset) {
  int64_t at = in->f[LDW_ADDR] + offset;
  if (in->f[LDW_MEM]) return *decoder_sp(m, at, 1);
  if (at >= m->hw.wb_bytes) decoder_machine_fail(m, "an access outside the weight buffer");
  return m->wb[at];
}

static int nibble(uint8_t byte, int64_t n) { return n % 2 == 0 ? byte & 15 : byte >> 4; }

/* 4-bit tile: N/2 bytes of sub-scales, then rows of N/2 bytes. */
static int int4_weight(const machine *m, const insn *in, int64_t k, int64_t n) {
  const int64_t half = m->hw.n / 2;
  int scale = nibble(tile_byte(m, in, n / 2), n);
  int value = nibble(tile_byte(m, in, half + k * half + n / 2), n);
  if (scale == 0) decoder_machine_fail(m, "a sub-scale of 0");
  return (value >= 8 ? value - 16 : value) * scale;
}

static void load_tile(machine *m, const insn *in) {
  const int64_t *f = in->f;
  const int64_t n = m->hw.n;
  if (m->next_loaded) decoder_machine_fail(m, "a second LDW without a swap between");
  m->next_loaded = true;
  int8_t *w = m->plane[1 - m->current];
  memset(w, 0, (size_t)(n * n));
  for (int64_t i = 0; i < f[LDW_ROWS]; i++)
    for (int64_t j = 0; j < f[LDW_COLS]; j++) {
      int b = f[LDW_INT4] ? int4_weight(m, in, i, j) : decoder_byte(true, tile_byte(m, in, i * f[LDW_PITCH] + j));
      w[f[LDW_TRANSPOSE] ? j * n + i : i * n + j] = (int8_t)b;
    }
}

/* v_j of one output pixel, for all lanes. */
static void read_operand(const machine *m, int64_t base, int64_t x, int64_t y, int *v) {
  const source_shape *s = &m->array;
  const int64_t start = base + y * s->row_pitch + x * s->pixel_pitch;
  for (int64_t j = 0; j < m->hw.n; j++) {
    const int64_t x_j = x + j / s->pixel_pitch;
    bool inside = y >= 0 && y < s->height && x_j >= 0 && x_j < s->width;
    v[j] = inside ? decoder_byte(s->is_signed, *decoder_sp(m, start + j, 1)) - s->zp : 0;
  }
}

static void pass(machine *m, const insn *in) {
  const int64_t *f = in->f;
  const int64_t n = m->hw.n;
  if (f[MM_SWAP]) {
    if (!m->next_loaded) decoder_machine_fail(m, "a swap without an LDW since the last");
    m->next_loaded = false;
    m->current = 1 - m->current;
  }
  const int8_t *w = m->plane[m->current];
  int v[64];
  for (int64_t iy = 0; iy < f[MM_NY]; iy++)
    for (int64_t ix = 0; ix < f[MM_NX]; ix++) {
      int32_t *row = m->acc + (f[MM_ACC] + iy * f[MM_NX] + ix) * n;
      read_operand(m, f[MM_BASE], f[MM_X0] + ix * m->array.stride_x, f[MM_Y0] + iy * m->array.stride_y, v);
      if (!f[MM_ACCUMULATE]) memset(row, 0, (size_t)n * sizeof row[0]);
      for (int64_t j = 0; j < n; j++)
        for (int64_t column = 0; column < n; column++)
          row[column] = (int32_t)((uint32_t)row[column] + (uint32_t)(v[j] * w[j * n + column]));
    }
}

void decoder_exec_array(machine *m, const insn *in) {
  const int64_t *f = in->f;
  switch (in->spec->code) {
    case OP_ACFG:
      m->array = (source_shape){.is_signed = f[ACFG_SIGNED] != 0,
                                .zp = (int)f[ACFG_ZP],
                                .width = f[ACFG_WIDTH],
                                .height = f[ACFG_HEIGHT],
                                .row_pitch = f[ACFG_ROW_PITCH],
                                .pixel_pitch = f[ACFG_PIXEL_PITCH],
                                .stride_x = f[ACFG_STRIDE_X],
                                .stride_y = f[ACFG_STRIDE_Y]};
      break;
    case OP_LDW:
      load_tile(m, in);
      break;
    case OP_MM:
      if (m->array.pixel_pitch == 0 && !decoder_insn_is_empty(in)) decoder_machine_fail(m, "MM before any ACFG");
      pass(m, in);
      break;
    default:
      break;
  }
}
