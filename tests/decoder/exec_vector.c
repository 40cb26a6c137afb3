/* SPDX-License-Identifier: Apache-2.0 */
/* The vector unit's work on pixels: geometry, parameters, requantization, windows, moves, sums and products, filling. */
#include "machine.h"

#include <string.h>

enum { SLOT_A, SLOT_B, SLOT_D, MAX_LANES = 64 };

static int64_t read_le(const uint8_t *bytes, unsigned count) {
  uint64_t value = 0;
  for (unsigned i = 0; i < count; i++) value |= (uint64_t)bytes[i] << (8 * i);
  if (bytes[count - 1] & 0x80) return (int64_t)value - ((int64_t)1 << (8 * count));
  return (int64_t)value;
}

static void set_parameters(machine *m, const insn *in) {
  const int64_t *f = in->f;
  m->per_lane = f[VPAR_PER_LANE] != 0;
  m->zp = f[VPAR_WIDE] ? 0 : f[VPAR_ZP];
  m->lo = f[VPAR_WIDE] ? -32768 : f[VPAR_LO];
  m->hi = f[VPAR_WIDE] ? 32767 : f[VPAR_HI];
  m->cnt = f[VPAR_BIAS];
  m->mb = m->per_lane ? 0 : (f[VPAR_ADDR] & 0x8000 ? f[VPAR_ADDR] - 65536 : f[VPAR_ADDR]);
  if (!m->per_lane) {
    for (unsigned j = 0; j < m->hw.n; j++) m->lane[j] = (lane_rule){f[VPAR_BIAS], f[VPAR_M], (unsigned)f[VPAR_S]};
    return;
  }
  const uint8_t *bytes = decoder_sp(m, f[VPAR_ADDR], 8 * (int64_t)m->hw.n);
  for (unsigned j = 0; j < m->hw.n; j++, bytes += 8) {
    if (bytes[6] > 62 || bytes[7] != 0) decoder_machine_fail(m, "lane parameters with s above 62 or a last byte other than 0");
    m->lane[j] = (lane_rule){read_le(bytes, 4), read_le(bytes + 4, 2), bytes[6]};
  }
}

static int32_t acc_at(const machine *m, int64_t row, int64_t lane) {
  if (row < 0 || row >= m->hw.acc_rows) decoder_machine_fail(m, "an access outside the accumulators");
  return m->acc[row * m->hw.n + lane];
}

static void requantize_rows(machine *m, const insn *in) {
  const int64_t *f = in->f;
  int64_t d[MAX_LANES];
  for (int64_t iy = 0; iy < f[VRQ_NY]; iy++)
    for (int64_t ix = 0; ix < f[VRQ_NX]; ix++) {
      const int64_t i = iy * f[VRQ_NX] + ix;
      for (int64_t j = 0; j < f[VRQ_LANES]; j++) {
        int64_t t = acc_at(m, f[VRQ_ACC] + i, j);
        if (f[VRQ_WIDE_ACC]) t = t * 256 + acc_at(m, f[VRQ_ACC_LO] + i, j);
        if (f[VRQ_BY_ROW]) t = decoder_row_multiply(m, f[VRQ_RF] + i, t, f[VRQ_SHIFT]);
        d[j] = decoder_rule(m, decoder_wrap((__int128)t + m->lane[j].bias), m->lane[j].m, m->lane[j].s);
      }
      decoder_result(m, f[VRQ_DST], f[VRQ_WIDE_OUT] ? f[VRQ_DST_LO] : -1, ix, iy, f[VRQ_LANES], d);
    }
}

static int32_t window_step(int64_t mode, int32_t old, int v, int weight) {
  switch (mode) {
    case 0:
      return (int32_t)((uint32_t)old + (uint32_t)(v * weight));
    case 1:
      return (int32_t)((uint32_t)old + (uint32_t)v);
    default:
      return old > v ? old : v;
  }
}

static void window_tap(machine *m, const insn *in) {
  const int64_t *f = in->f;
  const source_shape *a = &m->slot[SLOT_A];
  const int64_t n = m->hw.n;
  const uint8_t *weights = f[VWIN_MODE] == 0 ? decoder_sp(m, f[VWIN_WEIGHTS], n) : NULL;
  for (int64_t i = 0; i < f[VWIN_NX] * f[VWIN_NY]; i++) {
    const int64_t x = f[VWIN_X0] + i % f[VWIN_NX] * a->stride_x;
    const int64_t y = f[VWIN_Y0] + i / f[VWIN_NX] * a->stride_y;
    const bool inside = y >= 0 && y < a->height && x >= 0 && x < a->width;
    const uint8_t *bytes = inside ? decoder_sp(m, decoder_pixel(a, f[VWIN_BASE], x, y), n) : NULL;
    int32_t *row = m->acc + (f[VWIN_ACC] + (f[VWIN_HOLD] ? 0 : i)) * n;
    const bool joins = f[VWIN_ACCUMULATE] || (f[VWIN_HOLD] && i > 0);
    for (int64_t j = 0; j < n; j++) {
      int32_t old = joins ? row[j] : (f[VWIN_MODE] == 2 ? INT32_MIN : 0);
      int weight = weights != NULL ? decoder_byte(true, weights[j]) : 0;
      row[j] = inside ? window_step(f[VWIN_MODE], old, decoder_byte(a->is_signed, bytes[j]) - a->zp, weight) : old;
    }
  }
}

