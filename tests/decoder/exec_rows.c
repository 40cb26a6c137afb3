/* SPDX-License-Identifier: Apache-2.0 */
/* The vector unit's work on rows of a matrix: reductions into the row file, reciprocals and roots there, normalization from it. */
#include "machine.h"

#include <string.h>

enum { SLOT_A, SLOT_B, SLOT_D, MAX_LANES = 64 };

static void reduce(machine *m, const insn *in) {
  const int64_t *f = in->f;
  int64_t a[MAX_LANES];
  for (int64_t ix = 0; ix < f[VRED_NX]; ix++) {
    row_entry *row = decoder_row(m, f[VRED_RF] + ix);
    int64_t result = f[VRED_MODE] == 0 ? INT64_MIN : 0;
    for (int64_t iy = 0; iy < f[VRED_NY]; iy++) {
      decoder_operand(m, &m->slot[SLOT_A], f[VRED_SRC], f[VRED_WIDE] ? f[VRED_SRC_LO] : -1, ix, iy, f[VRED_LANES], a);
      for (int64_t j = 0; j < f[VRED_LANES]; j++) {
        if (f[VRED_MODE] == 0)
          result = a[j] > result ? a[j] : result;
        else
          result += f[VRED_MODE] == 1 ? a[j] : a[j] * a[j];
      }
    }
    if (f[VRED_ACCUMULATE] && f[VRED_MODE] == 0)
      result = row->v > result ? row->v : result;
    else if (f[VRED_ACCUMULATE])
      result = decoder_wrap((__int128)result + row->v);
    row->v = result;
  }
}

static int floor_log2(uint64_t value) {
  int e = 0;
  while (value >>= 1) e++;
  return e;
}

/* The largest root with root * root <= value, bit by bit. */
static uint64_t isqrt(uint64_t value) {
  uint64_t root = 0;
  for (uint64_t bit = (uint64_t)1 << 31; bit > 0; bit >>= 1)
    if ((root + bit) * (root + bit) <= value) root += bit;
  return root;
}

static void reciprocal(const machine *m, int64_t v, row_entry *out) {
  const uint64_t value = v >= 1 ? (uint64_t)v : 1;
  const int e = floor_log2(value);
  if (v > (int64_t)1 << 46) decoder_machine_fail(m, "a reciprocal of a number above 2^46");
  const unsigned __int128 r = (((unsigned __int128)1 << (e + 16)) + value / 2) / value;
  out->r = r > 65535 ? 65535 : (uint32_t)r;
  out->e = e + 16;
}

static void reciprocal_root(const machine *m, int64_t v, row_entry *out) {
  if (v >= (int64_t)1 << 62) decoder_machine_fail(m, "the root of a number that is not below 2^62");
  const uint64_t value = v >= 1 ? (uint64_t)v : 1;
  const int e = floor_log2(value) / 2 * 2;
  const uint64_t mantissa = e <= 30 ? value << (30 - e) : value >> (e - 30);
  const uint64_t r = isqrt(((uint64_t)1 << 62) / mantissa);
  out->r = r > 65535 ? 65535 : (uint32_t)r;
  out->e = e / 2 + 16;
}

static void row_arithmetic(machine *m, const insn *in) {
  const int64_t *f = in->f;
  for (int64_t i = 0; i < f[VROW_N]; i++) {
    const int64_t v = decoder_row(m, f[VROW_A] + i)->v;
    row_entry *to = decoder_row(m, f[VROW_DST] + i);
    if (f[VROW_OP] == 0)
      reciprocal(m, v, to);
    else if (f[VROW_OP] == 1)
      reciprocal_root(m, v, to);
    else {
      const __int128 sum = decoder_row(m, f[VROW_B] + i)->v;
      to->v = decoder_wrap((__int128)f[VROW_CNT] * v - sum * sum + (f[VROW_ADD] ? f[VROW_IMM] : 0));
    }
  }
}