static void move(machine *m, const insn *in) {
  const int64_t *f = in->f;
  const source_shape *a = &m->slot[SLOT_A];
  uint8_t table[256]; /* read once, before the first pixel */
  if (f[VMOV_OP] == 2) memcpy(table, decoder_sp(m, f[VMOV_TABLE], sizeof table), sizeof table);
  int64_t d[MAX_LANES];
  for (int64_t iy = 0; iy < f[VMOV_NY]; iy++)
    for (int64_t ix = 0; ix < f[VMOV_NX]; ix++) {
      const uint8_t *bytes = decoder_sp(m, decoder_pixel(a, f[VMOV_SRC], ix, iy), f[VMOV_LANES]);
      for (int64_t j = 0; j < f[VMOV_LANES]; j++) {
        const int value = decoder_byte(a->is_signed, bytes[j]);
        if (f[VMOV_OP] == 0)
          d[j] = bytes[j];
        else if (f[VMOV_OP] == 1)
          d[j] = decoder_rule(m, value - a->zp + m->lane[j].bias, m->lane[j].m, m->lane[j].s);
        else
          d[j] = table[a->is_signed ? value + 128 : value];
      }
      decoder_result(m, f[VMOV_DST], -1, ix, iy, f[VMOV_LANES], d);
    }
}

static void combine(machine *m, const insn *in) {
  const int64_t *f = in->f;
  int64_t a[MAX_LANES];
  int64_t b[MAX_LANES];
  int64_t d[MAX_LANES];
  if (m->per_lane) decoder_machine_fail(m, "VBIN with parameters for each lane");
  const lane_rule *rule = &m->lane[0];
  for (int64_t iy = 0; iy < f[VBIN_NY]; iy++)
    for (int64_t ix = 0; ix < f[VBIN_NX]; ix++) {
      decoder_operand(m, &m->slot[SLOT_A], f[VBIN_A], -1, ix, iy, f[VBIN_LANES], a);
      decoder_operand(m, &m->slot[SLOT_B], f[VBIN_B], -1, ix, iy, f[VBIN_LANES], b);
      for (int64_t j = 0; j < f[VBIN_LANES]; j++) /* the sum is its own t, so its multiplier in RULE is 1 */
        d[j] =
            f[VBIN_OP] == 0 ? decoder_rule(m, a[j] * rule->m + b[j] * m->mb, 1, rule->s) : decoder_rule(m, a[j] * b[j], rule->m, rule->s);
      decoder_result(m, f[VBIN_DST], -1, ix, iy, f[VBIN_LANES], d);
    }
}

static void fill(machine *m, const insn *in) {
  const int64_t *f = in->f;
  int64_t d[MAX_LANES];
  for (int64_t j = 0; j < f[VFIL_LANES]; j++) d[j] = f[VFIL_VALUE];
  for (int64_t iy = 0; iy < f[VFIL_NY]; iy++)
    for (int64_t ix = 0; ix < f[VFIL_NX]; ix++) decoder_result(m, f[VFIL_DST], -1, ix, iy, f[VFIL_LANES], d);
}

void decoder_exec_vector(machine *m, const insn *in) {
  const int64_t *f = in->f;
  if (decoder_insn_is_empty(in)) return;
  switch (in->spec->code) {
    case OP_VGEO:
      m->slot[f[VGEO_SLOT]] = (source_shape){.is_signed = f[VGEO_SIGNED] != 0,
                                             .zp = (int)f[VGEO_ZP],
                                             .width = f[VGEO_WIDTH],
                                             .height = f[VGEO_HEIGHT],
                                             .row_pitch = f[VGEO_ROW_PITCH],
                                             .pixel_pitch = f[VGEO_PIXEL_PITCH],
                                             .stride_x = f[VGEO_STRIDE_X],
                                             .stride_y = f[VGEO_STRIDE_Y]};
      break;
    case OP_VPAR:
      set_parameters(m, in);
      break;
    case OP_VRQ:
      requantize_rows(m, in);
      break;
    case OP_VWIN:
      window_tap(m, in);
      break;
    case OP_VMOV:
      move(m, in);
      break;
    case OP_VBIN:
      combine(m, in);
      break;
    case OP_VFIL:
      fill(m, in);
      break;
    default:
      decoder_exec_rows(m, in);
      break;
  }
}