static void normalize(machine *m, const insn *in) {
  const int64_t *f = in->f;
  int64_t a[MAX_LANES];
  int64_t d[MAX_LANES];
  if (f[VNRM_CENTRE] && !m->per_lane) decoder_machine_fail(m, "VNRM centres without a factor: VPAR is not per_lane");
  for (int64_t ix = 0; ix < f[VNRM_NX]; ix++) {
    const row_entry *row = decoder_row(m, f[VNRM_RF] + ix);
    decoder_operand(m, &m->slot[SLOT_A], f[VNRM_SRC], f[VNRM_WIDE] ? f[VNRM_SRC_LO] : -1, ix, 0, f[VNRM_LANES], a);
    for (int64_t j = 0; j < f[VNRM_LANES]; j++) {
      const int64_t t = f[VNRM_CENTRE] ? decoder_wrap((__int128)m->cnt * a[j] - row->v) : a[j];
      if (f[VNRM_FINAL]) {
        int64_t q = row->e + f[VNRM_SHIFT];
        q = q < 0 ? 0 : q > 62 ? 62 : q;
        d[j] = decoder_rule(m, t, row->r, (unsigned)q);
      } else {
        const lane_rule *rule = &m->lane[j];
        d[j] = decoder_rule(m, decoder_wrap((__int128)decoder_row_multiply(m, f[VNRM_RF] + ix, t, f[VNRM_SHIFT]) + rule->bias), rule->m,
                            rule->s);
      }
    }
    decoder_result(m, f[VNRM_DST], f[VNRM_WIDE_OUT] ? f[VNRM_DST_LO] : -1, ix, 0, f[VNRM_LANES], d);
  }
}

static void select_lanes(machine *m, const insn *in) {
  const int64_t *f = in->f;
  int64_t d[MAX_LANES];
  for (int64_t iy = 0; iy < f[VSEL_NY]; iy++)
    for (int64_t ix = 0; ix < f[VSEL_NX]; ix++) {
      const uint8_t *bytes = decoder_sp(m, decoder_pixel(&m->slot[SLOT_A], f[VSEL_SRC], ix, iy), f[VSEL_LANES]);
      const int64_t bound = (int64_t)m->reg[f[VSEL_REG]] + (f[VSEL_STEP] ? ix : 0);
      for (int64_t j = 0; j < f[VSEL_LANES]; j++) d[j] = f[VSEL_FIRST] + iy * (int64_t)m->hw.n + j <= bound ? bytes[j] : f[VSEL_VALUE];
      decoder_result(m, f[VSEL_DST], -1, ix, iy, f[VSEL_LANES], d);
    }
}

static void exponential(machine *m, const insn *in) {
  const int64_t *f = in->f;
  int64_t a[MAX_LANES];
  int64_t d[MAX_LANES];
  uint8_t table[512]; /* read once, before the first row */
  memcpy(table, decoder_sp(m, f[VEXP_TABLE], sizeof table), sizeof table);
  for (int64_t ix = 0; ix < f[VEXP_NX]; ix++) {
    const int64_t v = decoder_row(m, f[VEXP_RF] + ix)->v;
    decoder_operand(m, &m->slot[SLOT_A], f[VEXP_SRC], -1, ix, 0, f[VEXP_LANES], a);
    for (int64_t j = 0; j < f[VEXP_LANES]; j++) {
      int64_t index = decoder_wrap((__int128)v - a[j]);
      index = index < 0 ? 0 : index > 255 ? 255 : index;
      d[j] = table[2 * index] | table[2 * index + 1] << 8;
    }
    decoder_result(m, f[VEXP_DST], f[VEXP_DST_LO], ix, 0, f[VEXP_LANES], d);
  }
}

void decoder_exec_rows(machine *m, const insn *in) {
  switch (in->spec->code) {
    case OP_VRED:
      reduce(m, in);
      break;
    case OP_VROW:
      row_arithmetic(m, in);
      break;
    case OP_VNRM:
      normalize(m, in);
      break;
    case OP_VSEL:
      select_lanes(m, in);
      break;
    case OP_VEXP:
      exponential(m, in);
      break;
    default:
      break;
  }
}
